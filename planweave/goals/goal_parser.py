"""Parser from words to clauses: all parses of a whole sentence, independent of the world.

Every word must be used by a rule. `planweave.goals.goal_grammar` interprets all parses and accepts a goal only if they
agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planweave.goals.phrase_parser import Found, PhraseParser
from planweave.goals.sentence_tree import Clause, Kind, NounPhrase, Place, Tree
from planweave.goals.sentence_words import Words, longest

MOST_WAYS = 24
_EXCEPTING = (Kind.MOVE, Kind.VERB, Kind.REMOVE, Kind.STACK, Kind.ROW, Kind.SORT)  # kinds that heed exceptions


class Parser(PhraseParser):
    """Parses one sentence."""

    def trees(self) -> list[Tree]:
        """All parses of the sentence."""
        found: list[Tree] = []
        for tree in self._sentence(0, (), ""):
            if tree not in found:
                found.append(tree)
            if len(found) >= MOST_WAYS:
                break
        return found

    def _sentence(self, at: int, before: Tree, joined: str) -> Iterator[Tree]:
        self._step()
        for found, end in self._clause(at, before):
            clause = replace(found, joined=joined)
            if end == len(self._words):
                yield (*before, clause)
            else:
                after = self._separator(end)
                if {"and", "but"} <= {*self._words[end:after]}:
                    continue
                if after > end and after < len(self._words):
                    yield from self._sentence(after, (*before, clause), self._joint(end, after))

    def _joint(self, start: int, end: int) -> str:
        """Separators between two clauses: "then" and "." where one follows the other."""
        if any(self._is("then", at) for at in range(start, end)):
            return "then"
        said = self._words[start:end]
        return next((w for w in (".", "but", "and") if w in said), ",")

    def _separator(self, at: int) -> int:
        while at < len(self._words):
            length = 1 if self._words[at] in (",", ".") else max(self._is(k, at) for k in ("and", "then", "but"))
            if not length:
                break
            at += length
        return at

    def _clause(self, at: int, before: Tree) -> Iterator[tuple[Clause, int]]:
        self._step()
        if at >= len(self._words):
            return
        if length := self._is("never", at):
            for clause, end in self._command(at + length):
                yield replace(clause, negated=True, forbidden=True), end
            return
        if length := self._is("wish", at):
            yield from self._wish(at + length, meant=True)
            return
        if length := self._is("except_first", at):
            for left_out, end in self._things(at + length):
                for clause, last in self._command(end + (self._word(end) == ",")):
                    if clause.kind in _EXCEPTING and not clause.exceptions:
                        yield replace(clause, exceptions=left_out), last
            return
        seen = False
        for clause, end in self._command(at):
            seen = True
            yield clause, end
        yield from self._wish(at, meant=False)
        if not seen and before and before[-1].things and not before[-1].negated:
            for verb, after in self._verbs(at, self._lexicon.move):  # "take the bowl and put on the plate"
                for place, end in self._place(after):
                    yield Clause(Kind.MOVE, verb, (NounPhrase("it", pronoun="it"),), (place,)), end
        if not seen:
            for things, middle in self._things(at):
                if self._is("whither", middle):  # "the red cube into the left tray"
                    yield from self._moved(Kind.MOVE, "put", things, middle)
            yield from self._switched(at)
            yield from self._wished_too(at, before)
        if not seen and before and before[-1].kind in (Kind.MOVE, Kind.PUSH) and not before[-1].negated:
            for things, middle in self._things(at):
                for clause, end in self._moved(Kind.MOVE, before[-1].verb, things, middle):
                    yield replace(clause, elliptic=True), end

    def _switched(self, at: int) -> Iterator[tuple[Clause, int]]:
        """ "the lights off\", alone or after "turn the radio on and\"."""
        verbs = {p.parts for p in self._lexicon.patterns}
        for pattern in self._lexicon.patterns:
            both = {(pattern.parts[0], "{x}", "on"), (pattern.parts[0], "{x}", "off")}  # and not "wipe … off"
            if pattern.parts in both and both <= verbs:
                for slots, end in self._pattern(pattern.parts[1:], at):
                    verb = f"{pattern.parts[0]} {pattern.parts[2]}"
                    yield Clause(Kind.VERB, verb, slots["{x}"], template=pattern.template), end

    def _wished_too(self, at: int, before: Tree) -> Iterator[tuple[Clause, int]]:
        """ "the red cube should be in the left tray and the blue one in the right one\"."""
        if before and before[-1].kind is Kind.WISH and before[-1].places and not before[-1].negated:
            for things, middle in self._things(at):
                for place, end in self._place(middle):
                    yield Clause(Kind.WISH, before[-1].verb, things, (place,), elliptic=True), end

    def _command(self, at: int) -> Iterator[tuple[Clause, int]]:
        yield from self._patterns(at)
        for kind, of in ((Kind.MOVE, self._lexicon.move), (Kind.PUSH, self._en["push"])):
            for verb, after in self._verbs(at, of):
                after = self._particle(after)
                for things, middle in self._things(after):
                    yield from self._moved(kind, verb, things, self._particle(middle))
        for kind, key in ((Kind.ASIDE, "aside"), (Kind.BACK, "back")):
            for verb, after in self._verbs(at, self._lexicon.move | self._en["push"]):
                for things, middle in self._things(after):
                    if length := self._is(key, middle):
                        yield Clause(kind, verb, things), middle + length
        yield from self._away(at)
        for verb, after in self._verbs(at, self._en["empty"]):
            for place, end in self._plain(after):
                yield from self._excepting(Clause(Kind.EMPTY, verb, (place,)), end)
        for verb, after in self._verbs(at, self._en["swap"]):
            for things, middle in self._things(after):
                yield Clause(Kind.SWAP, verb, things), middle
                if self._word(middle) in ("with", "for"):
                    for other, end in self._phrase(middle + 1):
                        yield Clause(Kind.SWAP, verb, (*things, other)), end
        yield from self._stacks(at)
        yield from self._sorted(at)
        yield from self._keep(at)
        yield from self._so_that(at)
        for verb, after in self._verbs(at, self._undefined):
            yield Clause(Kind.UNDEFINED, verb), after
            for things, end in self._things(after):
                yield Clause(Kind.UNDEFINED, verb, things), end
                if self._word(end) == "by" and self._word(end + 1):
                    yield Clause(Kind.UNDEFINED, verb, things), end + 2

    def _verbs(self, at: int, of: Any) -> Iterator[tuple[str, int]]:
        """Verb phrases at this position, longest first."""
        for length in range(min(5, len(self._words) - at), 0, -1):
            if self._words[at : at + length] in of:
                yield " ".join(self._words[at : at + length]), at + length

    def _particle(self, at: int) -> int:
        return at + self._is("particles", at)

    def _patterns(self, at: int) -> Iterator[tuple[Clause, int]]:
        here = [p for p in self._lexicon.patterns if p.parts[0] == self._word(at)]
        fixed = [p for p in here if len(p.parts) > 2 and self._words[at : at + len(p.parts)] == p.parts]
        longer = [p for p in here if any(p.parts[: len(f.parts)] == f.parts for f in fixed)]  # "take a seat on"
        for pattern in longer or here:  # "go to bed" is no way to go to something
            for slots, end in self._pattern(pattern.parts, at):
                verb = " ".join(p for p in pattern.parts if not p.startswith("{"))
                clause = Clause(
                    Kind.VERB, verb, slots.get("{x}", ()), template=pattern.template, second=slots.get("{y}", ())
                )
                yield from self._excepting(clause, end)
                if clause.things:
                    source = self._source(end)
                    for thing, after in source:
                        yield from self._excepting(replace(clause, source=thing), after)
                    for place, after in self._place(end):
                        yield from self._excepting(replace(clause, places=(place,)), after)

    def _pattern(self, parts: Words, at: int) -> Iterator[tuple[dict[str, tuple[NounPhrase, ...]], int]]:
        if not parts:
            yield {}, at
        elif not parts[0].startswith("{"):
            if self._word(at) == parts[0]:
                yield from self._pattern(parts[1:], at + 1)
        elif parts[0] in ("{me}", "{to_me}"):
            if length := self._is("me" if parts[0] == "{me}" else "to_me", at):
                yield from self._pattern(parts[1:], at + length)
        else:
            for things, after in self._things(at):
                for slots, end in self._pattern(parts[1:], after):
                    yield {parts[0]: things, **slots}, end

    def _moved(self, kind: Kind, verb: str, things: tuple[NounPhrase, ...], at: int) -> Iterator[tuple[Clause, int]]:
        """The rest of a moving clause: source, destination, exceptions."""
        clause = Clause(kind, verb, things)
        if kind is Kind.PUSH:
            yield from self._excepting(clause, at)
        starts: Found = [(None, at), *self._source(at)]
        for source, after in starts:
            for clause_, end in self._excepting(replace(clause, source=source), after):
                if clause_.exceptions:
                    for place, last in self._place(end):
                        yield replace(clause_, places=(place,)), last
            if length := self._is("in_alone", after):
                inside = Place("in", (NounPhrase("it", pronoun="it"),))
                yield from self._excepting(replace(clause, source=source, places=(inside,)), after + length)
            length = self._is("in_last", after)
            if length and (after + length == len(self._words) or self._separator(after + length) > after + length):
                inside = Place("in", (NounPhrase("it", pronoun="it"),))
                yield replace(clause, source=source, places=(inside,)), after + length
            for place, middle in self._place(after):
                yield from self._excepting(replace(clause, source=source, places=(place,)), middle)
                for second, end in self._place(middle):
                    yield from self._excepting(replace(clause, source=source, places=(place, second)), end)
                if source is None:
                    for come_from, end in self._source(middle):
                        yield from self._excepting(replace(clause, source=come_from, places=(place,)), end)

    def _excepting(self, clause: Clause, at: int) -> Iterator[tuple[Clause, int]]:
        yield clause, at
        start = at + 1 if self._word(at) == "," else at
        if length := self._is("except", start):
            for things, end in self._things(start + length):
                yield replace(clause, exceptions=things), end

    def _away(self, at: int) -> Iterator[tuple[Clause, int]]:
        for verb, after in self._verbs(at, self._en["remove"]):
            for things, middle in self._things(after):
                for clause, end in self._excepting(Clause(Kind.REMOVE, verb, things), middle):
                    yield clause, end
                    if length := max(self._is("from", end), self._is("out", end)):
                        for place, last in self._plain(end + length):
                            yield from self._excepting(replace(clause, source=place), last)
        for verb, after in self._verbs(at, self._en["take_out"]):
            if length := self._is("out_alone", after):
                for things, end in self._things(after + length):
                    yield Clause(Kind.TAKE_OUT, verb, things), end
            for things, middle in self._things(after):
                if length := self._is("out", middle):
                    for place, end in self._plain(middle + length):
                        taken = "take off" if self._word(middle) == "off" else "take out"
                        yield from self._excepting(Clause(Kind.REMOVE, taken, things, source=place), end)
                if length := self._is("out_alone", middle):
                    yield Clause(Kind.TAKE_OUT, verb, things), middle + length

    def _stacks(self, at: int) -> Iterator[tuple[Clause, int]]:
        for verb, after in self._verbs(at, self._en["stack"]):
            for things, middle in self._things(self._particle(after)):
                yield from self._excepting(Clause(Kind.STACK, verb, things), self._particle(middle))
                if (
                    self._words[middle : middle + 4] == ("on", "top", "of", "each")
                    and self._word(middle + 4) == "other"
                ):
                    yield Clause(Kind.STACK, verb, things), middle + 5
                for place, end in self._place(middle):
                    yield from self._excepting(Clause(Kind.STACK, verb, things, (place,)), end)
                    for second, last in self._place(end):
                        yield Clause(Kind.STACK, verb, things, (place, second)), last
        for verb, after in self._verbs(at, self._en["build"]):
            after += self._word(after) in ("a", "one")
            kinds = ((Kind.STACK, self._en["towers"]), (Kind.ROW, self._en["rows"]))
            for kind, of in kinds:
                if self._words[after : after + 1] in of:
                    middle = after + 1
                    middle += (
                        2
                        if self._words[middle : middle + 2] == ("out", "of")
                        else (1 if self._word(middle) in ("of", "with", "from", "using") else 0)
                    )
                    if middle == after + 1:
                        yield Clause(kind, verb, ()), middle
                    else:
                        for things, end in self._things(middle):
                            yield from self._excepting(Clause(kind, verb, things), end)
        for verb, after in self._verbs(at, self._en["row"]):
            for things, end in self._things(after):
                yield from self._excepting(Clause(Kind.ROW, verb, things), end)
        for verb, after in self._verbs(at, self._en["arrange"]):
            for things, end in self._things(after):
                if self._words[end : end + 2] == ("in", "a") and self._words[end + 2 : end + 3] in self._en["rows"]:
                    yield from self._excepting(Clause(Kind.ROW, verb, things), end + 3)

    def _sorted(self, at: int) -> Iterator[tuple[Clause, int]]:
        for verb, after in self._verbs(at, self._en["sort"]):
            for things, middle in self._things(after):
                for place, by in [(None, middle), *self._place(middle)]:
                    if length := longest(self._words, by, self._sort_by):
                        end = by + length
                        clause = Clause(Kind.SORT, verb, things, template=self._sort_by[self._words[by:end]])
                        clause = replace(clause, places=(place,)) if place else clause
                        yield from self._excepting(clause, end)
                        if not place:
                            for last, there in self._place(end):
                                yield replace(clause, places=(last,)), there

    def _keep(self, at: int) -> Iterator[tuple[Clause, int]]:
        for verb, after in self._verbs(at, self._en["keep"]):
            for things, middle in self._things(after):
                for place, end in self._place(middle):
                    yield Clause(Kind.WISH, verb, things, (place,)), end
                for state, end in self._state(middle):
                    yield Clause(Kind.WISH, verb, things, template=state), end

    def _so_that(self, at: int) -> Iterator[tuple[Clause, int]]:
        """ "Move the bowl so that it is on the plate": the end is all that is said, and of the same thing."""
        motions = self._en["push"] | self._en["adjust"]
        for verb, after in self._verbs(at, self._lexicon.move | motions):
            for things, middle in self._things(self._particle(after)):
                end_of = self._particle(middle)
                length = self._is("so_that", end_of) or (tuple(verb.split()) in motions and self._is("until", end_of))
                for clause, end in self._wish(end_of + length, meant=True) if length else ():
                    if clause.things == things or clause.things[0].pronoun in ("it", "they"):
                        yield replace(clause, verb=verb, things=things), end

    def _wish(self, at: int, meant: bool) -> Iterator[tuple[Clause, int]]:
        """A desired state. meant: after "make sure that", where "is" expresses a wish, too."""
        for things, middle in self._things(at):
            lengths = [(self._is("should", middle), False), (self._is("should_not", middle), True)]
            if meant:
                lengths += [(self._is("is", middle), False), (0, False)]
                if self._is("is", middle) and self._word(middle + 1) == "not":
                    lengths.append((2, True))
            for length, negated in lengths:
                if not length and not (meant and not negated):
                    continue
                for place, end in self._place(middle + length):
                    clause = Clause(Kind.WISH, "should be", things, (place,), negated=negated)
                    yield from self._excepting(clause, end)
                if length:
                    for state, end in self._state(middle + length):
                        yield Clause(Kind.WISH, "should be", things, template=state, negated=negated), end
