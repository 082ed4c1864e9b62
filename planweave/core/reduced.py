"""A domain without some of its actions, such as those that the body refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from planweave.core.domain import Domain


def without(domain: Domain, names: frozenset[str]) -> Domain:
    """The domain without these actions; a predicate that only they achieve cannot be a goal."""
    found = frozenset(domain.actions).intersection(names)
    return _without(domain, found) if found else domain


@lru_cache(maxsize=64)
def _without(domain: Domain, names: frozenset[str]) -> Domain:
    made: dict[str, set[str]] = {}
    for schema in domain.actions.values():
        for effect in schema.effects:
            for atom in effect.add:
                made.setdefault(atom.predicate, set()).add(schema.name)
    predicates = {
        name: replace(p, goal=False) if name in made and made[name] <= names else p
        for name, p in domain.predicates.items()
    }
    actions = {name: schema for name, schema in domain.actions.items() if name not in names}
    text = domain.pddl_text
    for name in sorted(names):
        text = text.replace(block(text, f"(:action {name}"), "", 1)
    return replace(domain, actions=actions, predicates=predicates, pddl_text=text)


def block(text: str, start: str) -> str:
    """The balanced expression that starts with a text."""
    begin = re.search(re.escape(start) + r"\s", text)
    if begin is None:
        raise ValueError(f"no {start} in the domain")
    depth = 0
    for index in range(begin.start(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return text[begin.start() : index + 1]
    raise ValueError(f"{start} is never closed")
