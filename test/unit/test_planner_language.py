"""The Planner port on a language model: prompts, mended names, plans, votes, budgets, cost, exchanges."""

import json
import math
import re
import time

import pytest
from codes import raises_code
from doubles import fake_openai as fake
from doubles.fake_openai import FakeOpenAI
from doubles.planner_worlds import BLOCKS, FRUIT, table
from doubles.scripted_client import ScriptedClient, planner
from hypothesis import given
from hypothesis import strategies as st

from planweave.core.base.budget import Budget
from planweave.core.base.errors import BudgetExceededError, ModelAuthError, ModelTimeoutError
from planweave.core.base.paths import config_dir
from planweave.core.base.usage import Usage
from planweave.core.checks.validation import validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.llm.accounting import Ledger, Prices
from planweave.llm.clients.openai_client import OpenAIClient
from planweave.llm.names import Mender, similarity
from planweave.llm.parsing import parse_plan
from planweave.llm.schema import MAX_GROUND, choice_schema, ground_actions, plan_schema, step_schema
from planweave.methods.language import prompting
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings
from planweave.methods.language.prompting import offered

DOMAIN = Domain.load("tabletop")
SENTENCE = "put the red cube in the left tray"
GOOD = '{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}'


# Prompts


def text(messages):
    return "\n".join(m["content"] for m in messages)


def test_the_sampling_prompt_has_the_papers_parts_in_order():
    said = text(prompting.sample_messages(DOMAIN, BLOCKS, SENTENCE))
    parts = [
        "You plan for a robot",
        "Without arguments:",
        "return_to_base()",
        "With one argument:",
        "grasp(i: item): pick up the i. Needs: the gripper is empty;",
        "With two arguments:",
        "place_in(i: item, c: container): put the i in the c. Needs: the robot holds the i",
        "container: left_tray, right_tray",
        "The banana is on the blue cube.",
        "There is no room on the blue cube.",
        "place_in(lemon, white_basket)",
        f"Task: {SENTENCE}",
    ]
    places = [said.index(part) for part in parts]
    assert places == sorted(places)
    assert "grab_and_putin" not in text(prompting.sample_messages(DOMAIN, BLOCKS, SENTENCE, ("grab_and_putin",)))


def test_the_plan_prompt_says_what_is_wrong_with_earlier_plans():
    said = text(prompting.sample_messages(DOMAIN, BLOCKS, SENTENCE, errors=["grasp(pear): the pear is\nnot there"]))
    assert said.endswith(
        "These plans were checked, and do not do it:\n- grasp(pear): the pear is not there\n"
        "Give a whole plan from the state described above on, with which all of it is so in the end."
    )


def test_the_deciding_prompt_has_the_papers_parts_in_order():
    history = [Action.parse("grasp(red_cube)")]
    options = [Action.parse("place_in(red_cube, left_tray)"), Action.parse("place_on(red_cube, plate)"), None]
    said = text(prompting.decide_messages(DOMAIN, BLOCKS, SENTENCE, history, options, ["grasp(pear): it\nslipped"]))
    parts = [
        "You act as a robot",
        '{"choice": "B"}',
        "The banana is on the blue cube.",
        f"Task: {SENTENCE}",
        "Actions carried out so far:\ngrasp(red_cube)",
        "failed: grasp(pear): it slipped",
        "A. place_in(red_cube, left_tray): put the red cube in the left tray",
        "B. place_on",
        "C. stop here",
    ]
    places = [said.index(part) for part in parts]
    assert places == sorted(places)


def test_prompts_share_their_prefix_byte_for_byte():
    shuffled = table(*["plate:surface:plate:white", "red_cube:item:cube:red"], facts=["at(red_cube, table)"])
    again = table(*["red_cube:item:cube:red", "plate:surface:plate:white"], facts=["at(red_cube, table)"])
    one, two = (prompting.sample_messages(DOMAIN, w, s) for w, s in ((shuffled, "a"), (again, "b")))
    assert one[:-1] == two[:-1] and one[-1] != two[-1]
    decisions = [prompting.decide_messages(DOMAIN, BLOCKS, s, [], [None], []) for s in ("a", "b")]
    assert decisions[0][0] == decisions[1][0]


