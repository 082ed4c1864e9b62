"""The arm as the body that `serve_body` serves: checks before an action, the skill, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm import preconditions
from planweave.bodies.arm.arms.controlled import AWAY, ControlledArm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.fresh_look import fresh_look
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.unseen_grip import UnseenGrip
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome
from planweave_ros.permission import Permission

_POLL = 0.2  # s
LATE = 15.0
"""Seconds of wall time that an action waits for joint states and controllers: on a busy machine they may be late.
Nothing moves meanwhile.
"""


class ArmBody:
    """Keeps planweave.core.workflow.ports.StoppableBody.

    newest: when the newest joint states were sent, ns of system time, and their stamp, s. names: for messages.
    make_ready: raises SkillFailureError where what shall move the arm is not there or not ready. on_begin: called when
    an action begins.
    """

    def __init__(
        self,
        domain: Domain,
        world: WorldModel,
        arm: ControlledArm,
        skills: Skills,
        unseen_grip: UnseenGrip,
        permission: Permission | None,
        make_ready: Callable[[], None],
        newest: Callable[[], tuple[int, float]],
        names: RosNames,
        log: Any,
        on_begin: Callable[[], object] = lambda: None,
    ) -> None:
        self.skills = skills
        self._domain, self._world, self._arm, self._unseen_grip = domain, world, arm, unseen_grip
        self._permission, self._make_ready, self._newest = permission, make_ready, newest
        self._names, self._log, self._on_begin = names, log, on_begin
        self._phase = ""  # of the action that runs
        self._rest: NDArray[np.float64] | None = None  # joint positions after the last action, rad

    def observe(self, revision: int = 0) -> World:
        """The world as it is known now."""
        return self._world.world()

    def look(self, seconds: float) -> Look:
        """The world with an image taken from now on; it tells where the arm was moved by something else."""
        fresh, message = fresh_look(self._world, self._newest, seconds, self._names)
        return Look(self._world.world(), fresh, message or self._moved_by_hand())

    def _moved_by_hand(self) -> str:
        """What to tell of an arm that stands elsewhere than after its last action; else empty."""
        if self._rest is None:
            return ""
        moved = np.abs(self._world.joints - self._rest)
        joint = int(moved.argmax())
        if moved[joint] <= AWAY:
            return ""
        return (
            f"the arm was moved since its last action: {self._arm.robot.joint_names[joint]} by {moved[joint]:.2f} rad"
        )

    def begin(self, timeout: float) -> None:
        """From now on `stop` ends the action; timeout in s of wall time."""
        self._arm.begin(time.monotonic() + timeout)
        self._on_begin()

    def stop(self, code: Code, message: str) -> None:
        """Stop the arm."""
        self._arm.abort(code, message)

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """Carry out an action that was begun; its time runs since then."""
        skills = self.skills
        skills.mover.begin(None)
        skills.body.pushed.clear()
        self._phase, self._rest = "", None
        code, message, unmet = self._carry_out(skills, action, task_id, approval, on_phase or (lambda *_: None))
        self._rest = self._world.joints
        pushed = tuple(skills.body.pushed)
        if pushed:
            message += f"; pushed aside to get there: {', '.join(pushed)}"
        mover = skills.mover
        return Outcome(code, message, self._world.world(), unmet, mover.motion_seconds, mover.planning_seconds, pushed)

    def _carry_out(
        self, skills: Skills, action: Action, task_id: str, approval: str, on_phase: Callable[[str, float], None]
    ) -> tuple[Code, str, tuple[Any, ...]]:
        def told(phase: str, progress: float) -> None:
            self._phase = phase
            on_phase(phase, progress)

        try:
            self._await_states(told)  # else whatever waits for the camera or a controller would wait first
            problem = self._permission.problem(action, task_id, approval) if self._permission else ""
            if problem:
                raise SkillFailureError(Code.SAFETY_STOP, f"{action}: {problem}; nothing was moved")
            if action.args:
                skills.sight.require()
            if action.name != "return_to_base":
                self._unseen_grip.require_known()
            preconditions.check(self._domain, self._world.world(), action)
            self._require_ready()
            skills.run(action, told)
        except SkillFailureError as error:
            self._log.info(f"{action}: {error.code.name}: {error.message}")
            if self._phase == "closing":
                self._unseen_grip.interrupted()
            return error.code, error.message, error.unmet
        except Exception as error:
            self._arm.abort(Code.CONTROL_FAILED, "an error inside executor_node")
            self._log.error(f"{action}: {error!r}")
            return (
                Code.CONTROL_FAILED,
                f"executor_node failed inside ({type(error).__name__}: {error}); the arm was stopped",
                (),
            )
        return Code.SUCCESS, f"done: {self._domain.phrase(action)}", ()

    def _await_states(self, told: Callable[[str, float], None]) -> None:
        """Wait for joint states. Without any nothing is tried again: SAFETY_STOP."""
        deadline = time.monotonic() + LATE
        while True:
            self._arm.check()
            try:
                self._arm.state()
                return
            except SkillFailureError as error:
                if error.code is not Code.CONTROL_FAILED:
                    raise
                if time.monotonic() >= deadline:
                    raise _unready(error) from None
            told("waiting for joint states", 0.0)
            time.sleep(_POLL)

    def _require_ready(self) -> None:
        """Raise SAFETY_STOP, after which nothing is tried again, where what shall move the arm is not ready."""
        try:
            self._make_ready()
        except SkillFailureError as error:
            raise (_unready(error) if error.code is Code.CONTROL_FAILED else error) from None


def _unready(error: SkillFailureError) -> SkillFailureError:
    return SkillFailureError(Code.SAFETY_STOP, f"{error.message}; nothing was moved")
