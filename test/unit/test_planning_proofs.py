"""What the planner says of worlds of more than 25 objects: no false proof, no plan that our check refuses, an end at
the deadline.
"""

import random
import threading
import weakref
from dataclasses import replace
from itertools import pairwise

import kairos
import pytest
from codes import raises_code

import planweave as pw
from planweave.core.checks.validation import validate
from planweave.core.planning import kairos_search, solver
from planweave.core.planning.deadline import Deadline
from planweave.core.planning.kairos_search import SMALL, ground_instances, start
from planweave.core.planning.pddl_writer import domain_pddl, problem_pddl
from planweave.core.planning.relevance import reductions, relevant_world
from planweave.core.planning.rule_conflicts import goal_conflict
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import Description, Rule
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Literal, World, WorldObject

LOGISTICS = """(define (domain log) (:requirements :strips :typing) (:types place truck box)
 (:predicates (at ?b - box ?p - place) (truck_at ?t - truck ?p - place) (in ?b - box ?t - truck) (road ?a ?b - place))
 (:action drive :parameters (?t - truck ?a ?b - place) :precondition (and (truck_at ?t ?a) (road ?a ?b))
  :effect (and (truck_at ?t ?b) (not (truck_at ?t ?a))))
 (:action load :parameters (?b - box ?t - truck ?p - place) :precondition (and (at ?b ?p) (truck_at ?t ?p))
  :effect (and (in ?b ?t) (not (at ?b ?p))))
 (:action unload :parameters (?b - box ?t - truck ?p - place) :precondition (and (in ?b ?t) (truck_at ?t ?p))
  :effect (and (at ?b ?p) (not (in ?b ?t)))))"""
LIFT = """(define (domain lift) (:requirements :adl) (:types box)
 (:predicates (blocks ?a ?b - box) (taken ?b - box) (away ?b - box))
 (:action remove :parameters (?b - box) :precondition (and) :effect (away ?b))
 (:action take :parameters (?b - box)
  :precondition (forall (?x - box) (imply (blocks ?x ?b) (away ?x))) :effect (taken ?b)))"""
BLOCKS = """(define (domain bw) (:requirements :strips :typing) (:types block)
 (:predicates (on ?x ?y - block) (ontable ?x - block) (clear ?x - block) (handempty) (holding ?x - block))
 (:action pick_up :parameters (?x - block) :precondition (and (clear ?x) (ontable ?x) (handempty))
  :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
 (:action put_down :parameters (?x - block) :precondition (holding ?x)
  :effect (and (not (holding ?x)) (clear ?x) (handempty) (ontable ?x)))
 (:action stack :parameters (?x ?y - block) :precondition (and (holding ?x) (clear ?y))
  :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y)))
 (:action unstack :parameters (?x ?y - block) :precondition (and (on ?x ?y) (clear ?x) (handempty))
  :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))"""
DOORS = """(define (domain doors) (:requirements :strips :typing) (:types key door thing)
 (:predicates (fits ?k - key ?d - door) (opened ?d - door))
 (:action unlock :parameters (?k - key ?d - door) :precondition (fits ?k ?d) :effect (opened ?d)))"""
#: Six variables: with 40 objects four billion ground actions, which no planner lists in time.
WIDE = """(define (domain wide) (:requirements :strips) (:predicates (p ?a ?b) (q ?a) (r ?a))
 (:action m :parameters (?a ?b ?c ?d ?e ?f) :precondition (q ?a) :effect (and (p ?a ?b) (p ?c ?d) (p ?e ?f) (q ?b)))
 (:action z :parameters (?a ?b ?c) :precondition (and (p ?a ?b) (p ?b ?c) (p ?c ?a) (r ?a)) :effect (r ?b)))"""


@pytest.fixture(params=[True, False], ids=["reduced first", "whole"])
def reduced_first(request, monkeypatch):
    """Worlds that are searched at once, since they are small, are reduced all the same in half of the cases."""
    if request.param:
        monkeypatch.setattr(solver, "SMALL", 0)


