"""The loops of the methods against a scripted model and a symbolic body: good path, each recovery path."""

import contextlib
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.base.failure import Code
from planweave.core.checks.validation import Validator
from planweave.core.planning.solver import NoPlanError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.reduced import without
from planweave.core.symbolic.world import Action, Known, Literal, World, WorldObject
from planweave.core.trees.action_tree import Status, build_tree
from planweave.core.workflow.ports import Outcome
from planweave.methods import METHODS, tree_planner
from planweave.methods.base_llm import BaseLLM
from planweave.methods.classical import Classical
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.methods.running.options import options_of
from planweave.methods.tree_planner import TreePlanner

OBJECTS = "a b: item; left_tray right_tray: container; plate: surface; table middle: location"
FACTS = "at(a, table); at(b, table); within(middle, table)"


def episode(planner, body, goal):
    return Episode("t", "do it", literals(goal), Domain.load("tabletop"), planner, body, Journal())


def run(method, plans=(), choices=(), goal="in(a, left_tray)", faults=None, world=None, **options):
    planner = ScriptedPlanner(plans, choices)
    body = SymbolicBody(world or tabletop(OBJECTS, FACTS), faults)
    e = episode(planner, body, goal)
    method(**options).run(e)
    return e, planner, body


def test_one_plan_is_followed_without_asking():
    e, planner, body = run(TreePlanner, [plan("grasp(a); place_in(a, left_tray)", 5)])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert (e.questions, e.corrections, e.executed) == (0, 0, 2)
    assert [row[0] for row in planner.asked] == ["generate"]
    assert e.tree.children and all(n.status is Status.DONE for n in e.tree.subtree() if n.parent)


def test_a_fork_is_asked_with_options_history_and_votes():
    plans = [
        plan("grasp(a); place_in(a, left_tray)", 2),
        plan("grasp(a); place_at(a, middle); grasp(a); place_in(a, left_tray)", 3),
    ]
    e, planner, body = run(TreePlanner, plans, choices=[1])
    kind, history, options, errors = planner.asked[1]
    assert kind == "choose" and [str(a) for a in history] == ["grasp(a)"] and errors == ()
    assert [str(o) for o in options] == ["place_at(a, middle)", "place_in(a, left_tray)"]  # most sampled first
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert e.questions == 1 and e.usage.requests == 2


def test_a_failure_backtracks_undoes_and_asks_again_with_the_error():
    plans = [
        plan("grasp(a); place_in(a, left_tray)", 3),
        plan("grab_and_putin(a, left_tray)", 1),
        plan("grasp(b); place_in(b, right_tray); grasp(a); place_in(a, left_tray)", 1),
    ]
    faults = {"place_in(a, left_tray)": [(Code.PLANNING_FAILED, "no path to left_tray")]}
    e, planner, body = run(TreePlanner, plans, choices=[0, 0], faults=faults, retries=0)
    assert body.done == ["grasp(a)", "place_at(a, table)", "grab_and_putin(a, left_tray)"]
    assert e.corrections == 1
    _, history, options, errors = planner.asked[2]
    assert history == () and errors == ("place_in(a, left_tray): no path to left_tray",)
    assert [str(o) for o in options] == ["grab_and_putin(a, left_tray)", "grasp(b)"]
    first = e.tree.children[next(iter(e.tree.children))]
    assert first.status is Status.INVALID  # a fork whose children are all invalid
    assert [x["done"] for x in e.journal.events("undo")] == [True]


def test_undo_is_skipped_where_the_world_has_done_it_already():
    plans = [plan("grasp(a); place_in(a, left_tray)", 2), plan("grab_and_putin(a, left_tray)", 1)]

    def dropped(world):
        facts = world.facts - {Literal("holding", ("a",))} | set(literals("hand_empty; at(a, middle); at(a, table)"))
        return replace(world, facts=facts)

    faults = {"place_in(a, left_tray)": [(Code.GRASP_LOST, "a slipped out of the gripper", dropped)]}
    e, _, body = run(TreePlanner, plans, choices=[0], faults=faults)
    assert body.done == ["grasp(a)", "grab_and_putin(a, left_tray)"]
    assert e.journal.events("undo")[0]["done"] is False
    assert body.world.holds(Literal.parse("in(a, left_tray)"))


