"""Compiled preconditions and effects do what the formulas say, also with quantifiers, shadowing and odd atoms."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planweave.core.pddl.formula import And, Atom, Equal, Not, Quantified
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, _compiled
from planweave.core.symbolic.world import Action, Literal, World, WorldObject

PDDL = """(define (domain puzzle)
  (:requirements :strips :typing :negative-preconditions :disjunctive-preconditions :existential-preconditions
    :universal-preconditions :quantified-preconditions :equality :conditional-effects)
  (:types red blue - object)
  (:predicates (p ?x) (q ?x ?y) (r ?x - red ?y - blue) (t ?x ?y ?z) (n))
  (:action a :parameters (?x - red)
    :precondition (and (or (p ?x) (exists (?y) (and (q ?x ?y) (not (p ?y)))))
                       (forall (?y - blue) (or (r ?x ?y) (p ?y))))
    :effect (and (n) (forall (?y) (when (q ?x ?y) (and (p ?y) (not (q ?x ?y)))))
                 (forall (?y ?z) (when (and (q ?y ?z) (= ?y ?x)) (q ?z ?x)))
                 (forall (?y - blue) (when (r ?x ?y) (not (r ?x ?y))))))
  (:action b :parameters (?x ?y)
    :precondition (and (not (exists (?z) (t ?x ?z ?z))) (imply (n) (not (= ?x ?y))))
    :effect (and (t ?x ?y ?y) (forall (?z - red) (when (and (p ?z) (not (q ?z ?y))) (t ?y ?z ?x)))
                 (when (n) (not (n))) (forall (?x) (when (t ?x ?x ?x) (not (t ?x ?x ?x))))))
  (:action c :parameters ()
    :precondition (forall (?x ?y - red) (or (= ?x ?y) (not (q ?x ?y))))
    :effect (and (forall (?x) (when (q ?x ?x) (p ?x))) (forall (?x) (when (not (p ?x)) (q ?x ?x))))))
"""
OBJECTS = tuple(WorldObject(n, "red" if n in "de" else "blue") for n in "defgh")
NAMES = [o.name for o in OBJECTS]


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    path = tmp_path_factory.mktemp("domain") / "puzzle.pddl"
    path.write_text(PDDL)
    return Domain.load(str(path))


def _facts():
    name, red, blue = st.sampled_from(NAMES), st.sampled_from("de"), st.sampled_from("fgh")
    fact = st.one_of(
        st.builds(lambda x: Literal("p", (x,)), name),
        st.builds(lambda x, y: Literal("q", (x, y)), name, name),
        st.builds(lambda x, y: Literal("r", (x, y)), red, blue),
        st.builds(lambda x, y, z: Literal("t", (x, y, z)), name, name, name),
        st.just(Literal("n")),
    )
    return st.frozensets(fact, max_size=14)


def _true(formula, binding, facts):
    """Whether a formula holds, by trying all objects for all variables."""
    if isinstance(formula, Atom):
        return (formula.predicate, *(binding.get(t, t) for t in formula.terms)) in facts
    if isinstance(formula, Equal):
        return binding[formula.left] == binding[formula.right]
    if isinstance(formula, Not):
        return not _true(formula.part, binding, facts)
    if isinstance(formula, Quantified):
        found = (_true(formula.part, bound, facts) for bound in _bindings(formula.variables, binding))
        return all(found) if formula.every else any(found)
    found = (_true(part, binding, facts) for part in formula.parts)
    return all(found) if isinstance(formula, And) else any(found)


def _bindings(variables, binding):
    fitting = [[o.name for o in OBJECTS if not v.types or o.type in v.types] for v in variables]
    return ({**binding, **dict(zip([v.name for v in variables], names))} for names in product(*fitting))


def _interpreted(transition, state, action):
    """What an action does by walking its formulas."""
    schema, facts = transition.domain.actions[action.name], state.facts
    binding = schema.binding(action.args)
    delete, add = set(), set()
    for effect in schema.effects:
        for bound in _bindings(effect.variables, binding):
            if _true(effect.condition, bound, facts):
                for atoms, into in ((effect.delete, delete), (effect.add, add)):
                    into.update((a.predicate, *(bound.get(t, t) for t in a.terms)) for a in atoms)
    return _true(schema.precondition, binding, facts), (facts - (delete - add)) | add


@settings(max_examples=150)
@given(facts=_facts(), names=st.tuples(st.sampled_from("de"), st.sampled_from(NAMES)))
def test_compiled_is_as_interpreted(domain, facts, names):
    transition = Transition(domain, World("puzzle", OBJECTS, facts))
    for action in (Action("a", names[:1]), Action("b", names), Action("c")):
        state = transition.state()
        possible, after = _interpreted(transition, state, action)
        assert _compiled(domain, action.name).possible(state, action.args) == possible
        assert bool(transition.unmet(state, action)) != possible
        change = transition.apply(state, action)
        assert state.facts == after
        assert {f for name in ("p", "q", "r", "t", "n") for f in state.of(name)} == after
        for position in (1, 2):  # the index, built before the change, has followed it
            for name in NAMES:
                assert set(state.lookup("q", position, name)) == {
                    f for f in after if f[0] == "q" and f[position] == name
                }
        transition.undo(state, change)
        assert state.facts == transition.state().facts


def test_what_no_object_can_be_is_still_told(domain):
    """An action that needs a thing of a type that the world lacks is not possible, and says which type."""
    transition = Transition(domain, World("puzzle", (WorldObject("d", "red"),), frozenset()))
    assert transition.unmet(transition.state(), Action("a", ("d",)))


def test_types_of_a_fact_without_declared_types_are_checked(domain):
    world = World("puzzle", OBJECTS, frozenset({Literal("p", ("f",)), Literal("p", ("d",))}))
    transition = Transition(domain, world)
    state = transition.state()
    transition.apply(state, Action("b", ("f", "g")))
    assert state.of("t") == {("t", "f", "g", "g"), ("t", "g", "d", "f")}  # d is red, f is not
