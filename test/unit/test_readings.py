"""Readings of a model: what covers a sentence, what is asked of a person, and which models read every sentence."""

import contextlib
import json
import re
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.named_worlds import goal_of, world_of
from doubles.named_worlds import read as by_grammar

from planweave.cli import model_probe
from planweave.core.base.errors import GoalError, ModelUnavailableError, ParseError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.core.workflow.question import AmbiguityError
from planweave.goals import checked_reading, english, read_sentence
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.llm.parsing import parse_reading
from planweave.methods.language.interpret import interpret, known_readers, reads_rightly, record_reader
from planweave.methods.language.planner import MISREADS, LanguagePlanner
from planweave.methods.language.settings import PlannerSettings

DOMAIN, BLOCKS = world_of("blocks")
EMPTY = {
    "kind": "task",
    "before": [],
    "goal": [],
    "any_of": [],
    "keep": [],
    "choices": [],
    "words": [],
    "not_covered": [],
}
CHUCK = "chuck = in"
UNCLEAR = {"kind": "unclear", "choices": [["in(red_cube, left_tray)"], ["in(blue_cube, left_tray)"]]}


def literals(*texts):
    return set(map(Literal.parse, texts))


def read(sentence, asked=None, **reply):
    """A sentence as a model that reads every sentence has it, all of whose replies are alike."""
    text = json.dumps({**EMPTY, **reply})

    def ask(messages, schema):
        if asked is not None:
            asked.append(sentence)
        assert {*schema["properties"]} == {*EMPTY}
        return ChatReplies((ChatReply(text),) * 3, Usage(1, 10, 0, 5))

    return interpret(DOMAIN, BLOCKS, sentence, ask, model_first=True)


def test_what_the_grammar_does_not_read_is_read_by_the_model():
    words = ["chuck onto = on", "red cube = red_cube", "blue one = blue_cube"]
    got = read("chuck the red cube onto the blue one", goal=["on(red_cube, blue_cube)"], words=words)
    assert (got.source, {*got.goal}) == ("model", literals("on(red_cube, blue_cube)"))
    assert "a model read this" in got.understood and got.usage.requests == 1


@pytest.mark.parametrize(("joint", "ordered"), [(", then", True), (" and", False)])
def test_then_is_an_order_also_where_both_can_hold_in_the_end(joint, ordered):
    got = read_sentence(DOMAIN, BLOCKS, f"put the red cube in the left tray{joint} put the blue cube in the right tray")
    assert got.before == (((Literal.parse("in(red_cube, left_tray)"),),) if ordered else ())
    assert {*got.goal} == literals("in(red_cube, left_tray)", "in(blue_cube, right_tray)")


OPEN, INSIDE = "opened(wooden_cabinet_1_top_drawer)", "in(akita_black_bowl_1, wooden_cabinet_1_top_drawer)"


@pytest.mark.parametrize(
    ("world", "sentence", "before", "goal"),
    [
        ("counter", "open the top drawer first and put the bowl in it", OPEN, (OPEN, INSIDE)),
        ("counter", "open the top drawer first, then put the bowl in it", OPEN, (OPEN, INSIDE)),
        ("counter", "first open the top drawer, then put the bowl in it", OPEN, (OPEN, INSIDE)),
        ("flat", "open the fridge first, then take the milk", "opened(fridge_10)", None),
    ],
)
def test_first_is_an_order(world, sentence, before, goal):
    got = read_sentence(*world_of(world), sentence)
    assert got.before == ((Literal.parse(before),),)
    assert goal is None or {*got.goal} == literals(*goal)


@pytest.mark.parametrize(
    "sentence",
    [
        "open the top drawer first",
        "open the first drawer",
        "put the bowl on the plate, open the top drawer first, then close it",
        "open the top drawer and put the bowl in it first, then close it",
    ],
)
def test_first_of_nothing_that_follows_is_no_order(sentence):
    with raises_code("goal", "'first'"):
        by_grammar(*world_of("counter"), sentence)


