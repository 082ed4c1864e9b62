"""What prompts say: preconditions in words, kinds and properties of objects, places, when a task is done, examples."""

import re
from dataclasses import replace
from functools import partial

import pytest
from codes import raises_code
from doubles.named_worlds import world_of
from doubles.planner_worlds import BLOCKS

from planweave.bodies.home.port import HomeBody
from planweave.core.base.errors import ModelUnavailableError
from planweave.core.pddl.formula import atoms_in, conjuncts
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.llm.accounting import estimated_tokens
from planweave.llm.clients.base import Capabilities
from planweave.llm.embeddings import HashedEmbedder
from planweave.methods.language.conditions import holds_by_rule, parse_condition
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings
from planweave.methods.language.prompt_world import PromptWorlds
from planweave.methods.language.prompting import (
    actions_text,
    decide_messages,
    distinct,
    done_text,
    example_part,
    goal_messages,
    kinds_text,
    places_text,
    plan_examples,
    sample_messages,
    surroundings_text,
)
from planweave.methods.language.translate import Translator
from planweave.methods.progprompt import action_over
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal

HOUSEHOLD, TABLETOP = Domain.load("household"), Domain.load("tabletop")
# What says each predicate of a precondition; unseen things are no condition of their own.
WORDS = {
    "sitting": "standing|sitting",
    "lying": "standing|lying",
    "close_to": "close to",
    "next_to": "close to",
    "on": "close to|nothing on it|on it|nor on",
    "inside": "nothing closed|nor on or in",
    "closed": "closed",
    "facing": "face",
    "faces": "face",
    "lookable": "watched",
    "agent_in": "your room|close to where",
    "in_room": "your room",
    "grabbable": "grabbed",
    "holds_rh": "hold|held",
    "holds_lh": "hold|held",
    "right_hand_free": "free hand|hold something",
    "left_hand_free": "free hand|hold something",
    "agent_on": "you are not on",
    "container": "holds things",
    "opened": "open",
    "can_open": "opened|if it opens",
    "taken_in": "took it from",
    "taken_from_top": "took it from",
    "taken_from_inside": "took it from",
    "switched_on": "on",
    "switched_off": "off",
    "has_switch": "switch",
    "has_plug": "plug",
    "plugged_in": "plugged in",
    "plugged_out": "unplugged",
    "sittable": "sat on",
    "narrow_seat": "for one",
    "lieable": "lain on",
    "narrow_bed": "for one",
    "pourable": "poured",
    "drinkable": "drunk",
    "recipient": "filled",
    "eatable": "eaten",
    "cuttable": "cut",
    "readable": "read",
    "typeable": "typed",
    "movable": "moved",
    "squeezable": "squeezed",
    "person": "person",
    "clothes": "worn",
    "worn": "wear",
}


class Silent:
    """A client that keeps the request and does not answer."""

    endpoint, model, capabilities = "silent", "m", Capabilities()

    def __init__(self):
        self.requests = []

    def complete(self, request):
        self.requests.append(request)
        raise ModelUnavailableError("silent")

    def close(self):
        pass


def prompt(ask, **settings):
    client = Silent()
    with pytest.raises(ModelUnavailableError):
        ask(LanguagePlanner(client, PlannerSettings(**settings)))
    return "\n".join(m["content"] for m in client.requests[0].messages)


def _swap(ask, sentence, planner):
    return ask(planner, sentence)


@pytest.fixture(scope="module")
def flat():
    return HomeBody("home_flat").observe()


@pytest.mark.parametrize("name", HOUSEHOLD.actions)
def test_every_precondition_of_the_household_is_said(name):
    schema = HOUSEHOLD.actions[name]
    line = next(line for line in actions_text(HOUSEHOLD).splitlines() if line.startswith(f"- {name}("))
    needs = line.partition("Needs: ")[2]
    for atom in atoms_in(schema.precondition):
        if atom.predicate != "unseen":
            assert re.search(WORDS[atom.predicate], needs), (atom, needs)


