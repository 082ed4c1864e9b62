"""Which actions and goals of a domain a model is offered for a sentence.

Actions with `words` in the domain's file are offered where the text has one of them, and so are goals that only such
actions reach. It keeps prompts short, and the list of all possible calls within what a reply can be held to. The
controlled English, the checks of plans and the classical planner always know the whole domain.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

from planweave.domain import Domain


def offered(domain: Domain, text: str) -> Domain:
    """The domain without the actions, and the goals that only they reach, that a text has no word for."""
    said = " ".join(re.findall(r"[a-z]+", text.lower()))
    withheld = frozenset(
        schema.name for schema in domain.actions.values()
        if schema.words and not any(re.search(rf"\b{word}\b", said) for word in schema.words))
    return _without(domain, withheld) if withheld else domain


@lru_cache(maxsize=64)
def _without(domain: Domain, withheld: Collection[str]) -> Domain:
    made: dict[str, set[str]] = {}
    for schema in domain.actions.values():
        for effect in schema.effects:
            for atom in effect.add:
                made.setdefault(atom.predicate, set()).add(schema.name)
    predicates = {
        name: replace(p, goal=False) if name in made and made[name] <= set(withheld) else p
        for name, p in domain.predicates.items()
    }
    actions = {name: schema for name, schema in domain.actions.items() if name not in withheld}
    return replace(domain, actions=actions, predicates=predicates)