EXAMPLES = {e for why in english()["unsaid"].values() for e in re.findall(r'"([^"]*)"', why)}


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_examples_of_refusals_can_be_read(example):
    assert any(goal_of(*world_of(world), example) for world in ("blocks", "counter"))


@pytest.mark.parametrize("sentence", ["do not pick up the blue cube", "never put the red cube in the left tray"])
def test_what_is_forbidden_is_no_example_of_what_can_be_read(sentence):
    with pytest.raises(GoalError) as refused:
        interpret(DOMAIN, BLOCKS, sentence, None)
    assert "for example" not in str(refused.value) and "planweave rules" in str(refused.value)


def test_order_number_and_what_is_kept_are_parts_of_a_reading():
    got = read(
        "visit the left tray with the red cube, afterwards the right tray",
        goal=["in(red_cube, right_tray)"],
        before=[["in(red_cube, left_tray)"]],
        words=["visit = in", "afterwards = before"],
    )
    assert got.before == ((Literal.parse("in(red_cube, left_tray)"),),)
    assert "first the red cube is in the left tray; in the end" in got.understood
    two = {"number": 2, "of": [f"in({c}_cube, left_tray)" for c in ("green", "red", "blue")]}
    got = read("chuck any two cubes in the left tray", any_of=[two], words=[CHUCK, "any two = any_of"])
    others = [f"cube = {n}" for n in ("red_cube", "blue_cube", "green_cube")]  # whichever of them are not taken
    assert read("chuck any two cubes in the left tray", any_of=[two], words=[CHUCK, "any two = any_of", *others]) == got
    assert len(got.goal) == 2 and "any 2 is asked for" in got.understood
    got = read(
        "chuck the red cube in the left tray without the blue cube leaving the table",
        goal=["in(red_cube, left_tray)"],
        keep=["at(blue_cube, table)"],
        words=[CHUCK, "without leaving = keep", "table = table"],
    )
    assert {*got.keep} == literals("at(blue_cube, table)") and {*got.keep} < {*got.goal}


def test_where_the_model_finds_it_unclear_its_choices_are_asked_beside_the_grammars():
    one, other = ["in(red_cube, left_tray)"], ["in(red_cube, right_tray)"]
    with pytest.raises(AmbiguityError) as raised:
        read("put the red cube in the left tray", kind="unclear", choices=[one, other])
    assert [{*c.goal} for c in raised.value.question.choices] == [literals(*one), literals(*other)]


def test_the_object_may_be_a_thing_of_a_kind_that_is_named_once():
    got = read(
        "put the red cube in the left tray, afterwards the object that was behind it",
        goal=["in(red_cube, left_tray)", "in(blue_cube, left_tray)"],
        words=["object behind it = blue_cube", "afterwards = before", "put in = in"],
        before=[["in(red_cube, left_tray)"]],
    )
    assert {*got.goal} == literals("in(red_cube, left_tray)", "in(blue_cube, left_tray)")


def test_a_reply_that_agrees_with_the_grammar_need_not_explain_its_words():
    got = read("put the red cube in the left tray", goal=["in(red_cube, left_tray)"], words=[])
    assert (got.source, got.usage.requests) == ("grammar", 1)


def test_near_is_the_grammars_and_no_difference():
    sentence, words = "put the red cube to the left of the blue cube", ["put to the left of = left_of"]
    got = read(sentence, goal=["left_of(red_cube, blue_cube)"], words=words)
    near = literals("left_of(red_cube, blue_cube)", "near(red_cube, blue_cube)")
    assert (got.source, {*got.goal}) == ("grammar", near)


