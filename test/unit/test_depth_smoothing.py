"""Depth images with empty rows, columns and pixels."""

import math
from dataclasses import replace

import cv2
import numpy as np
import pytest
from codes import raises_code
from doubles.boxes_camera import picture
from doubles.table_view import table_view

from planweave.core.base.paths import find_config
from planweave.perception.calibration import load_extrinsics
from planweave.perception.decoding import clean_depth
from planweave.perception.depth_smoothing import smoothed
from planweave.perception.geometry import LEVEL
from planweave.perception.pipeline import Pipeline
from planweave.perception.segmentation import find_segments
from planweave.simulation.scene import parse_scene

EMPTY = {"even rows": np.s_[::2], "odd rows": np.s_[1::2], "even columns": np.s_[:, ::2], "odd columns": np.s_[:, 1::2]}
BOXES = [((-0.10, -0.15, 0.0), (0.0, -0.05, 0.08), (200, 30, 30)), ((0.0, 0.1, 0.0), (0.08, 0.18, 0.06), (30, 30, 200))]
TWO = """
objects:
  - {kind: cube, colour: red, position: [0.45, 0.10], yaw: 0.3}
  - {kind: cylinder, colour: blue, position: [0.55, -0.15]}
"""


def emptied(depth, pixels):
    """The image without some pixels, or without those of several choices."""
    depth = depth.copy()
    for some in pixels if isinstance(pixels, list) else [pixels]:
        depth[some] = 0
    return depth


@pytest.mark.parametrize("pixels", [*EMPTY.values(), list(EMPTY.values())[1::2]], ids=[*EMPTY, "odd rows and columns"])
@pytest.mark.parametrize("size", ["as it is", "large"])
def test_boxes_are_the_same_when_pixels_between_are_empty(pixels, size):
    whole = picture(BOXES)
    if size == "large":  # so that only every second row and column is worked with
        i = whole.intrinsics
        large = replace(i, fx=4 * i.fx, fy=4 * i.fy, cx=4 * i.cx + 1.5, cy=4 * i.cy + 1.5, width=1280, height=960)
        rgb, depth = (np.kron(a, np.ones((4, 4, 1)[: a.ndim])).astype(a.dtype) for a in (whole.rgb, whole.depth))
        whole = replace(whole, rgb=rgb, depth=depth, intrinsics=large)
    part = replace(whole, depth=emptied(whole.depth, pixels))

    def boxes(view):
        found = find_segments([view], (-0.4, -0.4, -0.1), (0.4, 0.4, 0.5), LEVEL).segments
        return sorted((*s.points.min(axis=0), *s.points.max(axis=0)) for s in found)

    expected, found = boxes(whole), boxes(part)
    assert len(expected) == len(found) == 2
    assert np.abs(np.subtract(found, expected)).max() < 0.01


@pytest.mark.gl
@pytest.mark.parametrize("pixels", EMPTY.values(), ids=EMPTY)
def test_things_on_the_table_are_found_in_every_second_row(pixels):
    scene = parse_scene(TWO, find_config("scenes", "blocks").with_name("test.yaml"))
    view, extrinsics = table_view(scene), load_extrinsics()

    def things(depth):
        found = Pipeline(extrinsics).run(view.rgb, depth, view.intrinsics, view.robot).detections
        return sorted((d.class_name, d.colour, d.position) for d in found)

    expected, found = things(view.depth), things(emptied(view.depth, pixels))
    assert [e[:2] for e in expected] == [f[:2] for f in found] == [("cube", "red"), ("cylinder", "blue")]
    assert all(math.dist(e[2], f[2]) < 0.003 for e, f in zip(expected, found))


def test_other_images_are_smoothed_by_the_median_alone():
    rng = np.random.default_rng(0)
    whole = rng.uniform(0.5, 2.0, (480, 640)).astype(np.float32)
    holes = emptied(whole, rng.random(whole.shape) < 0.4)
    for depth in (whole, holes, np.zeros_like(whole), whole[:1], whole[:, :1], whole[:2, :2]):
        assert np.array_equal(smoothed(depth), cv2.medianBlur(np.ascontiguousarray(depth), 3))


def test_no_pixel_is_put_between_two_surfaces():
    depth = np.full((20, 20), 1.0, np.float32)
    depth[10:] = 0.5
    assert set(np.unique(smoothed(emptied(depth, EMPTY["odd rows"])))) <= {
        np.float32(0.0),
        np.float32(0.5),
        np.float32(1.0),
    }


def test_units_are_told_with_every_second_row_empty():
    millimetres = np.full((480, 640), 900.0, np.float32)
    with raises_code("frame", "900 m", "depth_scale"):
        clean_depth(emptied(millimetres, EMPTY["even rows"]))