def names(stem, count):
    return ", ".join(f"{stem}{k}" for k in range(count))


def logistics(places):
    domain = pw.Domain.load(LOGISTICS, replace=True)
    roads = [f"road(p{a}, p{a + d})" for a in range(places) for d in (-1, 1) if 0 <= a + d < places]
    facts = [*roads, "at(b, p5)", "truck_at(t, p0)"]
    return domain, domain.world(f"{names('p', places)}: place; t: truck; b: box", facts), "at(b, p9)"


def tower(height):
    domain = pw.Domain.load(BLOCKS, replace=True)
    stacked = [f"on(b{k + 1}, b{k})" for k in range(height - 1)]
    facts = ["ontable(b0)", f"clear(b{height - 1})", "handempty()", *stacked]
    return domain, domain.world(f"{names('b', height)}: block", facts), "ontable(b1)"


def lift(boxes):
    domain = pw.Domain.load(LIFT, replace=True)
    return domain, domain.world(f"{names('b', boxes)}: box", ["blocks(b7, b0)"]), "taken(b0)"


def table(cubes):
    domain = pw.Domain.load("tabletop")
    stack = ["on(c1, c0)", "on(c2, c1)", "on(c3, c2)"]
    return domain, domain.world(f"{names('c', cubes)}: item; tray: container", stack), "in(c0, tray)"


@pytest.mark.parametrize(
    "world",
    [logistics(24), logistics(60), tower(26), lift(26), lift(80), table(30)],
    ids=["24 places", "60 places", "tower of 26", "one of 26 boxes", "one of 80 boxes", "30 cubes, stack of three"],
)
@pytest.mark.usefixtures("reduced_first")
def test_what_can_be_solved_is_solved_in_large_worlds(world):
    domain, start_world, goal = world
    plan = pw.plan(domain, start_world, goal, timeout=60.0)
    assert pw.check(domain, start_world, plan, goal).ok


def test_a_method_acts_by_such_a_plan():
    domain, world, goal = lift(26)
    done = pw.run(body=pw.SymbolicBody(domain, world), method="classical", model="none", goal=goal, timeout=60.0)
    assert done.success and len(done.steps) == 2


def random_task(rng):
    """Blocks in random towers, or boxes, trucks and random roads, and one or two goals that need not be reachable."""
    if rng.random() < 0.5:
        count, facts = rng.randint(26, 60), ["handempty()"]
        left = [f"b{k}" for k in range(count)]
        rng.shuffle(left)
        while left:
            pile = [left.pop() for _ in range(min(len(left), rng.randint(1, 9)))]
            facts += [f"ontable({pile[0]})", f"clear({pile[-1]})", *(f"on({a}, {b})" for b, a in pairwise(pile))]
        domain = pw.Domain.load(BLOCKS, replace=True)
        one, two, three = rng.sample(range(count), 3)
        goal = rng.choice([f"on(b{one}, b{two})", f"ontable(b{one})", f"on(b{one}, b{two}) and on(b{two}, b{three})"])
        return domain, domain.world(f"{names('b', count)}: block", facts), goal
    count, boxes, trucks = rng.randint(24, 76), rng.randint(1, 2), rng.randint(1, 2)
    roads = {(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(count, 3 * count))}
    if boxes + trucks > 2:  # solvable, since what is not takes a search of all states
        roads |= {(k, (k + 1) % count) for k in range(count)}
    facts = [f"road(p{a}, p{b})" for a, b in sorted(roads)]
    facts += [f"at(b{k}, p{rng.randrange(count)})" for k in range(boxes)]
    facts += [f"truck_at(t{k}, p{rng.randrange(count)})" for k in range(trucks)]
    domain = pw.Domain.load(LOGISTICS, replace=True)
    goal = " and ".join(f"at(b{k}, p{rng.randrange(count)})" for k in range(boxes))
    objects = f"{names('p', count)}: place; {names('t', trucks)}: truck; {names('b', boxes)}: box"
    return domain, domain.world(objects, facts), goal


