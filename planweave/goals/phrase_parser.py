"""Parser from words to noun phrases and places: all parses, independent of the world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planweave.core.base.errors import PlanweaveError
from planweave.goals.lexicon import Lexicon
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.sentence_words import Words, english_phrases, longest

MOST_STEPS = 3000  # noun phrases that are looked for
Found = list[tuple[Any, int]]


class TooLongError(PlanweaveError):
    """The sentence has too many parses."""

    code = "too_long"


class PhraseParser:
    """Parses noun phrases.

    nouns: words of descriptions, and whether they are plurals; heads: words that can end one.
    """

    def __init__(self, words: Words, lexicon: Lexicon, nouns: dict[str, bool], heads: frozenset[str]) -> None:
        english = lexicon.english
        self._words, self._lexicon, self._nouns, self._heads = words, lexicon, nouns, heads
        self._en = english_phrases()
        self._numbers = {tuple(k.split()): v for k, v in english["numbers"].items()}
        self._sides = {tuple(k.split()): v for k, v in english["sides"].items() if v not in heads}
        # Before a noun, "left" and "middle" choose where they are no part of a name, as in "the left tray".
        self._superlatives = {*english["superlatives"]} - ({*english["sides"].values()} & {*nouns})
        self._generic = {w for key in ("one", "things") for w in english[key]}
        self._steps = 0
        self._phrases: dict[int, Found] = {}

    def phrases_at(self, at: int) -> Found:
        """Noun phrases starting at a word, with their ends; longest first."""
        if at not in self._phrases:
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise TooLongError("the sentence is too long or too winding; say it in several tasks")
            self._phrases[at] = []  # what would begin with itself is none
            found = list(self._modified(at))
            for thing, end in list(found):
                if length := self._is("except", start := end + (self._word(end) == ",")):
                    found += [
                        (replace(thing, exceptions=left), last + (self._word(last) == ","))
                        for left, last in self.things_at(start + length)
                    ]
            said = [(self._said(thing, at, end), end) for thing, end in found]
            self._phrases[at] = sorted(said, key=lambda f: -f[1])
        return self._phrases[at]

    def things_at(self, at: int) -> Found:
        """Lists of noun phrases, "the red cube, the blue one and a pear", with their ends; longest first."""
        found: Found = []
        todo: Found = [((), at)]
        while todo:
            before, start = todo.pop()
            for thing, end in self.phrases_at(start):
                things = (*before, thing)
                found.append((things, end))
                after = end + (self._word(end) == ",")
                after += self._is("and", after)
                if after > end and not thing.pronoun and not thing.exceptions:
                    todo.append((things, after))
        if self._word(at) == "both":  # "both the cube and the pear"
            pairs = [(things, end) for things, end in self.things_at(at + 1) if len(things) == 2]
            found += [(things, end) for things, end in pairs if all(t.is_one for t in things)]
        return sorted(found, key=lambda f: -f[1])

    def places_at(self, at: int) -> Found:
        """Relations with their places, starting at a word; longest first."""
        length = longest(self._words, at, self._lexicon.places)
        if not length:
            return []
        word, found = self._words[at : at + length], []
        for thing, end in self._plain(at + length):
            found.append((Place(" ".join(word), (thing,)), end))
            if word in self._lexicon.between and self._word(end) == "and":
                found += [(Place(" ".join(word), (thing, other)), last) for other, last in self._plain(end + 1)]
            if word == ("to",) and self._words[end : end + 2] == ("'s", "front"):
                found.append((Place("in front of", (thing,)), end + 2))
        return found

    def states_at(self, at: int) -> Found:
        """States ("open") starting at a word, as templates of a literal."""
        length = longest(self._words, at, self._lexicon.states)
        return [(f"{self._lexicon.states[self._words[at : at + length]]}({{x}})", at + length)] if length else []

    def _is(self, key: str, at: int) -> int:
        """Length of a phrase of english.yaml at this position, 0 for none."""
        return longest(self._words, at, self._en[key])

    def _word(self, at: int) -> str:
        return self._words[at] if at < len(self._words) else ""

    def _plain(self, at: int) -> Found:
        """Noun phrases without exceptions, which belong to the moved objects, not to a place."""
        return [(thing, end) for thing, end in self.phrases_at(at) if not thing.exceptions]

    def _said(self, thing: NounPhrase, at: int, end: int) -> NounPhrase:
        return replace(thing, text=" ".join(self._words[at:end]).strip(" ,"), at=at)

    def _modified(self, at: int) -> Iterator[tuple[NounPhrase, int]]:
        """Noun phrases with what follows the noun: "the drawer of the cabinet", "the mug that is on the plate"."""
        for thing, end in self._simple(at):
            yield thing, end
            if thing.pronoun:
                continue
            if self._word(end) == "'s" and self._lexicon.parts:  # "the cabinet's middle drawer"
                part, last = self._described(end + 1)
                if part is not None:
                    owner = Place("of", (self._said(thing, at, end),))
                    yield replace(part, quantity=Quantity.THE, places=(owner,)), last
            if self._word(end) == "of" and self._lexicon.parts:
                yield from ((replace(thing, places=(Place("of", (t,)),)), e) for t, e in self._plain(end + 1))
            length = longest(self._words, end, self._sides)
            if length and not thing.superlative and not self._description(end + length)[0]:
                yield replace(thing, superlative=self._sides[self._words[end : end + length]]), end + length
            relative = self._is("that", end)
            after = end + relative
            if " " in self._word(after):  # "the bowl on the table", which is no object here
                yield replace(thing, places=(Place(self._word(after), ()),), relative=bool(relative)), after + 1
            if (
                (relative or thing.generic == "everything")
                and self._word(after) in self._lexicon.english["colours"]
                and self._ends(after + 1)
            ):
                yield replace(thing, words=(self._word(after), *thing.words), relative=True), after + 1
            negated = self._word(after) == "not"
            for place, last in self.places_at(after + negated):
                word = tuple(place.word.split())
                said = self._lexicon.relations.get(word) != "" and (relative or word not in self._lexicon.away)
                if said and not any(t.pronoun for t in place.things):
                    yield replace(thing, places=(replace(place, negated=negated),), relative=bool(relative)), last

    def _ends(self, at: int) -> bool:
        joined = at + max(self._is("and", at), self._word(at) in (",", "or"))
        further = self._word(joined) in self._lexicon.english["colours"] or self._is("a", joined)
        return joined == at or not further

    def _simple(self, at: int) -> Iterator[tuple[NounPhrase, int]]:
        """Noun phrases without trailing modifiers."""
        if self._word(at) in ("it", "them"):
            yield NounPhrase("", pronoun=self._word(at)), at + 1
        for key in ("all", "both"):
            length = self._is(key, at)
            if length and self._word(at + length) == "them":
                yield NounPhrase("", number=2 * (key == "both"), pronoun="them"), at + length + 1
        if length := self._is("everything", at):
            yield NounPhrase("", Quantity.ALL, generic="everything", plural=True), at + length
        for quantity, number, start in self._quantities(at):
            other = self._word(start) == "other" and quantity in (Quantity.THE, Quantity.EXACTLY)
            thing, end = self._described(start + other)
            if thing is not None:
                yield replace(thing, quantity=quantity, number=number, other=other), end
            state = self._state_at(start, quantity)
            thing, end = self._described(start + 1) if state else (None, start)
            if thing is not None:
                yield replace(thing, quantity=quantity, number=number, state=state), end

    def _state_at(self, at: int, quantity: Quantity) -> str:
        """The predicate of a state before a noun, "a washed plate"; without an article "clean" could be an order."""
        word = self._word(at)
        state = self._lexicon.states.get((word,), "")
        stated = state in self._lexicon.adjectives and word not in self._nouns
        return state if stated and (quantity is not Quantity.BARE or word.endswith("ed")) else ""

    def _quantities(self, at: int) -> Iterator[tuple[Quantity, int, int]]:
        """Quantifiers at this position, in all parses, and where the description begins."""
        yield Quantity.BARE, 0, at
        if length := self._is("a", at):
            yield (
                Quantity.A,
                1,
                at + length + (self._is("the", at + length) if self._word(at + length - 1) == "of" else 0),
            )
        if length := self._is("all", at):
            after = at + length + (self._is("the", at + length) if self._word(at + length - 1) in ("all", "of") else 0)
            count = self._number(after)
            yield (Quantity.EXACTLY, count[0], after + count[1]) if count else (Quantity.ALL, 0, after)
        if length := self._is("both", at):
            yield Quantity.EXACTLY, 2, at + length + self._is("the", at + length)
        if count := self._number(at):
            after = at + count[1]
            if self._word(after) == "of" and self._is("the", after + 1):
                after += 1 + self._is("the", after + 1)
            yield Quantity.A, count[0], after
        if length := self._is("the", at):
            yield Quantity.THE, 0, at + length
            if (count := self._number(at + length)) and count[0] > 0:
                yield Quantity.EXACTLY, count[0], at + length + count[1]

    def _number(self, at: int) -> tuple[int, int] | None:
        if length := longest(self._words, at, self._numbers):
            return self._numbers[self._words[at : at + length]], length
        return (int(self._word(at)), 1) if self._word(at).isdigit() and len(self._word(at)) < 3 else None

    def _described(self, at: int) -> tuple[NounPhrase | None, int]:
        """A description as a noun phrase; None where there is none."""
        words, end = self._description(at)
        superlatives = [w for w in words if w in self._superlatives]
        if not words or len({*words}) < len(words) or superlatives not in ([], [words[0]]):
            return None, at
        generic = words[-1] if words[-1] in self._generic else ""
        before = words[-2:-1] if generic else ()
        noun = before and (before[0] in self._heads or self._nouns.get(before[0]))
        if noun and before[0] not in self._lexicon.english["colours"]:
            return None, at  # "the bowl one"
        described = tuple(w for w in words if w not in superlatives and w != generic)
        plural = generic.endswith("s") or generic == "stuff" or (not generic and self._nouns.get(words[-1], False))
        return NounPhrase("", words=described, generic=generic, plural=plural, superlative="".join(superlatives)), end

    def _description(self, at: int) -> tuple[Words, int]:
        """The longest sequence of words that describe an object."""
        end = at
        while end < len(self._words):
            word = self._words[end]
            if longest(self._words, end, self._lexicon.places) > 1 and not (end > at and word in self._heads):
                break
            if (word,) in self._lexicon.directions and end > at and self._words[end - 1] in self._heads:
                break  # "push the cube left"
            if word in self._generic:
                number = word == "one" and end == at and self._word(end + 1) in self._nouns  # "one cube"
                end += not number
                break
            if word not in self._nouns and not (word in self._superlatives and end == at):
                break
            end += 1
        return self._words[at:end], end
