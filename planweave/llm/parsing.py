"""Tolerant parsing of a model's replies. For any text only ParseError is raised, in time linear in its length.

Replies are data: nothing in them is evaluated. A reply may hold drafts beside its answer. Of several JSON values, or
lists of calls, those that have the required form are compared: where they differ in what they ask for, or the text
after them asks for something else, the reply has no answer that could be acted on (SeveralAnswersError).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from reprlib import repr as short_repr
from typing import Any, TypeVar

from planweave.core.base.errors import ParseError, SeveralAnswersError
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.reading import READING_KINDS, WrittenReading
from planweave.llm.reasoning import said_in

MAX_CHARACTERS = 1_000_000
MAX_STEPS = 1000
MAX_LITERALS = 100
MAX_LINE = 1000  # characters; a longer line is prose
MAX_NAME = 100
_MAX_TRIES = 200  # brackets in one reply at which JSON could begin and does not
_END = {"end", "done", "stop", "finish", "finished"}
_DONE = r"(?:end|done|stop|finished?|none|task (?:is )?complete[d]?)"
_OVER = re.compile(rf"\A\W*{_DONE}\W*\Z", re.IGNORECASE)
_ENDS = re.compile(rf"(?:[\n.!?:;]|\A)[\s*`(\[]{{0,9}}{_DONE}[)\]*`]{{0,3}}\s{{0,9}}(?:[\n.!(]|\Z)", re.IGNORECASE)
_BULLET = re.compile(r"\A(?:(?:step|action)\s{0,3})?\(?(\d{1,4})\s{0,3}[.):\]-]\s*|\A[-*+•>]\s+", re.IGNORECASE)
_CALL = re.compile(
    r"(?<![\w-])([A-Za-z_][\w-]{0,99})\(([^()]{0,600})\)"
    r"|\A([A-Za-z_][\w-]{0,99})\s{1,3}\(([^()]{0,600})\)"
)
_BRACKETS = re.compile(
    r"\[\s{0,3}([A-Za-z_][\w -]{0,99})\]"
    r"((?:\s{0,3}<[^<>]{0,100}>\s{0,3}(?:\(\s{0,3}\d{1,6}\s{0,3}\))?){0,10})"
)
_ANGLE = re.compile(r"<\s*([^<>]{0,100}?)\s*>(?:\s{0,3}\(\s{0,3}(\d{1,6})\s{0,3}\))?")
_LABEL = re.compile(r"\A[\W_]*(?:[A-Za-z][\w -]{0,40}:)?[\W_]*\Z")
_BETWEEN = re.compile(r"\A(?:[\W_]|\b(?:and|then|not)\b)*\Z", re.IGNORECASE)
_REMARK = re.compile(r"\A\s{0,9}(?:[-–—#/();:,.]|\Z)")
_DENIAL = re.compile(r"(?:\bnot\s*|¬|!|~)\s*\(?\s*\Z", re.IGNORECASE)  # before a call
_DENIES = re.compile(r"\b(?:not|never|cannot|instead|no)\b|n't", re.IGNORECASE)
_JSON = re.compile(r'\{\s{0,99}["}]|\[\s{0,99}["{\]]')
_LEADING = re.compile(r"\A[(\[]?([A-Za-z]{1,2})(?:[)\].:,]{1,2}(?:\s|\Z)|\Z)")
_CHOSEN = re.compile(
    r"(?i:option|choice|answer|choose|take|pick|select|best)"
    r"(?i:\s+(?:is|would|be|to|of|sub-task|option|action|choice)){0,4}\s*[:=]?\s*[*_(\[\"']{0,3}"
    r"((?!a [a-z])[A-Za-z]{1,2})\b"
)
_LISTED = re.compile(r"(?m)^\s*[(\[*]{0,2}([A-Z]{1,2})[)\].:*]{1,2}(?:\s.*)?$")
_ALONE = re.compile(
    r"(?<![A-Za-z'])(?!I [a-z]|A (?:\w{1,20} )?(?:choice|option|action|answer)\b)([A-Z]{1,2})(?![A-Za-z'])"
)
T = TypeVar("T")


def parse_plan(text: str) -> tuple[Action, ...]:
    """Actions of a plan in a reply: names as the model wrote them, not checked against any domain.

    Reads ``{"plan": [...]}`` and other JSON lists of steps (strings, or objects with action and arguments), and lists
    of lines such as ``1. grasp(red_cube)`` or ``[grasp] <red_cube> (1)`` (read as red_cube_1), in code fences and
    between prose. A step that says END ends the plan. Raises ParseError where there is no step, or more than MAX_STEPS,
    and SeveralAnswersError where there are several plans.
    """
    text = _checked(text)
    calls = _answer(text, partial(_calls_data, ("plan", "steps", "actions", "subtasks")), _steps)
    if not calls:
        raise ParseError(f'no plan in the reply {_shown(text)}; expected {{"plan": ["action(object)", …]}}')
    return tuple(Action(call.predicate, call.args) for call in calls)


def parse_goal(text: str) -> tuple[Literal, ...]:
    """Literals of a goal in a reply, in the same forms as a plan; none where the model says that there is none
    (``{"goal": []}``). Raises ParseError.
    """
    text = _checked(text)
    data = partial(_calls_data, ("goal", "goals", "literals"))
    calls = _answer(text, data, lambda calls: tuple(dict.fromkeys(calls)))
    if calls is None:
        raise ParseError(f'no goal in the reply {_shown(text)}; expected {{"goal": ["predicate(object)", …]}}')
    if len(calls) > MAX_LITERALS:
        raise ParseError(f"the reply has {len(calls)} literals; more than {MAX_LITERALS} are no goal")
    return calls


def parse_reading(text: str) -> WrittenReading:
    """A reading in a reply: the goal in any form that `parse_goal` reads, the rest in the same JSON object. Raises
    ParseError, and SeveralAnswersError where there are several that differ.
    """
    goal = parse_goal(text)
    whole = (value for value, _, _ in _json_values(_checked(text)))
    found = agreed((_reading(value) for value in whole if isinstance(value, dict)), text)
    return replace(found, goal=goal) if found is not None else WrittenReading(goal=goal)


def parse_comparison(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Additions of a reading to a sentence, and losses, as a reply tells them; raises ParseError."""
    whole = [
        value
        for value, _, _ in _json_values(_checked(text))
        if isinstance(value, dict) and {"adds", "loses"} <= {*value}
    ]
    found = agreed((tuple(tuple(map(str, _rows(value, key))) for key in ("adds", "loses")) for value in whole), text)
    if found is None:
        raise ParseError(f'no comparison in the reply {_shown(text)}; expected {{"adds": [], "loses": []}}')
    return found[0], found[1]


