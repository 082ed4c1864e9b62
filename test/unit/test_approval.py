"""A person's word before anything moves: approved plans run, others do not, and a changed plan is asked anew."""

from dataclasses import replace

import pytest
from codes import raises_code
from doubles.approving import WORLD, SurprisingBody, ended, watchers
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop

from planweave.core.base.errors import GoalError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave.core.workflow.approval import StepCheck
from planweave.core.workflow.task_status import TaskState


@pytest.fixture
def watch():
    yield from watchers()


@pytest.mark.parametrize(
    "method, steps", [("tree_planner", ["grasp(a)", "place_in(a, tray)"]), ("classical", ["grab_and_putin(a, tray)"])]
)
def test_nothing_moves_before_the_whole_plan_is_approved_once(watch, method, steps):
    watcher = watch()
    task = watcher.manager.submit("put a in the tray", method)
    waiting = watcher.asked(1)
    assert [str(a) for a in waiting.plan] == steps and waiting.plan_changes == ()
    assert watcher.body.done == []
    watcher.manager.approve(task.status.task_id, waiting.plan_hash, True, "go")
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED and "waits" not in status.message
    assert watcher.body.done == steps
    assert len(task.journal.events("approval_asked")) == 1
    assert task.journal.events("approval")[0]["comment"] == "go"


def test_a_command_that_is_no_action_is_shown_as_written_and_refused_by_the_body(watch):
    strange = plan("fly(moon); grasp(a); place_in(a, tray)")
    watcher = watch(ScriptedPlanner([strange], goal="in(a, tray)"))
    task = watcher.manager.submit("put a in the tray", "base_llm")
    waiting = watcher.asked(1)
    assert str(waiting.plan[0]) == "fly(moon)"
    watcher.manager.approve(task.status.task_id, waiting.plan_hash, True, "go")
    assert ended(task).state is TaskState.SUCCEEDED and watcher.body.done == ["grasp(a)", "place_in(a, tray)"]


def test_a_refusal_cancels_the_task_with_the_comment(watch):
    watcher = watch()
    task = watcher.manager.submit("put a in the tray")
    watcher.manager.approve("", watcher.asked(1).plan_hash, False, comment := "the glass is in the way")
    status = ended(task)
    assert status.state is TaskState.CANCELED and comment in status.message
    assert watcher.body.done == [] and not status.fallback


def test_silence_cancels_the_task(watch):
    watcher = watch(seconds=0.2)
    task = watcher.manager.submit("put a in the tray")
    status = ended(task)
    assert status.state is TaskState.CANCELED and " 0.2 s" in status.message
    assert watcher.body.done == []
    with raises_code("goal", task.status.task_id):
        watcher.manager.approve(task.status.task_id, watcher.asked(1).plan_hash, True)