def test_example_objects_stand_in_no_scene():
    examples = text(prompting.sample_messages(DOMAIN, BLOCKS, "x")[1:-1])
    plans = [parse_plan(line) for line in examples.splitlines() if line.startswith("{")]
    used = {arg for plan in plans for action in plan for arg in action.args}
    assert used and not used & (set(BLOCKS.by_name) | set(FRUIT.by_name))
    scenes = "\n".join(p.read_text() for p in (config_dir() / "scenes").glob("*.yaml"))
    assert not [name for name in used if name.split("_")[-1] not in ("block", "corner") and f"kind: {name}" in scenes]


def test_a_sentence_cannot_pass_for_another_part_of_the_prompt():
    messages = prompting.sample_messages(DOMAIN, BLOCKS, "put it away\n\nTask: $actions ${x} grasp everything")
    assert messages[-1]["content"] == "Task: put it away Task: $actions ${x} grasp everything"


def test_a_missing_variable_or_file_is_an_error():
    with raises_code("configuration", "$task"):
        prompting.render("goal/user.txt", other="x")
    with raises_code("configuration", "none.txt"):
        prompting.render("goal/none.txt")


def test_prompts_of_other_packages_are_given_by_their_path(tmp_path):
    path = tmp_path / "user.txt"
    path.write_text("Do $task.\n")
    assert prompting.render(path, task="this") == "Do this."
    with raises_code("configuration", path, "$task"):
        prompting.render(path, other="x")
    with raises_code("configuration", "none.txt"):
        prompting.render(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"\xff")
    with raises_code("configuration", "latin.txt"):
        prompting.render(tmp_path / "latin.txt")


# Schemas


def test_plan_schema_lists_what_the_types_allow():
    domain = offered(DOMAIN, "put it there")
    allowed = plan_schema(domain, BLOCKS, max_steps=7)["properties"]["plan"]
    assert allowed["maxItems"] == 7 and allowed["items"]["enum"] == [str(a) for a in ground_actions(domain, BLOCKS)]
    for call in allowed["items"]["enum"]:
        DOMAIN.check_action(Action.parse(call), BLOCKS)
    assert "place_in(red_cube, plate)" not in allowed["items"]["enum"]


def test_a_plan_has_one_form_in_examples_prompt_and_schema_however_many_objects_there_are():
    few, many = BLOCKS, table(*[f"thing_{i}:item" for i in range(40)], "tray:container")
    assert len(ground_actions(DOMAIN, few)) < MAX_GROUND < len(ground_actions(DOMAIN, many))
    assert '{"plan": ["action(object)", ...]}' in text(prompting.sample_messages(DOMAIN, many, "x"))
    for world in (few, many):
        assert plan_schema(DOMAIN, world, max_steps=7)["properties"]["plan"]["items"]["type"] == "string"
    schema = plan_schema(DOMAIN, many, max_steps=7)["properties"]["plan"]
    assert schema["maxItems"] == 7 and len(schema["items"]["pattern"]) < 5000
    step = step_schema(DOMAIN, many, "end")["properties"]["action"]["pattern"]
    for call in ground_actions(DOMAIN, many):
        assert re.search(schema["items"]["pattern"], str(call)) and re.search(step, str(call))
    for wrong in (
        "grasp(tray)",
        "grasp(thing_1, thing_2)",
        "grasp(thing_41)",
        "fly(thing_1)",
        "x grasp(thing_1)",
        "end",
    ):
        assert not re.search(schema["items"]["pattern"], wrong)
    assert re.search(step, "end") and not re.search(step, "ending")
    huge = table(*[f"thing_{i:04}:item" for i in range(4000)], "tray:container")
    assert plan_schema(DOMAIN, huge, max_steps=7)["properties"]["plan"]["items"] == {"type": "string"}


def test_choice_schema():
    assert choice_schema(["A", "B"])["properties"]["choice"]["enum"] == ["A", "B"]