def test_readings_with_states_in_order_are_choices_as_well():
    """Grammar and model read it otherwise: the person chooses between whole readings."""
    with pytest.raises(AmbiguityError) as raised:
        read(
            "put the red cube in the left tray, then put the red cube in the right tray",
            goal=["in(red_cube, right_tray)"],
            words=["put = in", "then = in", "left tray = in"],
        )
    before = [c.before for c in raised.value.question.choices]
    assert before == [((Literal.parse("in(red_cube, left_tray)"),),), ()]


@pytest.mark.parametrize(
    ("sentence", "reply", "data"),
    [
        ("chuck the red cube in the left tray", {"goal": ["in(red_cube, left_tray)"]}, "'chuck'"),
        (
            "chuck the red cube in the left tray at noon",
            {"goal": ["in(red_cube, left_tray)"], "words": [CHUCK]},
            "'noon'",
        ),
        (
            "chuck the red cube in the left tray",
            {"goal": ["in(blue_cube, left_tray)"], "words": [CHUCK, "red cube = blue_cube"]},
            ("'red cube'", "blue_cube", "'red'"),
        ),
        ("chuck the red cube in the left tray", {"goal": ["in(blue_cube, left_tray)"], "words": [CHUCK]}, "'red'"),
        (
            "chuck that cube in the left tray",
            {"goal": ["in(red_cube, left_tray)", "in(blue_cube, left_tray)"], "words": [CHUCK]},
            ("cube", "red_cube, blue_cube"),
        ),
        (
            "chuck the cubes in the left tray",
            {"goal": ["in(red_cube, left_tray)"], "words": [CHUCK]},
            ("cube", "red_cube"),
        ),
        ("don't chuck the red cube in the left tray", {"goal": ["in(red_cube, left_tray)"], "words": [CHUCK]}, "'not'"),
        (
            "don't chuck the red cube in the left tray",
            {"goal": ["in(red_cube, left_tray)"], "words": ["do not chuck = in"]},
            "'not'",
        ),
        (
            "chuck only the red cube in the left tray",
            {"goal": ["in(red_cube, left_tray)"], "words": [CHUCK, "only = politeness"]},
            "'only'",
        ),
        (
            "chuck the red cube in the left tray",
            {"goal": ["in(blue_cube, left_tray)"], "words": [CHUCK, "red = politeness"]},
            "'red'",
        ),
        (
            "chuck the red cube in the left tray and the banana",
            {"goal": ["in(red_cube, left_tray)"], "words": [CHUCK, "banana = left out"]},
            ("'banana'", "'left out'"),
        ),
        ("chuck the red cube in the mug", {"goal": ["in(red_cube, mug)"], "words": [CHUCK]}, "'mug'"),
        ("paint the red cube", {"kind": "cannot", "not_covered": ["paint"]}, "'paint'"),
        ("chuck the cube in the mug", UNCLEAR, "'mug'"),
        ("chuck the cube and the purple cylinder in the left tray", UNCLEAR, "'purple'"),
        ("don't chuck the cube in the left tray", UNCLEAR, "'not'"),
        ("chuck it all in", {"goal": ["in(red_cube, left_tray)"], "kind": "wish"}, "'wish'"),
    ],
)
def test_a_reading_that_does_not_cover_the_sentence_moves_no_robot(sentence, reply, data):
    asked = []
    with raises_code("goal", data):
        read(sentence, asked, **reply)
    assert 1 <= len(asked) <= 2, "what cannot be accepted is asked for once more"


def test_a_person_is_asked_where_a_reading_is_not_sure():
    for sentence in ("chuck some nice cube in the left tray", "the nice cube would be better off in the left tray"):
        with pytest.raises(AmbiguityError) as unclear:
            read(sentence, **UNCLEAR)
        assert [{*c.goal} for c in unclear.value.question.choices] == [literals(*c) for c in UNCLEAR["choices"]]
    with raises_code("ambiguous", "tenderly") as left:
        read(
            "chuck the red cube tenderly in the left tray",
            goal=["in(red_cube, left_tray)"],
            words=[CHUCK],
            not_covered=["tenderly"],
        )
    assert len(left.value.question.choices) == 1 and left.value.not_covered == ("tenderly",)


