"""What the arm can do: grasp, place, return to base. Each skill returns, or raises SkillFailureError with a text
for the planner.

A skill plans all of its free motion before it moves. Every timed trajectory passes the safety limits and is
checked against collision once more, as timed, before it is sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from executor_node import relations, spots
from executor_node.arms.base import Arm, ArmState
from executor_node.failures import SkillFailureError
from executor_node.grasps import Grasp
from executor_node.moving import Mover, OnPhase
from executor_node.planning_scene import PlanningScene
from executor_node.reaching import Approach, Reaching, held_in
from executor_node.safety import Safety
from executor_node.settings import Settings
from executor_node.sight import Sight
from executor_node.things import Thing
from executor_node.workspace import Location
from executor_node.world_model import Held, WorldModel
from planweave import franka
from planweave.errors import UnknownNameError
from planweave.failure import Code
from planweave.world import Action, Literal

Array = NDArray[np.float64]


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
        self.arm, self.scene, self.reaching, self.world = arm, scene, reaching, world
        self.settings = settings or Settings()
        self.mover = Mover(arm, scene, reaching.planner, safety, world, self.settings)
        self.sight = Sight(arm, world, self.settings)
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
        self.mover.begin(on_phase)
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
            self.sight.require()
            thing = self._thing(name)
            with self.mover.thinking("planning", 0.0):
                self.mover.look_around()
                self.mover.rise_if_close()
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
        with self.mover.thinking("planning", 0.0):
            self.mover.look_around()
            self.mover.rise_if_close()
            path = self.mover.plan_to(np.array(franka.HOME))
        self.mover.move(path, "returning", 0.2, watch=self._carrying())

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
        self.mover.move(approach.path, "approaching", 0.2)
        if self.arm.state().width < grasp.width:
            self.mover.grip(approach.opening)
        self.mover.move(approach.line, "approaching", 0.4, slow=True, touching=(thing.name,))
        self.mover.phase("closing", 0.6)
        state = self.mover.grip(0.0)
        width = state.width
        if width < max(self.settings.smallest_width, 0.4 * grasp.width):
            self._let_go(approach.line, thing)
            raise SkillFailureError(
                Code.NO_GRASP,
                f"the gripper closed on nothing at {thing.name}: fingers {width * 1000:.0f} mm apart, expected about "
                f"{grasp.width * 1000:.0f} mm",
            )
        held = held_in(grasp, thing, self.reaching.kinematics.forward(state.positions), width)
        self.world.grasped(held)
        with self.mover.thinking("lifting", 0.7):
            self.mover.look_around()
        self.mover.move(approach.line[::-1], "lifting", 0.8, slow=True, touching=touching, watch=self._carrying())
        lost = self._carrying()(self.arm.state())
        if lost:
            self.world.released(None)
            raise SkillFailureError(Code.GRASP_LOST, lost)

    def _place(
        self,
        name: str,
        where: str,
        free_spots: Callable[[Thing, list[Thing]], Iterable[spots.Spot]],
        expected: Literal,
        rise: float = 0.0,
    ) -> None:
        held = self._held(name)
        with self.mover.thinking("planning", 0.0):
            self.mover.look_around()
            self.mover.rise_if_close()
            others = list(self.world.things())
            approach = self.reaching.to_place(
                held, free_spots(held.thing, others), self.arm.state().positions, where, rise
            )
        watch = self._carrying(f" on the way to {where}")
        try:
            self.mover.move(approach.path, "transferring", 0.2, watch=watch)
            self.mover.move(approach.line, "placing", 0.5, slow=True, watch=watch)
        except SkillFailureError as error:
            if error.code is Code.GRASP_LOST:
                self._draw_back()
            raise
        self._release(approach, name)
        self._go_observe()
        self.mover.phase("verifying", 0.9)
        self.sight.verify(name, where, expected)

    def _release(self, approach: Approach, name: str) -> None:
        self.mover.phase("opening", 0.65)
        self.mover.grip(approach.opening)
        self.world.released(approach.placed)
        with self.mover.thinking("retreating", 0.7):
            self.mover.look_around()
        self.mover.move(approach.line[::-1], "retreating", 0.75, slow=True, touching=(name,))

    def _let_go(self, line: Array, thing: Thing) -> None:
        """Open and go up again, after a grasp that failed at the bottom."""
        self.mover.grip(franka.GRIPPER_MAX_WIDTH)
        self.scene.set_opening(franka.GRIPPER_MAX_WIDTH)
        self.mover.move(line[::-1], "retreating", 0.7, slow=True, touching=self._neighbours(thing))

    def _draw_back(self) -> None:
        """After a lost grasp: hand open, arm out of the camera's view, and a look at what is there now."""
        held = self.world.held
        if held is not None:
            self.world.released(None)
        self.mover.grip(franka.GRIPPER_MAX_WIDTH)
        self._go_observe()
        self.sight.next_image(self.arm.state().stamp - 1e-9, self.settings.verify_seconds)

    def _go_observe(self) -> None:
        with self.mover.thinking("retreating", 0.8):
            self.mover.look_around()
            self.mover.rise_if_close()
            path = self.mover.plan_to(np.array(self.settings.observe))
        self.mover.move(path, "retreating", 0.85)

    # ---- knowledge ----------------------------------------------------------------------------------------------

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
