"""LIBERO's robot as a body that executes actions of the domain `kitchen`, in the simulator's process and step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm import preconditions
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.looked_world import LookedWorld, Observation
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene, Pools
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.retries import read_policies
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import Limits
from planweave.bodies.arm.world_model import Held
from planweave.core.domain import Domain
from planweave.core.failure import Code
from planweave.core.ports import Look, Outcome
from planweave.core.transition import Transition
from planweave.core.world import Action, Literal, World
from planweave.libero import things
from planweave.libero.arm import LiberoArm
from planweave.libero.client import LiberoSimulator, Task
from planweave.libero.geometry import Geometry, pose
from planweave.libero.truth import truth

Array = NDArray[np.float64]
TIMEOUT = 300.0  # s of wall time for an action, on a busy machine
_SETTINGS = SkillSettings(
    speed=1.0,
    acceleration=1.0,
    approach_speed=0.5,
    clearance=0.07,
    observe=(),
    left=-1.0,
    pushes=0,
    retries=read_policies(
        ("NO_GRASP 2 other_grasp", "GRASP_LOST 1 look_again", "PLANNING_FAILED 1 look_again", "COLLISION 1 look_again")
    ),
)
_WORKSPACE = (-0.3, -0.85, -0.05), (0.95, 0.85, 1.1)  # of the tool, m in the base frame
_POOLS = Pools(boxes=320, cylinders=16, held=48)
_TURNING = 1.5  # rad of travel of the first joint that take as long as 1 rad of the hand, which turns slowly
_LOST = 0.05  # what is so far from where it should be in the hand is not held, m
_EFFECTS = frozenset(
    {"holding", "on", "in", "at", "left_of", "right_of", "front_of", "opened", "closed", "turned_on", "turned_off"}
)
_RELATIONS = frozenset({"on", "in", "at", "left_of", "right_of", "front_of", "near", "between"})


class LiberoBody:
    """Keeps planweave.core.ports.StoppableBody; the view is `truth`: poses are the simulator's own.

    task: loaded by this simulator with `joints`. A body serves one loading of a task.
    """

    def __init__(self, simulator: LiberoSimulator, task: Task) -> None:
        self.domain = Domain.load("kitchen")
        self.arm = LiberoArm(simulator)
        self._begun = False  # by whoever will call `execute` next
        self._simulator, self._task, self._state = simulator, task, task.state
        self._taken: tuple[Thing, Array] | None = None  # what is held, and its pose when it was taken
        robot = self.arm.robot
        self._geometry = Geometry(task)
        ground = things.ground(self._geometry)
        scene = PlanningScene(table_height=ground, robot=robot, pools=_POOLS)
        self._kinematics = Kinematics(scene.model, robot)
        self._held_now: Callable[[], Held | None] = lambda: None
        self.world = LookedWorld(
            self._observe,
            lambda: self.arm.state().positions,
            self._kinematics,
            robot.gripper,
            things.places(self._geometry, truth(self.domain, task.state)),
            ground,
        )
        self._held_now = lambda: self.world.held
        planner = MotionPlanner(scene, self._kinematics)
        safety = Safety(self._kinematics, Limits.of(robot), *_WORKSPACE)
        reaching = ApproachPlanner(scene, self._kinematics, planner, clearance=_SETTINGS.clearance, turning=_TURNING)
        self.skills = Skills(self.arm, scene, reaching, safety, self.world, _SETTINGS)

    def observe(self, revision: int = 0) -> World:
        """The world as it was seen last."""
        return self.world.world()

    def look(self, seconds: float) -> Look:
        """The world as it is now."""
        self._see()
        return Look(self.world.world())

    def begin(self, timeout: float) -> None:
        """From now on `stop` ends the action; timeout in s of wall time."""
        self._begun = True
        self.arm.begin(time.monotonic() + (timeout or TIMEOUT))

    def stop(self, code: Code, message: str) -> None:
        """Stop the arm before its next step."""
        self.arm.abort(code, message)

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """Carry out an action: its precondition is checked before, its effect after, both on a new look."""
        if not self._begun:  # else it may have been stopped since
            self.begin(timeout)
        self._begun = False
        mover = self.skills.mover
        mover.begin(None)
        code, message = Code.SUCCESS, f"done: {self.domain.phrase(action)}"
        unmet: tuple[Literal, ...] = ()
        try:
            self.arm.check()
            self._see()
            before = self.world.world()
            preconditions.check(self.domain, before, action)
            self.skills.run(action, on_phase or (lambda *_: None))
            self._see()
            self._check_effect(before, action)
        except SkillFailureError as error:
            code, message, unmet = error.code, error.message, error.unmet
        if code is not Code.SUCCESS:
            self._see()
        return Outcome(code, message, self.world.world(), unmet, mover.motion_seconds, mover.planning_seconds)

    # -----------------------------------------------------------------------------------------------------------------

    def _see(self) -> None:
        self.world.wait_for_detections(-math.inf, 0.0)

    def _observe(self) -> Observation:
        """The simulator's state as it is now."""
        state = self._simulator.state()
        self._geometry = Geometry(self._task, state)
        found = things.things(self.domain, self._geometry, state)
        world = truth(self.domain, state, self.arm.state().stamp)
        held = self._held_now()
        if held is not None:
            held = self._in_hand(held, state)
            if held is None:
                self.world.released(None)
            else:
                self.world.grasped(held)
                world = _holding(world, held.thing.name)
        self._state = state
        return Observation(world, found, self.arm.state().stamp, self._geometry.articulation)

    def _in_hand(self, held: Held, state: Mapping[str, Any]) -> Held | None:
        """What is held as it truly lies in the hand; None where it does not."""
        name = held.thing.name
        if self._taken is None or self._taken[0] is not held.thing:
            self._taken = held.thing, self._item_pose(self._state, name)
        moved = self._item_pose(state, name) @ np.linalg.inv(self._taken[1])
        tcp_to_base = self._kinematics.forward(self.arm.state().positions)
        thing_to_tcp = np.linalg.inv(tcp_to_base) @ moved @ pose_of(held.thing)
        if np.linalg.norm(thing_to_tcp[:3, 3] - held.thing_to_tcp[:3, 3]) > _LOST:
            return None
        return replace(held, thing_to_tcp=thing_to_tcp)

    def _item_pose(self, state: Mapping[str, Any], name: str) -> Array:
        row = state["things"][name]
        return self._geometry.to_base(pose([*row["pos"], *row["quat"]]))

    def _check_effect(self, before: World, action: Action) -> None:
        """Raise SkillFailureError where what the action is for is not seen to be so."""
        after = self.world.world()
        meant = Transition(self.domain, before).result(before, action).facts - before.facts
        unmet = tuple(sorted(f for f in meant if f.predicate in _EFFECTS and not after.holds(f)))
        if unmet:
            lost = any(f.predicate == "holding" for f in unmet)
            told = "; ".join(self.domain.phrase(f.negated()) for f in unmet)
            raise SkillFailureError(
                Code.GRASP_LOST if lost else Code.CONTROL_FAILED,
                f"after trying to {self.domain.phrase(action)}: {told}",
                unmet,
            )


def _holding(world: World, name: str) -> World:
    """The world while a thing is held."""
    facts = {f for f in world.facts if not (f.predicate in _RELATIONS and f.args[0] == name)}
    under = {f.args[1] for f in facts if f.predicate == "on"}
    facts -= {Literal("hand_empty"), Literal("at_base")}
    facts |= {Literal("holding", (name,))}
    facts |= {Literal("clear", (o.name,)) for o in world.objects if o.type != "location" and o.name not in under}
    return replace(world, facts=frozenset(facts))
