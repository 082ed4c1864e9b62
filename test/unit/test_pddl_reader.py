"""PDDL as others write it: what is read, what is refused, and where a message points to."""

import pytest
from codes import raises_code

import planweave as pw
from planweave.core.checks.validation import validate
from planweave.core.pddl.formula import And, Atom, Not, Or
from planweave.core.pddl.text import MAX_DEPTH
from planweave.core.symbolic.transition import cost_of
from planweave.core.symbolic.written import literals_of, read_formula

HEAD = "(define (domain x) (:requirements :strips :typing)\n (:types a)\n (:predicates (p ?x - a) (q))\n "
ACTION = "(:action m :parameters (?x - a) :precondition (p ?x) :effect (q))"


def load(text):
    return pw.Domain.load(text, replace=True)


def action(precondition="(p ?x)", effect="(q)"):
    return f"{HEAD}(:action m :parameters (?x - a) :precondition {precondition} :effect {effect}))"


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("(p ?x - a)", "(p ?x - object)") + "(:action m :parameters (?x - object) :effect (p ?x)))",
        HEAD.replace("(:types a)", "(:types object a - object)") + ACTION + ")",
        HEAD.replace("(:types a)", "(:types a - object b - a a - object)") + ACTION + ")",
        HEAD.replace("(:types a)", "(:types b - a)") + ACTION + ")",
        HEAD.replace("(:types a)", "(:types a b)").replace("?x - a", "?x - (either a b)") + ACTION + ")",
        HEAD.replace("?x - a", "?x -a") + ACTION + ")",
        HEAD.replace("(q)", "(2q) (q) (at) (type) (domain) (increase) (= ?a ?b)") + ACTION + ")",
        HEAD.replace("(q)", "(q) (r ?x ?x)") + ACTION + ")",
        HEAD + "(:action m :effect (q)))",
        HEAD + "(:action m :parameters () :precondition (q)))",
        HEAD + "(:action m :effect (not (q)) :precondition (q)))",
        HEAD + "(:constants c - a) (:action m :precondition (p c) :effect (q)))",
        f"(define (domain x) {ACTION} (:predicates (q) (p ?x - a)) (:types a))",
        "\ufeff" + HEAD + ACTION + ")",
        (HEAD + ACTION + ")").upper(),
        (HEAD + ACTION + ")").replace("\n", "\r\n").replace(" (", "\t( "),
        HEAD + "; :) (\n" + ACTION + ") ; )",
        *(action(c) for c in ("()", "(and)", "(or)", "(imply (q) (p ?x))", "(forall (?y) (or (= ?x ?y) (p ?x)))")),
        *(
            action(effect=e)
            for e in ("()", "(and (q) (and) (not (q)))", "(when (q) (forall (?y - a) (when (q) (p ?y))))")
        ),
    ],
)
def test_a_domain_that_others_read_is_read(text):
    found = load(text)
    assert [*map(str.lower, found.actions)] == ["m"] and found.name.lower() == "x"


