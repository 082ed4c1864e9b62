"""Doubles for skills with things of parts: an arm that is at once where it is sent, things that its hand carries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.retries import read_retries
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.world import Action, Literal, World
from planweave.geometry.rotations import quaternion_from_rotation
from planweave.geometry.upright_shape import is_upright

ROOM = (-0.5, -0.9, -0.1), (1.0, 0.9, 1.3)


class CarryingArm:
    """An `planweave.bodies.arm.arms.base.Arm` without dynamics. misses: grips that close on nothing first."""

    def __init__(self, kinematics, things, misses=0):
        self.kinematics, self.things, self.misses = kinematics, things, misses
        self.q, self.width, self.stamp, self.grips = np.array(kinematics.robot.home), 0.08, 0.0, []
        self.carried = self.world = None

    def state(self):
        return ArmState(self.stamp, self.q, np.zeros_like(self.q), self.width)

    def check(self):
        """Nothing ends it."""

    def follow(self, trajectory, watch=None):
        self.q, self.stamp = trajectory.end, self.stamp + trajectory.duration
        if self.world is not None:
            self.world.on_joints(self.q)
        if self.carried is not None:
            name, to_tcp = self.carried
            pose = self.kinematics.forward(self.q) @ to_tcp
            turned = quaternion_from_rotation(pose[:3, :3])
            self.things[name] = replace(
                self.things[name],
                position=tuple(pose[:3, 3].tolist()),
                yaw=float(np.arctan2(pose[1, 0], pose[0, 0])),
                orientation=None if is_upright(turned) else turned,
            )

    def grip(self, width, force, wait=True):
        self.stamp += 0.5
        self.width = width
        if width > 0.0:
            self.carried = None
            return width
        self.grips.append(self.kinematics.forward(self.q))
        between = self._between()
        if between is None or self.misses > 0:
            self.misses -= 1
            return self.width
        name, self.width = between
        self.carried = name, np.linalg.inv(self.kinematics.forward(self.q)) @ pose_of(self.things[name])
        return self.width

    def _between(self):
        """The thing between the pads, and how thick it is there."""
        tcp = self.kinematics.forward(self.q)
        along = np.arange(-0.04, 0.04, 0.001)
        for name, thing in self.things.items():
            for depth in (0.0, 0.004, 0.008):
                points = tcp[:3, 3] + depth * tcp[:3, 2] + along[:, None] * tcp[:3, 1]
                hit = np.zeros(len(points), bool)
                for part in parts_of(thing):
                    normals, offsets = part.planes
                    hit |= (points @ normals.T <= offsets + 1e-9).all(axis=1)
                if hit.any():
                    return name, float(np.ptp(along[hit])) + 0.001
        return None


class SolidBench:
    """Skills, a scene of things with parts, and what a look at them tells: `on` and `in` by their centres."""

    def __init__(self, scene, domain, things, places=(), misses=0):
        self.things = {thing.name: thing for thing in things}
        self.scene, self.domain = scene, domain
        kinematics = Kinematics(scene.model, scene.robot)
        self.arm = CarryingArm(kinematics, self.things, misses)
        retries = read_retries(["NO_GRASP 2 other_grasp", "GRASP_LOST 1 other_grasp"])
        settings = SkillSettings(observe=(), planning_seconds=30.0, left=-1.0, pushes=0, retries=retries)
        safety = Safety(kinematics, JointLimits.of(scene.robot), *ROOM)
        ground = scene.table_height
        self.world = self.arm.world = WorldModel(domain, places, kinematics, safety, ground=ground, look=self.look)
        reaching = ApproachPlanner(scene, kinematics, MotionPlanner(scene, kinematics), 30.0, 0.07)
        self.skills = Skills(self.arm, scene, reaching, safety, self.world, settings)

    def run(self, text):
        """Execute an action in words."""
        self.world.wait_for_detections(0.0, 0.0)
        self.skills.run(Action.parse(text))

    def look(self):
        facts = set()
        for a in self.things.values():
            for b in self.things.values():
                low = a.position[2] - a.size[2] / 2 - (b.position[2] - b.size[2] / 2)
                near = 0.06 if b.regions else 0.03  # anywhere in a room, in the middle of a thing
                if a is not b and np.hypot(*np.subtract(a.position[:2], b.position[:2])) < near and low > -0.002:
                    facts |= {Literal("on", (a.name, b.name)), Literal("in", (a.name, b.name))}
        told = World(self.domain.name, facts=frozenset(facts))
        self.world.on_truth(told, lambda name: None, self.things.values(), self.arm.stamp)
