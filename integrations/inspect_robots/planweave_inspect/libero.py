"""LIBERO's robot as an embodiment, and its tasks; needs `planweave setup libero`.

Actions are joint positions (7,) rad and the gripper, 0 closed to 1 open, at LIBERO's 20 Hz. Success is what LIBERO's
checker says. Depth (m) and the places of the cameras in LIBERO's world frame are in an observation's `extra`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from inspect_robots.approver import GuardrailContribution
from inspect_robots.embodiment import EmbodimentBase
from inspect_robots.errors import ConfigError
from inspect_robots.scene import Scene
from inspect_robots.scorer import success_at_end
from inspect_robots.spaces import Box
from inspect_robots.task import Task
from inspect_robots.types import Action, Observation, StepResult

from planweave.core.base.errors import PlanweaveError
from planweave.libero.arm import ROBOT, STEP
from planweave.libero.client import LiberoSimulator, Picture
from planweave.robots import load_robot
from planweave_inspect.limits import LimitsApprover
from planweave_inspect.simulated_arm import info_of

KEY = "libero_task"
"""Of a scene's metadata: suite/task/initial state."""
CAMERAS = ("agentview", "robot0_eye_in_hand")
_SUCCESS = "Success is that of LIBERO's checker."
_NOTCH = 0.01  # m by which the gripper changes its opening in a step


class PlanweaveLibero(EmbodimentBase):
    """size: pixels of the square pictures. depth_every: steps between two pictures. simulator: by default a new one."""

    def __init__(self, size: int = 256, depth_every: int = 4, simulator: LiberoSimulator | None = None) -> None:
        self._size, self._every, self._simulator = size, depth_every, simulator
        self._robot = load_robot(ROBOT)
        self._widest = round(self._robot.gripper.opening / _NOTCH)
        pictures = dict.fromkeys(CAMERAS, (size, size))
        self.info = info_of(
            "planweave_libero", "in LIBERO", self._robot, pictures, 1.0 / STEP, _SUCCESS, seedable=False
        )

    def reset(self, scene: Scene, *, seed: int | None = None) -> Observation:
        """Load the task that the scene's metadata names; what is random in LIBERO is its initial state."""
        try:
            self._simulator = self._simulator or LiberoSimulator()
            self._task = self._simulator.load(str(scene.metadata.get(KEY, "")), joints=True)
        except PlanweaveError as error:
            raise ConfigError(f"scene {scene.id}: {error} (metadata: {KEY})") from error
        self._steps, self._notch = 0, self._widest
        return self._observe(self._simulator.arm())

    def step(self, action: Action) -> StepResult:
        """Go to joint positions, and towards a gripper opening, for one period."""
        assert self._simulator is not None, "reset comes first"
        values = np.asarray(action.data, dtype=float)
        wanted = round(float(np.clip(values[-1], 0.0, 1.0)) * self._widest)
        sense = int(self._notch > wanted) - int(self._notch < wanted)
        self._notch -= sense
        try:
            moved = self._simulator.move([[*values[:-1].tolist(), float(sense)]])
        except PlanweaveError as error:
            return StepResult(self._last, truncated=True, termination_reason=str(error), info={"success": False})
        self._steps += 1
        observation, done = self._observe(moved.arm), moved.success
        reason = "success" if done else None
        return StepResult(observation, terminated=done, termination_reason=reason, info={"success": done})

    def contribute_guardrails(self, action_space: Box) -> GuardrailContribution:
        """Planweave's limits of joints, speed and workspace, of LIBERO's robot."""
        return GuardrailContribution((("planweave-limits", LimitsApprover(self._robot, 1.0 / STEP)),))

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def _observe(self, arm: Any) -> Observation:
        assert self._simulator is not None
        if self._steps % self._every == 0:
            self._seen_at = self._steps * STEP
            self._pictures: dict[str, Picture] = {
                name: self._simulator.capture(name, self._size, self._size) for name in CAMERAS
            }
        first, second = arm["gripper"]
        opening = (first - second) / self._robot.gripper.opening
        self._last = Observation(
            images={name: picture.rgb for name, picture in self._pictures.items()},
            state={"joint_pos": np.array([*arm["joints"], opening]), "joint_vel": np.array(arm["velocities"])},
            instruction=self._task.language,
            image_times=dict.fromkeys(CAMERAS, self._seen_at),
            state_time=self._steps * STEP,
            extra={
                "depth": {name: picture.depth for name, picture in self._pictures.items()},
                "pose": {name: (picture.position, picture.rotation) for name, picture in self._pictures.items()},
                "fovy": {name: picture.fovy for name, picture in self._pictures.items()},
            },
        )
        return self._last


def planweave_libero_task(
    suite: str = "libero_object", tasks: str = "0", inits: int = 1, max_steps: int = 1200
) -> Task:
    """Tasks of a suite of LIBERO or LIBERO-PRO by number, each from some of its initial states."""
    scenes = []
    try:
        with LiberoSimulator() as simulator:
            for number in str(tasks).split(","):
                loaded = [simulator.load(f"{suite}/{number.strip()}/{init}") for init in range(inits)]
                scenes += [Scene(task.name, task.language, metadata={KEY: task.name}) for task in loaded]
    except PlanweaveError as error:
        raise ConfigError(f"tasks {tasks} of {suite}: {error}") from error
    return Task("planweave-libero", scenes, success_at_end(), max_steps)
