"""The domain loader, the transition function, validation and classical planning, on the tabletop domain."""

import re
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.scripted import literals, tabletop

from planweave.core.base.errors import ParseError, UnknownNameError
from planweave.core.checks.validation import achievers, validate
from planweave.core.planning.kairos_search import SearchResult
from planweave.core.planning.pddl_writer import domain_pddl, problem_pddl
from planweave.core.planning.solver import NoPlanError, _reason, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, facts_of, inverse_actions
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.goals import unsaid

OBJECTS = "a b: item; tray: container; plate: surface; table left: location"
FACTS = "on(a, b); at(b, left); at(b, table); within(left, table)"


@pytest.fixture
def domain():
    return Domain.load("tabletop")


@pytest.fixture
def world():
    return tabletop(OBJECTS, FACTS)


def unmet(domain, world, text):
    transition = Transition(domain, world)
    return {str(x) for x in transition.unmet(transition.state(), Action.parse(text))}


@pytest.mark.parametrize(
    "action, missing",
    [
        ("grasp(a)", set()),
        ("grasp(b)", {"clear(b)"}),
        ("place_in(a, tray)", {"holding(a)"}),
        ("place_on(a, a)", {"holding(a)", "not =(a, a)"}),
        ("return_to_base()", set()),
        ("grab_and_putin(a, plate)", set()),
    ],
)
def test_unmet(domain, world, action, missing):
    assert unmet(domain, world, action) == missing


@pytest.mark.parametrize(
    ("action", "code", "data"),
    [
        ("graps(a)", "unknown_name", "'grasp'"),
        ("grasp(c)", "unknown_name", "'c'"),
        ("grasp(tray)", "invalid_action", ("grasp(tray)", "container", "item")),
        ("grasp(a, b)", "invalid_action", ("grasp(a, b)", "grasp(i)")),
        ("place_on(a, tray)", "invalid_action", ("place_on(a, tray)", "surface")),
    ],
)
def test_not_an_action(domain, world, action, code, data):
    with raises_code(code, data):
        unmet(domain, world, action)


@pytest.mark.parametrize(
    "action, added, deleted",
    [
        ("grasp(a)", "holding(a); clear(b)", "on(a, b); hand_empty; at_base"),
        ("grab_and_putin(a, tray)", "in(a, tray); clear(b)", "on(a, b); at_base"),
        ("grab_and_putin(a, plate)", "on(a, plate); clear(b)", "on(a, b); at_base"),
    ],
)
def test_effects(domain, world, action, added, deleted):
    transition = Transition(domain, world)
    state = transition.state()
    change = transition.apply(state, Action.parse(action))
    assert {Literal(f[0], f[1:]) for f in change.added} == set(literals(added))
    assert {Literal(f[0], f[1:]) for f in change.deleted} == set(literals(deleted))
    transition.undo(state, change)
    assert facts_of(state) == world.facts


def test_place_at_a_part_of_a_place(domain):
    world = tabletop(OBJECTS, "holding(a); at(b, table); within(left, table); narrow(left)")
    after = Transition(domain, world).result(world, Action.parse("place_at(a, left)"))
    assert after.holds(Literal.parse("at(a, table)"))
    assert not after.holds(Literal.parse("clear(left)"))
    assert after.holds(Literal.parse("clear(table)"))


@pytest.mark.parametrize(
    "action, inverse",
    [
        ("grasp(a)", ["place_on(a, b)"]),
        ("grab_and_putin(b, tray)", ["grasp(b)", "place_at(b, left)"]),  # the smaller of the two places
        ("place_in(a, tray)", ["grasp(a)"]),
        ("return_to_base()", []),
    ],
)
def test_inverse(domain, world, action, inverse):
    found = inverse_actions(domain, world, Action.parse(action))
    assert [str(x) for x in found] == inverse


def test_no_inverse_where_it_was_nowhere(domain):
    assert inverse_actions(domain, tabletop("a: item"), Action.parse("grasp(a)")) is None