@pytest.mark.parametrize("seed", range(40))
def test_what_the_whole_search_solves_is_solved_and_no_proof_is_false(seed, monkeypatch):
    """Random worlds of 26 to 80 objects against kairos alone."""
    domain, world, text = random_task(random.Random(seed))
    goal = [pw.Literal.parse(part) for part in text.split(" and ")]
    parsed = kairos.parse_domain(domain_pddl(domain))
    problem = kairos.parse_problem(problem_pddl(domain, world, goal), parsed)
    alone = kairos.Planner().solve(problem, timeout=60.0, search="ff", anytime=False)
    monkeypatch.setattr(solver, "SMALL", 0)
    try:
        plan = solve(domain, world, goal, 60.0)
    except NoPlanError as error:
        assert error.proved and alone.status == kairos.Status.UNSOLVABLE
    else:
        assert alone.status == kairos.Status.SOLVED
        assert validate(domain, world, plan, goal).ok
        assert plan or not world.unmet(goal)


def test_the_second_reduction_has_what_is_in_the_way_to_any_depth():
    domain, world, goal = tower(60)
    wider = domain.world(
        f"{names('b', 60)}, {names('c', 60)}: block",
        [*map(str, world.facts), *(f"ontable(c{k})" for k in range(60)), *(f"clear(c{k})" for k in range(60))],
    )
    wanted = [pw.Literal.parse(goal)]
    *_, last = reductions(Transition(domain, wider), wanted, wanted, 60.0)
    assert {f"b{k}" for k in range(1, 60)} <= set(last.by_name) and len(last.objects) < 70
    assert len(relevant_world(domain, wider, wanted).objects) < 60


@pytest.mark.parametrize("things", [18, 40])
@pytest.mark.usefixtures("reduced_first")
def test_a_rule_is_not_blamed_where_a_plan_keeps_it(things):
    domain = pw.Domain.load(DOORS, "predicates: {opened: {phrase: the d is open, goal: true}}", replace=True)
    objects = f"{names('k', 6)}: key; front: door; {names('x', things)}: thing"
    world = domain.world(objects, ["fits(k0, front)", "fits(k5, front)"])
    goal = (pw.Literal("opened", ("front",)),)

    def ruled(*keys):
        return replace(domain, rules=tuple(Rule(f"leave {k}", untouched=(Description(k),)) for k in keys))

    assert goal_conflict(ruled("k0"), world, goal) == ""
    conflict = goal_conflict(ruled("k0", "k1", "k5"), world, goal)
    assert '"leave k0" and "leave k5"' in conflict and "k1" not in conflict


def wide(objects):
    domain = pw.Domain.load(WIDE, replace=True)
    return domain, domain.world(f"{names('o', objects)}: object", ["q(o0)"])


def test_a_search_that_does_not_end_is_killed_after_its_deadline(monkeypatch, tmp_path):
    script = tmp_path / "child.py"
    script.write_text("import sys, threading\nsys.stdin.read()\nthreading.Event().wait()\n")
    monkeypatch.setattr(kairos_search.kairos_child, "__file__", str(script))
    made = []
    monkeypatch.setattr(solver, "start", lambda *given: made.append(start(*given)) or made[-1])
    monkeypatch.setattr(kairos_search, "SMALL", 0)
    domain, world = wide(40)
    with pytest.raises(NoPlanError) as caught:
        solve(domain, world, [pw.Literal("r", ("o1",))], 0.2)
    assert not caught.value.proved and made
    assert all(search._process.returncode is not None for search in made)


def test_small_tasks_are_searched_in_this_process_and_large_ones_in_another():
    for objects, kind in ((2, "ThreadSearch"), (40, "ChildSearch")):
        domain, world = wide(objects)
        goal = [pw.Literal("p", ("o0", "o1"))]
        size = ground_instances(domain, world)
        assert (size > SMALL) == (kind == "ChildSearch")
        search = start(domain_pddl(domain), problem_pddl(domain, world, goal), Deadline(20.0), size)
        assert type(search).__name__ == kind
        search.stop()


