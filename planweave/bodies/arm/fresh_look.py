"""A look at the world that is guaranteed to have begun after the request, regardless of message delays."""

from __future__ import annotations

import time
from collections.abc import Callable

from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.world_model import WorldModel

_LONGEST = 60.0  # s of wall time
_LONG = 0.5  # s of wall time in which a joint state comes where any do, also of an arm at rest
_POLL = 0.005  # s


def fresh_look(
    world: WorldModel, states: Callable[[], tuple[int, float]], seconds: float, names: RosNames | None = None
) -> tuple[bool, str]:
    """Wait at most a minute until the world includes an image taken from now on; returns whether it does, and why
    not.

    states: returns the send time of the second newest joint state (ns of system time) and the stamp of the newest one
    (s). names: for messages.
    """
    names = names or RosNames()
    seconds = min(seconds, _LONGEST) if seconds > 0 else 0.0
    asked, end = time.time_ns(), time.monotonic() + seconds
    # What is newest here may be old news. The second joint state that was sent since was measured since, and what is
    # stamped later was taken later.
    while states()[0] < asked:
        if world.no_joint_states or time.monotonic() >= end:  # it is not waited for again what did not come for long
            if seconds >= _LONG:
                world.joint_states_stopped()
            return False, (f"no joint states come, so it is unknown which images are new: {names.no_arm_states}")
        time.sleep(_POLL)
    # The first image may have been exposed before its stamp; the next one was taken while we waited.
    first = world.wait_for_detections(max(states()[1], world.world().stamp), end - time.monotonic())
    if first is not None and world.wait_for_detections(first, end - time.monotonic()) is not None:
        return True, ""
    return False, no_fresh_look(world, names, seconds)


def no_fresh_look(world: WorldModel, names: RosNames, seconds: float) -> str:
    """Why there was no look of an image taken after a moment, with the arm at rest, in so many seconds."""
    since = min(seconds, time.time() - world.world().heard)
    if world.overdue or since > seconds / 2:
        return f"no detections on {names.detections} for {since:.3g} s: are the camera and perception_node running?"
    return f"no fresh look in {seconds:g} s: images come, but none taken since then with the arm at rest (one clock?)"