@pytest.mark.parametrize(
    "steps, goal, ok, words",
    [
        ("grasp(a); place_in(a, tray); grasp(b); place_on(b, plate)", "in(a, tray); on(b, plate)", True, "goal holds"),
        ("grasp(b)", "", False, r"step 1, grasp\(b\): clear\(b\) does not hold \(achieved by grasp"),
        ("grasp(a); grasp(b)", "", False, r"step 2, .* hand_empty\(\) does not hold since step 1, grasp\(a\)"),
        ("grasp(a)", "in(a, tray)", False, r"the goal is not reached: in\(a, tray\)"),
        ("fly(a)", "", False, "unknown action 'fly'"),
        ("", "holding(a)", False, "not reached"),
    ],
)
def test_validate(domain, world, steps, goal, ok, words):
    actions = [Action.parse(s) for s in steps.split(";") if s.strip()]
    result = validate(domain, world, actions, literals(goal))
    assert result.ok is ok
    assert re.search(words, result.message), result.message


def test_what_the_body_refuses_passes_no_check_and_is_in_no_plan(domain, world):
    able = replace(world, actions_off=frozenset({"grab_and_putin"}))
    goal = literals("in(a, tray)")
    assert solve(domain, world, goal) == (Action("grab_and_putin", ("a", "tray")),)
    for all_outcomes in (False, True):
        plan = solve(domain, able, goal, all_outcomes=all_outcomes)
        assert [a.name for a in plan] == ["grasp", "place_in"] and validate(domain, able, plan, goal).ok
    refused = validate(domain, able, [Action.parse("grab_and_putin(a, tray)")], goal)
    words = "the body refuses grab_and_putin (actions_off)"
    assert refused.failed_step == 0 and refused.message == f"step 1, grab_and_putin(a, tray): {words}"

    unable = replace(world, actions_off=frozenset({"hand_over"}))
    handed = literals("handed_over(a)")
    assert solve(domain, world, handed)
    with raises_code("no_plan", "hand_over (actions_off)"):
        solve(domain, unable, handed)
    refused = validate(domain, unable, [Action.parse("grasp(a)")], handed).message
    assert "handed_over(a)" in refused and "hand_over (actions_off)" in refused


def test_achievers(domain):
    assert achievers(domain, Literal.parse("in(a, tray)")) == ("place_in", "grab_and_putin")
    assert "grasp" in achievers(domain, Literal.parse("not hand_empty"))


def test_observation_says_what_is_news(domain):
    lines = domain.observation(tabletop(OBJECTS, FACTS, unreachable=["plate"]))
    assert "the a is on the b" in lines
    assert "the plate is out of reach" in lines
    assert not any("room for one item" in line for line in lines)


def test_solve(domain, world):
    goal = literals("in(b, tray); on(a, plate)")
    for all_outcomes in (False, True):
        actions = solve(domain, world, goal, all_outcomes=all_outcomes)
        assert validate(domain, world, actions, goal).ok
    assert solve(domain, world, literals("on(a, b)")) == ()


def test_determinised_domain_has_the_outcomes(domain):
    assert "(:action outcome--0--grasp" in domain_pddl(domain, all_outcomes=True)
    assert "outcome--" not in domain_pddl(domain)


@pytest.mark.parametrize(
    ("goal", "unreachable", "data"),
    [
        ("in(b, tray)", ["tray"], "the tray is out of reach"),
        ("on(a, a)", [], "(on a a)"),
        ("in(b, plate)", [], ("in(b, plate)", "surface", "container")),
    ],
)
def test_solve_says_why_not(domain, goal, unreachable, data):
    with raises_code("no_plan", data):
        solve(domain, tabletop(OBJECTS, FACTS, unreachable), literals(goal))


def test_the_obstacle_comes_before_the_planner_s_own_words(domain):
    with pytest.raises(NoPlanError) as caught:
        solve(domain, tabletop(OBJECTS, FACTS, ["tray"]), literals("in(b, tray)"))
    assert caught.value.proved
    assert str(caught.value).index("the tray is out of reach") < str(caught.value).index("(in b tray)")


