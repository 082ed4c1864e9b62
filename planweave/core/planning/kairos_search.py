"""Searches of the kairos planner that end at their deadline, whatever the size of the task.

kairos looks at its own deadline while it searches, but hardly while it grounds: a task with too many ground actions is
therefore searched in a child process, which can be killed. Its start takes about 50 ms, so that small tasks are
searched in a thread of this process.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import kairos

from planweave.core.pddl.formula import Atom, Effect, Formula, Parameter, conjuncts, quantified_in
from planweave.core.planning import kairos_child
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import fixed_predicates
from planweave.core.symbolic.world import World

SMALL = 100_000
"""Ground instances up to which kairos grounds a task in well under a second."""
_SLACK = 0.5  # s that a search may take beyond its deadline
POLL = 0.02  # s


@dataclass(frozen=True)
class SearchResult:
    """How a search ended. status: the name of a kairos.Status; messages: of kairos, about its end."""

    status: str
    steps: tuple[tuple[str, tuple[str, ...]], ...] = ()
    messages: tuple[str, ...] = ()
    states: int = 0

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> SearchResult:
        """The result of kairos_child."""
        steps = tuple((name, tuple(args)) for name, args in row.get("steps", ()))
        return cls(row["status"], steps, tuple(row["messages"]), row.get("states", 0))

    @property
    def solved(self) -> bool:
        """Whether there is a plan."""
        return self.status == "SOLVED"

    @property
    def unsolvable(self) -> bool:
        """Whether it is proved that there is none."""
        return self.status == "UNSOLVABLE"

    @property
    def unexplained(self) -> bool:
        """Whether that is said without a search and without a reason, which kairos 1.0.6 does of solvable tasks, too:
        seldom, and not again for the same task.
        """
        return self.unsolvable and not self.states and not self.messages


class Search(Protocol):
    """A running search."""

    def result(self, wait: float) -> SearchResult | None:
        """Its result, for which `wait` seconds are waited at most; None while it is running."""

    def stop(self) -> None:
        """End it; its result is of no interest any more."""


def start(domain_pddl: str, problem_pddl: str, seconds: float, instances: float) -> Search:
    """Start a search for a short plan. instances: see `ground_instances`; decides where it runs."""
    if instances > SMALL and sys.executable:
        return _ChildSearch(domain_pddl, problem_pddl, seconds)
    return _ThreadSearch(domain_pddl, problem_pddl, seconds)


@lru_cache(maxsize=8)
def _parsed(domain_pddl: str) -> kairos.Domain:
    return kairos.parse_domain(domain_pddl)


def _options(seconds: float) -> dict[str, Any]:
    return {"timeout": max(seconds, 1e-4), "search": "ff", "anytime": False}


class _ThreadSearch:
    def __init__(self, domain_pddl: str, problem_pddl: str, seconds: float) -> None:
        self._ended: SearchResult | None = None
        try:
            problem = kairos.parse_problem(problem_pddl, _parsed(domain_pddl))
        except kairos.PddlError as error:
            self._ended = SearchResult("INVALID_INPUT", messages=(str(error),))
        else:
            planner: Any = kairos.Planner
            self._search = planner().start(problem, **_options(seconds))

    def result(self, wait: float) -> SearchResult | None:
        end = time.monotonic() + wait
        while self._ended is None:
            if self._search.wait_first(min(wait, POLL)) is not None or not self._search.running():
                self._ended = SearchResult.from_dict(kairos_child.as_dict(self._search.wait()))
            elif time.monotonic() >= end:
                break
        return self._ended

    def stop(self) -> None:
        if self._ended is None:
            self._search.stop()


class _ChildSearch:
    def __init__(self, domain_pddl: str, problem_pddl: str, seconds: float) -> None:
        self._task = {"domain": domain_pddl, "problem": problem_pddl, "options": _options(seconds)}
        self._deadline = time.monotonic() + seconds + _SLACK
        self._ended: SearchResult | None = None
        self._input: str | None = json.dumps(self._task)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", kairos_child.__file__, str(Path(kairos.__file__).parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self, wait: float) -> SearchResult | None:
        if self._ended is not None:
            return self._ended
        left = self._deadline - time.monotonic()
        given, self._input = self._input, None
        try:
            out, error = self._process.communicate(given, timeout=max(0.0, min(wait, left)))
        except subprocess.TimeoutExpired:
            if wait >= left:
                self.stop()
                self._ended = SearchResult("TIMEOUT", messages=("grounding had not ended: the task is too large",))
            return self._ended
        try:
            self._ended = SearchResult.from_dict(json.loads(out))
        except (ValueError, KeyError):  # killed for its memory, or crashed
            last = error.strip().splitlines()[-1:] or [f"its process ended with {self._process.returncode}"]
            self._ended = SearchResult("INTERNAL_ERROR", messages=(f"the planner failed: {last[0][:200]}",))
        return self._ended

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def ground_instances(domain: Domain, world: World) -> float:
    """An upper bound of the ground instances of actions, axioms and their quantified parts, as far as static facts
    bound it.

    Parameters that static facts bind count as often as there are such facts.
    """
    counts = Counter(fact.predicate for fact in world.facts)
    rows = [(s.parameters, s.precondition, s.effects) for s in domain.actions.values()]
    rows += [(a.parameters, a.condition, ()) for a in domain.axioms]
    return sum(_instances(domain, world, *row, counts) for row in rows)


def _instances(
    domain: Domain,
    world: World,
    parameters: Sequence[Parameter],
    condition: Formula,
    effects: Sequence[Effect],
    counts: Counter[str],
) -> float:
    sizes = {p.name: len(domain.candidates(p, world.objects)) for p in parameters}
    fixed = fixed_predicates(domain)
    static = [a for a in conjuncts(condition) if isinstance(a, Atom) and a.predicate in fixed]
    whole = 1.0
    for atom in sorted(static, key=lambda a: counts[a.predicate]):
        free = [t for t in dict.fromkeys(atom.terms) if t in sizes]
        if free and counts[atom.predicate] < math.prod(sizes[t] for t in free):
            whole *= counts[atom.predicate]
            for term in free:
                del sizes[term]
    whole *= math.prod(sizes.values())
    inner = sum(_size(domain, world, e.variables) for e in effects if e.variables)
    return whole * (1.0 + inner + sum(_size(domain, world, q.variables) for q in quantified_in(condition)))


def _size(domain: Domain, world: World, variables: tuple[Parameter, ...]) -> float:
    return math.prod(float(len(domain.candidates(v, world.objects))) for v in variables)