def test_the_loop_ends_where_no_branch_is_left():
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}
    plans = [plan("grasp(a); place_in(a, left_tray)")]
    e, _, body = run(TreePlanner, plans, faults=faults, retries=0, asked_again=0)
    assert body.done == [] and e.corrections == 1
    assert e.message.endswith("closed on nothing")  # the body's own words


def test_where_no_branch_is_left_other_plans_are_asked_for_with_what_failed():
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}
    e, planner, body = run(TreePlanner, [plan("grasp(a); place_in(a, left_tray)")], faults=faults, retries=0)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 1
    assert [list(a[2]["errors"]) for a in planner.asked if a[0] == "generate"] == [[], ["grasp(a): closed on nothing"]]


def test_what_went_wrong_stays_the_message_where_there_are_no_other_plans():
    planner = ScriptedPlanner([plan("grasp(a); place_in(a, left_tray)")])
    planner.other_plans = ()
    body = SymbolicBody(tabletop(OBJECTS, FACTS), {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]})
    e = episode(planner, body, "in(a, left_tray)")
    TreePlanner(retries=0).run(e)
    assert [a[0] for a in planner.asked].count("generate") == 2 and body.done == []
    assert e.message.endswith("closed on nothing")


def test_where_the_goal_is_seen_not_to_hold_other_plans_are_asked_for_with_what_is_not_so():
    class Slippery(SymbolicBody):
        """At first a thing put into the left tray rolls into the right one."""

        def execute(self, action, **more):
            first = action.name == "place_in" and str(action) not in self.done
            return super().execute(Action.parse("place_in(a, right_tray)") if first else action, **more)

    planner = ScriptedPlanner([plan("grasp(a); place_in(a, left_tray)")])
    body = Slippery(tabletop(OBJECTS, FACTS))
    e = episode(planner, body, "in(a, left_tray)")
    TreePlanner().run(e)
    errors = [list(a[2]["errors"]) for a in planner.asked if a[0] == "generate"]
    assert errors[0] == [] and errors[1] == [
        "grasp(a), place_in(a, left_tray): done, but now it is not so that the a is in the left tray"
    ]


def test_what_fails_by_chance_is_tried_again_before_its_branch_is_given_up():
    plans = [plan("grasp(a); place_in(a, left_tray)", 3), plan("grab_and_putin(a, left_tray)", 1)]
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}
    e, planner, body = run(TreePlanner, plans, choices=[0], faults=faults)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 0 and e.steps == 3
    assert [x["code"] for x in e.journal.events("retry")] == ["NO_GRASP"]
    faults = {"grasp(a)": [(Code.COLLISION, "touched b")]}
    e, _, body = run(TreePlanner, plans, choices=[0], faults=faults)
    assert body.done == ["grab_and_putin(a, left_tray)"] and e.corrections == 1 and e.steps == 2
    faults = {"grasp(a)": [(Code.TIMEOUT, "too slow")] * 2}
    e, _, body = run(TreePlanner, plans, choices=[0], faults=faults)
    assert body.done == ["grab_and_putin(a, left_tray)"] and e.corrections == 1, "once by default"