def marked(text):
    """A text without its mark §, and line and column of it."""
    before = text.partition("§")[0]
    return text.replace("§", ""), (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (HEAD + "§(:durative-action m :parameters ()))", "unsupported"),
        (HEAD + "§(:constraints (always (q))))", "unsupported"),
        (action("§(preference z (q))"), "unsupported"),
        (action("(and (q) §(> (f) 1))"), "unsupported"),
        (action("§(= (f) 1)"), "unsupported"),
        (action(effect="§(decrease (f) 1)"), "unsupported"),
        (action(effect="§(increase (f) 1)"), "unsupported"),
        (action(effect="(when (q) §(increase (total-cost) 1))"), "unsupported"),
        (HEAD + "(:functions §(f) - a))", "unsupported"),
        (HEAD + "(:action m §:observe (q)))", "unsupported"),
        (action("(§r ?x)"), "unknown_name"),
        (action("(p §?y)"), "unknown_name"),
        (action("(p §c)"), "unknown_name"),
        (action("(exists (?y - §b) (q))"), "unknown_name"),
        (action("§(p ?x ?x)"), "arity"),
        (action("§(not (q) (q))"), "syntax"),
        (action("§q"), "syntax"),
        (action("(§(p ?x))"), "syntax"),
        (action(effect="§(or (q))"), "syntax"),
        (action(effect="(not §(not (q)))"), "syntax"),
        (HEAD + "(:action m :parameters (?x - a) §:effect))", "syntax"),
        (HEAD + "(:action m §:do (q)))", "syntax"),
        (HEAD + "§", "syntax"),
        (HEAD + ")§)", "syntax"),
        (HEAD + "§(:foo))", "syntax"),
        (HEAD + ACTION + ACTION.replace("m", "§M", 1) + ")", "duplicate"),
        (HEAD.replace("(q)", "(q) (§P)") + ")", "duplicate"),
        (HEAD + "(:action m :parameters (?x §?X)))", "duplicate"),
        (HEAD + "(:action m :precondition (q) §:precondition (q)))", "duplicate"),
        (HEAD.replace("(:types a)", "(:types §a - b b - a)") + ")", "cycle"),
        (HEAD.replace("(:types a)", "(:types §a - b a - c b c)") + ")", "duplicate"),
        (HEAD.replace("(:types a)", "(:types a b)") + "(:action m :parameters (?x - b) :effect (p §?x)))", "type"),
        (HEAD + "§(:derived (q) (not (q))))", "unstratified"),
        (HEAD + "§(:derived (p ?x - a) (not (q))) (:derived (q) (forall (?x - a) (p ?x))))", "unstratified"),
        (HEAD + "(:derived (q) (and)) (:action m :effect §(q)))", "derived"),
        (action("(not " * (MAX_DEPTH - 2) + "§(q)" + ")" * (MAX_DEPTH - 2)), "too_deep"),
        ("(" * MAX_DEPTH + "§" + "(" * 500_000, "too_deep"),
        ("(define (domain x) §\0)", "syntax"),
    ],
)
def test_an_error_has_its_place_and_code(text, code):
    text, place = marked(text)
    with pytest.raises(pw.PddlError) as caught:
        load(text)
    error = caught.value
    assert (error.code, error.line, error.column) == (code, *place), error
    assert str(error).startswith(f"PDDL text:{error.line}:{error.column}: ")


def test_what_is_read_although_it_is_no_standard_is_noted_with_its_place():
    found = load(HEAD + "(:action m :parameters (?x - a) :precondition (not (or (p ?x) (= ?x ?x)))))")
    assert [r.split(": ")[0] for r in found.remarks] == ["PDDL text:4:2", *(f"PDDL text:4:{n}" for n in (48, 53, 64))]
    assert not load(HEAD + ACTION + ")").remarks


@pytest.mark.parametrize("number", range(1, MAX_DEPTH, 7))
def test_what_is_nested_deeply_is_evaluated(number):
    found = load(action("(not " * number + "(q)" + ")" * number if number + 5 < MAX_DEPTH else "(q)"))
    world = found.world("o: a", ["q"])
    assert validate(found, world, [pw.Action("m", ("o",))]).ok == (number % 2 == 0 or number + 5 >= MAX_DEPTH)


def test_names_match_regardless_of_case_and_are_seen_as_they_were_declared():
    found = load(
        """(define (domain Mixed) (:types Ball) (:constants Blue-1 - BALL)
        (:predicates (FREE) (On-Table ?B - ball) (held ?b - ball))
        (:action Pick-Up :parameters (?B - BALL) :precondition (and (free) (ON-TABLE ?b))
          :effect (and (HELD ?b) (not (Free)) (not (on-table ?B)))))"""
    )
    world = found.world("1a, Red-2: BALL", ["free()", "ON-TABLE(blue-1)", "on-table(RED-2)"])
    assert {o.name for o in world.objects} == {"Blue-1", "1a", "Red-2"}
    plan = pw.plan(found, world, "HELD(red-2)")
    assert str(plan) == "1. Pick-Up(Red-2)"
    assert pw.check(found, world, plan, "held(Red-2)").ok and pw.check(found, world, "PICK-UP(RED-2)").ok
    assert pw.check(found, world, "pick-up(Red-2); pick-up(Blue-1)").failed_step == 1
    result = pw.run(body=pw.SymbolicBody(found, world), method="classical", model="none", goal="held(red-2)")
    assert result.success and result.steps == ((pw.Action("Pick-Up", ("Red-2",)), "SUCCESS"),)


