"""Edits of plans by people: as functions, as text, and of a plan that waits for approval."""

import pytest
from codes import raises_code
from doubles.approving import WORLD, SurprisingBody, ended, watchers
from doubles.scripted import SymbolicBody, tabletop

from planweave.cli.approve import read_plan, written_plan
from planweave.core.base.errors import ParseError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.workflow import plan_editing as editing
from planweave.core.workflow.approval import ApprovalBasis
from planweave.core.workflow.task_status import TaskState, TaskStatus

DOMAIN = Domain.load("tabletop")
PLAN = tuple(map(Action.parse, ("grasp(a)", "place_in(a, tray)")))
HOME = Action("return_to_base")
OTHER = "a b: item; tray: container; plate: surface; table: location"


@pytest.fixture
def watch():
    yield from watchers()


def actions(*texts):
    return tuple(map(Action.parse, texts))


def test_steps_are_dropped_moved_and_added():
    assert editing.drop("abc", 2) == ("a", "c")
    assert editing.move("abcd", 4, 2) == ("a", "d", "b", "c") and editing.move("abcd", 1, 3) == ("b", "c", "a", "d")
    assert editing.insert("ab", "x", 3) == ("a", "b", "x") and editing.insert("ab", "x", 1) == ("x", "a", "b")


@pytest.mark.parametrize("edit", [lambda p: editing.drop(p, 3), lambda p: editing.move(p, 1, 0)])
def test_there_is_no_such_step(edit):
    with raises_code("goal", "1 to 2"):
        edit(PLAN)
    with raises_code("goal", "1 to 3", "4"):
        editing.insert(PLAN, HOME, 4)


def test_what_is_offered_can_be_done_there():
    first = editing.choices(DOMAIN, WORLD, PLAN, 1)
    assert Action("grasp", ("a",)) in first.values() and Action("place_in", ("a", "tray")) not in first.values()
    second = editing.choices(DOMAIN, WORLD, PLAN, 2)
    assert second["put the a in the tray"] == PLAN[1] and Action("grasp", ("b",)) not in second.values()


def test_a_step_is_read_as_an_action_or_in_its_words():
    assert editing.read_step(DOMAIN, WORLD, PLAN, "grasp(a)", 1) == PLAN[0]
    assert editing.read_step(DOMAIN, WORLD, PLAN, " Put the  a in the tray", 2) == PLAN[1]
    with raises_code("goal", "'sing a song'"):
        editing.read_step(DOMAIN, WORLD, PLAN, "sing a song", 1)
    with pytest.raises(ParseError):
        editing.read_step(DOMAIN, WORLD, PLAN, "grasp(a", 1)


def test_a_plan_survives_the_editor():
    status = TaskStatus("t", "", "classical", plan=PLAN, plan_words=("pick up the a", "put the a in the tray"))
    text = written_plan(status)
    assert read_plan(DOMAIN, WORLD, text) == PLAN
    assert read_plan(DOMAIN, WORLD, text + "return_to_base  # and home\n") == (*PLAN, HOME)
    with raises_code("goal", "line 1: ", "'dance with me'"):
        read_plan(DOMAIN, WORLD, "dance with me")
    with raises_code("goal", "planweave approve --no"):
        read_plan(DOMAIN, WORLD, "# nothing\n\n")


# ---- of a plan that waits