@pytest.mark.parametrize(
    "domain", [TABLETOP, replace(HOUSEHOLD, actions={n: replace(s, needs="") for n, s in HOUSEHOLD.actions.items()})]
)
def test_without_words_of_its_own_no_part_of_a_precondition_is_left_out(domain):
    for line in actions_text(domain).splitlines():
        name = line.removeprefix("- ").partition("(")[0]
        if name in domain.actions and not domain.actions[name].needs:
            needs = line.partition("Needs: ")[2].split("; ")
            parts = [p for p in conjuncts(domain.actions[name].precondition) if list(atoms_in(p)) or "Equal" in repr(p)]
            assert len(parts) == len([n for n in needs if n]), line


def test_what_looks_alike_is_told_apart_and_nothing_odd_is_said():
    text = actions_text(HOUSEHOLD)
    assert (
        "walk(o): walk to the o; takes you close to it" in text
        and "run(o): run to the o; takes you close to it, like" in text
    )
    assert "find(o): takes you close to it, like walk, unless you are there already." in text
    assert "release(o: item): only frees the hand, like drop" in text and "rinse(o: item): makes it clean, like" in text
    assert "the d is not on the o" not in text and "left hand" not in text
    assert "grasp(i: item): pick up the i. Needs: the gripper is empty; nothing is on the i;" in actions_text(TABLETOP)
    assert "the i and the t are different" in actions_text(TABLETOP)


@pytest.mark.parametrize("name", ["tabletop", "household", "kitchen"])
def test_no_precondition_of_our_domains_is_said_by_formula(name):
    text = actions_text(Domain.load(name))
    assert "it is not so that" not in text and "for every" not in text and "for some" not in text


def test_a_name_in_needs_that_is_no_parameter_is_refused():
    text = "(define (domain d) (:requirements :strips) (:predicates (p ?x)) (:action go :parameters (?x)\
 :precondition (and) :effect (p ?x)))"
    with raises_code("domain", "go", "'y'"):
        Domain.load(text, "actions: {go: {phrase: go, needs: 'the {y} is there'}}", replace=True)


def test_objects_are_listed_by_kind_and_by_what_they_allow(flat):
    lines = kinds_text(HOUSEHOLD, flat).splitlines()
    assert "- tap (switch): faucet_26, faucet_8" in lines
    assert "- item (grab, eat, cut): apple_50, banana_63, bread_46, lime_54, salmon_49" in lines
    assert "- microwave (open, holds things, switch, plug): microwave_41" in lines
    assert "- room: bathroom_3, bedroom_4, kitchen_1, living_room_2" in lines
    assert lines[0].startswith("(In brackets") and lines[-1].startswith("(basin, brewer, ")
    assert lines[-1].endswith("each is a kind of item.)")
    listed = re.findall(r"\w+_\d+", "\n".join(lines))
    assert sorted(listed) == sorted(o.name for o in flat.objects)
    assert kinds_text(TABLETOP, BLOCKS).splitlines()[0] == "- container: left_tray, right_tray"


def test_places_are_told_and_what_was_never_seen(flat):
    text = surroundings_text(HOUSEHOLD, flat)
    seen = [o.name for o in flat.objects if not flat.holds(Literal("unseen", (o.name,))) and o.type != "room"]
    told = text.replace(" ", "_")
    assert seen and all(name in told for name in seen)
    assert "In living_room_2: bookshelf_21, coffee_table_19" in text
    assert "No other object has been seen yet" in text
    few = replace(flat, facts=frozenset(f for f in flat.facts if f.predicate != "unseen" or f.args == ("mug_52",)))
    assert places_text(HOUSEHOLD, few).endswith("Not seen yet, so that it is not known where they are: mug_52.")
    assert places_text(TABLETOP, BLOCKS) == ""


def test_properties_and_places_are_shown_of_large_homes_too():
    things = tuple(WorldObject(f"mug_{i}", "item", "mug") for i in range(300))
    room = WorldObject("kitchen_1", "room", "kitchen")
    facts = {Literal(p, (o.name,)) for o in things for p in ("grabbable", "unseen")}
    facts |= {Literal("in_room", (o.name, "kitchen_1")) for o in things[:150]}
    world = World("household", (room, *things), frozenset(facts))
    shown, left_out = PromptWorlds(HashedEmbedder(), 1500).shown(HOUSEHOLD, world, "open the window")
    assert left_out and "- item (grab): mug_" in kinds_text(HOUSEHOLD, shown)
    places = places_text(HOUSEHOLD, shown)
    assert places.startswith("In kitchen_1: ") and 0 < len(shown.by_predicate["in_room"]) < 150


