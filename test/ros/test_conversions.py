"""Messages to values and back, without loss."""

import pytest
from doubles.scripted import literals, plan
from hypothesis import given, settings
from hypothesis import strategies as st

from planweave.action_tree import Status, build_tree
from planweave.budget import Usage
from planweave.plan import Plan, PlanStep
from planweave.task import TaskState, TaskStatus
from planweave.world import Action, Literal, World, WorldObject

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
FLOATS = st.floats(-10, 10, allow_nan=False)
ACTIONS = st.builds(Action, NAMES, st.lists(NAMES, max_size=3).map(tuple))
LITERALS = st.builds(Literal, NAMES, st.lists(NAMES, max_size=3).map(tuple), st.booleans())
PLACED = st.builds(WorldObject, NAMES, NAMES, NAMES, st.dictionaries(NAMES, NAMES, max_size=3),
                   st.tuples(FLOATS, FLOATS, FLOATS), st.tuples(FLOATS, FLOATS, FLOATS, FLOATS),
                   st.tuples(FLOATS, FLOATS, FLOATS))
UNPLACED = st.builds(WorldObject, NAMES, NAMES, NAMES, st.dictionaries(NAMES, NAMES, max_size=3))
WORLDS = st.builds(World, NAMES, st.lists(PLACED | UNPLACED, max_size=4).map(tuple),
                   st.frozensets(LITERALS.map(lambda x: x.atom), max_size=6),
                   st.integers(0, 10**9).map(lambda ms: ms / 1000), NAMES, st.integers(0, 2**63))


@settings(max_examples=60, deadline=None)
@given(WORLDS)
def test_world(world):
    from planweave_ros import conversions as convert

    back = convert.world_from_msg(convert.world_to_msg(world))
    assert back.objects == world.objects and back.facts == world.facts
    assert (back.domain, back.frame, back.revision) == (world.domain, world.frame, world.revision)
    assert back.stamp == pytest.approx(world.stamp, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(ACTIONS, LITERALS)
def test_action_and_literal(action, literal):
    from planweave_ros import conversions as convert

    assert convert.action_from_msg(convert.action_to_msg(action)) == action
    assert convert.literal_from_msg(convert.literal_to_msg(literal)) == literal


def test_no_action():
    from planweave_ros import conversions as convert

    assert convert.action_from_msg(convert.action_to_msg(None)) is None


@pytest.mark.parametrize("value", [
    plan("grasp(a); place_in(a, tray)", 3, -1.5), Plan(()),
    Plan((PlanStep(Action("grasp", ("a",)), "pick up a", "take(a)"),)),
])
def test_plan(value):
    from planweave_ros import conversions as convert

    assert convert.plan_from_msg(convert.plan_to_msg(value)) == value


@pytest.mark.parametrize("usage", [Usage(), Usage(2, 100, 20, 30, 1.5, 0.25, "m", "embedded"), Usage(1, 5, cost=None)])
def test_usage_and_status(usage):
    from planweave_ros import conversions as convert

    assert convert.usage_from_msg(convert.usage_to_msg(usage)) == usage
    status = TaskStatus("t", "do it", "classical", TaskState.FAILED, "ended", literals("in(a, b); not on(a, c)"),
                        "grammar", literals("in(a, b)"), (Action("grasp", ("a",)), Action("place_in", ("a", "b"))),
                        "0123456789ab", ("- grasp(c)",), Action("grasp", ("a",)), 3, 2, 1, 4, True, "why", 1.25, usage)
    assert convert.status_from_msg(convert.status_to_msg(status)) == status


def test_tree_has_parents_before_children_and_all_states():
    from planweave_ros import conversions as convert

    root = build_tree([plan("a(x); b(x)", 2), plan("a(x); c(x)")])
    first = next(iter(root.children.values()))
    first.status = Status.DONE
    msg = convert.tree_to_msg(root, "t")
    assert [n.id for n in msg.nodes] == list(range(len(msg.nodes))) and msg.nodes[0].parent == -1
    assert all(n.parent < n.id for n in msg.nodes)
    assert [(n.action.name, n.samples, n.end) for n in msg.nodes] == [
        ("", 3, False), ("a", 3, False), ("b", 2, False), ("", 2, True), ("c", 1, False), ("", 1, True)]
    assert msg.nodes[1].status == Status.DONE


def test_constants_of_messages_and_enums_agree():
    from planweave_interfaces.action import ExecuteAction
    from planweave_interfaces.msg import ActionNode
    from planweave_interfaces.msg import TaskStatus as StatusMsg

    from planweave.failure import Code

    for enum, source in ((Code, ExecuteAction.Result), (Status, ActionNode), (TaskState, StatusMsg)):
        for member in enum:
            assert getattr(source, member.name) == member.value
