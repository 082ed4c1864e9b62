"""Solids: heights, openings and centres of things made of convex parts, from geoms and from clouds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planweave.bodies.arm.solids import Part, Solid, convex_outline, hidden, solid_of_geoms, support_height
from planweave.geometry.columns import columns, no_strays


def at(x: float, y: float, z: float, yaw: float = 0.0) -> np.ndarray:
    """An upright pose."""
    pose = np.eye(4)
    pose[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    pose[:3, 3] = (x, y, z)
    return pose


def bowl(x: float = 0.5, y: float = 0.1, radius: float = 0.06, height: float = 0.05) -> Solid:
    """A round vessel on z = 0: walls of 6 mm around a floor of 6 mm."""
    walls = [
        Part.box(at(x, y, height / 2, a) @ at(radius - 0.003, 0, 0), [0.003, radius * 0.3, height / 2])
        for a in np.arange(12) * math.pi / 6
    ]
    return Solid((Part.cylinder(at(x, y, 0.003), radius - 0.003, 0.003), *walls))


def mug() -> Solid:
    """The bowl with a handle to its left."""
    return Solid((*bowl().parts, Part.box(at(0.5, 0.185, 0.03), [0.006, 0.025, 0.015])))


def box(
    x: float = 0.5, y: float = 0.0, z: float = 0.05, half: tuple[float, float, float] = (0.03, 0.02, 0.05)
) -> Solid:
    """A plain box."""
    return Solid((Part.box(at(x, y, z, 0.4), half),))


@pytest.mark.parametrize(
    "part",
    [
        Part.box(at(0, 0, 0.1), [0.05, 0.05, 0.1]),
        Part.cylinder(at(0, 0, 0.1), 0.05, 0.1),
        Part.hull(np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (0.0, 0.2)])),
    ],
)
def test_a_vertical_line_enters_and_leaves_a_part(part: Part) -> None:
    low, high = part.crossing(np.array([0.0, 0.04, 0.2]), np.array([0.0, 0.0, 0.0]))
    assert low[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert high[:2] == pytest.approx([0.2, 0.2], abs=1e-6)
    assert low[2] > high[2]  # missed


@pytest.mark.parametrize("part", [Part.box(np.eye(4), (0.1, 0.1, 0.3)), Part.cylinder(np.eye(4), 0.1, 0.3)])
def test_what_is_behind_a_part_is_hidden_by_it(part: Part) -> None:
    points = np.array([(0.3, 0.0, 0.0), (0.3, 0.0, 0.5), (0.3, 0.4, 0.0), (-0.2, 0.0, 0.0), (0.05, 0.0, 0.0)])
    assert hidden([part], (-1.0, 0.0, 0.2), points).tolist() == [True, False, False, False, True]


def test_heights_of_a_turned_box_reach_to_its_corners() -> None:
    solid = Solid((Part.box(at(0.5, 0.0, 0.05, math.pi / 4), [0.03, 0.03, 0.05]),))
    inside, outside = 0.03 * math.sqrt(2) - 0.006, 0.03 * math.sqrt(2) + 0.006
    assert solid.heights.at(0.5 + inside, 0.0) == pytest.approx(0.1)
    assert solid.heights.at(0.5 + outside, 0.0) == -math.inf


def test_a_bowl_opens_upwards() -> None:
    (opening,) = bowl().openings
    assert opening.is_round
    assert opening.centre == pytest.approx((0.5, 0.1), abs=0.002)
    assert opening.size == pytest.approx((0.108, 0.108), abs=0.008)
    assert opening.rim == pytest.approx(0.05, abs=0.004)
    assert opening.floor == pytest.approx(0.006, abs=0.001)


def test_a_plain_box_has_no_opening() -> None:
    assert box().openings == ()


def test_a_caddy_has_an_opening_for_each_compartment() -> None:
    floor = Part.box(at(0.5, 0.0, 0.005), [0.05, 0.10, 0.005])
    ends = [Part.box(at(0.5, y, 0.05), [0.05, 0.004, 0.05]) for y in (-0.096, 0.02, 0.096)]
    sides = [Part.box(at(x, 0.0, 0.05), [0.004, 0.10, 0.05]) for x in (0.454, 0.546)]
    large, small = Solid((floor, *ends, *sides)).openings
    assert large.centre == pytest.approx((0.5, -0.038), abs=0.003)
    assert small.centre == pytest.approx((0.5, 0.058), abs=0.003)
    assert large.depth == pytest.approx(0.09, abs=0.005)


def test_a_handle_does_not_move_the_centre() -> None:
    assert mug().centre == pytest.approx((0.5, 0.1), abs=0.004)


def test_a_moved_solid_takes_its_opening_with_it() -> None:
    (opening,) = bowl().moved(at(0.1, -0.1, 0.3)).openings
    assert opening.centre == pytest.approx((0.6, 0.0), abs=0.003)
    assert opening.rim == pytest.approx(0.35, abs=0.004)


def test_the_outline_is_that_of_the_widest_part() -> None:
    wide, narrow = Part.box(at(0, 0, 0.01), [0.1, 0.1, 0.01]), Part.box(at(0, 0, 0.05), [0.02, 0.02, 0.05])
    assert np.abs(Solid((wide, narrow)).outline()).max() == pytest.approx(0.1)


def test_support_is_the_highest_upper_side_under_a_footprint() -> None:
    shelf = Part.box(at(0.5, 0.0, 0.30), [0.1, 0.1, 0.01])
    foot = np.array([[0.5, 0.0], [0.52, 0.0]])
    solids = [box(half=(0.1, 0.1, 0.05)), Solid((shelf,))]
    assert support_height(solids, foot) == pytest.approx(0.31)
    assert support_height(solids, foot, below=0.25) == pytest.approx(0.10)
    assert support_height(solids, foot + 1.0) == -math.inf


def test_a_cloud_of_a_bowl_is_as_hollow_as_the_bowl() -> None:
    seen = bowl().heights
    cells = np.isfinite(seen.top)
    cloud = np.column_stack([seen.points(cells), seen.top[cells]])
    solid = Solid(tuple(Part.spanning(low, high) for low, high in columns(cloud, support=0.0)))
    (opening,) = solid.openings
    assert opening.centre == pytest.approx((0.5, 0.1), abs=0.006)
    assert opening.size == pytest.approx((0.108, 0.108), abs=0.02)
    assert solid.bounds[1] == pytest.approx(bowl().bounds[1], abs=0.008)
    assert len(solid.parts) < 250


@pytest.mark.parametrize(("gap", "hollow"), [(0.03, True), (0.14, False)])
def test_a_corner_of_a_rim_that_no_camera_sees_does_not_open_a_tray(gap: float, hollow: bool) -> None:
    x, y = np.mgrid[0.0:0.3:0.003, 0.0:0.16:0.003]
    walls = (np.minimum(x, 0.3 - x) < 0.012) | (np.minimum(y, 0.16 - y) < 0.012)
    cloud = np.column_stack([x.ravel(), y.ravel(), np.where(walls, 0.08, 0.01).ravel()])
    unseen = (cloud[:, 0] > 0.3 - gap) & (cloud[:, 1] > 0.16 - gap)
    openings = Solid(tuple(Part.spanning(*corners) for corners in columns(cloud[~unseen], support=0.0))).openings
    assert len(openings) == hollow
    assert not hollow or openings[0].size == pytest.approx((0.27, 0.13), abs=0.012)


@pytest.mark.parametrize("far", [0.1, 0.012])
def test_a_few_points_apart_from_a_thing_are_none_of_it(far: float) -> None:
    x, y = np.mgrid[0.0:0.1:0.002, 0.0:0.1:0.002]
    thing = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, 0.05)])
    stray = np.column_stack([np.full(5, 0.1 + far), np.linspace(0.04, 0.06, 5), np.linspace(0.0, 0.05, 5)])
    assert no_strays(np.concatenate([thing, stray])).tolist() == [True] * len(thing) + [far < 0.008] * len(stray)
    assert no_strays(thing[:0]).shape == (0,)


def test_geoms_of_a_simulator_become_parts() -> None:
    capsule, mesh = (
        ("capsule", [0.01, 0.05], at(0, 0, 0.1), None),
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
    )
    solid = solid_of_geoms([capsule, ("mesh", [], at(0.5, 0, 0), mesh * 0.1)])
    assert solid.bounds[1] == pytest.approx([0.6, 0.1, 0.16], abs=0.001)
    assert solid.support(0.51, 0.01) == pytest.approx(0.08, abs=0.002)
    with pytest.raises(ValueError):
        solid_of_geoms([("plane", [1, 1, 1], np.eye(4), None)])


def test_a_convex_outline_leaves_out_what_lies_inside() -> None:
    assert len(convex_outline(np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0]]))) == 4
