"""Tolerant parsing of a model's replies. For any text only ParseError is raised, in time linear in its length.

Replies are data: nothing in them is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from reprlib import repr as short_repr
from typing import Any

from planweave.core.errors import ParseError
from planweave.core.world import Action, Literal
from planweave.llm.replies import without_thinking

MAX_CHARACTERS = 1_000_000
MAX_STEPS = 1000
MAX_LITERALS = 100
MAX_LINE = 1000  # characters; a longer line is prose
MAX_NAME = 100
_END = {"end", "done", "stop", "finish", "finished"}
_BULLET = re.compile(r"\A(?:(?:step|action)\s{0,3})?\(?\d{1,4}\s{0,3}[.):\]-]\s*|\A[-*+•>]\s+", re.IGNORECASE)
_CALL = re.compile(
    r"(?<![\w-])([A-Za-z_][\w-]{0,99})\(([^()]{0,600})\)"
    r"|\A([A-Za-z_][\w-]{0,99})\s{1,3}\(([^()]{0,600})\)"
)
_BRACKETS = re.compile(
    r"\[\s{0,3}([A-Za-z_][\w -]{0,99})\]"
    r"((?:\s{0,3}<[^<>]{0,100}>\s{0,3}(?:\(\s{0,3}\d{1,6}\s{0,3}\))?){0,10})"
)
_ANGLE = re.compile(r"<\s*([^<>]{0,100}?)\s*>(?:\s{0,3}\(\s{0,3}(\d{1,6})\s{0,3}\))?")
_LEADING = re.compile(r"\A[(\[]?([A-Za-z]{1,2})[)\].:,]{0,2}(?:\s|\Z)")
_CHOSEN = re.compile(
    r"(?i:option|choice|answer|choose|take|pick|select|best)"
    r"(?i:\s+(?:is|would|be|to|of|sub-task|option|action|choice)){0,4}\s*[:=]?\s*[*_(\[\"']{0,3}([A-Za-z]{1,2})\b"
)
_LISTED = re.compile(r"(?m)^\s*[(\[*]{0,2}([A-Z]{1,2})[)\].:*]{1,2}(?:\s|$)")
_ALONE = re.compile(r"(?<![A-Za-z'])([A-Z]{1,2})(?![A-Za-z'])")


def parse_plan(text: str) -> tuple[Action, ...]:
    """Actions of a plan in a reply: names as the model wrote them, not checked against any domain.

    Reads ``{"plan": [...]}`` and other JSON lists of steps (strings, or objects with action and arguments), and lines
    such as ``1. grasp(red_cube)`` or ``[grasp] <red_cube> (1)`` (read as red_cube_1), in code fences and between
    prose. A step that says END ends the plan. Raises ParseError where there is no step, or more than MAX_STEPS.
    """
    text = _checked(text)
    data = _find_json(text, ("plan", "steps", "actions", "subtasks"))
    steps = list(_calls_in_json(data)) if data is not None else None
    if steps is None:
        steps = list(_calls_in_lines(text))
    actions = []
    for name, args in steps:
        if name.lower() in _END and not args:
            break
        actions.append(Action(name, args))
    if not actions:
        raise ParseError(f'no plan in the reply {_shown(text)}; expected {{"plan": ["action(object)", …]}}')
    return tuple(actions)


def parse_goal(text: str) -> tuple[Literal, ...]:
    """Literals of a goal in a reply, in the same forms as a plan; raises ParseError."""
    text = _checked(text)
    data = _find_json(text, ("goal", "goals", "literals"))
    if data == []:
        raise ParseError("the model says that none of the conditions and objects known here is asked for")
    if data is None:
        calls = [(n, a, not _negated(line)) for line in islice(_lines(text), MAX_STEPS) for n, a in _calls(line)]
    else:
        calls = [(n, a, True) for n, a in _calls_in_json(data, negation=True)]
    literals = []
    if len(calls) > MAX_LITERALS:
        raise ParseError(f"the reply has {len(calls)} literals; more than {MAX_LITERALS} are no goal")
    for name, args, positive in calls:
        if name == "not" and args:
            continue
        if name.startswith("not "):
            name, positive = name[4:], False
        literals.append(Literal(name, args, positive))
    if not literals:
        raise ParseError(f'no goal in the reply {_shown(text)}; expected {{"goal": ["predicate(object)", …]}}')
    return tuple(literals)


def parse_choice(text: str, count: int) -> int:
    """Index of the option that a reply names by its letter: ``A``, ``(B)``, ``Option C``, ``The best is D.``, JSON.

    Raises ParseError where it names none of the count options, or several different ones.
    """
    text = _checked(text)
    letters = [letter(i) for i in range(count)]
    data = _find_json(text, ("choice", "option", "answer"))
    if isinstance(data, (str, int)) and not isinstance(data, bool):
        text = str(data)
    # Without runs of white space, over which some patterns would take time that grows with the square of their length.
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()).strip("`*\"' \n")
    for pattern in _listed_last(text):
        found = {m.upper() for m in pattern.findall(text)} & set(letters)
        if pattern is _LEADING and found == {"A"} and not re.match(r"[(\[]?[Aa](?:[)\].:,]|\s*\Z)", text):
            continue  # "A good choice is B" begins with an article
        if pattern is _ALONE and re.search(r"\bA (?:\w+ )?(?:choice|option|action|answer)\b", text):
            found.discard("A")
        if len(found) == 1:
            return letters.index(found.pop())
        if found:
            break
    raise ParseError(f"the reply {_shown(text)} names none, or several, of the options {', '.join(letters[:26])}")


def _listed_last(text: str) -> tuple[re.Pattern[str], ...]:
    """Patterns in the order of trust; a reply that begins by listing several options chooses in its prose."""
    if len(set(_LISTED.findall(text))) > 1:
        return (_CHOSEN,)
    return (_LEADING, _CHOSEN, _LISTED, _ALONE)


def letter(index: int) -> str:
    """The letter of an option: A … Z, AA, AB, …"""
    return chr(65 + index) if index < 26 else letter(index // 26 - 1) + chr(65 + index % 26)


def _checked(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise ParseError(f"the reply has {len(text)} characters; more than {MAX_CHARACTERS} are not read")
    return without_thinking(text).strip()


def _shown(text: str) -> str:
    return repr(text[:100] + ("…" if len(text) > 100 else ""))


def _find_json(text: str, keys: tuple[str, ...]) -> Any:
    """The value under one of the keys in the first JSON object or list of the text; None where there is none.

    A reply that was cut short still gives the strings it has of the list.
    """
    decoder = json.JSONDecoder()
    starts = [m.start() for m, _ in zip(re.finditer(r"[{\[]", text), range(20))]
    for start in starts:
        try:
            data, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        for _ in range(3):  # {"reply": {"plan": […]}}
            if isinstance(data, dict):
                lowered = {str(k).lower(): v for k, v in data.items()}
                key = next((k for k in keys if k in lowered), None)
                if key is not None:
                    return lowered[key]
                data = next(iter(data.values())) if len(data) == 1 else None
        if (
            isinstance(data, list)
            and all(isinstance(x, (str, dict)) for x in data)
            and any(_calls(x[:MAX_LINE]) if isinstance(x, str) else True for x in data)
        ):
            return data
    return None


def _calls_in_json(data: Any, negation: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(data, str):
        yield from _calls_in_lines(data)
        return
    if not isinstance(data, list):
        raise ParseError("the reply's JSON has no list of steps")
    if len(data) > MAX_STEPS:
        raise ParseError(f"the reply has {len(data)} steps; more than {MAX_STEPS} are not read")
    for entry in data:
        if isinstance(entry, str):
            line = _BULLET.sub("", entry.strip()[:MAX_LINE], count=1)
            negative = negation and _negated(line)
            for name, args in _calls(line) or _bare(line):
                yield ("not " if negative and name != "not" else "") + name, args
        elif isinstance(entry, dict):
            yield _call_in_object(entry)
        else:
            raise ParseError(f'{short_repr(entry)} is not a step; expected "action(object)"')


def _call_in_object(entry: dict[Any, Any]) -> tuple[str, tuple[str, ...]]:
    lowered = {str(k).lower(): v for k, v in entry.items()}
    name = next((lowered[k] for k in ("action", "name", "predicate", "skill") if isinstance(lowered.get(k), str)), "")
    args = next((lowered[k] for k in ("arguments", "args", "objects", "parameters", "params") if k in lowered), ())
    if isinstance(args, dict):
        args = list(args.values())
    if isinstance(args, str):
        args = [a for a in re.split(r"[,;]", args) if a.strip()]
    name = name.strip()
    if not args and (inside := _calls(name[:MAX_LINE])):
        return inside[0]
    if (
        not name
        or len(name) > MAX_NAME
        or not isinstance(args, (list, tuple))
        or len(args) > 10
        or not all(isinstance(a, (str, int)) and len(str(a)) <= MAX_NAME for a in args)
    ):
        raise ParseError(f"{short_repr(entry)} is not a step; expected an action with its arguments")
    if lowered.get("positive") is False or lowered.get("negated") is True:
        name = f"not {name}"
    return name, tuple(str(a).strip() for a in args)


def _calls_in_lines(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    count = 0
    for line in _lines(text):
        for call in _calls(line):
            count += 1
            if count > MAX_STEPS:
                raise ParseError(f"the reply has more than {MAX_STEPS} steps; more are not read")
            yield call


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        line = line.strip()
        if line and len(line) <= MAX_LINE and not line.startswith("```"):
            yield _BULLET.sub("", line, count=1).strip("`*, \t")


def _calls(line: str) -> list[tuple[str, tuple[str, ...]]]:
    """The calls in one line, in either notation."""
    brackets = [
        (m.group(1).strip(), tuple(_with_id(*a) for a in _ANGLE.findall(m.group(2)) if a[0].strip()))
        for m in _BRACKETS.finditer(line)
    ]
    if brackets:
        return brackets
    calls = []
    for match in _CALL.finditer(line):
        name, inside = match.group(1) or match.group(3), (match.group(2) or match.group(4) or "").strip()
        args = tuple(a.split("=", 1)[-1].strip().strip("\"'<>`?") for a in inside.split(",")) if inside else ()
        if all(args) and all(len(a) <= MAX_NAME for a in args):
            calls.append((name, args))
    if not calls and len(line) <= MAX_NAME and re.fullmatch(r"[A-Za-z]\w*_\w+|END|DONE", line):
        return [(line, ())]  # a bare name such as return_to_base
    return calls


def _with_id(name: str, number: str) -> str:
    """``<kitchen> (1)`` as kitchen_1, as objects of VirtualHome are named here."""
    return name if not number or re.search(rf"(?:\A|[_ ]){number}\Z", name) else f"{name}_{number}"


def _bare(line: str) -> list[tuple[str, tuple[str, ...]]]:
    """A step in JSON may be a bare name such as "return_to_base" or "end"."""
    return [(line, ())] if re.fullmatch(r"[A-Za-z][\w -]{0,60}", line) else []


def _negated(line: str) -> bool:
    return bool(re.match(r"(?:not\b|¬|!|~)", line.strip(), re.IGNORECASE))
