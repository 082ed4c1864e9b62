"""Plans in homes that were seen in part: what may be assumed, what may not, and what becomes of it."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from codes import raises_code
from doubles.home_graphs import graph_now
from doubles.scripted import ScriptedPlanner, literals, plan
from hypothesis import given, settings
from hypothesis import strategies as st

from planweave.bodies.home.port import HomeBody
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.checks.assumptions import never_seen, unknown_rules
from planweave.core.checks.validation import Validator
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.methods.classical import Classical
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.methods.tree_planner import TreePlanner

DOMAIN = Domain.load("household")
WASH = "walk(sink_25); switchon(faucet_26); walk(plate_51); grab(plate_51); walk(faucet_26); wash(plate_51)"


@pytest.fixture(scope="module")
def flat():
    """The flat as it is known at the start: the kitchen was not seen yet."""
    return HomeBody("home_flat").observe()


def actions(text):
    return [Action.parse(part) for part in text.split(";")]


def test_a_fact_about_unseen_things_is_assumed_and_told(flat):
    check = Validator(DOMAIN, flat).check(actions(WASH), literals("washed(plate_51)"))
    assert check.ok and [str(x) for x in check.assumed] == ["next_to(sink_25, faucet_26)"]
    assert "next_to(sink_25, faucet_26)" in check.message
    assert check.world.facts >= set(check.assumed) | set(literals("washed(plate_51); switched_on(faucet_26)"))


def test_nothing_is_assumed_of_what_was_seen(flat):
    simulator = HomeBody("home_flat").home.simulator
    assert never_seen(DOMAIN, flat) and not never_seen(DOMAIN, simulator.world())
    known = replace(flat, facts=frozenset(f for f in flat.facts if f.predicate != "unseen"))
    check = Validator(DOMAIN, known).check(actions(WASH), literals("washed(plate_51)"))
    assert not check.ok and check.failed_step == 1 and not check.assumed
    assert Validator(DOMAIN, simulator.world()).check(actions(WASH), literals("washed(plate_51)")).assumed == ()


@pytest.mark.parametrize(
    "steps, words",
    [
        ("grab(plate_51)", "right_hand_free"),  # known: both hands are full
        ("walk(plate_51); putin(plate_51, sink_25)", "holds_rh(plate_51)"),  # what one holds one knows
        ("open(plate_51)", "can_open(plate_51)"),  # what things are good for is told of all
    ],
)
def test_what_is_known_to_be_false_is_not_assumed(flat, steps, words):
    facts = set(flat.facts)
    if "hand" in words:
        facts -= set(literals("right_hand_free(); left_hand_free()"))
    check = Validator(DOMAIN, replace(flat, facts=frozenset(facts))).check(actions(steps))
    assert not check.ok and words in check.message


def test_a_goal_that_no_step_makes_true_is_unmet_but_may_be_open(flat):
    validator = Validator(DOMAIN, flat)
    goal = literals("closed(fridge_10)")
    untouched = validator.check((), goal)
    assert not untouched.ok and untouched.goal_unmet == untouched.goal_open == goal and untouched.possible
    opened = validator.check(actions("walk(fridge_10); open(fridge_10)"), goal)
    assert opened.goal_unmet == goal and opened.goal_open == () and not opened.possible
    closed = validator.check(actions("walk(fridge_10); open(fridge_10); close(fridge_10)"), goal)
    assert closed.ok and not closed.assumed
    assert not validator.check((), literals("inside(plate_51, sink_25)")).possible  # not declared unknown


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["walk", "find", "grab", "open", "close", "switchon", "wash", "sit"]),
            st.sampled_from(["sink_25", "faucet_26", "plate_51", "fridge_10", "salmon_49"]),
        ),
        max_size=7,
    )
)
def test_what_passes_can_be_done_in_a_world_with_what_was_assumed(flat, steps):
    """And a check leaves the validator as it was."""
    validator = Validator(DOMAIN, flat)
    plan_ = [Action(name, (thing,)) for name, thing in steps]
    check = validator.check(plan_)
    assert validator.check(plan_) == check
    with_assumed = replace(flat, facts=frozenset(f for f in flat.facts if f.predicate != "unseen") | set(check.assumed))
    unseen = [f for f in flat.facts if f.predicate == "unseen"]
    sure = Validator(DOMAIN, replace(with_assumed, facts=with_assumed.facts.union(unseen))).check(plan_)
    assert sure.ok == check.ok and not (check.ok and sure.assumed)


def run(method, plans, sentence, goal, **options):
    body, planner = HomeBody("home_flat"), ScriptedPlanner(plans)
    episode = Episode("t", sentence, literals(goal), DOMAIN, planner, body, Journal())
    method(**options).run(episode)
    return episode, body


def test_tree_planner_keeps_the_plans_that_count_on_least():
    sure = plan("walk(sink_25); walk(faucet_26); switchon(faucet_26)")
    hopeful = plan("walk(sink_25); switchon(faucet_26)", 5)
    episode, body = run(TreePlanner, [hopeful, sure], "turn on the tap", "switched_on(faucet_26)")
    assert episode.journal.events("sampled")[0]["kept"] == 1 and episode.executed == 3
    episode, body = run(TreePlanner, [hopeful], "turn on the tap", "switched_on(faucet_26)")
    assert episode.journal.events("assumed")[0]["literals"] == ["next_to(sink_25, faucet_26)"]
    assert not body.observe().unmet(episode.goal)
    assert [e["assumed"] for e in episode.journal.events("plan")] == [["next_to(sink_25, faucet_26)"]]


@pytest.mark.slow
def test_classical_tries_to_take_what_it_does_not_see_and_learns_where_it_is():
    """The salmon is hidden in the closed microwave: walking there shows nothing, taking it says why."""
    body = HomeBody("home_flat")
    simulator = body.home.simulator
    hide = (
        "walk(salmon_49); grab(salmon_49); walk(microwave); open(microwave); putin(salmon_49, microwave);"
        "close(microwave); walk(sofa)"
    )
    names = {n.class_name: n.name for n in reversed([*simulator.graph.nodes.values()])}
    hide = hide.replace("microwave", names["microwave"]).replace("sofa", names["sofa"])
    assert all(simulator.execute(a).ok for a in actions(hide))
    body.home.simulator = HomeSimulator(graph_now(simulator))
    body.reset()
    goal = literals(f"on(salmon_49, {names['coffee_table']})")
    episode = Episode("t", "", goal, DOMAIN, ScriptedPlanner(), body, Journal())
    Classical(plan_timeout=60.0).run(episode)
    done = [(e["action"], e["code"]) for e in episode.journal.events("action")]
    assert ("grab(salmon_49)", "PRECONDITION_UNMET") in done and not body.observe().unmet(goal)
    assert len(done) < 20


@pytest.mark.parametrize(
    ("row", "data"),
    [
        ("closed(?o)", "'closed(?o)'"),
        ({"fact": "closed(?o)"}, "'when'"),
        ({"fact": "shut(?o)", "when": "unseen(?o)"}, "'shut'"),
        ({"fact": "closed(?o)", "when": "unseen(?x)"}, ("unseen(?x)", "closed")),
        ({"fact": "next_to(?o)", "when": "unseen(?o)"}, ("next_to(?o)", "2")),
        ({"fact": "(", "when": "unseen(?o)"}, "'fact'"),
    ],
)
def test_bad_declarations(row, data):
    with raises_code("domain", data):
        unknown_rules(replace(DOMAIN, extra=MappingProxyType({"unknown": [row]})))


def test_an_effect_on_a_constant_is_none_on_another_thing():
    domain = Domain.load(
        """(define (domain stove_kiosk) (:types thing) (:constants stove - thing)
        (:predicates (unseen ?x - thing) (lit ?x - thing) (warm ?x - thing))
        (:action heat :parameters () :effect (when (lit stove) (warm stove))))""",
        'unknown: [{fact: "lit(?x)", when: "unseen(?x)"}]',
    )
    world = domain.world("cup: thing", "unseen(cup); unseen(stove)")
    checks = {
        name: Validator(domain, world).check(actions("heat()"), literals(f"warm({name})")) for name in ("stove", "cup")
    }
    assert checks["stove"].ok and [str(x) for x in checks["stove"].assumed] == ["lit(stove)"]
    assert not checks["cup"].ok and not checks["cup"].assumed