def test_the_model_is_told_what_could_not_be_undone():
    """hand_over has no inverse: on the other branch it is still among what was done, and an error says so."""
    plans = [
        plan("grasp(a); hand_over(a); grasp(b); place_in(b, left_tray)", 3),
        plan("grab_and_putin(b, left_tray)", 2),
        plan("grasp(b); place_in(b, left_tray)", 1),
    ]
    faults = {"grasp(b)": [(Code.COLLISION, "touched a")]}
    e, planner, body = run(TreePlanner, plans, choices=[0, 0], goal="in(b, left_tray)", faults=faults)
    asked = [row for row in planner.asked if row[0] == "choose"]
    _, history, options, errors = asked[1]
    assert "hand_over(a)" in [str(a) for a in history]
    assert any("hand_over(a) was done on the way and could not be undone" in error for error in errors)
    assert body.done[-1] == "grab_and_putin(b, left_tray)"


def test_corrections_are_limited():
    plans = [plan("grasp(a); place_in(a, left_tray)", 3), plan("grab_and_putin(a, left_tray)", 1)]
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}
    e, _, body = run(TreePlanner, plans, choices=[0], faults=faults, max_corrections=0, retries=0)
    assert body.done == [] and e.corrections == 0 and "correction" in e.message


def test_a_safety_stop_ends_everything():
    plans = [plan("grasp(a); place_in(a, left_tray)", 3), plan("grab_and_putin(a, left_tray)", 1)]
    e, _, body = run(TreePlanner, plans, choices=[0], faults={"grasp(a)": [(Code.SAFETY_STOP, "stopped by hand")]})
    assert body.done == [] and e.corrections == 0


def test_plans_that_do_not_reach_the_goal_are_dropped_and_recorded():
    plans = [plan("grasp(a); place_in(a, right_tray)", 3), plan("place_in(a, left_tray)", 2)]
    e, planner, body = run(TreePlanner, plans, goal="in(a, left_tray); at(b, table)", asked_again=0)
    assert body.done == [] and " 5 " in e.message
    assert [p["valid"] for p in e.journal.events("plan")] == [False, False]
    assert e.journal.events("gcr")[0]["max"] == 0.5


@pytest.mark.parametrize(
    "text, kind",
    [
        ("grasp(a); place_in(a, left_tray)", ""),
        ("grasp(ghost); place_in(ghost, left_tray)", "environment misunderstanding"),
        ("place_in(a, left_tray)", "incomplete plan"),
        ("grasp(a)", "incomplete plan"),
        ("grasp(b); grasp(a); place_in(a, left_tray)", "illogical error"),
    ],
)
def test_each_sampled_plan_has_the_type_of_its_error(text, kind):
    e, _, _ = run(TreePlanner, [plan(text)])
    assert e.journal.events("plan")[0]["error_type"] == kind


def test_each_failed_action_has_the_type_of_its_error():
    plans = [plan("place_in(a, left_tray); grasp(b); grasp(a); grasp(ghost)")]
    faults = {"grasp(b)": [(Code.NO_GRASP, "closed on nothing")]}
    e, _, _ = run(BaseLLM, plans, faults=faults)
    kinds = [x.get("error_type") for x in e.journal.events("action")]
    assert kinds == ["incomplete plan", "semantically correct", None, "environment misunderstanding"]
    e, _, _ = run(BaseLLM, [plan("grasp(b); grasp(a)")])
    assert e.journal.events("action")[1]["error_type"] == "illogical error"


def test_the_paper_keeps_all_plans():
    e, _, body = run(TreePlanner, [plan("grasp(a); place_in(a, right_tray)", 3)], check_plans=False)
    assert body.done == ["grasp(a)", "place_in(a, right_tray)"]


@pytest.mark.parametrize(
    "guide, first", [("language", "grasp(a)"), ("environment", "grab_and_putin(a, left_tray)"), ("hybrid", "grasp(a)")]
)
def test_guided_variants_ask_nothing(guide, first):
    plans = [plan("grasp(a); place_in(a, left_tray)", 9), plan("grab_and_putin(a, left_tray)", 1)]
    world = tabletop(OBJECTS, FACTS)
    e, planner, body = run(TreePlanner, plans, guide=guide, world=world)
    assert [row[0] for row in planner.asked] == ["generate"]
    expected = "grasp(a)" if guide == "environment" else first  # all objects are seen: a tie, most sampled first
    assert body.done[0] == expected


