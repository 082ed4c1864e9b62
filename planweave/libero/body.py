"""LIBERO's robot as a body that executes actions of the domain `kitchen`, in the simulator's process and step."""

from __future__ import annotations

import math
from dataclasses import replace

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.body import ArmBody, Told
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.retries import read_retries
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import PutRules, SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.budget import Budget
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import PERSON, Action
from planweave.core.workflow.ports import Look
from planweave.libero.arm import LiberoArm
from planweave.libero.bodies import CAMERA, TRUTH, VIEWS
from planweave.libero.client import LiberoSimulator, LiberoTask
from planweave.libero.truth import refused
from planweave.libero.views import SeenView, TruthView
from planweave.perception.named_scene import Namer
from planweave.perception.vision_names import VisionNamer, class_names, vision_client, vision_timeout

NAMING = Budget(requests=12, tokens=120_000)
"""Of requests to the vision model for one loading of a task."""
_SETTINGS = SkillSettings(
    speed=1.0,
    acceleration=1.0,
    approach_speed=0.5,
    slip=math.inf,  # walls of what clouds show lie down between the fingers
    clearance=0.07,
    observe=(),
    left=-1.0,
    pushes=0,
    retries=read_retries(
        ("NO_GRASP 2 other_grasp", "GRASP_LOST 1 look_again", "PLANNING_FAILED 1 look_again", "COLLISION 1 look_again")
    ),
)
_WORKSPACE = (-0.3, -0.85, -0.05), (0.95, 0.85, 1.1)  # of the tool, m in the base frame
_UNSURE = 0.015  # m by which the middles of two things may be wrong against each other, as they are seen
RULES = PutRules(_UNSURE, 0.03 - _UNSURE, 0.03 - _UNSURE)
"""LIBERO wants 0.03 m between the middles of two items."""
_TURNING = 1.5  # rad of travel of the first joint that take as long as 1 rad of the hand, which turns slowly


class LiberoBody(ArmBody):
    """Its precondition is checked before an action, its effect after it, both on a new look.

    task: loaded by this simulator with `joints`. A body serves one loading of a task. view: `truth` has the simulator's
    own poses; `camera` has RGB-D pictures, the robot's joints and the sentence, and names by `namer`, by default the
    model in PLANWEAVE_VISION_MODEL. Raises ConfigError where none is set, ModelError where it names nothing.
    """

    timeout = 300.0  # on a busy machine
    arm: LiberoArm

    def __init__(
        self, simulator: LiberoSimulator, task: LiberoTask, view: str = TRUTH, namer: Namer | None = None
    ) -> None:
        domain = Domain.load("kitchen")
        self.arm = arm = LiberoArm(simulator)
        robot = arm.robot
        self._view = self._make_view(simulator, task, view, namer, domain, arm)
        ground = self._view.ground
        scene = PlanningScene(table_height=ground, robot=robot)
        self._kinematics = Kinematics(scene.model, robot)
        safety = Safety(self._kinematics, JointLimits.of(robot), *_WORKSPACE)
        world = WorldModel(
            domain,
            self._view.places,
            self._kinematics,
            safety,
            frame=PERSON,
            actions_off=refused(domain),
            ground=ground,
            base_to_frame=self._view.base_to_frame,
            rules=RULES,
            look=self._look,
        )
        arm.on_joints = world.on_joints
        planner = MotionPlanner(scene, self._kinematics)
        reaching = ApproachPlanner(scene, self._kinematics, planner, clearance=_SETTINGS.clearance, turning=_TURNING)
        settings = replace(_SETTINGS, domain=domain)
        super().__init__(domain, world, arm, Skills(arm, scene, reaching, safety, world, settings))
        self._see()

    def _make_view(
        self,
        simulator: LiberoSimulator,
        task: LiberoTask,
        view: str,
        namer: Namer | None,
        domain: Domain,
        arm: LiberoArm,
    ) -> TruthView | SeenView:
        if view == TRUTH:
            return TruthView(simulator, task, domain, arm)
        if view != CAMERA:
            raise UnknownNameError("view", view, VIEWS)
        namer = namer or VisionNamer(vision_client(), class_names(domain), NAMING, vision_timeout())
        return SeenView(simulator, namer, task.language, task.state["base"], domain, arm)

    def look(self, seconds: float) -> Look:
        """The world as it is now."""
        self._see()
        return super().look(seconds)

    # -----------------------------------------------------------------------------------------------------------------

    def _admit(self, action: Action, told: Told) -> None:
        self._see()

    def _ended(self, action: Action, code: Code, message: str, phase: str) -> None:
        if code is not Code.SUCCESS:
            self._see()

    def _see(self) -> None:
        self.world.wait_for_detections(-math.inf, 0.0)

    def _look(self) -> None:
        state = self.arm.state()
        self.world.on_joints(state.positions)
        self._view.look(self.world, self._kinematics.forward(state.positions))
