"""The loop of `blocking`: what may show an unseen thing, chance failures, and the number of candidates."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from codes import raises_code
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, tabletop

from planweave.bench.episodes import Spec, play
from planweave.bench.records import Recorder
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, World, WorldObject
from planweave.core.workflow.ports import Choice
from planweave.methods.blocking import Blocking, revealing_actions
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal

ROOMS = tuple(WorldObject(name, "room") for name in ("kitchen", "bedroom"))
THINGS = tuple(WorldObject(name, "item") for name in ("fridge", "apple"))
FACTS = (
    "agent_in(kitchen); in_room(fridge, kitchen); can_open(fridge); container(fridge); closed(fridge); "
    "grabbable(apple); unseen(apple); close_to(fridge); right_hand_free; left_hand_free"
)
KITCHEN = World("household", (*ROOMS, *THINGS), frozenset(literals(FACTS)))


def run(method, world, goal, prefer=(), faults=None):
    """The episode, the body, and the candidates of each selection; of them the first that is preferred is taken."""
    offered = []

    def select(name, sentence, shown, history, options, **more):
        offered.append([str(o) for o in options])
        index = next((offered[-1].index(p) for p in prefer if p in offered[-1]), 0)
        return Choice(index, ())

    planner = ScriptedPlanner()
    planner.select_action = select
    body = SymbolicBody(world, faults)
    episode = Episode("t", "do it", literals(goal), Domain.load(world.domain), planner, body, Journal())
    method.run(episode)
    return episode, body, offered


def test_what_may_show_a_thing_is_declared_by_the_domain():
    domain, transition = Domain.load("household"), Transition(Domain.load("household"), KITCHEN)
    found = revealing_actions(domain, transition, transition.state())
    assert [str(a) for a in found] == ["open(fridge)", "walk(bedroom)"]
    bad = replace(domain, extra=MappingProxyType({"candidates": {"reveals": {"open": ["shut(?o)"]}}}))
    with raises_code("domain", "'shut'"):
        revealing_actions(bad, transition, transition.state())
    tabletop_domain, table = Domain.load("tabletop"), Transition(Domain.load("tabletop"), tabletop("a: item"))
    assert revealing_actions(tabletop_domain, table, table.state()) == []


def test_as_in_the_paper_a_thing_that_was_never_seen_blocks():
    """Nothing goes straight to the apple: what may show it is offered, and after all of it was done the task ends."""
    _, body, offered = run(Blocking(reveal="unseen"), KITCHEN, "holds_rh(apple)")
    assert ["open(fridge)", "walk(bedroom)"] in offered
    assert {d.partition("(")[2] for d in body.done} <= {"fridge)", "bedroom)", "kitchen)"}

    def found(world):
        world = replace(world, facts=world.facts - set(literals("unseen(apple); closed(fridge)")))
        return replace(world, facts=world.facts | set(literals("inside(apple, fridge); opened(fridge)")))

    body = SymbolicBody(KITCHEN)
    execute = body.execute

    def opened(action, **more):
        outcome = execute(action, **more)
        if str(action) == "open(fridge)":
            body.world = found(body.world)
        return replace(outcome, world=body.world)

    body.execute = opened
    planner = ScriptedPlanner()
    planner.select_action = lambda *a, **k: Choice(next((i for i, o in enumerate(a[4]) if o.name == "open"), 0), ())
    episode = Episode("t", "get it", literals("holds_rh(apple)"), Domain.load("household"), planner, body, Journal())
    Blocking(reveal="unseen").run(episode)
    assert body.world.unmet(episode.goal) == () and body.done[0] == "open(fridge)"


def test_where_acting_on_an_unseen_thing_failed_it_is_looked_for():
    faults = {"grab(apple)": [(Code.PRECONDITION_UNMET, "no apple is near")] * 9}
    prefer = ["walk(apple)", "grab(apple)", "open(fridge)"]
    _, body, _ = run(Blocking(), KITCHEN, "holds_rh(apple)", prefer, faults)
    assert body.done[0] == "walk(apple)" and "open(fridge)" in body.done


def test_a_failure_by_chance_of_the_only_candidate_does_not_end_it():
    world = tabletop("a: item; table: location", "at(a, table)")
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")] * 2}
    episode, body, _ = run(Blocking(), world, "holding(a)", faults=dict(faults))
    assert body.done == ["grasp(a)"] and episode.corrections == 2
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")] * 99}
    episode, body, _ = run(Blocking(retries=3), world, "holding(a)", faults=faults)
    assert episode.steps == 4 and "no action" in episode.message
    faults = {"grasp(a)": [(Code.UNREACHABLE, "too far")] * 99}
    episode, body, _ = run(Blocking(), world, "holding(a)", faults=faults)
    assert episode.steps == 1, "it would fail again"


@pytest.mark.parametrize("limit, cut", [(15, 5), (0, 0)])
def test_candidates_that_are_cut_off_are_recorded(limit, cut):
    items = " ".join(f"i{n}" for n in range(20))
    world = tabletop(f"a: item; tray: container; {items}: item; table: location", "at(a, table)")
    held = world.facts - set(literals("hand_empty; at(a, table)")) | set(literals("holding(a)"))
    world = replace(world, facts=held)
    episode, _, offered = run(Blocking(max_actions=1, max_candidates=limit), world, "hand_empty")
    onto = [o for o in offered[0] if o.startswith("place_on(")]
    assert len(onto) == 20 - cut
    events = [e for e in episode.journal.events("candidates_cut") if e["literal"] == "hand_empty()"]
    assert bool(events) == bool(cut) and all(e["limit"] == 15 and e["left_out"] >= cut for e in events)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["toothbrush_on_the_counter", "wash_the_plate"])
def test_the_papers_way_finds_things_in_a_home(task):
    ended = play(Spec("home", task, "blocking:reveal=unseen", "simulated:0", 0), Recorder())
    assert ended.measures.sr == 1, ended.error


def test_an_action_is_not_offered_to_show_a_thing_when_it_did_not():
    """Walking to and fro between rooms shows nothing new."""
    episode, body, _ = run(Blocking(reveal="unseen"), KITCHEN, "holds_rh(apple)", ["walk(bedroom)", "walk(kitchen)"])
    assert body.done.count("walk(bedroom)") == 1 and "no action" in episode.message
    assert Action("open", ("fridge",)) in episode.used