def test_an_edited_plan_waits_under_a_new_hash_and_is_done_in_place_of_the_methods(watch):
    watcher = watch()
    task = watcher.manager.submit("put a in the tray")
    first = watcher.asked(1)
    wanted = (*first.plan, *actions("grasp(b)", "place_on(b, plate)"))
    edited = watcher.manager.edit("", first.plan_hash, wanted, "anna")
    second = watcher.asked(2)
    assert second.plan == wanted and second.plan_hash == edited.hash != first.plan_hash
    assert second.plan_changes == ("+ grasp(b)", "+ place_on(b, plate)") and second.state is TaskState.AWAITING_APPROVAL
    with raises_code("goal", "planweave approve"):
        watcher.manager.approve("", first.plan_hash, True)
    assert watcher.body.done == []
    watcher.manager.approve("", second.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED
    assert watcher.body.done == [str(action) for action in wanted]
    assert task.journal.events("approval_asked")[1]["edited_by"] == "anna"
    assert task.journal.events("edited_plan")[0]["plan"] == watcher.body.done


@pytest.mark.parametrize(
    "plan, data",
    [
        (["place_in(a, tray)"], ("step 1, place_in(a, tray)", "holding(a)", "grasp")),
        (["grasp(a)"], "in(a, tray)"),
        (["grasp(a)", "grasp(b)"], ("step 2, grasp(b)", "hand_empty()", "step 1, grasp(a)")),
        (["fly(moon)"], "'fly'"),
        (["grasp(ghost)"], "'ghost'"),
    ],
)
def test_an_edit_that_breaks_the_plan_is_refused_with_the_cause_and_the_plan_is_as_it_was(watch, plan, data):
    watcher = watch()
    task = watcher.manager.submit("put a in the tray")
    first = watcher.asked(1)
    with raises_code("goal", data):
        watcher.manager.edit("", first.plan_hash, actions(*plan))
    assert task.snapshot().plan_hash == first.plan_hash
    watcher.manager.approve("", first.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED and watcher.body.done == [str(a) for a in first.plan]


def test_edits_that_nobody_can_take(watch):
    watcher = watch()
    with raises_code("goal"):
        watcher.manager.edit("", "abc", PLAN)
    watcher.manager.submit("put a in the tray")
    first = watcher.asked(1)
    for plan, data in (((), ()), ((None,), ()), (PLAN * 51, ("102", "100"))):
        with raises_code("goal", data):
            watcher.manager.edit("", first.plan_hash, plan)
    with raises_code("goal", first.plan_hash):
        watcher.manager.edit("", "0" * 12, PLAN)
    watcher.manager.approve("", first.plan_hash, False)


def test_the_method_begins_anew_where_an_edited_plan_does_not_reach_the_goal(watch):
    watcher = watch(body=SymbolicBody(WORLD, {"grasp(b)": [(Code.NO_GRASP, "too slippery", lambda world: world)]}))
    task = watcher.manager.submit("put a in the tray", "classical")
    first = watcher.asked(1)
    wanted = actions("grasp(b)", "place_on(b, plate)", *map(str, first.plan))
    edited = watcher.manager.edit("", first.plan_hash, wanted)
    watcher.manager.approve("", edited.hash, True)
    third = watcher.asked(3)
    assert third.plan == first.plan, "the method's plan from the world as it is, asked for again"
    watcher.manager.approve("", third.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED


# ---- what an approval holds for


def moved(world, name, x):
    from dataclasses import replace

    return replace(
        world, objects=tuple(replace(o, position=(x, 0.0, 0.0)) if o.name == name else o for o in world.objects)
    )


def test_what_is_different_is_said():
    here = moved(WORLD, "a", 0.10)
    basis = ApprovalBasis.of(DOMAIN, here, PLAN)

    def changes(world):
        return basis.changes(ApprovalBasis.of(DOMAIN, world, PLAN), DOMAIN)

    assert changes(here) == () == changes(moved(here, "a", 0.129)) == changes(moved(here, "b", 0.9))
    assert changes(moved(here, "a", 0.16)) == ("a has moved by 6 cm",)
    assert "a is gone" in changes(tabletop("b: item; tray: container; plate: surface; table: location", "at(b, table)"))
    taken = moved(tabletop(OTHER, "holding(b); at(a, table)"), "a", 0.10)
    assert "the gripper is not empty" in changes(taken)
    assert basis.lines() != ApprovalBasis.of(DOMAIN, moved(here, "a", 0.16), PLAN).lines()


class LateBody(SurprisingBody):
    """Its world is heard only with the answer of a look: messages come late."""

    def __init__(self, world):
        super().__init__(world)
        self.true = world

    def look(self, seconds):
        self.world = self.true
        return super().look(seconds)


def asked_anew(watcher, body, changing):
    """The task, and the plan that waits again, after an approval for which `changing` of the body had become another
    world.
    """
    task = watcher.manager.submit("put a in the tray")
    first = watcher.asked(1)
    setattr(body, changing, moved(WORLD, "a", 0.30))
    watcher.manager.approve("", first.plan_hash, True)
    second = watcher.asked(2)
    assert second.plan == first.plan and second.plan_changes == ("since it was shown: a has moved by 20 cm",)
    assert body.done == [] and second.plan_hash != first.plan_hash
    return task, second


def test_a_plan_is_asked_for_anew_where_the_world_has_changed_since_it_was_shown(watch):
    body = SurprisingBody(moved(WORLD, "a", 0.10))
    watcher = watch(body=body)
    task, second = asked_anew(watcher, body, "world")
    watcher.manager.approve("", second.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED and body.done == [str(a) for a in second.plan]


def test_an_approval_is_judged_by_a_look_after_it_where_the_worlds_come_late(watch):
    body = LateBody(moved(WORLD, "a", 0.10))
    watcher = watch(body=body)
    task, second = asked_anew(watcher, body, "true")
    watcher.manager.approve("", second.plan_hash, False)
    assert ended(task).state is TaskState.CANCELED and body.done == []
