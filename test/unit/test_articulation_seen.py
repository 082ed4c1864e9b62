"""Drawers, doors and knobs as two depth cameras see them in the simulation, against the simulator's truth."""

import math

import mujoco
import numpy as np
import pytest
from doubles.kitchen_views import LEFT, RIGHT, find_joints, fixture_points

from planweave.core.base.paths import find_config
from planweave.perception import articulation, carcass
from planweave.perception.fixtures import FixtureMemory, find_bodies, fixture_of
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model, fixture_body
from planweave.simulation.scene import parse_scene
from planweave.simulation.simulator import Simulator

pytestmark = pytest.mark.gl
SCENE = "objects:\n  - {kind: cube, position: [0.2, -0.4]}\ntable: {size: [1.8, 1.8]}\nfixtures:\n  - {%s}\n"
YAW = 0.35
CUPBOARD = f"kind: cupboard, position: [0.66, -0.1], yaw: {-YAW}"


def simulator_of(fixture, **parts):
    scene = parse_scene(SCENE % fixture, find_config("scenes", "blocks").with_name("test.yaml"))
    simulator = Simulator(build_model(scene, load_camera()), scene)
    for part, value in parts.items():
        simulator._data.joint(fixture_body(0, part)).qpos[0] = value
    return simulator


def joints_of(simulator, **view):
    return {joint.name: joint for joint in find_joints(fixture_points(simulator, 0, **view), 0.0)}


@pytest.fixture(scope="module")
def door_at():
    """door_at(angle): points of a cupboard whose door is so far open, rad, and the simulator, in that state."""
    simulator, seen = simulator_of(CUPBOARD), {}

    def look(value):
        simulator._data.joint(fixture_body(0, "door")).qpos[0] = value
        mujoco.mj_forward(simulator.model, simulator._data)
        if value not in seen:
            seen[value] = fixture_points(simulator, 0)
        return seen[value], simulator

    return look


def measured(points):
    return articulation.with_shut(carcass.find_body(points, 0.0), points)


def bar_of(simulator, name):
    """Where the middle of the bar of a part's handle truly is, m."""
    body = simulator.model.body(fixture_body(0, name))
    geoms = range(body.geomadr[0], body.geomadr[0] + body.geomnum[0])
    return simulator._data.geom_xpos[next(g for g in geoms if simulator.model.geom_type[g] == 3)]


@pytest.mark.parametrize(("top", "bottom"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.1), (0.17, 0.17)])
def test_drawers_are_seen_with_their_axis_their_handle_and_how_far_they_are_out(top, bottom):
    simulator = simulator_of(f"kind: cabinet, position: [0.66, 0.2], yaw: {YAW}", top_drawer=top, bottom_drawer=bottom)
    seen = joints_of(simulator)
    assert list(seen) == ["top_drawer", "bottom_drawer"]
    for name, value in (("top_drawer", top), ("bottom_drawer", bottom)):
        joint = seen[name]
        assert joint.kind == "slide" and joint.value == pytest.approx(value, abs=0.005)
        assert joint.axis == pytest.approx((-math.cos(YAW), -math.sin(YAW), 0.0), abs=0.02)
        assert joint.most == pytest.approx(0.17, abs=0.04)  # by the box behind it
        assert joint.handle.centre == pytest.approx(bar_of(simulator, name), abs=0.006)
        assert joint.handle.half == pytest.approx((0.006, 0.055, 0.006), abs=0.006)


@pytest.mark.parametrize("before", [None, 0.0, 1.2])
def test_a_door_is_seen_with_its_hinge_and_its_angle(door_at, before):
    """By one look, or with the body as it was measured when the door was shut, or open."""
    body = None if before is None else measured(door_at(before)[0])
    for value in (0.0, 0.03, 0.1, 0.15, 0.35, 0.8, 1.8):
        points, simulator = door_at(value)
        (joint,) = articulation.joints_of(body or measured(points), points)
        assert (joint.name, joint.kind) == ("door", "hinge")
        assert joint.value == pytest.approx(value, abs=0.015), "0.1 rad is ajar and not closed"
        assert joint.axis == pytest.approx((0.0, 0.0, -1.0)), "the hinge is on the left, so it turns clockwise"
        anchor = simulator._data.joint(fixture_body(0, "door")).xanchor
        assert joint.anchor[:2] == pytest.approx(anchor[:2], abs=0.003)
        door = simulator._data.body(fixture_body(0, "door"))
        middle = door.xpos + door.xmat.reshape(3, 3) @ (0.0, -0.12, 0.11)
        assert joint.panel.centre == pytest.approx(middle, abs=0.006)
        if value <= 0.45:  # its outside faces the cameras
            assert joint.handle.centre == pytest.approx(bar_of(simulator, "door"), abs=0.01)