@pytest.mark.parametrize(
    ("sentence", "words", "code", "data"),
    [
        ("paint the red cube", ("paint",), "goal", "'paint'"),
        ("put the red cube in the left tray tomorrow", ("tomorrow",), "goal", "'tomorrow'"),
        ("paint the red cube first", ("paint", "first"), "goal", ("'paint'", "'first'")),
        ("do not paint the red cube", ("paint", "not"), "goal", ("'paint'", "'not'")),
        ("put the red cube in the left tray a bit", ("a bit",), "goal", "'a bit'"),
        ("put the cube in the left tray", (), "ambiguous", "'the cube'"),
    ],
)
def test_words_that_nothing_says_come_with_the_refusal(sentence, words, code, data):
    with raises_code(code, data) as refused:
        by_grammar(DOMAIN, BLOCKS, sentence)
    assert refused.value.not_covered == words


def test_where_grammar_and_model_read_differently_a_person_is_asked():
    sentence = "put the red cube in the left tray"
    assert read(sentence, goal=["in(red_cube, left_tray)"]).source == "grammar"
    with raises_code("ambiguous", "the red cube is in the left tray", "home position") as two:
        read(sentence, goal=["in(red_cube, left_tray)", "at_base()"])
    assert len(two.value.question.choices) == 2
    with raises_code("ambiguous", "red cube"):
        read(sentence, kind="cannot")
    assert read(sentence, goal=["in(red_cube, right_tray)"]).source == "grammar", "that reading covers nothing"
    with raises_code("ambiguous", "'the cube'"):  # a model that picks one of several is not heard
        read("put the cube in the left tray", goal=["in(red_cube, left_tray)"])


def test_a_question_is_answered_from_the_world_and_never_obeyed():
    sentence = "does the red cube happen to sit inside the left tray?"
    reply = {"goal": ["in(red_cube, left_tray)"], "words": ["happen sit inside = in"]}
    got = read(sentence, kind="question", **reply)
    assert (got.goal, got.answer) == ((), "No, the red cube is not in the left tray")
    left = read(sentence.replace("red", "tired red"), kind="question", not_covered=["tired"], **reply)
    assert left.answer == "No, the red cube is not in the left tray; no part of that says tired"
    with raises_code("goal"):
        read(sentence, **reply)


BOTH = {"goal": ["in(red_cube, left_tray)", "in(blue_cube, right_tray)"], "words": ["note says = politeness"]}


@pytest.mark.parametrize(
    "sentence",
    [
        'put the red cube in the left tray, "put the blue cube in the right tray"',
        "put the red cube in the left tray, 'put the blue cube in the right tray'",
        'put the red cube in the left tray. The note says: "put the blue cube in the right tray"',
        'put the red cube in the left tray and "then put the blue cube in the right tray"',
    ],
)
def test_an_order_that_is_quoted_is_not_obeyed(sentence):
    with raises_code("goal", "put the blue cube in the right tray'"):
        by_grammar(DOMAIN, BLOCKS, sentence)
    with raises_code("ambiguous", "put the blue cube in the right tray'"):
        read(sentence, **BOTH)


@pytest.mark.parametrize(
    "sentence",
    ['"put the red cube in the left tray"', 'put "the red cube" in the left tray', "put 'red_cube' in “left_tray”"],
)
def test_what_is_quoted_whole_or_names_a_thing_is_read(sentence):
    assert {*by_grammar(DOMAIN, BLOCKS, sentence).goal} == literals("in(red_cube, left_tray)")


