"""Rules on the arm: the height that carried things keep, and neighbours that may not be pushed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from codes import raises_code
from doubles.scripted_arm import Bench

from planweave.bodies.arm import preconditions
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.scene_object import Thing
from planweave.core.base.failure import Code
from planweave.core.symbolic.rule_check import ruled
from planweave.core.symbolic.world import Action
from planweave.goals import read_rule


def cube(name, x, y, bottom=0.0, size=0.05, **more):
    return Thing(name, "item", "cube", (x, y, bottom + size / 2), (size,) * 3, **more)


@pytest.fixture
def bench(planning_scene):
    planning_scene.detach()
    planning_scene.ceiling = math.inf
    made = Bench(planning_scene)
    made.world.show(cube("red_cube", 0.45, 0.0), cube("blue_cube", 0.5, -0.2))
    yield made
    planning_scene.ceiling = math.inf


def run(bench, text):
    action = Action.parse(text)
    preconditions.check(bench.domain, bench.world.world(), action)
    bench.skills.run(action)


def tops_of_carried(bench, monkeypatch):
    """Heights (m) of the top of the carried object along every trajectory that is sent from now on."""
    tops, follow = [], bench.arm.follow

    def watched(trajectory, *rest):
        shape = bench.scene.held()
        if bench.world.held is not None and shape is not None:
            for q in trajectory.positions:
                bench.scene.ceiling, ceiling = 10.0, bench.scene.ceiling
                bench.scene.contacts(q)
                tops.append(10.0 - bench.scene._room_above())
                bench.scene.ceiling = ceiling
        return follow(trajectory, *rest)

    monkeypatch.setattr(bench.arm, "follow", watched)
    return tops


def test_what_is_carried_stays_below_the_height(bench, monkeypatch):
    bench.scene.ceiling = 0.25
    tops = tops_of_carried(bench, monkeypatch)
    run(bench, "grasp(red_cube)")
    run(bench, "place_on(red_cube, blue_cube)")
    assert tops
    assert max(tops) <= 0.25 + 1e-3
    assert max(tops) > 0.06


def test_a_motion_that_needs_more_height_is_refused_before_it_begins(bench):
    bench.scene.ceiling = 0.08  # lower than a lifted cube
    with pytest.raises(SkillFailureError) as failure:
        run(bench, "grasp(red_cube)")
    assert failure.value.action_code in (Code.COLLISION, Code.PLANNING_FAILED)
    assert " 0.08 m " in failure.value.message


def test_an_empty_hand_may_be_higher(bench):
    bench.scene.ceiling = 0.06
    q = np.array(bench.world._kinematics.robot.observe)
    assert bench.scene.free(q)


def test_a_neighbour_that_may_not_be_touched_is_not_pushed_aside(bench):
    body = bench.skills.context
    assert body.may_push("blue_cube")
    domain = ruled(bench.domain, [read_rule(bench.domain, "do not touch the blue cube")])
    body.settings = replace(body.settings, domain=domain)
    assert not body.may_push("blue_cube")
    assert body.may_push("red_cube")


def test_the_arm_refuses_an_action_against_a_rule(bench):
    bench.domain = ruled(bench.domain, [read_rule(bench.domain, "do not touch the blue cube")])
    with raises_code("invalid_action", '"do not touch the blue cube"', "grasp(blue_cube)") as failure:
        run(bench, "grasp(blue_cube)")
    assert failure.value.action_code is Code.INVALID_ACTION