def _reading(value: dict[str, Any]) -> WrittenReading:
    if len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        value = inner  # {"reply": {"goal": …}}
    kind = str(value.get("kind") or "task").lower()
    if kind not in READING_KINDS:
        raise ParseError(f"{short_repr(kind)} is no kind of reading; expected one of {', '.join(READING_KINDS)}")
    any_of = []
    for row in _rows(value, "any_of"):
        number = row.get("number") if isinstance(row, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ParseError(f'{short_repr(row)} is no choice of several; expected {{"number": 1, "of": [...]}}')
        any_of.append((number, _literals(row.get("of"))))
    words = [str(row).rpartition("=") for row in _rows(value, "words")]
    return WrittenReading(
        kind,
        (),
        tuple(step for row in _rows(value, "before") if (step := _literals(row))),
        tuple(any_of),
        _literals(value.get("keep") or []),
        tuple(choice for row in _rows(value, "choices") if (choice := _literals(row))),
        tuple((said.strip(), meant.strip()) for said, _, meant in words),
        tuple(map(str, _rows(value, "not_covered"))),
    )


def _rows(value: dict[str, Any], key: str) -> list[Any]:
    rows = value.get(key) or []
    if not isinstance(rows, list) or len(rows) > MAX_LITERALS:
        raise ParseError(f"{key} is no list of at most {MAX_LITERALS} entries")
    return rows


def _literals(data: Any) -> tuple[Literal, ...]:
    if not isinstance(data, (list, str)):
        raise ParseError(f'{short_repr(data)} is no list of conditions; expected ["predicate(object)", …]')
    return tuple(dict.fromkeys(_in_json([data] if isinstance(data, str) else data)))


def parse_step(text: str) -> Action | None:
    """The next action in a reply, the first one of a list, as written; None where it says that the task is done.

    Reads what `parse_plan` reads, ``{"action": "action(object)"}`` and ``{"action": "end"}``. Raises ParseError.
    """
    text = _checked(text)
    if _OVER.match(text):
        return None
    calls = _answer(text, _step_data, lambda calls: _steps(calls)[:1])
    if calls and _ENDS.search(text):
        raise SeveralAnswersError(f"the reply {_shown(text)} names {calls[0]}, and says that the task is done")
    if calls is None:
        raise ParseError(f'no action in the reply {_shown(text)}; expected {{"action": "action(object)"}}, or end')
    return Action(calls[0].predicate, calls[0].args) if calls else None


def parse_choice(text: str, count: int) -> int:
    """Index of the option that a reply names by its letter: ``A``, ``(B)``, ``Option C``, ``The best is D.``, JSON.

    Raises ParseError where it names none of the count options, or several different ones.
    """
    text = _checked(text)
    letters = [letter(i) for i in range(count)]
    found: set[str] = set()
    at, outside = 0, ""
    for value, start, end in _json_values(text):
        if (said := _chosen_in(value)) is not None:
            found |= _letters(said, letters)
            outside, at = f"{outside}\n{text[at:start]}", end
    if found and _JSON.search(text, at):
        raise ParseError(f"the reply {_shown(text)} ends in the middle of JSON")
    found |= _letters(outside + text[at:], letters)
    if len(found) != 1:
        raise (SeveralAnswersError if found else ParseError)(
            f"the reply {_shown(text)} names {'several' if found else 'none'} of the options {', '.join(letters[:26])}"
        )
    return letters.index(found.pop())


def _chosen_in(value: Any) -> str | None:
    """The option in a JSON value, as written; None without one."""
    said = _under(value, ("choice", "option", "answer"))
    return str(said) if isinstance(said, (str, int)) and not isinstance(said, bool) else None


def _letters(text: str, letters: Collection[str]) -> set[str]:
    """The options that a text names; what stands before the end of a list of options is no choice."""
    # Without runs of white space, over which some patterns would take time that grows with the square of their length.
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()).strip("`*\"' \n")
    listed = list(_LISTED.finditer(text))
    if len({m.group(1) for m in listed}) > 1:
        text = text[listed[-1].end() :].strip()
    patterns = (_LEADING, _CHOSEN, _ALONE)
    return {m.upper() for pattern in patterns for m in pattern.findall(text)} & set(letters)