# Names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("grasp(red_cube)", "grasp(red_cube)"),
        ("Grasp(Red Cube)", "grasp(red_cube)"),
        ("pick_up(red_cube)", "grasp(red_cube)"),
        ("PickUp(the red cube)", "grasp(red_cube)"),
        ("pick(red_cube)", "grasp(red_cube)"),
        ("grasp(redcube)", "grasp(red_cube)"),
        ("grasp(red_cub)", "grasp(red_cube)"),
        ("put_in(red_cube, left_tray)", "place_in(red_cube, left_tray)"),
        ("put(red_cube, left_tray)", "place_in(red_cube, left_tray)"),
        ("put(red_cube, plate)", "place_on(red_cube, plate)"),
        ("place_on(red_cube, left_tray)", "place_in(red_cube, left_tray)"),
        ("stack(red_cube, green_cube)", "place_on(red_cube, green_cube)"),
        ("put_down(red_cube, left_side)", "place_at(red_cube, left_side)"),
        ("go_home()", "return_to_base()"),
        ("grasp(cube)", None),  # three equally near
        ("grasp(red_cube_1)", "grasp(red_cube)"),  # as [grasp] <red_cube> (1) is read
        ("place_on(red_cube, plate_1)", "place_on(red_cube, plate)"),
        ("grasp(tray)", None),  # not an item
        ("grasp(mug)", None),
        ("grasp(purple_cube)", None),
        ("fly(red_cube)", None),
        ("grasp()", None),
        ("place_in(red_cube)", None),
    ],
)
def test_names_are_mapped_to_the_nearest_known(written, meant):
    steps = Mender(DOMAIN, BLOCKS, without=("grab_and_putin",)).plan([Action.parse(written)])
    assert (str(steps[0].action) if steps else None) == meant


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("[WALK] <kitchen> (1)", "walk(kitchen_1)"),
        ("[Walk] <kitchen>", "walk(kitchen_1)"),
        ("<char0> [walk] <kitchen>", "walk(kitchen_1)"),
        ("<char0>[walk] <living_room> (2)", "walk(living_room_2)"),
        ("walk(kitchen)", "walk(kitchen_1)"),
        ("walk(living room)", "walk(living_room_2)"),
        ("walk(kitchen_counter)", "walk(kitchen_counter_5)"),
        ("[GRAB] <mug> (1)", "grab(mug_7)"),  # the first mug, as in VirtualHome's scripts
        ("[GRAB] <mug> (12)", "grab(mug_12)"),
        ("grab(mug)", "grab(mug_7)"),
        ("switch_on(television)", "switchon(tv_9)"),
        ("sit(couch)", "sit(sofa_8)"),
        ("putin(mug, refrigerator)", "putin(mug_7, fridge_4)"),
        ("grab(mug_99)", None),
        ("walk(bathroom)", None),
    ],
)
def test_ids_rooms_classes_and_synonyms_are_read(reply, meant):
    names = [
        *("kitchen_1:room", "living_room_2:room", "kitchen_counter_5", "fridge_4", "mug_7", "mug_12"),
        *("sofa_8", "tv_9"),
    ]
    things = [n.partition(":") for n in names]
    objects = tuple(WorldObject(n, t or "item", n.rpartition("_")[0]) for n, _, t in things)
    steps = Mender(Domain.load("household"), World("household", objects)).plan(parse_plan(reply))
    assert (str(steps[0].action) if steps else None) == meant


def test_what_was_mended_is_noted():
    mender = Mender(DOMAIN, BLOCKS)
    same, case, mended = mender.plan([Action.parse(a) for a in ("grasp(red_cube)", "Grasp(red cube)", "pick(redcube)")])
    assert (same.original, case.original, mended.original) == ("", "", "pick(redcube)")
    assert same.text == "pick up the red cube"
    assert mender.plan([Action.parse("grasp(red_cube)"), Action.parse("grasp(unicorn)")]) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_is_a_similarity(one, two):
    assert 0.0 <= similarity(one, two) <= 1.0 and math.isclose(similarity(one, two), similarity(two, one))


# Plans


def test_plans_are_sampled_in_one_request_as_in_the_paper():
    asked, client = planner(*[GOOD] * 3)
    asked.generate_plans(SENTENCE, BLOCKS)
    (question,) = client.questions
    assert (question.n, question.temperature, question.top_p, question.logprobs) == (25, 0.8, 0.95, True)
    asked.generate_plans(SENTENCE, BLOCKS, samples=50, temperature=0.0, top_p=1.0)
    assert (client.questions[1].n, client.questions[1].temperature, client.questions[1].top_p) == (50, 0.0, 1.0)


