"""Conditions of programs, evaluated by rule where the domain defines them (ProgPrompt, Section IV.A).

The paper always queries the model (ProgPrompt's option ask_model). Here ``'close' to 'mug'``, ``'salmon' in 'hands'``,
``'fridge' is 'opened'``, ``grasped('mug')`` and ``in(red_cube, left_tray)`` are looked up: first in the table of the
domain's example file, then among the domain's own predicates by name and phrase. A class name matches any object of
that class.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from planweave.core.base.errors import ParseError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave.core.trees.program import MAX_CONDITION, RELATION, ProgramCondition, plain_relation
from planweave.core.workflow.ports import ConditionCheck
from planweave.llm.parsing import agreed, bounded
from planweave.methods.language.prompting import example_part, observation_text, one_line, turn
from planweave.methods.language.question import Question

_RELATION = re.compile(rf"\A(not\s+)?['\"]?([^'\"]{{1,80}}?)['\"]?\s+({RELATION})\s+['\"]?([^'\"]{{1,80}}?)['\"]?\Z")
_CALL = re.compile(r"\A(not\s+)?([A-Za-z_][\w-]{0,60})\s*\(([^()]{0,160})\)\Z")


def parse_condition(text: str) -> ProgramCondition:
    """Read a condition; raises ParseError."""
    if len(text) > MAX_CONDITION:
        raise ParseError(f"the condition has {len(text)} characters; at most {MAX_CONDITION} are read")
    text = " ".join(text.split())
    if match := _CALL.match(text):
        arguments = tuple(a.strip().strip("'\"") for a in match.group(3).split(",")) if match.group(3).strip() else ()
        if not all(arguments):
            raise ParseError(f"an argument in {text[:80]!r} is empty")
        return ProgramCondition((match.group(2), *arguments), "", bool(match.group(1)))
    if match := _RELATION.match(text):
        relation, negated = plain_relation(match.group(3))
        return ProgramCondition(
            (match.group(2).strip(), match.group(4).strip()), relation, bool(match.group(1)) != negated
        )
    raise ParseError(
        f"cannot read the condition {text[:80]!r}; expected a form such as 'close' to 'mug', 'fridge' is "
        "'opened' or in(red_cube, left_tray)"
    )


def holds_by_rule(domain: Domain, world: World, condition: ProgramCondition) -> bool | None:
    """Whether a condition holds, None where no rule defines it."""
    ways = list(_ways(domain, world, condition))
    if not ways:
        return None
    return any(world.seems(literal) for literal in ways) != condition.negated


def _ways(domain: Domain, world: World, condition: ProgramCondition) -> Iterator[Literal]:
    """Literals any of which makes the condition (without its negation) true."""
    table: Mapping[str, Sequence[str]] = example_part(domain, "conditions", {})
    things = [objects_named(world, word) for word in condition.words]
    if condition.relation:
        left, right = condition.words
        for key, args in (
            (f"{plain_words(left)} {condition.relation} {{0}}", things[1:]),
            (f"{{0}} {condition.relation} {plain_words(right)}", things[:1]),
            (f"{plain_words(left)} {condition.relation} {plain_words(right)}", []),
            (f"{{0}} {condition.relation} {{1}}", things),
        ):
            if key in table and all(args):
                yield from _filled(table[key], args)
                return
        yield from _by_name(domain, condition.relation, things)
        if condition.relation == "is" and things[0]:
            yield from _by_name(domain, right, things[:1])
        elif things[1]:
            yield from _by_name(domain, left, things[1:])
        return
    places = ", ".join(f"{{{i}}}" for i in range(len(things) - 1))
    key = f"{plain_words(condition.words[0])}({places})"
    if key in table and all(things[1:]):
        yield from _filled(table[key], things[1:])
    else:
        yield from _by_name(domain, condition.words[0], things[1:])


def _filled(rows: Sequence[str], things: Sequence[Sequence[str]]) -> Iterator[Literal]:
    for row in rows:
        for names in product(*things):
            yield Literal.parse(row.format(*names))


def _by_name(domain: Domain, word: str, things: Sequence[Sequence[str]]) -> Iterator[Literal]:
    """Predicates with this name, or whose phrase ends with this word ("the {o} is open")."""
    said = plain_words(word)
    if not all(things):
        return
    for predicate in domain.predicates.values():
        if len(predicate.parameters) != len(things):
            continue
        if plain_words(predicate.name) == said or (
            len(things) == 1 and plain_words(predicate.phrase).endswith(f" is {said}")
        ):
            for names in product(*things):
                yield Literal(predicate.name, tuple(names))


def objects_named(world: World, word: str) -> list[str]:
    """The object of this name in any spelling, else all objects of this class."""
    said = plain_words(word)
    exact = [o.name for o in world.objects if plain_words(o.name) == said]
    if exact:
        return exact
    joined = said.replace(" ", "")
    return [o.name for o in world.objects if plain_words(o.class_name).replace(" ", "") == joined]


@lru_cache(maxsize=8192)
def plain_words(text: str) -> str:
    """Lower-case letters and digits, a space for all that is between them."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


