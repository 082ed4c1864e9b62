"""The arm as the body that `serve_body` serves: what a real arm and its camera need before and after an action."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.arms.base import AWAY
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.body import ArmBody, Told
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.fresh_look import fresh_look
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.unseen_grip import UnseenGrip
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Look

_POLL = 0.2  # s
LATE = 15.0
"""Seconds of wall time that an action waits for joint states and controllers: on a busy machine they may be late.
Nothing moves meanwhile.
"""


class RosArmBody(ArmBody):
    """newest: when the newest joint states were sent, ns of system time, and their stamp, s. names: for messages.
    require_controllers: raises SkillFailureError where what shall move the arm is not there or not ready. on_begin:
    called when an action begins.
    """

    world: WorldModel

    def __init__(
        self,
        domain: Domain,
        world: WorldModel,
        arm: ControlledArm,
        skills: Skills,
        unseen_grip: UnseenGrip,
        require_controllers: Callable[[], None],
        newest: Callable[[], tuple[int, float]],
        names: RosNames,
        log: Any,
        on_begin: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(domain, world, arm, skills)
        self._unseen_grip, self._require = unseen_grip, require_controllers
        self._newest, self._names, self._log, self._on_begin = newest, names, log, on_begin
        self._rest: NDArray[np.float64] | None = None  # joint positions after the last action, rad

    def look(self, seconds: float) -> Look:
        """The world with an image taken from now on; it tells where the arm was moved by something else."""
        fresh, message = fresh_look(self.world, self._newest, seconds, self._names)
        return Look(self.world.world(), fresh, message or self._moved_by_hand())

    def _moved_by_hand(self) -> str:
        """What to tell of an arm that stands elsewhere than after its last action; else empty."""
        if self._rest is None:
            return ""
        moved = np.abs(self.world.joints - self._rest)
        joint = int(moved.argmax())
        if moved[joint] <= AWAY:
            return ""
        return f"the arm was moved since its last action: {self.arm.robot.joint_names[joint]} by {moved[joint]:.2f} rad"

    def begin(self, timeout: float) -> None:
        super().begin(timeout)
        self._on_begin()

    def _admit(self, action: Action, told: Told) -> None:
        self._rest = None
        self._await_states(told)  # else whatever waits for the camera or a controller would wait first
        if action.args:
            self.skills.sight.require()
        if action.name != "return_to_base":
            self._unseen_grip.require_known()

    def _make_ready(self) -> None:
        """After this nothing is tried again: NOT_STARTED."""
        try:
            self._require()
        except SkillFailureError as error:
            raise (_unready(error) if error.action_code is Code.CONTROL_FAILED else error) from None

    def _ended(self, action: Action, code: Code, message: str, phase: str) -> None:
        self._rest = self.world.joints
        if code is Code.SUCCESS:
            return
        self._log.info(f"{action}: {code.name}: {message}")
        if phase == "closing":
            self._unseen_grip.interrupted()

    def _await_states(self, told: Told) -> None:
        """Wait for joint states. Without any nothing is tried again: NOT_STARTED."""
        deadline = time.monotonic() + LATE
        while True:
            self.arm.check()
            try:
                self.arm.state()
                return
            except SkillFailureError as error:
                if error.action_code is not Code.CONTROL_FAILED:
                    raise
                if time.monotonic() >= deadline:
                    raise _unready(error) from None
            told("waiting for joint states", 0.0)
            time.sleep(_POLL)


def _unready(error: SkillFailureError) -> SkillFailureError:
    return SkillFailureError(Code.NOT_STARTED, f"{error.message}; nothing was moved")