def test_environment_guide_prefers_what_can_be_seen():
    plans = [plan("grasp(ghost); place_in(ghost, left_tray)", 9), plan("grasp(a); place_in(a, left_tray)", 1)]
    e, _, body = run(TreePlanner, plans, guide="environment", check_plans=False)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]


def test_environment_guide_does_not_take_what_is_remembered_for_observable():
    world = tabletop(OBJECTS, FACTS)
    known = {"a": Known.REMEMBERED, "left_tray": Known.FIXED}
    world = replace(world, objects=tuple(replace(o, known=known.get(o.name, Known.SEEN)) for o in world.objects))
    assert not world.observable("a") and not world.observable("ghost")
    assert world.observable("b") and world.observable("left_tray")
    plans = [plan("grasp(a); place_in(a, left_tray)", 9), plan("grasp(b); place_in(b, left_tray)", 1)]
    tree = build_tree(plans)
    first, second = TreePlanner(guide="environment")._weights(world, tree.valid_children())
    assert first < second


def test_classical_reaches_the_goal():
    e, planner, body = run(Classical, goal="in(a, left_tray); on(b, plate)")
    assert body.world.unmet(e.goal) == () and planner.asked == []


def test_classical_plans_again_after_a_slip():
    faults = {"grab_and_putin(a, left_tray)": [(Code.NO_GRASP, "closed on nothing")] * 2}
    e, _, body = run(Classical, faults=faults)
    assert body.done == ["grab_and_putin(a, left_tray)"] and e.corrections == 2


def test_classical_plans_again_when_the_world_surprises():
    def moved(world):
        return replace(world, facts=world.facts | set(literals("on(b, a)")) - set(literals("clear(a); at(b, table)")))

    world, action = tabletop(OBJECTS, FACTS), "grab_and_putin(a, left_tray)"
    for fault, times in ((Code.PLANNING_FAILED, 1), (Code.COLLISION, 2)):
        body = SymbolicBody(world, {action: [(fault, "b is in the way", lambda world: world)] * times})
        with pytest.raises(NoPlanError):  # it disproves that they can be reached, as long as nothing changes
            Classical().run(episode(ScriptedPlanner(), body, "in(a, left_tray)"))
    once = Code.COLLISION, "touched b", lambda world: world
    for fault in (once, (Code.COLLISION, "touched b", moved), (Code.NO_GRASP, "slipped", moved)):
        body = SymbolicBody(world, {action: [fault]})
        e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
        Classical().run(e)
        assert body.world.unmet(e.goal) == ()


@pytest.mark.parametrize(("unmet", "times"), [("reachable(a)", 2), ("", 4)], ids=["none is free", "tried"])
def test_classical_ends_where_no_grasp_is_free_twice(unmet, times):
    """Which is no chance failure, as a grasp that closed on nothing."""

    class Walled(SymbolicBody):
        def execute(self, action, **told):
            found = super().execute(action, **told)
            return replace(found, unmet=literals(unmet))

    grasps = ("grab_and_putin(a, left_tray)", "grasp(a)")
    body = Walled(tabletop(OBJECTS, FACTS), {each: [(Code.NO_GRASP, "b leaves no room")] * 9 for each in grasps})
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    with raises_code("no_plan", "no room") if unmet else contextlib.nullcontext():
        Classical().run(e)
    assert len(e.journal.events("action")) == times


@pytest.mark.parametrize("comes_back", [True, False])
def test_classical_looks_once_more_before_it_finds_no_plan(comes_back):
    """What one look shows badly, as after an action, is no reason to end."""
    hidden = set(literals("reachable(a)"))

    class Blinking(SymbolicBody):
        def look(self, seconds):
            self.world = replace(self.world, facts=self.world.facts | (hidden if comes_back else set()))
            return super().look(seconds)

    fault = Code.NO_GRASP, "slipped", lambda world: replace(world, facts=world.facts - hidden)
    body = Blinking(tabletop(OBJECTS, FACTS), {"grab_and_putin(a, left_tray)": [fault]})
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    with contextlib.nullcontext() if comes_back else pytest.raises(NoPlanError):
        Classical().run(e)
    assert (body.world.unmet(e.goal) == ()) == comes_back