@pytest.mark.parametrize("words", ["b: ball; B: ball", "-a: ball", "a.b: ball", "blue-1: ball; x: cube"])
def test_names_that_no_world_may_have(words):
    found = load("(define (domain y) (:types ball cube) (:constants Blue-1 - cube) (:predicates (p ?x)))")
    with pytest.raises((pw.ParseError, pw.UnknownNameError)):
        found.world(words)


def test_words_that_yaml_reads_as_truth_values_are_names():
    notes = "predicates:\n  on: {phrase: 'the {x} is on the {y}', goal: yes}\n"
    text = "(define (domain y) (:predicates (on ?x ?y)) (:action s :parameters (?x ?y) :effect (on ?x ?y)))"
    found = pw.Domain.load(text, notes, replace=True)
    assert found.predicates["on"].goal and found.phrase(pw.Literal("on", ("a", "b"))) == "the a is on the b"
    with raises_code("domain", "'on'"):
        pw.Domain.load(text, "actions:\n  s: {words: [on]}\n", replace=True)


COSTS = """(define (domain roads) (:types place)
  (:predicates (at ?p - place))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action go :parameters (?a ?b - place) :precondition (at ?a)
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (+ (length ?a ?b) 1.5)))))"""


def problem(goal="(at b)", objects="a b c - place", init="(at a) (= (length a b) 3) (= (total-cost) 0)", more=""):
    return f"(define (problem one)\n (:domain roads)\n (:objects {objects})\n (:init {init})\n (:goal {goal})\n {more})"


def test_a_problem_has_its_world_goal_and_costs(tmp_path):
    domain, path = load(COSTS), tmp_path / "one.pddl"
    text = problem(
        "(or (at b) (exists (?p - place) (and (at ?p) (not (= ?p a)))))", more="(:metric minimize (total-cost))"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = pw.Problem.load(domain, path)
    assert found == pw.Problem.load(domain, text) and found.minimize and isinstance(found.goal, Or)
    assert found.world.holds(pw.Literal("at", ("a",))) and len(found.world.objects) == 3
    assert cost_of(domain, found.world, [pw.Action("go", ("a", "b"))]) == 4.5
    assert cost_of(domain, found.world, [pw.Action("go", ("a", "c"))]) is None
    assert cost_of(load(HEAD + ACTION + ")"), found.world, []) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (problem().replace("(:domain roads", "§(:domain streets"), "other_domain"),
        (problem(objects="a - §town"), "unknown_name"),
        (problem(objects="a b c - place §a"), "duplicate"),
        (problem(init="(at §d)"), "unknown_name"),
        (problem(init="(§on a)"), "unknown_name"),
        (problem(init="§(at a b)"), "arity"),
        (problem(init="(at a) §(not (at a))"), "duplicate"),
        (problem(init="§(at 5 (at a))"), "unsupported"),
        (problem(init="§(= (at a) b)"), "syntax"),
        (problem(goal="(at §?x)"), "unknown_name"),
        (problem(goal="§(preference z (at a))"), "unsupported"),
        (problem(more="§(:constraints (always (at a)))"), "unsupported"),
        (problem(more="§(:metric maximize (total-cost))"), "unsupported"),
        (problem(more="§(:goal (at a))"), "duplicate"),
        ("§" + problem().replace(" (:goal (at b))\n", ""), "syntax"),
        (COSTS.replace("(domain", "§(domain"), "syntax"),
    ],
)
def test_a_problem_with_an_error_says_where(text, code):
    text, place = marked(text)
    with pytest.raises(pw.PddlError) as caught:
        pw.Problem.load(load(COSTS), text)
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, *place), caught.value


def test_a_problem_file_that_is_not_there(tmp_path):
    with pytest.raises(pw.DomainError):
        pw.Problem.load(load(COSTS), tmp_path / "none.pddl")


