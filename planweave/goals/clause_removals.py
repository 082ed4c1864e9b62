"""Goal literals of clauses that take things away from where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import Literal
from planweave.goals.clause_objects import ClauseObjects
from planweave.goals.sentence_tree import Clause, Place

_OUT = {"take out": "in", "take off": "on"}


class ClauseRemovals(ClauseObjects):
    """Translates "remove", "take out" and "clear"."""

    def _remove(self, clause: Clause) -> Iterator[Literal]:
        if clause.source is None:
            raise GoalError(f"from where to {clause.verb} it is not said, or where to put it")
        place = self._source(clause.source)
        word = _OUT.get(clause.verb, "@")
        relation = self._lexicon.relations.get((word,), "")
        inside = [t for t in self._world.by_name if self._told(t, place, relation)]
        generic = all(t.generic or t.plural for t in clause.things)

        def why(name: str) -> str:
            if name in inside:
                return self.not_carried(name)
            return f"{spoken(name)} is not known to be in, on or at {spoken(place)}, so it cannot be taken from there"

        if generic:
            at = Place(word, (clause.source,))
            clause = replace(clause, things=tuple(replace(t, places=(*t.places, at)) for t in clause.things))
        things = self._things(replace(clause, source=None), why, without=[place])
        facts = [fact for thing in things for fact in self._told(thing, place, relation)]
        if generic:
            every = {n for t in clause.things for n in self._every(replace(t, places=())) or ()}
            facts += self._carried_there(facts, lambda n: n in every)
        yield from (fact.negated() for fact in facts)
        if clause.verb not in _OUT or len(things) > 1:
            yield from self._let_go(things)
        self.names.place = [place]

    def _carried_there(self, facts: Sequence[Literal], meant: Callable[[str], bool]) -> list[Literal]:
        """What stands on things at a part of the table is to leave it with them."""
        found = [f for f in facts if f.predicate == "at"]
        for fact in found:
            upper = [f.args[0] for f in self._world.by_predicate.get("on", ()) if f.args[1] == fact.args[0]]
            found += [Literal("at", (n, fact.args[1])) for n in upper if meant(n)]
        return [f for f in found if f not in facts]

    def _take_out(self, clause: Clause) -> Iterator[Literal]:
        things = self._things(clause, self.not_carried)
        for thing in things:
            if any(g.positive and g.args[:1] == (thing,) and len(g.args) == 2 for g in self._goal):
                raise GoalError(
                    f"a goal says how things are in the end, and {spoken(thing)} cannot be both in it and out of it;"
                    " give two tasks"
                )
            facts = [
                f
                for p in self._relations
                for f in self._world.by_predicate.get(p.name, ())
                if f.args[0] == thing and p.name in self._notes.get("taken_out_of", ())
            ]
            if not facts:
                raise GoalError(f"{spoken(thing)} is not known to be in anything, so it cannot be taken out")
            yield from (fact.negated() for fact in facts)

    def _let_go(self, things: Sequence[str]) -> Iterator[Literal]:
        """Literals that release objects: whoever wants objects placed does not want them held."""
        template = str(self._notes.get("let_go", ""))
        for thing in things if "{x}" in template else [""]:
            yield from (Literal.parse(part.replace("{x}", thing)) for part in template.split("&") if part.strip())

    def _empty(self, clause: Clause) -> Iterator[Literal]:
        place = self._source(clause.things[0])
        left = self.names.named(clause.exceptions, "", self.is_at)
        inside = [t for t in self._world.by_name if self._facts(t, place)]
        if not left <= set(inside):
            raise GoalError(f"{spoken(min(left - set(inside)))} is not known to be in, on or at {spoken(place)}")
        facts = [f for t in inside if t not in left for f in self._facts(t, place)]
        facts += self._carried_there(facts, lambda n: n not in left)
        if not facts:
            raise GoalError(
                f"nothing {'else ' if inside else ''}is known to be in, on or at {spoken(place)}, so there is "
                "nothing to clear away"
            )
        stuck = [f.args[0] for f in facts if self.not_carried(f.args[0])]
        if stuck:
            raise GoalError(self.not_carried(stuck[0]))
        self.names.last = [f.args[0] for f in facts]
        self.names.mentioned.update(dict.fromkeys(self.names.last))
        yield from (fact.negated() for fact in facts)
        yield from self._let_go(self.names.last)
