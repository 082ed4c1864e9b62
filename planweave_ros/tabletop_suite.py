"""Suite `tabletop`: the papers' tasks on the table and our own, on the running system, evaluated on true poses.

Simulation, perception and executor run as nodes of this process's ROS domain; an action takes seconds. Each repetition
varies the objects' poses (tabletop_runs.py). Records contain every observed world, so that a replay needs no system.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.bench.suites.case import Case
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody

if TYPE_CHECKING:
    from planweave.bench.tabletop_tasks import TabletopTask


_OPENED = contextlib.ExitStack()


class TabletopSuite:
    """The files of planweave/bench/tasks/tabletop."""

    name = "tabletop"
    description = "the papers' tabletop tasks and our own, with the simulated arm"
    needs_ros = True

    def close(self) -> None:
        """Stop the nodes that this process started, if any, in order."""
        _OPENED.close()
        _system.cache_clear()

    def cases(self) -> Mapping[str, Case]:
        return _cases()

    def stage(self, case: Case, repetition: int = 0) -> TabletopStage:
        """The scene set up anew on the running system; raises PlanweaveError where the camera does not see it."""
        return TabletopStage(case, repetition)


class TabletopStage:
    reproducible = False

    def __init__(self, case: Case, repetition: int) -> None:
        from planweave_ros.tabletop_runs import variant

        self.case, self._task, self._system = case, _tasks()[case.id], _system()
        self._scene = self._system.set_up(self._task, variant(self._task, repetition))
        self._start = self._system.truth.bodies(self._scene)
        self.domain = Domain.load("tabletop")
        self.body: LookingBody = self._system.body
        self._first = self.body.observe()

    def truth(self) -> World:
        """The world as the camera sees it: the true poses are for the judge."""
        return self.body.observe()

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """Each condition of the task's checker on the simulator's true poses."""
        from planweave.bench.tabletop_tasks import check

        facts = self.body.observe().facts
        held = next((f.args[0] for f in facts if f.predicate == "holding"), "")
        handed = [f.args[0] for f in facts if f.predicate == "handed_over"]
        bodies = self._system.truth.bodies(self._scene, held)
        return {
            _words(c): not check(replace(self._task, checker=(c,)), bodies, self._start, handed)
            for c in self._task.checker
        }

    def after_gold(self) -> frozenset[Literal]:
        from planweave.bench.recorded_stage import predicted

        return predicted(self.domain, self._first, self.case.gold)

    def close(self) -> None:
        """Does nothing: the system is kept for the next episode."""


@lru_cache(maxsize=1)
def _tasks() -> Mapping[str, TabletopTask]:
    from planweave.bench.tabletop_tasks import TASKS, load_task

    return {name: load_task(name) for name in TASKS}


@lru_cache(maxsize=1)
def _cases() -> Mapping[str, Case]:
    from planweave.bench.tabletop_tasks import PAPERS

    return {
        name: Case(
            name,
            task.sentence,
            task.scene,
            task.goal,
            task.reference,
            source=task.source,
            groups=("papers" if name in PAPERS else "own",),
        )
        for name, task in _tasks().items()
    }


@lru_cache(maxsize=1)
def _system() -> Any:
    """The nodes, started once in this process. Raises PlanweaveError where they stay down."""
    from rich.console import Console

    from planweave_ros.tabletop_runs import RunningStage, Truth, running_parts

    held = _OPENED
    client, body, node = held.enter_context(running_parts(Console(stderr=True, quiet=True)))
    folder = held.enter_context(tempfile.TemporaryDirectory())
    return RunningStage(client, body, Truth(node), Path(folder))


def _words(condition: Mapping[str, Any]) -> str:
    ((name, arguments),) = condition.items()
    if isinstance(arguments, Mapping):
        return f"{name}: " + ", ".join(f"{k} {v}" for k, v in arguments.items())
    return f"{name}: {arguments}"
