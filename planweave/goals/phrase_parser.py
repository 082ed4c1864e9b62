"""Parser from words to noun phrases and places: all parses, independent of the world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planweave.core.base.errors import PlanweaveError
from planweave.goals.lexicon import Lexicon
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.sentence_words import Words, longest, phrases

MOST_STEPS = 6000  # of the parser, a few milliseconds each thousand
Found = list[tuple[Any, int]]


class TooLongError(PlanweaveError):
    """The sentence has too many parses."""


class PhraseParser:
    """Parses noun phrases.

    nouns: words of descriptions, and whether they are plurals; heads: words that can end one.
    """

    def __init__(self, words: Words, lexicon: Lexicon, nouns: dict[str, bool], heads: frozenset[str]) -> None:
        self._words, self._lexicon, self._nouns, self._heads = words, lexicon, nouns, heads
        self._en = {key: phrases(value) for key, value in lexicon.english.items() if isinstance(value, list)}
        self._numbers = {tuple(k.split()): v for k, v in lexicon.english["numbers"].items()}
        self._undefined = {tuple(p.split()) for key in lexicon.english["undefined"] for p in key.split(", ")}
        self._ordinals: dict[str, int] = lexicon.english["ordinals"]
        self._counted = {tuple(k.split()): v for k, v in lexicon.english["counted_from"].items()}
        self._sort_by = {tuple(k.split()): v for k, v in lexicon.english["sort_by"].items()}
        self._sides = {tuple(k.split()): v for k, v in lexicon.english["sides"].items()}
        # Before a noun, "left" and "right" choose where they are no part of a name, as in "the left tray".
        self._superlatives = {*lexicon.english["superlatives"]} - ({"left", "right"} & {*nouns})
        self._steps = 0
        self._phrases: dict[int, Found] = {}

    def phrases_at(self, at: int) -> Found:
        """Noun phrases starting at a word, with their ends; longest first."""
        return sorted(self._plain(at), key=lambda f: -f[1])

    def places_at(self, at: int) -> Found:
        """Relations with their places, starting at a word; longest first."""
        return sorted(self._place(at), key=lambda f: -f[1])

    def states_at(self, at: int) -> Found:
        """States ("open") starting at a word, as templates of a literal."""
        return self._state(at)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooLongError("the sentence is too long or too winding; say it in several tasks")

    def _is(self, key: str, at: int) -> int:
        """Length of a phrase of english.yaml at this position, 0 for none."""
        return longest(self._words, at, self._en[key])

    def _word(self, at: int) -> str:
        return self._words[at] if at < len(self._words) else ""

    def _state(self, at: int) -> Found:
        length = longest(self._words, at, self._lexicon.states)
        return [(f"{self._lexicon.states[self._words[at : at + length]]}({{x}})", at + length)] if length else []

    def _source(self, at: int) -> Found:
        length = self._is("from", at)
        return self._plain(at + length) if length else []

    def _plain(self, at: int) -> Found:
        """Noun phrases without exceptions, which belong to the moved objects, not to a place."""
        return [(thing, end) for thing, end in self._phrase(at) if not thing.exceptions]

    def _place(self, at: int) -> Found:
        """A relation with its place."""
        length = longest(self._words, at, self._lexicon.places)
        if not length:
            return []
        word, found = self._words[at : at + length], []
        if word in (("to",), ("in",), ("at",)) and self._lexicon.parts:  # "to the stove's front"
            for owner, end in self._simple(at + length):
                if self._words[end : end + 2] == ("'s", "front"):
                    found.append((Place("in front of", (self._said(owner, at + length, end),)), end + 2))
        for thing, end in self._plain(at + length):
            found.append((Place(" ".join(word), (thing,)), end))
            if word in self._lexicon.between and self._word(end) == "and":
                found += [(Place(" ".join(word), (thing, other)), last) for other, last in self._plain(end + 1)]
        return found

    def _whole(self, at: int) -> Found:
        """ "of the cabinet", after a part of it."""
        if not self._lexicon.parts or self._word(at) != "of":
            return []
        return [(Place("of", (thing,)), end) for thing, end in self._plain(at + 1)]

    def _owned(self, at: int) -> Found:
        """ "the cabinet's middle drawer\""""
        found: Found = []
        for owner, end in self._simple(at) if self._lexicon.parts else ():
            if self._word(end) == "'s":
                thing, last = self._described(end + 1)
                if thing is not None:
                    owned = replace(thing, quantity=Quantity.THE, places=(Place("of", (self._said(owner, at, end),)),))
                    found.append((owned, last))
        return found

    def _things(self, at: int) -> Found:
        """Lists of noun phrases: "the red cube, the blue one and a pear"; longest first."""
        found: Found = []
        todo: Found = [((), at)]
        while todo:
            before, start = todo.pop()
            for thing, end in self._phrase(start):
                self._step()
                things = (*before, thing)
                found.append((things, end))
                after = end + (self._word(end) == ",")
                after += self._is("and", after)
                if after > end:
                    todo.append((things, after))
        if self._word(at) == "both":  # "both the cube and the pear"
            found += [
                (things, end)
                for things, end in self._things(at + 1)
                if len(things) == 2 and not any(t.plural for t in things)
            ]
        return sorted(found, key=lambda f: -f[1])

    def _phrase(self, at: int) -> Found:
        """One noun phrase with all its modifiers, each parse once."""
        if at not in self._phrases:
            self._phrases[at] = []  # what would begin with itself is none
            self._phrases[at] = self._phrase_found(at)
        return self._phrases[at]

    def _phrase_found(self, at: int) -> Found:
        self._step()
        found: Found = []
        found += self._owned(at)
        for thing, end in self._simple(at):
            found.append((thing, end))
            if thing.pronoun:
                continue
            if thing.superlative:
                found += self._compared(thing, end) if thing.rank == 1 else []
                found += self._of_several(thing, end)
            elif not thing.superlative and not thing.other:
                found += self._chosen(thing, end)
            for whole, last in self._whole(end):
                found.append((replace(thing, places=(whole,)), last))
            found += self._coloured(thing, end)
            if length := self._is("that_not", end):
                for place, last in self._place(end + length):
                    place = replace(place, negated=True, bare=length == 1)
                    found.append((replace(thing, places=(place,)), last))
            relative = self._is("that", end)
            for place, last in self._place(end + relative):
                word = tuple(place.word.split())
                if self._lexicon.relations.get(word) != "" and (relative or word not in self._lexicon.away):
                    found.append((replace(thing, places=(place,)), last))
        for thing, end in list(found):
            start = end + (self._word(end) == ",")
            if length := self._is("except", start):
                for things, last in self._things(start + length):
                    last += self._word(last) == ","
                    found.append((replace(thing, exceptions=things), last))
        everything = NounPhrase("what is there", Quantity.ALL, generic="everything", plural=True)
        if length := self._is("what", at):
            found += [(replace(everything, places=(place,)), end) for place, end in self._place(at + length)]
        if length := self._is("contents", at):
            inside = [(Place("in", (of,)), end) for of, end in self._plain(at + length)]
            found += [(replace(everything, places=(place,)), end) for place, end in inside]
        return [(self._said(t, at, e), e) for t, e in found]

    def _said(self, thing: NounPhrase, at: int, end: int) -> NounPhrase:
        return replace(thing, text=" ".join(self._words[at:end]).strip(" ,"), at=at)

    def _compared(self, thing: NounPhrase, at: int) -> Found:
        """ "the nearest cube to the tray", "the cube nearest to you\""""
        if length := self._is("to_you", at):
            return [(thing, at + length)]
        if self._word(at) != "to":
            return []
        return [(replace(thing, nearest_to=to), last) for to, last in self._plain(at + 1)]

    def _of_several(self, thing: NounPhrase, at: int) -> Found:
        """ "the smaller of the two cubes", "the leftmost of the cubes\""""
        if self._word(at) != "of" or thing.words or thing.generic or thing.rank != 1 or thing.quantity != Quantity.THE:
            return []
        two = self._lexicon.english["superlatives"][thing.superlative][2:] != []
        return [
            (replace(several, quantity=Quantity.THE, number=0, plural=False, superlative=thing.superlative), end)
            for several, end in self._simple(at + 1)
            if several.plural
            and several.words
            and not (several.superlative or several.other)
            and (several.quantity, several.number) in {(Quantity.THE, 0), (Quantity.EXACTLY, 2 * two)}
        ]

    def _coloured(self, thing: NounPhrase, at: int) -> Found:
        """ "the cube that is red", "everything green", "all fruit that is not red\""""
        colours, found = self._lexicon.english["colours"], []
        anything = thing.generic == "everything" and not thing.words
        for key, negated in (("that", False), ("that_not", True)):
            length = self._is(key, at)
            be = self._words[at : at + length][-2 if negated else -1 :][:1] in (("is",), ("are",))
            middle = at + length
            if (not be and not (anything and not length)) or (negated and not be) or thing.pronoun or thing.exceptions:
                continue
            word, after = self._word(middle), middle + 1
            joined = self._is("and", after) or self._word(after) in (",", "or")
            further = self._word(after + joined) in colours or (thing.generic and self._is("a", after + joined))
            if word in colours and self._ends(after) and not (joined and further):
                if not negated:
                    found.append((replace(thing, words=(word, *thing.words)), after))
                else:
                    so = replace(thing, quantity=Quantity.ALL, number=0, words=(word, *thing.words), superlative="")
                    so = replace(so, generic="things") if anything else so
                    found.append((replace(thing, exceptions=(so,)), after))
            elif negated and anything and self._is("a", middle):
                found += [
                    (replace(thing, exceptions=(replace(kind, quantity=Quantity.ALL, number=0),)), end)
                    for kind, end in self._plain(middle)
                    if kind.quantity is Quantity.A and kind.number == 1
                ]
        return found

    def _chosen(self, thing: NounPhrase, at: int) -> Found:
        """ "the cube that is nearest to the tray", "the tray on the left\""""
        found: Found = []
        length = longest(self._words, at, self._sides)
        if length and self._ends(at + length):
            found.append((replace(thing, superlative=self._sides[self._words[at : at + length]]), at + length))
        start = at + self._is("that", at)
        start += self._word(start) == "the" and start > at
        word = self._word(start)
        if word in self._superlatives and self._ends(start + 1):
            chosen = replace(thing, superlative=word)
            found += [(chosen, start + 1)] if start > at else []
            found += self._compared(chosen, start + 1)
        return found

    def _simple(self, at: int) -> Found:
        """A noun phrase without trailing modifiers."""
        words, found = self._words, []
        if self._is("itself", at):
            return []
        described, end = self._description(at)
        pointing = self._word(at) in ("this", "that", "these", "those") and not self._description(at + 1)[0]
        if not described and (pointing or self._word(at) in ("it", "them", "they")):
            found.append((NounPhrase("", pronoun=words[at]), at + 1))
        for key in ("all", "both"):
            if (length := self._is(key, at)) and self._word(at + length) in (
                ("them", "these", "those", *(("it", "this") if key == "all" else ()))
            ):
                found.append(
                    (NounPhrase("", Quantity.ALL, 2 * (key == "both"), pronoun=words[at + length]), at + length + 1)
                )
            if (
                length
                and words[at : at + length] in {("all",), ("both",)}
                and self._ends(at + length)
                and not self._is("except", at + length)
            ):
                found.append(
                    (
                        NounPhrase(
                            "",
                            Quantity.ALL if key == "all" else Quantity.EXACTLY,
                            2 * (key == "both"),
                            generic="everything",
                            plural=True,
                        ),
                        at + length,
                    )
                )
        if length := self._is("everything", at):
            rest = self._is("else", at + length)
            found.append(
                (NounPhrase("", Quantity.ALL, generic="everything", plural=True, other=bool(rest)), at + length + rest)
            )
        found += self._rest(at)
        found += self._ranked(at)
        for quantity, number, middle in self._quantities(at):
            other = self._is("other", middle)
            if self._is("rest", middle):
                continue
            another = self._word(middle) == "another"
            if another and quantity is not Quantity.BARE:  # "half another one"
                continue
            if another:
                quantity, number = Quantity.A, 1
            middle += other
            after = middle
            if (
                other
                and quantity is Quantity.THE
                and (count := self._number(middle))
                and (words[middle : middle + count[1]] != ("one",))
            ):
                number, after, quantity = count[0], middle + count[1], Quantity.EXACTLY
                if self._ends(after):
                    found.append(
                        (NounPhrase("", quantity, number, generic="ones", plural=number > 1, other=True), after)
                    )
            thing, end = self._described(after)
            if thing is not None:
                each = quantity is Quantity.ALL and words[at] in ("each", "every")
                found.append((replace(thing, quantity=quantity, number=number, other=bool(other), each=each), end))
            elif other and self._ends(after) and after == middle and quantity is not Quantity.BARE:
                found.append((NounPhrase("", quantity, number, generic="one", other=True), after))
            elif quantity is Quantity.A and number and not other and self._ends(after) and after > at:
                found.append((NounPhrase("", quantity, number, generic="ones", plural=number > 1), after))
        return found

    def _ends(self, at: int) -> bool:
        """Whether a noun phrase without a noun may end here: the next word describes nothing."""
        return not self._description(at)[0]

    def _ranked(self, at: int) -> Found:
        """ "the second cube from the left", "the second leftmost cube\""""
        start = at + self._is("the", at)
        rank = self._ordinals.get(self._word(start), 0)
        thing, end = self._described(start + 1) if rank and start > at else (None, at)
        if thing is None or thing.plural:
            return []
        thing = replace(thing, quantity=Quantity.THE, rank=rank)
        if thing.superlative:
            return [(thing, end)]
        length = longest(self._words, end, self._counted)
        chosen = self._counted[self._words[end : end + length]] if length else ""
        return [(replace(thing, superlative=chosen), end + length)] if length else []

    def _rest(self, at: int) -> Found:
        found: Found = []
        middle = at + self._is("the", at)
        if self._word(middle) in ("others", "rest", "remainder"):
            start = middle + (2 if self._word(middle + 1) == "of" else 0)
            if start > middle:
                start += self._is("the", start)
                thing, end = self._described(start)
                if thing is not None:
                    found.append((replace(thing, quantity=Quantity.ALL, other=True, plural=True), end))
                elif self._word(start) in ("it", "them"):
                    found.append((NounPhrase("", Quantity.ALL, rest=True, plural=True, other=True), start + 1))
            elif middle > at:
                found.append((NounPhrase("", Quantity.ALL, rest=True, plural=True, other=True), middle + 1))
        return found

    def _quantities(self, at: int) -> Iterator[tuple[Quantity, int, int]]:
        """Quantifiers at this position, in all parses, and where the description begins."""
        yield Quantity.BARE, 0, at
        for key, quantity in (
            ("a", Quantity.A),
            ("some", Quantity.SOME),
            ("all", Quantity.ALL),
            ("none", Quantity.NONE),
        ):
            if length := self._is(key, at):
                after = at + length
                if self._word(after) == "of" and not self._is("the", after):
                    after += 1
                partitive = key in ("all", "none") or self._word(after - 1) in ("of", "half")  # not "some the cube"
                if self._is("each", at) != length and partitive:
                    after += self._is("the", after)
                if quantity is Quantity.ALL and (count := self._number(after)):
                    yield Quantity.EXACTLY, count[0], after + count[1]
                else:
                    yield quantity, 1 if key == "a" else 0, after
        if length := self._is("both", at):
            after = at + length
            yield Quantity.EXACTLY, 2, after + self._is("the", after)
        if count := self._number(at):
            number, after = count[0], at + count[1]
            if self._word(after) == "of":
                after += 1
                after += self._is("the", after)
            yield Quantity.A, number, after
        if length := self._is("the", at):
            after = at + length
            yield Quantity.THE, 0, after
            if (count := self._number(after)) and count[0] > 0:
                yield Quantity.EXACTLY, count[0], after + count[1]

    def _number(self, at: int) -> tuple[int, int] | None:
        """A number at this position and its length in words."""
        length = longest(self._words, at, self._numbers)
        if length:
            return self._numbers[self._words[at : at + length]], length
        return (int(self._word(at)), 1) if self._word(at).isdigit() and len(self._word(at)) < 3 else None

    def _described(self, at: int) -> tuple[NounPhrase | None, int]:
        """A description as a noun phrase; None where there is none."""
        words, end = self._description(at)
        if not words:
            return None, at
        superlatives = [w for w in words if w in self._superlatives]
        if len(set(words)) < len(words) or (superlatives and (len(superlatives) > 1 or words[0] != superlatives[0])):
            return None, at
        generic = words[-1] if words[-1] in {w for k in ("one", "things") for p in self._en[k] for w in p} else ""
        colours = self._lexicon.english["colours"]
        if (
            generic
            and words[-2:-1]
            and (words[-2] in self._heads or self._nouns.get(words[-2]))
            and words[-2] not in colours
        ):
            return None, at  # "the bowl one"
        described = tuple(w for w in words if w not in superlatives and w != generic)
        plural = generic.endswith("s") or generic == "stuff" or (not generic and self._nouns.get(words[-1], False))
        return NounPhrase(
            "", words=described, generic=generic, plural=plural, superlative=superlatives[0] if superlatives else ""
        ), end

    def _description(self, at: int) -> tuple[Words, int]:
        """The longest sequence of words that describe an object."""
        generic = {w for k in ("one", "things") for p in self._en[k] for w in p}
        end = at
        while end < len(self._words):
            word = self._words[end]
            if longest(self._words, end, self._lexicon.places) > 1 and not (end > at and word in self._heads):
                break
            if word in generic:
                if word == "one" and end == at and (self._words[end + 1 : end + 2] or ("",))[0] in self._nouns:
                    break  # "one cube": a number
                end += 1
                break
            if word in self._superlatives and end > at:
                break  # "the cube nearest to the tray"
            if word not in self._nouns and word not in self._superlatives:
                break
            end += 1
        return self._words[at:end], end
