"""A person pauses a task, may change the world, and resumes it: in every phase, and whatever was changed."""

import threading
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.pausable_body import PausableBody
from doubles.scripted import ScriptedPlanner, literals, plan, tabletop

from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Known
from planweave.core.trees.behaviour_tree import sequence_of
from planweave.core.trees.behaviour_tree_xml import write_tree
from planweave.core.workflow.ports import Candidate
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.after_pause import changes_between
from planweave.tasks.task_manager import TaskManager
from planweave.tasks.task_store import TaskStore

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
GOOD = plan("grasp(a); place_in(a, tray)", 3)
#: What is so where a grasp was interrupted in the air, and where it was before.
HELD = ("holding(a)", "hand_empty(); at(a, table); at_base()")
LAID_DOWN = ("hand_empty(); at(a, table)", "holding(a)")
AWAY = ("", "at_base()")


class Killed(BaseException):
    """Ends the worker as a kill ends the process: nothing is written any more."""


class Run:
    """A manager with one task, and events of its states."""

    def __init__(self, body, planner=None, **options):
        self.body, self.seen = body, []
        self._changed = threading.Condition()
        planner = planner or ScriptedPlanner([GOOD], goal="in(a, tray)")
        make = options.pop("make", lambda name: METHODS[name]())
        self.manager = TaskManager(planner, body, make, on_change=self._note, observation_timeout=0.5, **options)

    def _note(self, task):
        with self._changed:
            self.seen.append(task.snapshot())
            self._changed.notify_all()

    def until(self, test):
        """Wait for a status; it."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(map(test, self.seen)), 30.0), self.seen[-1:]
            return next(filter(test, reversed(self.seen)))

    def paused_in_action(self, sentence="put a in the tray", method="tree_planner", **options):
        """A task that was paused while the body acts, and whose body holds."""
        task = self.manager.submit(sentence, method, **options)
        assert self.body.at.wait(30.0), self.seen[-1:]
        self.manager.pause(by="Ann", reason="my hand")
        self.until(lambda s: s.state is TaskState.PAUSED and "was interrupted" in s.message)
        return task

    def ended(self, task):
        assert task.ended.wait(30.0), self.seen[-1:]
        return task.status


@pytest.fixture
def run():
    made = []

    def make(*args, **options):
        made.append(Run(*args, **options))
        return made[-1]

    yield make
    for each in made:
        each.manager.close()


def events(task, kind):
    return task.journal.events(kind)


def test_an_interrupted_action_is_tried_again(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    task = r.paused_in_action()
    status = task.snapshot()
    assert status.state is TaskState.PAUSED and status.phase == "while acting"
    assert status.message == "paused by Ann: my hand; grasp(a) was interrupted"
    assert r.body.done == [] and not task.ended.is_set()
    assert r.manager.resume(by="Ben") is task
    told = task.pause.told  # known as `resume` returns, also where the record is not yet written
    status = r.ended(task)
    assert status.state is TaskState.SUCCEEDED
    assert r.body.done == ["grasp(a)", "place_in(a, tray)"]
    assert (status.steps, status.executed, status.corrections) == (3, 2, 0)
    assert [e["code"] for e in events(task, "action")] == ["CANCELED", "SUCCESS", "SUCCESS"]
    (paused,), (resumed,) = events(task, "paused"), events(task, "resumed")
    assert (paused["by"], paused["reason"], resumed["by"]) == ("Ann", "my hand", "Ben")
    assert resumed["changes"] == [] and "nothing has changed" in resumed["message"]
    assert told == resumed["message"]


def test_what_is_held_stays_held_and_the_plan_goes_on_from_there(run):
    r = run(PausableBody(WORLD, {"grasp(a)": HELD}))
    task = r.paused_in_action()
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert r.body.done == ["place_in(a, tray)"], "it was grasped when it was interrupted"
    (decided,) = events(task, "after_pause")
    assert decided["action"] == "grasp(a)" and decided["done"]


@pytest.mark.parametrize("method", ["given tree", "tree_planner"])
def test_one_action_that_picks_and_puts_goes_on_with_the_rest_of_it(run, method):
    r = run(
        PausableBody(WORLD, {"grab_and_putin(a, tray)": HELD}),
        ScriptedPlanner([plan("grab_and_putin(a, tray)", 3)], goal="in(a, tray)"),
        approval_timeout=30.0,
    )
    if method == "given tree":
        method = write_tree(Domain.load("tabletop"), sequence_of([Action.parse("grab_and_putin(a, tray)")]))
    task = r.manager.submit("put a in the tray", method)
    shown = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL)
    r.manager.approve("", shown.plan_hash, True)
    assert r.body.at.wait(30.0)
    r.manager.pause()
    r.manager.resume()
    status = r.ended(task)
    assert status.state is TaskState.SUCCEEDED, status.message
    assert r.body.done == ["place_in(a, tray)"]
    assert len(events(task, "approval_asked")) == 1, "it is a part of what was approved"


def test_a_thing_that_was_taken_out_of_the_hand_is_grasped_again(run):
    r = run(PausableBody(WORLD, {"place_in(a, tray)": AWAY}))
    task = r.paused_in_action()
    r.body.change(*LAID_DOWN)
    r.manager.resume()
    status = r.ended(task)
    assert status.state is TaskState.SUCCEEDED, status.message
    assert r.body.done in (["grasp(a)", "grasp(a)", "place_in(a, tray)"], ["grasp(a)", "grab_and_putin(a, tray)"])
    (resumed,) = events(task, "resumed")
    assert "the robot does not hold the a" in resumed["changes"] and "the a is at the table" in resumed["changes"]
    (decided,) = events(task, "after_pause")
    assert decided["code"] == "PRECONDITION_UNMET" and "somebody changed the world" in decided["message"]


def test_a_thing_that_was_moved_is_not_told_as_gone_while_the_camera_has_yet_to_find_it(run):
    class Late(PausableBody):
        def look(self, seconds):
            look = super().look(seconds)
            if self.holds and self.looks < 4:  # its old place is seen empty, its new one not yet
                left = tuple(o for o in self.world.objects if o.name != "a")
                facts = frozenset(f for f in self.world.facts if "a" not in f.args)
                return replace(look, world=replace(self.world, objects=left, facts=facts))
            return look

    r = run(Late(WORLD, {"grasp(a)": AWAY}), fallback="")
    task = r.paused_in_action()
    before = r.body.looks
    r.manager.resume()
    status = r.ended(task)
    assert r.body.looks > before + 1, "it has looked again"
    assert events(task, "resumed")[0]["changes"] == [], status.message  # it is neither gone nor elsewhere


def test_a_thing_that_is_gone_makes_the_task_fail_and_says_so(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}), fallback="")
    task = r.paused_in_action()
    left = tuple(o for o in r.body.world.objects if o.name != "a")
    r.body.change("", "at(a, table); clear(a); reachable(a); narrow(a)", left)
    r.manager.resume()
    status = r.ended(task)
    assert status.state is not TaskState.SUCCEEDED and r.body.done == []
    assert events(task, "resumed")[0]["changes"][0] == "the a is gone"
    assert events(task, "after_pause")[0]["code"] == "UNKNOWN_OBJECT"


def test_a_goal_that_a_person_has_reached_meanwhile_is_verified_and_nothing_moves(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    task = r.paused_in_action()
    r.body.change("in(a, tray)", "at(a, table)")
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert r.body.done == [] and events(task, "reached_meanwhile")


def test_a_goal_that_seems_reached_is_no_success_where_the_last_look_says_otherwise(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}), fallback="")
    task = r.paused_in_action()
    r.body.change("in(a, tray)", "at(a, table)")
    look, r.body.look = r.body.look, lambda seconds: again(seconds)

    def again(seconds):
        found = look(seconds)
        if r.body.looks > 1:  # somebody takes it out again
            r.body.change("at(a, table)", "in(a, tray)")
            return replace(found, world=r.body.world)
        return found

    r.body.looks = 0
    r.manager.resume()
    assert r.ended(task).state is TaskState.FAILED


def test_a_plan_that_passes_no_longer_is_planned_anew_before_anything_moves(run):
    """Paused between two actions; somebody puts b on a, which was to be grasped next."""
    body = PausableBody(WORLD)
    body.hold.clear()
    steps = "grasp(b); place_on(b, plate); grasp(a); place_in(a, tray)"
    r = run(body, ScriptedPlanner([plan(steps, 3)], goal="in(a, tray); on(b, plate)"))
    task = r.manager.submit("put a in the tray")
    assert body.began.wait(30.0)
    r.manager.pause()
    body.hold.set()  # a body that cannot be stopped ends its action
    r.until(lambda s: s.state is TaskState.PAUSED and s.executed == 1)
    body.change("on(b, a)", "holding(b); clear(a)")
    body.change("hand_empty()")
    r.manager.resume()
    status = r.ended(task)
    assert status.state is TaskState.SUCCEEDED, status.message
    assert events(task, "after_pause")[0]["action"] == "place_on(b, plate)"
    assert body.done[0] == "grasp(b)" and body.done[1] == "grasp(b)"


def test_a_plan_that_was_as_wrong_before_goes_on_as_it_would_have(run):
    """What a method does with a step that cannot be done is its own matter, paused or not."""

    class OpenLoop:
        def run(self, episode):
            episode.follow([Action.parse(x) for x in ("grasp(a)", "place_on(a, a)", "place_in(a, tray)")])

    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}), make=lambda name: OpenLoop(), fallback="")
    task = r.paused_in_action()
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert not events(task, "after_pause") and r.body.done == ["grasp(a)", "place_in(a, tray)"]


# ---- between actions


class SlowPlanner(ScriptedPlanner):
    """Tells that it was asked for plans, and thinks until it may answer."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.thinking, self.may_answer = threading.Event(), threading.Event()

    def generate_plans(self, *args, **options):
        self.thinking.set()
        assert self.may_answer.wait(30.0)
        return super().generate_plans(*args, **options)


