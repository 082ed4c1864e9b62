"""What is written for the planner: no text of the user's file gets into it, and its plans have the user's names."""

from dataclasses import replace

import kairos
import pytest

import planweave as pw
from planweave.core.planning.pddl_writer import domain_pddl, planned_step, problem_pddl
from planweave.core.planning.solver import solve
from planweave.core.symbolic.reduced import focused, without
from planweave.core.symbolic.rule_check import keeping

FORMS = [
    "(:action a :parameters () ; fine :)\n :precondition (and) :effect (p))",
    "(:action a :parameters () ; 1) or (2\n ; ((\n :effect (p))",
    "( :action  a :effect (p))",
    "(:action\n a :effect (p))",
    "(:ACTION A :EFFECT (p))",
    "; (:action a :parameters () (old\n (:action a :effect (p))",
]


@pytest.mark.parametrize("form", FORMS)
def test_however_an_action_is_written_it_can_be_left_out_and_have_outcomes(form):
    text = f"(define (domain t) (:predicates (p) (q) (r)) {form} (:action b :precondition (p) :effect (q)))"
    notes = f"actions:\n  {'A' if 'ACTION' in form else 'a'}: {{possibly: ['r()']}}\n"
    domain = pw.Domain.load(text, notes, replace=True)
    world = domain.world("", [])
    assert [a.name.lower() for a in solve(domain, world, [pw.Literal("q")])] == ["a", "b"]
    assert [a.name.lower() for a in solve(domain, world, [pw.Literal("r")], all_outcomes=True)] == ["a"]
    off = replace(world, actions_off=frozenset(domain.actions) - {"b"})
    with pytest.raises(pw.NoPlanError):
        solve(domain, off, [pw.Literal("q")])
    assert "(:action a" not in domain_pddl(without(domain, off.actions_off)).lower()


def test_an_action_called_like_an_outcome_keeps_its_name():
    text = """(define (domain dice) (:predicates (ready) (six))
      (:action roll :effect (ready)) (:action roll-outcome-6 :precondition (ready) :effect (six))
      (:action outcome--0--roll :precondition (six) :effect (not (ready))))"""
    domain = pw.Domain.load(text, "actions:\n  roll: {possibly: ['not ready()']}\n", replace=True)
    world = domain.world("", [])
    for all_outcomes in (False, True):
        plan = solve(domain, world, [pw.Literal("six"), pw.Literal("ready", (), False)], all_outcomes=all_outcomes)
        assert set(plan) <= {pw.Action(name) for name in domain.actions}
        assert all_outcomes or pw.check(domain, world, plan, "six() and not ready()").ok
    assert planned_step(domain, world, "outcome--0--roll", []) == (pw.Action("roll"), 0)
    assert planned_step(domain, world, "x--outcome--0--roll", []) == (pw.Action("outcome--0--roll"), None)


def test_names_that_the_planner_reserves_or_folds_come_back_as_they_are():
    domain = pw.Domain.load(
        """(define (domain Any) (:types Increase object-1) (:constants 1st - Increase)
        (:predicates (increase ?X - Increase ?y) (x--1 ?x) (preference))
        (:action 2-When :parameters (?X - Increase ?y) :precondition (increase ?x ?Y)
          :effect (and (x--1 ?y) (not (increase ?x ?y)) (preference))))""",
        replace=True,
    )
    world = domain.world(
        "x--A, B, either: object-1; object: Increase", ["increase(object, B)", "increase(1st, either)"]
    )
    plan = pw.plan(domain, world, "x--1(B) and x--1(either) and preference()")
    assert {str(a) for a in plan} == {"2-When(object, B)", "2-When(1st, either)"}
    assert pw.check(domain, world, plan, "x--1(b) and X--1(EITHER)").ok


def test_an_untyped_variable_does_not_take_the_type_of_the_next_one():
    domain = pw.Domain.load(
        """(define (domain u) (:types a b) (:predicates (p ?x - object ?y - a) (q ?x))
        (:action m :parameters (?x - object ?y - a) :precondition (p ?x ?y) :effect (q ?x)))""",
        replace=True,
    )
    world = domain.world("o: b; i: a", ["p(o, i)"])
    assert str(pw.plan(domain, world, "q(o)")) == "1. m(o, i)"


def test_facts_that_the_domain_does_not_know_are_left_out():
    domain = pw.Domain.load("tabletop")
    world = domain.world("a: item; tray: container", ["reachable(a)"])
    odd = replace(world, facts=world.facts | {pw.Literal("unheard_of", ("a",))})
    task = problem_pddl(domain, odd, [pw.Literal("in", ("a", "tray"))])
    assert "unheard_of" not in task and kairos.parse_problem(task, kairos.parse_domain(domain_pddl(domain)))


def test_a_world_of_sixteen_thousand_facts_is_that_of_its_problem():
    domain = pw.Domain.load(
        """(define (domain g) (:types n) (:predicates (e ?a ?b - n) (at ?a - n))
        (:action go :parameters (?a ?b - n)
          :precondition (and (at ?a) (e ?a ?b)) :effect (and (at ?b) (not (at ?a)))))""",
        replace=True,
    )
    names = [f"n{i}" for i in range(400)]
    pairs = [(a, names[(i * 7 + k) % 400]) for i, a in enumerate(names) for k in range(40)]
    world = domain.world(f"{', '.join(names)}: n", [pw.Literal("e", pair) for pair in pairs])
    init = " ".join(f"(e {a} {b})" for a, b in pairs)
    text = f"(define (problem p) (:domain g) (:objects {' '.join(names)} - n) (:init {init}) (:goal (and)))"
    assert pw.Problem.load(domain, text).world == world and len(world.facts) == 16_000


def test_a_planner_follows_only_what_somebody_asks_for():
    """With every effect of `grasp` on where things stand it was 20 times as slow, for goals that name none of it."""
    table = pw.Domain.load("tabletop")
    whole, narrow, sides = table, focused(table, frozenset({"in"})), focused(table, frozenset({"left_of"}))

    def changed(domain):
        effects = [effect for schema in domain.actions.values() for effect in schema.effects]
        return {atom.predicate for effect in effects for atom in (*effect.add, *effect.delete)}

    assert {"left_of", "near", "between", "at_base"} <= changed(whole)
    assert changed(narrow) == {"holding", "hand_empty", "on", "in", "at", "clear"}
    assert changed(sides) == changed(narrow) | {"left_of"}
    assert narrow.actions.keys() == whole.actions.keys() and narrow.predicates == whole.predicates
    rule = keeping(whole, pw.Literal("at_base"))
    ruled = focused(replace(whole, rules=(rule,)), frozenset({"in"}))
    assert changed(ruled) == changed(narrow) | {"at_base"}, "a rule asks, too"


@pytest.mark.parametrize("goal", ["left_of(a, b)", "near(a, b) and not left_of(a, b)", "moved_left(a) and on(b, a)"])
def test_what_a_goal_asks_for_is_planned_all_the_same(goal):
    table = pw.Domain.load("tabletop")
    world = table.world("a, b: item; tray: container; spot: location", ["in(a, tray)", "on(b, a)"])
    plan = pw.plan(table, world, goal)
    assert plan and pw.check(table, world, plan, goal).ok
