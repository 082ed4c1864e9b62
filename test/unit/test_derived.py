"""Derived predicates are evaluated wherever a formula is: plans, goals, bodies, blocking conditions, explanations."""

from dataclasses import replace

import pytest

import planweave as pw
from planweave.core.checks.validation import validate
from planweave.core.symbolic.transition import Transition, completed
from planweave.core.symbolic.world import Known, WorldObject
from planweave.core.workflow.wrapped_body import CompletedBody
from planweave.geometry import spatial
from planweave.methods.blocking import resolution_actions

LAMPS = """(define (domain lamps)
 (:requirements :strips :typing :derived-predicates :negative-preconditions)
 (:types lamp)
 (:predicates (on ?l - lamp) (power) (lit ?l - lamp) (photo) (dark))
 (:derived (lit ?l - lamp) (and (on ?l) (power)))
 (:derived (dark) (not (exists (?l - lamp) (lit ?l))))
 (:action plug :parameters () :precondition (and) :effect (power))
 (:action switch :parameters (?l - lamp) :precondition (and) :effect (on ?l))
 (:action shoot :parameters (?l - lamp) :precondition (lit ?l) :effect (photo))
 (:action develop :parameters () :precondition (dark) :effect (photo)))"""
BLOCKS = """(define (domain towers) (:types block)
 (:predicates (on ?a ?b - block) (above ?a ?b - block) (free ?a - block))
 (:derived (above ?a ?b - block) (or (on ?a ?b) (exists (?c - block) (and (on ?a ?c) (above ?c ?b)))))
 (:derived (free ?a - block) (forall (?b - block) (not (above ?b ?a))))
 (:action lift :parameters (?a ?b - block) :precondition (and (on ?a ?b) (free ?a)) :effect (not (on ?a ?b)))
 (:action stack :parameters (?a ?b - block)
   :precondition (and (free ?a) (free ?b) (not (= ?a ?b)) (forall (?c - block) (not (on ?a ?c))))
   :effect (on ?a ?b)))"""


@pytest.fixture
def lamps():
    return pw.Domain.load(LAMPS, replace=True)


@pytest.fixture
def towers():
    return pw.Domain.load(BLOCKS, replace=True)


@pytest.mark.parametrize(
    ("steps", "goal", "failed", "cause"),
    [
        ("switch(a); shoot(a)", "photo()", None, None),
        ("switch(a)", "lit(a)", None, None),
        ("switch(a); develop()", "photo()", 1, ("not on(a)", 0)),
        ("develop()", "photo()", None, None),
        ("shoot(a)", "", 0, ("on(a)", None)),
        ("", "lit(a)", None, ("on(a)", None)),
        ("switch(a)", "dark()", None, ("not on(a)", 0)),
    ],
)
def test_a_plan_is_checked_with_what_follows_from_its_effects(lamps, steps, goal, failed, cause):
    found = pw.check(lamps, lamps.world("a: lamp", ["power()"]), steps, goal)
    assert found.ok == (cause is None) and found.failed_step == failed
    assert [(str(c.literal), c.destroyed_by) for c in found.causes] == ([cause] if cause else [])


def test_the_predicted_world_lists_what_follows(lamps):
    start = lamps.world("a, b: lamp", ["power()"])
    assert start.holds(pw.Literal("dark")) and not start.holds(pw.Literal("lit", ("a",)))
    after = pw.check(lamps, start, "switch(a)").world
    assert {str(f) for f in after.facts} == {"power()", "on(a)", "lit(a)"}
    assert completed(lamps, replace(after, facts=start.facts)) == start


def test_a_derived_fact_cannot_be_stated(lamps):
    with pytest.raises(pw.ParseError):
        lamps.world("a: lamp", ["lit(a)"])