def test_nothing_moves_after_a_pause_while_the_method_thinks(run):
    slow = SlowPlanner([GOOD], goal="in(a, tray)")
    r = run(PausableBody(WORLD), slow)
    task = r.manager.submit("put a in the tray")
    assert slow.thinking.wait(30.0)
    r.manager.pause(by="Ann")
    assert task.snapshot().state is TaskState.PAUSED
    slow.may_answer.set()
    r.until(lambda s: s.state is TaskState.PAUSED and "tree" not in s.phase and s.usage.requests)
    assert r.body.done == []
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED


def test_resumed_while_the_method_still_thinks_it_goes_on_thinking(run):
    slow = SlowPlanner([GOOD], goal="in(a, tray)")
    r = run(PausableBody(WORLD), slow)
    task = r.manager.submit("put a in the tray")
    assert slow.thinking.wait(30.0)
    r.manager.pause()
    r.manager.resume(by="Ben")
    assert task.snapshot().state is TaskState.RUNNING
    slow.may_answer.set()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert events(task, "resumed")[0]["by"] == "Ben"


def test_a_pause_while_the_goal_is_verified_waits_and_looks_again(run):
    looking, go_on = threading.Event(), threading.Event()

    class Watched(PausableBody):
        def look(self, seconds):
            if self.done and not go_on.is_set():
                looking.set()
                assert go_on.wait(30.0)
            return super().look(seconds)

    r = run(Watched(WORLD), fallback="")
    task = r.manager.submit("put a in the tray")
    assert looking.wait(30.0)
    r.manager.pause()
    go_on.set()
    r.until(lambda s: s.state is TaskState.PAUSED and not s.unmet)
    r.body.change("at(a, table)", "in(a, tray)")
    assert not task.ended.wait(0.3)
    r.manager.resume()
    assert r.ended(task).state is TaskState.FAILED, "what was seen before the pause does not count"


