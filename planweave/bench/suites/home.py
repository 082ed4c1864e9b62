"""Suite `home`: our own household tasks in three homes, partially observed, many with objects in closed containers.

They include the ten of ProgPrompt's test set (Table II) and the four of BCR (Section V.D), by name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.bench.faults import Injection
from planweave.bench.suites.case import Case
from planweave.bodies.home.graph import Graph, load_graph
from planweave.bodies.home.port import HomePort, SimulatedHome
from planweave.bodies.home.simulator import HomeSimulator, StepResult
from planweave.core.base.errors import ConfigError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody


class PlainHome(SimulatedHome):
    """A home for one episode, with the faults of `injection`."""

    def __init__(self, graph: Graph, injection: Injection | None = None) -> None:
        self.simulator = HomeSimulator(graph)
        self.lock = threading.Lock()
        self._injection = injection

    def execute(self, action: Action, timeout: float, stopped: Callable[[], bool]) -> StepResult:
        with self.lock:
            if self._injection is not None:
                return self._injection.execute(self.simulator, action)
            return self.simulator.execute(action)


class HomeStage:
    """A home in the built-in simulator; evaluated on its true state, not on the agent's observations."""

    reproducible = True

    def __init__(self, case: Case, graph: Graph) -> None:
        self.case, self._graph = case, graph
        home = PlainHome(graph, Injection(case.fault) if case.fault else None)
        self.simulator, self.domain = home.simulator, home.simulator.vocabulary.domain
        self.body: LookingBody = HomePort(home)

    def truth(self) -> World:
        return self.simulator.world()

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """The case's conditions, evaluated now."""
        return self.case.conditions(self.simulator.holds, done)

    def after_gold(self) -> frozenset[Literal]:
        """The facts after the gold plan in a copy of this home."""
        other = HomeStage(self.case, self._graph)
        for action in self.case.gold:
            other.body.execute(action)
        return other.truth().facts

    def close(self) -> None:
        """Does nothing."""


TASKS = Path(__file__).resolve().parents[1] / "tasks" / "home.yaml"


class HomeSuite:
    """The tasks of tasks/home.yaml; a subclass may have its own file."""

    tasks = TASKS
    name = "home"
    description = "our own household tasks in three homes, partially observed"
    needs_ros = False

    def close(self) -> None:
        """Does nothing."""

    def cases(self) -> Mapping[str, Case]:
        return _cases(self.tasks)

    def case_of(self, name: str, row: dict[str, Any]) -> Case:
        """A task of one's own; raises ConfigError (planweave.bench.task_files)."""
        return _case(Path(), name, row)

    def stage(self, case: Case, repetition: int = 0) -> HomeStage:
        return HomeStage(case, load_graph(case.scene))


@lru_cache(maxsize=8)
def _cases(path: Path) -> Mapping[str, Case]:
    return {name: _case(path, name, row) for name, row in read_tasks(path).items()}


def read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a task file; raises ConfigError."""
    rows = read_yaml(path)
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise ConfigError(f"{path}: expected a mapping of task ids to tasks")
    return rows


def literals(text: str) -> tuple[Literal, ...]:
    """``on(a, b); closed(c)`` as literals."""
    return tuple(Literal.parse(part) for part in text.split(";"))


def _case(path: Path, name: str, row: dict[str, Any]) -> Case:
    """scene: a name, or a .json file beside the file of tasks."""
    try:
        source, scene = str(row.get("source", "")), str(row["scene"])
        return Case(
            name,
            str(row["sentence"]),
            str(path.parent / scene) if scene.endswith(".json") else scene,
            literals(row["goal"]),
            tuple(Action.parse(a) for a in row["gold"]),
            tuple(literals(g) for g in row.get("or", ())),
            source=source,
            groups=_groups(source),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {name}: {error!r}; a task needs sentence, scene, goal and gold") from None


def _groups(source: str) -> tuple[str, ...]:
    return tuple(group for mark, group in (("ProgPrompt", "progprompt"), ("BCR", "bcr")) if source.startswith(mark))
