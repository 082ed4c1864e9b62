"""An arm that is at once where it shall be, with fingers and a camera that do what the test says."""

import numpy as np

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.robots import load_robot

FR3 = load_robot()


class ScriptedArm:
    """Closing fingers stop at `stops_at` (m); from the motion number `slips_in` on they are shut."""

    def __init__(self):
        self.q, self.width, self.stamp = np.array(FR3.home), 0.08, 0.0
        self.stops_at, self.slips_in = 0.05, None
        self.sent, self.grips = [], []
        self.on_joints = lambda q: None

    def state(self):
        return ArmState(self.stamp, self.q, np.zeros(7), self.width)

    def check(self):
        pass

    def begin(self, deadline):
        pass

    def abort(self, code, message):
        pass

    def follow(self, trajectory, watch=None):
        assert np.abs(trajectory.positions[0] - self.q).max() < 1e-3, "a motion must begin where the arm is"
        self.sent.append(trajectory)
        self.q, self.stamp = trajectory.end, self.stamp + trajectory.duration
        if self.slips_in is not None and len(self.sent) > self.slips_in:
            self.width, self.slips_in = 0.0, None
        self.on_joints(self.q)
        ended = watch(self.state()) if watch else None
        if ended is not None:
            raise SkillFailureError(ended.code, ended.message)

    def grip(self, width, force, wait=True):
        self.grips.append(width)
        self.stamp += 0.5
        self.width = max(width, self.stops_at) if width < self.width else width
        return self.width


class ScriptedSight(WorldModel):
    """Sees `shown` whenever it is waited for; `shown` None: the camera is silent.

    Released things appear where they were put, or at `drops_to`.
    """

    def __init__(self, *args, **kwargs):
        self.shown, self.drops_to, self.clock = {}, None, lambda: 0.0
        super().__init__(*args, **kwargs)

    def show(self, *things):
        self.shown = {thing.name: thing for thing in things}
        self.look()

    def look(self):
        self.on_detections(self.shown.values(), self.clock() + 1e-3)

    def grasped(self, held):
        super().grasped(held)
        if self.shown is not None:
            self.shown.pop(held.thing.name, None)

    def released(self, thing):
        super().released(thing)
        if thing is not None and self.shown is not None:
            self.shown[thing.name] = self.drops_to or thing

    def wait_for_detections(self, after, seconds):
        if self.shown is None:
            return None
        self.look()
        return max(after, self.clock()) + 1e-3


class Bench:
    """Skills over a scripted arm and camera."""

    def __init__(self, planning_scene, arm=None, **settings):
        self.arm = arm or ScriptedArm()
        kinematics = Kinematics(planning_scene.model)
        safety = Safety(kinematics, JointLimits().scaled(SkillSettings.speed, SkillSettings.acceleration))
        self.domain = settings.get("domain") or Domain.load("tabletop")
        self.world = ScriptedSight(self.domain, load_workspace("tabletop"), kinematics, safety, detection_timeout=0.05)
        self.world.clock = lambda: self.arm.stamp
        self.arm.on_joints = self.world.on_joints
        planner = MotionPlanner(planning_scene, kinematics)
        self.scene = planning_scene
        self.skills = Skills(
            self.arm,
            planning_scene,
            ApproachPlanner(planning_scene, kinematics, planner, seconds=30.0),
            safety,
            self.world,
            SkillSettings(
                **{
                    "domain": self.domain,
                    "image_seconds": 0.05,
                    "verify_seconds": 0.05,
                    "planning_seconds": 30.0,
                    **settings,
                }
            ),
        )
        self.body = ArmBody(self.domain, self.world, self.arm, self.skills)