def test_a_gripper_that_nobody_knows_to_be_empty_or_full_is_why_there_is_no_plan(domain, world):
    unknown = replace(world, facts=world.facts - {Literal("hand_empty")})
    with raises_code("no_plan", "ros2 service call /executor/let_go"):
        solve(domain, unknown, literals("in(b, tray)"))
    with raises_code("no_plan", "ros2 service call /left/executor/let_go"):
        solve(domain, unknown, literals("in(b, tray)"), namespace="/left")
    for known in (world, replace(unknown, facts=unknown.facts | {Literal("holding", ("a",))})):
        assert not domain.unaccounted(known)


def test_a_search_without_time_says_what_a_person_can_do_and_none_of_kairos_options(domain, world):
    with raises_code("no_plan", "0.0001 s") as caught:
        solve(domain, world, literals("in(b, tray); on(a, plate)"), timeout=1e-4)
    assert not caught.value.proved
    assert "classical.plan_timeout of feedback_node" in str(caught.value)
    assert "--" not in str(caught.value) and "SolveOptions" not in str(caught.value)


@pytest.mark.parametrize(
    "said, kept",
    [
        ("no memory (16.5 GiB). More helps: --memory 20. Less too: SolveOptions::threads.", "no memory (16.5 GiB)."),
        ("every state was searched.", "every state was searched."),
        ("Try --search auto.", "OUT_OF_MEMORY"),
    ],
)
def test_advice_on_the_options_of_kairos_is_left_out(said, kept):
    assert _reason(SearchResult("OUT_OF_MEMORY", messages=(said,)), 5.0) == kept


def test_problem_names_objects_and_goal(domain, world):
    text = problem_pddl(domain, world, literals("in(a, tray); not on(a, b)"))
    assert "tray - container" in text and "(in a tray)" in text and "(not (on a b))" in text


@pytest.mark.parametrize("text", ["", "p(a,", "p(a,,b)", "p(a))", "p q", "(a)"])
def test_literal_that_cannot_be_read(text):
    with pytest.raises(ParseError):
        Literal.parse(text)


SMALL = "(define (domain x) (:predicates (holding ?i)) (:action a :parameters () :precondition (and) :effect (and)))"


TAKEN = "(define (domain x) (:types item) (:predicates holding hand_empty)"  # from the domain that it extends


@pytest.mark.parametrize(
    ("pddl", "notes", "code", "data"),
    [
        ("(define (domain x)", "", "syntax", "x.pddl:1:19"),
        (
            "(define (domain x) (:predicates (p)) (:action a :parameters () :precondition (q) :effect (p)))",
            "",
            "unknown_name",
            "'q'",
        ),
        (
            "(define (domain x) (:predicates (p)) (:action a :parameters () :precondition (p) :effect (p)))",
            "actions:\n  b: {phrase: do it}\n",
            "domain",
            ("x.yaml:2", "'b'"),
        ),
        (
            "(define (domain x) (:predicates (p)) (:action a :parameters () :precondition (p) :effect (p)))",
            "actions: [",
            "domain",
            "x.yaml:1",
        ),
        (
            "(define (domain x) (:predicates (p)) (:action a :parameters () :precondition (p) :effect (p)))",
            "actions:\n  a: {phrase: 'do {z}'}\n",
            "domain",
            ("x.yaml:2", "'z'"),
        ),
        (SMALL, "extends: no_such_domain\n", "domain", ("x.yaml:1", "'no_such_domain'")),
        (SMALL, "extends: kitchen\n", "domain", ("x.yaml:1", "kitchen")),  # which extends one itself
        (SMALL, "extends: no_such.pddl\n", "domain", ("x.yaml:1", "no_such.pddl")),
        (SMALL, "extends: tabletop\n", "domain", ("x.yaml:1", "'container'")),
        (f"{TAKEN}\n(:action grab))", "extends: tabletop", "unknown_name", ("x.pddl:2:10", "'grab'", "tabletop.pddl")),
        (f"{TAKEN[:-1]}\n hold))", "extends: tabletop", "unknown_name", ("x.pddl:2:2", "'hold'", "'holding'")),
        (f"{TAKEN}\n(:action grasp))", "extends: tabletop", "unknown_name", ("x.pddl:2:", "'clear'")),
        (f"{TAKEN}\n(:action grasp))", "", "syntax", "x.pddl:1:"),
    ],
)
def test_domain_file_with_an_error(tmp_path, pddl, notes, code, data):
    (tmp_path / "x.pddl").write_text(pddl)
    (tmp_path / "x.yaml").write_text(notes)
    with raises_code(code, data):
        Domain.load(tmp_path / "x.pddl")


