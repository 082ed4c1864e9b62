"""What a look confirms: what is seen, what the gripper holds, and what must be so by what is seen."""

import time

import pytest
from doubles.scripted import literals

from planweave.core.symbolic.world import Known, World, WorldObject
from planweave.core.workflow.confirmation import confirm
from planweave.core.workflow.ports import Look

SEEN, HIDDEN, PUT, FIXED = Known.SEEN, Known.REMEMBERED, Known.INFERRED, Known.FIXED


def thing(name, known, last_seen=None, by=""):
    return WorldObject(name, "item", known=known, last_seen=last_seen, hidden_by=by)


def world(*things, facts="", **more):
    return World("tabletop", things, frozenset(literals(facts)), **{"stamp": 100.0, **more})


TOWER = world(
    thing("red", SEEN),
    thing("blue", HIDDEN, 90.0, "red"),
    thing("green", HIDDEN, 80.0, "blue"),
    facts="on(red, blue); on(blue, green)",
)


@pytest.mark.parametrize(
    ("goal", "objects", "inferred"),
    [
        (
            "on(red, blue); on(blue, green)",
            TOWER.objects,
            ("blue is hidden under red: inferred", "green is hidden under blue: inferred"),
        ),
        ("in(a, box)", (thing("a", SEEN), thing("box", SEEN)), ()),
        ("holding(a)", (thing("a", Known.SENSED, 3.0),), ()),
        ("hand_empty()", (), ()),
        ("at(a, table)", (thing("a", SEEN), thing("table", FIXED)), ()),
        ("in(a, box)", (thing("a", PUT, 90.0, "box"), thing("box", SEEN)), ("a is hidden in box: inferred",)),
        (
            "in(a, box)",
            (thing("a", HIDDEN, 60.0, "box"), thing("box", HIDDEN, 60.0, "hall"), thing("hall", FIXED)),
            ("a is hidden in box: inferred", "box is hidden in hall: inferred"),
        ),
        ("not in(a, box)", (thing("a", SEEN), thing("box", SEEN)), ()),
    ],
)
def test_confirmed(goal, objects, inferred):
    goal = literals(goal)
    facts = {g for g in goal if g.positive} | TOWER.facts
    check = confirm(Look(World("tabletop", objects, frozenset(facts), stamp=100.0)), goal, began=50.0)
    assert check.confirmed and check.inferred == inferred


@pytest.mark.parametrize(
    ("goal", "objects", "words"),
    [
        ("in(a, box)", (thing("a", PUT, 90.0), thing("box", SEEN)), "a was last seen 10 s ago, not in view now"),
        ("in(a, box)", (thing("a", HIDDEN, 88.0), thing("box", SEEN)), "a was last seen 12 s ago, not in view now"),
        ("in(a, box)", (thing("a", PUT), thing("box", SEEN)), "a was never seen, not in view now"),
        ("in(a, box)", (thing("a", Known.UNKNOWN), thing("box", SEEN)), "a was never seen"),
        ("not in(a, box)", (thing("box", SEEN),), "a is not in view"),
        # what hides it is itself not seen; is nowhere; each hides the other
        ("in(a, box)", (thing("a", HIDDEN, 90.0, "b"), thing("b", HIDDEN, 95.0), thing("box", SEEN)), "hidden in b"),
        ("in(a, box)", (thing("a", HIDDEN, 90.0, "b"), thing("box", SEEN)), "hidden in b"),
        (
            "in(a, box)",
            (thing("a", HIDDEN, 90.0, "b"), thing("b", HIDDEN, 90.0, "a"), thing("box", SEEN)),
            "hidden in b",
        ),
        # in another room, and not seen since the task began
        ("in(a, box)", (thing("a", HIDDEN, 40.0, "hall"), thing("box", SEEN), thing("hall", FIXED)), "hidden in hall"),
    ],
)
def test_not_confirmed(goal, objects, words):
    goal = literals(goal)
    facts = frozenset(g for g in goal if g.positive)
    check = confirm(Look(World("tabletop", objects, facts, stamp=100.0)), goal, 50.0)
    assert not check.confirmed and not check.unmet
    assert words in check.not_confirmed[0]


@pytest.mark.parametrize(("state", "confirmed"), [("closed(box)", True), ("", True), ("opened(box)", False)])
def test_what_is_not_seen_in_a_container_that_is_seen_open_is_not_confirmed(state, confirmed):
    there = world(thing("a", HIDDEN, 90.0, "box"), thing("box", SEEN), facts=f"in(a, box); {state}".strip("; "))
    check = confirm(Look(there), literals("in(a, box)"), began=50.0)
    assert check.confirmed is confirmed and not check.unmet
    assert bool(check.not_confirmed) is not confirmed


@pytest.mark.parametrize(("state", "told"), [("closed(box)", False), ("", True)])
def test_only_what_is_not_known_to_be_closed_is_said_to_be_open(state, told):
    there = world(
        thing("a", HIDDEN, 90.0, "box"),
        thing("box", HIDDEN, 95.0),
        facts=f"in(a, box); can_open(box); {state}".strip("; "),
    )
    check = confirm(Look(there), literals("in(a, box)"), began=50.0)
    assert not check.confirmed and ("closed" in check.not_confirmed[0]) is told


def test_a_world_in_which_everything_was_seen_confirms_nothing_once_the_camera_is_silent():
    here = world(thing("a", SEEN), thing("box", SEEN), facts="in(a, box)", silent=True, heard=time.time() - 30.0)
    check = confirm(Look(here, False, "no detections"), literals("in(a, box)"), 50.0)
    assert check.not_confirmed == ("a was last seen 30 s ago", "box was last seen 30 s ago", "no detections")
    held = world(thing("a", Known.SENSED), facts="holding(a)", silent=True)
    assert confirm(Look(held, False, "no detections"), literals("holding(a)"), 50.0).confirmed, "the gripper feels it"


@pytest.mark.parametrize("goal", ["hand_empty()", "not hand_empty()"])
def test_the_body_itself_is_looked_at_too(goal):
    goal = literals(goal)
    facts = frozenset(g for g in goal if g.positive)
    check = confirm(Look(World("tabletop", (), facts), False, "no joint states came in 5.0 s"), goal, 50.0)
    assert check.not_confirmed == (f"it is unknown whether {goal[0]} holds now", "no joint states came in 5.0 s")


def test_what_does_not_hold_is_not_confirmed():
    check = confirm(Look(world(thing("a", SEEN), thing("box", SEEN))), literals("in(a, box)"), 50.0)
    assert not check.confirmed and check.unmet == literals("in(a, box)") and not check.not_confirmed


@pytest.mark.parametrize(
    ("facts", "known", "unseen"),
    [
        ("in(salmon, oven); closed(oven)", HIDDEN, True),
        ("in(salmon, oven)", HIDDEN, False),  # one can look in
        ("in(salmon, oven); closed(oven)", SEEN, False),
    ],
)
def test_the_state_of_what_a_closed_container_hides_is_neither_so_nor_not_so(facts, known, unseen):
    salmon = thing("salmon", known, 90.0, "oven" if known is HIDDEN else "")
    check = confirm(
        Look(world(salmon, thing("oven", SEEN), facts=facts)), literals("in(salmon, oven); hot(salmon)"), 50.0
    )
    assert not check.confirmed and check.unmet == literals("hot(salmon)")
    assert check.unseen == (check.unmet if unseen else ())
    assert any("hot(salmon) cannot be seen: salmon is in oven" in why for why in check.not_confirmed) == unseen
