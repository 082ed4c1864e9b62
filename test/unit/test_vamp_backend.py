"""VAMP's proposals through a double of its API: taken where they hold here, else OMPL goes on."""

import numpy as np
import pytest
from doubles import vamp_api

from planweave.bodies.arm import vamp_backend
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.scene_object import Thing
from planweave.robots import load_robot

FR3 = load_robot()


@pytest.fixture
def with_vamp(monkeypatch):
    """with_vamp(plan): a double of vamp is installed that plans so."""

    def install(plan):
        vamp_backend._planner.cache_clear()
        monkeypatch.setattr(vamp_backend.importlib.util, "find_spec", lambda name: name == "vamp" or None)
        monkeypatch.setattr(vamp_backend.importlib, "import_module", lambda name: vamp_api.module(plan))

    yield install
    vamp_backend._planner.cache_clear()


def turned(joint, by):
    q = np.array(FR3.home)
    q[joint] += by
    return q


def search(planning_scene, start, goal):
    planner = MotionPlanner(planning_scene, Kinematics(planning_scene.model))
    return planner._search(start, [goal], 0.008, 3.0)


def test_without_vamp_nothing_is_proposed(monkeypatch):
    vamp_backend._planner.cache_clear()
    monkeypatch.setattr(vamp_backend.importlib.util, "find_spec", lambda name: None)
    assert vamp_backend.propose(np.array(FR3.home), turned(0, 0.5), [], "panda") is None
    vamp_backend._planner.cache_clear()


def test_a_proposal_that_holds_is_taken_and_sees_every_obstacle(planning_scene, with_vamp):
    seen = []
    via = turned(0, 0.4)

    def plan(start, goal, environment):
        seen.append(environment)
        return [list(start), list(via), list(goal)]

    with_vamp(plan)
    planning_scene.update([Thing("block", "item", "cube", (0.6, -0.4, 0.025), (0.05, 0.05, 0.05), 0.3)])
    path = search(planning_scene, np.array(FR3.home), turned(0, 0.8))
    assert len(seen) == 1 and len(seen[0].cuboids) == 2  # the table and the block
    assert seen[0].cuboids[1].center == [0.6, -0.4, 0.025]
    np.testing.assert_allclose(path, [FR3.home, turned(0, 0.8)])  # the waypoint between is not needed


@pytest.mark.ompl
@pytest.mark.parametrize(
    "plan",
    [
        lambda start, goal, environment: None,
        lambda start, goal, environment: [
            list(start),
            [0.0, 1.9, 0.0, -0.1, 0.0, 0.5, 0.0],
            list(goal),
        ],  # FR3's limits
        lambda start, goal, environment: [
            list(start),
            [0.0, 1.7, 0.0, -0.5, 0.0, 1.6, 0.0],
            list(goal),
        ],  # into the table
    ],
    ids=["none found", "beyond the FR3's limits", "through the table"],
)
def test_a_proposal_that_does_not_hold_is_left_to_ompl(planning_scene, with_vamp, plan):
    with_vamp(plan)
    planning_scene.update([])
    start, goal = np.array(FR3.home), turned(0, 0.8)
    path = search(planning_scene, start, goal)
    planner = MotionPlanner(planning_scene, Kinematics(planning_scene.model))
    assert path is not None and planner._free(path, 0.008)
    np.testing.assert_allclose(path[[0, -1]], [start, goal], atol=1e-6)
