"""The life of a task: queue, cancellation, fallback, goal check, and that nothing takes the manager down."""

import re
import time
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.approving import ended
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.base.errors import GoalError, ModelUnavailableError, ParseError, SystemDownError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Known
from planweave.core.workflow.ports import Candidate, Look
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
GOOD = plan("grasp(a); place_in(a, tray)", 3)


@pytest.fixture
def start():
    managers = []

    def make(planner=None, body=None, **options):
        planner = planner or ScriptedPlanner([GOOD], goal="in(a, tray)")
        body = body or SymbolicBody(WORLD)
        managers.append(TaskManager(planner, body, lambda name: METHODS[name](), **options))
        return managers[-1], planner, body

    yield make
    for manager in managers:
        manager.close()


def test_success_means_that_the_goal_holds(start):
    manager, _, body = start()
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and status.unmet == ()
    assert body.done == ["grasp(a)", "place_in(a, tray)"] and not status.fallback
    assert status.goal_source == "grammar"


def test_a_body_is_waited_for_no_longer_than_it_is_away(start):
    told = []
    manager, *_ = start(
        await_body=lambda on_wait: on_wait("no body reports its world yet"),
        on_change=lambda task: told.append((task.status.phase, task.status.message)),
    )
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED
    waits = told.index(("waiting for the body", "no body reports its world yet"))
    assert told[waits + 1] == ("looking", "") and "waiting for the body" not in dict(told[waits + 1 :])


def test_steps_that_end_without_the_goal_are_a_failure(start):
    manager, _, body = start(ScriptedPlanner([plan("grasp(a)")], goal="in(a, tray)"), fallback="")
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.FAILED and [str(u) for u in status.unmet] == ["in(a, tray)"]
    assert status.code == "not_reached"


@pytest.mark.parametrize(
    "planner",
    [
        ScriptedPlanner([plan("grasp(b)")], goal="in(a, tray)"),
        ScriptedPlanner(error=ModelUnavailableError("nobody listens at http://127.0.0.1:9"), goal="in(a, tray)"),
    ],
)
def test_the_fallback_takes_over_and_says_so(start, planner):
    manager, _, body = start(planner)
    task = manager.submit("put a in the tray")
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED and status.fallback
    assert task.journal.events("fallback")[0]["method"] == "classical"


def test_a_model_that_is_down_is_named_where_there_is_no_fallback(start):
    manager, _, _ = start(
        ScriptedPlanner(error=ModelUnavailableError("nobody listens"), goal="in(a, tray)"), fallback=""
    )
    assert "nobody listens" in ended(manager.submit("put a in the tray")).message


@pytest.mark.parametrize("fallback", ["", "classical"])
def test_replies_that_could_not_be_read_are_counted(start, fallback):
    error = ParseError("none of 25 replies holds a plan")
    error.usage = Usage(1, 700, 0, 90, model="small")
    manager, _, _ = start(ScriptedPlanner(error=error, goal="in(a, tray)"), fallback=fallback)
    used = ended(manager.submit("put a in the tray")).usage
    assert (used.requests, used.prompt_tokens, used.completion_tokens, used.model) == (1, 700, 90, "small")


def test_recovery_from_a_failed_grasp(start):
    for failures, corrections, fallback in ((2, 1, False), (6, 3, True)):  # the method asks again twice
        faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")] * failures}
        manager, _, _ = start(body=SymbolicBody(WORLD, faults))
        status = ended(manager.submit("put a in the tray"))
        assert status.state is TaskState.SUCCEEDED
        assert (status.corrections, status.fallback) == (corrections, fallback)
        assert (";" in status.message) is fallback, "a failure that was mended is in the record alone"


def test_no_other_method_takes_over_after_a_safety_stop(start):
    manager, _, body = start(body=SymbolicBody(WORLD, {"grasp(a)": [(Code.SAFETY_STOP, "a joint was pushed")]}))
    task = manager.submit("put a in the tray", "tree_planner")
    status = ended(task)
    assert (status.state, status.code) == (TaskState.FAILED, "safety_stop")
    assert body.done == [] and not status.fallback and len(task.journal.events("action")) == 1