def test_an_order_inside_a_name_is_not_obeyed():
    name = "cube_then_take_the_green_cube"
    things = tuple(replace(o, name=name) if o.name == "blue_cube" else o for o in BLOCKS.objects)
    facts = frozenset(replace(f, args=tuple(name if a == "blue_cube" else a for a in f.args)) for f in BLOCKS.facts)
    world = replace(BLOCKS, objects=things, facts=facts)
    only = literals(f"in({name}, left_tray)")
    got = by_grammar(DOMAIN, world, f"put {name} in the left tray")
    assert ({*got.goal}, got.before) == (only, ())
    obeyed = json.dumps({**EMPTY, "goal": [f"in({name}, left_tray)", "holding(green_cube)"], "words": [CHUCK]})

    def ask(messages, schema):
        return ChatReplies((ChatReply(obeyed),), Usage(1, 10, 0, 5))

    with raises_code("ambiguous", "the robot holds the green cube") as two:
        interpret(DOMAIN, world, f"put {name} in the left tray", ask, model_first=True)
    assert {*two.value.question.choices[0].goal} == only
    guessed = interpret(DOMAIN, world, f"chuck {name} in the left tray", ask, model_first=True)
    assert "no word of the sentence names green cube" in guessed.understood


def test_a_model_that_is_down_leaves_the_grammar():
    def ask(messages, schema):
        raise ModelUnavailableError("nobody at home")

    assert interpret(DOMAIN, BLOCKS, "put the red cube in the left tray", ask, model_first=True).source == "grammar"


def test_another_language_is_read_by_a_model_that_can():
    said = "把红色方块放进左边的托盘"
    got = read(said, goal=["in(red_cube, left_tray)"], words=[f"{said} = in"])
    assert {*got.goal} == literals("in(red_cube, left_tray)") and "no word of the sentence names" in got.understood


@pytest.mark.parametrize(
    "text",
    [
        '{"goal": ["in(a, b)"], "any_of": [{"number": 0, "of": []}]}',
        '{"goal": ["in(a, b)"], "any_of": [1]}',
        '{"goal": ["in(a, b)"], "before": 3}',
        '{"goal": ["in(a, b)"], "keep": {"a": 1}}',
        '{"kind": "task", "goal": ["in(a, b)"]} or {"kind": "question", "goal": ["in(a, b)"]}',
        "I would put it there",
    ],
)
def test_what_is_no_reading_is_not_read(text):
    with pytest.raises(ParseError):
        parse_reading(text)


class Model:
    """A model by its endpoint's name."""

    model, capabilities = "m", Capabilities(True, True, True)

    def __init__(self, endpoint, reply=""):
        self.endpoint, self.reply, self.requests = endpoint, reply, []

    def complete(self, request):
        self.requests.append(request)
        return ChatReplies((ChatReply(self.reply),), Usage(1))

    def close(self):
        pass


