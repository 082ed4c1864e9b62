"""Planweave's simulated arm as an embodiment.

Actions are joint positions (7,) rad and the gripper, 0 closed to 1 open, at 20 Hz. A scene's metadata names a task; its
seed moves the objects. Depth (m), the names of the cameras' files and the domain are in an observation's `extra`, since
images there are colours only. Success is that of the task's checker on true poses, once it has held for a second, with
an open hand where something is put somewhere: what is reached for a moment does not count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from inspect_robots.approver import GuardrailContribution
from inspect_robots.embodiment import EmbodimentBase, EmbodimentInfo
from inspect_robots.errors import ConfigError
from inspect_robots.scene import Scene
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace, StateField, StateSpec
from inspect_robots.types import Action, Observation, StepResult

from planweave.bench.tabletop_checks import ObjectPose
from planweave.bench.tabletop_tasks import scene_bodies
from planweave.core.base.errors import PlanweaveError
from planweave.robots import RobotDescription, load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera, RgbdFrame
from planweave.simulation.mujoco_model import build_model, camera_name
from planweave.simulation.scene import Scene as SimulatedScene
from planweave.simulation.simulator import Simulator
from planweave.simulation.trajectory import Point, TrajectoryError
from planweave_inspect.limits import LimitsApprover

HZ = 20.0
_AHEAD = 2.0  # periods in which a target is reached, if nothing else is said: the next one replaces it meanwhile
_HOLDS = 20  # steps for which the task must be done
_OPEN = 0.9  # share of the opening from which the hand holds nothing
_SEEDS = 2**31  # of scenes
_SUCCESS = "Success: the task's checker holds on true poses for a second."
_FINGER_STEP = 0.02  # share of the opening by which a new target must differ


@dataclass(frozen=True)
class Arrangement:
    """A task that is set up. missing: what of its goal is not so, of true poses of the objects and how far each joint
    of the furniture is open (m, rad); released: whether the hand must be open, since something is put somewhere.
    """

    scene: SimulatedScene
    missing: Callable[[list[ObjectPose], dict[str, float]], list[str]]
    released: bool = True


class SimulatedArm(EmbodimentBase, ABC):
    """robot: name of a description. depth_every: steps between two pictures; cameras are slower than the control."""

    name = ""
    key = "planweave_task"
    """Of a scene's metadata: the task's name."""
    domain = "tabletop"
    cameras: tuple[str, ...] = ("overhead",)
    where = "at a table"

    def __init__(self, robot: str = "fr3", depth_every: int = 4) -> None:
        self._robot, self._every = load_robot(robot), depth_every
        self._configs = [load_camera(camera) for camera in self.cameras]
        self._simulator: Simulator | None = None
        self._cameras: list[OverheadCamera] = []
        pictures = {name: (each.height, each.width) for name, each in zip(self.cameras, self._configs)}
        self.info = info_of(self.name, self.where, self._robot, pictures, HZ, _SUCCESS)

    @abstractmethod
    def arrange(self, task: str, seed: int) -> Arrangement:
        """The task, with objects moved by the seed; raises PlanweaveError."""

    def reset(self, scene: Scene, *, seed: int | None = None) -> Observation:
        """Set up the task that the scene's metadata names, with objects moved by the seed."""
        try:
            seed = ((scene.init_seed or 0) if seed is None else seed) % _SEEDS
            self._arrangement = self.arrange(str(scene.metadata.get(self.key, "")), seed)
            self.close()
            model = build_model(self._arrangement.scene, self._configs, robot=self._robot)
            self._simulator = Simulator(model, self._arrangement.scene, self._robot)
            for k, config in enumerate(self._configs):
                camera = OverheadCamera(model, config, DepthNoise(), seed=seed + k, name=camera_name(k))
                self._cameras.append(camera)
        except PlanweaveError as error:
            raise ConfigError(f"scene {scene.id}: {error} (metadata: {self.key})") from error
        self._steps, self._held, self._width = 0, 0, 1.0
        self._missing()  # so that the task knows how things stood at first
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
        missing = self._missing()
        holds = self._arrangement.released and self._opening() < _OPEN
        self._held = 0 if missing or holds else self._held + 1
        done = self._held >= _HOLDS
        return StepResult(
            self._observe(),
            terminated=done,
            termination_reason="success" if done else None,
            info={"success": done, "missing": missing, **({"refused": reason} if reason else {})},
        )

    def contribute_guardrails(self, action_space: Box) -> GuardrailContribution:
        """Planweave's limits of joints, speed and workspace, of the robot's description."""
        return GuardrailContribution((("planweave-limits", LimitsApprover(self._robot, HZ)),))

    def close(self) -> None:
        while self._cameras:
            self._cameras.pop().close()

    def _missing(self) -> list[str]:
        """What of the goal is not so."""
        simulator, scene = self._simulator, self._arrangement.scene
        assert simulator is not None
        poses = [simulator.object_pose(index) for index in range(len(scene.objects))]
        bodies = scene_bodies(scene, [(p.tolist(), (x, y, z, w)) for p, (w, x, y, z) in poses])
        return self._arrangement.missing(bodies, simulator.fixture_joints())

    def _opening(self) -> float:
        assert self._simulator is not None
        fingers = self._simulator.joint_state()[0][self._robot.count :]
        return self._robot.gripper.width(fingers.tolist()) / self._robot.gripper.opening

    def _observe(self) -> Observation:
        simulator = self._simulator
        assert simulator is not None
        if self._steps % self._every == 0:
            qpos = simulator.snapshot().qpos
            frames = [camera.render(simulator.time, qpos) for camera in self._cameras]
            self._frames: dict[str, RgbdFrame] = dict(zip(self.cameras, frames))
        q, v = simulator.joint_state()
        count, time = self._robot.count, simulator.time
        return Observation(
            images={name: frame.rgb for name, frame in self._frames.items()},
            state={"joint_pos": np.array([*q[:count], self._opening()]), "joint_vel": v[:count].copy()},
            instruction=self._instruction,
            image_times={name: frame.time for name, frame in self._frames.items()},
            state_time=time,
            extra={
                "depth": {name: frame.depth for name, frame in self._frames.items()},
                "camera": {name: name for name in self._frames},
                "domain": self.domain,
            },
        )