def test_no_other_method_takes_over_from_one_as_in_its_paper():
    planner = ScriptedPlanner([plan("place_in(a, tray)")], goal="in(a, tray)")
    body = SymbolicBody(WORLD)
    manager = TaskManager(planner, body, lambda name: METHODS[name](paper=True), fallback="classical")
    try:
        status = ended(manager.submit("put a in the tray", "tree_planner"))
    finally:
        manager.close()
    assert status.state is TaskState.FAILED and not status.fallback and body.done == []


def test_what_a_person_says_reaches_the_method_and_the_record(start):
    step = Candidate("grasp(a)", Action.parse("grasp(a)"))
    planner = ScriptedPlanner(
        goal="in(a, tray)",
        steps=[step, Candidate("place_in", Action.parse("place_in(a, tray)")), Candidate("end", None)],
    )
    manager, _, body = start(planner)
    body.hold.clear()
    task = manager.submit("put a in the tray", "iterative")
    assert body.began.wait(60.0)
    assert manager.say("", "  mind the glass ") is task  # the running one
    with raises_code("goal"):
        manager.say(task.status.task_id, " ")
    with raises_code("goal", "3000"):
        manager.say(task.status.task_id, "x" * 3000)
    with raises_code("goal"):
        manager.say(task.status.task_id, "a\x00")
    with raises_code("unknown_name", "'task-99'"):
        manager.say("task-99", "hello")
    body.hold.set()
    assert ended(task).state is TaskState.SUCCEEDED
    assert [row[3] for row in planner.asked if row[0] == "propose"] == [(), ("mind the glass",), ()]
    assert [e["text"] for e in task.journal.events("said")] == ["mind the glass"]
    with raises_code("goal", task.status.task_id):
        manager.say(task.status.task_id, "too late")
    with raises_code("goal"):
        manager.say("", "anybody?")


@pytest.mark.parametrize(("sentence", "data"), [("", ()), ("   ", ()), ("x" * 10_000, "10000"), ("put\x00it", ())])
def test_sentences_that_are_not_accepted(start, sentence, data):
    manager, _, _ = start()
    with raises_code("goal", data):
        manager.submit(sentence)
    assert manager.tasks() == []


def test_unknown_method_names_those_there_are(start):
    manager, _, _ = start()
    with raises_code("unknown_name", "'tree_planner'"):
        manager.submit("put a in the tray", "tree_planer")


@pytest.mark.parametrize(
    "goal, words",
    [
        ("in(c, tray)", "unknown object 'c'"),
        ("inside(a, tray)", "unknown pred"),
        ("in(a, plate)", "must be: container"),
        ("in(a)", "takes 2 arg"),
    ],
)
def test_a_given_goal_is_checked(start, goal, words):
    manager, _, _ = start()
    status = ended(manager.submit("", goal=literals(goal)))
    assert status.state is TaskState.FAILED and words in status.message


def test_a_given_goal_needs_no_sentence_and_no_interpretation(start):
    manager, planner, _ = start()
    status = ended(manager.submit("", "classical", literals("on(b, plate)")))
    assert status.state is TaskState.SUCCEEDED and status.goal_source == "given" and planner.asked == []


def test_a_goal_that_can_never_hold(start):
    manager, _, _ = start(body=SymbolicBody(tabletop("a: item; tray: container", unreachable=["a"])))
    status = ended(manager.submit("put a in the tray"))
    assert (status.state, status.code) == (TaskState.FAILED, "no_plan")


def test_a_goal_that_holds_already_moves_nothing(start):
    manager, planner, body = start(ScriptedPlanner(goal="at(a, table)"))
    assert "already" in ended(manager.submit("put a on the table")).message
    assert body.done == []


