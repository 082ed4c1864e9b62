"""Behaviour trees: what they do, their XML read and written, other exports, and tasks that follow a given tree."""

import importlib.util

import pytest
from codes import raises_code
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop
from hypothesis import given
from hypothesis import strategies as st

import planweave as pw
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.action_tree import build_tree
from planweave.core.trees.behaviour_tree import (
    ActionNode,
    ConditionNode,
    FallbackNode,
    SequenceNode,
    play,
    sequence_of,
    tree_of_samples,
)
from planweave.core.trees.behaviour_tree_xml import MAX_CHARACTERS, read_tree, write_tree
from planweave.core.trees.exports import dot_graph, pddl_plan, py_trees_module
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.given_tree import is_tree, predict
from planweave.tasks.task_manager import TaskManager

DOMAIN = Domain.load("tabletop")
WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
IN_TRAY = Literal.parse("in(a, tray)")


def do(text):
    return ActionNode(Action.parse(text))


def when(text):
    return ConditionNode(Literal.parse(text))


GOOD = sequence_of([Action.parse("grasp(a)"), Action.parse("place_in(a, tray)")], [IN_TRAY])
NAMES = st.sampled_from(["a", "b", "red_cube_2", "tray"])
LEAVES = st.one_of(
    st.builds(lambda x, y: do(f"place_in({x}, {y})"), NAMES, NAMES),
    st.just(do("return_to_base()")),
    st.builds(lambda x, y, no: when(f"{'not ' if no else ''}on({x}, {y})"), NAMES, NAMES, st.booleans()),
)
TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(
        lambda kind, children: kind(tuple(children)),
        st.sampled_from([SequenceNode, FallbackNode]),
        st.lists(below, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


@given(TREES)
def test_what_is_written_is_read_as_the_same_tree(tree):
    assert read_tree(DOMAIN, write_tree(DOMAIN, tree)) == tree


def test_the_xml_is_that_of_version_4_with_a_model_of_every_node():
    text = write_tree(DOMAIN, FallbackNode((when("not on(a, b)"), GOOD)))
    assert '<root BTCPP_format="4" main_tree_to_execute="planweave">' in text
    assert '<Action ID="grasp" name="pick up the a" i="a" />' in text and "<Inverter>" in text
    model = text[text.index("<TreeNodesModel>") : text.index("</TreeNodesModel>")]
    assert model.count("<Action ") == len(DOMAIN.actions) and model.count("<Condition ") == len(DOMAIN.predicates)
    assert '<input_port name="t" type="std::string">item or surface</input_port>' in model


def wrapped(inside, root='<root BTCPP_format="4">'):
    return f'{root}\n<BehaviorTree ID="x">\n{inside}\n</BehaviorTree>\n</root>'


def test_a_byte_order_mark_is_no_part_of_a_tree():
    text = "\ufeff" + write_tree(DOMAIN, GOOD)
    assert is_tree(text) and read_tree(DOMAIN, text) == GOOD


def test_the_compact_form_and_names_of_groot_are_read():
    text = wrapped(
        '<Sequence name="all"><grasp i="a" name="first"/><Control ID="Fallback"><in i="a" c="tray"/>'
        '<Action ID="place_in" i="a" c="tray"/></Control></Sequence>'
    )
    expected = SequenceNode((do("grasp(a)"), FallbackNode((when("in(a, tray)"), do("place_in(a, tray)")))))
    assert read_tree(DOMAIN, text) == expected


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", "line 1: "),
        ("<root>", "line 1: "),
        ('<!DOCTYPE root [<!ENTITY x "y">]><root/>', "line 1: "),
        ('<!DOCTYPE root SYSTEM "file:///etc/passwd"><root/>', "line 1: "),
        ("<tree/>", ("line 1: ", "<tree>")),
        (wrapped("<grasp i='a'/>", "<root>"), ("BTCPP_format", "''")),
        (wrapped("<grasp i='a'/>", "<root BTCPP_format='3'>"), ("BTCPP_format", "'3'")),
        (wrapped("<grasp i='a'/>", "<root BTCPP_format='4' main_tree_to_execute='y'>"), "main_tree_to_execute='y'"),
        ("<root BTCPP_format='4'><include path='/x'/></root>", ("line 1: ", "<include>")),
        ("<root BTCPP_format='4'/>", "0 trees"),
        (wrapped("<grasp i='a'/>\n<grasp i='b'/>"), ("line 2: ", "<BehaviorTree>", "2")),
        (wrapped("<Sequence/>"), ("line 3: ", "Sequence")),
        (wrapped("<SubTree ID='other'/>"), ("line 3: ", "<SubTree> 'SubTree'")),
        (wrapped("<ReactiveSequence><grasp i='a'/></ReactiveSequence>"), "<ReactiveSequence>"),
        (wrapped("<Sequence _skipIf='x'><grasp i='a'/></Sequence>"), ("_skipIf='x'", "<Sequence>")),
        (wrapped("<Script code='a:=1'/>"), ("line 3: ", "<Script>")),
        (wrapped("<grap i='a'/>"), "'grasp'"),
        (wrapped("<Condition ID='grasp' i='a'/>"), "<Condition> 'grasp'"),
        (wrapped("<grasp/>"), ("line 3: ", "grasp")),
        (wrapped("<grasp i='{thing}'/>"), "i='{thing}' of grasp"),
        (wrapped("<grasp i='a b'/>"), "i='a b' of grasp"),
        (wrapped("<grasp i='a' force='2'/>"), ("force='2'", "<grasp>")),
        (wrapped("<grasp i='a'><grasp i='a'/></grasp>"), "grasp"),
        (wrapped("<Inverter><grasp i='a'/></Inverter>"), "Inverter"),
        (wrapped("<Sequence>" * 60 + "</Sequence>" * 60), "50"),
        (wrapped("<Sequence>" + "<grasp i='a'/>" * 3000 + "</Sequence>"), "2000"),
        (" " * (MAX_CHARACTERS + 1), str(MAX_CHARACTERS)),
        ("<root BTCPP_format='4'>&x;</root>", "line 1: "),
        ("<root>\udc80</root>", "BTCPP_format"),
    ],
)
def test_whatever_else_is_refused_with_line_and_name(text, data):
    with raises_code("unreadable_reply", data):
        read_tree(DOMAIN, text)