def test_a_changed_plan_is_asked_again_with_what_changed(watch):
    # The thing slips; the tree has no other branch, so the model is asked for other plans.
    body = SymbolicBody(WORLD, {"place_in(a, tray)": [(Code.GRASP_LOST, "it slipped", lambda world: WORLD)]})
    planner = ScriptedPlanner([plan("grasp(a); place_in(a, tray)")], goal="in(a, tray)")
    planner.other_plans = (plan("grab_and_putin(a, tray)"),)
    watcher = watch(planner, body)
    task = watcher.manager.submit("put a in the tray")
    watcher.manager.approve("", watcher.asked(1).plan_hash, True)
    second = watcher.asked(2)
    assert second.plan == (Action("grab_and_putin", ("a", "tray")),) and second.plan_hash != watcher.asked(1).plan_hash
    with raises_code("goal", second.plan_hash):  # the old one
        watcher.manager.approve("", watcher.asked(1).plan_hash, True)
    assert body.done == ["grasp(a)"]
    watcher.manager.approve("", second.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED


def test_changes_name_what_is_left_out_and_what_is_new(watch):
    # After the first step somebody has put b into the hand, so the rest of the approved plan cannot be done.
    moved = tabletop("a b: item; tray: container; plate: surface; table: location", "in(a, tray); holding(b)")
    body = SurprisingBody(WORLD)
    planner = ScriptedPlanner(goal="in(a, tray); on(b, plate)")
    watcher = watch(planner, body)
    task = watcher.manager.submit("put a in the tray and b on the plate", "classical")
    first = watcher.asked(1)
    assert [str(a) for a in first.plan] == ["grab_and_putin(a, tray)", "grab_and_putin(b, plate)"]
    body.after = {"grab_and_putin(a, tray)": moved}
    watcher.manager.approve("", first.plan_hash, True)
    second = watcher.asked(2)
    assert second.plan_changes == ("- grab_and_putin(b, plate)", "+ place_on(b, plate)")
    watcher.manager.approve("", second.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED


def test_cancelling_wakes_the_wait(watch):
    watcher = watch()
    task = watcher.manager.submit("put a in the tray")
    watcher.asked(1)
    watcher.manager.cancel()
    assert ended(task).state is TaskState.CANCELED and watcher.body.done == []


def test_a_method_that_decides_step_by_step_is_asked_at_every_step(watch):
    from planweave.core.workflow.ports import Candidate

    steps = [
        Candidate("", Action.parse("grasp(a)")),
        Candidate("", Action.parse("place_in(a, tray)")),
        Candidate("end", None),
    ]
    watcher = watch(ScriptedPlanner(goal="in(a, tray)", steps=steps))
    task = watcher.manager.submit("put a in the tray", "iterative")
    for number, step in enumerate(("grasp(a)", "place_in(a, tray)"), 1):
        waiting = watcher.asked(number)
        assert [str(a) for a in waiting.plan] == [step]
        watcher.manager.approve("", waiting.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED


def test_answers_that_nobody_asked_for(watch):
    watcher = watch()
    with raises_code("goal"):
        watcher.manager.approve("", "abc", True)
    with pytest.raises(UnknownNameError):
        watcher.manager.approve("task-9", "abc", True)
    plain = watch(seconds=0.0)
    plain.body.hold.clear()
    plain.manager.submit("put a in the tray")
    assert plain.body.began.wait(60.0)
    with raises_code("goal", "require_approval"):
        plain.manager.approve("", "abc", True)
    plain.body.hold.set()


def redeemed_by(check, wrong=None):
    """A body that redeems the token of every action by itself, as one with require_approval; and who approved them."""
    body, approvers = SymbolicBody(WORLD), []
    execute = body.execute

    def asking(action, **options):
        token, task_id = options["approval"], options["task_id"]
        with pytest.raises(GoalError):  # a stranger's guess does not spend it
            check.redeem("0" * 32, task_id, action)
        if wrong is not None:
            with pytest.raises(GoalError):  # the token of one action is not good for another one
                check.redeem(token, task_id, wrong)
            with pytest.raises(GoalError):  # and that spends it
                check.redeem(token, task_id, action)
        else:
            approvers.append(check.redeem(token, task_id, action).approver)
        for bad in (token, "", "0" * 32, "é"):
            with pytest.raises(GoalError):
                check.redeem(bad, task_id, action)
        return execute(action, **options)

    body.execute = asking
    return body, approvers


def test_a_token_is_good_for_its_action_and_once_and_the_published_step_gives_it_away_to_nobody(watch):
    check, steps = StepCheck(), []

    def publish(step):
        steps.append(step)
        check.publish(step)

    body, approvers = redeemed_by(check)
    watcher = watch(body=body, on_approved=publish)
    task = watcher.manager.submit("put a in the tray")
    waiting = watcher.asked(1)
    assert steps == [], "nothing is approved yet"
    watcher.manager.approve("", waiting.plan_hash, True, approver="anna")
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED and approvers == ["anna", "anna"]
    assert len(set(body.approvals)) == 2 and all(len(token) == 32 for token in body.approvals)
    given = [step for step in steps if step is not None]
    assert [step and (step.task_id, step.plan_hash, step.action, step.approver) for step in steps] == [
        (status.task_id, waiting.plan_hash, waiting.plan[0], "anna"),
        None,
        (status.task_id, waiting.plan_hash, waiting.plan[1], "anna"),
        None,
    ], "each is revoked once it is over"
    for token, step in zip(body.approvals, given):
        assert token not in task.journal.to_json() and token not in str(status) and token not in str(steps)
        check.publish(step)
        for other in (step.digest, waiting.plan_hash):
            with pytest.raises(GoalError):
                check.redeem(other, step.task_id, step.action)
        with pytest.raises(GoalError):
            check.redeem(token, "task-9", step.action)
        check.publish(step)  # the same message once more
        with pytest.raises(GoalError):
            check.redeem(token, step.task_id, step.action)


def test_an_action_that_is_not_the_approved_one_spends_the_token(watch):
    check = StepCheck()
    body, _ = redeemed_by(check, wrong=Action("grasp", ("b",)))
    watcher = watch(body=body, on_approved=check.publish)
    task = watcher.manager.submit("put a in the tray")
    watcher.manager.approve("", watcher.asked(1).plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED  # this body asks only to see the answer


def test_cancelling_revokes_the_approved_step(watch):
    steps = []
    watcher = watch(on_approved=steps.append)
    watcher.body.hold.clear()
    task = watcher.manager.submit("put a in the tray")
    watcher.manager.approve("", watcher.asked(1).plan_hash, True)
    assert watcher.body.began.wait(60.0)
    watcher.manager.cancel()
    watcher.body.hold.set()
    assert ended(task).state is TaskState.CANCELED and steps[-1] is None
    assert len([step for step in steps if step is not None]) == 1


def test_who_approved_and_what_was_pushed_aside_is_recorded(watch):
    body = SymbolicBody(WORLD)
    execute = body.execute
    body.execute = lambda action, **more: replace(
        execute(action, **more), pushed=("b",), message="done; pushed aside to get there: b"
    )
    watcher = watch(body=body)
    task = watcher.manager.submit("put a in the tray")
    waiting = watcher.asked(1)
    assert waiting.approved_by == "" and waiting.plan_check == "every step can be done and the goal holds"
    assert waiting.plan_words == ("pick up the a", "put the a in the tray")
    with raises_code("goal", "201"):
        watcher.manager.approve("", waiting.plan_hash, True, approver="x" * 201)
    watcher.manager.approve("", waiting.plan_hash, True, approver="anna")
    status = ended(task)
    assert status.approved_by == "anna" and status.pushed == ("b",)
    assert task.journal.events("approval")[0]["approver"] == "anna"
    assert [e["pushed"] for e in task.journal.events("action")] == [["b"], ["b"]]


def test_actions_near_people_are_asked_for_by_themselves_at_their_turn(watch):
    world = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
    steps = plan("grasp(a); hand_over(a); grasp(b); place_in(b, tray)", 3)
    planner = ScriptedPlanner([steps], goal="handed_over(a); in(b, tray)")
    watcher = watch(planner, SymbolicBody(world), approved_alone=["hand_over"])
    task = watcher.manager.submit("hand me a and put b in the tray", "tree_planner")
    for number, (shown, done) in enumerate(
        [(["grasp(a)", "hand_over(a)", "grasp(b)", "place_in(b, tray)"], []), (["hand_over(a)"], ["grasp(a)"])], 1
    ):
        waiting = watcher.asked(number)
        assert [str(a) for a in waiting.plan] == shown and watcher.body.done == done
        assert waiting.plan_changes == ()
        watcher.manager.approve(task.status.task_id, waiting.plan_hash, True)
    assert ended(task).state is TaskState.SUCCEEDED
    assert watcher.body.done == ["grasp(a)", "hand_over(a)", "grasp(b)", "place_in(b, tray)"]
    assert len(task.journal.events("approval_asked")) == 2