class Watched(SymbolicBody):
    """A body whose looks are scripted: each a function of the world, the last one for good; None: a silent camera."""

    def __init__(self, world, *looks, **faults):
        super().__init__(world, faults)
        self.looks, self.asked = list(looks), 0

    def look(self, seconds):
        self.asked += 1
        change = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if change is None:
            time.sleep(min(seconds, 0.05))
            return Look(self.world, False, "no fresh look")
        self.world = change(replace(self.world, stamp=self.world.stamp + 0.1))
        return Look(self.world)


def seen(world):
    return world.all_seen()


def without(fact):
    """A look that shows that a fact does not hold any more."""
    return lambda world: replace(world, facts=world.facts - set(literals(fact))).all_seen()


def hidden(by="", known=Known.INFERRED, **more):
    """A look that does not show the object a."""

    def look(world):
        objects = tuple(
            replace(o, known=known, hidden_by=by, last_seen=1.0) if o.name == "a" else o
            for o in world.all_seen().objects
        )
        return replace(world, objects=objects, **more)

    return look


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (None, "no fresh look"),
        (hidden(), "a was last seen .* ago, not in view now"),
        (hidden(known=Known.REMEMBERED), "a was last seen"),
        (hidden(known=Known.UNKNOWN), "a was last seen"),
        (hidden("ghost"), "hidden in ghost"),
    ],
)
@pytest.mark.parametrize("fallback", ["", "classical"])
def test_what_no_look_shows_is_not_confirmed(start, look, words, fallback):
    body = Watched(WORLD, look)
    manager, _, _ = start(body=body, observation_timeout=0.1, fallback=fallback)
    task = manager.submit("put a in the tray")
    status = ended(task)
    assert status.state is TaskState.NOT_CONFIRMED and status.unmet == () and status.state.ended
    assert re.search(words, status.message), status.message
    done = ["grasp(a)", "place_in(a, tray)", *(["return_to_base()"] if look else [])]
    assert body.done == done, "it gets out of the view, and nothing is done again because of it"
    checked = task.journal.events("checked")[-1]
    assert checked["not_confirmed"] and list(checked["known"]) == ["in(a, tray)"]


def test_what_the_arm_hides_is_looked_for_once_it_is_out_of_the_way(start):
    home = literals("at_base()")[0]
    body = Watched(WORLD, lambda world: (seen if world.holds(home) else hidden())(world))
    manager, _, _ = start(body=body, observation_timeout=0.1)
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED
    assert body.done == ["grasp(a)", "place_in(a, tray)", "return_to_base()"]


HOME = ("return_to_base()",)


@pytest.mark.parametrize(
    ("word", "state", "last"),
    [
        ("yes", TaskState.SUCCEEDED, HOME),
        ("no", TaskState.NOT_CONFIRMED, ()),
        ("nothing", TaskState.NOT_CONFIRMED, ()),  # within approval_timeout
        ("cancel", TaskState.CANCELED, ()),
        ("edit", TaskState.SUCCEEDED, ("grasp(a)", "place_in(a, tray)", *HOME)),
    ],
)
def test_where_a_person_approves_motions_one_is_asked_for_that_out_of_the_way(start, word, state, last):
    home = literals("at_base()")[0]
    body = Watched(WORLD, lambda world: (seen if world.holds(home) else hidden())(world))
    manager, _, _ = start(body=body, observation_timeout=0.1, approval_timeout=1.0 if word == "nothing" else 60.0)
    task = manager.submit("put a in the tray")

    def asked(before=""):
        while not (task.approval and task.approval.waiting and task.approval.shown.hash != before):
            assert not task.ended.wait(0.01), task.status
        return task.approval.shown

    first = asked()
    manager.approve("", first.hash, True, "", "Ada")
    request = asked(first.hash)
    assert [str(action) for action in request.plan] == [*HOME] and len(request.changes) == 1
    if word == "edit":
        request = task.approval.edit(request.hash, [*first.plan, *request.plan])
    if word == "cancel":
        manager.cancel(task.status.task_id)
    elif word != "nothing":
        manager.approve("", request.hash, word != "no", "", "Ada")
    assert ended(task).state is state and body.done == ["grasp(a)", "place_in(a, tray)", *last]


