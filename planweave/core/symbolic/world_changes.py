"""Differences between two observations of the world, in words for people and planners."""

from __future__ import annotations

import math

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Known, Literal, World, WorldObject

MOVED = 0.02
"""Displacement of a thing that counts as a move, m: above the noise of a camera."""
_TOLD = 6  # facts that are told


def changes_between(domain: Domain, before: World, after: World) -> tuple[str, ...]:
    """Things that are gone, new or moved, and facts that hold no more or now; empty where nothing has changed."""
    said = [f"the {spoken(name)} is gone" for name in before.by_name if name not in after.by_name]
    said += [f"the {spoken(name)} is new" for name in after.by_name if name not in before.by_name]
    for name, old in before.by_name.items():
        if (new := after.by_name.get(name)) is not None and (far := _moved(old, new)) > MOVED:
            said.append(f"the {spoken(name)} was moved by {100 * far:.0f} cm")
    facts = _changed_facts(domain, before, after)
    said += [domain.phrase(fact) for fact in facts[:_TOLD]]
    return (*said, f"and {len(facts) - _TOLD} more facts") if len(facts) > _TOLD else tuple(said)


def _moved(old: WorldObject, new: WorldObject) -> float:
    """Displacement, m; 0 where it is not known."""
    if old.position is None or new.position is None or Known.FIXED in (old.known, new.known):
        return 0.0
    return math.dist(old.position, new.position)


def _changed_facts(domain: Domain, before: World, after: World) -> list[Literal]:
    """Facts of which people are told, and that are no longer, or only now, so; about things that are there."""
    lost = [fact.negated() for fact in sorted(before.facts - after.facts)]
    found = sorted(after.facts - before.facts)
    return [
        fact
        for fact in (*found, *lost)
        if fact.predicate in domain.spoken_of
        and fact.predicate not in {*before.derived, *after.derived}  # they follow from the places, which are told
        and all(name in after.by_name for name in fact.args)
    ]