def test_nobody_waits_for_the_end_of_a_search_that_was_stopped():
    class Slow:
        def stop(self):
            pass

        def wait(self):
            ended.wait(60.0)

    ended = threading.Event()
    domain, world, goal = tower(6)
    problem = problem_pddl(domain, world, [pw.Literal.parse(goal)])
    search = start(domain_pddl(domain), problem, Deadline(60.0), 1.0)
    search._search = Slow()
    kept = weakref.ref(search._search)
    search.stop()
    del search
    assert kept() is not None  # the one that waits has it
    ended.set()


def test_a_long_text_is_read_in_another_process():
    domain, world, goal = tower(6)
    problem = problem_pddl(domain, world, [pw.Literal.parse(goal)])
    search = start(domain_pddl(domain), problem + 200_000 * " ", Deadline(60.0), 1.0)
    found = search.result(60.0)
    assert type(search).__name__ == "ChildSearch" and found is not None and found.solved


@pytest.mark.parametrize("instances", [1.0, 2.0 * SMALL], ids=["thread", "child"])
def test_both_kinds_of_search_give_the_same_results(instances):
    domain, world, _ = tower(6)
    for goal, status in (("ontable(b1)", "SOLVED"), ("on(b1, b1)", "UNSOLVABLE")):
        problem = problem_pddl(domain, world, [pw.Literal.parse(goal)])
        search = start(domain_pddl(domain), problem, Deadline(60.0), instances)
        found = search.result(60.0)
        assert found is not None and found.status == status and bool(found.steps) == found.solved
        search.stop()
    found = start(domain_pddl(domain), "(define (problem", Deadline(5.0), instances).result(60.0)
    assert found is not None and found.status == "INVALID_INPUT" and found.messages


def test_a_planner_that_dies_is_a_failure_and_no_proof(monkeypatch, tmp_path):
    script = tmp_path / "child.py"
    script.write_text("import sys\nsys.stdin.read()\nsys.exit('out of memory')\n")
    monkeypatch.setattr(kairos_search.kairos_child, "__file__", str(script))
    monkeypatch.setattr(kairos_search, "SMALL", 0)
    domain, world, goal = tower(6)
    with raises_code("no_plan", "out of memory") as caught:
        pw.plan(domain, world, goal)
    assert not caught.value.proved


class Given:
    """A search with a given result."""

    def __init__(self, found):
        self.found = found

    def result(self, wait):
        return self.found

    def stop(self):
        pass


UNEXPLAINED = kairos_search.SearchResult("UNSOLVABLE")


@pytest.mark.parametrize("last, proved", [(UNEXPLAINED, True), (kairos_search.SearchResult("TIMEOUT"), False)])
def test_a_proof_without_a_reason_is_repeated(monkeypatch, last, proved):
    domain, world, goal = tower(6)
    results = [UNEXPLAINED, UNEXPLAINED, last]
    monkeypatch.setattr(solver, "start", lambda *_: Given(results.pop(0)))
    with pytest.raises(NoPlanError) as caught:
        pw.plan(domain, world, goal)
    assert caught.value.proved == proved and not results


def test_a_plan_that_a_repeated_search_finds_is_taken(monkeypatch):
    domain, world, goal = tower(6)
    first = [Given(UNEXPLAINED)]
    monkeypatch.setattr(solver, "start", lambda *given: first.pop() if first else start(*given))
    assert pw.check(domain, world, pw.plan(domain, world, goal), goal).ok and not first


def test_a_plan_that_our_check_refuses_is_never_returned(monkeypatch):
    domain, world, goal = lift(26)
    wrong = kairos_search.SearchResult("SOLVED", (("take", ("b0",)),))
    monkeypatch.setattr(solver, "start", lambda *_: Given(wrong))
    with pytest.raises(NoPlanError) as caught:
        pw.plan(domain, world, goal)
    assert not caught.value.proved and "take(b0)" in str(caught.value)


