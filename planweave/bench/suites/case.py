"""Interfaces of a suite: cases, tasks with a verifiable goal and a plan that reaches it, and stages to run them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from planweave.bench.faults import Fault
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody


@dataclass(frozen=True)
class Case:
    """One task. goal: literals that must hold at the end; instead: alternative goals.

    in_order: names of actions that must have been executed in this order (EAI's action goals; several names are
    alternatives). gold: a plan that reaches the goal on this case's stage; plan: the one without knowledge of the
    fault, where it differs. groups: rows of the report that the case counts for besides the suite. read: the goal that
    is planned for is read from the sentence, as for a person's; `goal` is for the judge.
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
    read: bool = False

    @property
    def expected(self) -> tuple[Action, ...]:
        """The plan without knowledge of the fault."""
        return self.plan or self.gold

    def conditions(self, holds: Callable[[Literal], bool], done: Sequence[Action]) -> dict[str, bool]:
        """Conditions at the end and whether they hold: the literals of the nearest goal, then the actions in order.

        done: the executed actions.
        """
        goals = [{str(g): holds(g) for g in goal} for goal in (self.goal, *self.instead)]
        best = max(goals, key=lambda g: (all(g.values()), sum(g.values()) / max(1, len(g))))
        names = iter(a.name for a in done)
        for number, wanted in enumerate(self.in_order, 1):
            best[f"action {number}: {' or '.join(sorted(wanted))}"] = any(name in wanted for name in names)
        return best


class Stage(Protocol):
    """Environment of one episode: a new body, and the true state for the evaluation.

    A stage may have `details()`, plain values for the end of the record, and `film()`, files that show a failed
    episode, by suffix.
    """

    #: the case, with what only its environment tells (a sentence, a goal)
    case: Case
    domain: Domain
    body: LookingBody
    #: whether the same actions on a new stage of the case give the same outcomes
    reproducible: bool

    def truth(self) -> World:
        """The true world, regardless of observability."""

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """The case's conditions, evaluated now."""

    def after_gold(self) -> frozenset[Literal]:
        """The facts of the true world after the gold plan, from the start of this episode."""

    def close(self) -> None:
        """Release all resources. May be called twice."""


class Suite(Protocol):
    """A set of cases and their setup.

    A suite may have `default_methods`, `case_of` (planweave.bench.task_files), `chosen` (the ids of the cases and the
    options of `stage` for the command's arguments) and `tables` (its own tables of the results).
    """

    name: str
    description: str
    #: whether its stages speak to nodes
    needs_ros: bool

    def cases(self) -> Mapping[str, Case]:
        """All cases by id; raises MissingExtraError or ConfigError where they are not available."""

    def stage(self, case: Case, repetition: int = 0, **options: Any) -> Stage:
        """A new stage for one episode of a case; repetitions may differ where the suite says so.

        options: those of `chosen`.
        """

    def close(self) -> None:
        """Stop what this process has started for the suite."""
