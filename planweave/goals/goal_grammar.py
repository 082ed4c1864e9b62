"""Controlled English to goal literals, with the vocabulary of a domain and without a model.

A sentence is accepted only where its rules use every word and all its parses give the same goal. A sentence outside the
grammar raises NotCoveredError (a model may understand it); one that is understood and must be refused raises GoalError:
an unknown or ambiguous object, a relation that the domain lacks, objects unsuitable for the goal. docs/sentences.md
describes the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from planweave.core.base.errors import GoalError, ParseError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.question import Alternative, AmbiguityError, Clarification, UserQuestion
from planweave.core.workflow.reading import Reading
from planweave.goals.alternatives import in_context, which_reading
from planweave.goals.clause_goals import ClauseGoals
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.paraphrase import understood
from planweave.goals.phrase_parser import TooLongError
from planweave.goals.sentence_tree import Clause, ClauseKind, Tree
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import Words, quotations, without_politeness, words_of

Goal = tuple[Literal, ...]
MAX_CHARACTERS = 1000  # longer sentences are for a model
MAX_WORDS = 120
_MOST_SURPLUS, _MOST_TRIED = 3, 12  # words without which a sentence is tried, of one with so many
MAX_GOAL = 25  # literals; what asks for more is rather a mistake than a task


def read_sentence(domain: Domain, world: World, sentence: str, clarifications: Sequence[Clarification] = ()) -> Reading:
    """The reading of a sentence in controlled English; raises NotCoveredError or GoalError, an AmbiguityError
    where an answer of a person would make it clear. clarifications: those answered so far.
    """
    given = formal(sentence)
    if given is not None:
        return Reading(given, "grammar")
    words = without_politeness(words_of(sentence)[0])
    if not words or len(words) > MAX_WORDS or len(sentence) > MAX_CHARACTERS:
        raise NotCoveredError(
            f"it is longer than {MAX_WORDS} words or {MAX_CHARACTERS} characters"
            if words
            else "there are no words in it"
        )
    vocabulary = SentenceVocabulary(domain, world, clarifications)
    whole = words
    words, slips, unknown = vocabulary.mended(words)
    answered = {c.text: c.meant[0] for c in clarifications if len(c.meant) == 1 and c.text in unknown}
    answered = {word: meant for word, meant in answered.items() if meant in unknown[word]}
    words = tuple(answered.get(word, word) for word in words)
    unknown = {word: close for word, close in unknown.items() if word not in answered}
    for word, close in unknown.items():
        if len(close) > 1:
            raise _which_word(word, words.index(word), close)
    try:
        _check_quoted(vocabulary, sentence, whole)
        trees = vocabulary.parser(words, unknown).trees()
    except TooLongError as error:
        raise NotCoveredError(str(error)) from None
    if not trees:
        surplus = "" if unknown else _surplus(vocabulary, words)
        raise NotCoveredError(_unread(list(unknown), surplus), [*unknown, *filter(None, [surplus])])
    notes = [f"{slip.written!r} is read as {slip.read!r}" for slip in slips]
    return _agreed(domain, vocabulary, words, sorted(trees, key=_winding), notes)


def _agreed(
    domain: Domain, vocabulary: SentenceVocabulary, words: Words, trees: Sequence[Tree], notes: list[str]
) -> Reading:
    """The one reading of all parses; of several problems the one of the plainest parse is told."""
    readings: dict[tuple[frozenset[Literal], tuple[Goal, ...]], Reading] = {}
    problems: list[Exception] = []
    for tree in trees:
        reader = Reader(vocabulary)
        try:
            goal = reader.read(tree)
        except (GoalError, NotCoveredError) as error:
            problems.append(error)
            continue
        before = tuple(step for step in reader.before if {*step} != {*goal})
        said = understood(domain, vocabulary.world, goal, dict.fromkeys([*notes, *reader.names.notes]), before)
        readings.setdefault((frozenset(goal), before), Reading(goal, "grammar", understood=said, before=before))
    if len(readings) > 1:  # "take the pear in the bowl": what holds already is not what was asked for
        to_do = {key: reading for key, reading in readings.items() if reading.before or vocabulary.world.unmet(key[0])}
        readings = to_do if len(to_do) == 1 else readings
    if len(readings) > 1:
        ways = " or: ".join(" and ".join(map(domain.phrase, r.goal)) for r in list(readings.values())[:3])
        message = f"the sentence can be meant in several ways ({ways}); say it in simpler ones"
        raise AmbiguityError(message, which_reading(domain, vocabulary.world, readings.values()))
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


def _check_quoted(vocabulary: SentenceVocabulary, sentence: str, whole: Words) -> None:
    """Raise GoalError where a part of a sentence is quoted that names no thing: it may be what somebody else said."""
    for quoted in quotations(sentence):
        words = without_politeness(words_of(quoted)[0])
        said, _, unknown = vocabulary.mended(words)
        if words not in ((), whole) and not vocabulary.phrases(said, unknown):
            raise GoalError(
                f"whether {quoted!r} is to be done, or is only quoted, is not clear; use no quotation marks"
            )


def _which_word(word: str, at: int, close: Sequence[str]) -> GoalError:
    """The error of a word that may be a slip of several."""
    message = f"the word {word!r} is not known; it could be {' or '.join(close)}: write which"
    choices = tuple(Alternative(each, word=each) for each in close)
    return AmbiguityError(message, UserQuestion(f'which word is meant by "{word}"?', choices, word, at))


def _winding(tree: Tree) -> int:
    """Number of objects in a sentence that are described by their location."""
    phrases = [t for c in tree for t in (*c.things, *c.second, *(t for p in c.places for t in p.things))]
    return sum(len(t.places) + len(t.exceptions) for t in phrases)


def _surplus(vocabulary: SentenceVocabulary, words: Words) -> str:
    """The words without which a sentence would be read; "" where they are not a few, one after the other."""
    for count in range(1, _MOST_SURPLUS + 1) if len(words) <= _MOST_TRIED else ():
        for at in range(len(words) - count, 0, -1):
            try:
                if vocabulary.parser((*words[:at], *words[at + count :])).trees():
                    return " ".join(words[at : at + count])
            except TooLongError:
                return ""
    return ""


def _unread(unknown: Sequence[str], surplus: str) -> str:
    said = ", ".join(map(repr, unknown))
    if not unknown:
        why = f"{surplus!r} does not fit in" if surplus else "not put together like this"
        return f"its words are known, but {why}"
    return f"the words {said} are not known" if len(unknown) > 1 else f"the word {said} is not known"


def formal(sentence: str) -> tuple[Literal, ...] | None:
    """Literals in formal notation, "in(red_cube, left_tray) and not holding(pear)"; None for a sentence."""
    parts = [p for p in re.split(r"\s+and\s+|[;&\n]|(?<=\)),", sentence.strip()) if p.strip()]
    if not parts or not all(re.fullmatch(r"\s*(?:not\s*)?\(?\w[\w-]*\s*\([^()]*\)\)?\s*", p) for p in parts):
        return None
    try:
        return tuple(Literal.parse(p) for p in parts)
    except ParseError:
        return None


class Reader(ClauseGoals):
    """Translates one parse of a sentence to literals. before: states to be reached before the goal, in order."""

    def __init__(self, vocabulary: SentenceVocabulary) -> None:
        super().__init__(vocabulary)
        self.before: list[tuple[Literal, ...]] = []
        notes = self._notes
        self._once = set(notes.get("once", ()))
        self._given_away = set(notes.get("exclusive", ())) - self._at - self._once
        later = [group for key in ("later_wins", "never_together") for group in notes.get(key, ())]
        self._groups = [set(notes.get("exclusive", ())), *map(set, later)]
        self._ends = [set(group) for group in notes.get("one_at_a_time", ())]
        ended = {e for of in (notes.get("ends") or {}).values() for e in of} | {*(notes.get("seats") or {})}
        self._apart = [{gone, e} for gone in (notes.get("ends") or {}) for e in ended]
        self._kept: set[Literal] = set()  # what is to be so all the time
        self._worked_on: set[str] = set()  # things that are brought to a machine, which says how they come to be so

    def read(self, tree: Tree) -> tuple[Literal, ...]:
        phrases = [t for c in tree for t in (*c.things, *c.second, *(t for p in c.places for t in p.things))]
        for phrase in [*phrases, *(left for each in phrases for left in each.exceptions)]:
            if phrase.is_one and phrase.words and not phrase.other:
                self.names.claimed.update(self.names.meant(phrase) or ())
        for clause in tree:
            for literal in [g for g in self.goal if g.predicate in self._notes.get("passing", ())]:
                del self.goal[literal]  # "go home, then …": it will not stay there
                self.names.notes.append(f"that {self._domain.phrase(literal)} is only on the way")
            # "… and what is in the bowl on the plate" is said of things as they are now
            self.names.moved = {g.args[0] for g in self.goal if g.args and g.predicate in self._placing}
            self.earlier = tuple(self.goal)
            self.names.carrying = clause.kind is not ClauseKind.VERB and not clause.template
            self._merge(clause, list(dict.fromkeys(self.literals(clause))))
        if not self.goal:
            raise NotCoveredError("it asks for nothing")
        self._check_on_the_way()
        return tuple(self.goal)

    def _merge(self, clause: Clause, literals: Sequence[Literal]) -> None:
        """Add what a clause asks for; what it ends becomes a state to be reached first, where the order is said."""
        later = clause.joined in ("then", ".")
        again = {*literals} <= self.goal.keys()
        if again and clause.joined and not clause.template and any(t.pronoun for t in clause.things):
            raise GoalError(f"what {clause.things[0].text!r} means is not clear: that was said already; name it")
        near = self._notes.get("put_beside", "")
        for one, two in permutations(literals, 2):
            if near not in (one.predicate, two.predicate) and self._ends_other(one, two):
                raise self._not_both(one, two)
        if clause.kind in (
            ClauseKind.MOVE,
            ClauseKind.PUSH,
            ClauseKind.STACK,
        ):  # "pick up the cube and put it next to the plate"
            for holding in [g for g in self.goal if g.predicate in self._once and g.args[0] in self._last]:
                del self.goal[holding]
        ended = {o: n for o in self.goal for n in literals if self._ends_other(n, o)}
        moved = {g.args[0] for g in literals if g.positive and g.args and g.predicate in self._placing}
        keep = (clause.verb,) in self._vocabulary.english("keep")
        for old, new in ended.items():
            both = {old.predicate, new.predicate}
            same = old.args[:1] == new.args[:1]
            taken = (old.predicate in self._once or not old.positive) and same and new.positive
            state = old.args == new.args and old.positive == new.positive and not both & self._placing
            explicit = all(t.pronoun or t.is_one for t in clause.things)
            worked = same and old.args and old.args[0] in self._worked_on
            declared = any(both <= group for group in (*self._groups, *self._ends)) or old == new.negated()
            stands = bool(both & self._stands)
            given = old.predicate in self._given_away or not (declared or stands)
            given |= stands and not taken and clause.joined == "."  # of two sentences both may be meant
            if given or keep or old in self._kept or not (taken or (state and explicit) or later or worked):
                raise self._not_both(old, new)
            if not taken and not state:
                self._first()
        away = self._once | self._given_away
        for old in self.goal:
            beside = old.predicate in self._stands and moved & {*old.args[1:]}
            held = old.predicate in away and any(old.args[0] in g.args[1:] for g in literals if g.positive)
            if old.positive and old not in ended and (beside or held):
                raise GoalError(
                    f"whether {self._domain.phrase(old)} in the end as well is not clear; say how things should be in "
                    "the end"
                )
        if clause.joined == "then" and self.earlier and not ended and not {*literals} <= self.goal.keys():
            self._first()
        for old in ended:
            del self.goal[old]
        self.goal.update(dict.fromkeys(literals))
        self._kept.update(literals if keep else ())
        if clause.kind is ClauseKind.VERB:
            there = [g for g in literals if g.positive and len(g.args) == 2 and g.predicate in self._at]
            self._worked_on = {g.args[0] for g in there}

    def _not_both(self, one: Literal, two: Literal) -> GoalError:
        return GoalError(f"in the end {self._domain.phrase(one)} or {self._domain.phrase(two)}, not both; say which")

    def _first(self) -> None:
        """Make what earlier clauses ask for a state to be reached before the rest."""
        if self.earlier not in self.before:
            self.before.append(self.earlier)

    def _ends_other(self, new: Literal, old: Literal) -> bool:
        """Whether one literal cannot hold any more, or is not asked for any more, once another one does."""
        if old == new.negated():
            return True
        both = {old.predicate, new.predicate}
        same = bool(old.args) and old.args[:1] == new.args[:1]
        if old == new or not new.positive:
            return False
        if old.positive and any(both <= group for group in (*self._ends, *self._apart)):
            return True
        return (
            same
            and not (both & self._stands and not old.positive)
            and any(both <= group for group in (*self._groups, self._placing))
        )

    def _check_on_the_way(self) -> None:
        """Raise GoalError for "open the dishwasher, put the mug in and turn it on": is it open while it runs?"""
        for before, after in self._notes.get("seldom_together", ()):
            for one in [g for g in self.goal if g.positive and g.predicate == before]:
                if Literal(after, one.args) in self.goal:
                    rest = [g for g in self.goal if g != one]
                    closed = (*rest, Literal(str(self._notes["closes"]), one.args))
                    before = tuple(self.before)
                    ends = [Reading(goal, "grammar", before=before) for goal in (closed, tuple(self.goal))]
                    message = (
                        f"whether {self._domain.phrase(one)} in the end as well is not clear; say how it should be"
                    )
                    raise AmbiguityError(message, which_reading(self._domain, self._world, ends))