@pytest.mark.parametrize("free", ["behind", ""])
def test_where_there_is_no_room_at_one_side_the_others_are_tried(free):
    """What is held stays in reach, and so does what it shall be near to."""
    world = tabletop(OBJECTS, "holding(a); at(b, table); within(middle, table)")
    sides = {"left_of", "right_of", "in_front_of", "behind"} - {free}
    fault = Code.PLANNING_FAILED, "there is no room", lambda world: world
    body = SymbolicBody(world, {f"place_{side}(a, b)": [fault] * 9 for side in sides})
    e = episode(ScriptedPlanner(), body, "near(a, b)")
    with contextlib.nullcontext() if free else raises_code("no_plan", "there is no room"):
        Classical().run(e)
    assert (body.world.unmet(e.goal) == ()) is bool(free)
    failed = [
        event["action"] for event in e.journal.events("action") if not event.get("ok", event["code"] == "SUCCESS")
    ]
    assert len(failed) == len(set(failed)) >= 3, "none is tried twice while nothing changes"


def test_what_does_not_fit_is_not_put_down_and_taken_again_to_be_tried_anew():
    """That it is in the hand now, or on the table again, is no change around it."""
    full = Code.PLANNING_FAILED, "there is no room"
    taken = (
        *full,
        lambda world: replace(world, facts=world.facts - set(literals("at(a, table)")) | set(literals("holding(a)"))),
    )
    faults = {"grab_and_putin(a, left_tray)": [taken] * 9, "place_in(a, left_tray)": [(*full, lambda w: w)] * 9}
    body = SymbolicBody(tabletop(OBJECTS, "at(a, table); at(b, table); within(middle, table)"), faults)
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    with raises_code("no_plan", "there is no room"):
        Classical().run(e)
    assert len(e.journal.events("action")) == 2


@pytest.mark.parametrize(("changed", "then"), [("at(b, middle)", "a"), ("holding(b)", "b"), ("", "b")])
def test_what_was_out_of_reach_is_tried_again_once_something_has_changed(changed, then):
    """Either of two things may go; what the hand holds or reaches is no change around it."""
    world = tabletop(OBJECTS, FACTS + "; near(a, b); near(b, a)")
    faults = {
        f"{name}({thing})": [failure]
        for name in ("grasp", "push_aside")
        for thing, failure in (
            ("a", (Code.PLANNING_FAILED, "no way was found")),
            ("b", (Code.NO_GRASP, "closed on nothing", lambda w: replace(w, facts=w.facts | set(literals(changed))))),
        )
    }
    body, begun = SymbolicBody(world, faults), []
    execute = body.execute
    body.execute = lambda action, **more: (begun.append(action.args[0]), execute(action, **more))[1]
    Classical(max_replans=2).run(episode(ScriptedPlanner(), body, "not near(a, b)"))
    assert begun[:3] == ["a", "b", then]


def test_classical_puts_elsewhere_what_is_in_the_way_again_where_it_was_put():
    body = SymbolicBody(tabletop(OBJECTS, "at(a, table); on(b, a); within(middle, table)"))
    execute, before = body.execute, body.world

    def back(action, **more):
        outcome = execute(action, **more)
        if action.args[1:] not in (("middle",), ("table",)):
            return outcome
        body.world = before
        return replace(outcome, world=before)

    body.execute = back
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    Classical().run(e)
    assert body.world.unmet(e.goal) == ()


