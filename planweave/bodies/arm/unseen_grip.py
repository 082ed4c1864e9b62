"""Detection of an object in the gripper at the start: a restarted executor has not seen the grasp."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import LOW
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.waiting import GRIP_SECONDS, until
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal

_PAUSE = 0.02  # s between two looks whether an action still waits for that
_AJAR = 0.004  # m: fingers farther than this from closed and from open may hold something
_OPEN_BY = 0.02  # m: lets go without reaching far into what stands beside


class UnseenGrip:
    """Examines the first measured state. Half-open fingers either open, to release what stands between them, or close,
    to feel what they hold where they are too high to release it.

    ready(): waits until the gripper's controller is available. warn(text): logs a warning. let_go: name of the service.
    driven: whether anything moves the fingers; else their opening says nothing.
    """

    def __init__(
        self,
        arm: ControlledArm,
        world: WorldModel,
        force: float,
        feel: bool,
        ready: Callable[[], object],
        warn: Callable[[str], object],
        let_go: str = RosNames().let_go,
        driven: bool = True,
    ):
        self._arm, self._world, self._force, self._may_feel = arm, world, force, feel
        self._ready, self._warn, self._let_go = ready, warn, let_go
        self._widest, self._driven = arm.robot.gripper.opening, driven
        self._begun = False
        self._known = threading.Event()

    def on_state(self, state: ArmState) -> None:
        """Process a measured state; only the first counts."""
        if self._begun:
            return
        self._begun = True
        if not self._driven or not _AJAR < state.width < self._widest - _AJAR:
            self._known.set()
            return
        self._world.gripped_unseen(state.width)
        if self._may_feel:
            threading.Thread(target=self._feel, name="feel", daemon=True).start()
        else:
            self._known.set()

    def interrupted(self) -> None:
        """The fingers were stopped while they closed: what they stand around by now nobody has seen them take."""
        width = self._arm.wait_fingers()
        if self._driven and width is not None and self._world.held is None:
            self._world.gripped_unseen(width if _AJAR < width < self._widest - _AJAR else None)

    def wait(self, given_up: Callable[[], bool] = lambda: False) -> None:
        """Wait until the grip is known, as far as fingers can tell, or this is given up."""
        until(lambda: self._known.is_set() or given_up(), GRIP_SECONDS, _PAUSE)

    def require_known(self) -> None:
        """Raise PRECONDITION_UNMET where the gripper holds an unidentified object."""
        if self._world.holds_unknown:
            raise SkillFailureError(
                Code.PRECONDITION_UNMET,
                "the gripper holds something that it was not seen to take, and the camera does not say what it is; "
                f"hold your hand under it and open the gripper: ros2 service call {self._let_go} std_srvs/srv/Trigger",
                (Literal("hand_empty"),),
            )

    def let_go(self) -> str:
        """Open the gripper, whatever it holds; returns why that failed, else empty. No skill may run."""
        try:
            self._arm.begin(time.monotonic() + GRIP_SECONDS)
            self._arm.grip(self._widest, self._force)
        except SkillFailureError as error:
            return error.message
        self._world.released(None)
        return ""

    def _feel(self) -> None:
        """Low above the table, open: an object between the fingers stands there, or drops by less than LOW.

        Otherwise close: a held object stays held, and empty fingers meet.
        """
        try:
            self._ready()
            self._arm.begin(time.monotonic() + GRIP_SECONDS)
            state = self._arm.state()
            if state.still and self._world.tips_height <= LOW:
                self._open(state.width)
                return
            width = self._arm.grip(0.0, self._force)
            self._world.gripped_unseen(width if width > _AJAR else None)
            if self._world.holds_unknown:
                self._warn(
                    f"the fingers hold something, {width * 1000:.0f} mm wide, that they were not seen to take; "
                    "the camera's tracker may name it"
                )
        except SkillFailureError as error:
            self._warn(f"whether the gripper holds something could not be felt: {error.message}")
        finally:
            self._known.set()

    def _open(self, width: float) -> None:
        """Release what stands between the fingers, which are `width` m apart."""
        goal = min(width + _OPEN_BY, self._widest)
        if self._arm.grip(goal, self._force) < (width + goal) / 2:
            self._warn("the fingers, half open at the start, did not open; does the gripper's controller listen?")
            return
        self._world.released(None)
        self._warn(
            f"the fingers, half open at the start, were opened: {self._world.tips_height * 1000:.0f} mm above "
            "the table, what was between them stands there"
        )
