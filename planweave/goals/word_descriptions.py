"""Words that describe the objects of a world: nouns, colours, parts of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.descriptions import UNSAID, features_of, nouns_of
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import World, WorldObject
from planweave.goals.lexicon import Lexicon, english
from planweave.goals.sentence_tree import NounPhrase, Quantity
from planweave.goals.word_forms import plurals, singulars


@dataclass
class Descriptions:
    """The words that fit each object, and the objects that words fit."""

    domain: Domain
    world: World
    lexicon: Lexicon

    @cached_property
    def features(self) -> dict[str, frozenset[str]]:
        """The words that may describe each object."""
        return {o.name: frozenset(self._features(o)) for o in self.world.objects}

    @cached_property
    def heads(self) -> dict[str, frozenset[str]]:
        """The nouns that may name each object."""
        return {o.name: frozenset(nouns_of(self.domain, o)) for o in self.world.objects}

    @cached_property
    def known_nouns(self) -> frozenset[str]:
        """All nouns in the singular, of present and absent objects."""
        here = {h for heads in self.heads.values() for h in heads}
        classes = {*self.domain.classes, *self.domain.categories, *self.lexicon.nouns}
        classes |= {c for of in self.domain.categories.values() for c in of}
        return frozenset({c for c in here | {c.rsplit("_", 1)[-1] for c in classes} if c.replace("_", "").isalnum()})

    @cached_property
    def words(self) -> dict[str, bool]:
        """All words of descriptions, and whether they are plurals."""
        found = {w: False for features in self.features.values() for w in features}
        found.update((w, False) for w in english()["colours"])
        found.update((w, False) for w in self.world.by_name)
        for noun in self.known_nouns:
            found[noun] = False
        for noun in self.known_nouns:
            for form in plurals(noun):
                if noun not in english()["mass"] or form in english()["same"]:  # "fruits", but no "foods"
                    found.setdefault(form, True)
        for plural, noun in english()["irregular"].items():
            if noun in self.known_nouns:
                found.setdefault(plural, True)
        return found

    def _features(self, thing: WorldObject) -> set[str]:
        found = features_of(self.domain, thing)
        for fact in self.world.by_predicate.get("in_room", ()):
            if fact.args[0] == thing.name and fact.args[1] in self.world.by_name:
                found.update(self.world.by_name[fact.args[1]].class_name.split("_"))
        return {w for w in found if w}

    def singular(self, word: str) -> str:
        """Normal form of a word: "cubes" is "cube"; synonyms share one."""
        same = english()["same"].get(word, word) if word not in self._all_features else word
        if same in self._all_features:
            return same
        return next((s for s in singulars(same) if s in self._all_features or s in self.known_nouns), same)

    @cached_property
    def _all_features(self) -> frozenset[str]:
        return frozenset(w for features in self.features.values() for w in features)

    def _parts_alone(self, phrase: NounPhrase, found: list[str]) -> list[str]:
        """Several drawers are drawers, and not the cabinet that they are parts of, though it is called one, too."""
        if not phrase.plural and phrase.quantity is not Quantity.ALL and not phrase.superlative:
            return found
        part_of = (self.domain.extra.get("goals") or {}).get("parts", "")
        wholes = {fact.args[1] for fact in self.world.by_predicate.get(part_of, ()) if fact.args[0] in found}
        return [n for n in found if n not in wholes]

    def _of_no_other_colour(self, phrase: NounPhrase, found: list[str], words: Sequence[str]) -> list[str]:
        """ "the white mug" is the one that is all white, where another is white and yellow; "the white mugs" may be
        both.
        """
        if not self._colours.intersection(words):
            return found
        pure = [n for n in found if self.features[n] & self._colours <= {*words}]
        if pure and pure != found and (phrase.plural or phrase.quantity is Quantity.ALL):
            also = ", ".join(spoken(n) for n in found if n not in pure)
            raise GoalError(f"{phrase.text!r}: {also} is so in part; name the things that are meant")
        return pure or found

    def _check_colours(self, phrase: NounPhrase, meant: Iterable[str]) -> None:
        """Raise GoalError for "everything that is not white", where of something the colour is not known."""
        if any(e.quantity is Quantity.ALL and self._colours.intersection(e.words) for e in phrase.exceptions):
            for name in meant:
                if not self.features[name] & self._colours:
                    raise GoalError(f"{phrase.text!r}: the colour of {spoken(name)} is not known; name what is meant")

    @cached_property
    def _colours(self) -> frozenset[str]:
        return frozenset(english()["colours"])

    def _describes(self, name: str, words: Sequence[str]) -> bool:
        """Whether the words before the noun fit the object: attributes, parts of its name, its room; no other nouns."""
        if not words:
            return True
        thing = self.world.by_name[name]
        parts = {*name.split("_")[:-1], *thing.class_name.lower().split("_")[:-1]} | {
            p for p in name.split("_") if p.isdigit()
        }
        told = {
            w for k, v in thing.attributes.items() if k not in UNSAID for w in str(v).lower().replace("_", " ").split()
        }
        rest = [w for w in words if w not in parts and w not in told and w != thing.type]
        return not rest or any(
            "_".join(rest) == self.world.by_name[f.args[1]].class_name
            for f in self.world.by_predicate.get("in_room", ())
            if f.args[0] == name
        )

    def _mass(self, phrase: NounPhrase) -> bool:
        return bool(phrase.words) and self.singular(phrase.words[-1]) in english()["mass"]
