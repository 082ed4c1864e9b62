"""The suites of LIBERO and LIBERO-PRO: their tasks, initial states and published limits, as suites.yaml has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.yaml_files import read_yaml

BASE = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
LONGEST = 4000  # steps of 1/20 s, the limit of evaluations of language-model agents
_PREFIX = "libero_"
_INITS, _FEW = 50, 10  # initial states of a task


@dataclass(frozen=True)
class TaskSuite:
    """A suite. steps: the published limit, in steps of 1/20 s; inits: initial states of each task."""

    name: str
    steps: int
    tasks: int
    inits: int


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_yaml(Path(__file__).resolve().parent / "suites.yaml")
    return found


@lru_cache(maxsize=1)
def suites() -> Mapping[str, TaskSuite]:
    """All complete suites by name."""
    found = {}
    for family, row in _table()["families"].items():
        for variant in ("", *row["variants"], *row["few"]):
            name = _PREFIX + family + (f"_{variant}" if variant else "")
            inits = _FEW if variant in row["few"] else _INITS
            found[name] = TaskSuite(name, row["steps"], row["tasks"], inits)
    return found


def suites_named(names: Sequence[str]) -> tuple[TaskSuite, ...]:
    """The suites by full or short name (goal, goal_swap), the four base suites where none is named.

    Raises UnknownNameError.
    """
    known = suites()
    found = []
    for name in names or BASE:
        full = name if name.startswith(_PREFIX) else _PREFIX + name
        if full not in known:
            raise UnknownNameError("suite of LIBERO", name, [n.removeprefix(_PREFIX) for n in known])
        found.append(known[full])
    return tuple(dict.fromkeys(found))


def suite_of(task: str) -> TaskSuite:
    """The suite of a task, which is named suite/task or suite/task/initial state; raises ConfigError."""
    name, *numbers = task.split("/")
    suite = suites().get(name)
    if suite is None:
        raise UnknownNameError("suite of LIBERO", name, suites())
    bounds = (("tasks", suite.tasks), ("initial states", suite.inits))
    if not 1 <= len(numbers) <= len(bounds) or not all(n.isdecimal() for n in numbers):
        raise ConfigError(f"{task!r} is no task of LIBERO; write suite/task/initial state, e.g. libero_goal/3/0")
    for number, (what, count) in zip(numbers, bounds):
        if int(number) >= count:
            raise ConfigError(f"{task}: {name} has {what} 0 to {count - 1}")
    return suite


def contradictory() -> Mapping[str, str]:
    """Tasks (suite/task) whose goal is not what their sentence says, and what it wants instead."""
    found: Mapping[str, str] = _table()["contradictory"]
    return found


def published() -> Sequence[Mapping[str, str]]:
    """Success rates of others: system, trained, remembers, sees, on (which suites), rate."""
    found: Sequence[Mapping[str, str]] = _table()["published"]
    return found