def test_a_task_reaches_a_derived_goal_on_bodies_that_do_not_know_of_it(lamps):
    world = lamps.world("a: lamp", [])

    class Plain(pw.SymbolicBody):
        """Reports base facts only."""

        def observe(self, revision=0):
            return self._plain(super().observe(revision))

        def look(self, seconds):
            look = super().look(seconds)
            return replace(look, world=self._plain(look.world))

        def _plain(self, world):
            return replace(world, facts=frozenset(f for f in world.facts if f.predicate not in lamps.derived))

    for body in (pw.SymbolicBody(lamps, world), Plain(lamps, world)):
        for goal in ("lit(a)", "not dark()"):
            assert pw.run(body=body, method="classical", model="none", goal=goal, timeout=20).success
        assert CompletedBody(body, lambda name: lamps).observe().holds(pw.Literal("lit", ("a",)))
    assert pw.SymbolicBody(lamps, world).execute(pw.Action("shoot", ("a",))).code is pw.Code.PRECONDITION_UNMET


def test_a_task_knows_where_things_were_when_it_began():
    table = pw.Domain.load("tabletop")

    def at(y):
        cube = WorldObject("a", "item", "cube", {}, (0.5, y, 0.025), None, (0.05, 0.05, 0.05), Known.SEEN)
        return pw.World("tabletop", (cube,), derived=spatial.derived(table.predicates))

    class Moved(pw.SymbolicBody):
        there = at(0.1)

        def observe(self, revision=0):
            return self.there

    left, moved = pw.Literal("moved_left", ("a",)), Moved(table, at(0.1))
    whole = CompletedBody(moved, lambda name: table)
    task = whole.since(whole.observe())
    moved.there = at(0.2)
    assert task.observe().holds(left) and not whole.observe().holds(left)
    task.begin_anew(task.observe(), [left])
    assert not task.observe().holds(left) and task.observe().holds(left.negated())


def test_a_blocking_condition_is_resolved_by_what_it_follows_from(lamps):
    world = lamps.world("a, b: lamp", ["on(b)"])
    transition = Transition(lamps, world)
    state = transition.state()
    assert {str(x) for x in transition.unmet(state, pw.Action("shoot", ("a",)))} == {"on(a)", "power()"}
    resolving = resolution_actions(lamps, transition, state, pw.Literal("lit", ("a",)))
    assert {str(a) for a in resolving} == {"switch(a)", "plug()"}


def test_recursive_predicates_follow_each_change(towers):
    world = towers.world("a, b, c, d: block", ["on(a, b)", "on(b, c)"])
    transition = Transition(towers, world)
    state = transition.state()
    assert state.of("above") == {("above", "a", "b"), ("above", "b", "c"), ("above", "a", "c")}
    assert state.of("free") == {("free", "a"), ("free", "d")}
    changes = [transition.apply(state, pw.Action.parse(step)) for step in ("lift(a, b)", "stack(a, d)")]
    assert set(state.lookup("above", 1, "a")) == {("above", "a", "d")} and ("free", "b") in state
    for change in reversed(changes):
        transition.undo(state, change)
    assert state.facts == transition.state().facts
    assert [str(c.literal) for c in validate(towers, world, [pw.Action.parse("lift(b, c)")]).causes] == ["not on(a, b)"]
    plan = pw.plan(towers, world, "above(c, d)")
    assert pw.check(towers, world, plan, "above(c, d) and not above(a, c)").ok


def test_an_axiom_for_a_subtype_says_nothing_of_others():
    domain = pw.Domain.load(
        """(define (domain sub) (:types cat - animal dog - animal) (:predicates (calm ?a - animal) (done))
        (:derived (calm ?a - cat) (and))
        (:action m :parameters (?a - animal) :precondition (calm ?a) :effect (done)))""",
        replace=True,
    )
    world = domain.world("tom: cat; rex: dog")
    assert pw.check(domain, world, "m(tom)").ok and not pw.check(domain, world, "m(rex)").ok
    assert str(pw.plan(domain, world, "done()")) == "1. m(tom)"


def test_a_recursive_goal_that_cannot_be_explained_names_the_actions_that_change_its_basis(towers):
    found = pw.check(towers, towers.world("a, b, c: block", ["on(a, b)"]), "", "above(a, c)")
    literals = {(str(c.literal), c.achievers) for c in found.causes}
    assert literals <= {("above(a, c)", ("lift", "stack")), ("on(b, c)", ("stack",)), ("on(a, c)", ("stack",))}
    assert literals
