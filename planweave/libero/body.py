"""LIBERO's robot as a body that executes actions of the domain `kitchen`, in the simulator's process and step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from planweave.bodies.arm import preconditions
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.looked_world import LookedWorld, Observation
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene, Pools
from planweave.bodies.arm.retries import read_policies
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import Limits
from planweave.core.base.budget import Budget
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Look, Outcome
from planweave.libero.arm import LiberoArm
from planweave.libero.bodies import CAMERA, TRUTH, VIEWS
from planweave.libero.camera_view import CameraView, Namer, classes
from planweave.libero.client import LiberoSimulator, Task
from planweave.libero.views import LiberoView, SeenView, TruthView
from planweave.perception.vision_names import VisionNamer, vision_client, vision_timeout

TIMEOUT = 300.0  # s of wall time for an action, on a busy machine
NAMING = Budget(requests=6, tokens=120_000)
"""Of requests to the vision model for one loading of a task."""
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
_POOLS = {TRUTH: Pools(boxes=320, cylinders=16, held=48), CAMERA: Pools(boxes=1000, cylinders=1, held=128)}
_TURNING = 1.5  # rad of travel of the first joint that take as long as 1 rad of the hand, which turns slowly
_EFFECTS = frozenset(
    {
        "holding",
        "on",
        "in",
        "at",
        "left_of",
        "right_of",
        "front_of",
        "behind",
        "opened",
        "closed",
        "turned_on",
        "turned_off",
    }
)


class LiberoBody:
    """Keeps planweave.core.workflow.ports.StoppableBody.

    task: loaded by this simulator with `joints`. A body serves one loading of a task. view: `truth` has the simulator's
    own poses; `camera` has RGB-D pictures, the robot's joints and the sentence, and names by `namer`, by default the
    model in PLANWEAVE_VISION_MODEL. Raises ConfigError where none is set, ModelError where it names nothing.
    """

    def __init__(self, simulator: LiberoSimulator, task: Task, view: str = TRUTH, namer: Namer | None = None) -> None:
        self.domain = Domain.load("kitchen")
        self.arm = LiberoArm(simulator)
        self._begun = False  # by whoever will call `execute` next
        robot = self.arm.robot
        self._view = self._make_view(simulator, task, view, namer)
        ground = self._view.ground
        scene = PlanningScene(table_height=ground, robot=robot, pools=_POOLS[view])
        self._kinematics = Kinematics(scene.model, robot)
        self._known: LookedWorld | None = None
        self.world = LookedWorld(
            self._observe,
            lambda: self.arm.state().positions,
            self._kinematics,
            robot.gripper,
            self._view.places,
            ground,
        )
        self._known = self.world
        planner = MotionPlanner(scene, self._kinematics)
        safety = Safety(self._kinematics, Limits.of(robot), *_WORKSPACE)
        reaching = ApproachPlanner(scene, self._kinematics, planner, clearance=_SETTINGS.clearance, turning=_TURNING)
        self.skills = Skills(self.arm, scene, reaching, safety, self.world, _SETTINGS)

    def _make_view(self, simulator: LiberoSimulator, task: Task, view: str, namer: Namer | None) -> LiberoView:
        if view == TRUTH:
            return TruthView(simulator, task, self.domain, self.arm)
        if view != CAMERA:
            raise UnknownNameError("view", view, VIEWS)
        namer = namer or VisionNamer(vision_client(), classes(self.domain), NAMING, vision_timeout())
        cameras = CameraView(simulator, self.domain, namer)
        return SeenView(cameras, task.language, task.state["base"], self.domain, self.arm)

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
        """What is seen now."""
        held = self._known.held if self._known is not None else None
        put = {t.name: t for t in self._known.things() if not t.visible} if self._known is not None else {}
        tcp_to_base = self._kinematics.forward(self.arm.state().positions)
        found, still = self._view.observe(held, tcp_to_base, put)
        if self._known is not None and held is not None:
            if still is None:
                self._known.released(None)
            else:
                self._known.grasped(still)
        return found

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
