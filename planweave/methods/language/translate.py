"""Translation of a step in words to the nearest admissible action (Huang et al., 2022; scene-aware planner, Sections
III.B and III.C).

The papers compare a step with every ground action. In a home that is a million texts, so that first the objects named
in the step are found (by embedding and spelling), and only actions over these are compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from rapidfuzz import fuzz

from planweave.core.base.errors import ParseError
from planweave.core.pddl.formula import TypedVariable
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.schemas import ActionSchema, filled
from planweave.core.symbolic.world import Action, World
from planweave.llm.embeddings import Embedder

MAX_CHARACTERS = 300  # of a step; longer ones are prose
_NAMED = 0.6  # likeness from which on a kind of thing counts as named
_KINDS = 4  # kinds tried for one parameter
_COPIES = 4  # things of one kind that a translation may stand for
_WRONG_ORDER = 0.15  # taken off where the things are named in the other order
_NUMBER = re.compile(r" \d+\b")
_FILLERS = re.compile(r"\b(?:the|a|an)\b")


@dataclass(frozen=True)
class Translation:
    """actions: the nearest one, followed by the same action over other objects of the same kind.

    match: cosine of step and action in words; object_match: similarity of the written names to the names of the
    objects, mean over the objects, 1 for an action without any. Both 0 to 1.
    """

    actions: tuple[Action, ...]
    match: float
    object_match: float


@dataclass(frozen=True)
class _Kind:
    """Objects that one word may refer to: their names, similarity to the step's words, and the position of these."""

    names: tuple[str, ...]
    word: str
    likeness: float
    place: int


