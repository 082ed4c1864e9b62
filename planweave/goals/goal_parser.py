"""Parser from words to clauses: all parses of a whole sentence, independent of the world.

Every word must be used by a rule. `planweave.goals.goal_grammar` interprets all parses and accepts a goal only if they
agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from planweave.goals.phrase_parser import Found, PhraseParser
from planweave.goals.sentence_tree import Clause, ClauseKind, NounPhrase, Place, Tree
from planweave.goals.sentence_words import Words, longest

MOST_WAYS = 24
_IT = NounPhrase("it", pronoun="it")


class Parser(PhraseParser):
    """Parses one sentence."""

    def trees(self) -> list[Tree]:
        """All parses of the sentence."""
        found: dict[Tree, None] = {}
        for tree in self._sentence(0, (), ""):
            found[tree] = None
            if len(found) >= MOST_WAYS:
                break
        return list(found)

    def command(self, at: int) -> Iterator[tuple[Clause, int]]:
        """Orders starting at a word, with their ends."""
        yield from self._patterns(at)
        for kind, of in ((ClauseKind.MOVE, self._lexicon.move), (ClauseKind.PUSH, self._en["push"])):
            for verb, after in self._verbs(at, of):
                for way, start in self._directions(after):  # "push right the red block"
                    yield from ((Clause(kind, verb, things, (way,)), end) for things, end in self.things_at(start))
                for things, end in self.things_at(after + self._is("particles", after)):
                    yield from self._moved(Clause(kind, verb, things), end + self._is("particles", end))
        for verb, after in self._verbs(at, self._en["remove"] | self._en["take_out"]):
            for things, middle in self.things_at(after):
                out = ((verb,) not in self._en["take_out"] and self._is("from", middle)) or self._is("out", middle)
                said = "take off" if self._word(middle) == "off" else "take out" if out and verb != "remove" else verb
                for place, end in self._plain(middle + out) if out else ():
                    clause = Clause(
                        ClauseKind.REMOVE, said if verb not in ("remove", "unload") else verb, things, source=place
                    )
                    yield from self._excepting(clause, end)
                if self._is("out_alone", middle) and tuple(verb.split()) in self._en["take_out"]:
                    yield Clause(ClauseKind.REMOVE, verb, things), middle + 1
        for verb, after in self._verbs(at, self._en["empty"]):
            for place, end in self._plain(after):
                yield Clause(ClauseKind.EMPTY, verb, (place,)), end
        yield from self._stacks(at)
        for _, after in self._verbs(at, self._en["means"]):  # "press the button to turn on the light"
            for thing, middle in self._plain(after):
                for clause, end in self._patterns(middle + 1) if self._word(middle) == "to" else ():
                    if clause.things and not clause.places:
                        yield replace(clause, places=(Place("with", (thing,)),)), end
        for verb, after in self._verbs(at, self._en["keep"]):
            for things, middle in self.things_at(after):
                yield from self._states(Clause(ClauseKind.WISH, verb, things), middle)
        for verb, after in self._verbs(at, self._lexicon.move | self._en["push"] | self._en["adjust"]):
            for things, middle in self.things_at(after):
                pushed = tuple(verb.split()) in self._en["push"] | self._en["adjust"]
                length = self._is("so_that", middle) or (pushed and self._is("until", middle))
                for clause, end in self._wish(middle + length, meant=True) if length else ():
                    if clause.things == things or clause.things[0].pronoun or self._word(middle + length) == "they":
                        yield replace(clause, verb=verb, things=things), end

    def _sentence(self, at: int, before: Tree, joined: str) -> Iterator[Tree]:
        for found, end in self._clause(at, before):
            clause = replace(found, joined=joined)
            said = end if before else end + self._is("done_first", end)  # "open it first and put the bowl in it"
            if end == len(self._words):
                yield (*before, clause)
            elif (after := self._separator(said)) > said and after < len(self._words):
                yield from self._sentence(after, (*before, clause), "then" if said > end else self._joint(end, after))

    def _separator(self, at: int) -> int:
        while length := max(self._word(at) in (",", "."), self._is("and", at), self._is("then", at)):
            at += length
        return at

    def _joint(self, start: int, end: int) -> str:
        """Separators between two clauses: "then" and "." where one follows the other."""
        if any(self._is("then", at) for at in range(start, end)):
            return "then"
        return next((w for w in (".", "and") if w in self._words[start:end]), ",")

    def _clause(self, at: int, before: Tree) -> Iterator[tuple[Clause, int]]:
        if at >= len(self._words):
            return
        if length := self._is("wish", at):
            yield from self._wish(at + length, meant=True)
            return
        seen = False
        for clause, end in self.command(at):
            seen = True
            yield clause, end
        yield from self._wish(at, meant=False)
        last = before[-1] if before else None
        if seen:
            return
        yield from self._switched(at)
        for things, middle in self.things_at(at):
            if self._is("whither", middle):  # "the red cube into the left tray"
                yield from self._moved(Clause(ClauseKind.MOVE, "put", things), middle)
        if last is None or last.kind not in (ClauseKind.MOVE, ClauseKind.PUSH, ClauseKind.VERB, ClauseKind.WISH):
            return
        for verb, after in self._verbs(at, self._lexicon.move):  # "take the bowl and put on the plate"
            for place, end in self.places_at(after) if last.things else ():
                yield Clause(ClauseKind.MOVE, verb, (_IT,), (place,)), end
        if last.places and not last.template:  # "put the fruit on the plate and the bottles in the box"
            for things, middle in self.things_at(at):
                for place, end in self.places_at(middle):
                    yield Clause(last.kind, last.verb, things, (place,)), end

    def _switched(self, at: int) -> Iterator[tuple[Clause, int]]:
        """ "the lights off", alone or after "turn the radio on and"."""
        verbs = {p.parts for p in self._lexicon.patterns}
        for pattern in self._lexicon.patterns:
            both = {(pattern.parts[0], "{x}", "on"), (pattern.parts[0], "{x}", "off")}  # and not "wipe … off"
            if pattern.parts in both and both <= verbs:
                verb = f"{pattern.parts[0]} {pattern.parts[2]}"
                for slots, end in self._pattern(pattern.parts[1:], at):
                    yield Clause(ClauseKind.VERB, verb, slots["{x}"], template=pattern.template), end

    def _verbs(self, at: int, of: Collection[Words]) -> Iterator[tuple[str, int]]:
        """Verb phrases at this position, longest first."""
        for length in range(min(5, len(self._words) - at), 0, -1):
            if self._words[at : at + length] in of:
                yield " ".join(self._words[at : at + length]), at + length

    def _patterns(self, at: int) -> Iterator[tuple[Clause, int]]:
        here = [p for p in self._lexicon.patterns if p.parts[0] == self._word(at)]
        fixed = [p for p in here if len(p.parts) > 2 and self._words[at : at + len(p.parts)] == p.parts]
        longer = [p for p in here if any(p.parts[: len(f.parts)] == f.parts for f in fixed)]  # "take a seat on"
        for pattern in longer or here:  # "go to bed" is no way to go to something
            for slots, end in self._pattern(pattern.parts, at):
                verb = " ".join(p for p in pattern.parts if not p.startswith("{"))
                things, second = slots.get("{x}", ()), slots.get("{y}", ())
                clause = Clause(ClauseKind.VERB, verb, things, template=pattern.template, second=second)
                yield from self._excepting(clause, end)
                for place, after in self.places_at(end) if things else ():
                    yield replace(clause, places=(place,)), after
                if self._word(end) == "with" and things:
                    yield from ((replace(clause, places=(Place("with", (t,)),)), e) for t, e in self._plain(end + 1))
                if length := self._is("from", end) if things else 0:
                    yield from ((replace(clause, source=s), after) for s, after in self._plain(end + length))

    def _pattern(self, parts: Words, at: int) -> Iterator[tuple[dict[str, tuple[NounPhrase, ...]], int]]:
        if not parts:
            yield {}, at
        elif not parts[0].startswith("{"):
            if self._word(at) == parts[0]:
                yield from self._pattern(parts[1:], at + 1)
        elif parts[0] in ("{me}", "{to_me}"):
            if length := self._is(parts[0].strip("{}"), at):
                yield from self._pattern(parts[1:], at + length)
        else:
            for things, after in self.things_at(at):
                for slots, end in self._pattern(parts[1:], after):
                    yield {parts[0]: things, **slots}, end

    def _moved(self, clause: Clause, at: int) -> Iterator[tuple[Clause, int]]:
        """The rest of a moving clause: source, destination, exceptions."""
        length = self._is("from", at)
        sources: Found = [(None, at), *(self._plain(at + length) if length else [])]
        for source, after in sources:
            inside = self._is("in_alone", after) or (self._is("in_last", after) if self._is_end(after + 1) else 0)
            alone: Found = [(Place("in", (_IT,)), after + inside)] if inside else []
            for place, end in [*alone, *self._directions(after), *self.places_at(after)]:
                yield from self._excepting(replace(clause, source=source, places=(place,)), end)

    def _directions(self, at: int) -> Found:
        """A direction from where an object is now, "slightly to the left", as a place without objects."""
        end = at + longest(self._words, at, self._lexicon.directions)
        return [(Place(" ".join(self._words[at:end]), ()), end + self._is("degrees", end))] if end > at else []

    def _is_end(self, at: int) -> bool:
        return at >= len(self._words) or self._separator(at) > at

    def _excepting(self, clause: Clause, at: int) -> Iterator[tuple[Clause, int]]:
        yield clause, at
        start = at + (self._word(at) == ",")
        length = self._is("except", start)
        if length and len(clause.things) == 1 and not clause.things[0].exceptions:
            for left, end in self.things_at(start + length):
                yield replace(clause, things=(replace(clause.things[0], exceptions=left),)), end

    def _stacks(self, at: int) -> Iterator[tuple[Clause, int]]:
        for verb, after in self._verbs(at, self._en["stack"]):
            for things, end in self.things_at(after + self._is("particles", after)):
                yield Clause(ClauseKind.STACK, verb, things), end + self._is("particles", end)
                if self._words[end : end + 5] == ("on", "top", "of", "each", "other"):
                    yield Clause(ClauseKind.STACK, verb, things), end + 5
                for place, last in self.places_at(end):
                    yield Clause(ClauseKind.STACK, verb, things, (place,)), last
        for verb, after in self._verbs(at, self._en["build"]):
            start = after + (self._word(after) in ("a", "one"))
            if self._is("towers", start) and (length := self._is("made_of", start + 1)):
                for things, end in self.things_at(start + 1 + length):
                    yield Clause(ClauseKind.STACK, verb, things), end

    def _states(self, clause: Clause, at: int) -> Iterator[tuple[Clause, int]]:
        """The goal that objects are at a place or in a state."""
        yield from ((replace(clause, places=(place,)), end) for place, end in self.places_at(at))
        yield from ((replace(clause, template=state), end) for state, end in self.states_at(at))

    def _wish(self, at: int, meant: bool) -> Iterator[tuple[Clause, int]]:
        """A desired state. meant: after "make sure that", where "is" expresses a wish, too."""
        for things, middle in [*self.things_at(at), *([((_IT,), at + 1)] if self._word(at) == "they" else [])]:
            clause = Clause(ClauseKind.WISH, "should be", things)
            should_not = self._is("should_not", middle) or (meant and self._is("is_not", middle))
            length = self._is("should", middle) or (meant and self._is("is", middle))
            if length and not should_not:
                yield from self._states(clause, middle + length)
            elif should_not:
                yield from self._states(replace(clause, negated=True), middle + should_not)
            elif meant:
                yield from ((replace(clause, places=(p,)), end) for p, end in self.places_at(middle))
