"""Execution of planned motions: time parametrization, collision check of the timed path, execution; with time
accounting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from planweave.bodies.arm.arms.base import Arm, ArmState, Watch
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import LOW
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.placement_sampling import UP
from planweave.bodies.arm.planning_scene import MARGIN, RESOLUTION, PlanningScene, between
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.timing import JointLimits, Trajectory, time_path
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array

_DEEPEST, _DEEPER = 0.02, 0.001  # m that the arm may seem to be in something it leaves, and deeper from one step on
_IN = 0.003  # m that the arm may be in something as it was measured
_BETWEEN = 0.003  # how much nearer than at its own samples a path may come to something between them, m
OnPhase = Callable[[str, float], None]


class Mover:
    """Moves the arm along paths; each timed trajectory is checked in the planning scene before it is sent (and against
    the limits in `planweave.bodies.arm.safety.GuardedArm`).
    """

    def __init__(
        self,
        arm: Arm,
        scene: PlanningScene,
        planner: MotionPlanner,
        world: WorldModel,
        settings: SkillSettings,
    ):
        self.arm, self.scene, self.planner, self.world = arm, scene, planner, world
        self.settings = settings
        self.motion_seconds = 0.0  # time in motion, controller's time
        self.planning_seconds = 0.0  # wall time for kinematics, motion planning and timing
        self._waited = 0.0  # wall time of motion within planning
        self.stood_in: set[str] = set()  # items that seemed to be where the arm was, in this action
        limits = JointLimits.of(scene.robot)
        self._limits = limits.scaled(settings.speed, settings.acceleration)
        self._slow = limits.scaled(settings.approach_speed, settings.acceleration)
        self._on_phase: OnPhase = lambda phase, progress: None

    def begin(self, on_phase: OnPhase | None) -> None:
        """Start an action: reset the time accounts and set the callback for phases (name, progress 0 to 1)."""
        self.motion_seconds = self.planning_seconds = 0.0
        self.stood_in.clear()
        self._on_phase = on_phase or (lambda phase, progress: None)

    def phase(self, name: str, progress: float) -> None:
        """Report the start of a phase; raises when the action was cancelled or its time is up."""
        self.arm.check()
        self._on_phase(name, progress)

    @contextmanager
    def thinking(self, phase: str, progress: float) -> Iterator[None]:
        """Count the wall time of a block as planning time."""
        self.phase(phase, progress)
        begun, waited = time.perf_counter(), self._waited
        try:
            yield
        finally:
            self.planning_seconds += time.perf_counter() - begun - (self._waited - waited)

    @contextmanager
    def planning(self, progress: float = 0.0, phase: str = "planning") -> Iterator[Array]:
        """As `thinking`, with the scene up to date and the hand out of what is close; the joint positions there."""
        with self.thinking(phase, progress):
            self.update_scene()
            self.rise_if_close()
            self._stand_free()
            yield self.arm.state().positions

    def update_scene(self) -> None:
        things, state = self.world.things(), self.arm.state()
        self.scene.update(things)
        held = self.world.held
        if held is None:
            self.scene.detach()
        else:
            self.scene.attach(held.thing, held.thing_to_tcp)
        self.scene.set_opening(state.width)
        # Nothing is where the arm is measured to stand: what is only remembered there is somewhere else.
        unseen = {t.name for t in things if not t.visible}
        inside = {n for c in self.scene.contacts(state.positions, -_IN, unseen) for n in (c.first, c.second)} & unseen
        if inside:
            self.scene.update(t for t in things if t.name not in inside)
        self.scene.leave_out(state.positions, self.stood_in, _IN)

    def _stand_free(self) -> None:
        """Leave the parts of items out in which the arm, or what it holds, still is after it has risen: it stands there
        unhindered, so that they, or what it holds, were measured wrongly. Only where parts were measured at all.
        """
        q = self.arm.state().positions
        items = {t.name for t in self.world.things() if t.type == "item" and t.parts is not None}
        self.stood_in |= items & {n for c in self.scene.contacts(q, -_IN) for n in (c.first, c.second)}
        self.scene.leave_out(q, self.stood_in, _IN)

    def move(
        self,
        path: Array,
        phase: str,
        progress: float,
        slow: bool = False,
        touching: Iterable[str] = (),
        watch: Watch | None = None,
    ) -> None:
        """Time a path, check the timed trajectory, and follow it.

        slow: near objects, where the margin is 0. touching: objects that the fingers, however deep, and the held object
        may touch. watch: see `planweave.bodies.arm.arms.base.Watch`; where it reports a loss, the held object counts
        as lost.
        """
        with self.thinking(phase, progress):
            trajectory = self._timed(path, slow, tuple(touching))
        with self._motion():
            try:
                self.arm.follow(trajectory, watch)
            except SkillFailureError as error:
                if error.action_code is Code.GRASP_LOST:
                    self.world.released(None)
                raise

    def _timed(self, path: Array, slow: bool, touching: tuple[str, ...]) -> Trajectory:
        """The timed trajectory; a free motion that would collide between the planner's samples is replanned twice, on
        other paths.
        """
        tried = []
        for attempt in range(3):
            trajectory = time_path(path, self._slow if slow else self._limits)
            dense = trajectory.dense(RESOLUTION)
            if slow:
                hit = self.scene.path_contact(dense, 0.0, touching, 0.006)
            else:
                clear = min(MARGIN, self.planner.margin_at(dense[0]), self.planner.margin_at(dense[-1]))
                hit = (
                    None
                    if all(self.scene.free(q, clear - _BETWEEN) for q in dense)
                    else self.scene.path_contact(dense, clear - _BETWEEN)
                )
            if hit is None:
                return trajectory
            if slow or attempt == 2:
                break
            tried.append(path)
            path = self.planner.plan(path[0], [path[-1]], self.settings.planning_seconds, tried)
        raise SkillFailureError(Code.COLLISION, f"the motion would collide ({hit}); nothing was moved")

    def rise_if_close(self) -> None:
        """Move straight up first, or back towards the base, where the hand is between objects (after a stop), touches
        what was measured anew, or is so low that an unseen object may be between the fingers.
        """
        state = self.arm.state()
        self.scene.set_opening(state.width)
        if self.world.tips_height > LOW and self.scene.contact(state.positions) is None:
            return
        names = tuple(t.name for t in self.world.things()) + ((self.world.held.thing.name,) if self.world.held else ())
        x, y = self.planner.kinematics.forward(state.positions)[:2, 3]
        back = np.array([-x, -y, 0.0]) / max(float(np.hypot(x, y)), 1e-3)
        lines = (self.planner.longest_line(state.positions, way, self.settings.clearance) for way in (UP, back))
        line = next(
            (line for line in lines if line is not None and self._leads_out(state.positions, line, names)), None
        )
        if line is not None:
            trajectory = time_path(line, self._slow)
            begun = time.perf_counter()
            try:
                with self._motion():
                    self.arm.follow(trajectory)
            finally:
                self._waited += time.perf_counter() - begun

    def _leads_out(self, start: Array, line: Array, names: tuple[str, ...]) -> bool:
        """Whether a line is free, or leaves what the arm seems to be in at its start without going deeper into it: what
        was measured anew may reach into the hand that touches it. The fingers may touch things, what they hold may not.
        """
        held, fingers = self.world.held, self.scene.robot.gripper.fingers

        def contacts(q: Array) -> dict[frozenset[str], float]:
            found: dict[frozenset[str], float] = {}
            for contact in self.scene.contacts(q, -0.002, (), 0.006):
                pair = frozenset((contact.first, contact.second))
                touches = not pair.isdisjoint(fingers) and not pair.isdisjoint(names)
                if not touches or (held is not None and held.thing.name in pair):
                    found[pair] = min(found.get(pair, 0.0), contact.distance)
            return found

        before = contacts(start)
        swung = {frozenset((held.thing.name, "table"))} if held is not None else set()  # as a pan taken at its rim
        if min((depth for pair, depth in before.items() if pair not in swung), default=0.0) < -_DEEPEST:
            return False
        for first, second in pairwise(np.vstack([start, line])):
            for q in between(first, second):
                now = contacts(q)
                if any(distance < before.get(pair, np.inf) - _DEEPER for pair, distance in now.items()):
                    return False
                before = now
        return not contacts(line[-1])

    def grip(self, width: float, force: float | None = None) -> ArmState:
        """Move the fingers to an opening (m), wait, and return the state. force: N, by default that of a grasp."""
        with self._motion():
            self.arm.grip(width, self.settings.grip_force if force is None else force)
        return self.arm.state()

    @contextmanager
    def _motion(self) -> Iterator[None]:
        """Suspend image processing during a motion and add up motion time.

        Does nothing where the arm has no state, as after a cancel.
        """
        start = self.arm.state().stamp
        self.world.motion_began()
        try:
            yield
        finally:
            try:
                end = self.arm.state().stamp
                self.motion_seconds += max(0.0, end - start)
            except SkillFailureError:
                end = start
            self.world.motion_ended(end)
