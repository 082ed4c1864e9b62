"""Words that describe the objects of a world: nouns, colours, parts of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.descriptions import UNSAID, features_of, nouns_of
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import World, WorldObject
from planweave.goals.lexicon import Lexicon, english, plurals, singulars
from planweave.goals.sentence_tree import NounPhrase, Quantity


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
        return {o.name: frozenset(nouns_of(self.domain, o)) for o in self.world.objects}

    @cached_property
    def known_nouns(self) -> frozenset[str]:
        """All nouns in the singular, of present and absent objects."""
        here = {h for heads in self.heads.values() for h in heads}
        classes = {*self.domain.classes, *self.domain.categories, *self.lexicon.nouns}
        classes |= {c for of in self.domain.categories.values() for c in of}
        if "location" in self.domain.types:  # whether or not a place has one; "in the middle" may say which of three
            classes |= {*english()["spots"]} - {*english()["superlatives"]}
        return frozenset({c for c in here | {c.rsplit("_", 1)[-1] for c in classes} if c.replace("_", "").isalnum()})

    @cached_property
    def words(self) -> dict[str, bool]:
        """All words of descriptions, and whether they are plurals."""
        single = {*self.all_features, *self.world.by_name, *english()["colours"], *self.known_nouns}
        found = dict.fromkeys(single, False)
        for noun in self.known_nouns:
            for form in plurals(noun):
                if noun not in english()["mass"] or form in english()["same"]:  # "fruits", but no "foods"
                    found.setdefault(form, True)
        for plural, noun in english()["irregular"].items():
            if noun in self.known_nouns:
                found.setdefault(plural, True)
        return found

    @cached_property
    def all_features(self) -> frozenset[str]:
        """The words that describe anything here."""
        return frozenset(w for features in self.features.values() for w in features)

    @cached_property
    def colours(self) -> frozenset[str]:
        return frozenset(english()["colours"])

    def singular(self, word: str) -> str:
        """Normal form of a word: "cubes" is "cube"; synonyms share one."""
        here = next((w for w in (word, *singulars(word)) if w in self.all_features), "")
        if here:  # "blocks" are the blocks where there are some, and else the cubes
            return here
        same: str = english()["same"].get(word, word)
        if same in self.all_features:
            return same
        return next((s for s in singulars(same) if s in self.all_features or s in self.known_nouns), same)

    def is_mass(self, phrase: NounPhrase) -> bool:
        """Whether the noun is of things that are not counted, "the fruit"; "that fruit" is one of them."""
        pointed = phrase.text.startswith(("this ", "that "))
        return bool(phrase.words) and not pointed and self.singular(phrase.words[-1]) in english()["mass"]

    def describes(self, name: str, words: Sequence[str]) -> bool:
        """Whether the words before the noun fit the object: attributes, parts of its name, its room; no other nouns."""
        thing = self.world.by_name[name]
        told = {*name.split("_")[:-1], *thing.class_name.lower().split("_")[:-1], thing.type}
        told |= {p for p in name.split("_") if p.isdigit()}
        for key, value in thing.attributes.items():
            told |= {*str(value).lower().replace("_", " ").split()} if key not in UNSAID else set()
        told |= _other_sides(thing)
        rest = [w for w in words if w not in told]
        return not rest or "_".join(rest) in self._rooms(thing)

    def parts_alone(self, phrase: NounPhrase, found: list[str], why: Callable[[str], str]) -> list[str]:
        """Several drawers are drawers, and not the cabinet that they are parts of, though it is called one, too; beside
        a drawer a cabinet without drawers is none.
        """
        part_of = self.lexicon.parts
        of = {f.args[0]: f.args[1] for f in self.world.by_predicate.get(part_of, ()) if f.args[0] in found}
        wholes = {*of.values()}
        if phrase.is_one and not phrase.superlative:
            noun = self.singular(phrase.words[-1])
            called = [n for n in found if noun in (n, self.world.by_name[n].class_name.rsplit("_", 1)[-1])]
            own = {n for n in found if not called or self.world.by_name[n].class_name == noun}
            found = [n for n in found if of.get(n) not in own]  # the shelf, and not a shelf in it
            if part_of and any(not why(n) for n in called):
                found = [n for n in found if n in called or n in wholes]
            return found
        return [n for n in found if n not in wholes]

    def of_no_other_colour(self, phrase: NounPhrase, found: list[str], words: Sequence[str]) -> list[str]:
        """ "the white mug" is the one that is all white, where another is white and yellow; "the white mugs" may be
        both.
        """
        if not self.colours.intersection(words):
            return found
        pure = [n for n in found if self.features[n] & self.colours <= {*words}]
        if pure and pure != found and (phrase.plural or phrase.quantity is Quantity.ALL):
            also = ", ".join(spoken(n) for n in found if n not in pure)
            raise GoalError(f"{phrase.text!r}: {also} is so in part; name the things that are meant")
        return pure or found

    def _features(self, thing: WorldObject) -> set[str]:
        rooms = {w for room in self._rooms(thing) for w in room.split("_") if w}
        return features_of(self.domain, thing) | rooms | _other_sides(thing)

    def _rooms(self, thing: WorldObject) -> list[str]:
        inside = (f.args[1] for f in self.world.by_predicate.get("in_room", ()) if f.args[0] == thing.name)
        return [self.world.by_name[n].class_name for n in inside if n in self.world.by_name]


def _other_sides(thing: WorldObject) -> set[str]:
    """Other words for the side or level that a name says: a far edge is the back one, a top drawer the upper one."""
    groups = english()["which_side" if thing.type == "location" else "which_level"].values()
    said = {*thing.name.split("_")[:-1]}
    return {word for of in groups if said.intersection(of) for word in of}