def letter(index: int) -> str:
    """The letter of an option: A … Z, AA, AB, …"""
    return chr(65 + index) if index < 26 else letter(index // 26 - 1) + chr(65 + index % 26)


def agreed(answers: Iterable[T], text: str) -> T | None:
    """The last of the answers in a reply, None without any; raises SeveralAnswersError where they differ."""
    found: list[T] = []
    for answer in answers:
        if found and answer != found[-1]:
            raise SeveralAnswersError(
                f"the reply {_shown(text)} has several answers that differ: {_written(found[-1])}, and "
                f"{_written(answer)}; one was asked for"
            )
        found.append(answer)
    return found[-1] if found else None


def _written(answer: object) -> str:
    return _shown("; ".join(map(str, answer)) if isinstance(answer, tuple) else str(answer))


def bounded(text: str, most: int) -> str:
    """The text; raises ParseError where it has more characters: its end, which may be the answer, is never cut off."""
    if len(text) > most:
        raise ParseError(f"the reply has {len(text)} characters; at most {most} are read")
    return text


def _checked(text: str) -> str:
    return said_in(bounded(text, MAX_CHARACTERS)).answer.strip()


def _shown(text: str) -> str:
    return repr(text[:100] + ("…" if len(text) > 100 else ""))


def _is_end(call: Literal) -> bool:
    """Whether a call says that the plan ends here."""
    return call.predicate.lower() in _END and not call.args


def _steps(calls: Iterable[Literal]) -> tuple[Literal, ...]:
    """The calls before the one that says END."""
    steps = []
    for call in calls:
        if _is_end(call):
            break
        if not call.positive:
            raise ParseError(f"'{call}' is not a step")
        steps.append(call)
    return tuple(steps)


def _answer(
    text: str, data_in: Callable[[Any], Any], meaning: Callable[[Iterable[Literal]], tuple[Literal, ...]]
) -> tuple[Literal, ...] | None:
    """The calls that a reply asks for: in JSON and lists of lines, else the only one in a line of prose.

    data_in: what a JSON value has of calls, None for nothing. meaning: what is asked for with calls. Raises
    SeveralAnswersError where there are several answers, or the text after them asks for other calls.
    """
    values = [(data, start, end) for value, start, end in _json_values(text) if (data := data_in(value)) is not None]
    before = text[: values[0][1]] if values else text
    found = [(meaning(calls), end) for calls, end in _lists(before, prose=not values)]
    found += [(meaning(_in_json(data)), end) for data, _, end in values]
    answer = agreed((calls for calls, _ in found), text)
    if answer is None:
        calls = {call for line, _ in _lines(text) for call, _, _ in _calls(line)}
        return tuple(calls) if len(calls) == 1 and "\n" not in text and not _DENIES.search(text) else None
    rest = text[found[-1][1] :]
    if values and _JSON.search(rest):
        raise ParseError(f"the reply {_shown(text)} ends in the middle of JSON")
    more = (
        (call,)
        for line, _ in _lines(rest)
        for calls in (_calls(line),)
        for call, _, _ in calls
        if (call.args or _is_list(line, calls)) and not _is_end(call) and call not in answer
    )
    return agreed((answer, *more), text)


def _step_data(value: Any) -> Any:
    """The steps in a JSON value, of which the first is the next; None where it has none."""
    if isinstance(value, dict) and {str(k).lower() for k in value} & {"arguments", "args", "objects", "parameters"}:
        return [value]
    said = _under(value, ("action", "step", "next"))
    return [said] if isinstance(said, (str, dict)) else _calls_data(("plan", "steps", "actions"), value)


def _calls_data(keys: tuple[str, ...], value: Any) -> Any:
    """The list of calls, or the text with them, in a JSON value; None where it has none."""
    data = _under(value, keys)
    if isinstance(data, (str, list)):
        return data
    if isinstance(value, list) and value and all(isinstance(x, (str, dict)) for x in value):
        return value if any(isinstance(x, dict) or _calls(x[:MAX_LINE]) for x in value) else None
    return None


def _under(value: Any, keys: tuple[str, ...]) -> Any:
    """The value under the only one of the keys in a JSON object, or in the only entry of one; None without one."""
    for _ in range(3):  # {"reply": {"plan": […]}}
        if not isinstance(value, dict):
            return None
        found = [value[k] for k in value if str(k).lower() in keys]
        if found:
            return found[0] if len(found) == 1 else None
        value = next(iter(value.values())) if len(value) == 1 else None
    return None


def _json_values(text: str) -> list[tuple[Any, int, int]]:
    """The complete JSON objects and lists in a text, outermost ones, each with its beginning and end."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_twins)
    values, at, tries = [], 0, 0
    while start := _JSON.search(text, at):
        try:
            value, at = decoder.raw_decode(text, start.start())
            values.append((value, start.start(), at))
        except (ValueError, RecursionError):
            at, tries = start.start() + 1, tries + 1
            if tries > _MAX_TRIES:
                raise ParseError(f"the reply {_shown(text)} has too many brackets to look for JSON in it") from None
    return values


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; raises ValueError where it has one key with two values."""
    made = dict(pairs)
    if len(made) < len(pairs) and any(made[key] != value for key, value in pairs):
        raise ValueError("one key has two values")
    return made


def _in_json(data: Any) -> Iterator[Literal]:
    if isinstance(data, str):
        yield from agreed((calls for calls, _ in _lists(data)), data) or ()
        return
    if len(data) > MAX_STEPS:
        raise ParseError(f"the reply has {len(data)} steps; more than {MAX_STEPS} are not read")
    for entry in data:
        if isinstance(entry, str):
            line = _BULLET.sub("", entry.strip()[:MAX_LINE], count=1)
            calls = _calls(line) or _bare(line)
            if len(calls) > 1 and not _is_list(line, calls):
                raise ParseError(f"{short_repr(entry)} is not one step")
            yield from (call for call, _, _ in calls)
        elif isinstance(entry, dict):
            yield _call_in_object(entry)
        else:
            raise ParseError(f'{short_repr(entry)} is not a step; expected "action(object)"')


def _call_in_object(entry: dict[Any, Any]) -> Literal:
    lowered = {str(k).lower(): v for k, v in entry.items()}
    name = next((lowered[k] for k in ("action", "name", "predicate", "skill") if isinstance(lowered.get(k), str)), "")
    args = next((lowered[k] for k in ("arguments", "args", "objects", "parameters", "params") if k in lowered), ())
    if isinstance(args, dict):
        args = list(args.values())
    if isinstance(args, str):
        args = [a for a in re.split(r"[,;]", args) if a.strip()]
    name = name.strip()
    if not args and len(inside := _calls(name[:MAX_LINE])) == 1:
        return inside[0][0]
    if (
        not name
        or len(name) > MAX_NAME
        or not isinstance(args, (list, tuple))
        or len(args) > 10
        or not all(isinstance(a, (str, int)) and len(str(a)) <= MAX_NAME for a in args)
    ):
        raise ParseError(f"{short_repr(entry)} is not a step; expected an action with its arguments")
    positive = lowered.get("positive") is not False and lowered.get("negated") is not True
    return Literal(name, tuple(str(a).strip() for a in args), positive)


def _lists(text: str, prose: bool = True) -> Iterator[tuple[tuple[Literal, ...], int]]:
    """The lists of calls in a text, each with its end: lines that are calls, with prose also numbered ones with a call.

    A list ends before a line of prose, unless the numbers go on after it, and where they begin anew.
    """
    block: list[Literal] = []
    number, apart, end, count = -1, False, 0, 0
    for line, at in _lines(text):
        bullet = _BULLET.match(line)
        numbered = int(bullet.group(1)) if bullet and bullet.group(1) else None
        body = line[bullet.end() :].strip("`*, \t") if bullet else line
        calls = _calls(body)
        if not calls or not (_is_list(body, calls) or (prose and numbered is not None and len(calls) == 1)):
            apart = True
            continue
        goes_on = numbered == number + 1 if apart else numbered is None or numbered > number
        if block and not goes_on:
            yield tuple(block), end
            block, number = [], -1
        block += [call for call, _, _ in calls]
        count += len(calls)
        if count > MAX_STEPS:
            raise ParseError(f"the reply has more than {MAX_STEPS} steps; more are not read")
        number, apart, end = number if numbered is None else numbered, False, at
    if block:
        yield tuple(block), end


def _is_list(line: str, calls: Sequence[tuple[Literal, int, int]]) -> bool:
    """Whether a line is calls, perhaps after a label and before a remark."""
    between = pairwise(calls)
    return (
        bool(_LABEL.match(_DENIAL.sub("", line[: calls[0][1]])))
        and bool(_REMARK.match(line[calls[-1][2] :]))
        and all(_BETWEEN.match(line[one[2] : two[1]]) for one, two in between)
    )


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """The lines to read, each with its end in the text."""
    at = 0
    for whole in text.splitlines(keepends=True):
        at += len(whole)
        line = whole.strip()
        if line and len(line) <= MAX_LINE and not line.startswith("```"):
            yield line.strip("`*, \t") if not _BULLET.match(line) else line, at


def _calls(line: str) -> list[tuple[Literal, int, int]]:
    """The calls in one line, in either notation, each with its beginning and end."""
    found = [
        (
            m.start(),
            m.end(),
            m.group(1).strip(),
            tuple(_with_id(*a) for a in _ANGLE.findall(m.group(2)) if a[0].strip()),
        )
        for m in _BRACKETS.finditer(line)
    ]
    if not found:
        for m in _CALL.finditer(line):
            name, inside = m.group(1) or m.group(3), (m.group(2) or m.group(4) or "").strip()
            args = tuple(a.split("=", 1)[-1].strip().strip("\"'<>`?") for a in inside.split(",")) if inside else ()
            if all(args) and all(len(a) <= MAX_NAME for a in args) and not (name == "not" and args):
                found.append((m.start(), m.end(), name, args))
    if not found and len(line) <= MAX_NAME and re.fullmatch(r"[A-Za-z]\w*_\w+|END|DONE", line):
        found = [(0, len(line), line, ())]  # a bare name such as return_to_base
    return [
        (Literal(name, args, not _DENIAL.search(line[max(0, start - 9) : start])), start, end)
        for start, end, name, args in found
    ]


def _with_id(name: str, number: str) -> str:
    """``<kitchen> (1)`` as kitchen_1, as objects of VirtualHome are named here."""
    return name if not number or re.search(rf"(?:\A|[_ ]){number}\Z", name) else f"{name}_{number}"


def _bare(line: str) -> list[tuple[Literal, int, int]]:
    """A step in JSON may be a bare name such as "return_to_base" or "end"."""
    found = re.fullmatch(r"(not\s+)?([A-Za-z][\w -]{0,60})", line)
    return [(Literal(found.group(2), (), not found.group(1)), 0, len(line))] if found else []