def test_a_last_look_that_does_not_come_leaves_what_was_seen_before(start):
    manager, _, _ = start(body=Watched(WORLD, hidden(), None), observation_timeout=0.5)
    status = ended(manager.submit("put a in the tray"))
    assert (status.state, status.code) == (TaskState.NOT_CONFIRMED, "not_confirmed")
    manager, _, _ = start(body=Watched(WORLD, without("in(a, tray)"), None), observation_timeout=0.5, fallback="")
    assert ended(manager.submit("put a in the tray")).state is TaskState.FAILED


@pytest.mark.parametrize("first", [None, hidden()])
def test_a_look_that_comes_in_time_confirms(start, first):
    looks = [seen] if first is None else [first, first, seen]
    manager, _, body = start(body=Watched(WORLD, *looks))
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED


class Particular(ScriptedPlanner):
    """A planner that refuses sentences about what is not in the world."""

    def interpret_goal(self, sentence, world, clarifications=(), task_id=""):
        if "a" not in world.by_name:
            raise GoalError("there is no a here")
        return super().interpret_goal(sentence, world, clarifications, task_id)


@pytest.mark.parametrize("given", [(), literals("in(a, tray)")])
def test_a_task_is_refused_for_what_is_not_there_only_after_a_look(start, given):
    """Perception may have been reset a moment ago, and have named only some of what is there."""
    partial = tabletop("b: item; tray: container; table: location", "at(b, table)")
    body = Watched(partial, lambda _: replace(WORLD, stamp=1.0).all_seen(), seen)
    manager, _, _ = start(Particular([GOOD], goal="in(a, tray)"), body)
    task = manager.submit("put a in the tray", goal=given) if given else manager.submit("put a in the tray")
    assert ended(task).state is TaskState.SUCCEEDED and body.done == ["grasp(a)", "place_in(a, tray)"]
    for look in (seen, None):
        body = Watched(partial, look)
        manager, _, _ = start(Particular([GOOD], goal="in(a, tray)"), body, observation_timeout=0.2)
        status = ended(manager.submit("put a in the tray"))
        assert (status.state, status.code, body.asked) == (TaskState.FAILED, "goal", 1)


def test_what_is_hidden_under_what_is_seen_is_told_as_inferred(start):
    manager, _, _ = start(body=Watched(WORLD, hidden("b")), observation_timeout=0.1)
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and "; a " in status.message


def test_nothing_held_already_that_nobody_sees(start):
    """The camera is silent, or shows that somebody took it away."""
    world = tabletop("a: item; tray: container", "in(a, tray)")
    manager, _, body = start(body=Watched(world, None), observation_timeout=0.1)
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.NOT_CONFIRMED and status.message.endswith("(nothing was moved)") and not body.done
    gone = without("in(a, tray)")
    manager, _, body = start(body=Watched(world, gone, gone, seen))
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and body.done == ["grasp(a)", "place_in(a, tray)"]


def test_what_is_taken_away_meanwhile_is_put_back_or_failed(start):
    """The end is judged on a look after it; one image may be wrong, two are believed."""
    gone = without("in(a, tray)")
    manager, _, body = start(body=Watched(WORLD, gone, gone, seen))
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and status.fallback
    assert body.done == ["grasp(a)", "place_in(a, tray)", "grab_and_putin(a, tray)"]
    body = Watched(WORLD, gone)
    manager, _, _ = start(body=body, fallback="")
    status = ended(manager.submit("put a in the tray"))
    assert (status.state, status.code, body.asked) == (TaskState.FAILED, "not_reached", 2)