def test_an_answer_waits_too_and_a_paused_question_moves_nothing(run):
    planner = ScriptedPlanner(answer="two things")
    r, read = run(PausableBody(WORLD), planner), planner.interpret_goal
    planner.interpret_goal = lambda *a, **k: (r.manager.pause(), read(*a, **k))[1]
    task = r.manager.submit("what do you see?")
    r.until(lambda s: s.state is TaskState.PAUSED)
    r.manager.resume()
    assert r.ended(task).state is TaskState.ANSWERED


# ---- approval


def test_an_approved_plan_stays_approved_and_the_time_to_approve_stands_still(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}), approval_timeout=0.5)
    task = r.manager.submit("put a in the tray")
    shown = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL)
    r.manager.pause()
    assert task.snapshot().state is TaskState.PAUSED
    assert not task.ended.wait(0.8), "the time to approve it would be over"
    r.manager.approve("", shown.plan_hash, True)
    assert not r.body.at.wait(0.3), "approved, but paused"
    r.manager.resume()
    assert r.body.at.wait(30.0)
    r.manager.pause()
    r.until(lambda s: "was interrupted" in s.message)
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert len(events(task, "approval_asked")) == 1
    assert r.body.done == ["grasp(a)", "place_in(a, tray)"] and all(r.body.approvals)


