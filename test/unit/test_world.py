"""How a fact is known: as well as the least known of its objects."""

from dataclasses import replace

import pytest
from doubles.scripted import literals, tabletop

from planweave.core.symbolic.world import Known, Literal, World, WorldObject

OBJECTS = (
    WorldObject("red", "item", known=Known.SEEN),
    WorldObject("blue", "item", known=Known.REMEMBERED, last_seen=7.0, hidden_by="red"),
    WorldObject("green", "item", known=Known.INFERRED, last_seen=3.0),
    WorldObject("pear", "item", known=Known.SENSED, last_seen=2.0),
    WorldObject("apple", "item", known=Known.INFERRED),
    WorldObject("tray", "container", known=Known.SEEN),
    WorldObject("table", "location", known=Known.FIXED),
)


@pytest.mark.parametrize(
    ("literal", "how", "since", "of"),
    [
        ("in(red, tray)", Known.SEEN, 9.0, "red"),
        ("at(red, table)", Known.SEEN, 9.0, "red"),
        ("on(red, blue)", Known.REMEMBERED, 7.0, "blue"),
        ("not on(red, blue)", Known.REMEMBERED, 7.0, "blue"),
        ("between(red, blue, green)", Known.INFERRED, 3.0, "green"),
        ("near(green, apple)", Known.INFERRED, None, "apple"),  # of two alike the one that was never seen
        ("holding(pear)", Known.SENSED, 2.0, "pear"),
        ("hand_empty()", Known.SENSED, 9.0, ""),
        ("in(plum, tray)", Known.UNKNOWN, None, "plum"),
        ("not in(plum, tray)", Known.UNKNOWN, None, "plum"),
    ],
)
def test_a_fact_is_known_as_well_as_its_least_known_object(literal, how, since, of):
    world = World("tabletop", OBJECTS, stamp=9.0)
    knowledge = world.knowledge(literals(literal)[0])
    assert (knowledge.how, knowledge.since, knowledge.of) == (how, since, of)


def test_what_nobody_says_is_unknown_and_a_body_may_see_everything():
    world = tabletop("a: item; tray: container", "in(a, tray)")
    assert world.knowledge(literals("in(a, tray)")[0]).how is Known.UNKNOWN
    assert world.all_seen().knowledge(literals("in(a, tray)")[0]).how is Known.SEEN


def test_a_derived_predicate_is_decided_by_the_function_that_the_world_carries():
    def higher(world, literal):
        one, other = (world.by_name[name].position[2] for name in literal.args)
        return (one > other) == literal.positive

    a, b = (WorldObject(name, "item", position=(0.0, 0.0, z)) for name, z in (("a", 0.3), ("b", 0.1)))
    world = World("tabletop", (a, b), derived={"higher": higher})
    up, down = Literal("higher", ("a", "b")), Literal("higher", ("b", "a"))
    assert world.holds(up) and not world.holds(down) and world.holds(down.negated())
    assert world.with_derived([up, down]).facts == {up}
    assert hash(world) == hash(replace(world, derived={}))
