"""Selection of the part of a world shown in a prompt, of bounded length: relevant objects first.

Small worlds are shown completely. The selection is made once per task and set of names, so that the beginning of its
prompts is constant and a prompt cache is effective; objects that become relevant later are added.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Action, Literal, World
from planweave.llm.accounting import estimated_tokens
from planweave.llm.embeddings import Embedder
from planweave.methods.language.prompting import prompt_notes

REMEMBERED = 64  # tasks whose choice of objects is kept
_NAMES_SHARE = 0.55  # of the limit that goes to the list of objects; the rest is for the observation
_log = logging.getLogger(__name__)
Key = tuple[str, str, int]


class PromptWorlds:
    """Selects what a prompt shows of a world. limit: tokens for objects and observation together. Thread-safe."""

    def __init__(self, embedder: Embedder, limit: int) -> None:
        self._embedder, self._limit = embedder, limit
        self._lock = threading.Lock()
        self._chosen: OrderedDict[Key, frozenset[str]] = OrderedDict()

    def shown(
        self,
        domain: Domain,
        world: World,
        sentence: str,
        history: Sequence[Action] = (),
        extra: Collection[str] = (),
    ) -> tuple[World, tuple[str, ...]]:
        """The world to show, and the names of the omitted objects.

        extra: names that must be shown, such as those of the goal. Facts beyond the limit are omitted, the least
        relevant first, and those without a place in observations; do not evaluate facts on the result.
        """
        names_limit = int(self._limit * _NAMES_SHARE)
        costs = {o.name: estimated_tokens(o.name) + 1 for o in world.objects}
        facts = domain.of_state(world, "yes")
        told = prompt_notes(domain)
        placed = list(world.by_predicate.get(told.get("place", ""), ()))
        observed = len(facts) * 8 + sum(costs.get(f.args[0], 0) for f in placed)
        if sum(costs.values()) <= names_limit and observed <= self._limit - names_limit:
            return world, ()
        must = {a for action in history for a in action.args} | set(extra)
        ranks = _ranks(domain, world, sentence, must, [*facts, *placed], self._embedder)
        names = self._names(domain, sentence, ranks, costs, names_limit)
        kept = _observed(domain, [*facts, *placed], ranks, names, self._limit - names_limit, costs)
        left_out = tuple(o.name for o in world.objects if o.name not in names)
        if left_out:
            _log.info(
                "left out of the prompt for %r: %d of %d objects: %s",
                sentence[:60],
                len(left_out),
                len(world.objects),
                ", ".join(left_out),
            )
        if len(kept) < len(facts) + len(placed):
            _log.info(
                "left out of the prompt for %r: %d of %d observed facts",
                sentence[:60],
                len(facts) + len(placed) - len(kept),
                len(facts) + len(placed),
            )
        missed = domain.of_state(world, "negative")  # told where they do not hold
        missed += [f for p in (*told.get("traits", ()), told.get("unseen", "")) for f in world.by_predicate.get(p, ())]
        facts = [f for f in missed if all(a in names for a in f.args)]
        shown = tuple(o for o in world.objects if o.name in names)
        return replace(world, objects=shown, facts=kept.union(facts)), left_out

    def _names(
        self, domain: Domain, sentence: str, ranks: dict[str, float], costs: dict[str, int], limit: int
    ) -> frozenset[str]:
        key = (domain.name, sentence, hash(frozenset(costs)))
        with self._lock:
            before = self._chosen.get(key, frozenset())
            names, spent = set(before), sum(costs[n] for n in before)
            for name in sorted(costs, key=lambda n: (-ranks[n], n)):
                if name in names:
                    continue
                if ranks[name] < _IMPORTANT and (before or spent + costs[name] > limit):
                    break
                names.add(name)
                spent += costs[name]
            self._chosen[key] = frozenset(names)
            self._chosen.move_to_end(key)
            while len(self._chosen) > REMEMBERED:
                self._chosen.popitem(last=False)
            return self._chosen[key]


_IMPORTANT = 3.0  # ranks from here on are shown in any case


def _ranks(
    domain: Domain, world: World, sentence: str, must: set[str], facts: Sequence[Literal], embedder: Embedder
) -> dict[str, float]:
    """Relevance of each object to a sentence; from _IMPORTANT on it is named, held, acted on, or the place of such."""
    said = {_stem(w) for w in re.findall(r"[a-z]+", sentence.lower())}
    classes = {o.name: (o.class_name or o.name).lower() for o in world.objects}
    known = sorted(set(classes.values()))
    rows = embedder.embed([*(spoken(c) for c in known), sentence])
    likeness = dict(zip(known, (float(x) for x in rows[:-1] @ rows[-1])))
    many = {c for word, of in domain.categories.items() if _stem(word) in said for c in of}
    of_kind = {}
    for kind in known:
        words = {_stem(w) for w in re.findall(r"[a-z]+", kind)}
        named = words <= said or kind in many or "".join(sorted(words)) in said
        of_kind[kind] = max(0.0, likeness[kind]) + (_IMPORTANT if named else 1.5 if words & said else 0.0)
    # Tools and rooms that the domain knows by type count more.
    plain = {t for t, parent in domain.types.items() if parent in ("", "object")} - {"room"}
    ranks = {o.name: of_kind[classes[o.name]] + (0.0 if o.type in plain else 1.0) for o in world.objects}
    for name in must & ranks.keys():
        ranks[name] += _IMPORTANT
    count: dict[str, int] = defaultdict(int)
    for fact in facts:
        count[fact.predicate] += 1
    for fact in facts:  # what the state of the agent names: held, sat on, the room it is in
        if len(fact.args) == 1 and count[fact.predicate] <= 2 and fact.args[0] in ranks:
            ranks[fact.args[0]] += _IMPORTANT
    for _ in range(2):  # the places of what matters, and the places of those
        for fact in facts:
            if len(fact.args) == 2 and ranks.get(fact.args[0], 0.0) >= _IMPORTANT > ranks.get(fact.args[1], _IMPORTANT):
                ranks[fact.args[1]] = _IMPORTANT
    for fact in facts:
        if len(fact.args) == 2 and fact.args[0] in ranks and fact.args[1] in ranks and ranks[fact.args[1]] < 1.0:
            ranks[fact.args[1]] = 1.0  # things are in or on it
    return ranks


def _observed(
    domain: Domain,
    facts: Sequence[Literal],
    ranks: dict[str, float],
    names: frozenset[str],
    limit: int,
    costs: dict[str, int],
) -> frozenset[Literal]:
    """The facts that fit into the observation: about the agent first, then by relevance. Places are told as lists."""
    place = prompt_notes(domain).get("place", "")

    def rank(fact: Literal) -> tuple[float, str, tuple[str, ...]]:
        of_objects = [ranks[a] for a in fact.args if a in ranks]
        weight = -(max(of_objects) + 0.1 * sum(of_objects)) if of_objects else -100.0
        return (weight, fact.predicate, fact.args)

    kept: set[Literal] = set()
    spent = 0
    for fact in sorted((f for f in facts if all(a in names for a in f.args)), key=rank):
        spent += costs[fact.args[0]] if fact.predicate == place else estimated_tokens(domain.phrase(fact)) + 1
        if spent > limit:
            break
        kept.add(fact)
    return frozenset(kept)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