def test_what_moved_between_the_approval_and_the_resumption_is_shown_anew(run):
    def standing(x):
        return [replace(o, position=(x, 0.0, 0.0)) if o.name == "a" else o for o in WORLD.objects]

    r = run(PausableBody(replace(WORLD, objects=tuple(standing(0.3)))), approval_timeout=30.0)
    task = r.manager.submit("put a in the tray")
    shown = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL)
    r.manager.pause()
    looks = r.body.looks
    r.manager.approve("", shown.plan_hash, True)
    r.until(lambda s: r.body.looks > looks)  # the world is compared while the task is paused
    r.body.change(objects=standing(0.6))
    r.manager.resume()
    anew = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL and s.plan_hash != shown.plan_hash)
    assert r.body.done == [] and anew.plan == shown.plan and any("30 cm" in change for change in anew.plan_changes)
    r.manager.approve("", anew.plan_hash, True)
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert len(events(task, "approval_asked")) == 2 and r.body.done == ["grasp(a)", "place_in(a, tray)"]


def test_a_plan_that_the_change_made_another_is_asked_for_anew(run):
    r = run(PausableBody(WORLD, {"place_in(a, tray)": AWAY}), approval_timeout=30.0)
    task = r.manager.submit("put a in the tray")
    shown = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL)
    r.manager.approve("", shown.plan_hash, True)
    assert r.body.at.wait(30.0)
    r.manager.pause()
    r.until(lambda s: "was interrupted" in s.message)
    r.body.change(*LAID_DOWN)
    r.manager.resume()
    anew = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL and s.plan_hash != shown.plan_hash)
    assert str(anew.plan[0]) in ("grasp(a)", "grab_and_putin(a, tray)") and r.body.done == ["grasp(a)"]
    r.manager.approve("", anew.plan_hash, True)
    assert r.ended(task).state is TaskState.SUCCEEDED


def test_what_is_approved_alone_is_asked_for_again(run):
    r = run(
        PausableBody(WORLD, {"hand_over(a)": AWAY}),
        ScriptedPlanner([plan("grasp(a); hand_over(a)", 3)], goal="handed_over(a)"),
        approval_timeout=30.0,
        approved_alone=["hand_over"],
    )
    task = r.manager.submit("hand me a")
    hashes = set()
    for number in range(3):
        shown = r.until(lambda s: s.state is TaskState.AWAITING_APPROVAL and s.plan_hash not in hashes)
        hashes.add(shown.plan_hash)
        r.manager.approve("", shown.plan_hash, True)
        if number == 1:
            assert r.body.at.wait(30.0)
            r.manager.pause()
            r.until(lambda s: "was interrupted" in s.message)
            r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED


# ---- what cannot be


