"""Goal literals of each kind of clause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import Literal
from planweave.goals.clause_objects import ClauseObjects
from planweave.goals.noun_phrases import NotCoveredError, Why
from planweave.goals.sentence_tree import Clause, ClauseKind, NounPhrase, Place, Quantity
from planweave.goals.sentence_words import Words


class ClauseGoals(ClauseObjects):
    """Translates clauses to goal literals, in order."""

    def literals(self, clause: Clause) -> Iterator[Literal]:
        """Goal literals of one clause; raises GoalError, NotCoveredError."""
        if clause.kind is ClauseKind.VERB or clause.template:
            found = self._verb(clause)
        elif clause.kind is ClauseKind.REMOVE:
            found = self._remove(clause)
        elif clause.kind is ClauseKind.EMPTY:
            found = self._empty(clause)
        elif clause.kind is ClauseKind.STACK and (not clause.places or self._notes.get("room_for_one")):
            found = self._stack(clause)
        else:
            found = self._put(clause, clause.places[0])
        yield from (g.negated() for g in found) if clause.negated else found

    def _put(self, clause: Clause, place: Place) -> Iterator[Literal]:
        word = tuple(place.word.split())
        if named := self._direction(clause, place):
            things = self._things(clause, lambda n: self.not_carried(n) or self._not_fitting(Literal(named, (n,))))
            yield from (Literal(named, (thing,)) for thing in things)
            return
        away = self._lexicon.away.get(word, "")
        if away and away not in self._beside and clause.kind is not ClauseKind.WISH:
            if clause.kind is ClauseKind.PUSH or (clause.verb,) in self._vocabulary.english("take_out"):
                raise NotCoveredError(f"where to {clause.verb} it is not said")
            yield from self._remove(replace(clause, source=place.things[0], places=()))
            return
        if away or clause.negated:
            self._check_none((*clause.things, *place.things), clause.negated)
        others = self._place_names(place)
        for thing in (*clause.things, *place.things) if clause.kind is not ClauseKind.WISH else ():
            # "put the plate in front of the stove next to the bowl": is it there, or is it to be there as well?
            told = [p for p in thing.places if p.word != "of" and not thing.relative]
            beside = any(map(self.is_beside, (*told, *(clause.places if thing in clause.things else ()))))
            bare = replace(thing, places=()) if thing.is_one else thing
            if told and beside and not thing.generic and len(self.names.meant(bare) or ()) == 1:
                raise GoalError(
                    f'whether {thing.text!r} says where it is, or where it is to be, is not clear; say "that is"'
                )

        def why(name: str) -> str:
            if (found := self.not_carried(name)) or name in others:
                return found  # the place itself is left out below, and yet is the left one of the bowls
            try:
                self._placed(name, place.word, others)
            except GoalError as error:
                return str(error)
            return ""

        def taken(name: str) -> str:
            return "" if not why(name) and self._world.holds(self._placed(name, place.word, others)) else "not yet"

        things = self._things(clause, why, without=others, taken=taken)
        self._check_already(clause, things, taken)
        if len(things) > 1 and tuple(clause.verb.split()) in self._vocabulary.english("stack"):
            raise GoalError(f"{clause.verb} {place.word}: the order of the stack is not given; name the lowest one")
        if len(things) > 1 and self._narrow(others[0]) and not self.is_beside(place):
            raise GoalError(f"{spoken(others[0])} has room for one, not for {', '.join(map(spoken, things))}")
        literals = [self._placed(thing, place.word, others) for thing in things]
        named = self._lexicon.relations.get(word, "")
        towards = named in self._notes.get("than_before", ())
        if word in self._vocabulary.english("by_motion") and not self._moves(clause):
            raise GoalError(f"how far {place.word!r} is not said; say where it is to be")
        if clause.kind is ClauseKind.PUSH and not towards:
            self._check_pushed(clause, word, others, literals)
        yield from self.states
        yield from literals
        near, aside = str(self._notes.get("put_beside", "")), named in self._notes.get("one_way", ())
        if aside and near and len(things) == 1 and clause.kind is not ClauseKind.WISH:
            yield Literal(near, (things[0], others[0]))
        if away and clause.kind is not ClauseKind.WISH:
            yield from self._let_go(things)
        if clause.kind is ClauseKind.STACK:  # "stack the bowl on the plate and place them in the tray"
            self._last = [*things, *(n for n in others if not self.not_carried(n))]
        self._place = others

    def _direction(self, clause: Clause, place: Place) -> str:
        """The predicate of things that are moved to a side of where they are; "" where a clause does not say that."""
        said = self._moves(clause) and not (place.things or clause.negated)
        return self._lexicon.directions.get(tuple(place.word.split()), "") if said else ""

    def _moves(self, clause: Clause) -> bool:
        """Whether its verb is one of motion alone, "move", "push"."""
        return clause.kind is ClauseKind.PUSH or (clause.verb,) in self._vocabulary.english("motions")

    def _check_none(self, things: Sequence[NounPhrase], negated: bool) -> None:
        """Raise GoalError for "both cubes should not be there", "keep a cube out": none of them, or not all?"""
        for thing in things:
            several = thing.quantity is Quantity.ALL or (thing.number > 1 and not thing.text.startswith("the "))
            if thing.quantity is Quantity.A or (negated and several):
                raise GoalError(f"whether none of {thing.text!r} is meant, or not all, is not clear; name the things")

    def _check_already(self, clause: Clause, things: Sequence[str], so: Why) -> None:
        """Raise GoalError for "there should be a cube in the tray" where some are so already: that, or another one?"""
        if clause.kind is ClauseKind.WISH and not clause.negated:
            every = [n for t in clause.things if t.quantity is Quantity.A for n in self.names.every(t)]
            ready = [n for n in things if not so(n)] if clause.places else []
            some = (clause.verb,) in self._vocabulary.english("keep") and 0 < len(ready) < len(things)
            if some or any(not so(n) for n in every if n not in things):
                raise GoalError(f"{clause.things[0].text!r}: some are so already; name the things that are meant")

    def _check_pushed(self, clause: Clause, word: Words, others: Sequence[str], literals: Sequence[Literal]) -> None:
        """Raise GoalError for one thing pushed against another, or "to" a place that things can be in."""
        if any(not self.not_carried(n) for n in others):
            raise GoalError(f'to {clause.verb} one thing against another is not a goal; say "next to" or "on"')
        beside = self._notes.get("to_is_beside")
        open_ = self._world.by_name[others[0]].type not in ("location", "room")
        open_ = any(g.predicate in beside for g in literals) if beside else open_
        if open_ and not self._lexicon.relations.get(word, "-"):
            raise GoalError(f'{clause.verb!r} to another thing leaves open where it is then; say "in" or "on"')

    def _remove(self, clause: Clause) -> Iterator[Literal]:
        if clause.source is None:
            things = self._things(clause, self.not_carried)
            out = self._notes.get("taken_out_of", ())
            placed = [g for g in self.goal if g.positive and g.args[:1] == (things[0],) and g.predicate in self._at]
            facts = placed or [
                f for n in things for p in out for f in self._world.by_predicate.get(p, ()) if f.args[0] == n
            ]
            if not facts:
                raise GoalError(f"{spoken(things[0])} is not known to be in anything, so it cannot be taken out")
            yield from (fact.negated() for fact in facts)
            return
        place = self._source(clause.source)
        named = self._lexicon.relations.get(({"take out": "in", "take off": "on"}.get(clause.verb, "@"),), "")
        names = [o.name for o in self._world.objects]
        all_ = any(t.generic for t in clause.things)  # with what they stand on
        told = {
            n: [f for f in self._told_by(n, place, named) if f in self._world.facts and (all_ or f.args[0] == n)]
            for n in names
        }
        there = {n: [replace(f, args=(n, place)) for f in facts] for n, facts in told.items()}
        if self.names.moved & {place, *(n for n in names if there[n])}:
            raise GoalError(f"what is at the {spoken(place)} changes before that; name the things that are meant")

        def why(name: str) -> str:
            return (
                self.not_carried(name)
                if there[name]
                else f"{spoken(name)} is not known to be in, on or at {spoken(place)}"
            )

        broad = tuple(
            t if t.is_one or t.pronoun else replace(t, places=(*t.places, Place("@", (clause.source,))))
            for t in clause.things
        )
        things = self._things(replace(clause, source=None, things=broad), why, without=[place])
        yield from (f.negated() for n in things for f in there[n])
        if clause.verb not in ("take out", "take off") or len(things) > 1:
            yield from self._let_go(things)
        self._place = [place]

    def _empty(self, clause: Clause) -> Iterator[Literal]:
        place = self._source(clause.things[0])
        everything = NounPhrase("everything", Quantity.ALL, generic="everything", plural=True)
        inside = [o.name for o in self._world.objects if self.facts_at(o.name, place)]
        if not inside or any(map(self.not_carried, inside)):
            stuck = next(
                filter(None, map(self.not_carried, inside)), f"nothing is known to be in, on or at {spoken(place)}"
            )
            raise GoalError(f"{stuck}, so it cannot be cleared")
        yield from self._remove(replace(clause, verb="empty", things=(everything,), source=clause.things[0]))

    def _let_go(self, things: Sequence[str]) -> Iterator[Literal]:
        """Literals that release objects: whoever wants objects placed does not want them held."""
        template = str(self._notes.get("let_go", ""))
        for thing in things if "{x}" in template else [""]:
            yield from (Literal.parse(part.replace("{x}", thing)) for part in template.split("&") if part.strip())

    def _stack(self, clause: Clause) -> Iterator[Literal]:
        if not self._notes.get("room_for_one"):
            raise GoalError("the order of the stack is not given; say what is to be put on what")
        told = [t for t in clause.things if t.places and not t.relative]
        if any(self.names.every(t) != self.names.every(replace(t, places=())) for t in told):
            raise GoalError('where the tower is to stand no goal can say; say "that are" of things that are there now')
        others = [n for place in clause.places for n in self._place_names(place)]
        words = [tuple(p.word.split()) for p in clause.places]
        if any(self._lexicon.relations.get(w) != "on" for w in words) or any(
            not self._holds_things(n, "on") for n in others
        ):
            raise GoalError("the base of the stack is not clear; say what is to be put on what")
        things = self._things(clause, self.not_carried, without=others)
        if not others and len(things) < 2:
            raise GoalError(f"one thing alone makes no tower; say on what to stack {spoken(things[0])}")
        tower = [*others, *(things if others else self._standing_first(things))]
        if len(things) > 1:
            self.names.notes.append("the tower from below: " + ", ".join(map(spoken, tower)))
        for upper, lower in zip(tower[1:], tower):
            if why := self._not_fitting(Literal("on", (upper, lower))):
                raise GoalError(f"{spoken(upper)} cannot be stacked on {spoken(lower)}: {why}")
            yield Literal("on", (upper, lower))
        self._last = [n for n in tower if not self.not_carried(n)]
        self._place = others

    def _standing_first(self, things: list[str]) -> list[str]:
        """Order a stack so that objects already stacked stay at the bottom."""
        on = {f.args[1]: f.args[0] for f in self._world.by_predicate.get("on", ()) if set(f.args) <= set(things)}
        for lowest in [t for t in things if t in on and t not in on.values()][:1]:
            tower = [lowest]
            while tower[-1] in on:
                tower.append(on[tower[-1]])
            return [*tower, *(t for t in things if t not in tower)]
        return things

    def _verb(self, clause: Clause) -> Iterator[Literal]:
        if clause.negated:
            self._check_none(clause.things, True)
        ways = [way.strip() for way in clause.template.split(" | ")]
        others = {"{y}": self._second(clause, ways[0])} if clause.second else {}
        for named in dict.fromkeys(re.findall(r"\{(?!x\}|y\})[^}]*\}", ways[0])):
            words = tuple(named[1:-1].split())  # "{the microwave}", of a domain's file
            if not (found := self._vocabulary.phrases(words, words[1:])):
                raise GoalError(f"cannot read {named!r} in the domain's file")
            (others[named],) = self.names.resolve(found[0], several=False)
        if not clause.things:
            yield from self._filled(ways[0], "", others)
            return

        def fitting(name: str) -> str:
            """The first way that fits an object; "" where none does."""
            return next((w for w in ways if not self._why_not(w, name, others)), "")

        def reason(name: str) -> str:
            return "" if fitting(name) else self._why_not(ways[0], name, others)

        def taken(name: str) -> str:
            so = not reason(name) and all(map(self._world.holds, self._filled(fitting(name), name, others)))
            return "" if so else "not yet"

        self._check_whose(clause)
        activity = any(f"{a}(" in clause.template for a in self._notes.get("activities", ()))
        if activity and any(t.places and self.names.meant(replace(t, places=())) for t in clause.things):
            raise GoalError("whether that is where it is, or where it is to be done, is not clear; leave it out")
        things = self._things(clause, reason, without=list(others.values()), taken=taken)
        self._check_already(clause, things, taken)
        if len({fitting(n) for n in things}) > 1:
            raise GoalError(
                f"{clause.verb!r} says different things of {', '.join(map(spoken, things))}; name them apart"
            )
        held: list[Literal] = []
        for thing in things:
            filled = [self._in_a_hand(g, held) for g in self._filled(fitting(thing), thing, others)]
            held += filled
            if clause.verb in self._notes.get("changes", ()) and all(map(self._world.holds, filled)):
                said = " and ".join(map(self._domain.phrase, filled))
                raise GoalError(f"{said} already; {clause.verb!r} could undo that: say how it should be")
            machine = [
                g.args[1] for g in filled if g.args[:1] == (thing,) and len(g.args) == 2 and g.predicate in self._at
            ]
            for place in clause.places:
                where = self._means(place) if place.word == "with" else place
                if where is not None:
                    machine = self._place_names(where)
                    yield self._made(filled, thing, where, machine)
            if machine:
                self._note_machine(filled, thing, machine[0])
                self._place = machine
            yield from filled
        if clause.second:
            self._place = [others["{y}"]]

    def _in_a_hand(self, literal: Literal, held: Sequence[Literal]) -> Literal:
        """The goal that an object is held, by the hand that has it, else by the first free one; held: what
        the clause asks for so far.
        """
        hands = [replace(literal, predicate=p) for p in self._notes.get("hands", ())]
        if not literal.positive or literal not in hands:
            return literal
        asked = {g.predicate: g for g in (*self.goal, *held) if g.positive}
        now = [h for h in hands if h in asked.values() or self._world.holds(h)]
        empty = [h for h in hands if not self._world.by_predicate.get(h.predicate)]
        return next((h for h in (*now, *empty) if asked.get(h.predicate, h) == h), literal)

    def _means(self, place: Place) -> Place | None:
        """The machine that does what is asked for; None for a switch, which is left to the robot."""
        (tool,) = self.names.resolve(place.things[0], several=False)
        if self._holds_things(tool, ""):
            return replace(place, word="in")
        states = [p.name for p in self._domain.predicates.values() if p.goal and len(p.parameters) == 1]
        if not self.not_carried(tool) or any(not self._not_fitting(Literal(p, (tool,))) for p in states):
            raise NotCoveredError(f"what is done with the {spoken(tool)} is not said")
        self.names.notes.append(f"whether by the {spoken(tool)} is left to the robot")
        return None

    def _made(self, filled: Sequence[Literal], thing: str, place: Place, machine: Sequence[str]) -> Literal:
        """ "heat it in the microwave": that it is there; raises GoalError where that place makes nothing so."""
        able = {m for g in filled for m in self._notes.get("machines", {}).get(g.predicate, ())}
        if not able:
            raise NotCoveredError(f"that is not done {place.word} a place")
        if not self._domain.is_a(self._world.by_name[machine[0]].type, able):
            raise GoalError(f"nothing is {filled[0].predicate} in or on {spoken(machine[0])}")
        return self._placed(thing, place.word, machine)

    def _note_machine(self, filled: Sequence[Literal], thing: str, machine: str) -> None:
        """Note, or refuse, what a goal cannot express: that a state must be produced by a certain machine."""
        for state in [g for g in filled if g.positive and g.predicate in self._notes.get("machines", {})]:
            said = self._domain.phrase(state)
            if self._world.holds(state):
                raise GoalError(f"{said} already, and no goal can say that it is so again by the {spoken(machine)}")
            self.names.notes.append(f"no goal can say in what {spoken(thing)} is {state.predicate}, only where it is")

    def _check_whose(self, clause: Clause) -> None:
        """Raise GoalError for "put it in the fridge and close the door": the fridge has one, too."""
        for noun, properties in (self._notes.get("has_its_own") or {}).items():
            for thing in clause.things:
                if thing.is_one and [*map(self.names.singular, thing.words)] == [noun]:
                    for name in self.names.mentioned:
                        has = all(Literal(p, (name,)) in self._world.facts for p in properties)
                        if has and self.not_carried(name) and noun not in self.names.heads[name]:
                            raise GoalError(f"{thing.text!r} may be that of the {spoken(name)} as well; say which")

    def _second(self, clause: Clause, template: str) -> str:
        def why(name: str) -> str:
            literals = self._filled(template.replace("{x}", ""), "", {"{y}": name})
            return next((w for g in literals if name in g.args and (w := self._not_fitting(g))), "")

        head, self.names.head = self.names.head, self._place_head
        try:
            names = [
                n
                for p in clause.second
                for n in (self._pronoun(p, why) if p.pronoun else self.names.resolve(p, why, several=False))
            ]
        finally:
            self.names.head = head
        if len(names) != 1:
            raise GoalError(f"one thing can be meant there, not {', '.join(names)}")
        return names[0]

    def _why_not(self, template: str, name: str, others: dict[str, str]) -> str:
        """Why an object does not fit a template; a state that an object cannot have cannot end either."""
        literals = [g.atom for g in self._filled(template, name, others) if name in g.args]
        return next((why for g in literals if (why := self._not_fitting(g))), "")

    def _filled(self, template: str, thing: str, others: dict[str, str]) -> list[Literal]:
        found = []
        for part in template.split("&"):
            match = re.fullmatch(r"\s*(not )?([\w-]+)\(([^()]*)\)\s*", part)
            if not match:
                raise GoalError(f"cannot read {part!r} in the domain's file")
            args = [a.strip() for a in match.group(3).split(",")] if match.group(3).strip() else []
            found.append(
                Literal(match.group(2), tuple({"{x}": thing, **others}.get(a, a) for a in args), not match.group(1))
            )
        return found