@pytest.mark.parametrize(("looks", "state"), [(2, TaskState.SUCCEEDED), (9, TaskState.FAILED)])
def test_the_planner_without_a_model_plans_once_more_where_the_last_look_shows_that_the_goal_does_not_hold(
    start, looks, state
):
    manager, _, body = start(body=Watched(WORLD, *[without("in(a, tray)")] * looks, seen), fallback="")
    status = ended(manager.submit("put a in the tray", method="classical"))
    assert (status.state, body.done) == (state, ["grab_and_putin(a, tray)"] * 2)


def test_nothing_moves_in_a_silent_world(start):
    body = Watched(replace(WORLD, silent=True), None)
    manager, _, _ = start(body=body, observation_timeout=0.1)
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.NOT_CONFIRMED and not body.done
    body.looks = [seen]
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED, "it can be done once it is heard"


def test_a_failed_action_believes_nothing(start):
    """Let go, but no fresh look to confirm it: what the body believes of it is no success."""

    def believed(world):
        facts = world.facts - set(literals("holding(a)")) | set(literals("in(a, tray); hand_empty()"))
        return replace(world, facts=facts)

    body = Watched(WORLD, hidden(), **{"place_in(a, tray)": [(Code.CONTROL_FAILED, "no fresh look", believed)]})
    manager, _, _ = start(body=body, observation_timeout=0.1)
    status = ended(manager.submit("put a in the tray"))
    assert (status.state, status.code) == (TaskState.NOT_CONFIRMED, "not_confirmed")


def test_waiting_for_a_look_can_be_cancelled(start):
    body = Watched(WORLD, hidden())
    manager, _, _ = start(body=body, observation_timeout=30.0)
    task = manager.submit("put a in the tray")
    deadline = time.monotonic() + 60.0
    while body.asked < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    manager.cancel()
    assert ended(task).state is TaskState.CANCELED


def test_one_task_at_a_time_in_order_and_cancel_of_running_and_queued(start):
    manager, _, body = start()
    body.hold.clear()
    first, second, third = (manager.submit(f"put a in the tray {i}") for i in range(3))
    assert body.began.wait(60.0)
    assert [t.snapshot().state.name for t in (first, second, third)] == ["RUNNING", "QUEUED", "QUEUED"]
    manager.cancel(second.status.task_id)
    assert ended(second).state is TaskState.CANCELED
    manager.cancel()
    body.hold.set()
    assert ended(first).state is TaskState.CANCELED
    assert ended(third).state is TaskState.SUCCEEDED
    with raises_code("goal", first.status.task_id):
        manager.cancel(first.status.task_id)
    with pytest.raises(UnknownNameError):
        manager.cancel("task-99")


def test_cancel_without_a_running_task(start):
    manager, _, _ = start()
    with raises_code("goal"):
        manager.cancel()


def test_a_queue_that_is_full(start):
    manager, _, body = start(max_queue=1)
    body.hold.clear()
    manager.submit("one")
    assert body.began.wait(60.0)
    manager.submit("two")
    with raises_code("goal", "1"):
        manager.submit("three")
    body.hold.set()


class BrokenBody(SymbolicBody):
    def observe(self, revision=0):
        raise self.error


@pytest.mark.parametrize(
    "error, code", [(SystemDownError("no body reports the world"), "no_system"), (RuntimeError("boom"), "internal")]
)
def test_whatever_happens_the_task_ends_and_the_next_is_served(start, error, code):
    body = BrokenBody(WORLD)
    body.error = error
    manager, _, _ = start(body=body)
    status = ended(manager.submit("put a in the tray"))
    assert (status.state, status.code) == (TaskState.FAILED, code)
    body.observe = lambda revision=0: SymbolicBody.observe(body)
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED


def test_the_journal_is_also_a_file(start, tmp_path):
    manager, _, _ = start(journal_folder=tmp_path)
    task = manager.submit("put a in the tray")
    ended(task)
    lines = (tmp_path / f"{task.status.task_id}.jsonl").read_text().splitlines()
    assert len(lines) == len(task.journal.events()) and '"event": "ended"' in lines[-1]


