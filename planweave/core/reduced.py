"""A domain without some of its actions, such as those that the body refuses."""

from __future__ import annotations

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
    return replace(domain, actions=actions, predicates=predicates)
