"""What is not seen now is told as what it is: remembered or assumed, and since when; to people and to agents."""

import contextlib

import pytest
from codes import raises_code
from doubles.agent_client import AgentClient
from doubles.scripted import ScriptedPlanner, SymbolicBody

import planweave as pw
from planweave.cli.agent_tools import AgentTools
from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.goals import answer

TABLE = pw.Domain.load("tabletop")
FACTS = "in(red_cube, tray)", "in(blue_cube, bowl)", "on(pear, plate)", "hand_empty()", "at_base()", "reachable(pear)"
WORLD = World(
    "tabletop",
    (
        WorldObject("red_cube", "item", "cube", {"colour": "red"}, known=Known.SEEN),
        WorldObject("blue_cube", "item", "cube", {"colour": "blue"}, known=Known.REMEMBERED, last_seen=8.0),
        WorldObject("pear", "item", "pear", known=Known.INFERRED, last_seen=5.0, hidden_by="plate"),
        WorldObject("apple", "item", "apple", known=Known.SENSED),
        WorldObject("tray", "container", "tray", known=Known.SEEN),
        WorldObject("bowl", "container", "bowl", known=Known.REMEMBERED, last_seen=10.0),
        WorldObject("plate", "surface", "plate", known=Known.SEEN),
    ),
    frozenset(map(Literal.parse, FACTS)),
    stamp=20.0,
)
BLUE, PEAR, BOWL = (
    f"{n} is {h}"
    for n, h in (
        ("blue cube", "remembered, last seen 12 s ago"),
        ("pear", "inferred, last seen 15 s ago"),
        ("bowl", "remembered, last seen 10 s ago"),
    )
)


def asked(question):
    return answer(TABLE, WORLD, tuple(question.rstrip("?").split()))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("where is the blue cube?", BLUE),
        ("where is the pear?", PEAR),
        ("is the blue cube in the bowl?", BLUE),
        ("is the pear on the plate?", PEAR),
        ("what is in the bowl?", BLUE),
        ("is there anything in the bowl?", BLUE),
        ("is there a pear?", PEAR),
        ("are there any cubes in the bowl?", BLUE),
        ("is the bowl empty?", BLUE),
        ("which cubes are in the bowl?", BLUE),
        ("how many cubes are in the bowl?", BLUE),
        ("do you see a pear?", PEAR),
    ],
)
def test_an_answer_about_what_is_not_seen_now_says_so(question, said):
    told = asked(question)
    assert said in told, told


@pytest.mark.parametrize(("inside", "told"), [(None, "No"), ("cup", "No"), ("red_cube", "")])
def test_a_question_is_answered_where_the_answer_is_the_same_whatever_is_meant(inside, told):
    """Else it is not clear which tray is meant."""
    trays = WorldObject("left_tray", "container", "tray"), WorldObject("right_tray", "container", "tray")
    things = *trays, WorldObject("red_cube", "item", "cube"), WorldObject("cup", "item", "cup")
    facts = [pw.Literal("in", (inside, "left_tray"))] if inside else []
    world, words = World("tabletop", things, frozenset(facts)).all_seen(), ("is", "the", "cube", "in", "the", "tray")
    with contextlib.nullcontext() if told else raises_code("ambiguous"):
        assert answer(TABLE, world, words).startswith(told)


def test_what_is_seen_is_told_apart_from_what_is_not():
    told = asked("what do you see?")
    seen, _, away = told.partition("; not seen now: ")
    assert "red cube" in seen and "pear" not in seen and "blue cube" not in seen
    assert "pear (inferred, last seen 15 s ago)" in away
    assert "blue cube (remembered, last seen 12 s ago)" in away


@pytest.mark.parametrize("question", ["where is the red cube?", "what is in the tray?", "is the red cube in the tray?"])
def test_of_what_is_seen_nothing_is_added(question):
    told = asked(question)
    assert told and "remembered" not in told and "inferred" not in told


def test_an_agent_is_told_with_every_fact_how_it_is_known():
    client = AgentClient(ScriptedPlanner(), SymbolicBody(WORLD))
    try:
        told = AgentTools(client).observe().splitlines()
    finally:
        client.close()
    (fact,) = [line for line in told if line.startswith("| in(blue_cube, bowl):")]
    assert fact.endswith(f"({BLUE})")
    (fact,) = [line for line in told if line.startswith("| on(pear, plate):")]
    assert fact.endswith(f"({PEAR})")
    (fact,) = [line for line in told if line.startswith("| in(red_cube, tray):")]
    assert fact.endswith("the red cube is in the tray")
    (thing,) = [line for line in told if line.startswith("| pear: ")]
    assert "inferred, last seen 15 s ago, hidden by plate" in thing
