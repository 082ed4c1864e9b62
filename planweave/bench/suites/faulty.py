"""Suite `faults`: household tasks with a fault injected at a fixed place, see `planweave.bench.faults`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.bench.faults import Fault
from planweave.bench.suites.case import Case
from planweave.bench.suites.home import HomeSuite, literals, read_tasks
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.symbolic.world import Action

TASKS = Path(__file__).resolve().parents[1] / "tasks" / "faults.yaml"


class FaultSuite(HomeSuite):
    """The rows of tasks/faults.yaml: tasks of the suite `home`, each with a fault and a plan that handles it."""

    name = "faults"
    description = "household tasks in which an action fails, has no effect, or the world changes under the plan"
    case_of: Any = None  # a task needs its fault

    def cases(self) -> Mapping[str, Case]:
        return _cases(TASKS)


@lru_cache(maxsize=2)
def _cases(path: Path) -> Mapping[str, Case]:
    tasks = HomeSuite().cases()
    return {name: _case(name, row, tasks) for name, row in read_tasks(path).items()}


def _case(name: str, row: dict[str, Any], tasks: Mapping[str, Case]) -> Case:
    try:
        if row["task"] not in tasks:
            raise UnknownNameError("task of the suite home", row["task"], tasks)
        base = tasks[row["task"]]
        changes = literals(row["changes"]) if "changes" in row else ()
        fault = Fault(str(row["fault"]), str(row["action"]), int(row.get("times", 1)), changes)
        gold = tuple(Action.parse(a) for a in row["gold"])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"tasks/faults.yaml: {name}: {error!r}; a row needs task, fault, action and gold") from None
    return Case(
        name,
        base.sentence,
        base.scene,
        base.goal,
        gold,
        base.instead,
        source=base.source,
        groups=(f"fault {row['group']}",),
        fault=fault,
        plan=base.gold,
    )