class Translator:
    """Translates steps to actions over the objects of one world."""

    def __init__(self, domain: Domain, world: World, embedder: Embedder, without: Collection[str] = ()) -> None:
        self._domain, self._world, self._embedder = domain, world, embedder
        self._schemas = [s for s in domain.actions.values() if s.name not in without]
        self._named: dict[str, list[str]] = {}  # kinds of things, with the names of the things
        for thing in world.objects:
            self._named.setdefault(_kind(thing.name, thing.class_name), []).append(thing.name)
        self._fitting: dict[frozenset[str], dict[str, tuple[str, ...]]] = {}  # the same for things of some types

    def nearest(self, step: str, used: Sequence[Action] = ()) -> Translation:
        """The nearest action; of several objects of one kind those in `used` are preferred. Raises ParseError."""
        said = _words(step[:MAX_CHARACTERS])
        text = self._in_known_nouns(_NUMBER.sub("", said))  # kinds are compared; which of a kind is chosen afterwards
        if not text:
            raise ParseError(f"the step {step[:60]!r} has no words")
        kinds = self._kinds(text)
        likely: dict[frozenset[str], list[_Kind]] = {}
        rows = [row for schema in self._schemas for row in self._ways(schema, kinds, likely)]
        if not rows:
            raise ParseError(f"no action is possible over the objects known here: {step[:60]!r}")
        phrases = sorted({phrase for _, _, said in rows for phrase in said})
        vectors = self._embedder.embed([*phrases, text])
        likeness = dict(zip(phrases, (float(x) for x in vectors[:-1] @ vectors[-1])))

        def score(row: tuple[ActionSchema, tuple[_Kind, ...], tuple[str, ...]]) -> float:
            places = [k.place for k in row[1]]
            return max(likeness[p] for p in row[2]) - (_WRONG_ORDER if places != sorted(places) else 0.0)

        best = max(rows, key=lambda row: (score(row), -len(row[1])))
        object_match = sum(k.likeness for k in best[1]) / len(best[1]) if best[1] else 1.0
        return Translation(self._copies(best[0], best[1], used, said), _unit(score(best)), _unit(object_match))

    def _in_known_nouns(self, text: str) -> str:
        """The text with nouns that no object here has replaced by synonyms: couch by sofa, but not the counter of
        a bathroom counter that is there.
        """
        words = text.split()
        windows = [range(i, i + n) for n in (2, 3, 4) for i in range(len(words) - n + 1)]
        known = {i for window in windows if " ".join(words[j] for j in window) in self._named for i in window}
        for index, word in enumerate(words):
            if word not in self._named and index not in known:
                others = (spoken(s) for s in self._domain.synonyms(word))
                words[index] = next((o for o in others if o in self._named), word)
        return " ".join(words)

    def _kinds(self, text: str) -> list[_Kind]:
        """All kinds of objects by their similarity to words of the step."""
        words = text.split()
        windows = [(i, n, " ".join(words[i : i + n])) for n in (1, 2, 3, 4) for i in range(len(words) - n + 1)]
        kinds = sorted(self._named)
        vectors = self._embedder.embed([*kinds, *(w for *_, w in windows)])
        cosines = (vectors[: len(kinds)] @ vectors[len(kinds) :].T).tolist()
        found = []
        for row, kind in enumerate(kinds):
            length = len(kind.split())
            best, place = 0.0, len(words)
            for value, (index, size, window) in zip(cosines[row], windows):
                if abs(size - length) > 1:
                    continue
                if value < 0.99:
                    value = max(value, fuzz.ratio(kind, window) / 100)
                if value > best + 1e-6:
                    best, place = value, index
            found.append(_Kind(tuple(self._named[kind]), kind, min(1.0, best), place))
        return found

    def _ways(
        self, schema: ActionSchema, kinds: Sequence[_Kind], likely: dict[frozenset[str], list[_Kind]]
    ) -> Iterator[tuple[ActionSchema, tuple[_Kind, ...], tuple[str, ...]]]:
        lists = [self._likely(parameter, kinds, likely) for parameter in schema.parameters]
        for chosen in product(*lists):
            if len({k.word for k in chosen}) == len(chosen) or any(len(k.names) > 1 for k in chosen):
                yield schema, chosen, tuple(_phrases(schema, [k.word for k in chosen]))

    def _likely(
        self, parameter: TypedVariable, kinds: Sequence[_Kind], found: dict[frozenset[str], list[_Kind]]
    ) -> list[_Kind]:
        """The kinds to try for a parameter; found: cache over parameters of the same types, for one step."""
        types = parameter.types
        if types not in found:
            if types not in self._fitting:
                names = set(self._domain.candidates(parameter, self._world.objects))
                self._fitting[types] = {k: tuple(n for n in of if n in names) for k, of in self._named.items()}
            fitting = self._fitting[types]
            options = [k for k in kinds if fitting[k.word]]
            options.sort(key=lambda k: (-k.likeness, -len(k.word), k.word))
            likely = [k for k in options[:_KINDS] if k.likeness >= _NAMED] or options[:1]
            found[types] = [_Kind(fitting[k.word], k.word, k.likeness, k.place) for k in likely]
        return found[types]

    def _copies(
        self, schema: ActionSchema, kinds: Sequence[_Kind], used: Sequence[Action], said: str
    ) -> tuple[Action, ...]:
        """The action over the objects that the step names exactly, else over those used last, then over the others."""
        recent = [a for action in reversed(used) for a in action.args]
        exact = [[n for n in k.names if f" {spoken(n)} " in f" {said} "] for k in kinds]
        ordered = [
            named[:1] or sorted(k.names, key=lambda n: recent.index(n) if n in recent else len(recent))
            for k, named in zip(kinds, exact)
        ]
        found = self._distinct(schema, ordered)
        if not found:  # two parameters of one kind, and the step names one thing for both: then also others of it
            found = self._distinct(
                schema, [[*names, *(n for n in k.names if n not in names)] for k, names in zip(kinds, ordered)]
            )
        return tuple(found)

    @staticmethod
    def _distinct(schema: ActionSchema, choices: Sequence[Sequence[str]]) -> list[Action]:
        """At most _COPIES actions, none with a repeated object."""
        found = []
        for args in product(*(names[:_COPIES] for names in choices)):
            if len(set(args)) == len(args):
                found.append(Action(schema.name, args))
            if len(found) == _COPIES:
                break
        return found


@lru_cache(maxsize=8192)
def _kind(name: str, class_name: str) -> str:
    """Display name of an object: its name, or its kind where the name is the kind with a number."""
    said = spoken(name)
    bare = re.sub(r"(?: \d+)+$", "", said)
    return bare if bare != said and spoken(class_name.lower()) == bare else said


def _phrases(schema: ActionSchema, words: Sequence[str]) -> Iterator[str]:
    """An action in words: its phrase, and its name and aliases before its objects."""
    yield _words(filled(schema.phrase, schema.parameters, words))
    for name in (schema.name, *schema.aliases):
        yield _words(" ".join([spoken(name), *words]))


@lru_cache(maxsize=8192)  # of short texts only: phrases, and steps that were cut
def _words(text: str) -> str:
    """Lower-case words without articles and punctuation."""
    return " ".join(_FILLERS.sub(" ", re.sub(r"[^a-z0-9]+", " ", text[:MAX_CHARACTERS].lower())).split())


def _unit(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)
