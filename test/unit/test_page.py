"""The page without ROS: who may open it, and what it says."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import viser
from codes import raises_code
from doubles.fake_openai import unused_port

from planweave.bodies.arm.kinematics import Kinematics
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Known, Leaf, Literal, World, WorldObject
from planweave.core.trees.action_tree import Status, TreeRow
from planweave.core.workflow.question import Alternative, UserQuestion
from planweave.core.workflow.step_motion import PlanPreview, StepMotion
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.page import words
from planweave.page.gate import Gate
from planweave.page.moments import MOST, TASKS, Moment, Moments
from planweave.page.panel import Panel
from planweave.page.question_view import cut_out, question_html
from planweave.page.robot_view import RobotView
from planweave.page.world_view import OTHER, WorldView
from planweave.robots import load_robot

TOKEN = "a-token-of-some-length"
HERE = {"Host": "127.0.0.1:8090"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.7"])
def test_loopback_needs_no_token(host):
    assert Gate(host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "robot.lan", ""])
def test_another_address_needs_one(host):
    with raises_code("configuration", "PLANWEAVE_WEB_TOKEN"):
        Gate(host)
    assert not Gate(host, TOKEN).is_loopback


def test_a_short_token_is_refused():
    with raises_code("configuration", "16"):
        Gate("0.0.0.0", "secret")


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090", "127.0.0.1"])
def test_the_page_is_given_on_loopback(host):
    assert Gate("127.0.0.1").answer("/", {"Host": host}) is None
    assert Gate("127.0.0.1").answer("/", {"Host": host, "Origin": f"http://{host}"}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {**HERE, "Origin": "https://evil.example"},
        {**HERE, "Origin": "http://127.0.0.1:9999"},
        {**HERE, "Origin": "null"},
        {"Host": "evil.example:8090"},
        {"Host": "evil.example:8090", "Origin": "http://evil.example:8090"},
        {},
    ],
)
def test_other_pages_and_other_names_of_this_machine_are_refused(headers):
    answer = Gate("127.0.0.1").answer("/", headers)
    assert answer is not None and answer.status == 403


def test_a_token_opens_the_page_and_is_kept_as_a_cookie():
    gate, host = Gate("0.0.0.0", TOKEN), {"Host": "robot:8090"}
    assert gate.answer("/", host).status == 401
    wrong = gate.answer("/?token=another-token-xx", host)
    assert wrong.status == 401 and "wrong" in wrong.text and TOKEN not in wrong.text
    right = gate.answer(f"/?token={TOKEN}", host)
    assert (right.status, right.location) == (302, "/") and "HttpOnly" in right.cookie
    kept = {**host, "Cookie": f"other=1; planweave={TOKEN}"}
    assert gate.answer("/", kept) is None
    assert gate.answer("/", {**kept, "Origin": "http://robot:8090"}) is None
    assert gate.answer("/", {**kept, "Origin": "http://evil.example"}).status == 403
    assert gate.answer("/", {**host, "Cookie": "planweave=no; ="}).status == 401


DOMAIN = Domain.load("tabletop")


def status(**more):
    given = {"task_id": "t1", "sentence": "put it there", "method": "classical", "state": TaskState.RUNNING, **more}
    return TaskStatus(**given)


MARKUP = "<img src=x onerror=alert(1)>"


def test_states_before_and_what_is_kept_have_lines_of_their_own():
    steps = [tuple(map(Literal.parse, of)) for of in (["on(a, b)", "clear(a)"], ["in(a, tray)"])]
    told = words.task_html(status(before=tuple(steps), reached=1, keep=(Literal.parse("at(c, table)"),)))
    assert "<b>Before that</b> (1 of 2 reached): <code>on(a, b) and clear(a); then in(a, tray)</code>" in told
    assert "<b>Kept</b>: <code>at(c, table)</code>" in told
    plain = words.task_html(status())
    assert "Before that" not in plain and "Kept" not in plain


def test_markup_in_anything_that_is_told_is_text():
    told = words.task_html(
        status(sentence=MARKUP, understood=MARKUP, message=MARKUP, phase=MARKUP, goal_source=MARKUP, unmet=())
    )
    told += words.tree_html([TreeRow(0, -1, "", 0, 2, Status.UNTRIED), TreeRow(1, 0, MARKUP, 1, 2, Status.DONE)])
    told += words.record_html({"events": [{"event": "action", "action": MARKUP, "code": "FAULT", "message": MARKUP}]})
    told += words.error_html(MARKUP) + words.note_html(MARKUP) + words.task_html(status(answer=MARKUP))
    told += words.task_html(
        status(
            plan=(Action(MARKUP, (MARKUP,)),),
            plan_words=(MARKUP,),
            plan_changes=(MARKUP,),
            plan_check=MARKUP,
            pushed=(MARKUP,),
            unmet=(Literal(MARKUP, (MARKUP,)),),
        )
    )
    step = StepMotion(Action(MARKUP, (MARKUP,)), False, MARKUP, MARKUP, times=(0.0, 1.0), nearest=MARKUP)
    told += words.preview_html(PlanPreview("t1", "", (step,), MARKUP))
    told += words.moment_html(Moment(1.0, MARKUP))
    thing = WorldObject(MARKUP, "item", MARKUP, {"colour": MARKUP}, hidden_by=MARKUP, known=Known.SEEN)
    told += words.world_html(DOMAIN, World("tabletop", (thing,), frozenset({Literal("holding", (MARKUP,))})))
    assert "<img" not in told and "&lt;img" in told


def test_a_task_shows_what_was_understood_and_how_it_stands():
    told = words.task_html(status(understood="the cube is in the tray", message="no branch left", steps=3, executed=2))
    assert all(text in told for text in ("running", "the cube is in the tray", "no branch left", "2 of 3 actions done"))
    assert "No task yet" in words.task_html(None)


def test_a_task_is_chosen_by_its_id_whatever_its_sentence_is():
    choice = words.choices([status(sentence="put [it] there"), status(task_id="t2")])
    assert [words.id_of(c) for c in choice] == ["t2", "t1"]


def test_of_a_large_tree_the_rest_is_counted():
    rows = [TreeRow(0, -1, "", 0, 99, Status.UNTRIED)]
    rows += [TreeRow(i, 0, f"grasp(a{i})", 1, 1, Status.UNTRIED) for i in range(1, 100)]
    assert "… 59 more steps" in words.tree_html(rows)


def test_a_refused_plan_is_told_with_the_chain_of_its_causes():
    events = [
        {
            "event": "plan",
            "actions": ["pick_up(cup)"],
            "samples": 3,
            "valid": False,
            "message": "step 1 fails; <b> holds",
        },
        {"event": "plan", "actions": ["open(box)", "pick_up(cup)"], "samples": 1, "valid": True, "message": "ok"},
    ]
    told = words.record_html({"events": events})
    assert "plan refused (3×): <code>pick_up(cup)</code>" in told and "&lt;b&gt; holds" in told
    assert "✓ plan: <code>open(box), pick_up(cup)</code>" in told


def world(revision):
    return World("tabletop", revision=revision)


def seen(moments, task_id="t1"):
    return [(m.words, m.world.revision if m.world else None, bool(m.picture)) for m in moments.of(task_id)]


def test_moments_of_a_task_are_kept_with_world_robot_and_picture():
    moments = Moments(itertools.count(100.0, 0.3).__next__)
    moments.world(world(1))
    assert not moments.wants_picture, "no task runs"
    moments.status(status(phase="planning"))
    assert moments.wants_picture
    moments.picture(np.zeros((6, 8, 3), np.uint8))
    moments.state(np.arange(7.0), 0.04)
    moments.world(world(2))
    moments.status(status(phase="planning"))  # says nothing new
    moments.status(status(phase="succeeded", state=TaskState.SUCCEEDED, message="done"))
    moments.world(world(3))  # after its end
    assert seen(moments)[0] == ("planning", 1, False) and seen(moments)[-1] == ("done", 2, True)
    last = moments.of("t1")[-1]
    assert list(last.positions) == list(np.arange(7.0)) and last.width == 0.04
    assert not moments.wants_picture and moments.of("another") == []


def test_a_task_that_had_ended_before_has_no_moments():
    moments = Moments()
    moments.status(status(state=TaskState.FAILED))
    assert moments.of("t1") == []


def test_of_a_long_task_moments_are_left_out_evenly_and_of_many_tasks_the_oldest_go():
    moments = Moments(itertools.count(100.0, 0.3).__next__)
    moments.status(status())
    for revision in range(3 * MOST):
        moments.world(world(revision))
    kept = [m.world.revision for m in moments.of("t1") if m.world]
    assert len(kept) <= MOST and kept == sorted(kept) and kept[-1] >= 3 * MOST - 9
    assert max(b - a for a, b in itertools.pairwise(kept)) <= 8
    for number in range(TASKS + 2):
        moments.status(status(task_id=f"n{number}"))
    assert moments.of("t1") == [] and moments.of("n0") == [] and moments.of("n2") != []


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (Moment(3.0, "acting"), "nobody had the page open"),
        (Moment(3.0, "acting", picture=b"x", pictured=0.5), "the picture came 2.5 s before"),
    ],
)
def test_a_moment_says_that_it_is_not_now_and_how_old_its_picture_is(moment, said):
    told = words.moment_html(moment)
    assert "3.0 s after its begin, not now" in told and said in told


def test_a_question_is_shown_with_a_picture_of_each_choice_that_is_seen():
    choices = (Alternative("red cube, <left>", ("red_cube",)), Alternative("red cube 2", ("red_cube_2",)))
    html = question_html(
        UserQuestion('which is meant by "<it>"?', choices), {"red_cube": "data:image/jpeg;base64,AAAA"}
    )
    assert "Which is meant" in html and html.count("<img") == 1 and "data:image/jpeg;base64,AAAA" in html
    assert "<it>" not in html and "<left>" not in html, "what people and labels say is text"
    assert "Click on it in the scene" in html
    reading = UserQuestion("which is it?", (Alternative("this", goal=(Literal("holding", ("a",)),)),))
    assert "Click" not in question_html(reading, {})


def test_the_question_of_a_task_that_others_pass_stays_to_be_answered():
    answered = []
    door = SimpleNamespace(answer=lambda *said: answered.append(said) or "understood")
    server = viser.ViserServer(host="127.0.0.1", port=unused_port(), verbose=False)
    try:
        ghost = SimpleNamespace(status=lambda status: None)
        panel = Panel(
            server, door, (), Moments(), lambda _: None, lambda: ghost, lambda: World(""), Domain.load("tabletop")
        )
        asked = [UserQuestion(f"which {n}?", (Alternative("a", ("a",)), Alternative("b", ("b",))), id=n) for n in "xy"]
        for question in asked:
            panel.status(TaskStatus(question.id, "s", "classical", TaskState.AWAITING_ANSWER, question=question))
        panel.status(TaskStatus("z", "t", "classical", TaskState.RUNNING))
        panel.question._choose(2)
        assert answered == [("", "x", 2, "")]
        panel.status(TaskStatus("x", "s", "classical", TaskState.RUNNING))
        panel.question._choose(1)
        panel.status(TaskStatus("y", "s", "classical", TaskState.CANCELED))
        panel.question._choose(1)
        assert answered[1:] == [("", "y", 1, "")]
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("box", "shape"),
    [
        ((40, 30, 60, 50), (68, 68)),
        ((0, 0, 20, 20), (44, 44)),
        ((90, 70, 99, 79), (34, 34)),
        ((300, 300, 310, 310), (0, 0)),
    ],
)
def test_an_object_is_cut_out_of_the_picture_with_what_is_around_it(box, shape):
    image = np.arange(80 * 100 * 3, dtype=np.uint32).astype(np.uint8).reshape(80, 100, 3)
    assert cut_out(image, box).shape[:2] == shape


def test_what_is_shown_changes_in_place_and_a_new_shape_is_made_for_another_kind_only():
    """A node that is made anew may stand at the origin for a while, in a browser that is busy."""
    viser = pytest.importorskip("viser")
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        view = WorldView(server.scene)

        def shown(**changes):
            tray = WorldObject("tray", "container", "tray", {"colour": "red"}, (0.5, 0.1, 0.01), None, (0.2, 0.1, 0.02))
            view.show(World("tabletop", (replace(tray, **{"known": Known.SEEN, **changes}),)))
            return view._shown["tray"][1]

        shape, label = shown()
        changes = {"position": (0.3, 0.0, 0.02), "size": (0.4, 0.3, 0.1), "known": Known.UNKNOWN, "attributes": {}}
        assert shown(**changes) == [shape, label]
        assert (tuple(shape.position), tuple(shape.dimensions)) == ((0.3, 0.0, 0.02), (0.4, 0.3, 0.1))
        assert shape.wireframe and shape.opacity < 0.2 and tuple(shape.color) == OTHER
        assert label.text == "tray (unknown)" and np.allclose(label.position, (0.3, 0.0, 0.09))
        assert shown()[0] is shape and label.text == "tray" and not shape.wireframe
        round_one, _ = shown(class_name="plate")
        assert round_one is not shape and round_one.radius == 0.1
        view.show(World("tabletop"))
        assert view._shown == {}
    finally:
        server.stop()


def test_doors_and_knobs_of_furniture_are_drawn_where_they_are_and_turn_in_place():
    viser = pytest.importorskip("viser")
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        view = WorldView(server.scene)

        def shown(*leaves):
            cupboard = WorldObject(
                "cupboard", "fixture", "cupboard", {}, (0.7, 0.0, 0.1), None, (0.2, 0.2, 0.2), Known.SEEN, leaves=leaves
            )
            view.show(World("kitchen", (cupboard,)))
            return view._shown["cupboard"][1]

        door = Leaf((0.6, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0), (0.01, 0.2, 0.2))
        body, _, leaf = shown(door)
        assert tuple(leaf.position) == door.position and leaf.opacity > body.opacity
        turned = replace(door, position=(0.5, 0.1, 0.1), orientation=(0.0, 0.0, 0.6, 0.8))
        assert shown(turned)[2] is leaf
        assert tuple(leaf.position) == turned.position and tuple(leaf.wxyz) == (0.8, 0.0, 0.0, 0.6)
        assert len(shown()) == 2
    finally:
        server.stop()


def test_a_thing_of_parts_is_drawn_by_these():
    viser = pytest.importorskip("viser")
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        view = WorldView(server.scene)
        walls = tuple(Leaf((0.5, y, 0.05), (0.0, 0.0, 0.0, 1.0), (0.1, 0.01, 0.1)) for y in (-0.04, 0.04))
        mug = WorldObject("mug", "item", "mug", {"colour": "red"}, (0.5, 0.0, 0.05), None, (0.1, 0.1, 0.1), Known.SEEN)
        view.show(World("kitchen", (replace(mug, leaves=walls),)))
        whole, _, *parts = view._shown["mug"][1]
        assert [tuple(part.position) for part in parts] == [wall.position for wall in walls]
        assert whole.opacity < 0.2 and all(part.opacity > 0.9 for part in parts)
        assert {tuple(part.color) for part in parts} == {tuple(whole.color)}
    finally:
        server.stop()


def test_the_world_is_told_with_how_each_thing_is_known_and_what_holds_of_it():
    cube = WorldObject("red_cube", "item", "cube", {}, (0.5, 0.1, 0.02), known=Known.REMEMBERED, hidden_by="tray")
    facts = {Literal("in", ("red_cube", "tray")), Literal("hand_empty"), Literal("reachable", ("tray",))}
    tray = WorldObject("tray", "container", "tray", known=Known.SEEN)
    told = words.world_html(DOMAIN, World("tabletop", (cube, tray), frozenset(facts | {Literal("strange", ("tray",))})))
    assert "<b>red_cube</b> <small>remembered, hidden by tray, at (0.50, 0.10, 0.02) m</small>" in told
    assert "the red cube is in the tray" in told and "the gripper is empty" in told and "strange" not in told
    assert "the red cube is out of reach" in told and "the tray is out of reach" not in told
    assert "No detections come" in words.world_html(DOMAIN, World("tabletop", (tray,), silent=True))
    assert "<img" not in words.world_html(DOMAIN, World("tabletop", (replace(tray, name=MARKUP),)))
    many = tuple(replace(tray, name=f"tray_{i}") for i in range(70))
    assert "… 10 more objects" in words.world_html(DOMAIN, World("tabletop", many))
    assert "Nothing is known" in words.world_html(DOMAIN, World(""))


def test_the_reach_is_shown_as_two_arcs_about_the_base():
    viser = pytest.importorskip("viser")
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        robot = load_robot()
        view = RobotView(server.scene, robot)
        view.show_reach(*Kinematics(view.model, robot).reach(0.04))
        arcs = [server.scene.get_handle_by_name(f"/robot/reach_{name}") for name in ("nearest", "farthest")]
        nearest, farthest = (arc.points for arc in arcs)
        radii = [np.hypot(arc[..., 0], arc[..., 1]) for arc in (nearest, farthest)]
        assert 0.1 < radii[0].min() < 0.3, "near its foot"
        assert 0.7 < radii[1].max() < 0.855, "an FR3 reaches 0.855 m, level with its shoulder"
        assert all(np.ptp(r) < 1e-5 for r in radii) and not farthest[..., 2].any()
        turns = np.arctan2(farthest[..., 1], farthest[..., 0])
        assert (turns.min(), turns.max()) == pytest.approx((robot.lower[0], robot.upper[0]), abs=0.01)
    finally:
        server.stop()
