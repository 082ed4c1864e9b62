"""Goal literals of each kind of clause."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, permutations

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import spoken, with_article
from planweave.core.symbolic.world import Literal
from planweave.goals.clause_removals import ClauseRemovals
from planweave.goals.goal_checks import misfit
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.reference_checks import check_described, check_none, check_other, check_pronoun, is_relative
from planweave.goals.sentence_tree import Clause, Kind, NounPhrase, Place, Quantity
from planweave.goals.sentence_words import phrases

_MOST_PLACES = 6  # that things are sorted into
_TOWER = "build a tower of the red cube and the blue cube"


class ClauseGoals(ClauseRemovals):
    """Translates clauses to goal literals."""

    def _move(self, clause: Clause) -> Iterator[Literal]:
        if len(clause.places) != 1:
            raise NotCoveredError("several places, and which is meant is not clear")
        place = clause.places[0]
        word = tuple(place.word.split())
        if word in self._lexicon.away and self._lexicon.away[word] not in self._beside:
            if clause.kind is Kind.WISH:
                yield from self._put(clause, place)
                return
            if (clause.verb,) in self._take_out_verbs:
                raise NotCoveredError("read as taking out")
            yield from self._remove(replace(clause, source=place.things[0], places=()))
            return
        if (clause.verb,) in self._take_out_verbs and place.word in ("in", "on", "at", "inside", "within"):
            raise NotCoveredError(
                f"{clause.verb!r} {place.word!r} a place says where things are, not where to bring them"
            )
        yield from self._put(clause, place)
        if word in self._lexicon.away and clause.kind is not Kind.WISH:
            yield from self._let_go(self.names.last)

    def _push(self, clause: Clause) -> Iterator[Literal]:
        if not clause.places:
            raise GoalError(
                f"where to {clause.verb} it is not said: name a place, or say {clause.verb + ' it aside'!r}"
            )
        word = tuple(clause.places[0].word.split())
        if word in self._lexicon.away and self._lexicon.away[word] not in self._beside:
            raise GoalError(f"where to {clause.verb} it is not said, only from where; name a place")
        targets = self._without_traces(lambda: self._place_names(clause.places[0]))
        if any(self._carried(t) for t in targets):
            raise GoalError(f'to {clause.verb} one thing against another is no goal; say "next to" or "on"')
        literals = list(self._move(clause))
        open_ = self._world.by_name[targets[0]].type not in ("location", "room")
        if beside := self._notes.get("to_is_beside"):
            open_ = any(g.predicate in beside for g in literals)
        if open_ and not self._lexicon.relations.get(word, "-"):
            raise GoalError(
                f"{clause.verb!r} {clause.places[0].word!r} another thing leaves open where it is then; "
                'say "in" or "on" if it is meant'
            )
        yield from literals

    def _put_in_each(self, clause: Clause, place: Place) -> Iterator[Literal]:
        """ "one cube in each tray": distinct objects for each place."""
        for name in self._without_traces(
            lambda: self.names.resolve(place.things[0], self._no_place(tuple(place.word.split())), self.is_at)
        ):
            here = Place(place.word, (NounPhrase(spoken(name), Quantity.THE, words=(name,)),))
            yield from self._put(clause, here)

    def _any_places(self, clause: Clause, place: Place) -> list[Place]:
        """Where a thing is not to be that must not be "in a tray": each of them."""
        of = place.things[0]
        if of.quantity is not Quantity.A or of.pronoun or len(place.things) > 1:
            return [place]
        if of.number > 1 or of.other:
            raise GoalError(f"{place.word} which of {of.text!r} is not clear; name them")
        word = tuple(place.word.split())
        every = replace(of, quantity=Quantity.ALL, number=0)
        own = self._without_traces(lambda: self._things(clause, self.not_carried))
        names = self._without_traces(lambda: self.names.resolve(every, self._no_place(word), self.is_at))
        found = [n for n in names if n not in own]
        return [Place(place.word, (NounPhrase(spoken(n), Quantity.THE, words=(n,)),)) for n in found] or [place]

    def _put(self, clause: Clause, place: Place) -> Iterator[Literal]:
        if tuple(place.word.split()) in self._lexicon.away:
            if (clause.verb,) in self._keep_verbs:  # "keep any cube out of the tray"
                check_none(clause)
                of = (replace(t, quantity=Quantity.ALL) if t.number == 1 else t for t in clause.things)
                clause = replace(clause, things=tuple(of))
            if place.things[0].quantity is Quantity.A:
                for each in self._any_places(clause, place):
                    yield from self._put(clause, each)
                return
        if place.things[0].each and len(place.things) == 1:
            if any(t.quantity is not Quantity.A or t.pronoun or t.places for t in clause.things) or clause.source:
                raise GoalError(
                    f"the same thing cannot be put {place.word} each of several places; say what is to be "
                    f"{place.word} which"
                )
            yield from self._put_in_each(clause, place)
            return
        spread = place.things[0].quantity is Quantity.A and any(
            t.quantity in (Quantity.ALL, Quantity.EXACTLY) or t.plural for t in clause.things
        )
        word = tuple(place.word.split())
        check_pronoun(clause, place)
        if clause.kind is not Kind.WISH:
            check_described(clause.things, clause.places, self.is_beside, self._meant)
            check_described(place.things, (), self.is_beside, self._meant)
        if len(clause.things) > 1 and any(t.places and not is_relative(t) for t in clause.things[:-1]):
            raise GoalError(f"{clause.things[0].text!r}: whether it is there, or is to be there, is not clear")
        named = self._lexicon.relations.get(word, "")
        check_other(clause, place, self._place_head, self.names.singular, lambda noun: self._can_hold(noun, named))
        others = self._place_names(place) if not spread else []
        self._check_part(place.word, others)
        if spread:
            # "every cylinder on a cube": one each where there is room for one only
            every = replace(place.things[0], quantity=Quantity.ALL, number=0)
            found = self._without_traces(
                lambda: self.names.resolve(every, self._no_place(word), self.is_at, head=self._place_head)
            )
            if not any(self._has_room_for_one(n) for n in found):
                others = self._place_names(place)
            elif not all(t.each for t in clause.things):
                raise GoalError(f"{spoken(found[0])} has room for one only; name what is to be on which")
            else:
                found.sort(key=lambda n: Literal("clear", (n,)) not in self._world.facts)
                things = self._things(clause, self.not_carried, without=found)
                if len(things) > len(found):
                    raise GoalError(f"{len(things)} things do not fit on {len(found)} ({', '.join(found)}), one each")
                yield from (self._placed(t, place.word, [n]) for t, n in zip(things, found))
                return

        def taken(name: str) -> bool:
            try:
                return name not in others and self._world.holds(self._placed(name, place.word, others))
            except GoalError:
                return False

        things = self._things(clause, lambda n: self._why_not_there(n, place.word, others), without=others, taken=taken)
        if len(things) > 1 and self._has_room_for_one(others[0]) and not self._is_beside(word):
            raise GoalError(
                f"{spoken(others[0])} has room for one, not for {', '.join(map(spoken, things))}; "
                'say "stack" for a tower'
            )
        if len(things) > 1 and tuple(clause.verb.split()) in phrases(self._lexicon.english["stack"]):
            raise GoalError(f"{clause.verb} {place.word}: what stands on what is not said; name the lowest one")
        for thing in things:
            yield self._placed(thing, place.word, others)
        named = self._lexicon.relations.get(word, "")
        if (
            named in self._beside
            and len(things) == 1
            and clause.kind is not Kind.WISH
            and self._notes.get("put_beside")
        ):
            yield Literal(str(self._notes["put_beside"]), (things[0], others[0]))
        self.names.place = others

    def _check_part(self, word: str, others: Sequence[str]) -> None:
        """Raise GoalError where "at the back of the drawer" may be in it as well as behind it."""
        of = self._lexicon.english["of_a_part"].get(word, "")
        for other in others if of else ():
            if self._holds_things(other, "in") or (of == "on" and not self._carried(other)):
                raise GoalError(
                    f'{word} {spoken(other)} may be a part of it, or beside it; say "in front of", '
                    '"behind" or "to the left of"'
                )

    def _why_not_there(self, name: str, word: str, others: Sequence[str]) -> str:
        if name in others:
            return f"{spoken(name)} cannot be put beside, on or in itself"
        if self.not_carried(name):
            return self.not_carried(name)
        try:
            self._placed(name, word, others)
        except GoalError as error:
            return str(error)
        return ""

    def _set_aside(self, clause: Clause) -> Iterator[Literal]:
        if not self._notes.get("aside"):
            raise NotCoveredError("nothing can be set aside here")
        for thing in self._things(clause, self.not_carried):
            yield Literal(str(self._notes["aside"]), (thing,))

    def _put_back(self, clause: Clause) -> Iterator[Literal]:
        for thing in self._things(clause, self.not_carried):
            moved = [g for g in self._goal if g.args[:1] == (thing,)]
            here = [
                f
                for p in self._relations
                if p.name != "in_room"
                for f in self._world.by_predicate.get(p.name, ())
                if f.args[0] == thing
            ]
            if not moved or not here:
                raise GoalError(f"where {spoken(thing)} was before is not known; name the place")
            places = set().union(*(g for g in self._replaced if self._at & g))
            for literal in [g for g in moved if g.predicate in places]:
                del self._goal[literal]
            yield from sorted(self._narrowest(here))

    def _narrowest(self, facts: Sequence[Literal]) -> list[Literal]:
        """Facts without those of places around another one: what is in the middle is at the table as well."""
        nested = str(self._notes.get("nested", ""))

        def inside(one: Literal, two: Literal) -> bool:
            return one.predicate == two.predicate and Literal(nested, (one.args[1], two.args[1])) in self._world.facts

        return [f for f in facts if not any(inside(other, f) and not inside(f, other) for other in facts)]

    def _swap(self, clause: Clause) -> Iterator[Literal]:
        things = self._things(clause, self.not_carried)
        if len(things) != 2:
            raise GoalError(f"two things can be swapped, not {len(things)}: {', '.join(things)}")
        one, two = things
        here = {
            t: {
                f.args[1]: f
                for p in self._relations
                if p.name in self._exclusive
                for f in self._world.by_predicate.get(p.name, ())
                if f.args[0] == t
            }
            for t in things
        }
        only = {t: [n for n in here[t] if n not in here[o]] for t, o in ((one, two), (two, one))}
        if not only[one] or not only[two] or one in here[two] or two in here[one]:
            raise GoalError(
                f"{spoken(one)} and {spoken(two)} are in places that have no names of their own, so they cannot be "
                "swapped; say what should be where"
            )
        for thing, other in ((one, two), (two, one)):
            for place in only[other]:
                yield Literal(here[other][place].predicate, (thing, place))

    def _stack(self, clause: Clause) -> Iterator[Literal]:
        if not self._narrow:
            if len(clause.places) == 1:
                yield from self._put(clause, clause.places[0])
                return
            raise NotCoveredError("nothing can be stacked here")
        others: list[str] = []
        for place in clause.places:
            if self._lexicon.relations.get(tuple(place.word.split())) != "on":
                raise GoalError(f"things are stacked on something, not {place.word!r} it")
            others += self._place_names(place)
        if any(not self._holds_things(n, "on") for n in others):
            raise GoalError(
                f"on what to stack is not clear: {', '.join(map(spoken, others))} is a place; say what stands on what"
            )
        if not clause.things:
            raise GoalError(f"of what to {clause.verb} it is not said; name the things, as in {_TOWER!r}")
        told = [t for t in clause.things if t.places and not is_relative(t)]
        if any(self._every(t) != self._every(replace(t, places=())) for t in told):
            raise GoalError('where the tower is to stand no goal can say; say "that are" of things that are there now')
        things = self._things(clause, self.not_carried, without=others)
        if len(others) > 1 and len(things) > 1:
            raise NotCoveredError("several things and several places to stack")
        if not others and len(things) < 2:
            raise GoalError(f"one thing alone makes no tower; say on what to stack {spoken(things[0])}")
        tower = [*reversed(others), *(things if others else self._standing_first(things))]
        if len(things) > 1 or not others:
            self.names.notes.append("the tower from below: " + ", ".join(map(spoken, tower)))
        for upper, lower in zip(tower[1:], tower):
            literal = Literal("on", (upper, lower))
            if why := self._not_fitting(literal) or self.not_carried(upper):
                raise GoalError(f"{spoken(upper)} cannot be stacked on {spoken(lower)}: {why}")
            yield literal

    def _standing_first(self, things: list[str]) -> list[str]:
        """Order a stack so that objects already stacked stay at the bottom."""
        on = {f.args[1]: f.args[0] for f in self._world.by_predicate.get("on", ()) if set(f.args) <= set(things)}
        for lowest in [t for t in things if t in on and t not in on.values()][:1]:
            tower = [lowest]
            while tower[-1] in on:
                tower.append(on[tower[-1]])
            return [*tower, *(t for t in things if t not in tower)]
        return things

    def _row(self, clause: Clause) -> Iterator[Literal]:
        side, near = "left_of", str(self._notes.get("put_beside", ""))
        if side not in self._beside or not near:
            raise NotCoveredError("nothing can be put in a row here")
        if not clause.things:
            raise GoalError(f"of what to {clause.verb} it is not said; name the things")
        seen_from = self._notes.get("seen_from", "robot")
        things = self._things(clause, self.not_carried)
        if len(things) < 2:
            raise GoalError("one thing alone makes no row")
        if len(clause.things) == 1:  # as they stand; named one by one they come in that order
            places = {t: self._world.by_name[t].position for t in things}
            left = 1 if seen_from == "person" else -1
            things = sorted(things, key=lambda t: left * (places[t] or (0.0, 0.0, 0.0))[1])
        self.names.notes.append(f"the row from the {seen_from}'s left: " + ", ".join(map(spoken, things)))
        for one, two in pairwise(things):
            yield Literal(side, (one, two))
            yield Literal(near, (one, two))

    def _sort(self, clause: Clause) -> Iterator[Literal]:
        """What is alike comes to one place, what is not to different ones: as little as possible is moved."""
        things = self._things(clause, self.not_carried)
        relation, places = self._sorted_into(clause, things)
        groups: dict[str, list[str]] = {}
        for thing in things:
            seen = self._world.by_name[thing]
            value = seen.class_name if clause.template == "kind" else seen.attributes.get(clause.template, "")
            if not value:
                raise GoalError(f"the {clause.template} of {spoken(thing)} is not known; say what goes where")
            groups.setdefault(value, []).append(thing)
        said = ", ".join(map(spoken, places)) or "none"
        if len(groups) < 2:
            raise GoalError(f"there is one {clause.template} only, {', '.join(groups)}; say where the things go")
        if not len(groups) <= len(places) <= _MOST_PLACES:
            raise GoalError(
                f"{len(groups)} {clause.template}s ({', '.join(groups)}) do not go into the places there are "
                f"({said}), one into each; say what goes where"
            )

        def work(order: Iterable[str]) -> tuple[int, float]:
            moves = [(t, p) for of, p in zip(groups.values(), order) for t in of]
            moves = [(t, p) for t, p in moves if Literal(relation, (t, p)) not in self._world.facts]
            return len(moves), sum(self._apart(t, p) for t, p in moves)

        for place, (value, of) in zip(min(permutations(places, len(groups)), key=work), groups.items()):
            self.names.notes.append(f"{value}: {spoken(place)}")
            yield from (Literal(relation, (thing, place)) for thing in of)

    def _sorted_into(self, clause: Clause, things: Sequence[str]) -> tuple[str, list[str]]:
        """The relation, and the places that are named or that a domain sorts into."""
        if not clause.places:
            relation = str(self._notes.get("sorted", ""))
            if not relation:
                raise GoalError("where to sort them to is not said; name the places, or say what goes where")
            return relation, [n for n in self._world.by_name if n not in things and self._holds_things(n, relation)]
        place = clause.places[0]
        word = tuple(place.word.split())
        relation = self._lexicon.relations.get(word, "")
        if not relation or relation in self._beside:
            raise GoalError(f"things are not sorted {place.word!r} places; say what goes where")
        named = [self.names.resolve(t, self._no_place(word), self.is_at) for t in place.things]
        return relation, list(dict.fromkeys(n for names in named for n in names))

    def _apart(self, one: str, two: str) -> float:
        """How far two objects are from each other in top view, m; 0 where that is not known."""
        here, there = self._world.by_name[one].position, self._world.by_name[two].position
        return math.dist(here[:2], there[:2]) if here and there else 0.0

    def _undefined(self, clause: Clause) -> Iterator[Literal]:
        why = next(str(v) for k, v in self._lexicon.english["undefined"].items() if clause.verb in k.split(", "))
        raise GoalError(f"{clause.verb!r}: " + why.replace("{example}", repr(self._domain.example)))
        yield  # pragma: no cover

    def _wish(self, clause: Clause) -> Iterator[Literal]:
        if clause.template:
            yield from self._verb(clause)
            return
        if clause.places and tuple(clause.places[0].word.split()) in self._lexicon.away:
            yield from self._put(clause, clause.places[0])
            return
        yield from self._move(clause)

    def _verb(self, clause: Clause) -> Iterator[Literal]:
        ways = [way.strip() for way in clause.template.split(" | ")]
        others = {"{y}": self._second(clause, ways[0])} if clause.second else {}
        for named in dict.fromkeys(re.findall(r"\{(?!x\}|y\})[^}]*\}", ways[0])):
            phrase = self._vocabulary.phrase(named[1:-1])
            (others[named],) = self.names.resolve(phrase, _fits_all, self.is_at, several=False)
        if not clause.things:
            yield from self._there(self._filled(ways[0], "", others))
            return

        def reason(name: str) -> str:
            found = [self._why_not(way, name, others) for way in ways]
            return "" if "" in found else found[0]

        def taken(name: str) -> bool:
            return not reason(name) and all(
                self._world.holds(g)
                for g in self._filled(next(w for w in ways if not self._why_not(w, name, others)), name, others)
            )

        if any(f"{activity}(" in clause.template for activity in self._notes.get("activities", ())):
            check_described(
                clause.things, clause.places, self._is_room, self._meant
            )  # "read the book in the living room"
        closes = clause.template == f"{self._notes.get('closes')}({{x}})"
        if closes and self.names.last and any(t.pronoun == "it" for t in clause.things):
            opened = self._opened()
            if len(opened) > 1 and not {*self.names.last} <= {*opened}:
                raise GoalError(f"'it' could mean {' or '.join(map(spoken, opened))}; say which")
            if len(opened) == 1:
                self.names.last = opened
            elif self.names.place and all(not reason(n) for n in self.names.place):
                on = [Literal("on", (n, p)) for n in self.names.last for p in self.names.place if not reason(n)]
                if any(g in self._goal for g in on):
                    raise GoalError(f"'it' could mean {' or '.join(map(spoken, on[0].args))}; say which")
                self.names.last = list(self.names.place)
        self._check_whose(clause)
        things = self._things(
            clause, reason, without=list(others.values()), taken=taken, prefer=lambda n: not reason(n)
        )
        if len({next((w for w in ways if not self._why_not(w, n, others)), "") for n in things}) > 1:
            raise GoalError(
                f"{clause.verb!r} says different things of {', '.join(map(spoken, things))}; name them apart"
            )
        for thing in things:
            if reason(thing):
                raise GoalError(f"{clause.verb!r}: {reason(thing)}")
            filled = self._filled(next(w for w in ways if not self._why_not(w, thing, others)), thing, others)
            if clause.verb in self._notes.get("changes", ()) and all(map(self._world.holds, filled)):
                said = " and ".join(map(self._domain.phrase, filled))
                raise GoalError(f"{said} already; {clause.verb!r} could undo that: say how it should be")
            machines = self._notes.get("machines", {})
            at = [g.args[1] for g in filled if g.args[:1] == (thing,) and g.predicate in self._at]
            for literal in filled:
                if literal.positive and at and literal.predicate in machines:  # "microwave it"
                    self._made_there(literal.predicate, thing, at[0])
            yield from filled
        for place in clause.places:
            yield from self._where(clause, place, things)
        if clause.second:
            self.names.place = [others["{y}"]]

    def _is_room(self, place: Place) -> bool:
        return any(self._world.by_name[n].type == "room" for t in place.things for n in self._every(t) or ())

    def _check_whose(self, clause: Clause) -> None:
        """Raise GoalError for "put it in the fridge and close the door": the fridge has one, too."""
        for noun, properties in (self._notes.get("has_its_own") or {}).items():
            for thing in clause.things:
                bare = thing.quantity is Quantity.THE and not thing.places and not thing.plural
                if bare and [self.names.singular(w) for w in thing.words] == [noun]:
                    for name in self.names.mentioned:
                        has = [Literal(p, (name,)) in self._world.facts for p in properties]
                        if all(has) and not self._carried(name) and noun not in self.names.heads[name]:
                            raise GoalError(f"{thing.text!r} may be that of the {spoken(name)} as well; say which")

    def _there(self, posture: list[Literal]) -> list[Literal]:
        """ "go to the sofa and lie down": on the sofa, where one can lie there."""
        seats = self._notes.get("seats") or {}
        near = str(self._notes.get("gone_to", ""))
        for literal in (g for g in posture if g.positive and g.predicate in seats):
            gone_to = [g.args[0] for g in self._goal if g.positive and g.predicate == near]
            ways = {n: self._filled(str(seats[literal.predicate]), n, {}) for n in gone_to}
            fit = [n for n in gone_to if not any(map(self._not_fitting, ways[n]))]
            for seat in [n for n in fit if [n] in (self.names.last, fit)]:
                return [*ways[seat], *(g for g in posture if g not in ways[seat])]
        return posture

    def _second(self, clause: Clause, template: str) -> str:
        def why(name: str) -> str:
            for literal in self._filled(template.replace("{x}", ""), "", {"{y}": name}, parse_only=True):
                if name in literal.args and (found := self._not_fitting_part(literal)):
                    return found
            return ""

        kept, self.names.head = self.names.head, self._place_head
        try:
            names = [n for p in clause.second for n in self.names.resolve(p, why, self.is_at, several=False)]
        finally:
            self.names.head = kept
        if len(names) != 1:
            raise GoalError(f"one thing can be meant there, not {', '.join(names)}")
        if why(names[0]):
            raise GoalError(why(names[0]))
        return names[0]

    def _not_fitting_part(self, literal: Literal) -> str:
        predicate = self._domain.predicates[literal.predicate]
        for parameter, name in zip(predicate.parameters, literal.args):
            if name and not self._fits(parameter.types, name):
                return f"{spoken(name)} is {with_article(self._world.by_name[name].type)}"
        return misfit(self._domain, self._world, literal)

    def _why_not(self, template: str, name: str, others: dict[str, str]) -> str:
        """Why an object does not fit a template; a state that an object cannot have cannot end either."""
        literals = [g.atom for g in self._filled(template, name, others) if name in g.args]
        return next((why for g in literals if (why := self._not_fitting(g))), "")

    def _filled(self, template: str, thing: str, others: dict[str, str], parse_only: bool = False) -> list[Literal]:
        found = []
        for part in template.split("&"):
            match = re.fullmatch(r"\s*(not )?(\w+)\(([^()]*)\)\s*", part)
            if not match:
                raise GoalError(f"cannot read {part!r} in the domain's file")
            args = [a.strip() for a in match.group(3).split(",")] if match.group(3).strip() else []
            names = tuple({"{x}": thing, **others}.get(a, a) for a in args)
            found.append(Literal(match.group(2), names, not match.group(1)))
        return found

    def _made_there(self, state: str, thing: str, where: str) -> None:
        """Note, or refuse, what a goal cannot express: that a state must be produced by a certain machine."""
        said = self._domain.phrase(Literal(state, (thing,)))
        if self._world.holds(Literal(state, (thing,))):
            raise GoalError(f"{said} already, and no goal can say that it is so again by the {spoken(where)}")
        self.names.notes.append(
            f"no goal can say in what {said.removeprefix('the ')}, only that it is in the {spoken(where)} in the end"
        )

    def _where(self, clause: Clause, place: Place, things: Sequence[str]) -> Iterator[Literal]:
        """ "heat it in the microwave": the machine to use; "read on the sofa": the seat."""
        made = re.findall(r"(\w+)\(\{x\}", clause.template)
        machines = set(self._notes.get("machines", {}).get(made[0], ())) if made else set()
        (where,) = self._place_names(place)[:1]
        if machines:
            if not self._domain.is_a(self._world.by_name[where].type, machines):
                raise GoalError(f"nothing is {made[0]} in or on {spoken(where)}")
            for thing in things:
                self._made_there(made[0], thing, where)
                yield self._placed(thing, place.word, [where])
            self.names.place = [where]
        elif made and made[0] in self._notes.get("activities", ()):
            seat = [Literal.parse(p.strip().replace("{x}", where)) for p in str(self._notes["seated"]).split("&")]
            for literal in seat:
                if why := self._not_fitting(literal):
                    raise GoalError(f"{clause.verb} {place.word} {spoken(where)}: {why}")
            yield from seat
        else:
            raise NotCoveredError(f"{clause.verb!r} is not done {place.word} a place")


def _fits_all(_: str) -> str:
    return ""
