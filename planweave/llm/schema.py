"""JSON schemas that constrain a model's reply to the domain and the world."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import product
from math import prod
from typing import Any

from planweave.core.checks.validation import achievers
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.schemas import ActionSchema, Predicate
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.reading import READING_KINDS

MAX_GROUND = 400  # calls listed one by one; beyond that a pattern says how they are written
MAX_PATTERN = 40_000  # characters of such a pattern; beyond that any text (endpoints bound the size of a schema)
_MAX_PARTS = 12  # states in order, choices of several, and things that may be meant, in a reading
_MAX_WORDS = 20  # that it explains
_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\/]")


def ground_actions(domain: Domain, world: World, without: Collection[str] = ()) -> list[Action]:
    """All actions whose arguments have the right types and differ from each other, in the order of the domain."""
    return [
        Action(s.name, args)
        for s in domain.actions.values()
        if s.name not in without
        for args in _arguments(domain, s, world)
    ]


def goal_predicates(domain: Domain) -> list[Predicate]:
    """The predicates allowed in a goal, but those that no action changes."""
    return [p for p in domain.predicates.values() if p.goal and achievers(domain, Literal(p.name, ()))]


def plan_schema(domain: Domain, world: World, *, max_steps: int, without: Collection[str] = ()) -> dict[str, Any]:
    """Schema of ``{"plan": [step, …]}``; a step is a string ``name(argument, …)``, the form that prompts show.

    It is out of a list of all, or, where those would be more than MAX_GROUND, of a pattern with the names.
    """
    schemas = [s for s in domain.actions.values() if s.name not in without]
    steps = {"type": "array", "items": _call(domain, schemas, world), "minItems": 1, "maxItems": max_steps}
    return _object({"plan": steps})


def step_schema(domain: Domain, world: World, end: str, without: Collection[str] = ()) -> dict[str, Any]:
    """Schema of ``{"action": step}``: a step as in `plan_schema`, or the word for the end."""
    schemas = [s for s in domain.actions.values() if s.name not in without]
    return _object({"action": _call(domain, schemas, world, end)})


def reading_schema(domain: Domain, *, max_literals: int) -> dict[str, Any]:
    """Schema of a reading (`planweave.llm.parsing.WrittenReading`). The goal's literals have any arguments: all objects
    would bury the prompt, which lists them. The other literals are texts.
    """
    text = {"type": "string"}
    names = "|".join(p.name for p in goal_predicates(domain))
    literal = text | {"pattern": rf"^(not )?({names})\([^()]*\)$"}
    texts = {"type": "array", "items": text, "maxItems": max_literals}
    lists = {"type": "array", "items": texts, "maxItems": _MAX_PARTS}
    number = {"type": "integer", "minimum": 1, "maximum": max_literals}
    return _object(
        {
            "kind": {"type": "string", "enum": list(READING_KINDS)},
            "before": lists,
            "goal": {"type": "array", "items": literal, "maxItems": max_literals},
            "any_of": {"type": "array", "items": _object({"number": number, "of": texts}), "maxItems": _MAX_PARTS},
            "keep": texts,
            "choices": lists,
            "words": {"type": "array", "items": text, "maxItems": _MAX_WORDS},
            "not_covered": texts,
        }
    )


def comparison_schema() -> dict[str, Any]:
    """Schema of ``{"adds": [text, …], "loses": [text, …]}``."""
    texts = {"type": "array", "items": {"type": "string"}, "maxItems": _MAX_WORDS}
    return _object({"adds": texts, "loses": texts})


def choice_schema(letters: Sequence[str]) -> dict[str, Any]:
    """Schema of ``{"choice": letter}``."""
    return _object({"choice": {"type": "string", "enum": list(letters)}})


def _call(domain: Domain, schemas: Sequence[ActionSchema | Predicate], world: World, word: str = "") -> dict[str, Any]:
    """Schema of one call with arguments of the right types, or of the word."""
    fitting = {
        p.types: domain.candidates(p, world.objects)
        for p in {p.types: p for s in schemas for p in s.parameters}.values()
    }
    if sum(prod(len(fitting[p.types]) for p in s.parameters) for s in schemas) <= MAX_GROUND:
        calls = [str(Action(s.name, args)) for s in schemas for args in _arguments(domain, s, world)]
        return {"type": "string", "enum": [*calls, *([word] if word else ())]}
    alike: dict[tuple[frozenset[str], ...], list[str]] = {}
    for schema in schemas:
        if all(fitting[p.types] for p in schema.parameters):
            alike.setdefault(tuple(p.types for p in schema.parameters), []).append(schema.name)
    ways = [
        _either(heads) + r"\(" + ", ".join(_either(sorted(fitting[types])) for types in of) + r"\)"
        for of, heads in alike.items()
    ]
    pattern = f"^({'|'.join([*ways, *([word] if word else ())])})$"
    return {"type": "string", "pattern": pattern} if len(pattern) <= MAX_PATTERN else {"type": "string"}


def _either(names: Sequence[str]) -> str:
    return "(" + "|".join(_SPECIAL.sub(r"\\\g<0>", name) for name in names) + ")"


def _arguments(domain: Domain, schema: ActionSchema | Predicate, world: World) -> list[tuple[str, ...]]:
    lists = [domain.candidates(p, world.objects) for p in schema.parameters]
    return [args for args in product(*lists) if len(set(args)) == len(args)]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