def test_pausing_twice_resuming_what_runs_and_pausing_what_has_ended(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    with raises_code("goal"):
        r.manager.pause()
    with raises_code("goal"):
        r.manager.resume()
    with raises_code("unknown_name", "'task-9'"):
        r.manager.pause("task-9")
    task = r.paused_in_action()
    name = task.status.task_id
    with raises_code("goal", name, "Ann"):
        r.manager.pause()
    with raises_code("goal"):
        r.manager.pause(reason="a\x00")
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    for act in (r.manager.pause, r.manager.resume):
        with raises_code("goal", name):
            act(name)


def test_what_is_not_paused_cannot_be_resumed_and_a_dry_run_cannot_be_paused(run):
    body = PausableBody(WORLD)
    body.hold.clear()
    r = run(body)
    task = r.manager.submit("put a in the tray")
    assert body.began.wait(30.0)
    with raises_code("goal", task.status.task_id):
        r.manager.resume(task.status.task_id)
    dry = r.manager.submit("put a in the tray", dry_run=True)
    with raises_code("goal", dry.status.task_id):
        r.manager.pause(dry.status.task_id)
    body.hold.set()
    r.ended(dry)


def test_it_stays_paused_where_nobody_can_look(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    task = r.paused_in_action()
    r.body.blind = "no fresh look"
    with raises_code("goal", r.body.blind):
        r.manager.resume(by="Ben")
    status = task.snapshot()
    assert status.state is TaskState.PAUSED and r.body.blind in status.message
    assert events(task, "resume_refused")[0]["by"] == "Ben" and r.body.done == []
    r.body.blind = ""
    r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED


def test_cancelling_ends_a_paused_task_at_once(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    task = r.paused_in_action()
    r.manager.cancel()
    assert r.ended(task).state is TaskState.CANCELED and r.body.done == []
    again = r.manager.submit("put a in the tray")
    assert r.ended(again).state is TaskState.SUCCEEDED


def test_a_task_that_nobody_resumes_is_cancelled_with_the_reason(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}), pause_timeout=0.3)
    task = r.paused_in_action()
    status = r.ended(task)
    assert status.state is TaskState.CANCELED
    assert status.message == "paused by Ann and not resumed within 0.3 s (pause_timeout)"
    body = r.body
    body.hold.clear()
    body.began.clear()
    r.manager.submit("put a in the tray")
    waits = r.manager.submit("put a in the tray")
    r.manager.pause(waits.status.task_id)
    assert r.ended(waits).state is TaskState.CANCELED, "also in the queue"
    body.hold.set()


def test_a_body_that_goes_while_the_task_is_paused_ends_it(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY}))
    task = r.paused_in_action()
    r.body.dead = True
    status = r.ended(task)
    assert (status.state, status.code) == (TaskState.FAILED, "no_system")


def test_a_safety_stop_during_a_pause_ends_the_task_after_it(run):
    body = PausableBody(WORLD, {"grasp(a)": AWAY})
    stop, body.stop = body.stop, lambda code, message: stop(Code.SAFETY_STOP, "the emergency stop")
    r = run(body, fallback="")
    task = r.manager.submit("put a in the tray")
    assert body.at.wait(30.0)
    r.manager.pause()
    r.until(lambda s: s.state is TaskState.PAUSED and s.steps == 1)
    r.manager.resume()
    assert r.ended(task).state is TaskState.FAILED and body.done == []


def test_a_paused_task_of_the_queue_lets_others_pass(run):
    body = PausableBody(WORLD)
    body.hold.clear()
    r = run(body)
    first = r.manager.submit("put a in the tray")
    assert body.began.wait(30.0)
    second, third = (r.manager.submit("", "classical", literals(g)) for g in ("on(b, plate)", "at(b, table)"))
    name = second.status.task_id
    r.manager.pause(name, "Ann")
    assert second.snapshot().state is TaskState.PAUSED
    body.hold.set()
    assert r.ended(first).state is r.ended(third).state is TaskState.SUCCEEDED
    assert not second.ended.is_set()
    assert r.manager.resume() is second, "it is the only one"
    assert r.ended(second).state is TaskState.SUCCEEDED
    assert body.done[-1] == "grab_and_putin(b, plate)"


def test_a_second_pause_within_one_action_and_a_third_after_it(run):
    r = run(PausableBody(WORLD, {"grasp(a)": AWAY, "place_in(a, tray)": AWAY}))
    task = r.paused_in_action()
    r.body.stop_at["grasp(a)"] = AWAY
    r.manager.resume()
    for steps in (2, 4):
        assert r.body.at.wait(30.0)
        r.manager.pause()
        r.until(lambda s, n=steps: s.state is TaskState.PAUSED and s.steps == n and "was interrupted" in s.message)
        r.manager.resume()
    assert r.ended(task).state is TaskState.SUCCEEDED
    assert len(events(task, "paused")) == 3 and r.body.holds == 3