def test_a_domain_cannot_extend_itself(tmp_path):
    (tmp_path / "x.pddl").write_text(SMALL)
    (tmp_path / "x.yaml").write_text(f"extends: {tmp_path / 'x.pddl'}\n")
    with raises_code("domain", "x.yaml:1"):
        Domain.load(tmp_path / "x.pddl")


LAMP = """(define (domain x) (:types item) (:predicates (lit ?i - item) (warm ?i - item))
  (:action light :parameters (?i - item) :precondition (and) :effect (lit ?i))
  (:action heat :parameters (?i - item) :precondition (lit ?i) :effect (warm ?i)))"""
NOTES = """actions:
  light: {phrase: light the {i}, aliases: [ignite]}
  heat:
    phrase: heat the {i}
    aliases: [warm_up]
    ROW
predicates:
  lit: {phrase: the {i} is lit, goal: true}
goals:
  verbs:
    VERB
""".replace("light the {i}", "'light the {i}'").replace("the {i} is lit", "'the {i} is lit'")


@pytest.mark.parametrize(
    ("row", "verb", "line", "data"),
    [
        ("word: [warm]", "", 6, ("'word'", "'words'")),
        ("meanwhile: ['lit(?x)']", "", 6, "'x'"),
        ("meanwhile: ['lit()']", "", 6, ("lit", "0")),
        ("inverse: [{do: 'light(?j)'}]", "", 6, "'j'"),
        ("needs: the {k} is lit", "", 6, ("heat", "'k'")),
        ("words: [hot]", "toast: warn", 11, ("'warn'", "'warm'")),
        ("words: [hot]", "toast: 'warm({x}, {x})'", 11, ("warm", "2")),
        ("words: [hot]", "toast: 'warm({y})'", 11, ("'warm({y})'", "'toast'")),
        ("words: [hot]", "toast: 'warm({x}'", 11, "'warm({x}'"),
    ],
)
def test_what_notes_name_must_be_there_and_is_told_with_its_line(row, verb, line, data):
    notes = NOTES.replace("ROW", row).replace("VERB", verb or "light: lit")
    with raises_code("domain", f"notes:{line}: ", data):
        Domain.load(LAMP, notes)


@pytest.mark.parametrize("alias", ["light", "ignite"])
def test_an_alias_means_one_action(alias):
    notes = NOTES.replace("warm_up", alias).replace("ROW", "words: [hot]").replace("VERB", "light: lit")
    with raises_code("domain", "notes:5: ", f"'{alias}'", "light"):
        Domain.load(LAMP, notes)


def test_a_verb_of_the_domain_is_no_word_that_no_goal_can_say():
    notes = NOTES.replace("ROW", "words: [hot]").replace("VERB", "light, shake: lit")
    lamps = Domain.load(LAMP, notes, replace=True)
    assert [said for said, _ in unsaid(("do", "not", "shake", "it", "twice"), lamps)] == ["twice"]
    assert [said for said, _ in unsaid(("shake", "it"), Domain.load())] == ["shake"]


