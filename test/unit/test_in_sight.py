"""Where things are put down: only where the camera sees them, not in the shade of an open door."""

import numpy as np

from planweave.bodies.arm.placement_sampling import Spot, in_sight
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.solids import Part
from planweave.geometry.joints import frame

MUG = Thing("mug", "item", "mug", (0.4, 0.0, 0.04), (0.08, 0.08, 0.08))
DOOR = Part.box(frame(np.eye(3), (0.5, -0.3, 0.15)), (0.13, 0.006, 0.15))
CAMERA = (0.5, 0.0, 1.05)
SHADED, BEFORE, EDGE, ON_TOP = (
    Spot(0.5, -0.36, 0.0),
    Spot(0.5, -0.2, 0.0),
    Spot(0.5, -0.42, 0.0),
    Spot(0.5, -0.36, 0.4),
)


def test_what_a_door_hides_is_left_out():
    spots = [SHADED, BEFORE, EDGE, ON_TOP]
    assert in_sight(MUG, spots, [DOOR], CAMERA, 0.0, 0.0) == [BEFORE, ON_TOP]
    assert in_sight(MUG, spots, [], CAMERA, 0.0, 0.0) == spots
    assert EDGE in in_sight(MUG, spots, [DOOR], CAMERA, 0.0, 0.9), "of which a bit may be seen"
