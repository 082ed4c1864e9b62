"""The detector on a view of three objects. Planweave must be installed, and this package."""

import numpy as np

from planweave.perception.detection import Detection, View
from planweave.perception.detectors import is_open_vocabulary, make_detector
from planweave.perception.regions import PixelRegion


def measured(height, class_name="cube", seen=True):
    """A box of 5 cm x 5 cm on the table and its pixels."""
    thing = Detection(
        class_name,
        "red",
        "box",
        0.9,
        (0.5, 0.0, height / 2),
        0.0,
        np.pi / 2,
        (0.05, 0.05, height),
        height,
        (200.0, 20.0, 20.0),
        receptacle=class_name == "tray",
    )
    side = np.linspace(-0.025, 0.025, 10)
    x, y = (grid.ravel() for grid in np.meshgrid(0.5 + side, side))
    rows, columns = (grid.ravel() for grid in np.mgrid[:10, :10])
    region = PixelRegion(
        rows,
        columns,
        np.column_stack((x, y, np.full(100, height))),
        np.full((100, 3), 200, np.uint8),
        np.zeros(100, bool),
    )
    return thing, region if seen else None


def names(*things):
    view = View(np.zeros((10, 10, 3), np.uint8), things, (), 0.002)
    return [thing.class_name for thing in make_detector("by_height")(view)]


def test_it_names_objects_by_their_height():
    assert names(measured(0.15), measured(0.05), measured(0.02)) == ["tall", "block", "low"]


def test_receptacles_and_what_is_not_seen_keep_their_names():
    assert names(measured(0.02, "tray"), measured(0.15, seen=False)) == ["tray", "cube"]


def test_nothing_in_view_is_no_object():
    assert names() == []


def test_it_is_told_no_names():
    assert not is_open_vocabulary("by_height")