def test_the_deadline_ends_the_elimination_of_actions(monkeypatch):
    domain, world, goal = tower(26)
    plan = [pw.Action.parse(a) for a in ("unstack(b25, b24)", "put_down(b25)")]
    transition = Transition(domain, world)
    goals = [pw.Literal.parse(goal).negated()]
    assert solver._needed(transition, goals, plan, Deadline(60.0)) == []
    assert solver._needed(transition, goals, plan, Deadline(0.0)) == plan


@pytest.mark.parametrize("all_outcomes", [False, True])
def test_what_a_plan_does_not_need_is_left_out_whatever_outcomes_are_searched(monkeypatch, all_outcomes):
    domain, world, goal = table(6)
    padded = ("push_aside(c4)", "grasp(c5)", "place_in(c5, tray)")
    actions = map(pw.Action.parse, padded)
    given = kairos_search.SearchResult("SOLVED", tuple((a.name, a.args) for a in actions))
    monkeypatch.setattr(solver, "start", lambda *_: Given(given))
    plan = solver.solve(domain, world, [pw.Literal("in", ("c5", "tray"))], all_outcomes=all_outcomes)
    assert list(map(str, plan)) == ["grasp(c5)", "place_in(c5, tray)"]


def test_all_that_is_done_for_a_plan_looks_at_the_deadline(monkeypatch):
    """Whenever the time is out, no plan is found, and no search goes on."""
    monkeypatch.setattr(solver, "SMALL", 0)
    begun, ended, counts = [], [], set()

    class Search(Given):
        def __init__(self):
            super().__init__(None)
            begun.append(self)

        def stop(self):
            ended.append(self)

    monkeypatch.setattr(solver, "start", lambda *_: Search())
    domain, world, goal = logistics(24)
    for moments in range(0, 500, 7):
        left = iter([60.0] * moments)
        monkeypatch.setattr(Deadline, "left", property(lambda self, left=left: next(left, 0.0)))
        before = len(begun)
        with pytest.raises(NoPlanError) as caught:
            pw.plan(domain, world, goal)
        assert not caught.value.proved and begun == ended
        counts.add(len(begun) - before)
    assert {0, 1} <= counts


def test_a_plan_that_is_found_but_not_checked_in_time_is_none(monkeypatch):
    domain, world, goal = lift(26)
    steps = (("remove", ("b7",)), ("take", ("b0",)))
    monkeypatch.setattr(solver, "start", lambda *_: Given(kairos_search.SearchResult("SOLVED", steps)))
    monkeypatch.setattr(solver, "_fault", lambda transition, steps, goal: [*Deadline(0.0).watched(steps)] and "")
    with pytest.raises(NoPlanError) as caught:
        pw.plan(domain, world, goal, timeout=60.0)
    assert not caught.value.proved


def test_facts_are_written_in_the_order_of_their_objects():
    domain = pw.Domain.load(BLOCKS, replace=True)
    world = domain.world(names("b", 12) + ": block", [f"ontable(b{k})" for k in range(12)])
    text = problem_pddl(domain, world, [pw.Literal("holding", ("b0",))])
    places = [text.index(f"(ontable b{k})") for k in range(12)]
    assert places == sorted(places)


@pytest.mark.parametrize(("known", "told"), [((), True), (("turned_off(stove)",), False)])
def test_a_state_that_nobody_knows_is_told_where_no_action_can_begin(known, told):
    kitchen = Domain.load("kitchen")
    stove = WorldObject("stove", "fixture", "stove")
    facts = frozenset(Literal.parse(f) for f in ("hand_empty()", "can_turn(stove)", *known))
    with pytest.raises(NoPlanError) as caught:
        solve(kitchen, World("kitchen", (stove,), facts), [Literal.parse("turned_on(stove)")])
    assert ("not known" in str(caught.value)) == told
