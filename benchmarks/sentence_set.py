"""Sentences with the readings they must have (benchmarks/sentences.yaml), and what became of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from doubles.named_worlds import world_of

from planweave.core.base.errors import GoalError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.reading import Reading
from planweave.goals import SentenceVocabulary, english, without_politeness, words_of

SENTENCES = Path(__file__).resolve().parent / "sentences.yaml"
_EXCLUSIVE = {"in", "on", "at", "inside", "holding", "handed_over"}

Goal = frozenset[Literal]
Read = Callable[[Domain, World, str], Reading]


@dataclass(frozen=True)
class Sentence:
    """One sentence said in a world, with what it may be read as. answer: words of an answer, None where none is due."""

    world: str
    text: str
    goals: tuple[Goal, ...]
    may_refuse: bool
    answer: tuple[str, ...] | None

    @property
    def must_refuse(self) -> bool:
        """Whether only a clear no is right."""
        return not self.goals and self.answer is None


@dataclass(frozen=True)
class ReadVerdict:
    """Verdict on a sentence: "right", "refused" (where it could have been read) or "wrong"; said: the reply."""

    sentence: Sentence
    verdict: str
    said: str


def sentences() -> list[Sentence]:
    content: dict[str, dict[str, str]] = read_yaml(SENTENCES)
    return [_sentence(world, text, expected) for world, of in content.items() for text, expected in of.items()]


def _sentence(world: str, text: str, expected: str) -> Sentence:
    goals: list[Goal] = []
    may_refuse, answer = False, None
    for way in expected.split(" | "):
        kind, _, rest = way.strip().partition(":")
        if kind == "refused":
            may_refuse = True
        elif kind == "question":
            answer = (*(answer or ()), rest.strip())
        else:
            goals.extend(_goals(way))
    return Sentence(world, text, tuple(goals), may_refuse, answer)


def _goals(text: str) -> Iterator[Goal]:
    """All goals that a pattern stands for; those in which one thing is in two places are left out."""
    choices: list[list[list[Literal]]] = []
    for part in text.split("&"):
        match = re.fullmatch(r"\s*(not )?(\w+)\(([^()]*)\)\s*", part)
        if not match:
            raise ValueError(f"cannot read the goal {part!r} of {text!r}")
        negated, name, inside = match.groups()
        arguments = [_argument(a.strip()) for a in inside.split(",")] if inside.strip() else []
        choices.append([[Literal(name, args, not negated) for args in product(*ways)] for ways in product(*arguments)])
    for chosen in product(*choices):
        goal = [literal for literals in chosen for literal in literals]
        things = Counter(g.args[0] for g in goal if g.positive and g.predicate in _EXCLUSIVE)
        if not things or max(things.values()) == 1:
            yield frozenset(goal)


def _argument(text: str) -> list[tuple[str, ...]]:
    """The ways to fill an argument: "a+b" both, "a/b" either, "2*a/b/c" any two."""
    if "+" in text:
        return [tuple(text.split("+"))]
    number, _, names = text.rpartition("*")
    return list(combinations(names.split("/"), int(number or 1)))


def unrelated(domain: Domain, world: World, text: str, refusal: str) -> bool | None:
    """Whether a sentence that a refusal suggests has no content word of what was said, nor a thing that it names; None
    where it suggests none, or where nothing was said in English.
    """
    _, found, rest = refusal.partition("for example: ")
    suggested = re.findall(r'"([^"]*)"', rest)
    if not found or not suggested or "only English" in refusal:
        return None
    names = SentenceVocabulary(domain, world).names()
    verbs = {phrase.split()[0] for key in ("move", "push", "take_out") for phrase in english()[key]}

    def content(said: str) -> set[str]:
        words = {names.singular(w) for w in without_politeness(words_of(said)[0])}
        named = {noun for heads in names.heads.values() if heads & words for noun in heads}
        return named | (words - verbs - {*english()["function_words"], ",", "."})

    return None if not content(text) else any(not content(each) & content(text) for each in suggested)


def judged(sentence: Sentence, read: Read) -> ReadVerdict:
    domain, world = world_of(sentence.world)
    try:
        got = read(domain, world, sentence.text)
    except GoalError as error:
        right = sentence.must_refuse or (sentence.may_refuse and not sentence.goals and sentence.answer is None)
        return ReadVerdict(sentence, "right" if right else "refused", f"refused: {error}")
    answer: str = getattr(got, "answer", "")
    if answer:
        words = sentence.answer
        right = words is not None and any(
            all(w.strip().lower() in answer.lower() for w in way.split(",")) for way in words
        )
        return ReadVerdict(sentence, "right" if right else "wrong", f"answered: {answer}")
    verdict = "right" if frozenset(got.goal) in sentence.goals else "wrong"
    return ReadVerdict(sentence, verdict, " & ".join(map(str, got.goal)))
