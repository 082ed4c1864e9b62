"""The skill with a scripted arm and camera. Planweave must be installed, and this package."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.robots import load_robot

POSITIONS = {"red_cube": (0.45, 0.0, 0.025), "blue_cube": (0.55, 0.0, 0.025)}


class ScriptedArm:
    """It is at once where it shall be."""

    def __init__(self):
        self.q, self.width, self.stamp, self.moved = np.array(load_robot().home), 0.08, 0.0, lambda q: None

    def state(self):
        return ArmState(self.stamp, self.q, np.zeros(7), self.width)

    def begin(self, deadline):
        pass

    def check(self):
        pass

    def follow(self, trajectory, watch=None):
        for q in trajectory.positions:
            self.moved(q)
        self.q, self.stamp = trajectory.end, self.stamp + trajectory.duration

    def grip(self, width, force, wait=True):
        self.width, self.stamp = width, self.stamp + 0.5
        return width


class Table(WorldModel):
    """Two cubes, seen whenever they are looked at; the hand takes `red_cube` along where it is not `stuck`."""

    def __init__(self, domain, kinematics, safety, arm):
        self.stuck, self.arm, self.kinematics = False, arm, kinematics
        self.cubes = {n: Thing(n, "item", "cube", at, (0.05,) * 3) for n, at in POSITIONS.items()}
        super().__init__(domain, (), kinematics, safety)
        arm.moved = self.push
        self.wait_for_detections(0.0, 0.0)

    def push(self, q):
        self.on_joints(q)
        x, y, z = self.kinematics.forward(q)[:3, 3]
        cube = self.cubes["red_cube"]
        if not self.stuck and z < 0.1 and abs(x - 0.45) < 0.02 and y > cube.position[1] - 0.035:
            self.cubes["red_cube"] = replace(cube, position=(0.45, y + 0.035, 0.025))

    def wait_for_detections(self, after, seconds):
        stamp = max(after, self.arm.stamp) + 1e-3
        self.on_detections(self.cubes.values(), stamp)
        return stamp


@pytest.fixture
def body():
    scene, domain, arm = PlanningScene(), Domain.load("tabletop"), ScriptedArm()
    kinematics = Kinematics(scene.model)
    safety = Safety(kinematics, JointLimits().scaled(0.4, 0.8))
    world = Table(domain, kinematics, safety, arm)
    reaching = ApproachPlanner(scene, kinematics, MotionPlanner(scene, kinematics), 30.0)
    settings = SkillSettings(skills={"push_aside": ("nudge",)}, domain=domain, verify_seconds=0.05)
    found: Any = arm
    return ArmBody(domain, world, found, Skills(arm, scene, reaching, safety, world, settings))


def test_it_pushes_an_item_away_from_its_neighbour(body):
    outcome = body.execute(Action("push_aside", ("red_cube",)))
    assert outcome.code is Code.SUCCESS, outcome.message
    assert body.world.cubes["red_cube"].position[1] > 0.05


def test_an_item_that_did_not_move_is_no_success(body):
    body.world.stuck = True
    outcome = body.execute(Action("push_aside", ("red_cube",)))
    assert outcome.code is not Code.SUCCESS, outcome.message
