"""Controlled English to goal literals, with the vocabulary of a domain and without a model.

A sentence is accepted only where its rules use every word and all its parses give the same goal. A sentence outside the
grammar raises NotCoveredError (a model may understand it); one that is understood and must be refused raises GoalError:
an unknown or ambiguous object, a relation that the domain lacks, objects unsuitable for the goal. docs/sentences.md
describes the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planweave.core.base.errors import GoalError, ParseError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.question import Alternative, AmbiguityError, Clarification, UserQuestion
from planweave.goals.alternatives import in_context, which_reading
from planweave.goals.clause_goals import ClauseGoals
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.phrase_parser import TooLongError
from planweave.goals.reference_checks import OutdatedError, check_none
from planweave.goals.sentence_tree import Clause, Kind, Quantity, Tree
from planweave.goals.sentence_vocabulary import Vocabulary
from planweave.goals.sentence_words import Words, without_politeness, words_of

MAX_CHARACTERS = 1000  # longer sentences are for a model
MAX_WORDS = 120
MAX_GOAL = 25  # literals; what asks for more is rather a mistake than a task


@dataclass(frozen=True)
class Reading:
    """The goal of a sentence, with the choices and corrections made on the way."""

    goal: tuple[Literal, ...]
    notes: tuple[str, ...] = ()


def read_goal(domain: Domain, world: World, sentence: str) -> tuple[Literal, ...]:
    """Goal literals of a sentence in controlled English; raises NotCoveredError or GoalError."""
    return read_sentence(domain, world, sentence).goal


def read_sentence(domain: Domain, world: World, sentence: str, clarifications: Sequence[Clarification] = ()) -> Reading:
    """The goal of a sentence in controlled English, with notes; raises NotCoveredError or GoalError, an AmbiguityError
    where an answer of a person would make it clear. clarifications: those answered so far.
    """
    given = _given(sentence)
    if given is not None:
        return Reading(given)
    if len(sentence) > MAX_CHARACTERS:
        raise NotCoveredError(f"it is longer than {MAX_CHARACTERS} characters")
    words, _ = words_of(sentence)
    return read_words(domain, world, without_politeness(words), clarifications)


def read_words(domain: Domain, world: World, words: Words, clarifications: Sequence[Clarification] = ()) -> Reading:
    """The goal of the words of a sentence, without politeness."""
    if not words:
        raise NotCoveredError("there are no words in it")
    if len(words) > MAX_WORDS:
        raise NotCoveredError(f"it has more than {MAX_WORDS} words")
    vocabulary = Vocabulary(domain, world, clarifications)
    words, slips, unknown = vocabulary.mended(words)
    answered = {c.text: c.meant[0] for c in clarifications if len(c.meant) == 1 and c.text in unknown}
    answered = {word: meant for word, meant in answered.items() if meant in unknown[word]}
    words = tuple(answered.get(word, word) for word in words)
    unknown = {word: close for word, close in unknown.items() if word not in answered}
    for word, close in unknown.items():
        if len(close) > 1:
            raise _which_word(word, words.index(word), close)
    notes = [f"{slip.written!r} is read as {slip.read!r}" for slip in slips]
    parser = vocabulary.parser(words, unknown)
    try:
        trees = parser.trees()
    except TooLongError as error:
        raise NotCoveredError(str(error)) from None
    if not trees:
        raise NotCoveredError(_unread(list(unknown)))
    readings: dict[frozenset[Literal], Reading] = {}
    elliptic: list[Reading] = []
    problems: list[Exception] = []
    for tree in sorted(trees, key=_winding):  # of several problems the one of the plainest way is told
        reader = Reader(domain, world, vocabulary)
        try:
            goal = reader.read(tree)
        except OutdatedError:
            raise
        except (GoalError, NotCoveredError) as error:
            problems.append(error)
            continue
        reading = Reading(goal, tuple(dict.fromkeys([*notes, *reader.names.notes])))
        readings.setdefault(frozenset(goal), reading)
        if any(c.elliptic for c in tree) and not _winding(tree):
            elliptic.append(reading)
    if len(readings) > 1 and elliptic:  # "the fruit on the plate and the bottles in the box", whatever is on the plate
        readings = {frozenset(r.goal): r for r in elliptic}
    if len(readings) > 1:  # "take the pear in the bowl": what holds already is not what was asked for
        to_do = {goal: reading for goal, reading in readings.items() if world.unmet(goal)}
        readings = to_do if len(to_do) == 1 else readings
    if len(readings) > 1:
        ways = " or: ".join(" and ".join(map(domain.phrase, r.goal)) for r in list(readings.values())[:3])
        message = f"the sentence can be meant in several ways ({ways}); say it in simpler ones"
        raise AmbiguityError(message, which_reading(domain, [r.goal for r in readings.values()]))
    if not readings:
        problem = next((p for p in problems if isinstance(p, GoalError)), problems[0])
        if isinstance(problem, AmbiguityError):
            problem.question = replace(problem.question, text=in_context(problem.question, words))
        raise problem
    reading = next(iter(readings.values()))
    if len(reading.goal) > MAX_GOAL:
        raise GoalError(
            f"that is {len(reading.goal)} things at once, more than {MAX_GOAL}; say which of them are meant"
        )
    return reading


def _which_word(word: str, at: int, close: Sequence[str]) -> GoalError:
    """The error of a word that may be a slip of several."""
    message = f"the word {word!r} is not known; it could be {' or '.join(close)}: write which"
    choices = tuple(Alternative(each, word=each) for each in close)
    return AmbiguityError(message, UserQuestion(f'which word is meant by "{word}"?', choices, word, at))


def _winding(tree: Tree) -> int:
    """Number of objects in a sentence that are described by their location."""
    phrases_ = [t for c in tree for t in (*c.things, *c.second, *(t for p in c.places for t in p.things))]
    return sum(len(t.places) + len(t.exceptions) for t in phrases_)


def _unread(unknown: Sequence[str]) -> str:
    said = ", ".join(map(repr, unknown))
    if not unknown:
        return "its words are known, but not put together like this"
    return f"the words {said} are not known" if len(unknown) > 1 else f"the word {said} is not known"


def _given(sentence: str) -> tuple[Literal, ...] | None:
    """Literals in formal notation, "in(red_cube, left_tray) and not holding(pear)"; None for a sentence."""
    parts = [p for p in re.split(r"\s+and\s+|[;&\n]|(?<=\)),", sentence.strip()) if p.strip()]
    if not parts or not all(re.fullmatch(r"\s*(?:not\s*)?\(?\w+\s*\([^()]*\)\)?\s*", p) for p in parts):
        return None
    try:
        return tuple(Literal.parse(p) for p in parts)
    except ParseError:
        return None


_PUTS_DOWN = (Kind.MOVE, Kind.PUSH, Kind.ASIDE, Kind.STACK, Kind.ROW)


class Reader(ClauseGoals):
    """Translates one parse of a sentence to literals."""

    def read(self, tree: Tree) -> tuple[Literal, ...]:
        """Literals of all clauses."""
        self.names.claimed = self._claims(tree)
        for index, clause in enumerate(tree):
            if index and clause.joined in ("and", ",") and tree[index - 1].forbidden and not clause.forbidden:
                raise GoalError(
                    "whether all of it is forbidden, or the first part only, is not clear; say what is to "
                    "be done first, or in a sentence of its own"
                )
            for literal in [g for g in self._goal if g.predicate in self._notes.get("passing", ())]:
                del self._goal[literal]  # "go home, then …": it will not stay there
                self.names.notes.append(f"that {self._domain.phrase(literal)} is only on the way")
            # "… and what is in the bowl on the plate" is said of things as they are now
            self._earlier = () if clause.elliptic and clause.joined not in ("then", ".") else tuple(self._goal)
            moved = [g for g in self._earlier if g.predicate in self._placing]
            self.names.moved = {g.args[0]: g.args[-1] if g.positive else g.args[0] for g in moved}
            if clause.negated:
                self._negated(clause, len(tree) == 1)
            else:
                self.names.carrying = clause.kind is not Kind.VERB and not (
                    clause.kind is Kind.WISH and clause.template
                )
                literals = self._literals(clause)
                again = clause.kind is Kind.MOVE and {*literals} <= self._goal.keys()
                if again and any(t.pronoun for t in clause.things):
                    raise GoalError(
                        f"what {clause.things[0].text!r} means is not clear: that was said already; name it"
                    )
                if clause.kind in _PUTS_DOWN:  # "pick up the cube and put it next to the plate"
                    for held in ((p, (n,)) for p in self._notes.get("once", ()) for n in self.names.last):
                        self._goal.pop(Literal(*held), None)
                    self._move_again(literals, clause.joined)
                worked_on = {g.args[0] for g in literals if g.args} & self._worked_on
                if worked_on:
                    raise GoalError(
                        f"a goal speaks of the end only: after {spoken(min(worked_on))} was in a machine, say in a "
                        "task of its own what is to be done with it"
                    )
                before = set(self._goal)
                self._check_free(literals)
                self._check_all(clause, literals)
                kept = (clause.verb,) in self._keep_verbs
                for literal in literals:
                    self._add(literal, clause.joined in ("then", "."), before, kept)
                if clause.kind is Kind.VERB:
                    places = {
                        g.args[0] for g in literals if g.positive and len(g.args) == 2 and g.predicate in self._at
                    }
                    self._worked_on |= places & {
                        g.args[0] for g in literals if len(g.args) == 1 and g.predicate != "worn"
                    }
        if not self._goal:
            raise NotCoveredError("it asks for nothing")
        return tuple(self._goal)

    def _claims(self, tree: Tree) -> set[str]:
        """Objects named explicitly anywhere in the sentence: "a cube" refers to another one."""
        claimed: set[str] = set()
        for clause in tree:
            phrases = [
                *clause.things,
                *clause.second,
                *clause.exceptions,
                *([clause.source] if clause.source else []),
                *(t for p in clause.places for t in p.things),
            ]
            for phrase in phrases:
                if (
                    phrase.quantity in (Quantity.THE, Quantity.BARE)
                    and not phrase.plural
                    and phrase.words
                    and not phrase.other
                ):
                    try:
                        claimed.update(self._vocabulary.names().resolve(phrase, _fits_all, self.is_at))
                    except (GoalError, NotCoveredError):
                        continue
        return claimed

    def _add(self, literal: Literal, later: bool, before: set[Literal], kept: bool = False) -> None:
        """Add a literal, replacing those that it ends.

        later: whether the previous state is explicitly to end; before: the goal of earlier clauses; kept: whether it is
        to be so all the time.
        """
        for other in list(self._goal):
            about_same = literal.args[:1] == other.args[:1] and bool(literal.args)
            both = {literal.predicate, other.predicate}
            replaced = literal.positive and about_same and any(both <= group for group in self._replaced)
            replaced |= about_same and self._put_down(literal, other)
            one = literal.positive and other.positive and self._moves_on(literal, other)
            if not (replaced or one or other == literal.negated()):
                continue
            if other in before and other in self._forbidden:
                raise GoalError(f"{self._domain.phrase(other)} is asked for, and the contrary as well")
            elsewhere = (
                one
                and not replaced
                and (
                    not later
                    or (
                        len({literal.predicate, other.predicate}) > 1 and literal.predicate == self._notes.get("leaves")
                    )
                )
            )
            # "the apple in the bowl and the apple on the plate": with no "then", neither place is the later one
            elsewhere |= replaced and other.positive and not later and both <= self._at
            # "open the top drawer and keep the drawers shut"; what is given away cannot be put anywhere
            ends_other = kept or other.predicate in self._given_away or (other in self._kept and not later)
            elsewhere |= replaced and other.positive and ends_other
            if literal != other and (other not in before or elsewhere):
                raise GoalError(
                    f"in the end {self._domain.phrase(other)} or {self._domain.phrase(literal)}, not both; say which"
                )
            del self._goal[other]
        ended = (self._notes.get("ends") or {}).get(literal.predicate, ())
        for other in before & {*self._goal}:
            if literal.positive and other.positive and other.predicate in ended:
                said = self._domain.phrase(other), self._domain.phrase(literal)
                raise GoalError(f"in the end {said[0]} or {said[1]}, and in which order is not clear; say which")
        self._goal[literal] = None
        if kept:
            self._kept.add(literal)

    def _check_all(self, clause: Clause, literals: Sequence[Literal]) -> None:
        """Raise GoalError for "turn on the tv and turn everything off": that as well, or all the others?"""
        new = {g.args[0]: g for g in literals if g.args and g.positive}
        before = {g.args[0]: g for g in self._goal if g.args and g.positive}
        several = len(new) > len(clause.things) and not any(t.pronoun for t in clause.things)
        if not several or clause.joined in ("then", ".") or new.keys() <= before.keys():
            return
        for name in new.keys() & before.keys():
            one, two = before[name], new[name]
            if one.predicate != two.predicate and any({one.predicate, two.predicate} <= g for g in self._replaced):
                said = f"{self._domain.phrase(one)} or {self._domain.phrase(two)}"
                raise GoalError(f"whether {said} in the end is not clear; say which")

    def _check_free(self, literals: Sequence[Literal]) -> None:
        """Raise GoalError for "take the green cube and put the red one on it": is it held in the end, or under that?"""
        for literal in literals:
            for held in [g for g in self._goal if g.positive and g.predicate in self._away]:
                if literal.positive and held.args[0] in literal.args[1:] and literal.predicate in self._placing:
                    raise GoalError(
                        f"whether {self._domain.phrase(held)} when {self._domain.phrase(literal)} is not clear; "
                        "say how things should be in the end"
                    )

    def _put_down(self, literal: Literal, other: Literal) -> bool:
        """Whether one says that a thing stands beside others, the other one that it is held or given away."""
        both = {literal.predicate, other.predicate}
        return literal.positive and other.positive and bool(both & self._stands and both & self._away)

    def _move_again(self, literals: Sequence[Literal], joined: str) -> None:
        """Drop where a thing was to stand before it is moved once more; without "then" both may be meant."""
        moved = {g.args[0] for g in literals if g.positive and g.predicate in self._stands | self._at}
        beside = {g.args[0] for g in literals if g.positive and g.predicate in self._stands}
        for other in [g for g in self._goal if g.positive and g not in literals]:
            stands = other.predicate in self._stands
            again = other.args[:1] and other.args[0] in (
                moved if stands else beside if other.predicate in self._at else set()
            )
            if again and joined == "then":
                del self._goal[other]
            elif again or (stands and joined == "then" and moved & {*other.args[1:]}):
                raise GoalError(
                    f"whether {self._domain.phrase(other)} in the end as well is not clear; say how things should be "
                    "in the end"
                )

    def _moves_on(self, literal: Literal, other: Literal) -> bool:
        """Whether the person, who is in one place at a time, has moved elsewhere by then."""
        both = {literal.predicate, other.predicate}
        if not any(both <= set(g) for g in self._notes.get("one_at_a_time", ())):
            return False
        if len(both) == 1:
            return True
        pair = {*literal.args, *other.args}
        rooms = [f.args for f in self._world.by_predicate.get("in_room", ()) if f.args[0] in pair]
        return any(room not in pair for _, room in rooms)  # who sits on the sofa is in the living room as well

    def _negated(self, clause: Clause, alone: bool) -> None:
        check_none(clause)
        for thing in clause.things:
            number = thing.number > 1 and not thing.text.startswith("the ")
            if number or (thing.quantity is Quantity.ALL and not thing.pronoun):
                raise GoalError(f"whether none of {thing.text!r} is meant, or not all, is not clear; name the things")
        every = tuple(replace(t, quantity=Quantity.ALL) if t.quantity is Quantity.A else t for t in clause.things)
        clause = replace(clause, things=every, negated=False)
        clauses = [replace(clause, places=(p,)) for place in clause.places[:1] for p in self._any_places(clause, place)]
        literals: list[Literal] = []
        for one in clauses if len(clause.places) == 1 else [clause]:
            new = self._literals(one)
            about = [g.args[:1] for g in new]
            if len(set(about)) < len(about) or not all(g.positive for g in new):
                raise GoalError(
                    "what is not to be done there is more than one thing; say how things should be in the end"
                )
            literals += new
        if clause.forbidden:
            holding = [g for g in literals if self._world.holds(g)]
            if holding:
                raise GoalError(f"{self._domain.phrase(holding[0])} already; say how it should be instead")
            if alone:
                raise GoalError(
                    "nothing is to be done for that, and it cannot be kept in mind for later tasks; say it "
                    "together with what is to be done"
                )
            self.names.notes.append("what must not be is looked at in the end, not on the way")
        asked = {g for g in self._goal if g.positive}
        for literal in literals:
            self._add(literal.negated(), True, set(self._goal))
            self._forbidden.add(literal.negated())
        for lost in asked - self._goal.keys():  # "put it in the tray and do not put it in the tray"
            if not any((g.predicate, g.args[1:]) == (lost.predicate, lost.args[1:]) for g in asked & self._goal.keys()):
                raise GoalError(f"{self._domain.phrase(lost)} is asked for, and the contrary as well")

    def _literals(self, clause: Clause) -> list[Literal]:
        made = {
            Kind.MOVE: self._move,
            Kind.PUSH: self._push,
            Kind.VERB: self._verb,
            Kind.REMOVE: self._remove,
            Kind.TAKE_OUT: self._take_out,
            Kind.EMPTY: self._empty,
            Kind.ASIDE: self._set_aside,
            Kind.BACK: self._put_back,
            Kind.SWAP: self._swap,
            Kind.STACK: self._stack,
            Kind.ROW: self._row,
            Kind.SORT: self._sort,
            Kind.WISH: self._wish,
            Kind.UNDEFINED: self._undefined,
        }[clause.kind]
        return list(made(clause))


def _fits_all(_: str) -> str:
    return ""