@pytest.mark.parametrize("domain", [TABLETOP, HOUSEHOLD])
def test_it_is_said_when_a_task_is_done(domain, flat):
    world = BLOCKS if domain is TABLETOP else flat
    assert "as soon as all that it asks for is so" in done_text(domain)
    asks = [
        lambda p: p.generate_plans("x y", world),
        lambda p: p.generate_plans("x y", world, method="base_llm"),
        lambda p: p.choose_action("x y", world, [], [None]),
        lambda p: p.write("progprompt", "x y", world),
        lambda p: p.write("brainbody", "x y", world),
        lambda p: p.write("lang_prompt", "x y", world),
        *(lambda p, m=m: p.propose_steps(m, "x y", world, []) for m in ("iterative", "zero_shot", "scene_aware")),
    ]
    for ask in asks:
        assert done_text(domain) in prompt(ask)
    assert done_text(replace(domain, extra={})).startswith("A task is")


def test_options_carry_effects():
    options = [Action("walk", ("fridge_4",)), Action("drop", ("mug_7",)), None]
    world = World("household", (WorldObject("fridge_4", "item"), WorldObject("mug_7", "item")))
    said = decide_messages(HOUSEHOLD, world, "x", [], options, [])[-1]["content"]
    assert "A. walk(fridge_4): walk to the fridge 4; takes you close to it" in said
    assert "B. drop(mug_7): drop the mug 7; only frees the hand" in said


def test_options_that_change_the_world_alike_are_offered_once(flat):
    a = [Action(n, ("sofa_18",)) for n in ("walk", "run", "find", "sit")]
    assert distinct(HOUSEHOLD, flat, [*a, None]) == [a[0], a[3], None]  # to sit is not possible yet: kept
    nowhere = Action("walk", ("nowhere",))
    assert distinct(HOUSEHOLD, flat, [nowhere, nowhere, None]) == [nowhere, nowhere, None]
    apart = [Action("grasp", ("red_cube",)), Action("grasp", ("green_cube",))]
    assert distinct(TABLETOP, BLOCKS, apart) == apart


def test_an_example_is_not_shown_where_it_is_the_task(flat):
    lime = "throw away a lime"
    for ask in (
        lambda p, s: p.generate_plans(s, flat),
        lambda p, s: p.write("progprompt", s, flat),
        lambda p, s: p.write("brainbody", s, flat),
        lambda p, s: p.propose_steps("iterative", s, flat, []),
    ):
        one, other = (prompt(partial(_swap, ask, sentence)) for sentence in (lime, "watch tv"))
        assert not any(text in one for text in ("lime_233", "find('lime')", "lime 233"))
        assert "lime_233" in other or "find('lime')" in other or "lime 233" in other
    assert len(plan_examples(HOUSEHOLD, lime)) == len(plan_examples(HOUSEHOLD)) - 1


def test_a_program_s_prompt_names_things_apart_says_the_state_and_what_asserts_can_say(flat):
    text = prompt(lambda p: p.write("progprompt", "microwave the salmon", flat))
    listed = text.partition("objects = [")[2].partition("]")[0]
    assert "'salmon'" in listed and "'mug_52', 'mug_57'" in listed and "'mug'" not in listed
    assert "# At the start:\n# You are in the living room." in text and "The door 40 is open." in text
    assert "'thing' is 'switched_on'" in text and "comments that begin with #" in text
    bare = prompt(lambda p: p.write("progprompt", "watch tv", flat, options={"comments": False, "assertions": False}))
    assert "of the last function, as in the example functions: calls of the imported actions.\n" in bare
    assert "Assertions" not in bare and "comments" not in bare


