"""Planweave's simulated arm at a table as an embodiment, and its tabletop tasks.

Actions are joint positions (7,) rad and the gripper, 0 closed to 1 open, at 20 Hz. A scene's metadata names a tabletop
task of Planweave; its seed moves the objects. Depth (m) and the name of the camera's file are in an observation's
`extra`, since images there are colours only. Success is that of the task's checker on true poses, once it has held for
a second with an open hand: what is reached for a moment does not count.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from inspect_robots.approver import GuardrailContribution
from inspect_robots.embodiment import EmbodimentBase, EmbodimentInfo
from inspect_robots.errors import ConfigError
from inspect_robots.scene import Scene
from inspect_robots.scorer import success_at_end
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace, StateField, StateSpec
from inspect_robots.task import Task
from inspect_robots.types import Action, Observation, StepResult

from planweave.bench.tabletop_tasks import TASKS, check, load_task, scene_bodies
from planweave.bench.tabletop_variants import variant
from planweave.core.base.errors import PlanweaveError
from planweave.robots import RobotDescription, load_robot
from planweave.simulation.camera import DepthNoise, OverheadCamera, RgbdFrame, load_camera
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.scene import load_scene
from planweave.simulation.simulator import Simulator
from planweave.simulation.trajectory import Point, TrajectoryError
from planweave_inspect.limits import LimitsApprover

HZ = 20.0
_AHEAD = 2.0  # periods in which a target is reached, if nothing else is said: the next one replaces it meanwhile
_HOLDS = 20  # steps for which the task must be done
_OPEN = 0.9  # share of the opening from which the hand holds nothing
_SEEDS = 2**31  # of scenes
_FINGER_STEP = 0.02  # share of the opening by which a new target must differ


class PlanweaveTable(EmbodimentBase):
    """robot: name of a description. depth_every: steps between two pictures; the camera is slower than the control."""

    def __init__(self, robot: str = "fr3", depth_every: int = 4) -> None:
        self._robot, self._every = load_robot(robot), depth_every
        self._config = load_camera()
        self._simulator: Simulator | None = None
        self._camera: OverheadCamera | None = None
        self.info = info_of(self._robot, self._config.height, self._config.width)

    def reset(self, scene: Scene, *, seed: int | None = None) -> Observation:
        """Set up the task that the scene's metadata names, with objects moved by the seed."""
        try:
            self._task = load_task(str(scene.metadata.get("planweave_task", "")))
            seed = ((scene.init_seed or 0) if seed is None else seed) % _SEEDS
            self._scene = _scene(self._task, seed)
            self.close()
            model = build_model(self._scene, self._config, robot=self._robot)
            self._simulator = Simulator(model, self._scene, self._robot)
            self._camera = OverheadCamera(model, self._config, DepthNoise(), seed=seed)
        except PlanweaveError as error:
            raise ConfigError(f"scene {scene.id}: {error} (metadata: planweave_task)") from error
        self._start, self._steps, self._held, self._width = self._bodies(), 0, 0, 1.0
        self._instruction = scene.instruction
        return self._observe()

    def step(self, action: Action) -> StepResult:
        """Go towards joint positions and gripper opening for one period."""
        simulator, count = self._simulator, self._robot.count
        assert simulator is not None, "reset comes first"
        values = np.asarray(action.data, dtype=float)
        period = 1.0 / HZ
        reason = None
        try:
            point = Point(_AHEAD * period, values[:count].tolist(), [0.0] * count)
            simulator.controller.follow(self._robot.joint_names, [point])
        except TrajectoryError as error:
            reason = str(error)  # the arm holds
        opening = float(np.clip(values[count], 0.0, 1.0))
        if abs(opening - self._width) > _FINGER_STEP:
            self._width = opening
            simulator.move_gripper(opening * self._robot.gripper.opening)
        simulator.step(round(period / simulator.timestep))
        self._steps += 1
        missing = check(self._task, self._bodies(), self._start)
        self._held = 0 if missing or self._opening() < _OPEN else self._held + 1
        done = self._held >= _HOLDS
        return StepResult(
            self._observe(),
            terminated=done,
            termination_reason="success" if done else None,
            info={"success": done, "missing": list(missing), **({"refused": reason} if reason else {})},
        )

    def contribute_guardrails(self, action_space: Box) -> GuardrailContribution:
        """Planweave's limits of joints, speed and workspace, of the robot's description."""
        return GuardrailContribution((("planweave-limits", LimitsApprover(self._robot, HZ)),))

    def close(self) -> None:
        """Free the camera."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _opening(self) -> float:
        assert self._simulator is not None
        fingers = self._simulator.joint_state()[0][self._robot.count :]
        return self._robot.gripper.width(fingers.tolist()) / self._robot.gripper.opening

    def _bodies(self) -> list[Any]:
        assert self._simulator is not None
        poses = [self._simulator.object_pose(index) for index in range(len(self._scene.objects))]
        return scene_bodies(self._scene, [(p.tolist(), (x, y, z, w)) for p, (w, x, y, z) in poses])

    def _observe(self) -> Observation:
        simulator = self._simulator
        assert simulator is not None and self._camera is not None
        if self._steps % self._every == 0:
            self._frame: RgbdFrame = self._camera.render(simulator.time, simulator.snapshot().qpos)
        q, v = simulator.joint_state()
        count, time = self._robot.count, simulator.time
        return Observation(
            images={"overhead": self._frame.rgb},
            state={"joint_pos": np.array([*q[:count], self._opening()]), "joint_vel": v[:count].copy()},
            instruction=self._instruction,
            image_times={"overhead": self._frame.time},
            state_time=time,
            extra={"depth": {"overhead": self._frame.depth}, "camera": {"overhead": "overhead"}},
        )


def info_of(robot: RobotDescription, height: int, width: int) -> EmbodimentInfo:
    """The declaration of an arm at the table."""
    low, high = np.array([joint.position for joint in robot.joints]).T
    names = (*robot.joint_names, "gripper")
    step = tuple(float(joint.velocity / HZ) for joint in robot.joints)
    return EmbodimentInfo(
        name="planweave_table",
        action_space=Box(
            (robot.count + 1,),
            np.array([*low, 0.0]),
            np.array([*high, 1.0]),
            ActionSemantics("joint_pos", gripper="continuous", dim_labels=names, max_step=(*step, None)),
        ),
        observation_space=ObservationSpace(
            (CameraSpec("overhead", height, width),),
            state=StateSpec(
                (
                    StateField("joint_pos", (robot.count + 1,), "rad, last: gripper 0 closed to 1 open"),
                    StateField("joint_vel", (robot.count,), "rad/s"),
                )
            ),
        ),
        control_hz=HZ,
        is_simulated=True,
        capabilities=frozenset({"seedable", "resettable", "auto_reset", "privileged_success", "renderable"}),
        docs=(
            f"{robot.title} at a table; base frame: x forward, y to the left, z up, the table at z = 0. The overhead "
            "camera looks down at it: depth in m is in extra['depth']['overhead']. The last action value is the "
            "gripper, 0 closed to 1 open. Success counts once it has held for a second with an open hand."
        ),
    )


def planweave_table_task(tasks: str = "banana_in_bowl,pear_on_plate", seeds: int = 1, max_steps: int = 2400) -> Task:
    """Tabletop tasks of Planweave by name, each with some seeds."""
    names = [name.strip() for name in tasks.split(",")]
    unknown = sorted(set(names) - set(TASKS))
    if unknown:
        raise ConfigError(f"no tabletop task {unknown[0]!r}; there are {', '.join(TASKS)}")
    scenes = [
        Scene(f"{name}-{seed}", load_task(name).sentence, init_seed=seed, metadata={"planweave_task": name})
        for name in names
        for seed in range(seeds)
    ]
    return Task("planweave-table", scenes, success_at_end(), max_steps)


def _scene(task: Any, seed: int) -> Any:
    """The scene of a task with its objects moved by a seed; seed 0 is the task's own."""
    if seed == 0:
        return load_scene(task.scene)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_text(variant(task, seed).text)
        return load_scene(str(path))
