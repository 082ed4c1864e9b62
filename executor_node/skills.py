"""What the arm can do: grasp, place, return to base. Each skill returns, or raises SkillFailureError with a text
for the planner.

A skill plans all of its free motion before it moves. Every timed trajectory passes the safety limits and is
checked against collision once more, as timed, before it is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from executor_node import relations, spots
from executor_node.arms.base import Arm, ArmState
from executor_node.failures import SkillFailureError
from executor_node.grasps import Grasp
from executor_node.planning_scene import MARGIN, RESOLUTION, PlanningScene
from executor_node.reaching import UP, Approach, Reaching, held_in
from executor_node.safety import Safety
from executor_node.things import Thing
from executor_node.timing import Limits, Trajectory, time_path
from executor_node.workspace import Location
from executor_node.world_model import Held, WorldModel
from planweave import franka
from planweave.errors import UnknownNameError
from planweave.failure import Code
from planweave.world import Action, Literal

Array = NDArray[np.float64]
OnPhase = Callable[[str, float], None]
_PATIENCE = 0.2  # a cancel is heard within this time while waiting for an image, s of wall time
OBSERVE: tuple[float, ...] = (0.0, -1.10, 0.0, -2.55, 0.0, 1.45, 0.785398)
"""Where the arm waits for a look at the table: drawn back, so that it covers as little of it as possible, rad."""


@dataclass(frozen=True)
class Settings:
    """How skills are carried out. Metres, seconds (wall time for waits), N; factors of the joint limits."""

    speed: float = 0.4
    acceleration: float = 0.8
    approach_speed: float = 0.25
    grip_force: float = 20.0
    smallest_width: float = 0.004  # the fingers closed on nothing below this, or below 40 % of what was expected
    slip: float = 0.006  # an object whose grip narrows by this much is lost
    grasp_retries: int = 0  # further grasps to try after one closed on nothing or slipped
    look_seconds: float = 5.0  # wait for a camera image
    verify_seconds: float = 4.0  # wait until an object is seen where it was put
    planning_seconds: float = 2.0  # for one motion
    observe: tuple[float, ...] = OBSERVE


class Skills:
    """Carries out actions of the tabletop domain with an arm. One at a time."""

    def __init__(
        self,
        arm: Arm,
        scene: PlanningScene,
        reaching: Reaching,
        safety: Safety,
        world: WorldModel,
        settings: Settings | None = None,
    ):
        self.arm, self.scene, self.reaching, self.safety, self.world = arm, scene, reaching, safety, world
        self.settings = settings or Settings()
        self.motion_seconds = 0.0  # of the action that runs: time in motion, controller's time
        self.planning_seconds = 0.0  # of the action that runs: wall time for kinematics, motion planning and timing
        self._waited = 0.0  # wall time of motion within planning
        limits = Limits()
        self._limits = limits.scaled(self.settings.speed, self.settings.acceleration)
        self._slow = limits.scaled(self.settings.approach_speed, self.settings.acceleration)
        self._phase: OnPhase = lambda phase, progress: None
        self._skills: dict[str, Callable[..., None]] = {
            "grasp": self.grasp,
            "place_on": self.place_on,
            "place_in": self.place_in,
            "place_at": self.place_at,
            "return_to_base": self.return_to_base,
            "grab_and_putin": self.grab_and_putin,
        }

    def run(self, action: Action, on_phase: OnPhase | None = None) -> None:
        """Carry out one action, whose precondition holds. Raises SkillFailureError."""
        self.motion_seconds = self.planning_seconds = 0.0
        self._phase = on_phase or (lambda phase, progress: None)
        skill = self._skills.get(action.name)
        if skill is None:
            raise SkillFailureError(Code.INVALID_ACTION, str(UnknownNameError("skill", action.name, self._skills)))
        try:
            skill(*action.args)
        finally:
            self.world.action_ended()

    # ---- skills -------------------------------------------------------------------------------------------------

    def grasp(self, name: str) -> None:
        """Take an item from above and lift it."""
        tried: list[Grasp] = []
        while True:
            self.require_sight()
            thing = self._thing(name)
            with self._thinking("planning", 0.0):
                self._look_around()
                self._rise_if_close()
                approach = self.reaching.to_grasp(thing, self.arm.state().positions, tried)
            try:
                self._pick(thing, approach)
                return
            except SkillFailureError as error:
                if error.code not in (Code.NO_GRASP, Code.GRASP_LOST):
                    raise
                self._draw_back()
                tried.extend([approach.grasp] if approach.grasp else [])
                if len(tried) > self.settings.grasp_retries:
                    raise

    def place_on(self, name: str, target: str) -> None:
        """Put the item held on another item or on a plate."""
        support = self._thing(target)

        def free_spots(item: Thing, others: list[Thing]) -> Iterator[spots.Spot]:
            if support.type == "surface":
                return spots.on_surface(item, support, [o for o in others if o.name != target])
            return spots.on_thing(item, support)

        self._place(name, target, free_spots, Literal("on", (name, target)))

    def place_in(self, name: str, target: str) -> None:
        """Put the item held into a container."""
        box = self._thing(target)
        self._place(
            name,
            target,
            lambda item, others: spots.in_container(item, box, [o for o in others if o.name != target]),
            Literal("in", (name, target)),
            rise=box.size[2] + 0.03,
        )

    def place_at(self, name: str, target: str) -> None:
        """Put the item held down at a place on the table."""
        place = next((p for p in self.world.places if p.name == target), None)
        if place is None:
            raise SkillFailureError(
                Code.UNKNOWN_OBJECT, str(UnknownNameError("place", target, (p.name for p in self.world.places)))
            )
        chosen: Location = place
        self._place(
            name,
            target,
            lambda item, others: spots.at_place(item, chosen, others, self.world.places),
            Literal("at", (name, target)),
        )

    def return_to_base(self) -> None:
        """Go to the home position."""
        with self._thinking("planning", 0.0):
            self._look_around()
            self._rise_if_close()
            path = self._plan_to(np.array(franka.HOME))
        self._move(path, "returning", 0.2, watch=self._carrying())

    def grab_and_putin(self, name: str, target: str) -> None:
        """Take an item and put it in a container, or on a plate."""
        receptacle = self._thing(target)
        self.grasp(name)
        if receptacle.type == "container":
            self.place_in(name, target)
        else:
            self.place_on(name, target)

    # ---- steps --------------------------------------------------------------------------------------------------

    def _pick(self, thing: Thing, approach: Approach) -> None:
        grasp = approach.grasp
        assert grasp is not None
        touching = self._neighbours(thing)
        self.arm.grip(approach.opening, self.settings.grip_force, wait=False)
        self._move(approach.path, "approaching", 0.2)
        if self.arm.state().width < grasp.width:
            self.arm.grip(approach.opening, self.settings.grip_force)
        self._move(approach.line, "approaching", 0.4, slow=True, touching=(thing.name,))
        self._phase("closing", 0.6)
        self._began()
        start = self.arm.state().stamp
        width = self.arm.grip(0.0, self.safety.force(self.settings.grip_force))
        state = self.arm.state()
        self._ended(start, state)
        if width < max(self.settings.smallest_width, 0.4 * grasp.width):
            self._let_go(approach.line, thing)
            raise SkillFailureError(
                Code.NO_GRASP,
                f"the gripper closed on nothing at {thing.name}: fingers {width * 1000:.0f} mm apart, expected about "
                f"{grasp.width * 1000:.0f} mm",
            )
        held = held_in(grasp, thing, self.reaching.kinematics.forward(state.positions), width)
        self.world.grasped(held)
        with self._thinking("lifting", 0.7):
            self._look_around()
        self._move(approach.line[::-1], "lifting", 0.8, slow=True, touching=touching, watch=self._carrying())
        if self._carrying()(self.arm.state()):
            raise self._lost(self._carrying()(self.arm.state()))

    def _place(
        self,
        name: str,
        where: str,
        free_spots: Callable[[Thing, list[Thing]], Iterable[spots.Spot]],
        expected: Literal,
        rise: float = 0.0,
    ) -> None:
        held = self._held(name)
        with self._thinking("planning", 0.0):
            self._look_around()
            self._rise_if_close()
            others = list(self.world.things())
            approach = self.reaching.to_place(
                held, free_spots(held.thing, others), self.arm.state().positions, where, rise
            )
        watch = self._carrying(f" on the way to {where}")
        try:
            self._move(approach.path, "transferring", 0.2, watch=watch)
            self._move(approach.line, "placing", 0.5, slow=True, watch=watch)
        except SkillFailureError as error:
            if error.code is Code.GRASP_LOST:
                self._draw_back()
            raise
        self._release(approach, name)
        self._go_observe()
        self._verify(name, where, expected)

    def _release(self, approach: Approach, name: str) -> None:
        self._phase("opening", 0.65)
        self._began()
        start = self.arm.state().stamp
        self.arm.grip(approach.opening, self.settings.grip_force)
        self._ended(start, self.arm.state())
        self.world.released(approach.placed)
        with self._thinking("retreating", 0.7):
            self._look_around()
        self._move(approach.line[::-1], "retreating", 0.75, slow=True, touching=(name,))

    def _let_go(self, line: Array, thing: Thing) -> None:
        """Open and go up again, after a grasp that failed at the bottom."""
        self.arm.grip(franka.GRIPPER_MAX_WIDTH, self.settings.grip_force)
        self.scene.set_opening(franka.GRIPPER_MAX_WIDTH)
        self._move(line[::-1], "retreating", 0.7, slow=True, touching=self._neighbours(thing))

    def _draw_back(self) -> None:
        """After a lost grasp: hand open, arm out of the camera's view, and a look at what is there now."""
        held = self.world.held
        if held is not None:
            self.world.released(None)
        self.arm.grip(franka.GRIPPER_MAX_WIDTH, self.settings.grip_force)
        self._go_observe()
        self._next_image(self.arm.state().stamp - 1e-9, self.settings.verify_seconds)

    def _go_observe(self) -> None:
        with self._thinking("retreating", 0.8):
            self._look_around()
            self._rise_if_close()
            path = self._plan_to(np.array(self.settings.observe))
        self._move(path, "retreating", 0.85)

    def _verify(self, name: str, where: str, expected: Literal) -> None:
        """Wait until the camera shows the object where it was put."""
        self._phase("verifying", 0.9)
        stamp = self.arm.state().stamp - 1e-9
        end = time.monotonic() + self.settings.verify_seconds
        elsewhere = 0
        looked = False
        while True:
            seen = self._next_image(stamp, end - time.monotonic())
            if seen is None:
                break
            stamp, looked = seen, True
            thing = next((t for t in self.world.things() if t.name == name), None)
            if thing is not None and thing.visible:
                if self.world.world().holds(expected):
                    return
                elsewhere += 1
            if elsewhere >= 3 or time.monotonic() > end:
                break
        if not looked:
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"{name} was let go at {where}, but no camera image came within {self.settings.verify_seconds:g} s "
                "to confirm it: are the camera and perception_node running?",
            )
        raise SkillFailureError(Code.GRASP_LOST, f"{name} was let go at {where}, but {self._whereabouts(name)}")

    # ---- motion -------------------------------------------------------------------------------------------------

    def _plan_to(self, goal: Array) -> Array:
        return self.reaching.planner.plan(self.arm.state().positions, [goal], self.settings.planning_seconds)

    def _move(
        self,
        path: Array,
        phase: str,
        progress: float,
        slow: bool = False,
        touching: Iterable[str] = (),
        watch: Callable[[ArmState], str] | None = None,
    ) -> None:
        """Time a path, check it as timed, and follow it."""
        with self._thinking(phase, progress):
            trajectory = self._timed(path, slow, tuple(touching))
        self._began()
        start = self.arm.state().stamp
        try:
            self.arm.follow(trajectory, watch)
        except SkillFailureError as error:
            if error.code is Code.GRASP_LOST:
                raise self._lost(error.message) from None
            raise
        finally:
            self._ended(start, None)

    def _timed(self, path: Array, slow: bool, touching: tuple[str, ...]) -> Trajectory:
        """Free motion whose timed form would touch something is planned once more, with other random numbers."""
        for attempt in range(3):
            trajectory = time_path(path, self._slow if slow else self._limits)
            self.safety.check(trajectory)
            dense = trajectory.dense(RESOLUTION)
            if slow:
                hit = self.scene.path_contact(dense, 0.0, touching, 0.006)
            else:
                clear = min(
                    MARGIN, self.reaching.planner.margin_at(dense[0]), self.reaching.planner.margin_at(dense[-1])
                )
                hit = (
                    None
                    if all(self.scene.free(q, clear - 5e-4) for q in dense)
                    else self.scene.path_contact(dense, clear - 5e-4)
                )
            if hit is None:
                return trajectory
            if slow or attempt == 2:
                break
            path = self.reaching.planner.plan(path[0], [path[-1]], self.settings.planning_seconds)
        raise SkillFailureError(Code.COLLISION, f"the motion would collide ({hit}); nothing was moved")

    def _rise_if_close(self) -> None:
        """When the hand stands between objects (after a stop), go straight up first."""
        state = self.arm.state()
        self.scene.set_opening(state.width)
        near = self.scene.contact(state.positions)
        if near is None:
            return
        line = self.reaching.planner.line(state.positions, UP, self.reaching.clearance)
        if line is None:
            return
        names = tuple(t.name for t in self.world.things()) + (
            (self.world.held.thing.name,) if self.world.held else ()
        )
        if self.scene.path_contact(line, -0.002, names, 0.006) is None:
            trajectory = time_path(line, self._slow)
            self.safety.check(trajectory)
            self._began()
            begun = time.perf_counter()
            try:
                self.arm.follow(trajectory)
            finally:
                self._waited += time.perf_counter() - begun
                self._ended(state.stamp, None)

    def _began(self) -> None:
        self.world.motion_began()

    def _ended(self, start: float, state: ArmState | None) -> None:
        """Add up motion time; images count again from now on."""
        try:
            state = state or self.arm.state()
            self.motion_seconds += max(0.0, state.stamp - start)
            self.world.motion_ended(state.stamp)
        except SkillFailureError:
            self.world.motion_ended(start)

    # ---- knowledge ----------------------------------------------------------------------------------------------

    def _look_around(self) -> None:
        """Bring the planning scene up to date."""
        self.scene.update(self.world.things())
        held = self.world.held
        if held is None:
            self.scene.detach()
        else:
            self.scene.attach(held.thing, held.thing_to_tcp)
        self.scene.set_opening(self.arm.state().width)

    def _next_image(self, after: float, seconds: float) -> float | None:
        """Wait for detections of an image stamped after `after` (s); their stamp, None where none came in time."""
        end = time.monotonic() + seconds
        while True:
            self.arm.check()
            left = end - time.monotonic()
            seen = self.world.wait_for_detections(after, min(max(left, 0.0), _PATIENCE))
            if seen is not None or left <= _PATIENCE:
                return seen

    def require_sight(self) -> None:
        """Wait for a first, or another, image when none came for a while; CONTROL_FAILED where the camera is silent."""
        if self.world.seconds_since_seen <= self.settings.look_seconds:
            return
        if self._next_image(self.arm.state().stamp, self.settings.look_seconds) is None:
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"nothing came on /perception/detected_objects for {self.settings.look_seconds:g} s: are the camera "
                "and perception_node running?",
            )

    def _thing(self, name: str) -> Thing:
        things = {t.name: t for t in self.world.things()}
        if name not in things:
            raise SkillFailureError(Code.UNKNOWN_OBJECT, str(UnknownNameError("object", name, things)))
        return things[name]

    def _held(self, name: str) -> Held:
        held = self.world.held
        if held is None or held.thing.name != name:
            what = held.thing.name if held else "nothing"
            raise SkillFailureError(
                Code.PRECONDITION_UNMET, f"the gripper holds {what}, not {name}", (Literal("holding", (name,)),)
            )
        return held

    def _neighbours(self, thing: Thing) -> tuple[str, ...]:
        """The object, what it rests on, and what it touches: contact with these is part of lifting it."""
        others = [t for t in self.world.things() if t.name != thing.name]
        near = [
            o.name
            for o in others
            if math.dist(o.position[:2], thing.position[:2]) < o.radius + thing.radius
            and o.bottom < thing.top
            and (o.type != "item" or relations.support_of(thing, [o]))
        ]
        return (thing.name, "table", *near)

    def _carrying(self, suffix: str = "") -> Callable[[ArmState], str]:
        """Watches the grip: says what happened when the object held is not between the fingers any more."""
        held = self.world.held

        def watch(state: ArmState) -> str:
            if held is None or state.width > max(held.width - self.settings.slip, self.settings.smallest_width / 2):
                return ""
            return (
                f"{held.thing.name} slipped out of the gripper{suffix}: fingers {state.width * 1000:.0f} mm apart, "
                f"{held.width * 1000:.0f} mm when it was grasped"
            )

        return watch

    def _lost(self, message: str) -> SkillFailureError:
        self.world.released(None)
        return SkillFailureError(Code.GRASP_LOST, message)

    def _whereabouts(self, name: str) -> str:
        thing = next((t for t in self.world.things() if t.name == name), None)
        if thing is None or not thing.visible:
            return "the camera does not see it"
        facts = [
            str(f)
            for f in sorted(self.world.world().facts)
            if f.predicate in ("on", "in", "at") and f.args[0] == name
        ]
        x, y, z = thing.position
        return f"the camera sees it at ({x:.2f}, {y:.2f}, {z:.2f}) m: {', '.join(facts) or 'at no known place'}"

    @contextmanager
    def _thinking(self, phase: str, progress: float) -> Iterator[None]:
        """Count wall time as planning time."""
        self.arm.check()
        self._phase(phase, progress)
        begun, waited = time.perf_counter(), self._waited
        try:
            yield
        finally:
            self.planning_seconds += time.perf_counter() - begun - (self._waited - waited)


__all__ = ["OBSERVE", "Grasp", "Settings", "Skills"]