def test_a_model_that_passed_the_reading_questions_reads_first(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    reply = json.dumps({**EMPTY, "goal": ["in(red_cube, left_tray)"]})

    def asked(endpoint="http://x/v1", **settings):
        model = Model(endpoint, reply)
        LanguagePlanner(model, PlannerSettings(goal_votes=1, **settings)).interpret_goal(
            "put the red cube in the left tray", BLOCKS
        )
        return len(model.requests)

    assert (asked(), asked(reader="model"), asked("embedded", reader="model")) == (0, 1, 0)
    record_reader("http://x/v1", "m", True)
    assert (asked(), asked("http://other/v1"), asked(reader="grammar")) == (1, 0, 0)
    record_reader("http://x/v1", "m", False)
    assert asked() == 0
    model = Model("http://x/v1", reply)
    with pytest.raises(GoalError) as refused:
        LanguagePlanner(model).interpret_goal("see to it that the left one gets the red thing", BLOCKS)
    assert not model.requests and MISREADS[1:] in str(refused.value), "one that failed the questions reads nothing"
    known_readers().write_text("no json")
    assert not reads_rightly("http://x/v1", "m")


def test_the_doctor_keeps_whether_all_reading_questions_were_answered_rightly(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    model = Model("http://x/v1", json.dumps({**EMPTY, "kind": "cannot"}))
    answers = model_probe.Probe(model, {}).reading()
    assert [a.state for a in answers] == ["wrong", "wrong", "wrong", "right"] and not reads_rightly("http://x/v1", "m")
    right = iter(
        [
            {"kind": "unclear", "choices": [["in(red_cube, left_tray)"], ["in(red_cube_2, left_tray)"]]},
            {
                "goal": ["not in(red_cube, left_tray)", "in(banana, left_tray)"],
                "words": ["whatever else = politeness", "may not lie in the end = not"],
            },
            {
                "goal": ["on(red_cube, plate)"],
                "before": [["in(red_cube, left_tray)"]],
                "words": ["let pay visit first = before", "finish = on"],
            },
            {"kind": "cannot", "not_covered": ["paint"]},
        ]
    )
    model.complete = lambda request: ChatReplies((ChatReply(json.dumps({**EMPTY, **next(right)})),), Usage(1))
    answers = model_probe.Probe(model, {}).reading()
    assert [a.state for a in answers] == ["right"] * 4, answers
    assert reads_rightly("http://x/v1", "m")


@pytest.mark.parametrize(
    ("reply", "doubt"),
    [
        ({"adds": [], "loses": []}, ""),
        ({"adds": [], "loses": ["the blue cube"]}, "loses: the blue cube"),
        ({"adds": ["at once"], "loses": []}, "adds: at once"),
        ("it is the same", "'it is the same'"),
    ],
)
def test_a_reading_is_confirmed_on_request(reply, doubt):
    model = Model("http://x/v1", reply if isinstance(reply, str) else json.dumps(reply))
    planner = LanguagePlanner(model, PlannerSettings(confirm_reading=True, reader="grammar"))
    if not doubt:
        got = planner.interpret_goal("put the red cube in the left tray", BLOCKS)
        assert (got.source, got.usage.requests) == ("grammar", 1)
        said = model.requests[0].messages[-1]["content"]
        assert "Understood: in the end the red cube is in the left tray" in said
        return
    with raises_code("ambiguous", doubt) as asked:
        planner.interpret_goal("put the red cube in the left tray", BLOCKS)
    assert [{*c.goal} for c in asked.value.question.choices] == [literals("in(red_cube, left_tray)")]


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (["use switch = light_bulb", "turn off = turned_off", "light bulb = light_bulb"], True),
        (["use switch = light_bulb", "turn off = turned_off"], False),
    ],
)
def test_a_switch_stands_for_what_it_works_where_that_is_named(words, fits):
    things = [WorldObject(n, "fixture", n, {}, None, None, None) for n in ("light_bulb", "switch")]
    facts = frozenset(literals("can_turn(light_bulb)", "turned_on(light_bulb)"))
    world, kitchen = World("kitchen", tuple(things), facts), Domain.load("kitchen")
    sentence = "use the switch to turn off the light bulb"
    written = parse_reading(json.dumps({**EMPTY, "goal": ["turned_off(light_bulb)"], "words": words}))
    with contextlib.nullcontext() if fits else pytest.raises(GoalError):
        assert checked_reading(kitchen, world, sentence, written).goal == (Literal.parse("turned_off(light_bulb)"),)


@pytest.mark.parametrize(("said", "fits"), [("white_cabinet_1", True), ("wine_bottle_1", False)])
def test_the_whole_of_a_part_may_be_named_beside_it(said, fits):
    kitchen, world = world_of("drawers")
    words = ["open = opened", "top drawer = white_cabinet_1_top_drawer", f"cabinet = {said}"]
    written = parse_reading(json.dumps({**EMPTY, "goal": ["opened(white_cabinet_1_top_drawer)"], "words": words}))
    with contextlib.nullcontext() if fits else raises_code("goal", "'cabinet'", "wine_bottle_1"):
        checked_reading(kitchen, world, "open the top drawer of the cabinet", written)
