"""ProgPrompt's programs: both forms of assertions, what is refused, and that nothing but ParseError comes out."""

import pytest
from codes import raises_code

from planweave.core.base.errors import ParseError
from planweave.core.trees.program import Assertion, Branch, Call, Comment, ProgramCondition, read_program

ACTIONS = {"find": 1, "grab": 1, "putin": 2, "open": 1, "standup": 0}
PAPER = """Here is the plan:
```python
def put_salmon_in_microwave():
    # 1: grab salmon
    assert('close' to 'salmon')
    else: find('salmon')
    grab('salmon')
    # 2: put salmon in microwave
    assert('salmon' in 'hands')
    else: find('salmon')
    else: grab('salmon')
    assert('microwave' is 'opened')
    else:
        open('microwave')
    putin('salmon', 'microwave')
```
That should do it."""


def read(body):
    text = "def task():\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    return [s for s in read_program(text, ACTIONS).body if not isinstance(s, Comment)]


def test_the_papers_form():
    program = read_program(PAPER, ACTIONS)
    assert program.name == "put_salmon_in_microwave"
    kinds = [type(s).__name__ for s in program.body]
    assert kinds == ["Comment", "Assertion", "Call", "Comment", "Assertion", "Assertion", "Call"]
    near, held, opened = (s for s in program.body if isinstance(s, Assertion))
    assert near.condition == ProgramCondition(("close", "salmon"), "to") and near.recovery[0].name == "find"
    assert [c.name for c in held.recovery] == ["find", "grab"]
    assert str(opened.condition) == "'microwave' is 'opened'" and opened.recovery[0] == Call("open", ("microwave",), 12)


@pytest.mark.parametrize(
    "line, condition",
    [
        ("assert close('mug')", ProgramCondition(("close", "mug"))),
        ("assert not close('mug')", ProgramCondition(("close", "mug"), negated=True)),
        ("assert 'mug' in 'hands'", ProgramCondition(("mug", "hands"), "in")),
        ("assert('mug' not in 'hands')", ProgramCondition(("mug", "hands"), "in", True)),
        ('assert("close" to "mug")', ProgramCondition(("close", "mug"), "to")),
        ("assert('fridge' is 'closed')", ProgramCondition(("fridge", "closed"), "is")),
        ("assert('mug' next to 'sink')", ProgramCondition(("mug", "sink"), "next to")),
        ("assert('mug' is not next to 'sink')  # moved away", ProgramCondition(("mug", "sink"), "next to", True)),
        ("assert(mug left of plate)", ProgramCondition(("mug", "plate"), "left of")),
        ("assert('tv' is 'on')", ProgramCondition(("tv", "on"), "is")),
        ("assert('mug' 'clean')", ProgramCondition((), text="'mug' 'clean'")),
        ("assert 'a' in 'b' and 'c' in 'd'", ProgramCondition((), text="'a' in 'b' and 'c' in 'd'")),
        ("assert not ('a' in 'b' and c)", ProgramCondition((), text="not ('a' in 'b' and c)")),
        ("assert('mug', 'plate' are clean)", ProgramCondition((), text="'mug', 'plate' are clean")),
    ],
)
def test_assertions(line, condition):
    assert read(line)[0].condition == condition


def test_an_assertion_of_unknown_form_keeps_the_program_and_its_recovery():
    body = read("for x in ['cup', 'plate']:\n    assert(x 'clean')\n    else: find(x)\n    grab(x)")
    assert [str(s.condition) for s in body if isinstance(s, Assertion)] == ["'cup' 'clean'", "'plate' 'clean'"]
    assert body[0].recovery[0].args == ("cup",) and body[1].args == ("cup",)


def test_loops_lists_and_branches():
    loop = "objects = ['a', 'b']\nfor x in objects:\n    grab(x)\n"
    body = loop + "if 'a' in 'hands':\n    putin('a', 'box')\nelse:\n    standup()"
    calls = read(body)
    assert [c.args for c in calls[:2]] == [("a",), ("b",)]
    assert isinstance(calls[2], Branch) and calls[2].otherwise[0].name == "standup"
    assert read_program("def t():\n  objects = ['a']\n  grab(objects[0])", ACTIONS).objects == ("a",)


@pytest.mark.parametrize(
    "body, data",
    [
        ("import os", ("line 2: ", "import")),
        ("os.system('ls')", "line 2: "),
        ("eval('1')", "'eval'"),
        ("find('a')\n__import__('os')", ("line 3: ", "'__import__'")),
        ("while True:\n    find('a')", ("line 2: ", "while")),
        ("for i in range(1000000):\n    find('a')", ("range", "100")),
        ("for i in range(-5, 200):\n    find('a')", "range"),
        ("grab('a', 'b')", "grab"),
        ("grab(x='a')", "grab"),
        ("grab(find('a'))", "line 2: "),
        ("lambda: 0", "line 2: "),
        ("else: find('a')", "line 2"),
        ("find('a'", "line 2"),
        ("x = grab", None),
        ("with open('f'): pass", ("line 2: ", "with")),
        ("def g():\n    pass", "functiondef"),
        ("assert 1 + 1", "line 2: "),
        ("(" * 40 + ")" * 40, "20"),
        ("\n".join("    " * i + "if a('b'):" for i in range(60)), ("line 42: ", "20")),
        ("\n".join(f"for a{i} in [1]:" for i in range(3)), "line 3: "),
    ],
)
def test_what_is_refused(body, data):
    if data is None:
        assert read(body) == []
        return
    with raises_code("unreadable_reply", data):
        read(body)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "I cannot do that.",
        "find('a')",
        "def",
        "def f(",
        "\x00",
        "x" * 1_000_000,
        "def f():\n" + "    find('a')\n" * 5000,
    ],
)
def test_replies_that_are_no_program(text):
    with pytest.raises(ParseError):
        read_program(text, ACTIONS)
