"""Sentences that can be read, nearest to one that was not: of the things and the verbs that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.goals.goal_checks import checked_goal, misfit
from planweave.goals.goal_grammar import read_sentence
from planweave.goals.lexicon import Lexicon, english
from planweave.goals.noun_phrases import NotCoveredError, NounPhrases
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import Words

_MOST = 3  # suggestions
_TRIED = 12  # sentences that are tried for them


def nearest(domain: Domain, world: World, words: Words) -> list[str]:
    """Suggested sentences that the grammar reads here, of what the words name: few, and of other things only where
    there are no words.
    """
    vocabulary = SentenceVocabulary(domain, world)
    names = vocabulary.names()
    words = vocabulary.spelled(words)
    said = {*map(names.singular, words), *words}.union(*(names.heads[n] for n in _mentioned(names, words)))
    made = dict.fromkeys([domain.example, *_made(domain, world, vocabulary.lexicon, names, words)])
    related = [text for text in made if text and (not words or _shared(names, text, said - _of_anything()))]
    order = sorted(related, key=lambda text: -_shared(names, text, said))
    found: list[str] = []
    for text in order[:_TRIED]:
        if len(found) < _MOST and _is_read(domain, world, text):
            found.append(text)
    return found


def _shared(names: NounPhrases, text: str, said: set[str]) -> int:
    return len({names.singular(word) for word in text.split()} & said)


@lru_cache(maxsize=1)
def _of_anything() -> frozenset[str]:
    """Words that are said of whatever is here, so that two sentences with one of them need not be of the same."""
    verbs = {phrase.split()[0] for key in ("move", "push", "take_out") for phrase in english()[key]}
    return frozenset(verbs | {*english()["function_words"]})


def _is_read(domain: Domain, world: World, text: str) -> bool:
    try:
        return bool(checked_goal(domain, world, read_sentence(domain, world, text).goal))
    except (GoalError, NotCoveredError):
        return False


def _made(domain: Domain, world: World, lexicon: Lexicon, names: NounPhrases, words: Words) -> Iterator[str]:
    """Sentences of the things that the words name, or of others that fit a verb among them."""
    notes = domain.extra.get("goals") or {}
    pairs = [
        p for p in domain.predicates.values() if p.goal and len(p.parameters) == 2 and p.name in ("in", "on", "inside")
    ]

    def movable(name: str) -> bool:
        return any(domain.is_a(world.by_name[name].type, p.parameters[0].types) for p in pairs) and all(
            Literal(n, (name,)) in world.facts for n in notes.get("carried", ())
        )

    things = _mentioned(names, words)
    apart = notes.get("not_everything", ())  # nobody thinks of a chair first
    small = [o.name for o in world.objects if movable(o.name) and o.attributes.get("category") not in apart]
    moved = [n for n in things if movable(n)] or small[:1]
    for thing, place in product(moved[:2], [n for n in things if n not in moved]):
        for predicate in pairs:
            fits = domain.is_a(world.by_name[place].type, predicate.parameters[1].types)
            if fits and not misfit(domain, world, Literal(predicate.name, (thing, place))):
                word = {"inside": "in"}.get(predicate.name, predicate.name)
                yield f"put the {_said(world, thing)} {word} the {_said(world, place)}"
                break
    yield from _with_verbs(domain, world, lexicon, words, things or small)
    yield from (f"pick up the {_said(world, thing)}" for thing in moved[:1])


def _with_verbs(domain: Domain, world: World, lexicon: Lexicon, words: Words, things: Sequence[str]) -> Iterator[str]:
    """What the verbs of one thing ask for, of each thing that they fit, those that were said first."""
    alone = [p for p in lexicon.patterns if [w for w in p.parts if w.startswith("{")] == ["{x}"]]
    patterns = sorted(alone, key=lambda p: (-len({*p.parts} & {*words}), len(p.parts)))
    told: set[tuple[str, str]] = set()
    for pattern, name in product(patterns, things):
        head, _, rest = pattern.template.partition("(")
        predicate = domain.predicates.get(head.strip())
        if predicate is None or rest.strip() not in ("{x})", "{x}") or (name, head) in told:
            continue
        told.add((name, head))  # in other words it would be the same
        literal = Literal(head.strip(), (name,))
        if len(predicate.parameters) != 1 or not domain.is_a(world.by_name[name].type, predicate.parameters[0].types):
            continue
        if not misfit(domain, world, literal) and not world.holds(literal):
            yield " ".join(f"the {_said(world, name)}" if part == "{x}" else part for part in pattern.parts)


def _said(world: World, name: str) -> str:
    return (
        spoken(name)
        if sum(o.class_name == world.by_name[name].class_name for o in world.objects) > 1
        else (spoken(world.by_name[name].class_name or name) if name.rsplit("_", 1)[-1].isdigit() else spoken(name))
    )


def _mentioned(names: NounPhrases, words: Words) -> list[str]:
    """Objects whose noun occurs in the words, best described first."""
    said = {names.singular(w) for w in words}
    found = {
        n: len(said & names.features[n]) for n in names.world.by_name if said & (names.heads[n] - {n}) or n in said
    }
    return sorted(found, key=lambda n: -found[n])[:6]