@pytest.mark.parametrize("domain", [TABLETOP, HOUSEHOLD])
def test_every_assertion_that_the_prompt_lists_is_decided_by_rule(domain, flat):
    world = BLOCKS if domain is TABLETOP else flat
    thing, place = ("red_cube", "left_tray") if domain is TABLETOP else ("tv", "tvstand")
    for said in example_part(domain, "programs", {})["assertions"]:
        condition = parse_condition(said.replace("thing", thing).replace("place", place))
        assert holds_by_rule(domain, world, condition) is not None, said


def test_the_brain_sees_the_whole_plan_and_which_step_failed():
    steps = ["pick up the red cube", "put the red cube in the left tray", "return to the home position"]
    text = prompt(
        lambda p: p.write("brainbody_feedback", "x", BLOCKS, history=steps, errors=["place_in: no room"], start=1)
    )
    plan = text.rpartition("The initial plan.")[2]
    assert "0: pick up the red cube\n1: put the red cube in the left tray (failed)\n2: return to" in plan
    assert "Error Step: 1\nFeedback: place_in: no room" in plan


def test_synonyms_are_read_in_steps_and_in_programs(flat):
    translator = Translator(HOUSEHOLD, flat, HashedEmbedder())
    assert str(translator.nearest("Sit on the couch").actions[0]) == "sit(sofa_18)"
    body = HomeBody("home_flat")
    episode = Episode("", "x", (), HOUSEHOLD, None, body, Journal())
    assert str(action_over(episode, "switchon", ["television"])) == "switchon(tv_65)"
    with raises_code("unreadable_reply", "'unicorn'"):
        action_over(episode, "find", ["unicorn"])


@pytest.mark.parametrize(
    "step", ["put the towel 75 on the bathroom counter 24", "put the towel on the bathroom counter"]
)
def test_a_synonym_of_a_part_of_a_name_does_not_replace_it(step):
    home = HomeBody("home_flat")
    for room in ("living_room_2", "bathroom_3"):
        home.execute(Action("walk", (room,)))
    home.execute(Action("walk", ("bathroom_cabinet_27",)))
    home.execute(Action("open", ("bathroom_cabinet_27",)))
    found = Translator(HOUSEHOLD, home.observe(), HashedEmbedder()).nearest(step)
    assert found.actions[0] == Action("putback", ("towel_75", "bathroom_counter_24"))


def test_a_seed_is_sent_and_recorded_where_one_is_set():
    heard = []
    client = Silent()
    planner = LanguagePlanner(client, PlannerSettings(seed=11), on_exchange=heard.append)
    with pytest.raises(ModelUnavailableError):
        planner.generate_plans("x y", BLOCKS)
    assert client.requests[0].seed == 11 and heard[0]["request"]["seed"] == 11
    client = Silent()
    with pytest.raises(ModelUnavailableError):
        LanguagePlanner(client, PlannerSettings(), on_exchange=heard.append).generate_plans("x y", BLOCKS)
    assert client.requests[0].seed is None and "seed" not in heard[1]["request"]


def test_rules_of_the_domain_are_said(flat):
    said = "\n".join(m["content"] for m in sample_messages(HOUSEHOLD, flat, "watch tv"))
    assert "Close to a thing is also close to what is next to it" in said


def test_a_reader_is_told_what_things_allow_and_where_they_are():
    system = goal_messages(*world_of("mugs"), "put the red mug on the left plate")[0]["content"]
    assert "item (things stand on it): plate_1, plate_2" in system
    told = "Where they are, in cm to the right, to the back and up, as the person sees them: "
    at = re.search(re.escape(told) + r".*plate_1 \((\d+) \d+ \d+\).*plate_2 \((\d+) \d+ \d+\)", system)
    assert at and int(at[1]) < int(at[2])
    assert "Where they are" not in goal_messages(*world_of("flat"), "open the fridge")[0]["content"]


@pytest.mark.parametrize("world", ["blocks", "kitchen", "counter", "mugs", "drawers", "flat", "house", "studio"])
def test_the_prompt_of_a_reading_is_short(world):
    messages = goal_messages(*world_of(world), "put the red mug on the left plate")
    assert sum(estimated_tokens(m["content"]) for m in messages) <= 2500
