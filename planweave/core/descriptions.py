"""Objects described by words, such as "red cube" or "anything but the mug", whichever of them there are."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.domain import Domain
from planweave.core.world import WorldObject

UNSAID = {"id", "category", "seen"}
"""Attributes that describe nothing."""


def nouns_of(domain: Domain, thing: WorldObject) -> set[str]:
    """The nouns that may name an object: its name, its class, its categories, their synonyms, its type."""
    kind = thing.class_name.lower()
    parts = [p for p in thing.name.split("_") if not p.isdigit()]
    found = {thing.name, kind.rsplit("_", 1)[-1]} if kind else {thing.name, *parts[-1:]}
    found.update(w for w, classes in domain.categories.items() if thing.class_name in classes)
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


@dataclass(frozen=True, slots=True)
class Description:
    """Objects by their noun, "" for anything, and the words before it; but: those that are left out."""

    noun: str = ""
    words: frozenset[str] = frozenset()
    but: tuple[Description, ...] = ()

    def __str__(self) -> str:
        said = " ".join(sorted((*self.words, self.noun or "thing"), key=lambda w: (w.isdigit(), w == self.noun, w)))
        left_out = f" but {' and '.join(map(str, self.but))}" if self.but else ""
        return ("anything" if said == "thing" else f"any {said}") + left_out

    @property
    def is_anything(self) -> bool:
        """Whether every object fits."""
        return not self.noun and not self.words and not self.but

    def fits(self, domain: Domain, thing: WorldObject) -> bool:
        """Whether an object is one of those described."""
        if self.noun and self.noun not in nouns_of(domain, thing):
            return False
        if not self.words <= features_of(domain, thing):
            return False
        return not any(left_out.fits(domain, thing) for left_out in self.but)

    def covers(self, domain: Domain, other: Description) -> bool:
        """Whether every object of another description is one of these, as far as their words tell."""
        same = self.noun in ("", other.noun) or other.noun in domain.categories.get(self.noun, ())
        return same and self.words <= other.words and not any(b.covers(domain, other) for b in self.but)