def test_classical_shuts_first_what_leaves_no_room_to_open_the_other():
    facts = (
        "can_open(top); opened(low); can_open(low); reachable(top); reachable(low); hand_empty; at_base; closed(top)"
    )
    things = tuple(WorldObject(name, "part", "drawer") for name in ("top", "low"))
    body = SymbolicBody(World("kitchen", things, frozenset(literals(facts))))
    execute = body.execute

    def blocked(action, **more):
        if str(action) == "open(top)" and Literal("opened", ("low",)) in body.world.facts:
            body.faults = {"open(top)": [(Code.PLANNING_FAILED, "low is in the way", lambda world: world)]}
        return execute(action, **more)

    body.execute = blocked
    goal = literals("closed(low); opened(top)")
    e = Episode("t", "do it", goal, Domain.load("kitchen"), ScriptedPlanner(), body, Journal())
    Classical().run(e)
    assert body.done == ["close(low)", "open(top)"]


def test_classical_moves_away_first_what_the_body_finds_in_the_way():
    """No fact of the world tells it: the body does, of what the action needs."""
    facts = "can_open(top); closed(top); reachable(top); reachable(mug); reachable(counter); clear(mug); hand_empty"
    things = WorldObject("top", "part", "drawer"), WorldObject("mug", "item"), WorldObject("counter", "location")
    body = SymbolicBody(World("kitchen", things, frozenset(literals(facts + "; at(mug, counter)"))))
    execute = body.execute

    def blocked(action, **more):
        if str(action) == "open(top)" and not body.done:
            unmet = literals("not blocks(mug, top)")
            return Outcome(Code.PLANNING_FAILED, "no free way", body.world, unmet)
        return execute(action, **more)

    body.execute = blocked
    e = Episode("t", "do it", literals("opened(top)"), Domain.load("kitchen"), ScriptedPlanner(), body, Journal())
    Classical().run(e)
    assert body.done == ["grasp(mug)", "place_at(mug, counter)", "open(top)"]


@pytest.mark.parametrize("code", [Code.PLANNING_FAILED, Code.CONTROL_FAILED])
@pytest.mark.parametrize("had", [False, True])
def test_what_cannot_be_put_where_it_was_to_be_is_put_down_again(code, had):
    """Not what it held before; and the task fails with its own reason."""
    facts = FACTS.replace("at(a, table); ", "holding(a); ") if had else FACTS
    fault = (code, "the tray has gone wild")
    faults = {f"{way}(a, left_tray)": [fault] * 99 for way in ("place_in", "grab_and_putin")}
    body = SymbolicBody(tabletop(OBJECTS, facts), faults)
    e = episode(ScriptedPlanner(), body, "in(a, left_tray); in(b, right_tray)")
    e.domain = without(e.domain, frozenset({"grab_and_putin"}))
    with contextlib.suppress(NoPlanError):
        Classical().run(e)
    assert body.world.unmet(e.goal) and (Literal("holding", ("a",)) in body.world.facts) is had
    assert e.failed is not None and e.failed.code is code


def test_classical_gives_up_on_what_always_fails():
    faults = {
        "grab_and_putin(a, left_tray)": [(Code.NO_GRASP, "closed on nothing")] * 99,
        "grasp(a)": [(Code.NO_GRASP, "closed on nothing")] * 99,
    }
    e, _, body = run(Classical, faults=faults, retries=2)
    assert body.done == [] and "gave up" in e.message and e.steps == 3


def test_ff_replan_limited_plans_only_for_what_was_seen():
    world = tabletop(OBJECTS, FACTS).all_seen()
    known = {"a": Known.UNKNOWN}
    unseen = replace(world, objects=tuple(replace(o, known=known.get(o.name, o.known)) for o in world.objects))
    with raises_code("no_plan", "classical.limited"):
        run(Classical, world=unseen, limited=True)
    _, _, body = run(Classical, world=unseen)
    assert body.done
    _, _, body = run(Classical, world=world, limited=True)
    assert body.done


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_run_as_in_its_paper(name):
    """PAPER names options of the method and values that they may have, other than their defaults."""
    made, rows = METHODS[name], options_of(name)
    assert "paper" in rows and "paper" not in made.PAPER
    for option, value in made.PAPER.items():
        assert rows[option].checked(value, name) == value != rows[option].default
    assert {k: getattr(made(paper=True), k) for k in made.PAPER} == dict(made.PAPER)
    assert {k: getattr(made(), k) for k in made.PAPER} == {k: rows[k].default for k in made.PAPER}


