"""Messages to values and back, without loss."""

import functools
from dataclasses import replace

import pytest
from builtin_interfaces.msg import Time
from doubles.scripted import literals, plan
from hypothesis import given, settings
from hypothesis import strategies as st
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import ActionNode, WorldState
from planweave_interfaces.msg import TaskStatus as StatusMsg

from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action, Known, Leaf, Literal, World, WorldObject
from planweave.core.trees.action_tree import Status, build_tree
from planweave.core.workflow.question import Alternative, UserQuestion
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.geometry.spatial import RELATIONS, derived
from planweave_ros import conversions
from planweave_ros import conversions as convert

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
FLOATS = st.floats(-10, 10, allow_nan=False)
LENGTHS = st.floats(0, 10, allow_nan=False)
STAMPS = st.integers(1, 10**9).map(lambda ms: ms / 1000)
KNOWLEDGE = {
    "known": st.sampled_from([k for k in Known if k is not Known.SEEN]),
    "last_seen": st.none() | STAMPS,
    "hidden_by": NAMES | st.just(""),
}
ACTIONS = st.builds(Action, NAMES, st.lists(NAMES, max_size=3).map(tuple))
LITERALS = st.builds(Literal, NAMES, st.lists(NAMES, max_size=3).map(tuple), st.booleans())
LEAVES = st.builds(Leaf, *(st.tuples(*each) for each in ((FLOATS,) * 3, (FLOATS,) * 4, (LENGTHS,) * 3)))
PLACED = st.builds(
    WorldObject,
    NAMES,
    NAMES,
    NAMES,
    st.dictionaries(NAMES, NAMES, max_size=3),
    st.tuples(FLOATS, FLOATS, FLOATS),
    st.tuples(FLOATS, FLOATS, FLOATS, FLOATS),
    st.tuples(LENGTHS, LENGTHS, LENGTHS),
    leaves=st.lists(LEAVES, max_size=2).map(tuple),
    **KNOWLEDGE,
)
UNPLACED = st.builds(WorldObject, NAMES, NAMES, NAMES, st.dictionaries(NAMES, NAMES, max_size=3), **KNOWLEDGE)
WORLDS = st.builds(
    World,
    NAMES,
    st.lists(PLACED | UNPLACED, max_size=4, unique_by=lambda o: o.name).map(tuple),
    st.frozensets(LITERALS.map(lambda x: x.atom), max_size=6),
    STAMPS,
    NAMES,
    st.integers(0, 2**63),
    st.booleans(),
    STAMPS,
    st.frozensets(st.sampled_from(sorted(RELATIONS))).map(derived),
    st.frozensets(NAMES, max_size=3),
)


def sets_in(message, path):
    """Paths of the fields below a message that hold a set, which Lyrical deprecates and later releases refuse."""
    if isinstance(message, (set, frozenset)):
        yield path
    elif isinstance(message, (list, tuple)):
        for item in message:
            yield from sets_in(item, f"{path}[]")
    elif hasattr(message, "get_fields_and_field_types"):
        for name in message.get_fields_and_field_types():
            yield from sets_in(getattr(message, name), f"{path}.{name}")