def test_goals_are_formulas_or_literals():
    domain = load(COSTS)
    world = domain.world("a, B: place", ["at(a)"])
    assert literals_of(read_formula(domain, world, "at(b) and not at(a)")) == (
        pw.Literal("at", ("B",)),
        pw.Literal("at", ("a",), False),
    )
    assert read_formula(domain, world, "(AND (at b) (not (at A)))") == And(
        (Atom("at", ("B",)), Not(Atom("at", ("a",))))
    )
    assert literals_of(read_formula(domain, world, "(or (at b) (at a))")) is None
    with pytest.raises(pw.PddlError):
        read_formula(domain, world, "(at b) (at a)")


def test_constants_are_in_every_world():
    domain = load(
        """(define (domain home) (:types place robot) (:constants kitchen - place)
        (:predicates (at ?r - robot ?p - place) (charged ?r - robot))
        (:action go :parameters (?r - robot ?a ?b - place) :precondition (at ?r ?a)
          :effect (and (at ?r ?b) (not (at ?r ?a))))
        (:action charge :parameters (?r - robot) :precondition (at ?r kitchen) :effect (charged ?r)))"""
    )
    for objects in ("r: robot; hall: place", "r: robot; hall, kitchen: place"):
        world = domain.world(objects, ["at(r, hall)"])
        plan = pw.plan(domain, world, "charged(r)")
        assert len(plan) == 2 and pw.check(domain, world, plan, "charged(r)").ok
    bare = pw.World("home", tuple(o for o in world.objects if o.name != "kitchen"), world.facts)
    assert pw.check(domain, bare, plan, "charged(r)").ok


@pytest.mark.parametrize("condition", ["(or)", "(not (and))", "(exists (?k - a) (and))", "(not (= ?x ?x))"])
def test_what_can_never_hold_is_refused_everywhere(condition):
    domain = load(action(condition).replace("(:types a)", "(:types a b)").replace("?k - a", "?k - b"))
    world, step = domain.world("o: a", ["p(o)"]), pw.Action("m", ("o",))
    found = validate(domain, world, [step])
    assert not found.ok and found.failed_step == 0 and found.causes
    assert pw.SymbolicBody(domain, world).execute(step).code is pw.Code.PRECONDITION_UNMET
    assert domain.phrases(cause.literal for cause in found.causes)


def test_the_cause_of_a_failed_alternative_is_one_that_an_action_can_bring_about():
    domain = load(
        """(define (domain boxes) (:types box) (:predicates (blocks ?a ?b - box) (away ?b - box) (taken ?b - box))
        (:action remove :parameters (?b - box) :effect (away ?b))
        (:action take :parameters (?b - box)
          :precondition (forall (?x - box) (imply (blocks ?x ?b) (away ?x))) :effect (taken ?b)))"""
    )
    found = validate(domain, domain.world("a, b: box", ["blocks(a, b)"]), [pw.Action("take", ("b",))])
    assert [(c.literal, c.achievers) for c in found.causes] == [(pw.Literal("away", ("a",)), ("remove",))]


ILL_TYPED = """(define (domain ill) (:types a b) (:predicates (p ?x - a) (r ?x - a ?y - b) (g))
  (:action m :parameters (?x - object) :effect (p ?x))
  (:action n :parameters (?x ?y - object) :effect (r ?x ?y))
  (:action e :precondition (exists (?y - a) (p ?y)) :effect (g))
  (:action f :precondition (exists (?y) (p ?y)) :effect (g))
  (:action q :precondition (exists (?y - b ?x - a) (r ?x ?y)) :effect (g)))"""


@pytest.mark.parametrize(
    ("steps", "ok"),
    [("m(x); e()", True), ("m(y); e()", False), ("m(y); f()", True), ("n(x, y); q()", True), ("n(y, x); q()", False)],
)
def test_a_quantifier_counts_no_object_of_another_type_that_a_wide_effect_made_a_fact_of(steps, ok):
    domain = load(ILL_TYPED)
    assert pw.check(domain, domain.world("x: a; y: b", []), steps).ok == ok
