"""A person's answer in words: a phrase that chooses among the alternatives of a question, or the task said anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import AmbiguityError, UserQuestion
from planweave.goals.clause_goals import ClauseGoals
from planweave.goals.goal_checks import checked_goal
from planweave.goals.goal_grammar import read_sentence
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.phrase_parser import TooLongError
from planweave.goals.scene_questions import is_question
from planweave.goals.sentence_tree import NounPhrase, Quantity
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import without_politeness, words_of

_NUMBER_WORDS = ("", "number ", "choice ")


def read_answer(domain: Domain, world: World, question: UserQuestion, text: str) -> int | None:
    """Index of the choice that a text means; None where it is a sentence of its own that the grammar reads.

    Raises GoalError where it is neither, or chooses several: nothing is guessed, and no model is asked.
    """
    said = " ".join(text.casefold().split()).strip(".! ")
    for index, choice in enumerate(question.choices):
        names = {choice.label, choice.word, *(n for n in choice.objects if len(choice.objects) == 1)}
        written = {name.casefold() for name in names} - {""}  # "red cube" may be any of two, red_cube is one
        if said in {*written, *(f"{word}{index + 1}" for word in _NUMBER_WORDS)}:
            return index
    single = {choice.objects[0]: index for index, choice in enumerate(question.choices) if len(choice.objects) == 1}
    found, is_phrase = _chosen(domain, world, list(single), text) if single else (set(), False)
    if len(found) == 1:
        return single[found.pop()]
    if is_phrase:
        raise GoalError(f"{text!r} does not choose one of these: {question.offer}")
    words, asked = words_of(text)
    if is_question(without_politeness(words), asked):
        raise GoalError(f"that is a question, and another one waits for an answer: {question.text} {question.offer}")
    try:
        checked_goal(domain, world, read_sentence(domain, world, text).goal)
    except AmbiguityError:
        return None
    except (GoalError, NotCoveredError) as error:
        raise GoalError(
            f"{text!r} neither chooses one of these ({question.offer}) nor says a task that can be read here: {error}"
        ) from None
    return None


def _chosen(domain: Domain, world: World, names: Sequence[str], text: str) -> tuple[set[str], bool]:
    """The objects that a phrase chooses, and whether it is one.

    It is read among these objects alone ("the left one") and among all ("the one next to the bowl"); what the two ways
    give must agree.
    """
    only = replace(
        world,
        objects=tuple(o for o in world.objects if o.name in names),
        facts=frozenset(f for f in world.facts if set(f.args) <= set(names)),
    )
    is_phrase = False
    for said in (text, f"{text} one", f"the one {text}"):
        found: set[str] = set()
        for here in (only, world):
            for meant in _meant(domain, here, names, said):
                is_phrase = True
                found.update(meant if len(meant) <= 1 else names)  # several: none is chosen
        if found:
            return found, is_phrase
    return set(), is_phrase


def _meant(domain: Domain, world: World, names: Sequence[str], text: str) -> Iterator[list[str]]:
    """What each parse of a text as one noun phrase means among the objects; an empty list where it means none."""
    vocabulary = SentenceVocabulary(domain, world)
    words, _, unknown = vocabulary.mended(without_politeness(words_of(text)[0]))
    if not words or unknown:
        return
    try:
        phrases = vocabulary.phrases(words)
    except TooLongError:
        return
    for phrase in phrases:
        yield _resolved(vocabulary, names, phrase)


def _resolved(vocabulary: SentenceVocabulary, names: Sequence[str], phrase: NounPhrase) -> list[str]:
    if phrase.pronoun or phrase.quantity is Quantity.A:  # "a cube" would leave the choice to us
        return []
    reader = ClauseGoals(vocabulary)
    try:
        return reader.names.resolve(phrase, lambda n: "" if n in names else "it is no choice")
    except (GoalError, NotCoveredError):
        return []