def test_that_a_task_is_queued_is_told_before_it_runs(start):
    told = []
    manager, _, _ = start(on_change=lambda task: told.append((task.status.task_id, task.status.state)))
    for _ in range(20):
        ended(manager.submit("put a in the tray"))
    first = {}
    for task_id, state in told:
        first.setdefault(task_id, state)
    assert len(first) == 20 and set(first.values()) == {TaskState.QUEUED}


def test_only_the_last_ended_tasks_are_kept(start):
    manager, _, body = start(kept_tasks=3)
    tasks = [manager.submit("put a in the tray") for _ in range(6)]
    ended(tasks[-1])
    body.hold.clear()
    manager.submit("put b in the tray", goal=literals("in(b, tray)"))  # one that has not ended is kept in any case
    manager.submit("put b in the tray")
    ids = [t.status.task_id for t in tasks]
    assert [t.status.task_id for t in manager.tasks()][:3] == ids[3:] and len(manager.tasks()) == 5
    assert len(manager.tasks(2)) == 2 and manager.tasks(2) == manager.tasks()[-2:] and len(manager.tasks(99)) == 5
    assert manager.get(ids[0]) is None and manager.dropped(ids[0]) and not manager.dropped(ids[3])
    assert not manager.dropped("task-99")
    body.hold.set()


def test_a_repeated_request_is_one_task(start):
    manager, _, body = start()
    body.hold.clear()
    first = manager.submit("put a in the tray", request_id="mine")
    assert manager.submit("put a in the tray", request_id="mine") is first
    assert manager.submit("put a in the tray") is not first
    with raises_code("goal", "'mine'"):
        manager.submit("put b in the tray", request_id="mine")
    with raises_code("goal", "101"):
        manager.submit("put b in the tray", request_id="x" * 101)
    assert len(manager.tasks()) == 2
    body.hold.set()


def test_the_goals_question_names_its_task(start):
    manager, planner, _ = start()
    asked = []
    read = planner.interpret_goal
    planner.interpret_goal = lambda sentence, world, task_id="", **_: (asked.append(task_id), read(sentence, world))[1]
    task = manager.submit("put a in the tray")
    ended(task)
    assert asked == [task.status.task_id]


def test_what_was_understood_is_told_before_anything_moves(start):
    body = SymbolicBody(WORLD)
    seen = []
    manager, _, _ = start(body=body, on_change=lambda task: seen.append((task.status.understood, len(body.done))))
    assert ended(manager.submit("put a in the tray")).understood == "the a is in the tray"
    assert next(moved for understood, moved in seen if understood) == 0
    manager, _, _ = start(ScriptedPlanner([GOOD], goal="in(a, tray)", understood="a goes into the tray"))
    assert ended(manager.submit("put a in the tray")).understood == "a goes into the tray"
    assert ended(manager.submit("", goal=literals("at(b, table)"))).understood == "the b is at the table"


def test_a_question_is_answered_without_motion_and_is_no_success(start):
    manager, planner, body = start(ScriptedPlanner([GOOD], answer="I see a and b.", understood="what do I see?"))
    task = manager.submit("what do you see?")
    status = ended(task)
    assert status.state is TaskState.ANSWERED and status.state.ended and status.answer == "I see a and b."
    assert status.message == "answered: I see a and b." and status.goal == () and body.done == []
    assert [asked[0] for asked in planner.asked] == ["interpret"]
    assert task.journal.events("answer")[0]["answer"] == "I see a and b."