def test_a_name_of_two_things_and_a_port_that_cannot_be_are_refused():
    same = Domain.load(
        "(define (domain twice) (:requirements :strips) (:predicates (open ?x))"
        "(:action open :parameters (?x) :precondition (and) :effect (open ?x)))",
        "predicates: {open: {phrase: 'it is open', goal: true}}",
        replace=True,
    )
    with raises_code("domain", "open"):
        write_tree(same, do("open(x)"))
    named = Domain.load(
        "(define (domain named) (:requirements :strips) (:predicates (done ?name))"
        "(:action work :parameters (?name) :precondition (and) :effect (done ?name)))",
        "predicates: {done: {phrase: 'it is done', goal: true}}",
        replace=True,
    )
    with raises_code("domain", "?name"):
        write_tree(named, do("work(x)"))


def test_a_sequence_ends_at_the_first_failure_and_a_fallback_at_the_first_success():
    done = []

    def act(action):
        done.append(str(action))
        return action.name != "grasp"

    tree = FallbackNode((SequenceNode((do("grasp(a)"), do("hand_over(a)"))), do("place_in(a, tray)"), do("grasp(b)")))
    assert play(tree, act, lambda literal: True)
    assert done == ["grasp(a)", "place_in(a, tray)"]
    assert not play(SequenceNode((when("on(a, b)"), do("grasp(a)"))), act, lambda literal: False) and len(done) == 2


def test_sampled_plans_become_fallbacks_whose_branches_end_with_the_goal():
    root = build_tree([plan("grasp(a); place_in(a, tray)", 3), plan("grasp(a); place_on(a, b)", 1)])
    tree = tree_of_samples(root, (IN_TRAY,))
    branches = FallbackNode(
        (
            SequenceNode((do("place_in(a, tray)"), ConditionNode(IN_TRAY))),
            SequenceNode((do("place_on(a, b)"), ConditionNode(IN_TRAY))),
        )
    )
    assert tree == SequenceNode((do("grasp(a)"), branches))
    with raises_code("goal", "tree"):
        tree_of_samples(root, ())


def test_a_tree_is_predicted_as_plans_are_checked():
    assert predict(DOMAIN, WORLD, GOOD, (IN_TRAY,)).fault == ""
    wrong = sequence_of(map(Action.parse, ["grasp(a)", "grasp(b)"]))
    assert predict(DOMAIN, WORLD, wrong, (IN_TRAY,)).fault == (
        "step 2, grasp(b): hand_empty() does not hold since step 1, grasp(a)"
    )
    mended = FallbackNode((wrong, do("place_in(a, tray)")))
    assert [str(a) for a in predict(DOMAIN, WORLD, mended, (IN_TRAY,)).actions] == ["grasp(a)", "place_in(a, tray)"]
    assert "the goal is not reached: in(a, tray)" in predict(DOMAIN, WORLD, do("grasp(a)"), (IN_TRAY,)).fault
    unknown = FallbackNode((GOOD, do("grasp(pear)")))  # in a branch that is not needed
    with raises_code("invalid_action", "'pear'"):
        predict(DOMAIN, WORLD, unknown, (IN_TRAY,))