_STATED = re.compile(r"assert\s*\(\s*(.*?)\s*\)", re.DOTALL)
_TRUTH = re.compile(r"\b(not\s{1,9})?(true|false)\b", re.IGNORECASE)
_ANSWER = re.compile(
    r"(?:the )?(?:(?:answer|assertion|condition|result)\b\W{0,5})?(?:is\b|holds\b)?\W{0,5}"
    r"(true|false|yes|no)\b",
    re.IGNORECASE,
)
MAX_CHARACTERS_READ = 20_000


def check(question: Question, text: str) -> ConditionCheck:
    """Evaluate a condition by rule where the domain defines the predicate, else by the model.

    text: the condition; as a statement, ``assert(...)``, and where its form is unknown it is always put to the model. A
    reply that says neither True nor False is asked for once more. Raises ParseError or ModelError.
    """
    if len(text) > MAX_CONDITION:
        raise ParseError(f"the condition has {len(text)} characters; at most {MAX_CONDITION} are read")
    stated = _STATED.fullmatch(text.strip())
    condition: ProgramCondition | None = None
    with contextlib.suppress(ParseError):
        condition = parse_condition(stated.group(1) if stated else text)
    holds = None if condition is None else holds_by_rule(question.domain, question.world, condition)
    if holds is not None and not stated:
        return ConditionCheck(holds, "rule")
    words = condition.words if condition else re.findall(r"\w+", text)
    about = {n for word in words for n in objects_named(question.world, word)}
    near = question.shown
    if about:  # the state of what the condition names, as in the paper
        near = replace(near, facts=frozenset(f for f in near.facts if not f.args or about & set(f.args)))
    said = one_line(str(condition) if condition else stated.group(1) if stated else text)
    messages = (
        turn("system", "condition/system.txt"),
        turn("user", "condition/user.txt", state=observation_text(question.domain, near), condition=said),
    )
    found, usage = question.ask_one(
        "condition",
        messages,
        lambda reply: parse_truth(reply.text),
        about={"holds": holds},
        temperature=0.0,
        max_tokens=10,
    )
    return ConditionCheck(found, "model", usage)


def parse_truth(text: str) -> bool:
    """True or False out of a reply; raises ParseError where it says neither, or both."""
    words = re.findall(r"[A-Za-z]+", bounded(text, MAX_CHARACTERS_READ))
    ends = [m for m in (_ANSWER.match(" ".join(words)), words and _ANSWER.fullmatch(words[-1])) if m]
    said = [m.group(1).lower() in ("true", "yes") for m in ends]
    said += [(m.group(2).lower() == "true") != bool(m.group(1)) for m in _TRUTH.finditer(text)]
    found = agreed(said, text)
    if found is None:
        raise ParseError(f"the reply {text[:100]!r} says neither True nor False")
    return found