def test_notes_that_extend_others_have_what_they_neither_give_nor_take_away():
    tabletop, own = Domain.load(), "predicates:\n  holding: {negative: it holds nothing}\n"
    x = Domain.load(SMALL, f"extends: tabletop\nclasses: {{}}\ngoals: {{once: null}}\n{own}", replace=True)
    assert list(x.actions) == ["a"] and list(x.predicates) == ["holding"], "only what the PDDL text has"
    holding, whole = x.predicates["holding"], tabletop.predicates["holding"]
    assert (holding.phrase, holding.negative, holding.goal) == (whole.phrase, "it holds nothing", whole.goal)
    goals = {k: v for k, v in tabletop.extra["goals"].items() if k != "once"}
    goals["verbs"] = {
        said: goal for said, goal in goals["verbs"].items() if goal == "holding({x})"
    }  # the only predicate
    assert (x.extra["goals"], x.extra["names"]) == (goals, tabletop.extra["names"]) and not x.classes
    verbs = "extends: tabletop\nclasses: {}\ngoals: {verbs: {seize: holding}}\n"
    more = Domain.load(SMALL, verbs, replace=True).extra["goals"]["verbs"]
    assert more == {**goals["verbs"], "seize": "holding"}


def test_a_name_alone_is_what_the_extended_domain_defines_in_the_place_where_it_stands():
    pddl = """(define (domain taker) (:types item other)
        (:predicates holding (shown ?o - other) HAND_EMPTY handed_over at_base)
        (:action hand_over) (:action show :parameters (?o - other) :effect (shown ?o)) (:action return_to_base))"""
    taker, tabletop = Domain.load(pddl, "extends: tabletop\nclasses: {}\ngoals: null\n", replace=True), Domain.load()
    assert list(taker.predicates) == ["holding", "shown", "hand_empty", "handed_over", "at_base"]
    assert list(taker.actions) == ["hand_over", "show", "return_to_base"]
    for name in ("hand_over", "return_to_base"):
        assert taker.actions[name] == tabletop.actions[name]


def test_the_kitchen_says_of_picking_and_placing_what_the_tabletop_says():
    tabletop, kitchen = Domain.load("tabletop"), Domain.load("kitchen")
    assert kitchen.actions["place_on"].aliases == tabletop.actions["place_on"].aliases
    assert kitchen.predicates["left_of"].phrase == tabletop.predicates["left_of"].phrase
    assert "aside" not in kitchen.extra["goals"] and kitchen.extra["goals"]["closes"] == "closed"


@pytest.mark.parametrize("action", ["place_on(can, bowl)", "place_in(can, bowl)"])
@pytest.mark.parametrize(("state", "possible"), [("closed(drawer)", False), ("opened(drawer)", True)])
def test_nothing_is_put_on_what_lies_in_a_shut_drawer(action, state, possible):
    kitchen = Domain.load("kitchen")
    facts = "holding(can) in(bowl, drawer) bears_things(bowl) holds_things(bowl) reachable(bowl) can_open(drawer)"
    things = (("can", "item"), ("bowl", "item"), ("drawer", "part"))
    known = frozenset(Literal.parse(f"{fact.strip()})") for fact in f"{facts} {state}".split(")") if fact)
    transition = Transition(kitchen, World("kitchen", tuple(WorldObject(n, t, n) for n, t in things), known))
    assert transition.applicable(transition.state(), Action.parse(action)) == possible


def test_unknown_domain_lists_those_there_are():
    with raises_code("unknown_name", "'kitchen_sink'", "tabletop"):
        Domain.load("kitchen_sink")


@pytest.mark.parametrize(
    "name, known, meant",
    [
        ("apple", ["table", "plate"], []),
        ("mgu", ["mug", "bowl"], ["mug"]),
        ("bananna", ["banana"], ["banana"]),
        ("red_cub", ["red_cube", "blue_cube"], ["red_cube"]),
    ],
)
def test_only_a_name_that_may_be_meant_is_suggested(name, known, meant):
    from planweave.core.base.errors import close_names

    assert close_names(name, known)[:1] == meant
    assert ("?" in str(UnknownNameError("object", name, known))) is bool(meant)


def test_a_class_of_two_words_has_the_type_of_its_last_one():
    kitchen = Domain.load("kitchen")
    assert kitchen.type_of_class("wooden_cabinet") == kitchen.type_of_class("cabinet") == "fixture"
    assert kitchen.is_receptacle_class("wooden_cabinet")
    assert kitchen.type_of_class("cabinet_handle") == "item" and not kitchen.is_receptacle_class("cabinet_handle")
