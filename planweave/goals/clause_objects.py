"""Objects and places that a clause refers to, and the literals that say that objects are there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import spoken, with_article
from planweave.core.symbolic.world import Literal
from planweave.geometry import spatial
from planweave.goals.goal_checks import misfit
from planweave.goals.noun_phrases import NEARLY, NotCoveredError, Why, fits_all
from planweave.goals.sentence_tree import Clause, ClauseKind, NounPhrase, Place, Quantity
from planweave.goals.sentence_vocabulary import SentenceVocabulary


class ClauseObjects:
    """Resolves the references of clauses in order; keeps the objects mentioned and the goal so far as context.

    goal: what the clauses so far ask for; earlier: what those before the current one do.
    """

    def __init__(self, vocabulary: SentenceVocabulary) -> None:
        self._domain, self._world, self._vocabulary = vocabulary.domain, vocabulary.world, vocabulary
        self._lexicon = vocabulary.lexicon
        self._notes = notes = vocabulary.domain.extra.get("goals") or {}
        pairs = [p for p in self._domain.predicates.values() if p.goal and len(p.parameters) == 2]
        self._beside = {p.name for p in pairs if p.name in notes.get("beside", ())}
        self._relations = [p for p in pairs if p.name not in {*self._beside, *notes.get("no_places", ())}]
        self._at = {p.name for p in self._relations}
        self._stands = {*self._beside, *self._lexicon.between.values(), *filter(None, [notes.get("aside")])}
        self._stands |= {*(notes.get("directions") or {}).values()}
        self._placing = {*self._at, *self._stands, *notes.get("exclusive", ()), *notes.get("once", ())}
        self.names = vocabulary.names()
        self.names.holds_at, self.names.shortfall = self.is_at, self._shortfall
        self.goal: dict[Literal, None] = {}
        self.earlier: tuple[Literal, ...] = ()
        self._last: list[str] = []  # the things of the clause before
        self._place: list[str] = []  # its place
        self._place_head = ""
        self.states: list[Literal] = []  # of the things of the clause: "a washed plate"

    # Places

    def is_at(self, name: str, place: Place) -> bool:
        """Whether an object is known to be at a place now; raises GoalError where earlier clauses change it."""
        word = tuple(place.word.split())
        if not place.things:  # on the table, which is no object here
            if name in self.names.moved:
                raise GoalError(f"what is {place.word} changes before that; name it")
            facts = (f.args for p in self._at for f in self._world.by_predicate.get(p, ()))
            return not any(thing == name and self._world.by_name[at].type != "location" for thing, at in facts)
        if word in self._lexicon.unknown:
            raise GoalError(f"{place.word!r} is not a known relation")
        if self._lexicon.relations.get(word) in self._notes.get("than_before", ()):
            raise GoalError(f"{place.word!r} says where to something is moved, and not where it is")
        if any(t.quantity is Quantity.A or {*t.words} <= {"left", "right"} for t in place.things if not t.generic):
            raise GoalError(f"{place.things[0].text!r}: at which is not clear; name it")
        head, self.names.head = self.names.head, self._place_head
        try:
            why = self._no_whole if word == ("of",) else fits_all
            names = [self.names.resolve(t, why, several=word in self._lexicon.between) for t in place.things]
        finally:
            self.names.head = head
        others = [n for of in names for n in of]
        if name in others:
            return False
        if word == ("of",):
            return Literal(self._lexicon.parts, (name, others[0])) in self._world.facts
        named = self._lexicon.relations.get(word, "")
        if word in self._lexicon.inverse:
            literals = [Literal(self._lexicon.inverse[word], (others[0], name))]
        elif word in self._lexicon.between or named in self._beside:
            literals = [Literal(self._lexicon.between.get(word, named), (name, *others))]
        else:
            literals = self._told_by(name, others[0], named)
        holds = any(map(self._world.seems, literals))
        if {name, *others} & self.names.moved or any(g in self.earlier for g in literals):
            raise GoalError(
                f"what is {place.word} the {' and the '.join(map(spoken, others))} changes before that; name it"
            )
        return holds != (word in self._lexicon.away)

    def _no_whole(self, name: str) -> str:
        """Why nothing can be a part of an object, "" where something is."""
        parts = self._world.by_predicate.get(self._lexicon.parts, ())
        return "" if any(f.args[1] == name for f in parts) else f"{spoken(name)} has no parts"

    def is_beside(self, place: Place) -> bool:
        """Whether a place is one beside or between others."""
        word = tuple(place.word.split())
        named = self._lexicon.relations.get(word) or self._lexicon.away.get(word) or ""
        return word in self._lexicon.between or named in self._beside or word in self._lexicon.inverse

    def nearly_at(self, name: str, place: Place) -> bool:
        """Whether an object misses a place between others by little only."""
        return tuple(place.word.split()) in self._lexicon.between and self._shortfall(name, place) <= NEARLY

    def unseen(self, name: str) -> bool:
        """Whether an object is known of and was never seen."""
        return Literal("unseen", (name,)) in self._world.facts

    def not_carried(self, name: str) -> str:
        """Why an object cannot be moved, "" where it can."""
        typed = any(self._fits(p.parameters[0].types, name) for p in self._relations)
        if typed and all(Literal(p, (name,)) in self._world.facts for p in self._notes.get("carried", ())):
            return ""
        return f"{spoken(name)} cannot be carried"

    def facts_at(self, thing: str, place: str) -> list[Literal]:
        """Facts that a thing is at a place."""
        return [f for f in self._told_by(thing, place, "") if f in self._world.facts]

    def _told_by(self, thing: str, place: str, named: str) -> list[Literal]:
        """Literals that say that a thing is at a place; "in" a nightstand, which can be opened, is not on it. What is
        on another thing is at the part of the table where that is.
        """
        apart = Literal("can_open", (place,)) in self._world.facts and self._holds_things(place, named)
        found = [Literal(n, (thing, place)) for n in self._at if not (named and apart and n != named)]
        if self._world.by_name[place].type == "location":
            below = [f.args[1] for f in self._world.by_predicate.get("on", ()) if f.args[0] == thing]
            found += [g for n in below for g in self._told_by(n, place, named)]
        return found

    def _shortfall(self, name: str, place: Place) -> float:
        """Metres by which an object misses a place beside or between others, or on one; infinite for other places."""
        word = tuple(place.word.split())
        named = self._lexicon.between.get(word) or self._lexicon.relations.get(word, "")
        others = [n for t in place.things for n in self.names.meant(t) or ()]
        if named not in {*self._world.derived, "on"} or not others:
            return math.inf
        return spatial.shortfall(self._world, Literal(named, (name, *others)))

    def _fits(self, types: frozenset[str], name: str) -> bool:
        return not name or self._domain.is_a(self._world.by_name[name].type, types)

    def _not_fitting(self, literal: Literal) -> str:
        if len(set(literal.args)) < len(literal.args):
            return f"{spoken(literal.args[0])} cannot be at itself"
        for parameter, name in zip(self._domain.predicates[literal.predicate].parameters, literal.args):
            if not self._fits(parameter.types, name):
                wanted = " or ".join(map(with_article, sorted(parameter.types)))
                return f"{spoken(name)} is {with_article(self._world.by_name[name].type)}; here it must be {wanted}"
        return misfit(self._domain, self._world, literal)

    def _holds_things(self, name: str, named: str) -> bool:
        """Whether a relation can have this object as its place."""
        return any(
            self._fits(p.parameters[1].types, name)
            and not misfit(self._domain, self._world, Literal(p.name, ("", name)))
            for p in self._relations
            if not named or p.name == named
        )

    def _narrow(self, name: str) -> bool:
        """Whether a place has room for one thing only."""
        return Literal(str(self._notes.get("room_for_one", "")), (name,)) in self._world.facts

    def _no_place(self, phrase: NounPhrase, place: Place) -> Why:
        """Why an object cannot be the place of a relation: where some can be it as said, the others are not meant."""
        if self.is_beside(place):
            return fits_all
        named = self._lexicon.relations.get(tuple(place.word.split()), "")
        noun = self.names.singular(phrase.words[-1]) if phrase.words else ""
        called = [n for n, heads in self.names.heads.items() if noun in heads]
        named = named if not called or any(self._holds_things(n, named) for n in called) else ""
        return lambda n: "" if self._holds_things(n, named) else f"nothing can be put {place.word} {spoken(n)}"

    def _place_names(self, place: Place) -> list[str]:
        """Objects that a place refers to: one, two for "between"."""
        word = tuple(place.word.split())
        if not place.things:
            raise GoalError(f"{place.word!r} says no place, and how far is not said; say where it is to be in the end")
        if word in self._lexicon.unknown:
            known = {*self._lexicon.relations.values(), *self._lexicon.between.values()} - {"", "in_room"}
            known -= {*self._notes.get("than_before", ())}
            said = ", ".join(sorted(n.replace("_", " ") for n in known & {*self._at, *self._stands}))
            raise GoalError(f"no goal can say {place.word!r}; places can be named with {said}")
        between = word in self._lexicon.between
        named = self._lexicon.relations.get(word, "")
        found: list[str] = []
        head, self.names.head = self.names.head, self._place_head
        try:
            for index, thing in enumerate(place.things):
                if thing.pronoun:
                    found += self._pronoun(
                        thing,
                        lambda n: (
                            "" if self._holds_things(n, named) else f"nothing can be put {place.word} {spoken(n)}"
                        ),
                    )
                    if named == "on" and any(Literal("on", (n, found[0])) in self.goal for n in self._last):
                        raise GoalError(f"{thing.text!r} could mean {spoken(found[0])} or what is on it; say which")
                    continue
                heads = [p.words[-1] for p in place.things[index + 1 :] if p.words]
                if (axis := self._lexicon.english["superlatives"].get(thing.superlative)) and axis[0] == "reach":
                    raise GoalError(f"{thing.text!r}: {thing.superlative} to what is not clear; name the place")
                found += self.names.resolve(
                    thing,
                    self._no_place(thing, place),
                    several=between and len(place.things) == 1,
                    head=self.names.singular(heads[0]) if heads else "",
                )
            self._place_head = self.names.head
        finally:
            self.names.head = head
        if between and len({*found}) != 2:
            raise GoalError(f"{place.word!r} needs two different things, got {', '.join(found)}")
        if between and {Literal("on", (found[0], found[1])), Literal("on", (found[1], found[0]))} & self._world.facts:
            raise GoalError(f"one of {' and '.join(map(spoken, found))} stands on the other; say where it is to be")
        return found

    def _pronoun(self, phrase: NounPhrase, why: Why, prefer: Sequence[str] = ()) -> list[str]:
        """What "it" and "them" mean: what was named last, or its place where only that can be meant or is preferred."""
        if answered := self.names.clarified.get((phrase.at, phrase.text)):
            return list(answered)
        if not self._last and not self._place:
            raise GoalError(f"{phrase.text!r} refers to nothing named before; say which thing is meant")
        if phrase.pronoun == "them":
            if len(self._last) < 2 or (phrase.number and len(self._last) != phrase.number):
                raise GoalError(f"{phrase.text!r} means several things, and {', '.join(self._last)} was named last")
            on = {g.args[0] for g in self.goal if g.positive and g.predicate == "on" and {*g.args} <= {*self._last}}
            return [n for n in self._last if n not in on]  # what is to stand on one of them comes along
        every = list(dict.fromkeys([*self._last, *self._place, *(g.args[0] for g in self.goal if len(g.args) == 1)]))
        wholes = [f.args[1] for f in self._world.by_predicate.get(self._lexicon.parts, ()) if f.args[0] in every]
        could = [n for n in every if not why(n)] or [n for n in dict.fromkeys(wholes) if not why(n)]
        could = [n for n in could if n in prefer] or could
        if len(could) > 1:
            which = f"{phrase.text!r} could mean {' or '.join(map(spoken, could))}; say which"
            raise self.names.unclear(which, phrase, [[n] for n in could])
        if not could:
            raise GoalError(why(every[0]) or f"{phrase.text!r} refers to nothing named before")
        return could

    # Things

    def _things(self, clause: Clause, why: Why, without: Sequence[str] = (), taken: Why | None = None) -> list[str]:
        source = self._source(clause.source) if clause.source else ""
        found: list[str] = []
        pronoun = any(t.pronoun for t in clause.things)

        def reason(name: str) -> str:
            if pronoun and name in without:
                return f"{spoken(name)} cannot be put beside, on or in itself"
            if source and not self.facts_at(name, source):
                return f"{spoken(name)} is not known to be in, on or at {spoken(source)}"
            return why(name)

        self._check_shared(clause.things)
        self.states = []
        for index, phrase in enumerate(clause.things):
            if phrase.pronoun:
                closed = clause.template.split(" | ")[0] == f"{self._notes.get('closes')}({{x}})"
                names = self._pronoun(phrase, reason, self._to_close() if closed else ())
                if bad := next(filter(None, map(reason, names)), ""):
                    raise GoalError(bad)
            else:
                later = [self.names.singular(p.words[-1]) for p in clause.things[index + 1 :] if p.words]
                head = next((h for h in later if h in self.names.known_nouns), "")
                if source and (not phrase.is_one or self.names.is_mass(phrase)):
                    places = (
                        (*phrase.places, Place("@", (replace(clause.source, quantity=Quantity.THE),)))
                        if clause.source
                        else ()
                    )
                    phrase = replace(phrase, places=places)
                state = phrase.state if clause.kind in (ClauseKind.MOVE, ClauseKind.PUSH) else ""
                phrase, suits = self._in_state(phrase, reason) if state else (phrase, reason)
                names = self.names.resolve(phrase, suits, head=head, without=without, taken=taken)
                self.states += [Literal(state, (n,)) for n in names if state]
            if {*names} & {*found}:
                raise GoalError(
                    f"{phrase.text!r} is {spoken(names[0])}, which was named already; say what else is meant"
                )
            found += names
        self._last = found
        return found

    def _in_state(self, phrase: NounPhrase, why: Why) -> tuple[NounPhrase, Why]:
        """ "a washed plate" without its state, and why an object cannot be meant: where some are washed it is one of
        them, else one that can be washed. Either way it shall be so in the end.
        """
        state, phrase = phrase.state, replace(phrase, state="")
        if phrase.number > 1 or not (phrase.is_one or phrase.quantity is Quantity.A):
            raise NotCoveredError(f"{phrase.text!r}: whether they are so, or are to be so, is not said")
        ready = [n for n in self.names.every(phrase) if self._world.seems(Literal(state, (n,)))]

        def suits(name: str) -> str:
            literal = Literal(state, (name,))
            other = self._domain.phrase(literal.negated()) if ready and name not in ready else ""
            return why(name) or other or self._not_fitting(literal)

        return phrase, suits

    def _to_close(self) -> list[str]:
        """ "open the fridge, take the milk and close it": the fridge, though the milk can be closed, too."""
        opened = {p for group in self._notes.get("later_wins", ()) if self._notes.get("closes") in group for p in group}
        inside = [p for p in self._place if not any(Literal("on", (n, p)) in self.goal for n in self._last)]
        return [g.args[0] for g in self.goal if g.positive and g.predicate in opened] + inside

    def _source(self, phrase: NounPhrase) -> str:
        head, self.names.head = self.names.head, self._place_head
        try:
            if phrase.pronoun:
                return self._pronoun(phrase, lambda n: "" if self._holds_things(n, "") else "no place")[0]
            return self.names.resolve(
                phrase,
                lambda n: "" if self._holds_things(n, "") else f"nothing can be in or on {spoken(n)}",
                several=False,
            )[0]
        finally:
            self.names.head = head

    def _check_shared(self, things: Sequence[NounPhrase]) -> None:
        """Raise GoalError where words at one of several things may describe the others as well: "the plates and the
        forks on the table", "green bottles and fruit"; and where a list has things left out.
        """
        if len(things) < 2:
            return
        last = things[-1].places
        for thing in things:
            every, fewer = self.names.every(thing), self.names.every(replace(thing, places=last))
            hidden = not fewer and thing.plural and any(map(self.unseen, every))
            if (
                thing.exceptions
                or thing.relative
                or (thing.places and thing.places != last)
                or hidden
                or (fewer and {*fewer} != {*self.names.every(replace(thing, places=()))})
            ):
                raise GoalError(
                    f"{thing.text!r}: whether that is said of the others as well is not clear; name them apart"
                )
        colours = self.names.colours
        for thing in things[1:]:
            shared = {*things[0].words[:1]} & colours and thing.quantity is Quantity.BARE and thing.words
            narrower = replace(thing, words=(*things[0].words[:1], *thing.words))
            if shared and not {*thing.words} & colours and self.names.every(narrower):
                raise GoalError(f"{thing.text!r}: whether {things[0].words[0]} ones are meant is not clear")

    def _placed(self, thing: str, said: str, others: Sequence[str]) -> Literal:
        """The literal that an object is at a place; raises GoalError where it cannot be, or where that is not clear."""
        of, word = self._lexicon, tuple(said.split())
        away = of.away.get(word, "")
        named = away or of.between.get(word) or of.relations.get(word, "")
        if word in of.inverse:
            literal = Literal(of.inverse[word], (others[0], thing))
            if why := self._not_fitting(literal) or self.not_carried(others[0]):
                raise GoalError(f"{spoken(thing)} cannot be {said!r} {spoken(others[0])}: {why}")
            return literal
        if word in of.between or named in self._beside:
            literal = Literal(named, (thing, *others), not away)
            if why := self._not_fitting(literal):
                raise GoalError(f"{spoken(thing)} cannot be put {said!r} {spoken(' and '.join(others))}: {why}")
            return literal
        place = others[0]
        fit = [p.name for p in self._relations if not self._not_fitting(Literal(p.name, (thing, place)))]
        if why := self._ambiguous(thing, place, named, fit, away):
            raise GoalError(f"{spoken(thing)} {said!r} {spoken(place)}: {why}")
        if named in fit:
            return Literal(named, (thing, place), not away)
        types = zip(self._domain.predicates[named].parameters, (thing, place)) if named else ()
        mistyped = not named or any(not self._fits(p.types, n) for p, n in types)
        if len(fit) == 1 and mistyped and (not named or self.not_carried(place)):
            return Literal(fit[0], (thing, place), not away)  # "on the tray" is in it, "in the kitchen" a room
        whole = self._not_fitting(Literal(named, (thing, place))) if named else "it leaves open where"
        possible = f"; possible is: {', '.join(fit)}" if fit else ""
        raise GoalError(f"{spoken(thing)} cannot be put {said!r} {spoken(place)}: {whole}{possible}")

    def _ambiguous(self, thing: str, place: str, named: str, fit: Sequence[str], away: str) -> str:
        """Why a place leaves open what is to be so there: beside furniture or on it, the carton or the milk."""
        carried = not self.not_carried(place)
        beside: dict[str, list[str]] = self._notes.get("to_is_beside") or {}
        if not named:
            vessels = carried and self._holds_things(thing, "")
            category = self._world.by_name[thing].attributes.get("category")
            loose = any(category in beside.get(p, ()) for p in fit) or (vessels and bool(beside))
            if loose or not self._no_whole(place) or (carried and self._narrow(place)):
                return 'that leaves open where; say "in", "on" or "next to"'
        poured = self._notes.get("poured") or {}
        of = [Literal(str(poured[key]), (name,)) for key, name in (("thing", thing), ("place", place)) if poured]
        if of and not away and named in fit and carried and all(g in self._world.facts for g in of):
            return f"{poured['verb']!r} it in there, if what is in it is meant"
        return ""