def followed(tree, body, dry_run=False):
    manager = TaskManager(ScriptedPlanner(goal="in(a, tray)"), body, lambda name: METHODS[name]())
    try:
        text = tree if isinstance(tree, str) else write_tree(DOMAIN, tree)
        task = manager.submit("put a in the tray", text, dry_run=dry_run)
        assert task.ended.wait(60.0)
        return task
    finally:
        manager.close()


def test_a_task_follows_its_tree():
    body = SymbolicBody(WORLD)
    task = followed(GOOD, body)
    assert task.status.state is TaskState.SUCCEEDED and task.status.method == "given"
    assert body.done == ["grasp(a)", "place_in(a, tray)"]
    assert read_tree(DOMAIN, task.journal.events("submitted")[0]["tree"]) == GOOD


def test_a_dry_run_of_a_tree_shows_its_plan_and_moves_nothing():
    body = SymbolicBody(WORLD)
    status = followed(FallbackNode((do("place_in(a, tray)"), GOOD)), body, dry_run=True).status
    assert status.state is TaskState.PLANNED and list(map(str, status.plan)) == ["grasp(a)", "place_in(a, tray)"]
    assert body.done == []


@pytest.mark.parametrize(
    ("tree", "code", "datum"),
    [
        (sequence_of([Action.parse("place_in(a, tray)")]), "goal", "holding(a)"),
        (do("grasp(a)"), "goal", "in(a, tray)"),
        (sequence_of([Action.parse("grasp(pear)")]), "invalid_action", "'pear'"),
        ("<root BTCPP_format='4'/>", "unreadable_reply", "0 trees"),
    ],
)
def test_a_wrong_tree_is_refused_before_anything_moves_and_nothing_takes_over(tree, code, datum):
    body = SymbolicBody(WORLD)
    task = followed(tree, body)
    assert (task.status.state, task.status.code) == (TaskState.FAILED, code) and datum in task.status.message
    assert body.done == [] and not task.status.fallback


def test_a_tree_that_fails_on_the_way_ends_without_the_goal():
    body = SymbolicBody(WORLD, {"place_in(a, tray)": [(Code.PLANNING_FAILED, "no way")]})
    task = followed(GOOD, body)
    assert (task.status.state, task.status.code) == (TaskState.FAILED, "planning_failed") and not task.status.fallback
    retried = FallbackNode((GOOD, do("place_in(a, tray)")))
    body = SymbolicBody(WORLD, {"place_in(a, tray)": [(Code.PLANNING_FAILED, "no way")]})
    assert followed(retried, body).status.state is TaskState.SUCCEEDED


def test_a_stopped_body_is_not_asked_for_the_other_branches():
    body = SymbolicBody(WORLD, {"grasp(a)": [(Code.SAFETY_STOP, "a person pressed the button")]})
    task = followed(FallbackNode((GOOD, GOOD)), body)
    assert task.status.state is TaskState.FAILED and task.status.steps == 1


def test_plans_as_pddl_and_trees_as_graphs():
    assert pddl_plan([Action.parse("grasp(a)"), Action.parse("return_to_base()")]) == "(grasp a)\n(return_to_base)\n"
    graph = dot_graph(DOMAIN, FallbackNode((when("not in(a, tray)"), GOOD)))
    assert graph.startswith("digraph tree {") and '[label="pick up the a", shape=box]' in graph
    assert graph.count("->") == 5 and 'n0 [label="?"' in graph and 'n2 [label="→"' in graph


@pytest.mark.skipif(importlib.util.find_spec("py_trees") is None, reason="py_trees is not installed")
def test_the_exported_module_builds_a_tree_that_py_trees_ticks(tmp_path):
    import py_trees

    done = []

    class Leaf(py_trees.behaviour.Behaviour):
        def __init__(self, name, good):
            super().__init__(name)
            self.good = good

        def update(self):
            done.append(self.name)
            return py_trees.common.Status.SUCCESS if self.good else py_trees.common.Status.FAILURE

    tree = FallbackNode((SequenceNode((when("not in(a, tray)"), do("grasp(b)"))), GOOD))
    path = tmp_path / "exported.py"
    path.write_text(py_trees_module(DOMAIN, tree))
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    root = module.create_tree(
        lambda name, *args: Leaf(f"{name} {' '.join(args)}", args != ("b",)),
        lambda name, *args: Leaf(name, name == "on"),
    )
    root.tick_once()
    assert done == ["in", "grasp b", "grasp a", "place_in a tray", "in"]
    assert root.status is py_trees.common.Status.FAILURE


def test_the_library_follows_a_tree_too():
    body = pw.SymbolicBody(DOMAIN, WORLD)
    result = pw.run("put a in the tray", body=body, method=write_tree(DOMAIN, GOOD), model="none", goal="in(a, tray)")
    assert result.success and [str(action) for action, _ in result.steps] == ["grasp(a)", "place_in(a, tray)"]
    with pytest.raises(UnknownNameError):
        pw.run("x", body=body, method="<root/>", model="none", options={"samples": 1})
