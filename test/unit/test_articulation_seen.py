"""Drawers, doors and knobs as two depth cameras see them in the simulation, against the simulator's truth."""

import math

import numpy as np
import pytest
from doubles.kitchen_views import LEFT, RIGHT, find_joints, fixture_points

from planweave.core.base.paths import find_config
from planweave.perception import articulation
from planweave.simulation.camera import load_camera
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


def door_at(simulator, value):
    simulator._data.joint(fixture_body(0, "door")).qpos[0] = value
    return fixture_points(simulator, 0)


def measured(points):
    return articulation.with_shut(articulation.find_body(points, 0.0), points)


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
def test_a_door_is_seen_with_its_hinge_and_its_angle(before):
    """By one look, or with the body as it was measured when the door was shut, or open."""
    simulator = simulator_of(CUPBOARD)
    body = None if before is None else measured(door_at(simulator, before))
    for value in (0.0, 0.03, 0.1, 0.15, 0.35, 0.8, 1.8):
        points = door_at(simulator, value)
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
    body = articulation.find_body(np.vstack((top, door)), 0.0)
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
