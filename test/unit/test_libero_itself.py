"""LIBERO's own simulator, where it is installed: one process for all of these tests, since it takes long to start."""

import numpy as np
import pytest
from codes import raises_code

from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.core.base.errors import NotInstalledError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.goals import read_sentence
from planweave.libero import suites as catalogue
from planweave.libero.arm import LiberoArm
from planweave.libero.bodies import blinded
from planweave.libero.body import LiberoBody
from planweave.libero.client import LiberoSimulator
from planweave.libero.true_names import TrueNamer
from planweave.robots import load_robot

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def simulator():
    try:
        process = LiberoSimulator()
    except NotInstalledError as error:
        pytest.skip(f"LIBERO is not installed: {error}")
    with process:
        yield process


def test_its_suites_are_those_of_the_catalogue(simulator):
    assert {s.name: s.tasks for s in catalogue.suites().values()}.items() <= simulator.suites().items()


def test_it_loads_steps_and_shows_a_task(simulator):
    task = simulator.load("libero_goal/3/0")
    assert task.language == "open the top layer of the drawer and put the bowl inside" and task.inits == 50
    done = simulator.step([[0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0]] * 3)
    assert done.count == 3 and not done.success and len(done.state["joints"]) == 7
    shown = simulator.capture("agentview", 64, 48)
    assert shown.rgb.std() > 10 and 0.3 < shown.depth.min() < shown.depth.max() < 10
    again = simulator.capture("agentview", 64, 48)
    assert (again.rgb == shown.rgb).all() and (again.depth == shown.depth).all()
    with raises_code("scene", "'sky'"):
        simulator.capture("sky", 64, 48)
    with raises_code("scene", "0 to 9"):
        simulator.load("libero_goal/10/0")


def test_the_arm_follows(simulator):
    simulator.load("libero_goal/0/0", joints=True)
    arm = LiberoArm(simulator)
    start = arm.state().positions
    way = np.array([start, start + [0.3, 0, 0, 0.1, 0, 0, 0.2]])
    arm.follow(time_path(way, JointLimits.of(load_robot("panda"))))
    assert arm.state().positions - start == pytest.approx([0.3, 0, 0, 0.1, 0, 0, 0.2], abs=0.012)
    assert arm.grip(0.0, 20.0) < 0.005


def test_an_episode_by_pictures_alone(simulator, monkeypatch):
    domain = Domain.load("kitchen")
    task = simulator.load("libero_object/9/0", joints=True)

    def state():
        raise AssertionError("the true state is not to be asked for")

    monkeypatch.setattr(simulator, "state", state)
    body = LiberoBody(simulator, blinded(task), "camera", TrueNamer(lambda: task.state))
    goal = read_sentence(domain, body.observe(), task.language).goal
    outcomes = [body.execute(action, timeout=1000.0) for action in solve(domain, body.observe(), goal, 30.0)]
    claimed = all(body.observe().holds(literal) for literal in goal)
    assert claimed <= simulator.verdict.holds, [o.message for o in outcomes]  # no false success
    assert simulator.verdict.first is not None, [o.message for o in outcomes]
