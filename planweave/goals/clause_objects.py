"""Objects and places that a clause refers to in a world, and the literals that place objects there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, spoken, with_article
from planweave.core.symbolic.world import Literal, World
from planweave.geometry import spatial
from planweave.goals.goal_checks import misfit
from planweave.goals.lexicon import Lexicon
from planweave.goals.noun_phrases import NEARLY, NotCoveredError
from planweave.goals.reference_checks import (
    check_already,
    check_current,
    check_left_out,
    check_nearest,
    check_shared,
    check_side,
)
from planweave.goals.sentence_tree import Clause, Kind, NounPhrase, Place, Quantity
from planweave.goals.sentence_vocabulary import Vocabulary
from planweave.goals.sentence_words import Words, phrases


class ClauseObjects:
    """Resolves the references of clauses in order; keeps the objects mentioned and the goal so far as context."""

    def __init__(self, domain: Domain, world: World, vocabulary: Vocabulary) -> None:
        self._domain, self._world, self._vocabulary = domain, world, vocabulary
        self._lexicon: Lexicon = vocabulary.lexicon
        self.names = vocabulary.names()
        self.names.shortfall = self._shortfall
        self._place_head = ""
        notes = domain.extra.get("goals") or {}
        self._notes = notes
        pairs = [p for p in domain.predicates.values() if p.goal and len(p.parameters) == 2]
        self._beside = {p.name: p for p in pairs if p.name in notes.get("beside", ())}
        others = set(notes.get("no_places", ()))
        self._relations = [p for p in pairs if p.name not in self._beside and p.name not in others]
        self._exclusive = set(notes.get("exclusive", ()))
        self._narrow = str(notes.get("room_for_one", ""))
        self._replaced = [self._exclusive, *map(set, notes.get("later_wins", ()))]
        self._take_out_verbs = phrases(self._lexicon.english["take_out"])
        self._keep_verbs = phrases(self._lexicon.english["keep"])
        self._goal: dict[Literal, None] = {}
        self._forbidden: set[Literal] = set()  # what must not be, as literals that say so
        self._kept: set[Literal] = set()  # what is to be so all the time
        self._earlier: tuple[Literal, ...] = ()  # what earlier clauses ask for, where this one comes after them
        self._at = {p.name for p in self._relations}
        self._stands = {*self._beside, *self._lexicon.between.values(), *filter(None, [notes.get("aside")])}
        once = {*map(str, notes.get("once", ()))}
        self._away = self._exclusive - self._at  # held or given away
        self._given_away = self._away - once
        self._placing = {*self._at, *self._stands, *self._exclusive, *once}
        self._worked_on: set[str] = (
            set()
        )  # things that are to be in a machine in the end, which says how they came to be so

    def _things(
        self,
        clause: Clause,
        why: Callable[[str], str],
        without: Sequence[str] = (),
        taken: Callable[[str], bool] | None = None,
        prefer: Callable[[str], bool] | None = None,
    ) -> list[str]:
        """Objects of a clause, before exceptions are removed."""
        found: list[str] = []
        bases: set[str] = set()
        check_left_out(clause.things, clause.exceptions)
        check_shared(clause.things, self._lexicon.english["colours"], self._every, self.unseen)
        source = self._source(clause.source) if clause.source else ""
        for index, phrase in enumerate(clause.things):
            heads = [p.words[-1] for p in clause.things[index + 1 :] if p.words]
            phrase = self._of_generic(phrase, clause.things[index + 1 :])
            phrase = replace(phrase, exceptions=(*phrase.exceptions, *clause.exceptions))

            def reason(name: str) -> str:
                if source and not self._facts(name, source):
                    return f"{spoken(name)} is not known to be in, on or at {spoken(source)}"
                return why(name)

            one = phrase.quantity is Quantity.THE and not phrase.plural and not phrase.generic
            mass = bool(phrase.words) and self.names.singular(phrase.words[-1]) in self._lexicon.english["mass"]
            if clause.source and (mass or not one) and not phrase.pronoun:
                phrase = replace(phrase, places=(*phrase.places, Place("@", (clause.source,))))
            head = next((self.names.singular(h) for h in heads if self.names.singular(h) in self.names.known_nouns), "")
            names = self.names.resolve(
                phrase, reason, self.is_at, head=head, without=without, taken=taken, prefer=prefer
            )
            if taken and (clause.kind is Kind.WISH or clause.verb == "leave"):
                check_already(clause, phrase, names, taken, self._every)
            other = self._held_before(names) or self.names.place
            if (
                phrase.pronoun in ("it", "this", "that")
                and (phrase.at, phrase.text) not in self.names.clarified
                and len(other) == 1
                and other != names
                and not (reason(other[0]) or reason(names[0]))
            ):
                could = f"{phrase.pronoun!r} could mean {spoken(names[0])} or {spoken(other[0])}; say which"
                raise self.names.unclear(could, phrase, [names, other])
            if phrase.pronoun:
                for name in names:
                    if reason(name):
                        raise GoalError(reason(name))
            if bases & set(names):
                raise NotCoveredError(f"{phrase.text!r} is left out and named as well")
            if phrase.exceptions and index + 1 < len(clause.things):
                bases |= self._base(phrase)
            if {*names} & {*found} and not phrase.plural and phrase.quantity is not Quantity.ALL and not phrase.pronoun:
                raise GoalError(
                    f"{phrase.text!r} is {spoken(names[0])}, which was named already; say what else is meant"
                )
            if self.names.head:
                self.names.kinds_said.add(self.names.head)
            found += names
        self._check_left_out(clause)
        found = list(dict.fromkeys(found))
        self.names.last = found
        return found

    def _every(self, phrase: NounPhrase) -> list[str] | None:
        """All objects that a phrase may refer to, whatever its number; None where there are none."""
        return self._meant(replace(phrase, quantity=Quantity.ALL, number=0, each=False))

    def _meant(self, phrase: NounPhrase) -> list[str] | None:
        """Objects that a phrase refers to, without a change of the context; None where that is none, or not clear."""
        try:
            return self._without_traces(lambda: self.names.resolve(phrase, _fits_all, self.is_at))
        except (GoalError, NotCoveredError):
            return None

    def unseen(self, name: str) -> bool:
        """Whether an object is known of and was never seen."""
        return Literal("unseen", (name,)) in self._world.facts

    def is_beside(self, place: Place) -> bool:
        """Whether a place is one beside or between others."""
        return self._is_beside(tuple(place.word.split()))

    def nearly_at(self, name: str, place: Place) -> bool:
        """Whether an object misses a place between others by little only."""
        return tuple(place.word.split()) in self._lexicon.between and self._shortfall(name, place) <= NEARLY

    def _opened(self) -> list[str]:
        """ "open the fridge, take the milk and close it": the fridge, though the milk can be closed, too."""
        closed = str(self._notes.get("closes"))
        contrary = {p for group in self._replaced if closed in group for p in group} - {closed}
        return [g.args[0] for g in self._goal if g.positive and g.predicate in contrary]

    def _held_before(self, names: Sequence[str]) -> list[str]:
        """ "take the knife, cut the bread and wash it": what was taken up before, if it is another thing."""
        held = [g.args[0] for g in self._goal if g.positive and g.predicate in self._notes.get("once", ())]
        return held if len(held) == 1 and held != list(names) and list(names) != self._opened() else []

    def _of_generic(self, phrase: NounPhrase, later: Sequence[NounPhrase]) -> NounPhrase:
        """ "the purple" of "the purple and orange things\"."""
        colours = self._lexicon.english["colours"]
        if (
            phrase.generic
            or phrase.pronoun
            or not phrase.words
            or not {*phrase.words} <= {*colours}
            or phrase.number > 1
        ):
            return phrase
        for other in later:
            if other.generic and {*other.words} <= {*colours} and other.words and other.number < 2:
                same = other.generic in self._lexicon.english["things"]
                return replace(phrase, generic=other.generic, plural=other.plural) if same else phrase
            if not {*other.words} <= {*colours}:
                break
        return phrase

    def _check_left_out(self, clause: Clause) -> None:
        """Raise GoalError where an exception excludes an object that was not included: the sentence was misread."""
        phrases_ = [*clause.exceptions, *(e for t in clause.things for e in t.exceptions)]
        if not phrases_:
            return
        every = {Quantity.A: Quantity.ALL, Quantity.EXACTLY: Quantity.ALL}
        bases = {
            n
            for t in clause.things
            for n in self._base(replace(t, quantity=every.get(t.quantity, t.quantity), number=0))
        }
        for thing in clause.things:
            head = thing.words[-1] if thing.words else ""
            left = self._without_traces(
                lambda head=head: sorted(self.names.named(phrases_, self.names.singular(head), self.is_at))  # type: ignore[misc]
            )
            if bases and not set(left) <= bases:
                raise GoalError(
                    f"{', '.join(sorted(set(left) - bases))} cannot be left out of {thing.text!r}: it is not among them"
                )

    def _base(self, phrase: NounPhrase) -> set[str]:
        """Reference of a noun phrase before its exceptions; those of "all cubes except the red and the blue one" add
        none.
        """
        try:
            return set(self._vocabulary.names().resolve(replace(phrase, exceptions=()), _fits_all, self.is_at))
        except (GoalError, NotCoveredError):
            return set()

    def _without_traces(self, look: Callable[[], list[str]]) -> list[str]:
        """Resolve without changing the context."""
        kept = self.names.head, dict(self.names.mentioned), list(self.names.notes), self._place_head
        try:
            return look()
        finally:
            self.names.head, self.names.mentioned, self.names.notes, self._place_head = kept

    def _source(self, phrase: NounPhrase) -> str:
        kept, self.names.head = self.names.head, self._place_head
        try:
            (place,) = self.names.resolve(
                phrase,
                lambda n: "" if self._holds_things(n, "") else f"nothing can be in or on {spoken(n)}",
                self.is_at,
                several=False,
            )
        finally:
            self.names.head = kept
        return place

    def is_at(self, name: str, place: Place) -> bool:
        """Whether an object is known to be at a place now."""
        names = self._vocabulary.names()
        names.last, names.place, names.head, names.mentioned = (
            self.names.last,
            self.names.place,
            self._place_head,
            dict(self.names.mentioned),
        )
        word = tuple(place.word.split())
        check_side(place)
        if word in self._lexicon.unknown:
            raise GoalError(f"{place.word!r} is no relation that is known here")
        if word == ("of",) and self._lexicon.parts:
            (whole,) = names.resolve(place.things[0], self._no_whole, self.is_at, several=False)
            return Literal(self._lexicon.parts, (name, whole)) in self._world.facts
        between = word in self._lexicon.between
        any_of = not between and place.things[0].quantity is Quantity.A and not place.things[0].other
        others = [
            n
            for thing in place.things
            for n in names.resolve(
                replace(thing, quantity=Quantity.ALL, number=0) if any_of else thing,
                _fits_all,
                self.is_at,
                several=between or any_of,
            )
        ]
        if any_of and len(others) > 1:
            if place.things[0].number > 1:
                raise GoalError(f"{place.things[0].text!r}: at which is not clear; name them")
            return any(self._is_there(name, word, [other]) for other in others)
        return self._is_there(name, word, others)

    def _shortfall(self, name: str, place: Place) -> float:
        """Metres by which an object misses a place beside or between others; infinite for other places."""
        word = tuple(place.word.split())
        named = self._lexicon.between.get(word) or self._lexicon.relations.get(word, "")
        if named not in self._world.derived:
            return math.inf
        try:
            others = [
                n
                for t in place.things
                for n in self._vocabulary.names().resolve(t, _fits_all, self.is_at, several=False)
            ]
        except (GoalError, NotCoveredError):
            return math.inf
        return spatial.shortfall(self._world, Literal(named, (name, *others)))

    def _no_whole(self, name: str) -> str:
        """Why nothing can be a part of an object, "" where something is."""
        of = self._world.by_predicate.get(self._lexicon.parts, ())
        return "" if any(f.args[1] == name for f in of) else f"{spoken(name)} has no parts"

    def can_be_at(self, name: str, place: Place) -> bool:
        """Whether a fact can state that an object is at a place; fixed objects such as trays have no such facts."""
        word = tuple(place.word.split())
        named = self._lexicon.relations.get(word, "") or self._lexicon.away.get(word, "")
        if word in self._lexicon.between or word in self._lexicon.inverse or not named:
            return True
        beside = named in self._beside
        return any(
            self._fits(p.parameters[0].types, name) for p in (self._beside.values() if beside else self._relations)
        )

    def _is_there(self, name: str, word: Words, others: Sequence[str]) -> bool:
        if name in others:
            return False
        named = self._lexicon.relations.get(word, "")
        if word in self._lexicon.inverse:
            at = Literal(self._lexicon.inverse[word], (others[0], name)) in self._world.facts
            check_current(self._earlier, self._placing, others[0], [name], at, beside=False)
            return at
        if word in self._lexicon.between or named in self._beside:
            at = self._world.seems(Literal(self._lexicon.between.get(word, named), (name, *others)))
            check_current(self._earlier, self._placing, name, others, at, beside=True)
            return at
        if word in self._lexicon.away:
            return not self._facts(name, others[0])
        return bool(self._told(name, others[0], named) or self._told_of_carrier(name, others[0]))

    def _told_of_carrier(self, name: str, place: str) -> list[Literal]:
        """Facts that what a thing stands on is at a part of the table."""
        below = [f.args[1] for f in self._world.by_predicate.get("on", ()) if f.args[0] == name]
        if self._world.by_name[place].type != "location" or not below:
            return []
        return self._facts(below[0], place) or self._told_of_carrier(below[0], place)

    def _told(self, thing: str, place: str, named: str) -> list[Literal]:
        """Facts that a thing is at a place; "in" a nightstand, which can be opened, is not on it."""
        facts = self._facts(thing, place)
        apart = facts and named and Literal("can_open", (place,)) in self._world.facts
        if not apart or not self._holds_things(place, named):
            return facts
        return [f for f in facts if f.predicate == named]

    def _facts(self, thing: str, place: str) -> list[Literal]:
        facts = [f for p in self._relations if (f := Literal(p.name, (thing, place))) in self._world.facts]
        check_current(self._earlier, self._placing, thing, [place], bool(facts), beside=False)
        return facts

    def _fits(self, types: frozenset[str], name: str) -> bool:
        return not name or self._domain.is_a(self._world.by_name[name].type, types)

    def _carried(self, name: str) -> bool:
        needs = self._notes.get("carried", ())
        return any(self._fits(p.parameters[0].types, name) for p in self._relations) and all(
            Literal(p, (name,)) in self._world.facts for p in needs
        )

    def not_carried(self, name: str) -> str:
        """Why an object cannot be moved, "" where it can."""
        if self._carried(name):
            return ""
        return f"{spoken(name)} cannot be carried"

    def _no_place(self, word: Words) -> Callable[[str], str]:
        """Why an object cannot be the place of a relation."""
        of = self._lexicon
        named = of.relations.get(word) or of.away.get(word) or of.inverse.get(word) or ""

        def why(name: str) -> str:
            if word in of.between or named in self._beside or word in of.unknown:
                return ""
            for predicate in self._relations:
                if self._fits(predicate.parameters[1].types, name) and not misfit(
                    self._domain, self._world, Literal(predicate.name, ("", name))
                ):
                    return ""
            return f"nothing can be put {' '.join(word)} {spoken(name)}"

        return why

    def _place_names(self, place: Place) -> list[str]:
        """Objects that a place refers to: one, two for "between"."""
        word = tuple(place.word.split())
        if word in self._lexicon.unknown:
            said = {**self._lexicon.relations, **self._lexicon.between}
            spoken_ = {*(p.name for p in self._relations), *self._beside, *self._lexicon.between.values()} - {"in_room"}
            known = {
                p: min((" ".join(w) for w, of in said.items() if of == p and w != ("front", "of")), key=len)
                for p in said.values()
                if p in spoken_
            }
            raise GoalError(
                f"no goal can say {place.word!r}; places can be named with {', '.join(sorted(known.values()))}"
            )
        between = word in self._lexicon.between
        kept, self.names.head = self.names.head, self._place_head
        last = list(self.names.last)
        try:
            named = self._lexicon.relations.get(word) or ""
            found: list[str] = []
            for index, thing in enumerate(place.things):
                heads = [p.words[-1] for p in place.things[index + 1 :] if p.words]
                answered = (thing.at, thing.text) in self.names.clarified
                if not answered and named != "in_room":
                    check_nearest(thing, self._lexicon.english)
                if thing.pronoun and not between and not answered and (self.names.place or thing.at < 0):
                    # "put it in" says even less than "in it" what was meant
                    opened = self._opened()
                    before = [*last, *self.names.place, *opened, *(self.names.mentioned if thing.at < 0 else ())]
                    any_ = opened if thing.at < 0 else before if self._is_beside(word) else []
                    could = [n for n in dict.fromkeys(before) if n in any_ or self._holds_things(n, named)]
                    if len(could) > 1:
                        which = f"{thing.text!r} could mean {' or '.join(map(spoken, could))}; say which"
                        raise self.names.unclear(which, thing, [[n] for n in could])
                    if len(last) == 1 and could and Literal("on", (last[0], could[0])) in self._goal and named == "on":
                        could = [*last, *could]  # "put the book on the desk and the candle on it"
                        raise GoalError(f"{thing.text!r} could mean {' or '.join(map(spoken, could))}; say which")
                    if could and (could[0] in self.names.place or thing.at < 0):
                        found += could
                        continue
                found += self.names.resolve(
                    thing,
                    self._no_place(word),
                    self.is_at,
                    several=between and len(place.things) == 1,
                    head=self.names.singular(heads[0]) if heads else "",
                    prefer=lambda n: self._holds_things(n, named),
                )
            self._place_head = self.names.head
        finally:
            self.names.head = kept
        if between and (len(found) != 2 or found[0] == found[1]):
            raise GoalError(f"{place.word!r} needs two different things, got {', '.join(found)}")
        if between and {Literal("on", (found[0], found[1])), Literal("on", (found[1], found[0]))} & self._world.facts:
            raise GoalError(f"one of {' and '.join(map(spoken, found))} stands on the other; say where it is to be")
        return found

    def _holds_things(self, name: str, named: str) -> bool:
        """Whether a relation can have this object as its place."""
        return any(
            self._fits(p.parameters[1].types, name)
            and not misfit(self._domain, self._world, Literal(p.name, ("", name)))
            for p in self._relations
            if not named or p.name == named
        )

    def _can_hold(self, noun: str, named: str) -> bool:
        """Whether a relation can have an object with this noun as its place."""
        return any(noun in heads and self._holds_things(name, named) for name, heads in self.names.heads.items())

    def _placed(self, thing: str, word: str, others: Sequence[str]) -> Literal:
        """The literal that an object is at a place."""
        of, said = self._lexicon, tuple(word.split())
        if said in of.inverse:
            literal = Literal(of.inverse[said], (others[0], thing))
            why = self._not_fitting(literal)
            if why or self.not_carried(others[0]):
                raise GoalError(
                    f"{spoken(thing)} cannot be {word!r} {spoken(others[0])}: {why or self.not_carried(others[0])}"
                )
            return literal
        away = of.away.get(said, "")
        named = away or of.between.get(said) or of.relations.get(said, "")
        if said in of.between or named in self._beside:
            literal = Literal(named, (thing, *others))
            if why := self._not_fitting(literal):
                raise GoalError(f"{spoken(thing)} cannot be put {word!r} {spoken(' and '.join(others))}: {why}")
            return literal.negated() if away else literal
        place = others[0]
        fit = [p.name for p in self._relations if not self._not_fitting(Literal(p.name, (thing, place)))]
        if why := self._ambiguous_place(thing, place, named, fit, away):
            raise GoalError(f"{spoken(thing)} {word!r} {spoken(place)}: {why}")
        if named in fit:
            return Literal(named, (thing, place), not away)
        if not named and len(fit) == 1 and self._has_room_for_one(place) and self._carried(place):
            raise GoalError(f'{word!r} {spoken(place)} leaves open where; say "next to" or "on"')
        if not named and not self._no_whole(place):
            raise GoalError(f"{word!r} {spoken(place)} leaves open where; say on top of it, or in which part")
        if len(fit) == 1 and (
            not named or (not self._carried(place) and self._not_fitting_types(Literal(named, (thing, place))))
        ):
            return Literal(fit[0], (thing, place), not away)  # "on the tray" is in it, "in the kitchen" a room
        whole = self._not_fitting(Literal(named, (thing, place))) if named else ""
        raise GoalError(
            f"{spoken(thing)} cannot be put {word!r} {spoken(place)}"
            + (f": {whole}" if whole else "")
            + (f"; possible is: {', '.join(fit)}" if fit else "")
        )

    def _ambiguous_place(self, thing: str, place: str, named: str, fit: Sequence[str], away: str) -> str:
        """Why a place leaves open what is to be so there: beside furniture or on it, the carton or the milk."""
        beside: dict[str, list[str]] = self._notes.get("to_is_beside") or {}
        if not named and len(fit) == 1 and fit[0] in beside:
            vessels = self._carried(place) and self._holds_things(thing, "")
            if vessels or self._world.by_name[thing].attributes.get("category") in beside[fit[0]]:
                return 'that leaves open where; say "in" or "on" if it is meant'
        poured = self._notes.get("poured") or {}
        of = [Literal(str(poured[key]), (name,)) for key, name in (("thing", thing), ("place", place)) if poured]
        if of and not away and named in fit and self._carried(place) and all(g in self._world.facts for g in of):
            return f"{poured['verb']!r} it in there, if what is in it is meant"
        return ""

    def _not_fitting(self, literal: Literal) -> str:
        predicate = self._domain.predicates[literal.predicate]
        if len(set(literal.args)) < len(literal.args):
            return f"{spoken(literal.args[0])} cannot be at itself"
        for parameter, name in zip(predicate.parameters, literal.args):
            if not self._fits(parameter.types, name):
                return f"{spoken(name)} is {with_article(self._world.by_name[name].type)}"
        return misfit(self._domain, self._world, literal)

    def _not_fitting_types(self, literal: Literal) -> str:
        for parameter, name in zip(self._domain.predicates[literal.predicate].parameters, literal.args):
            if not self._fits(parameter.types, name):
                return f"{spoken(name)} is {with_article(self._world.by_name[name].type)}"
        return ""

    def _is_beside(self, word: Words) -> bool:
        of = self._lexicon
        named = of.relations.get(word) or of.away.get(word) or ""
        return word in of.between or named in self._beside or word in of.inverse

    def _has_room_for_one(self, name: str) -> bool:
        return bool(self._narrow) and Literal(self._narrow, (name,)) in self._world.facts


def _fits_all(_: str) -> str:
    return ""
