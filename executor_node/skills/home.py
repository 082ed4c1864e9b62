"""Go to the home position, with what is held."""

from __future__ import annotations

import numpy as np

from executor_node.skills.body import Body
from planweave import franka

_THERE = 0.01  # rad


def return_to_base(body: Body) -> None:
    """Go to the home position; nothing moves where the arm is there already."""
    home = np.array(franka.HOME)
    body.mover.phase("planning", 0.0)
    if np.abs(body.arm.state().positions - home).max() < _THERE:
        return
    with body.mover.thinking("planning", 0.0):
        body.mover.look_around()
        body.mover.rise_if_close()
        path = body.mover.plan_to(home)
    body.mover.move(path, "returning", 0.2, watch=body.carrying())
