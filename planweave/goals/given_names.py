"""Sentences that give a thing a name: "that is a coaster", "the red plate is called coaster"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import AmbiguityError, Clarification, UserQuestion
from planweave.goals.alternatives import NUMBER, object_question
from planweave.goals.clause_goals import ClauseGoals
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.phrase_parser import TooLongError
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import Words, words_of

_MOST_WORDS = 3  # of a name
_POINTING = {("that",), ("this",), ("it",), ("that", "one"), ("this", "one"), ("that", "thing"), ("this", "thing")}
_NO = ("no", "wrong")
_ARTICLES = ("a", "an", "the")


def bare(words: Sequence[str]) -> str:
    """Words of a phrase without its article."""
    return " ".join(words[1:] if words[:1] in {(a,) for a in (*_ARTICLES, "this", "that")} else words)


def look_of(name: str, class_name: str, attributes: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Look of a thing, wherever it is: its class, else its name without a number; its attributes."""
    return class_name or NUMBER.sub("", name), dict(attributes)


def split_naming(sentence: str) -> tuple[bool, Words, str] | None:
    """Whether it begins with "no", what is named, and its name; None where a sentence gives no name."""
    words, asked = words_of(sentence)
    objects = words[:1] in {(no,) for no in _NO}
    words = tuple(w for w in words[1:] if w != ",") if objects else words
    if asked or "is" not in words[1:]:
        return None
    at = words.index("is", 1)
    subject, rest = words[:at], words[at + 1 :]
    called = rest[:1] in {("called",), ("named",)}
    rest = rest[1:] if called else rest
    article = rest[:1] in {(a,) for a in _ARTICLES}
    name = rest[1:] if article else rest
    if not (called or article) or not 0 < len(name) <= _MOST_WORDS or not all(w.isalpha() for w in name):
        return None
    return objects, subject, " ".join(name)


def naming_question(
    domain: Domain, world: World, sentence: str, before: Sequence[str], clarifications: Sequence[Clarification] = ()
) -> UserQuestion | None:
    """Name that a sentence gives, to be remembered, as a question with one choice; None for any other.

    before: things that were spoken of before, which "that" may mean. Raises GoalError where the name means something
    already, or nothing is meant; AmbiguityError where a person must say which thing it is.
    """
    if (found := split_naming(sentence)) is None:
        return None
    _, subject, name = found
    vocabulary = SentenceVocabulary(domain, world, [c for c in clarifications if c.text != name])
    taken = [w for w in name.split() if w in vocabulary.nouns or w in vocabulary.lexicon.words]
    if taken:
        raise GoalError(f"{taken[0]!r} has a meaning here already; give the thing a name of its own")
    meant = [thing for answered in clarifications if answered.text == name for thing in answered.meant]
    things = meant or (_pointed_at(world, before) if subject in _POINTING else _described(vocabulary, subject))
    told = [n for n in things if _looks_like_no_other(world, n)]
    if not told:
        alike = ", ".join(map(spoken, things))
        raise GoalError(
            f"what {name!r} is cannot be remembered: "
            + (f"other things look like {alike}" if things else "nothing is known here that could be meant")
        )
    question = object_question(domain, world, name, -1, [[n] for n in told], f"which thing is called {name!r}?")
    if question is None:
        raise GoalError(f'too many things may be meant; say which, such as "the {spoken(told[0])} is called {name}"')
    question = UserQuestion(question.text, question.choices, name, naming=True)
    if len(told) > 1:
        raise AmbiguityError(
            f"it is not clear which thing is called {name!r}: {', '.join(map(spoken, told))}", question
        )
    return question


def _pointed_at(world: World, before: Sequence[str]) -> list[str]:
    """What "that" may mean: what was spoken of before, else anything that can be named."""
    return [n for n in before if n in world.by_name] or list(world.by_name)


def _described(vocabulary: SentenceVocabulary, subject: Words) -> list[str]:
    """The one thing that a phrase means; raises GoalError."""
    words, _, unknown = vocabulary.mended(subject)
    names = ClauseGoals(vocabulary).names
    said = " ".join(subject)
    try:
        if phrases := vocabulary.phrases(words, unknown):
            return list(names.resolve(phrases[0], several=False))
    except (TooLongError, NotCoveredError) as error:
        raise GoalError(f"it is not understood what {said!r} is: {error}") from None
    raise GoalError(f"it is not understood what {said!r} is; say which thing gets the name")


def _looks_like_no_other(world: World, name: str) -> bool:
    thing = world.by_name[name]
    look = look_of(name, thing.class_name, thing.attributes)
    return sum(look_of(o.name, o.class_name, o.attributes) == look for o in world.objects) == 1
