"""Reading a model's replies: tables of what people's models write, and arbitrary text."""

import json

import pytest

from planweave.core.base.errors import ParseError
from planweave.llm.parsing import MAX_CHARACTERS, letter, parse_choice, parse_goal, parse_plan

PLAN = "grasp(red_cube); place_in(red_cube, left_tray)"


@pytest.mark.parametrize(
    "text",
    [
        '{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}',
        '{"Plan": ["1. grasp(red_cube)", "2. place_in(red_cube, left_tray)", "END"]}',
        '{"plan": [{"action": "grasp", "arguments": ["red_cube"]}, '
        '{"action": "place_in", "arguments": ["red_cube", "left_tray"]}]}',
        '{"steps": [{"name": "grasp", "args": "red_cube"}, {"name": "place_in", "args": "red_cube, left_tray"}]}',
        '{"result": {"plan": [{"action": "grasp(red_cube)"}, {"action": "place_in(red_cube,left_tray)"}]}}',
        '["grasp(red_cube)", "place_in(red_cube, left_tray)"]',
        'Sure! As asked:\n```json\n{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}\n```\nDone.',
        '<think>{"plan": ["grasp(pear)"]} no …</think>{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}',
        "<think>never closed at the start</think>\n1. grasp(red_cube)\n2. place_in(red_cube, left_tray)",
        "1. grasp(red_cube)\n2. place_in(red_cube, left_tray)\n3. END\n4. grasp(pear)",
        "1) grasp(red_cube)\n2) place_in(red_cube, left_tray)",
        "- grasp(red_cube)\n* place_in(red_cube, left_tray)",
        "Step 1: `grasp(red_cube)`\nStep 2: **place_in(red_cube, left_tray)**",
        "```\ngrasp (red_cube)\nplace_in (red_cube, left_tray)\n```\nThis plan (I hope) works.",
        "[grasp] <red_cube>\n[place_in] <red_cube> <left_tray>\n[END]",
        "0: [grasp] <red_cube>\n1: [place_in] <red_cube> <left_tray>",
        "Plan: grasp(red_cube), then place_in(red_cube, left_tray).",
        "1. Take it: grasp(red_cube)\n   This holds it.\n2. Put it down: place_in(red_cube, left_tray)",
        'grasp(item="red_cube")\nplace_in(i=red_cube, c=left_tray)',
        '{"plan": "grasp(red_cube), place_in(red_cube, left_tray)"}',
    ],
)
def test_plans_are_read(text):
    assert "; ".join(map(str, parse_plan(text))) == PLAN


def test_names_are_kept_as_written():
    assert [str(a) for a in parse_plan('{"plan": ["Pick Up(red cube)", "return_to_base"]}')] == [
        "Up(red cube)",
        "return_to_base()",
    ]
    assert str(parse_plan("[Switch On] <telly> (1)")[0]) == "Switch On(telly_1)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "I cannot do that.",
        "{}",
        '{"plan": []}',
        '{"plan": 3}',
        '{"plan": [3]}',
        '{"plan": [[1]]}',
        "null",
        '{"plan": [{"arguments": []}]}',
        '{"plan": [{"action": 3}]}',
        "[]",
        "()",
        "grasp(",
        "1.\n2.\n",
        "A. ",
        '{"plan": ["' + "x" * 100 + '"]}',
        "grasp(a,,b)",
        json.dumps({"plan": ["grasp(a)"] * 1001}),
        "grasp(a)\n" * 1001,
        "x" * (MAX_CHARACTERS + 1),
        '{"plan": ["done"]}',
        "First grasp(red_cube), then place_in(red_cube, left_tray).",
        "I would not grasp(red_cube).",
        '{"plan": ["grasp(red_cube) instead of grasp(pear)"]}',
        '{"plan": ["not grasp(red_cube)"]}',
    ],
)
def test_what_is_no_plan_is_said(text):
    with pytest.raises(ParseError):
        parse_plan(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"goal": ["in(a, b)", "not holding(pear)", "at_base"]}', "in(a, b); not holding(pear); at_base()"),
        ('{"goal": [{"predicate": "in", "arguments": ["a", "b"], "positive": false}]}', "not in(a, b)"),
        ("- in(a, b)\n- not on(a, c)\n", "in(a, b); not on(a, c)"),
        ('{"goal": ["not(in(a, b))"]}', "not in(a, b)"),
    ],
)
def test_goals_are_read(text, wanted):
    assert "; ".join(map(str, parse_goal(text))) == wanted


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("A", 0),
        ("b", 1),
        ("C.", 2),
        (" (B) ", 1),
        ("A. grasp(red_cube)", 0),
        ("B: the tray", 1),
        ("**C**", 2),
        ("Option B", 1),
        ("option c is best", 2),
        ("The best choice is C", 2),
        ("The best choice of sub-task is: B", 1),
        ("I would choose B because it is near", 1),
        ("Answer: A", 0),
        ('{"choice": "C"}', 2),
        ('{"choice": "B."}', 1),
        ('```json\n{"answer": "B"}\n```', 1),
        ("A good choice is B", 1),
        ("<think>A or B?</think>C", 2),
        ("\nB\n", 1),
        ("My answer is (A).", 0),
        ("Let me think.\nB. place_in(red_cube, tray)", 1),
        ("'A'", 0),
        ("a", 0),
        ("B)", 1),
    ],
)
def test_choices_are_read(text, index):
    assert parse_choice(text, 3) == index


@pytest.mark.parametrize(
    "text",
    [
        "",
        "D",
        "A or B",
        "none of them",
        "A. x\nB. y\nC. z",
        '{"choice": "Z"}',
        '{"choice": null}',
        "42",
        "x" * (MAX_CHARACTERS + 1),
    ],
)
def test_what_names_no_option_is_said(text):
    with pytest.raises(ParseError):
        parse_choice(text, 3)


def test_letters_go_on_after_z():
    assert [letter(i) for i in (0, 25, 26, 27, 51, 52)] == ["A", "Z", "AA", "AB", "AZ", "BA"]
    assert parse_choice('{"choice": "AB"}', 30) == 27