def test_behind_an_open_door_is_a_room_where_its_floor_is_seen(door_at):
    points, _ = door_at(0.5)
    (joint,) = articulation.joints_of(measured(points), points)
    assert joint.room is None, "a door that is ajar hides it"
    points, simulator = door_at(1.8)
    (joint,) = articulation.joints_of(measured(points), points)
    body = simulator._data.body("fixture_0")
    low, high = (
        (joint.room.centre + sign * joint.room.axes @ joint.room.half - body.xpos) @ body.xmat.reshape(3, 3)
        for sign in (1, -1)
    )
    low, high = np.minimum(low, high), np.maximum(low, high)
    assert (low > (-0.115, -0.115, 0.005)).all() and (high < (0.095, 0.115, 0.215)).all(), "within the boards"
    assert (high - low > (0.15, 0.18, 0.17)).all()
    (again,) = articulation.remembered([joint], articulation.joints_of(measured(points), points[:0]) or [joint])
    assert again.room is not None, "it stays known while the hand hides it"


BODY = carcass.Carcass(np.zeros(2), np.array((1.0, 0.0)), 0.1, 0.15, 0.0, 0.2)


def face(out, along, z, count=40_000):
    """Points of an upright rectangle so far before the furniture of BODY."""
    rng = np.random.default_rng(0)
    of = (rng.uniform(*along, count), rng.uniform(*z, count))
    return np.column_stack((np.full(count, 0.1 + out), *of))


BARS = {
    "high": face(0.05, (-0.05, 0.05), (0.15, 0.162), 1000),
    "low": face(0.05, (-0.05, 0.05), (0.05, 0.062), 1000),
    "low left": face(0.05, (-0.11, -0.03), (0.05, 0.062), 1000),
    "low right": face(0.05, (0.03, 0.11), (0.053, 0.065), 1000),
    "upright left": face(0.05, (-0.03, -0.018), (0.05, 0.15), 1000),
    "upright right": face(0.05, (0.05, 0.062), (0.05, 0.15), 1000),
}


@pytest.mark.parametrize(
    ("handles", "found"),
    [
        (["high", "low"], ["top_drawer", "bottom_drawer"]),
        (["low left", "low right"], []),
        (["high", "low left", "low right"], ["top_drawer"]),
        (["upright left", "upright right"], []),
        ([], []),
    ],
)
def test_handles_side_by_side_are_of_no_drawers_one_above_the_other(handles, found):
    points = np.concatenate((face(0.012, (-0.15, 0.15), (0.0, 0.2)), *(BARS[handle] for handle in handles)))
    seen = {joint.name: joint for joint in articulation.joints_of(BODY, points)}
    assert list(seen) == found
    if found == ["top_drawer"]:
        assert 2 * seen["top_drawer"].panel.half[2] == pytest.approx(0.1, abs=0.02), "not down to the handles below"


def test_a_groove_instead_of_a_handle_shows_no_part():
    front = face(0.012, (-0.15, 0.15), (0.0, 0.2))
    groove = (np.abs(front[:, 1]) < 0.05) & (np.abs(front[:, 2] - 0.17) < 0.01)
    front[groove, 0] -= 0.015
    assert articulation.joints_of(BODY, front) == []


@pytest.mark.parametrize("window", ["", "glass", "nothing seen"])
def test_a_closed_door_with_a_window_is_one_front(window):
    front = face(0.012, (-0.15, 0.15), (0.0, 0.2))
    glass = (np.abs(front[:, 1]) < 0.11) & (np.abs(front[:, 2] - 0.1) < 0.05)
    if window == "glass":
        front[glass, 0] -= 0.015
    elif window:
        front = front[~glass]
    handle = face(0.05, (0.12, 0.13), (0.05, 0.15), 1000)
    (joint,) = articulation.joints_of(BODY, np.concatenate((front, handle)))
    assert (joint.name, joint.value) == ("door", pytest.approx(0.0, abs=0.01))
    assert joint.panel.half[2] > 0.09


def test_an_open_door_is_as_thick_and_as_long_as_it_shows():
    rng, body = np.random.default_rng(0), carcass.Carcass(np.zeros(2), np.array((1.0, 0.0)), 0.1, 0.15, 0.0, 0.2)
    level = (rng.uniform(0.1, 0.33, 20_000), rng.uniform(-0.166, -0.140, 20_000), np.full(20_000, 0.195))
    inner = (rng.uniform(0.1, 0.33, 20_000), np.full(20_000, -0.140), rng.uniform(0.0, 0.2, 20_000))
    (joint,) = articulation.joints_of(body, np.column_stack(np.concatenate((level, inner), axis=1)))
    assert joint.value == pytest.approx(math.pi / 2, abs=0.02)
    low, high = joint.panel.centre - np.abs(joint.panel.axes @ joint.panel.half), None
    high = 2 * joint.panel.centre - low
    assert (low[:2], high[:2]) == (pytest.approx((0.1, -0.166), abs=0.012), pytest.approx((0.33, -0.14), abs=0.012))


@pytest.mark.parametrize("turned", [0.0, 0.3])
def test_a_top_that_a_picture_cuts_off_is_as_it_stands(turned):
    xy = np.random.default_rng(0).uniform((-0.1, -0.17), (0.1, 0.17), (40_000, 2))
    xy = xy[xy[:, 0] < 0.08 + 0.15 * xy[:, 1]]  # the edge of a picture
    c, s = math.cos(turned), math.sin(turned)
    top = np.column_stack((xy @ np.array(((c, s), (-s, c))), np.full(len(xy), 0.2)))
    body = carcass.find_body(top, 0.0)
    assert math.remainder(math.atan2(body.front[1], body.front[0]) - turned, math.pi / 2) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("drawn", "kinds"), [(0.14, ["cabinet"]), (None, [])])