def without_sets(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        message = function(*args, **kwargs)
        assert not list(sets_in(message, function.__name__))
        return message

    return call


@pytest.fixture(scope="module", autouse=True)
def no_field_is_given_a_set():
    """Holds all that this file converts, to any depth."""
    with pytest.MonkeyPatch.context() as patch:
        for name, function in list(vars(conversions).items()):
            if name.endswith("_to_msg"):
                patch.setattr(conversions, name, without_sets(function))
        yield


def test_a_set_in_a_field_is_found():
    from planweave_interfaces.msg import Literal as Message

    world = WorldState(facts=[Message(predicate="on", arguments={"cup", "table"})], derived=frozenset({"above"}))
    assert set(sets_in(world, "world")) == {"world.facts[].arguments", "world.derived"}


@settings(max_examples=60)
@given(WORLDS)
def test_world(world):
    back = convert.world_from_msg(convert.world_to_msg(world))
    times = [pytest.approx(t, abs=1e-6) for t in (world.stamp, world.heard)]
    assert [back.stamp, back.heard] == times and back.silent == world.silent
    assert (back.domain, back.frame, back.revision) == (world.domain, world.frame, world.revision)
    assert back.facts == world.facts and back.derived == world.derived
    for one, two in zip(back.objects, world.objects, strict=True):
        assert one.last_seen == (two.last_seen and pytest.approx(two.last_seen, abs=1e-6))
        assert replace(one, last_seen=two.last_seen) == two


def test_what_nobody_can_compute_is_false_unless_it_is_listed():
    assert convert.world_from_msg(WorldState(derived=["left_of", "above"])).derived.keys() == {"left_of"}


def test_what_is_seen_is_seen_in_the_newest_observation():
    world = World("tabletop", (WorldObject("a", "item", known=Known.SEEN, last_seen=1.0),), stamp=7.5)
    assert convert.world_from_msg(convert.world_to_msg(world)).objects[0].last_seen == 7.5


def test_a_body_that_does_not_say_how_it_knows_is_not_trusted():
    from planweave_interfaces.msg import WorldObject as Message

    assert convert.object_from_msg(Message(name="a")).known is Known.UNKNOWN
    assert convert.object_from_msg(Message(name="a", known=99)).known is Known.UNKNOWN


@settings(max_examples=60)
@given(ACTIONS, LITERALS)
def test_action_and_literal(action, literal):
    assert convert.action_from_msg(convert.action_to_msg(action)) == action
    assert convert.literal_from_msg(convert.literal_to_msg(literal)) == literal


def test_no_action():
    assert convert.action_from_msg(convert.action_to_msg(None)) is None


@pytest.mark.parametrize(
    "value",
    [
        plan("grasp(a); place_in(a, tray)", 3, -1.5),
        CountedPlan(()),
        CountedPlan((PlanStep(Action("grasp", ("a",)), "pick up a", "take(a)"),)),
    ],
)
def test_plan(value):
    assert convert.plan_from_msg(convert.plan_to_msg(value)) == value


@pytest.mark.parametrize("usage", [Usage(), Usage(2, 100, 20, 30, 1.5, 0.25, "m", "embedded"), Usage(1, 5, cost=None)])
def test_usage_and_status(usage):
    assert convert.usage_from_msg(convert.usage_to_msg(usage)) == usage
    plan = (Action("grasp", ("a",)), Action("place_in", ("a", "b")))
    status = TaskStatus(
        "t",
        "do it",
        "classical",
        TaskState.FAILED,
        "ended",
        literals("in(a, b); not on(a, c)"),
        "grammar",
        understood="the a is in the b",
        answer="no",
        unmet=literals("in(a, b)"),
        plan=plan,
        plan_words=("grasp the a", "put it in b"),
        plan_check="every step can be done",
        plan_hash="0123456789ab",
        plan_changes=("- grasp(c)",),
        approved_by="anna",
        action=Action("grasp", ("a",)),
        pushed=("c",),
        steps=3,
        executed=2,
        corrections=1,
        questions=4,
        fallback=True,
        message="why",
        elapsed=1.25,
        usage=usage,
        dry_run=True,
        before=(step := literals("at(a, c)"), literals("on(a, c); not at(a, c)")),
        reached=1,
        keep=literals("at(c, d)"),
        question=UserQuestion(
            "which?",
            (Alternative("a", ("a",)), Alternative("b", goal=literals("at(a, c)"), before=(step,), keep=step)),
            source="model",
            id="abc",
            deadline=12.5,
        ),
    )
    assert convert.status_from_msg(convert.status_to_msg(status)) == status


def test_tree_has_parents_before_children_and_all_states():
    root = build_tree([plan("a(x); b(x)", 2), plan("a(x); c(x)")])
    first = next(iter(root.children.values()))
    first.status = Status.DONE
    msg = convert.tree_to_msg(root, "t")
    assert [n.id for n in msg.nodes] == list(range(len(msg.nodes))) and msg.nodes[0].parent == -1
    assert all(n.parent < n.id for n in msg.nodes)
    assert [(n.action.name, n.samples, n.end) for n in msg.nodes] == [
        ("", 3, False),
        ("a", 3, False),
        ("b", 2, False),
        ("", 2, True),
        ("c", 1, False),
        ("", 1, True),
    ]
    assert msg.nodes[1].status == Status.DONE


def test_constants_of_messages_and_enums_agree():
    for enum, source in ((Code, ExecuteAction.Result), (Status, ActionNode), (TaskState, StatusMsg)):
        for member in enum:
            assert getattr(source, member.name) == member.value


def test_a_stamp_of_today_comes_back_to_the_nanosecond():
    """A float of seconds since 1970 has steps of 240 ns: a world would no longer have the stamp of its image."""
    stamp = Time(sec=1_763_800_000, nanosec=123_456_789)
    seconds = convert.time_from_msg(stamp)
    world = World(
        "tabletop",
        (WorldObject("a", "item", "a", known=Known.INFERRED, last_seen=seconds),),
        stamp=max(seconds, 0.0),
        frame="base",
    )
    msg = convert.world_to_msg(world)
    assert msg.header.stamp == msg.objects[0].last_seen == stamp
    assert convert.world_to_msg(convert.world_from_msg(msg)).header.stamp == stamp