def test_options_that_are_set_stay_as_they_are_beside_paper():
    method = TreePlanner(paper=True, retries=3, samples=7)
    assert (method.check_plans, method.retries, method.samples) == (False, 3, 7)


def test_as_in_the_paper_plans_are_sampled_by_request_and_nothing_is_repeated():
    faults = {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}
    e, planner, body = run(TreePlanner, [plan("grasp(a); place_in(a, left_tray)")], faults=faults, paper=True)
    assert planner.asked[0][2]["method"] == "tree_planner_paper"
    assert body.done == [] and e.corrections == 1


@pytest.mark.parametrize("merge, asked", [(True, 0), (False, 1)])
def test_children_that_change_the_world_alike_are_one_option(merge, asked):
    plans = [plan("walk(c)", 2), plan("run(c)", 1)]
    home = World(
        "household",
        (WorldObject("kitchen", "room"), WorldObject("c", "item")),
        frozenset(literals("agent_in(kitchen); in_room(c, kitchen)")),
    )
    planner, body = ScriptedPlanner(plans, [0]), SymbolicBody(home)
    e = Episode("t", "go", literals("close_to(c)"), Domain.load("household"), planner, body, Journal())
    TreePlanner(merge_alike=merge).run(e)
    assert e.questions == asked and body.done == ["walk(c)"]


def test_cancellation_ends_a_loop():
    body = SymbolicBody(tabletop(OBJECTS, FACTS))
    e = episode(ScriptedPlanner([plan("grasp(a); place_in(a, left_tray)")]), body, "in(a, left_tray)")
    e.changed = lambda: e.canceled.cancel("enough") if e.executed else None
    with raises_code("canceled", "enough"):
        TreePlanner().run(e)
    assert body.done == ["grasp(a)"]


def test_classical_says_why_it_gave_up():
    body = SymbolicBody(tabletop(OBJECTS, FACTS))  # whatever is put down is back where it was
    execute, before = body.execute, body.world

    def undone(action, **more):
        outcome = execute(action, **more)
        body.world = before
        return replace(outcome, world=before)

    body.execute = undone
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    Classical(max_replans=2).run(e)
    assert e.message == (
        "gave up after 2 replans, at last since after it did 'pick up the a and put it in the left "
        "tray', the a is not in the left tray"
    )


@pytest.mark.parametrize(
    ("code", "times"), [(Code.SAFETY_STOP, ""), (Code.NO_GRASP, " 3 times, at last")], ids=["final", "retried"]
)
def test_classical_counts_only_what_failed(code, times):
    body = SymbolicBody(tabletop(OBJECTS, FACTS), {"grab_and_putin(a, left_tray)": [(code, "it did not work")] * 9})
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    Classical(retries=2).run(e)
    assert e.message == f"gave up: grab_and_putin(a, left_tray) failed{times} since: it did not work"
    assert e.failed.code is code


def test_classical_tells_of_the_action_that_a_safety_limit_stopped():
    """And not of the one that has failed most often until then."""
    body = SymbolicBody(
        tabletop(OBJECTS, FACTS),
        {
            "grab_and_putin(a, left_tray)": [(Code.NO_GRASP, "it slipped")] * 2,
            "grab_and_putin(b, left_tray)": [(Code.SAFETY_STOP, "somebody is near b")],
        },
    )
    e = episode(ScriptedPlanner(), body, "in(a, left_tray); in(b, left_tray)")
    Classical().run(e)
    assert e.message == "gave up: grab_and_putin(b, left_tray) failed since: somebody is near b"


