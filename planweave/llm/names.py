"""Post-processing of sampled plans: replaces names by the nearest known ones (Tree-Planner, Appendix B.3).

The paper compares names by sentence embeddings; the comparison of characters and words is the default, since it needs
no model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from rapidfuzz import fuzz

from planweave.core.pddl.formula import TypedVariable
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import PlanStep
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.world import Action, World
from planweave.llm.embeddings import Embedder, HashedEmbedder, cosine

CUTOFF = 0.75  # similarity below which a name is taken for unknown
_PART = 0.92  # of a name that is a part of another: "egg" for "food_egg"
_TIE = 0.01
_NUMBER = re.compile(r" \d{1,6}\Z")


def similarity(one: str, two: str, embedder: Embedder | None = None) -> float:
    """Similarity of two names, from 0 (unrelated) to 1 (equal): by letters and whole words, the order of words ignored;
    with an embedder the cosine, where that is larger.
    """
    one, two = _words(one), _words(two)
    if embedder is None:
        return _spelling(one, two)
    return max(_spelling(one, two), cosine(embedder, one, two)) if one and two else 0.0


@lru_cache(maxsize=20_000)
def _words(name: str) -> str:
    """A name as lower-case words: ``PickUp``, ``pick-up`` and ``the pick_up`` all become ``pick up``."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:200])
    words = re.sub(r"[^0-9a-z]+", " ", name.lower()).split()
    return " ".join(w for w in words if w not in ("the", "a", "an"))


@lru_cache(maxsize=20_000)
def _spelling(one: str, two: str) -> float:
    if one == two:
        return 1.0
    if not one or not two:
        return 0.0
    first, second = set(one.split()), set(two.split())
    if first < second or second < first:
        return _PART
    return max(fuzz.ratio(one, two), fuzz.token_sort_ratio(one, two)) / 100


class Mender:
    """Maps names in replies to actions of the domain over the objects of one world.

    embedder: names are compared by it, too, unless it is the hashed one, which knows of spelling only.
    """

    def __init__(
        self,
        domain: Domain,
        world: World,
        embedder: Embedder | None = None,
        *,
        cutoff: float = CUTOFF,
        without: Iterable[str] = (),
    ) -> None:
        self._domain, self._world = domain, world
        self._embedder = embedder if embedder and embedder.name != HashedEmbedder.name else None
        self._cutoff, self._without = cutoff, frozenset(without)
        self._known: dict[Action, PlanStep | None] = {}
        self._candidates: dict[frozenset[str], dict[str, None]] = {}  # names that fit types, in the world's order

    def plan(self, actions: Sequence[Action], keep_unknown: bool = False) -> tuple[PlanStep, ...] | None:
        """The steps with known names; None where a name has no similar one: the plan is then dropped.

        keep_unknown: such a step is kept as written, for the body to refuse; None only where no step has known names.
        """
        steps, known = [], 0
        for action in actions:
            if action not in self._known:
                self._known[action] = self._step(action)
            step = self._known[action]
            known += step is not None
            if step is None and not keep_unknown:
                return None
            steps.append(step or PlanStep(action))
        return tuple(steps) if known or not actions else None

    def _step(self, written: Action) -> PlanStep | None:
        best, best_score, tied = None, 0.0, False
        for schema in self._domain.actions.values():
            if schema.name in self._without or len(schema.parameters) != len(written.args):
                continue
            score = self._name_score(written.name, schema)
            args = []
            for parameter, arg in zip(schema.parameters, written.args):
                name, likeness = self._nearest(arg, self._fitting(parameter))
                args.append(name)
                score = score * likeness if likeness >= self._cutoff else 0.0
            if score > best_score + _TIE:
                best, best_score, tied = Action(schema.name, tuple(args)), score, False
            elif best is not None and score >= best_score - _TIE:
                tied = True
        if best is None or tied or best_score < self._cutoff**2:
            return None
        same = _words(written.name) == _words(best.name) and list(map(_words, written.args)) == list(
            map(_words, best.args)
        )
        return PlanStep(best, self._domain.phrase(best), "" if same else str(written))

    def _name_score(self, name: str, schema: ActionSchema) -> float:
        own = similarity(name, schema.name, self._embedder)
        other = max((similarity(name, alias, self._embedder) for alias in schema.aliases), default=0.0)
        score = max(own, other * 0.99)  # an action's own name before another's alias
        return score if score >= self._cutoff else 0.0

    def _fitting(self, parameter: TypedVariable) -> dict[str, None]:
        found = self._candidates.get(parameter.types)
        if found is None:
            names = self._domain.candidates(parameter, self._world.objects)
            found = self._candidates[parameter.types] = dict.fromkeys(names)
        return found

    def _nearest(self, name: str, known: Collection[str]) -> tuple[str, float]:
        """The known name that is meant by its class, else the most similar; similarity 0 where two are equally near."""
        if name in known:
            return name, 1.0
        if meant := self._of_class(name, known):
            return meant, 1.0
        ranked = sorted(((similarity(name, k, self._embedder), k) for k in known), reverse=True)
        if not ranked or (len(ranked) > 1 and ranked[0][0] < 1.0 and ranked[0][0] - ranked[1][0] < _TIE):
            return "", 0.0
        return ranked[0][1], ranked[0][0]

    def _of_class(self, name: str, known: Collection[str]) -> str:
        """The object with a class, or a synonym of one, for its name: ``kitchen``, ``couch``, ``<mug> (1)``.

        Of several the first, or the one that the number counts to, where only numbers tell their names apart.
        """
        said = _words(name)
        if any(_words(k) == said for k in known):
            return ""
        bare = _NUMBER.sub("", said)
        for noun in (bare, *(_words(s) for s in self._domain.synonyms(bare.replace(" ", "_")))):
            found = [k for k in known if noun and _words(self._world.by_name[k].class_name) == noun]
            if len(found) > 1 and any(_NUMBER.sub("", _words(k)) != noun for k in found):
                continue
            index = int(said.rsplit(" ", 1)[-1]) - 1 if said != bare else 0
            if found and (len(found) == 1 or 0 <= index < len(found)):
                return found[0 if len(found) == 1 else index]
        return ""
