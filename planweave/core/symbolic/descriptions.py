"""Objects described by words, such as "red cube" or "anything but the mug", whichever of them there are."""

from __future__ import annotations

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import Description
from planweave.core.symbolic.world import WorldObject

UNSAID = {"id", "category", "seen"}
"""Attributes that describe nothing."""


def nouns_of(domain: Domain, thing: WorldObject) -> set[str]:
    """The nouns that may name an object: its name, its class, its categories, their synonyms, its type.

    The last word of a class is its noun, the others are adjectives: a `wooden_cabinet` is a cabinet, and what cabinets
    are. A class that says no more than the type, as a place's, leaves the noun to the name: `left_side` is a side.
    """
    kind = thing.class_name.lower() if thing.class_name != thing.type else ""
    parts = [p for p in thing.name.split("_") if not p.isdigit()]
    noun = kind.rsplit("_", 1)[-1] if kind else "".join(parts[-1:])
    found = {thing.name, noun}
    found.update(w for w, classes in domain.categories.items() if thing.class_name in classes or noun in classes)
    synonyms = (domain.extra.get("goals") or {}).get("nouns") or {}
    found.update(str(w) for w, of in synonyms.items() if of == kind or of == thing.attributes.get("category"))
    if thing.type not in ("object", "item"):
        found.add(thing.type)
    return {w for w in found if w}


def features_of(domain: Domain, thing: WorldObject) -> set[str]:
    """The words that may describe an object: its nouns, the parts of its name and class, its attributes."""
    found = {thing.name, *thing.name.split("_"), *thing.class_name.lower().split("_"), *nouns_of(domain, thing)}
    for key, value in thing.attributes.items():
        if key not in UNSAID:
            found.update(str(value).lower().replace("_", " ").split())
    return {w for w in found if w}


def fits(domain: Domain, description: Description, thing: WorldObject) -> bool:
    if description.noun and description.noun not in nouns_of(domain, thing):
        return False
    if not description.words <= features_of(domain, thing):
        return False
    return not any(fits(domain, left_out, thing) for left_out in description.but)


def covers(domain: Domain, one: Description, other: Description) -> bool:
    """Return whether every object of another description is one of the first, as far as their words tell."""
    same = one.noun in ("", other.noun) or other.noun in domain.categories.get(one.noun, ())
    return same and one.words <= other.words and not any(covers(domain, b, other) for b in one.but)
