"""Hand the held object over to a person: present it, loosen the grip, and wait until it is pulled out of the
fingers.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.arms.base import Watch
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.skills.context import SkillContext
from planweave.core.base.failure import Code

WAITING = "waiting to be taken"
"""Phase in which only a person goes on."""
_TURNS = 8
_PATIENCE = 0.02  # between two looks at the fingers, s of wall time


def hand_over(context: SkillContext, name: str) -> None:
    """Present the item at the hand-over place until a person has taken it; TIMEOUT where nobody does.

    It counts as taken when the fingers, closing with little force, have come together by more than a slip.
    """
    held, mover, settings = context.held(name), context.mover, context.settings
    with mover.planning() as start:
        path = _path(context, start)
    try:
        mover.move(path, "handing over", 0.2, watch=context.carrying(" on the way to the person"))
    except SkillFailureError as error:
        if error.action_code is Code.GRASP_LOST:
            context.draw_back()
        raise
    mover.phase(WAITING, 0.6)
    gone = context.carrying()
    mover.grip(0.0, settings.hand_over_force)
    if not _wait(context, settings.hand_over_seconds, gone):
        mover.grip(0.0)  # firmly again
        raise SkillFailureError(
            Code.TIMEOUT,
            f"nobody took {name} within {settings.hand_over_seconds:g} s; the robot still holds it at "
            f"({', '.join(f'{p:.2f}' for p in settings.hand_over_at)}) m",
        )
    context.world.handed_over(held.thing)
    mover.grip(context.gripper.opening)
    _wait(context, settings.hand_over_wait)  # the person's hand withdraws
    context.go_observe()


def _wait(context: SkillContext, seconds: float, over: Watch | None = None) -> bool:
    """Wait for so many seconds, or until a measured state says that it is over; whether one did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        context.arm.check()
        if over is not None and over(context.arm.state()):
            return True
        time.sleep(_PATIENCE)
    return False


def _path(context: SkillContext, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """A path to the hand-over place with the hand pointing down, at the wrist yaw of lowest IK cost."""
    x, y, z = context.settings.hand_over_at
    poses = [downwards(x, y, z, math.pi * k / _TURNS) for k in range(_TURNS)]
    goals = context.reaching.kinematics.best(poses, start, 2)
    if not goals:
        raise SkillFailureError(
            Code.UNREACHABLE,
            f"the place for handing over ({x:.2f}, {y:.2f}, {z:.2f}) m is out of the workspace of the robot",
            permanent=True,
        )
    return context.reaching.planner.plan(start, goals, context.reaching.seconds)
