"""The one check of a reading, whoever wrote it: names, types, what a goal can hold, and whether every content word of
the sentence is covered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.reading import Reading, WrittenReading
from planweave.goals.goal_checks import check_possible, checked_goal
from planweave.goals.lexicon import english
from planweave.goals.noun_phrases import NounPhrases
from planweave.goals.paraphrase import understood
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import Words, without_politeness, words_of

Goal = tuple[Literal, ...]
_SEVERAL = (
    "all",
    "every",
    "each",
    "both",
    "any",
    "another",
    "other",
    "others",
    "rest",
    "everything",
    "remaining",
    "set",
)
_WORKS = ("switch", "button", "handle", "knob", "lever")  # these stand for what they work, where that is named, too
_LEFT_OUT = ("except", "but", "besides", "excluding", "apart", "other", "bar", "leave")


def checked_reading(domain: Domain, world: World, sentence: str, written: WrittenReading) -> Reading:
    """The task of a reading, or the answer to the question that it is; raises GoalError that says what is wrong.

    Of "any n of these" those that hold already are taken, then those in reach with nothing on them.
    """
    chosen, notes = _chosen(world, written)
    goal = tuple(dict.fromkeys((*written.goal, *chosen, *written.keep)))
    before = tuple(checked_goal(domain, world, step) for step in written.before)
    goal = checked_goal(domain, world, goal)
    _Coverage(domain, world, sentence, written, (*goal, *(g for step in before for g in step))).check()
    left = tuple(w for w in written.not_covered if {*_content(words_of(w)[0])})
    if written.kind == "question":
        told = f"; no part of that says {', '.join(left)}" if left else ""
        return Reading((), "model", answer=f"{_answered(domain, world, goal)}{told}")
    reading = Reading(tuple(sorted(goal)), "model", before=before, keep=written.keep)
    said = understood(domain, world, reading.goal, notes, before, written.keep)
    return replace(reading, understood=said, not_covered=left)


def checked_given(domain: Domain, world: World, given: Reading) -> Reading:
    """A reading in literals that nobody wrote for a sentence; raises UnknownNameError, InvalidActionError or GoalError
    that says what is wrong.
    """
    states = (tuple(dict.fromkeys((*given.goal, *given.keep))), *given.before)
    for literal in (g for state in states for g in state):
        domain.check_literal(literal, world)
    for state in states:
        check_possible(domain, world, state)
    goal, *before = states
    plain = not (before or given.keep)
    words = domain.phrases(goal) if plain else understood(domain, world, goal, (), before, given.keep)
    return replace(given, goal=goal, understood=words)


def checked_choices(domain: Domain, world: World, sentence: str, written: WrittenReading) -> tuple[Goal, ...]:
    """The goals that a person is to choose from; raises GoalError where one leaves out a denial of the sentence, or
    all of them a thing that it names.
    """
    choices = tuple(checked_goal(domain, world, goal) for goal in written.choices)
    for goal in choices:
        _Coverage(domain, world, sentence, written, goal).check_negation()
    _Coverage(domain, world, sentence, written, [g for goal in choices for g in goal]).check_things()
    return choices


def _chosen(world: World, written: WrittenReading) -> tuple[list[Literal], list[str]]:
    """The literals taken of each "any n of these", and a note on each."""
    found: list[Literal] = []
    notes = []
    for number, literals in written.any_of:
        if number > len(literals):
            raise GoalError(f"{number} of {len(literals)} conditions cannot hold")

        def unwelcome(literal: Literal) -> tuple[bool, ...]:
            ready = [Literal(p, literal.args[:1]) in world.facts for p in ("reachable", "clear")]
            return (not world.holds(literal), *(not r for r in ready))

        taken = sorted(literals, key=unwelcome)[:number]
        found += taken
        rest = ", ".join(str(g) for g in literals if g not in taken)
        notes.append(
            f"any {number} is asked for: {', '.join(map(str, taken))} {'are' if number > 1 else 'is'} taken, not {rest}"
        )
    return found, notes


def _answered(domain: Domain, world: World, asked: Iterable[Literal]) -> str:
    """Whether literals hold, in words."""
    literals = tuple(asked)
    world = world.with_derived(literals)
    hidden = sorted(
        {a for g in literals for a in g.args if Literal("unseen", (a,)) in world.facts and not world.seems(g)}
    )
    if hidden:
        return f"I do not know: {', '.join(map(spoken, hidden))} has not been seen yet"
    wrong = [g for g in literals if not world.seems(g)]
    return f"No, {domain.phrases(g.negated() for g in wrong)}" if wrong else f"Yes, {domain.phrases(literals)}"


def _content(words: Words) -> list[str]:
    """Words that ask for something."""
    said = {*english()["function_words"], ",", "."}
    return [w for w in without_politeness(words) if w not in said and any(c.isalnum() for c in w)]


class _Coverage:
    """Whether a reading covers a sentence. literals: all of the reading."""

    def __init__(
        self, domain: Domain, world: World, sentence: str, written: WrittenReading, literals: Iterable[Literal]
    ) -> None:
        self._world, self._written = world, written
        vocabulary = SentenceVocabulary(domain, world)
        self._lexicon = vocabulary.lexicon
        self._nouns = vocabulary.nouns
        self._names: NounPhrases = vocabulary.names()
        self._words = vocabulary.spelled(words_of(sentence)[0])
        self._unknown = vocabulary.mended(self._words)[2]
        self._literals = tuple(literals)
        self._objects = list(dict.fromkeys(a for g in self._literals for a in g.args))
        self._predicates = {g.predicate for g in self._literals}

    def check(self) -> None:
        """Raise GoalError where a content word is covered by nothing, or by what it does not fit."""
        self._check_explained()
        self._check_numbers()
        self._check_covered(_content(self._words))
        self.check_negation()

    def check_things(self) -> None:
        """The same of words that name things, known here or not: "the mug", "the red mug", and not "the nice cube"."""
        around = zip(("", *self._words), self._words, (*self._words[1:], ""))
        self._check_covered(word for before, word, after in around if self._names_a_thing(before, word, after))

    def _names_a_thing(self, before: str, word: str, after: str) -> bool:
        said, noun = {*english()["the"], *english()["a"]}, self._names.singular(word)
        strange = word in self._unknown and (before in said or self._nouns.get(before) is not None)
        ends = after not in self._unknown and after not in self._nouns
        return self._tells(noun) or noun in self._names.known_nouns or (strange and ends)

    def _check_covered(self, words: Iterable[str]) -> None:
        told = {*self._heard(self._written.not_covered), *self._heard(said for said, _ in self._written.words)}
        for word in words:
            if word not in told and self._names.singular(word) not in told and not self._is_covered(word):
                raise GoalError(f"{word!r} of the sentence is covered by nothing; name it in words or not_covered")

    def _heard(self, texts: Iterable[str]) -> set[str]:
        words = {w for text in texts for w in words_of(text)[0]}
        return words | {self._names.singular(w) for w in words}

    def _check_explained(self) -> None:
        """What words became is in the reading, and of the kind that they name."""
        negative = any(not g.positive for g in self._literals)
        also = {"not": negative or bool(self._written.keep), "before": bool(self._written.before)}
        also |= {"any_of": bool(self._written.any_of), "keep": bool(self._written.keep)}
        also |= {"politeness": True, "left out": not {*_LEFT_OUT}.isdisjoint(self._words)}
        offered = [g for _, of in self._written.any_of for g in of]  # those that were not taken, too
        objects = {*self._objects, *(a for g in offered for a in g.args)}
        objects |= {f.args[1] for f in self._world.by_predicate.get(self._lexicon.parts, ()) if f.args[0] in objects}
        predicates = self._predicates | {g.predicate for g in offered}
        for said, meant in self._written.words:
            named = meant.split("(")[0].removeprefix("not ").strip()
            if named in self._world.by_name:
                if named not in objects:
                    raise GoalError(f"{said!r} is said to be {named}, which is not in the reading")
                for word in map(self._names.singular, words_of(said)[0]):
                    works = word in _WORKS and self._is_named(named, besides=said)
                    if self._tells(word) and word not in self._own(named) and not works:
                        raise GoalError(f"{said!r} is said to be {named}, which is not {word!r}")
            elif meant == "politeness" and (lost := self._weighty(words_of(said)[0])):
                raise GoalError(f"{lost!r} is more than politeness")
            elif named not in predicates and not also.get(meant):
                raise GoalError(f"{said!r} is said to be {meant!r}, which is not in the reading")

    def _is_named(self, name: str, besides: str) -> bool:
        """Whether other words of the sentence than these are said to be an object, and describe it."""
        others = [said for said, meant in self._written.words if meant == name and said != besides]
        return any(self._names.singular(w) in self._own(name) for said in others for w in words_of(said)[0])

    def _weighty(self, words: Words) -> str:
        """A word that names or describes what is here, that turns a request round, or that limits it."""
        limits = {w for key in english()["unsaid"] for phrase in key.split(", ") for w in phrase.split()} - {"if"}
        return next(
            (w for w in words if w in limits or w in english()["negations"] or self._tells(self._names.singular(w))), ""
        )

    def _tells(self, word: str) -> bool:
        """Whether a word describes some of the objects here by what they are, not by where they stand."""
        choosing = {*english()["superlatives"], *english()["function_words"]}
        return word not in choosing and any(word in features for features in self._names.features.values())

    def _own(self, name: str) -> set[str]:
        """Words that describe an object, or what it is a part of."""
        wholes = (f.args[1] for f in self._world.by_predicate.get(self._lexicon.parts, ()) if f.args[0] == name)
        return {w for n in (name, *wholes) for w in self._names.features[n]}

    def _is_kind(self, word: str) -> bool:
        colours = english()["colours"]
        return word not in colours and any(word in heads for heads in self._names.heads.values())

    def _is_covered(self, word: str) -> bool:
        """Whether a word describes an object of the reading, or is one for a predicate of it."""
        noun = self._names.singular(word)
        if any(noun in self._names.features[n] for n in self._objects):
            return True
        predicates = self._predicates
        told = [self._lexicon.relations, self._lexicon.between, self._lexicon.inverse, self._lexicon.states]
        if any(word in said and of.split("(")[0] in predicates for table in told for said, of in table.items()):
            return True
        verbs = (p for p in self._lexicon.patterns if word in p.parts)
        if any(
            literal.split("(")[0].removeprefix("not ").strip() in predicates
            for p in verbs
            for literal in p.template.split("&")
        ):
            return True
        placed = any(len(g.args) > 1 for g in self._literals)
        return placed and ((word,) in self._lexicon.move or word in english()["push"])

    def _check_numbers(self) -> None:
        """One thing of a kind does not become several, nor several one."""
        said: Counter[tuple[str, bool]] = Counter()
        several = any(w in _SEVERAL or english()["numbers"].get(w, 0) > 1 or w.isdigit() for w in self._words)
        fewer = bool(self._written.any_of) or not {"not", *_LEFT_OUT}.isdisjoint(self._words)
        for word, after in pairwise((*self._words, "")):
            noun = self._names.singular(word)
            if self._is_kind(noun) and not self._is_kind(self._names.singular(after)):  # not "tomato sauce"
                said[noun, bool(self._nouns.get(word))] += 1
        for (noun, plural), times in said.items():
            if (noun, not plural) in said or noun in english()["mass"]:
                continue
            here = [n for n in self._objects if noun in self._names.heads[n] and n not in self._called_things()]
            there = [n for n in self._world.by_name if noun in self._names.heads[n]]
            times += self._words.count("one")
            if not plural and not several and len(here) > times and self._only_by(noun, here):
                raise GoalError(f"one {noun} is named, and the reading has {', '.join(here)}")
            if plural and not fewer and len(here) == 1 < len(there):
                raise GoalError(f"several of {noun} are named, and the reading has {here[0]} only")

    def _called_things(self) -> set[str]:
        """Objects that "the object at its left" became."""
        things = {w for key in ("one", "things") for w in english()[key]} & {*self._words}
        return {meant for said, meant in self._written.words if not things.isdisjoint(words_of(said)[0])}

    def _only_by(self, noun: str, names: list[str]) -> bool:
        """Whether no other word of the sentence names one of these objects."""
        words = {self._names.singular(w) for w in self._words} - {noun}
        return not any(words & (self._names.heads[n] | {self._world.by_name[n].class_name}) for n in names)

    def check_negation(self) -> None:
        """A word that turns a sentence round is in the reading."""
        said = [w for w in self._words if w in english()["negations"]]
        left = self._heard(self._written.not_covered)
        for word in said:
            told = [meant for phrase, meant in self._written.words if word in words_of(phrase)[0]]
            if word in left or (not told and any(not g.positive for g in self._literals)) or self._written.keep:
                continue
            if not told or (word not in _LEFT_OUT and not any(not g.positive for g in self._literals)):
                raise GoalError(f"the sentence says {word!r}, and the reading does not")
