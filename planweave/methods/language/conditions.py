"""Conditions of programs, evaluated by rule where the domain defines them (ProgPrompt, Section IV.A).

The paper always queries the model (ProgPrompt's option ask_model). Here ``'close' to 'mug'``, ``'salmon' in 'hands'``,
``'fridge' is 'opened'``, ``grasped('mug')`` and ``in(red_cube, left_tray)`` are looked up: first in the table of the
domain's example file, then among the domain's own predicates by name and phrase. A class name matches any object of
that class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from planweave.core.base.errors import ParseError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave.core.trees.program import MAX_CONDITION, RELATION, ProgramCondition, plain_relation
from planweave.methods.language.prompting import example_part

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
