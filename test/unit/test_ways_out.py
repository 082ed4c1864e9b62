"""The way out of a cupboard after something was let go there, with positions in place of joints."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from planweave.bodies.arm.approach_planning import Approach
from planweave.bodies.arm.skills import placing
from planweave.geometry.joints import frame

LINE = np.array([[0.59, -0.34, 0.116], [0.63, -0.36, 0.095], [0.67, -0.38, 0.073]])
START = np.array([0.665, -0.38, 0.10])  # drawn back along the fingers
APPROACH = Approach(np.array([[0.5, 0.0, 0.5], LINE[0]]), LINE, 0.06)


class Room:
    """The context of a skill whose hand is at START. blocked: whether the hand cannot be at a place."""

    def __init__(self, blocked):
        self.arm = SimpleNamespace(state=lambda: SimpleNamespace(positions=START))
        self.mover = SimpleNamespace(thinking=lambda *phase: nullcontext(), update_scene=lambda: None)
        planner = SimpleNamespace(line=lambda q, way, far: np.array([q + k / 5 * far * way for k in range(1, 6)]))
        kinematics = SimpleNamespace(forward=lambda q: frame(np.eye(3), q))
        self.reaching = SimpleNamespace(planner=planner, kinematics=kinematics)
        self.scene = SimpleNamespace(path_contact=lambda way, margin: "mug" if any(map(blocked, way)) else None)

    def leave_out_touched(self):
        """Nothing is touched."""


@pytest.mark.parametrize(
    ("blocked", "height"),
    [
        (lambda q: False, LINE[-1][2]),
        (lambda q: q[2] < 0.09, START[2]),  # a finger in what was let go
        (lambda q: True, None),
    ],
)
def test_the_hand_goes_out_as_it_came_or_level_from_where_it_is(blocked, height):
    way = placing._way_out(Room(blocked), APPROACH)
    if height is None:
        assert way is None
    else:
        assert way[1][2] == pytest.approx(height) and way[-1] == pytest.approx(APPROACH.path[0])
