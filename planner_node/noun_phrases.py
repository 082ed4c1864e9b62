"""Which objects a noun phrase means: "the red one", "both cubes", "all fruit", "it"."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from planner_node.lexicon import english
from planweave.domain import Domain, spoken
from planweave.errors import GoalError
from planweave.world import World


class NotCoveredError(Exception):
    """The controlled English does not cover this; a model may."""


@dataclass
class NounPhrases:
    """Resolves noun phrases one after the other, remembering what was spoken of."""

    domain: Domain
    world: World
    last: list[str] = field(default_factory=list)  # what "it" and "them" mean
    place: list[str] = field(default_factory=list)  # what "it" means where the last thing does not do
    mentioned: set[str] = field(default_factory=set)
    last_head: str = ""

    def resolve(self, words: Sequence[str], fits: Callable[[str], bool], *, head: str = "",
                plural: bool = True, prefer: Callable[[str], bool] | None = None) -> list[str]:
        """Names of the objects meant, in the world's order.

        fits: whether an object can stand in this place of a goal; prefer: a narrower wish, taken where something
        meets it. head: a noun to add where the phrase has none ("the red and the green cube"). plural: whether
        several may be meant. Raises GoalError (unknown, ambiguous, wrong number), NotCoveredError.
        """
        en = english()
        if len(words) == 1 and words[0] in en["pronouns"]:
            return self._pronoun(words[0], plural, prefer)
        described = [w for w in words if w not in en["determiners"] and w not in en["all"] and w not in en["numbers"]]
        described = [en["same"].get(w, w) if w not in self.world.by_name else w for w in described]
        described = [w for w in described if w and w not in en["neutral"] and w not in en["other"]]
        if len(described) == 1 and described[0] in self.world.by_name and not set(words) & set(en["neutral"]):
            return self._mention(described)
        found, is_plural = self._matching(described, words)
        found = [n for n in found if fits(n)] or found
        if prefer and any(map(prefer, found)):
            found = [n for n in found if prefer(n)]
        several = bool(is_plural or set(words) & set(en["all"]) or set(words) & set(en["mass"]))
        if set(words) & set(en["other"]):
            found, several = [n for n in found if n not in self.mentioned], several or "another" not in words
        if not several and len(found) > 1:
            for noun in (head, self.last_head):
                if noun and not self._has_noun(described):
                    narrowed = [n for n in found if n in self._matching([*described, noun], words)[0]]
                    found = narrowed or found
        found = [n for n in found if fits(n)]
        if not found:
            raise GoalError(f"{' '.join(words)!r} fits no object here that can be used like that; seen: {self._seen()}")
        number = next((en["numbers"][w] for w in words if w in en["numbers"]), 0)
        if number > 1 and len(found) != number:
            raise GoalError(f"{' '.join(words)!r} could mean {', '.join(found)}: {len(found)}, not {number}")
        if number > 1 or several:
            if not plural and len(found) > 1:
                raise GoalError(f"{' '.join(words)!r} means several places ({', '.join(found)}); name one of them")
        elif len(found) > 1:
            if not set(words) & set(en["indefinite"]) and number != 1:
                raise GoalError(f"{' '.join(words)!r} could mean {' or '.join(found)}; say which")
            found = found[:1]
        self._remember_head(described)
        return self._mention(found)

    def _pronoun(self, word: str, plural: bool, prefer: Callable[[str], bool] | None) -> list[str]:
        if not self.last:
            raise NotCoveredError(f"{word!r} refers to nothing said before")
        if prefer and self.place and not any(map(prefer, self.last)) and all(map(prefer, self.place)):
            return list(self.place)  # "put the salmon in the fridge and close it"
        if len(self.last) > 1 and (word in ("it", "this", "that") or not plural):
            raise GoalError(f"{word!r} could mean {' or '.join(self.last)}; say which")
        return list(self.last)

    def _mention(self, names: list[str]) -> list[str]:
        self.mentioned.update(names)
        return list(names)

    def _features(self, name: str) -> set[str]:
        thing = self.world.by_name[name]
        features = {*name.split("_"), name, *spoken(thing.class_name).split(), thing.class_name, thing.type}
        for value in thing.attributes.values():
            features.update(str(value).lower().replace("_", " ").split())
        features.update(w for w, classes in self.domain.categories.items() if thing.class_name in classes)
        return features

    def _matching(self, described: Sequence[str], words: Sequence[str]) -> tuple[list[str], bool]:
        """Objects that have every word of the description, and whether a word was a plural."""
        features = {o.name: self._features(o.name) for o in self.world.objects}
        known = set().union(*features.values()) if features else set()
        # A class that is known but not in sight is a thing that is missing here, not a word to guess about.
        vocabulary = known | set(self.domain.classes) | set(self.domain.categories) | {
            c for classes in self.domain.categories.values() for c in classes}
        wanted, plural, unknown = [], False, []
        for word in described:
            single = word if word in vocabulary else next((s for s in singulars(word) if s in vocabulary), "")
            plural = plural or single not in ("", word)
            wanted.append(single or word)
            if not single:
                unknown.append(word)
        if any(w in english()["neutral"] and w.endswith("s") and w != "stuff" for w in words):
            plural = True
        if not described and not plural and not set(words) & set(english()["all"]) and not set(words) & set(
                english()["other"]):
            raise NotCoveredError(f"{' '.join(words)!r} describes nothing")
        found = [o.name for o in self.world.objects if features[o.name].issuperset(wanted)]
        if found:
            return found, plural
        strange = [w for w in unknown if w not in english()["colours"]]
        if strange and len(described) > 1 and not _misspelled(strange, known):
            raise NotCoveredError(f"unknown words: {' '.join(strange)}")
        if strange and len(described) == 1 and strange[0].endswith("s") and not _misspelled(strange, known):
            raise NotCoveredError(f"unknown word for several things: {strange[0]}")
        raise GoalError(self._unknown(" ".join(described), known))

    def _unknown(self, name: str, known: set[str]) -> str:
        close = difflib.get_close_matches(name.replace(" ", "_"), self.world.by_name, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ";"
        return f"unknown object {name!r}{hint} seen: {self._seen()}"

    def _seen(self) -> str:
        names = sorted(self.world.by_name)
        return ", ".join(names[:30]) + (", …" if len(names) > 30 else "") if names else "nothing"

    def _has_noun(self, described: Sequence[str]) -> bool:
        nouns = {o.class_name for o in self.world.objects} | {o.type for o in self.world.objects} | set(
            self.domain.categories)
        return any(w in nouns or any(s in nouns for s in singulars(w)) for w in described)

    def _remember_head(self, described: Sequence[str]) -> None:
        if described and self._has_noun(described[-1:]):
            self.last_head = described[-1]


def singulars(word: str) -> list[str]:
    """What a word may be the plural of."""
    irregular = english()["irregular"].get(word)
    forms = [irregular] if irregular else []
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s") and not word.endswith("ss"):
        forms.append(word[:-1])
    return forms


def _misspelled(words: Sequence[str], known: set[str]) -> bool:
    return any(difflib.get_close_matches(w, known, n=1, cutoff=0.72) for w in words)