def test_equal_plans_are_counted_and_the_most_frequent_comes_first():
    other = '{"plan": ["grasp(red_cube)", "place_on(red_cube, plate)"]}'
    lines = "1. pick_up(red_cube)\n2. put_in(red_cube, left_tray)"
    asked, _ = planner(
        (other, "stop", -3.0),
        (GOOD, "stop", -2.0),
        (lines, "stop", -1.0),
        "no plan here",
        '{"plan": ["grasp(unicorn)"]}',
        (GOOD, "length", -1.0),
    )
    got = asked.generate_plans(SENTENCE, BLOCKS)
    assert [(str(p), p.samples, p.logprob) for p in got.plans] == [
        ("grasp(red_cube); place_in(red_cube, left_tray)", 2, -1.0),
        ("grasp(red_cube); place_on(red_cube, plate)", 1, -3.0),
    ]
    assert (got.received, got.dropped, got.mended) == (6, 3, 1)
    assert got.plans[0].steps[1].text == "put the red cube in the left tray"
    assert validate(DOMAIN, BLOCKS, got.plans[0].actions, [Literal.parse("in(red_cube, left_tray)")]).ok


@pytest.mark.parametrize("reply", ["I am sorry.", '{"plan": ["grasp(unicorn)"]}', "", '{"plan": []}', "{not", "💥"])
def test_no_plan_at_all_is_an_error_that_shows_a_reply(reply):
    asked, _ = planner(reply, reply)
    with raises_code("unreadable_reply", "2", reply) as error:
        asked.generate_plans(SENTENCE, BLOCKS)
    assert error.value.usage is not None and error.value.usage.requests == 2


def test_unreadable_sentences_are_not_sent():
    asked, client = planner(GOOD)
    for sentence, data in (("", ()), ("put " * 3000, ("11999", "2000"))):
        with raises_code("goal", data) as error:
            asked.generate_plans(sentence, BLOCKS)
        assert error.value.usage is None
    assert not client.questions


# Choices

OPTIONS = [Action.parse("place_in(red_cube, left_tray)"), Action.parse("place_on(red_cube, plate)"), None]


def test_the_majority_decides():
    asked, client = planner("B", "A", '{"choice": "B"}', "I take B.", "who knows", "C")
    got = asked.choose_action(SENTENCE, BLOCKS, [], OPTIONS)
    assert (got.index, got.votes, got.unreadable) == (1, (1, 3, 1), 1)
    (question,) = client.questions
    assert (question.n, question.temperature, question.top_p) == (20, 0.7, 1.0)
    assert question.json_schema["properties"]["choice"]["enum"] == ["A", "B", "C"]


def test_equal_votes_go_to_the_earlier_option():
    assert planner("C", "B")[0].choose_action(SENTENCE, BLOCKS, [], OPTIONS).index == 1


def test_no_readable_vote_is_an_error():
    with raises_code("unreadable_reply", "'Z'", "A, B, C"):
        planner("?", "Z")[0].choose_action(SENTENCE, BLOCKS, [], OPTIONS)
    with raises_code("unreadable_reply"):
        planner("A")[0].choose_action(SENTENCE, BLOCKS, [], [])


# Budgets, cost, exchanges


def test_a_task_asks_no_more_than_its_budget():
    asked, client = planner(GOOD, budget=Budget(requests=2))
    for _ in range(2):
        asked.generate_plans(SENTENCE, BLOCKS, task_id="t1")
    with raises_code("model_budget", "budget_requests"):
        asked.generate_plans(SENTENCE, BLOCKS, task_id="t1")
    asked.generate_plans(SENTENCE, BLOCKS, task_id="t2")
    assert len(client.questions) == 3


def test_tokens_count_too():
    asked, _ = planner(GOOD, budget=Budget(tokens=110))
    asked.generate_plans(SENTENCE, BLOCKS, task_id="t")
    with raises_code("model_budget", "110"):
        asked.choose_action(SENTENCE, BLOCKS, [], OPTIONS, task_id="t")


def test_the_ledger_forgets_old_tasks_only():
    ledger = Ledger(Budget(requests=1))
    ledger.add("old", Usage(1))
    for number in range(150):
        ledger.add(f"t{number}", Usage(1))
    with pytest.raises(BudgetExceededError):
        ledger.check("old")
    ledger.check("")


