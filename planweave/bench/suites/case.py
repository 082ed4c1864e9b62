"""What a suite is made of: cases, tasks with a provable goal and a plan that reaches it, and stages to play them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planweave.bench.faults import Fault
from planweave.core.domain import Domain
from planweave.core.ports import Body
from planweave.core.world import Action, Literal, World


@dataclass(frozen=True)
class Case:
    """One task. goal: literals that must hold at the end; instead: other goals that count as well.

    in_order: names of actions that must have been carried out in this order (EAI's action goals; several names are
    alternatives). gold: a plan that reaches the goal on this case's stage; plan: the one of somebody who does not know
    of the fault, where it differs. groups: rows of the report that the case counts for besides the suite.
    """

    id: str
    sentence: str
    scene: str
    goal: tuple[Literal, ...]
    gold: tuple[Action, ...]
    instead: tuple[tuple[Literal, ...], ...] = ()
    in_order: tuple[frozenset[str], ...] = ()
    source: str = ""
    groups: tuple[str, ...] = ()
    fault: Fault | None = None
    plan: tuple[Action, ...] = field(default=())

    @property
    def expected(self) -> tuple[Action, ...]:
        """The plan of somebody who foresees no fault."""
        return self.plan or self.gold

    def conditions(self, holds: Callable[[Literal], bool], done: Sequence[Action]) -> dict[str, bool]:
        """What must be fulfilled at the end and whether it is: the literals of the goal that is nearest, then the
        actions in order. done: the actions that were carried out."""
        goals = [{str(g): holds(g) for g in goal} for goal in (self.goal, *self.instead)]
        best = max(goals, key=lambda g: (all(g.values()), sum(g.values()) / max(1, len(g))))
        names = iter(a.name for a in done)
        for number, wanted in enumerate(self.in_order, 1):
            best[f"action {number}: {' or '.join(sorted(wanted))}"] = any(name in wanted for name in names)
        return best


class Stage(Protocol):
    """Where one episode plays: a fresh body, and the truth about it for the judge. One episode, one stage."""

    domain: Domain
    body: Body
    #: whether the same actions on a new stage of the case give the same outcomes
    reproducible: bool

    def truth(self) -> World:
        """The world as it is, whatever the body was able to see."""

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """The case's conditions as they are now."""

    def after_gold(self) -> frozenset[Literal]:
        """The facts of the world as it is after the gold plan, from where this episode began."""

    def close(self) -> None:
        """Let go of everything. May be called twice."""


class Suite(Protocol):
    """A set of cases and how to set them up."""

    name: str
    description: str
    #: whether its stages speak to nodes
    needs_ros: bool

    def cases(self) -> Mapping[str, Case]:
        """All cases by their ids; raises MissingExtraError or ConfigError where they cannot be had."""

    def stage(self, case: Case, repetition: int = 0) -> Stage:
        """A fresh stage for one episode of a case; repetitions may differ where the suite says so."""

    def close(self) -> None:
        """End what this process has started for the suite."""
