"""The door for skills: which are found, which carry out an action, and a person who is one of them."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from codes import raises_code
from doubles.scripted_arm import Bench

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.parameters import skill_lists
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.retries import read_retries
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings, actions_off
from planweave.bodies.arm.skills.door import SKILLS, make_lists
from planweave.bodies.arm.skills.planned import BUILT_IN, PlannedSkill
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal

RED = Thing("red_cube", "item", "cube", (0.45, 0.0, 0.025), (0.05,) * 3)
BLUE = replace(RED, name="blue_cube", position=(0.45, 0.1, 0.025))
PUSH, GRASP = Action("push_aside", ("red_cube",)), Action("grasp", ("red_cube",))


@pytest.fixture
def bench(planning_scene):
    def make(**lists):
        planning_scene.detach()
        found = Bench(planning_scene, skills={name: tuple(row) for name, row in lists.items()})
        found.world.show(RED, BLUE)
        return found

    return make


def test_ours_come_through_the_door_and_carry_out_every_action_of_the_domains(bench):
    assert set(BUILT_IN) < set(SKILLS)
    skills = bench().skills
    for domain in ("tabletop", "kitchen"):
        for name in Domain.load(domain).actions:
            (found,) = skills.able(Action(name, ("a", "b"))).values()
            assert found.planned


def test_the_listed_skills_are_tried_and_no_others(bench):
    assert list(bench(push_aside=["person", "pushing"]).skills.able(PUSH)) == ["person", "pushing"]
    assert list(bench(push_aside=["pushing", "grasping"]).skills.able(PUSH)) == ["pushing"]
    assert list(bench(push_aside=["person"]).skills.able(GRASP)) == ["grasping"]


def test_without_a_skill_nothing_moves(bench):
    found = bench(push_aside=["grasping", "homing"])
    outcome = found.body.execute(PUSH)
    assert outcome.code is Code.INVALID_ACTION and not found.arm.sent
    assert "skills.push_aside" in outcome.message and "grasping: " in outcome.message


@pytest.mark.parametrize(
    ("row", "code", "data"),
    [
        (["pusching"], "unknown_name", "'pushing'"),
        (["pushing", "pushing"], "configuration", ("skills.push_aside", "pushing")),
        (["pushing:hard"], "configuration", "'hard'"),
        (["person:soon"], "configuration", "1 to 3600"),
    ],
)
def test_a_wrong_list_is_told_at_the_start(row, code, data):
    with raises_code(code, data):
        make_lists({"push_aside": row})


def test_the_lists_are_parameters_by_action():
    names = [row.name for row in skill_lists(Domain.load("kitchen").actions)]
    assert {"skills.open", "skills.grasp"} <= set(names)
    assert make_lists({name.removeprefix("skills."): [""] for name in names}) == {}


def test_a_person_does_it_and_it_is_seen(bench):
    found, phases = bench(push_aside=["person"]), []

    def on_phase(phase, progress):
        phases.append(phase)
        if phase.startswith("please"):
            found.world.shown["blue_cube"] = replace(BLUE, position=(0.6, 0.4, 0.025))

    outcome = found.body.execute(PUSH, on_phase=on_phase)
    assert outcome.code is Code.SUCCESS, outcome.message
    assert any(phase.startswith("please push") for phase in phases)
    assert not found.arm.grips


def test_a_person_who_does_not_is_no_success_and_the_next_skill_is_tried(bench):
    found = bench(push_aside=["person:1", "pushing"])
    found.skills._lists["push_aside"]["person:1"].seconds = 0.01
    outcome = found.body.execute(PUSH)
    assert "person:1: " in outcome.message and found.arm.grips


def test_a_person_is_not_asked_for_what_the_hand_must_do(bench):
    with raises_code("invalid_action", "skills.grasp"):
        bench(grasp=["person"]).skills.able(GRASP)
    without = Bench(PlanningScene(), domain=None, skills={"push_aside": ("person",)})
    without.world.show(RED, BLUE)
    with raises_code("invalid_action", "skills.push_aside"):
        without.skills.able(PUSH)


@pytest.mark.parametrize(
    ("domain", "camera", "off"),
    [
        ("tabletop", "", {"hand_over", "push_aside"}),
        ("kitchen", "", {"hand_over", "look_at"}),
        ("kitchen", "wrist", {"hand_over"}),
    ],
)
def test_an_arm_refuses_of_its_domain_what_is_near_people_and_what_its_hand_has_no_camera_for(domain, camera, off):
    values = {"actions_off": ["hand_over", "push_aside"], "hand_camera": camera}
    assert actions_off(values, Domain.load(domain).actions) == off


def test_the_settings_list_nothing_by_default():
    assert SkillSettings().skills == {}


@pytest.mark.parametrize("seen", [True, False])
def test_what_is_seen_to_be_done_is_not_done_again_where_only_the_way_out_failed(seen):
    domain, calls = Domain.load("tabletop"), []
    worlds = [domain.world("red_cube: item; tray: container", [fact]) for fact in ("holding(red_cube)", "hand_empty()")]
    done = replace(worlds[1], facts=worlds[1].facts | {Literal("in", ("red_cube", "tray"))})
    known = SimpleNamespace(domain=domain, held=None, things=lambda: (replace(RED, visible=seen),))
    known.world = lambda: done if calls else worlds[0]
    settings = SimpleNamespace(retries=read_retries(["PLANNING_FAILED 1 back_off"]))
    context = SimpleNamespace(world=known, settings=settings, tried=[], blocked=[], failed=None)
    context.look_anew = context.forget_failed = lambda: None

    def place(context, *args):
        calls.append(args)
        raise SkillFailureError(Code.PLANNING_FAILED, "no way out")

    with nullcontext() if seen else pytest.raises(SkillFailureError):
        PlannedSkill({"place_in": place}).run(context, Action("place_in", ("red_cube", "tray")))
    assert len(calls) == (1 if seen else 2)