def test_furniture_whose_top_is_half_seen_is_furniture_where_it_shows_a_drawer(drawn, kinds):
    fixture = f"kind: {'cabinet' if drawn else 'cupboard'}, position: [0.66, 0.2], yaw: {YAW}"
    simulator = simulator_of(fixture, **({"top_drawer": drawn} if drawn else {}))
    points = fixture_points(simulator, 0)
    body = carcass.find_body(points, 0.0)
    seen = points[(points[:, 2] < body.top - 0.01) | (body.of(points)[:, 0] > -0.12)]  # the rear of its top is hidden
    assert 0.055 < carcass.find_body(seen, 0.0).depth < 0.07
    assert [fixture_of(*found).class_name for found in find_bodies(seen)] == kinds


@pytest.mark.parametrize(("moved", "visible"), [(0.0, True), (0.11, False)])
def test_drawers_are_seen_though_a_thing_covers_the_middle_of_the_top(moved, visible):
    """Too little of which shows then to tell furniture by; but not where it is no more."""
    draw = np.random.default_rng(0)
    level = draw.uniform((-0.1, -0.12, 0.2), (0.1, 0.12, 0.2), (40_000, 3))
    posts = [draw.uniform((0.1, -0.01, z), (0.15, 0.01, z + 0.012), (300, 3)) for z in (0.05, 0.15)]
    front = np.concatenate((face(0.0, (-0.12, 0.12), (0.013, 0.2)), BARS["high"], BARS["low"], *posts))
    cabinet = np.concatenate((level, front))
    memory = FixtureMemory()
    *_, (seen,) = (memory.update(cabinet) for _ in range(3))
    assert [joint.visible for joint in seen.joints] == [True, True]
    covered = np.abs(level[:, 1]) < 0.035
    bowl = level[covered] + (0.0, 0.0, 0.05)
    now = np.concatenate((level[~covered], bowl, front)) + (moved, 0.0, 0.0)
    (seen,) = memory.update(now)
    assert [joint.visible for joint in seen.joints] == [visible, visible]


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 1.5])
def test_a_knob_is_seen_with_the_direction_of_its_ridge(value):
    simulator = simulator_of(f"kind: stove, position: [0.6, 0.0], yaw: {YAW}", knob=value)
    (joint,) = joints_of(simulator).values()
    assert joint.name == "knob" and joint.axis == pytest.approx((0.0, 0.0, 1.0))
    off = (joint.value - (YAW - value) + math.pi / 2) % math.pi - math.pi / 2  # it turns clockwise from its yaw
    assert off == pytest.approx(0.0, abs=math.radians(5))
    assert joint.anchor[:2] == pytest.approx(simulator._data.joint(fixture_body(0, "knob")).xanchor[:2], abs=0.006)


def test_where_no_part_is_seen_none_is_reported():
    assert joints_of(simulator_of("kind: shelf, position: [0.6, 0.0]")) == {}
    cabinet = simulator_of(f"kind: cabinet, position: [0.66, 0.2], yaw: {YAW + math.pi}")  # its back
    assert joints_of(cabinet, eyes=(LEFT, RIGHT)) == {}
    rng = np.random.default_rng(0)
    assert find_joints(rng.uniform(0, 0.2, (5000, 3)), 0.0) == []
    assert find_joints(np.zeros((0, 3)), 0.0) == []


def test_the_edge_of_an_open_door_is_no_top_of_furniture():
    def level(x, y):
        grid = np.stack(np.meshgrid(np.arange(*x, 0.002), np.arange(*y, 0.002)), axis=-1).reshape(-1, 2)
        return np.column_stack((grid, np.full(len(grid), 0.22)))

    c, s = math.cos(-0.2), math.sin(-0.2)
    top = level((-0.1, 0.1), (-0.12, 0.12)) @ np.array(((c, s, 0), (-s, c, 0), (0, 0, 1)))
    corner = top[top[:, 1].argmax()]
    door = level((corner[0] - 0.24, corner[0]), (corner[1] - 0.012, corner[1]))  # where the points end, along an axis
    body = carcass.find_body(np.vstack((top, door)), 0.0)
    assert body.middle == pytest.approx((0.0, 0.0), abs=0.005)
    assert sorted((body.depth, body.width)) == pytest.approx((0.1, 0.12), abs=0.005)


def test_one_noisy_camera_still_measures_what_it_sees():
    simulator = simulator_of(f"kind: cabinet, position: [0.66, 0.2], yaw: {YAW}", top_drawer=0.12)
    for seed in range(3):
        seen = joints_of(simulator, eyes=(LEFT,), noise=0.002, seed=seed)
        for name, joint in seen.items():
            true = simulator.fixture_joints()[fixture_body(0, name if len(seen) > 1 else "top_drawer")]
            assert joint.value == pytest.approx(true, abs=0.005)
        assert seen