def info_of(
    name: str,
    where: str,
    robot: RobotDescription,
    cameras: Mapping[str, tuple[int, int]],
    hz: float,
    success: str,
    seedable: bool = True,
) -> EmbodimentInfo:
    """The declaration of an arm. cameras: height and width of their pictures."""
    low, high = np.array([joint.position for joint in robot.joints]).T
    names = (*robot.joint_names, "gripper")
    step = tuple(float(joint.velocity / hz) for joint in robot.joints)
    return EmbodimentInfo(
        name=name,
        action_space=Box(
            (robot.count + 1,),
            np.array([*low, 0.0]),
            np.array([*high, 1.0]),
            ActionSemantics("joint_pos", gripper="continuous", dim_labels=names, max_step=(*step, None)),
        ),
        observation_space=ObservationSpace(
            tuple(CameraSpec(camera, *size) for camera, size in cameras.items()),
            state=StateSpec(
                (
                    StateField("joint_pos", (robot.count + 1,), "rad, last: gripper 0 closed to 1 open"),
                    StateField("joint_vel", (robot.count,), "rad/s"),
                )
            ),
        ),
        control_hz=hz,
        is_simulated=True,
        capabilities=frozenset(
            {"resettable", "auto_reset", "privileged_success", "renderable"} | ({"seedable"} if seedable else set())
        ),
        docs=(
            f"{robot.title} {where}; base frame: x forward, y to the left, z up. Depth in m "
            f"of the cameras ({', '.join(cameras)}) is in extra['depth']. The last action value is the gripper, 0 "
            f"closed to 1 open. {success}"
        ),
    )