def test_where_failures_leave_no_plan_they_are_told():
    fault = (Code.PLANNING_FAILED, "no way was found in 5 s")
    body = SymbolicBody(tabletop(OBJECTS, FACTS), {"grab_and_putin(a, left_tray)": [fault], "grasp(a)": [fault]})
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    with raises_code("no_plan", "5 s"):
        Classical().run(e)


def test_what_is_not_there_any_more_is_told_as_that():
    def taken_away(world):
        left = tuple(o for o in world.objects if o.name != "a")
        return replace(world, objects=left, facts=frozenset(f for f in world.facts if "a" not in f.args))

    lost = (Code.GRASP_LOST, "a slipped", taken_away)
    body = SymbolicBody(tabletop(OBJECTS, FACTS), {"grab_and_putin(a, left_tray)": [lost]})
    e = episode(ScriptedPlanner(), body, "in(a, left_tray)")
    with raises_code("no_plan"):
        Classical().run(e)


def asked_again(*plans, other=(), **options):
    """Tree-Planner with a model whose first plans do not pass the check."""
    planner = ScriptedPlanner(plans)
    planner.other_plans = tuple(other)
    body = SymbolicBody(tabletop(OBJECTS, FACTS))
    e = episode(planner, body, "in(a, left_tray)")
    TreePlanner(**options).run(e)
    return e, body, [asked[2]["errors"] for asked in planner.asked if asked[0] == "generate"]


def test_where_no_plan_passes_the_check_the_model_is_told_and_asked_once_more():
    wrong = plan("grasp(a); place_in(a, right_tray)", 3), plan("place_in(a, left_tray)")
    e, body, told = asked_again(*wrong, other=[plan("grasp(a); place_in(a, left_tray)")])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert told[0] == () and len(told[1]) == 2 and len(told) == 2
    assert told[1][0].startswith("grasp(a), place_in(a, right_tray): ") and "left tray" in told[1][0]
    assert [event["kept"] for event in e.journal.events("sampled")] == [0, 1]


def test_it_is_asked_as_often_as_is_wanted():
    wrong = plan("grasp(a); place_in(a, right_tray)")
    for times in (1, 2, 3):
        _, body, told = asked_again(wrong, other=[wrong], asked_again=times)
        assert len(told) == 1 + times and body.done == []


@pytest.mark.parametrize("options", [{"asked_again": 0}, {"paper": True}, {"check_plans": False}])
def test_plans_are_asked_for_once_where_that_is_wanted(options):
    assert len(asked_again(plan("grasp(a); place_in(a, right_tray)"), **options)[2]) == 1


def test_an_action_that_failed_and_would_change_nothing_counts_as_done():
    plans = [plan("grasp(a); grasp(a); place_in(a, left_tray)")]
    e, _, body = run(TreePlanner, plans, check_plans=False)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 0
    assert [event["action"] for event in e.journal.events("needless")] == ["grasp(a)"]
    e, _, body = run(TreePlanner, plans, check_plans=False, skip_needless=False)
    assert e.corrections == 1 and not e.journal.events("needless")


def test_an_action_that_failed_and_would_change_something_is_a_failure():
    e, _, _ = run(TreePlanner, [plan("place_in(a, left_tray)")], check_plans=False)
    assert e.corrections == 1 and not e.journal.events("needless")


def test_what_nobody_has_looked_at_is_not_told_as_wrong():
    world, goal = tabletop(OBJECTS, FACTS), literals("in(a, left_tray); at(b, middle)")
    check = replace(Validator(Domain.load("tabletop"), world).check((), goal), goal_open=goal[1:])
    e = episode(ScriptedPlanner(), SymbolicBody(world), "in(a, left_tray)")
    assert tree_planner._fault(e, check) == "in the end it is not so that the a is in the left tray"