def test_cost_counts_cached_tokens_apart():
    prices = Prices()
    used = Usage(1, 1_000_000, 400_000, 100_000, 1.0, None, "gpt-4.1-mini-2025-04-14", "https://api.openai.com/v1")
    assert prices.priced(used).cost == pytest.approx(0.6 * 0.40 + 0.4 * 0.10 + 0.1 * 1.60)
    assert prices.priced(Usage(1, 5, 0, 5, 1.0, None, "my-own-model", "http://here")).cost is None
    assert prices.priced(Usage(1, 5, 0, 5, 1.0, None, "SmolLM2", "embedded")).cost == 0.0
    assert prices.priced(Usage(1, 10, 0, 0, 1.0, None, "gpt-4.10", "http://here")).cost is None
    assert prices.date


def test_a_broken_price_table_is_said(tmp_path):
    path = tmp_path / "prices.yaml"
    for content in ("", "x: [", "date: 1\nmodels: {a: {prompt: x}}", "date: 1\nmodels: 3"):
        path.write_text(content)
        with raises_code("configuration", "prices.yaml"):
            Prices(path)


def test_every_exchange_is_told_without_the_key():
    heard, key = [], "sk-secret-987654"
    with FakeOpenAI(fake.answers(GOOD)) as server:
        asked = LanguagePlanner(OpenAIClient(server.url, key, "fake"), on_exchange=heard.append)
        asked.generate_plans(SENTENCE, BLOCKS, samples=2, task_id="t7")
    with FakeOpenAI(fake.fails(401, f"bad key {key}")) as server:
        asked = LanguagePlanner(OpenAIClient(server.url, key, "fake"), on_exchange=heard.append)
        with pytest.raises(ModelAuthError):
            asked.choose_action(SENTENCE, BLOCKS, [], OPTIONS, task_id="t7")
    good, bad = heard
    assert (good["task_id"], good["kind"], bad["kind"]) == ("t7", "plans", "choice")
    assert good["request"]["messages"][-1]["content"] == f"Task: {SENTENCE}"
    assert good["reply"]["replies"][0]["text"] == GOOD and good["reply"]["usage"]["prompt_tokens"] == 100
    assert "ModelAuthError" in bad["error"] and key not in json.dumps(heard)


def test_a_model_that_stalls_ends_with_the_time_allowed():
    with FakeOpenAI(fake.stalls) as server:
        asked = LanguagePlanner(OpenAIClient(server.url, "", "fake"), PlannerSettings(timeout=0.3))
        started = time.monotonic()
        with pytest.raises(ModelTimeoutError):
            asked.generate_plans(SENTENCE, BLOCKS)
        assert time.monotonic() - started >= 0.3


def test_what_did_not_answer_is_told_as_asked():
    class Silent(ScriptedClient):
        def complete(self, request):
            raise ModelTimeoutError("too late")

    asked = LanguagePlanner(Silent())
    with pytest.raises(ModelTimeoutError) as caught:
        asked.generate_plans(SENTENCE, BLOCKS)
    used = caught.value.usage
    assert (used.requests, used.model, used.endpoint) == (0, "m", "scripted") and used.model_seconds >= 0


def test_where_places_have_room_for_one_each_the_prompts_say_how_they_lie():
    names = {"left_side": (0.5, 0.33, 0.5), "location_a": (0.44, 0.38, 0.06), "location_b": (0.6, 0.38, 0.06)}
    names |= {"table": (0.5, 0.0, 1.2), "location_c": (0.44, -0.38, 0.06)}
    places = [WorldObject(n, "location", n, {}, (x, y, 0.0), None, (s, s, 0.0)) for n, (x, y, s) in names.items()]
    things = [
        WorldObject("far_cube", "item", "cube", {}, (0.88, -0.3, 0.02), None, (0.04, 0.04, 0.04)),
        WorldObject("cube", "item", "cube", {}, (0.5, 0.3, 0.02), None, (0.04, 0.04, 0.04)),
    ]
    facts = {
        Literal("at", ("cube", "left_side")),
        Literal("at", ("cube", "table")),
        Literal("at", ("far_cube", "table")),
    }
    facts |= {Literal("narrow", (n,)) for n in names if n.startswith("location")}
    world = World("tabletop", (*places, *things), frozenset(facts))
    said = prompting.places_text(DOMAIN, world)
    assert "location_a (44, 38), 6 by 6 in size" in said and "far_cube (88, -30)" in said and " cube (" not in said
    two = World("tabletop", world.objects, frozenset(facts - {Literal("narrow", ("location_c",))}))
    assert prompting.places_text(DOMAIN, two) == ""
