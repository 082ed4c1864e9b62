"""Searches of the kairos planner that end at their deadline, whatever the size of the task.

kairos looks at its own deadline while it searches, but hardly while it reads and grounds: a task with a long text or
too many ground actions is therefore searched in a child process, which can be killed. Its start takes about 50 ms, so
that small tasks are searched in a thread of this process.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any

import kairos

from planweave.core.pddl.formula import Atom, Effect, Formula, TypedVariable, conjuncts, quantified_in
from planweave.core.planning import kairos_child
from planweave.core.planning.deadline import Deadline, Watched
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.state import Members
from planweave.core.symbolic.transition import fixed_predicates
from planweave.core.symbolic.world import World

SMALL = 100_000
"""Ground instances up to which kairos grounds a task in about 0.1 s."""
_SHORT = 200_000  # characters, which kairos reads in about 0.05 s
_REPORT = 0.05  # s before the deadline at which a child process ends its search, to say so
_OPTIONS: dict[str, Any] = {"search": "ff", "anytime": False}
POLL = 0.02  # s


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. status: the name of a kairos.Status; messages: of kairos, about its end."""

    status: str
    steps: tuple[tuple[str, tuple[str, ...]], ...] = ()
    messages: tuple[str, ...] = ()
    states: int = 0

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> SearchResult:
        steps = tuple((name, tuple(args)) for name, args in row.get("steps", ()))
        return cls(row["status"], steps, tuple(row["messages"]), row.get("states", 0))

    @property
    def solved(self) -> bool:
        return self.status == "SOLVED"

    @property
    def unsolvable(self) -> bool:
        return self.status == "UNSOLVABLE"

    @property
    def unexplained(self) -> bool:
        """Return whether that is said without a search and without a reason, which kairos 1.0.6 does of solvable
        tasks, too: seldom, and not again for the same task.
        """
        return self.unsolvable and not self.states and not self.messages


@lru_cache(maxsize=8)
def _parsed(domain_pddl: str) -> kairos.Domain:
    return kairos.parse_domain(domain_pddl)


class ThreadSearch:
    """A search in a thread of this process."""

    def __init__(self, domain_pddl: str, problem_pddl: str, deadline: Deadline) -> None:
        self._ended: SearchResult | None = None
        try:
            problem = kairos.parse_problem(problem_pddl, _parsed(domain_pddl))
        except kairos.PddlError as error:
            self._ended = SearchResult("INVALID_INPUT", messages=(str(error),))
        else:
            planner: Any = kairos.Planner
            self._search = planner().start(problem, timeout=max(deadline.left, 1e-4), **_OPTIONS)

    def result(self, wait: float) -> SearchResult | None:
        """Its result, for which `wait` seconds are waited at most; None while it is running."""
        end = time.monotonic() + wait
        while self._ended is None:
            if self._search.wait_first(min(wait, POLL)) is not None or not self._search.running():
                self._ended = SearchResult.from_dict(kairos_child.as_dict(self._search.wait()))
            elif time.monotonic() >= end:
                break
        return self._ended

    def stop(self) -> None:
        """End it; its result is of no interest any more."""
        if self._ended is None:
            self._search.stop()
            Thread(target=self._search.wait).start()  # whoever lets go of it first waits for its end


class ChildSearch:
    def __init__(self, domain_pddl: str, problem_pddl: str, deadline: Deadline) -> None:
        task = {"domain": domain_pddl, "problem": problem_pddl, "end": deadline.end - _REPORT, "options": _OPTIONS}
        self._input: str | None = json.dumps(task)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", kairos_child.__file__, str(Path(kairos.__file__).parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self, wait: float) -> SearchResult | None:
        given, self._input = self._input, None
        try:
            out, error = self._process.communicate(given, timeout=wait)
        except subprocess.TimeoutExpired:
            return None
        try:
            return SearchResult.from_dict(json.loads(out))
        except (ValueError, KeyError):  # killed for its memory, or crashed
            last = error.strip().splitlines()[-1:] or [f"its process ended with {self._process.returncode}"]
            return SearchResult("INTERNAL_ERROR", messages=(f"the planner failed: {last[0][:200]}",))

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


Search = ThreadSearch | ChildSearch


def start(domain_pddl: str, problem_pddl: str, deadline: Deadline, instances: float) -> Search:
    """Start a search for a short plan. instances: see `ground_instances`."""
    large = instances > SMALL or len(domain_pddl) + len(problem_pddl) > _SHORT
    return (ChildSearch if large and sys.executable else ThreadSearch)(domain_pddl, problem_pddl, deadline)


def ground_instances(domain: Domain, world: World, watched: Watched = iter) -> float:
    """An upper bound of the ground instances of actions, axioms and their quantified parts, as far as static facts
    bound it. watched: see Deadline; it sees each of them.

    Parameters that static facts bind count as often as there are such facts.
    """
    counts, members = Counter(fact.predicate for fact in world.facts), Members(domain, world.objects)
    rows = [(s.parameters, s.precondition, s.effects) for s in domain.actions.values()]
    rows += [(a.parameters, a.condition, ()) for a in domain.axioms]
    fixed = fixed_predicates(domain)

    def size(variables: Iterable[TypedVariable]) -> float:
        return math.prod(float(len(members[v.types])) for v in variables)

    def instances(parameters: Sequence[TypedVariable], condition: Formula, effects: Sequence[Effect]) -> float:
        free, whole = {p.name: p for p in parameters}, 1.0
        static = [a for a in conjuncts(condition) if isinstance(a, Atom) and a.predicate in fixed]
        for atom in sorted(static, key=lambda a: counts[a.predicate]):
            bound = [free[t] for t in dict.fromkeys(atom.terms) if t in free]
            if bound and counts[atom.predicate] < size(bound):
                whole *= counts[atom.predicate]
                for parameter in bound:
                    del free[parameter.name]
        inner = sum(size(e.variables) for e in effects if e.variables)
        return whole * size(free.values()) * (1.0 + inner + sum(size(q.variables) for q in quantified_in(condition)))

    return sum(instances(*row) for row in watched(rows))
