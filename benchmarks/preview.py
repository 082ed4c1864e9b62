"""How long the preview of a plan of four steps takes: on the table of the scene blocks, beside what the arm needs."""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

from benchmarks.figures import Row, figure
from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.preview import MotionPreview
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.workflow.step_motion import PlanPreview, preview_text

ROUNDS = 20
_GOAL = 1.0  # s of wall time
_PLAN = ("grasp(red_cube)", "place_in(red_cube, tray)", "grasp(blue_cube)", "place_on(blue_cube, green_cube)")
_CUBES = {"red": (0.47, 0.02), "blue": (0.55, -0.12), "green": (0.40, -0.14), "yellow": (0.60, 0.09)}


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    domain, scene, settings = Domain.load("tabletop"), PlanningScene(), SkillSettings()
    robot, kinematics = scene.robot, Kinematics(scene.model, scene.robot)
    safety = Safety(kinematics, JointLimits.of(robot).scaled(settings.speed, settings.acceleration))
    world = WorldModel(domain, load_workspace("tabletop"), kinematics, safety)
    things = [Thing(f"{c}_cube", "item", "cube", (x, y, 0.025), (0.05,) * 3, colour=c) for c, (x, y) in _CUBES.items()]
    things.append(Thing("tray", "container", "tray", (0.58, 0.38, 0.02), (0.2, 0.28, 0.04), shape="hollow"))
    world.on_detections(things, 1.0)
    home, begun = np.array(robot.home), time.perf_counter()
    preview = MotionPreview(domain, scene.twin(), kinematics, lambda s, check: MotionPlanner(s, kinematics), 2.0)
    twin = time.perf_counter() - begun
    state = ArmState(1.0, home, np.zeros_like(home), robot.gripper.opening)
    actions = [Action.parse(text) for text in _PLAN]
    seconds, processor = [], []
    for _ in range(ROUNDS):
        begun, used = time.perf_counter(), time.process_time()
        steps = preview.motions(actions, world, state, safety, settings, lambda: None)
        seconds.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    shown = PlanPreview("", "", steps)
    median, slowest = statistics.median(seconds), sorted(seconds)[-max(ROUNDS // 10, 1)]
    return [
        figure(
            "preview of a plan of 4 steps, s of wall time",
            f"{median:.2f} (nine in ten below {slowest:.2f})",
            f"below {_GOAL:g} s",
            median < _GOAL,
        ),
        figure("the same, s of processor time", f"{statistics.median(processor):.2f}"),
        figure("the first one, which loads libraries, s of wall time", f"{seconds[0]:.2f}"),
        figure("time of the motions that it shows, as a multiple of it", f"{shown.duration / median:.0f}"),
        figure("planning scene of its own, ms", f"{1e3 * twin:.0f}"),
        figure("the plan", preview_text(shown)),
    ]
