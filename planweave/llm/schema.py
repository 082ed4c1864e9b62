"""JSON schemas that constrain a model's reply to the domain and the world."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from math import prod
from typing import Any

from planweave.core.domain import ActionSchema, Domain, Predicate
from planweave.core.world import Action, Literal, World

MAX_GROUND = 400  # calls listed one by one; beyond that names and arguments are chosen separately
MAX_NAMES = 900  # names listed per action; beyond that once for all actions (endpoints bound the size of a schema)


def ground_actions(domain: Domain, world: World, without: Collection[str] = ()) -> list[Action]:
    """All actions whose arguments have the right types and differ from each other, in the order of the domain."""
    return [
        Action(s.name, args)
        for s in domain.actions.values()
        if s.name not in without
        for args in _arguments(domain, s, world)
    ]


def ground_goals(domain: Domain, world: World) -> list[Literal]:
    """All positive literals allowed in a goal, with distinct arguments of the right types."""
    return [Literal(p.name, args) for p in goal_predicates(domain) for args in _arguments(domain, p, world)]


def goal_predicates(domain: Domain) -> list[Predicate]:
    """The predicates allowed in a goal."""
    return [p for p in domain.predicates.values() if p.goal]


def plan_schema(domain: Domain, world: World, *, max_steps: int, without: Collection[str] = ()) -> dict[str, Any]:
    """Schema of ``{"plan": [step, …]}``.

    A step is a string ``name(argument, …)`` out of a list of all, or, where those would be more than MAX_GROUND,
    ``{"action": …, "arguments": […]}`` with one form per action, or one form for all where that would list more than
    MAX_NAMES names.
    """
    schemas = [s for s in domain.actions.values() if s.name not in without]
    return _list_schema("plan", "action", domain, schemas, world, 1, max_steps)


def step_schema(domain: Domain, world: World, end: str, without: Collection[str] = ()) -> dict[str, Any]:
    """Schema of ``{"action": step}``: a call out of a list of all, or the word for the end; any text where those would
    be more than MAX_GROUND."""
    schemas = [s for s in domain.actions.values() if s.name not in without]
    if _size(domain, schemas, world) > MAX_GROUND:
        return _object({"action": {"type": "string"}})
    calls = [str(Action(s.name, args)) for s in schemas for args in _arguments(domain, s, world)]
    return _object({"action": {"type": "string", "enum": [*calls, end]}})


def goal_schema(domain: Domain, world: World, *, max_literals: int) -> dict[str, Any]:
    """Schema of ``{"goal": [literal, …]}``, in the two forms of `plan_schema`; an empty list: there is none."""
    return _list_schema("goal", "predicate", domain, goal_predicates(domain), world, 0, max_literals)


def choice_schema(letters: Sequence[str]) -> dict[str, Any]:
    """Schema of ``{"choice": letter}``."""
    return _object({"choice": {"type": "string", "enum": list(letters)}})


def _list_schema(
    key: str,
    head: str,
    domain: Domain,
    schemas: Sequence[ActionSchema | Predicate],
    world: World,
    shortest: int,
    longest: int,
) -> dict[str, Any]:
    fitting = {
        p.types: domain.candidates(p, world.objects)
        for p in {p.types: p for s in schemas for p in s.parameters}.values()
    }
    candidates = {s.name: [fitting[p.types] for p in s.parameters] for s in schemas}
    possible = [s for s in schemas if all(candidates[s.name])]
    together = {s.name: frozenset(p.types for p in s.parameters) for s in possible}
    united = {of: sorted(set().union(*(fitting[types] for types in of))) for of in {*together.values()}}
    names = {s.name: united[together[s.name]] for s in possible}
    if sum(prod(map(len, candidates[s.name])) for s in possible) <= MAX_GROUND:
        calls = [str(Action(s.name, args)) for s in possible for args in _arguments(domain, s, world)]
        item: dict[str, Any] = {"type": "string", "enum": calls}
    elif sum(map(len, names.values())) <= MAX_NAMES:
        item = {"anyOf": [_form(head, [s.name], names[s.name], len(s.parameters), len(s.parameters)) for s in possible]}
    else:
        item = _form(
            head,
            [s.name for s in possible],
            sorted(set().union(*names.values())),
            0,
            max(len(s.parameters) for s in possible),
        )
    return _object({key: {"type": "array", "items": item, "minItems": shortest, "maxItems": longest}})


def _form(head: str, heads: list[str], names: list[str], fewest: int, most: int) -> dict[str, Any]:
    return _object(
        {
            head: {"type": "string", "enum": heads},
            "arguments": {
                "type": "array",
                "minItems": fewest,
                "maxItems": most,
                "items": {"type": "string", "enum": names or [""]},
            },
        }
    )


def _size(domain: Domain, schemas: Sequence[ActionSchema], world: World) -> int:
    fitting: dict[frozenset[str], int] = {}
    for schema in schemas:
        for parameter in schema.parameters:
            if parameter.types not in fitting:
                fitting[parameter.types] = len(domain.candidates(parameter, world.objects))
    return sum(prod(fitting[p.types] for p in s.parameters) for s in schemas)


def _arguments(domain: Domain, schema: ActionSchema | Predicate, world: World) -> list[tuple[str, ...]]:
    lists = [domain.candidates(p, world.objects) for p in schema.parameters]
    return [args for args in product(*lists) if len(set(args)) == len(args)]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
