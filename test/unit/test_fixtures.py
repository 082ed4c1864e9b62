"""Furniture of the simulation: its parts move as far as they go, stay there, and carry what is in them."""

from pathlib import Path

import numpy as np
import pytest
from codes import raises_code

from planweave.robots.camera_file import load_camera
from planweave.simulation.fixtures import FIXTURES
from planweave.simulation.mujoco_model import build_model, fixture_body
from planweave.simulation.scene import load_scene, parse_scene
from planweave.simulation.simulator import Simulator

PATH = Path("somewhere/kitchen.yaml")
CUBE = "objects:\n  - {kind: cube, position: %s, size: 0.03}\n"


def simulator_of(fixture, at="[0.3, -0.3]"):
    scene = parse_scene(f"{CUBE % at}fixtures:\n  - {{{fixture}}}\n", PATH)
    return Simulator(build_model(scene, load_camera()), scene)


def push(simulator, name, force, seconds=1.0):
    """Push a joint with a force (N or Nm), then let it be."""
    dof = int(simulator.model.joint(name).dofadr[0])
    for force_now in (force, 0.0):
        simulator._data.qfrc_applied[dof] = force_now
        simulator.step(round(seconds / simulator.timestep))


@pytest.mark.parametrize(("kind", "force"), [("cabinet", 8.0), ("cupboard", 0.6), ("stove", 0.3)])
def test_a_part_goes_to_its_end_and_back_and_stays(kind, force):
    simulator = simulator_of(f"kind: {kind}, position: [0.6, 0.1]")
    for part in FIXTURES[kind].parts:
        name = fixture_body(0, part)
        end = simulator.model.joint(name).range[1]
        others = {n: v for n, v in simulator.fixture_joints().items() if n != name}
        push(simulator, name, force / 20)
        assert simulator.fixture_joints()[name] == pytest.approx(0.0, abs=0.01), "dry friction holds it"
        push(simulator, name, force)
        assert simulator.fixture_joints()[name] == pytest.approx(end, abs=0.01)
        simulator.step(200)
        assert simulator.fixture_joints()[name] == pytest.approx(end, abs=0.01)
        assert all(abs(simulator.fixture_joints()[n] - v) < 1e-3 for n, v in others.items())
        push(simulator, name, -force)
        assert simulator.fixture_joints()[name] == pytest.approx(0.0, abs=0.01)
    assert simulator.at_rest


def test_a_drawer_takes_what_lies_in_it_along():
    simulator = simulator_of("kind: cabinet, position: [0.6, 0.1], joints: {top_drawer: 0.15}", at="[0.42, 0.1, 0.15]")
    before = simulator.object_pose(0)[0]
    assert 0.10 < before[2] < 0.15, "it lies on the drawer's floor"
    push(simulator, "fixture_0_top_drawer", -8.0)
    assert simulator.object_pose(0)[0][0] - before[0] == pytest.approx(0.15, abs=0.02)
    simulator.reset()
    assert simulator.fixture_joints()["fixture_0_top_drawer"] == pytest.approx(0.15, abs=0.005)
    assert np.abs(simulator.object_pose(0)[0] - before).max() < 1e-3


@pytest.mark.parametrize(
    ("fixture", "data"),
    [
        ("kind: cabinet, position: [0.6, 0.1], joints: {lid: 0.1}", ("fixtures[0]", "'lid'")),
        ("kind: cabinet, position: [0.6, 0.1], joints: {top_drawer: 0.4}", ("top_drawer", "0 to 0.17", "0.4")),
        ("kind: oven, position: [0.6, 0.1]", "'oven'"),
        ("kind: stove, position: [0.9, 0.0]", ("fixtures[0]", "edge")),
        ("kind: stove, position: [0.3, -0.3]", ("fixtures[0]", "objects[0] (line 2)")),
        ("kind: cupboard, position: [0.1, 0.0]", ("fixtures[0]", "robot")),
    ],
)
def test_what_is_wrong_in_a_scene_is_named_with_its_place(fixture, data):
    with raises_code("scene", data) as error:
        simulator_of(fixture)
    assert str(error.value).startswith(f"{PATH}:")


def test_the_kitchen_has_each_kind_of_part():
    scene = load_scene("kitchen")
    kinds = {fixture.kind for fixture in scene.fixtures}
    assert kinds == set(FIXTURES)
    simulator = Simulator(build_model(scene, load_camera()), scene)
    assert set(simulator.fixture_joints().values()) == {0.0}