@pytest.mark.parametrize("method", ["tree_planner", "classical"])
def test_a_dry_run_ends_with_the_checked_plan_and_moves_nothing(start, method):
    manager, _, body = start(approval_timeout=60.0)  # nobody needs to approve what moves nothing
    task = manager.submit("put a in the tray", method, dry_run=True)
    status = ended(task)
    assert status.state is TaskState.PLANNED and status.dry_run and body.done == []
    steps = {"tree_planner": ["grasp(a)", "place_in(a, tray)"], "classical": ["grab_and_putin(a, tray)"]}[method]
    assert [str(a) for a in status.plan] == steps and len(status.plan_words) == len(steps)
    assert status.plan_words[-1].endswith("in the tray")
    assert status.plan_check == "every step can be done and the goal holds"
    assert status.executed == 0 and not task.journal.events("action")
    assert ended(manager.submit("", goal=literals("at(b, table)"), dry_run=True)).message.startswith(
        "the goal holds already"
    )


def test_a_dry_run_without_a_plan_fails_and_says_why(start):
    manager, _, body = start(ScriptedPlanner([plan("grasp(b)")], goal="in(a, tray)"), fallback="")
    status = ended(manager.submit("put a in the tray", dry_run=True))
    assert status.state is TaskState.FAILED and body.done == [] and status.plan == ()
    assert " 3 " in status.message
    assert status.code == "not_reached", "nothing was proved"
    manager, _, body = start(ScriptedPlanner([plan("grasp(b)")], goal="in(a, tray)"))
    status = ended(manager.submit("put a in the tray", dry_run=True))
    assert status.state is TaskState.PLANNED and status.fallback and status.plan and body.done == []


def test_a_dry_run_whose_goal_is_proved_to_be_out_of_reach_has_no_plan(start):
    manager, _, body = start(body=SymbolicBody(replace(WORLD, actions_off=frozenset({"place_in", "grab_and_putin"}))))
    status = ended(manager.submit("", "classical", goal=literals("in(a, tray)"), dry_run=True))
    assert (status.state, status.code) == (TaskState.FAILED, "no_plan") and body.done == []


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Code.NOT_STARTED, "not_started"),
        (Code.SAFETY_STOP, "safety_stop"),
        (Code.GRASP_LOST, "grasp_lost"),
        (None, "not_reached"),
    ],
)
def test_a_failed_task_has_the_code_of_its_last_action(start, fault, code):
    """The last one: it succeeded, and something else came of it."""
    outcome = (fault or Code.SUCCESS, "as told", lambda world: world)
    body = SymbolicBody(WORLD, {"grasp(a)": [outcome] * 9})
    manager, *_ = start(ScriptedPlanner([plan("grasp(a)")] * 3, goal="holding(a)"), body=body, fallback="")
    status = ended(manager.submit("take a", "tree_planner"))
    assert (status.state, status.code) == (TaskState.FAILED, code)
    assert fault not in (Code.NOT_STARTED, Code.SAFETY_STOP) or status.steps == 1, "nothing is tried again"


def test_after_a_cancel_the_status_says_what_holds_then(start):
    done = tabletop("a b: item; tray: container; plate: surface; table: location", "in(a, tray); at(b, table)")
    body = SymbolicBody(WORLD, {"grasp(a)": [(Code.CONTROL_FAILED, "stopped", lambda world: done)]})
    manager, _, _ = start(body=body)
    body.hold.clear()
    task = manager.submit("put a in the tray")
    assert body.began.wait(60.0)
    manager.cancel()
    body.hold.set()
    status = ended(task)
    assert status.state is TaskState.CANCELED and status.goal and status.unmet == ()


def test_a_fault_of_a_method_stays_visible_where_the_fallback_succeeds_and_is_said_once(start):
    told = []
    fault = ParseError("planner_node knows no method 'mine' (known: tree_planner)")
    manager, _, _ = start(
        ScriptedPlanner(error=fault, goal="in(a, tray)"), on_change=lambda task: told.append(task.snapshot().message)
    )
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and status.fallback
    assert status.message.count(str(fault)) == 1 and "tree_planner" in status.message
    assert all(m.count(str(fault)) <= 1 for m in told)
    manager, _, _ = start(ScriptedPlanner([plan("grasp(b)")], goal="in(a, tray)"))  # no fault
    assert ended(manager.submit("put a in the tray")).message.endswith("the classical planner took over")