@pytest.mark.parametrize("method", sorted(METHODS.working()))
def test_no_method_moves_anything_while_it_is_paused(run, method):
    """Paused before it begins to plan: whatever the method asks, its first action waits."""
    step = Candidate("grasp(a)", Action.parse("grasp(a)"))
    planner = ScriptedPlanner(
        [GOOD], goal="in(a, tray)", steps=[step] * 9, texts=["grasp(a)\nplace_in(a, tray)"] * 9, choices=[0] * 9
    )
    read = planner.interpret_goal
    body = PausableBody(WORLD)
    r = run(body, planner)
    planner.interpret_goal = lambda *a, **k: (r.manager.pause(), read(*a, **k))[1]
    task = r.manager.submit("put a in the tray", method)
    r.until(lambda s: s.state is TaskState.PAUSED)
    assert not body.began.wait(0.05) and body.done == []
    r.manager.cancel()
    assert r.ended(task).state is TaskState.CANCELED


# ---- a process that was killed


def test_a_killed_process_finds_its_task_paused_and_it_moves_only_when_it_is_resumed(tmp_path):
    class Killable(PausableBody):
        killed = False

        def observe(self, revision=0):
            if self.killed:
                raise Killed
            return super().observe(revision)

    body = Killable(WORLD, {"grasp(a)": AWAY})
    store = TaskStore(tmp_path / "tasks.sqlite")
    first = Run(body, store=store)
    task = first.paused_in_action()
    second = first.manager.submit("", "classical", literals("on(b, plate)")).status.task_id
    threading.excepthook, hook = lambda _: None, threading.excepthook

    try:
        body.killed = True
        (worker,) = first.manager._threads
        worker.join(30.0)
        assert not worker.is_alive()
    finally:
        threading.excepthook = hook
    store.close()
    later = PausableBody(body.world)
    again = Run(later, store=TaskStore(tmp_path / "tasks.sqlite"))
    try:
        again.manager.take_up()
        name = task.status.task_id
        taken = again.manager.get(name)
        status = taken.snapshot()
        assert status.state is TaskState.PAUSED and "paused by Ann: my hand" in status.message
        assert not later.began.wait(0.5), "it keeps its turn, and nothing moves"
        again.manager.resume(name, "Ben")
        assert again.ended(taken).state is TaskState.SUCCEEDED
        assert again.ended(again.manager.get(second)).state is TaskState.SUCCEEDED
        assert later.done[:2] == ["grasp(a)", "place_in(a, tray)"]
    finally:
        again.manager.close()


# ---- words


def test_changes_are_told_in_words():
    domain = Domain.load("tabletop")

    def at(world, name, x, known=Known.SEEN):
        objects = tuple(replace(o, position=(x, 0.0, 0.0), known=known) if o.name == name else o for o in world.objects)
        return replace(world, objects=objects)

    before = at(WORLD, "a", 0.1)
    assert changes_between(domain, before, at(before, "a", 0.11)) == ()
    assert changes_between(domain, before, at(before, "a", 0.25)) == ("the a was moved by 15 cm",)
    assert changes_between(domain, before, at(before, "a", 0.25, Known.FIXED)) == ()
    gone = replace(before, objects=before.objects[1:])
    assert changes_between(domain, before, gone) == ("the a is gone",)
    assert changes_between(domain, gone, before) == ("the a is new",)
    facts = replace(before, facts=before.facts - set(literals("at(b, table)")) | set(literals("in(b, tray)")))
    assert changes_between(domain, before, facts) == ("the b is in the tray", "the b is not at the table")


def test_an_approval_counts_only_where_a_look_shows_the_things_as_they_were_shown(run):
    body = PausableBody(WORLD)
    one = run(body, approval_timeout=60.0, fallback="")
    task = one.manager.submit("put a in the tray")
    plan_hash = one.until(lambda s: s.state is TaskState.AWAITING_APPROVAL).plan_hash
    body.blind = "the camera is covered"
    one.manager.approve(task.status.task_id, plan_hash, True)
    status = one.ended(task)
    assert (status.state, status.code, body.done) == (TaskState.FAILED, "no_system", []), status.message
    assert body.blind in status.message


def test_a_cancel_stops_the_action_and_its_outcome_is_in_the_record(run):
    body = PausableBody(WORLD, {"grasp(a)": HELD})
    one = run(body)
    task = one.manager.submit("put a in the tray")
    assert body.at.wait(30.0)
    one.manager.cancel()
    assert (one.ended(task).state, body.holds) == (TaskState.CANCELED, 1)
    assert [e["code"] for e in task.journal.events("action")] == ["CANCELED"]
