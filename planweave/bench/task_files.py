"""`--tasks FILE`: ids of a suite's tasks, one a line or as a YAML or JSON list, or tasks of one's own.

A task of one's own is a row of a mapping, as in planweave/bench/tasks/home.yaml: sentence, scene, goal, and optionally
`or` (goals that count as well) and gold (a plan that reaches the goal; where there is none, the classical planner's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planweave.bench.suites import SUITES, Case
from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.yaml_files import parse_yaml, read_text
from planweave.core.planning.solver import solve

Rows = Mapping[str, Mapping[str, Any]]
NO_ROWS: Rows = {}
_YAML = (".yaml", ".yml", ".json")
_SUFFIXES = (*_YAML, ".txt")
_KEYS = ("sentence", "scene", "goal", "or", "gold", "source")
_LISTS = ("or", "gold")
_SECONDS = 30.0


def cases_of(suite: str, rows: Rows = NO_ROWS) -> Mapping[str, Case]:
    """The suite's tasks and those of one's own; raises ConfigError or MissingExtraError."""
    cases = SUITES[suite].cases()
    return {**cases, **{name: _reader(suite)(name, row) for name, row in rows.items()}} if rows else cases


def chosen_tasks(asked: Sequence[str], suite: str, limit: int = 0) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Ids in the suite's order, those of one's own last, and the rows of the latter.

    asked: ids, separated by commas, or paths of files; none: all of the suite. limit: only the first ones, 0 for all.
    Raises UnknownNameError for an unknown id, ConfigError that names file and task.
    """
    known = SUITES[suite].cases()
    wanted: list[str] = []
    rows: dict[str, Any] = {}
    for text in asked:
        ids, own = _read(Path(text), suite, known) if _is_path(text, known) else ([text], {})
        wanted += ids
        rows |= own
    found = ids_of(wanted, [*known, *rows], limit)
    return found, {name: row for name, row in rows.items() if name in found}


def ids_of(asked: Sequence[str], known: Sequence[str], limit: int = 0) -> tuple[str, ...]:
    """The requested ids, in the order of `known`; all where none is named. Raises UnknownNameError."""
    wanted = dict.fromkeys(part for text in asked for part in text.split(",") if part)
    for name in wanted.keys() - set(known):
        raise UnknownNameError("task", name, known)
    found = [k for k in known if not wanted or k in wanted]
    return tuple(found[:limit] if limit else found)


def _is_path(text: str, known: Mapping[str, Case]) -> bool:
    return is_file(text) or ("/" in text and text not in known)


def is_file(text: str) -> bool:
    """Whether a text of --tasks names a file, by its ending."""
    return text.endswith(_SUFFIXES)


def _read(path: Path, suite: str, known: Mapping[str, Case]) -> tuple[list[str], dict[str, Any]]:
    text = read_text(path)
    if path.suffix in _YAML:
        data = parse_yaml(text, str(path))
    else:
        data = [word for line in text.splitlines() for word in line.partition("#")[0].replace(",", " ").split()]
    if isinstance(data, list) and data and all(isinstance(one, (str, int)) for one in data):
        ids = [str(one) for one in data]
        for name in ids:
            if name not in known:
                raise ConfigError(f"{path}: {UnknownNameError(f'task of the suite {suite}', name, known)}")
        return ids, {}
    if isinstance(data, dict) and data and all(isinstance(row, dict) for row in data.values()):
        rows = {str(name): _checked(path, suite, str(name), row, known) for name, row in data.items()}
        return list(rows), rows
    raise ConfigError(
        f"{path}: expected ids of tasks (one a line, or a list), or a mapping of ids to tasks with sentence, scene and "
        "goal, e.g. my_task: {sentence: switch on the radio, scene: home_flat, goal: switched_on(radio_71)}"
    )


def _checked(path: Path, suite: str, name: str, row: dict[str, Any], known: Mapping[str, Case]) -> dict[str, Any]:
    """The row with a plan that reaches its goal; raises ConfigError."""
    where = f"{path}: {name}"
    if name in known:
        raise ConfigError(f"{where}: the suite {suite} has a task of this name; give it another")
    for key in (*row, "sentence", "scene", "goal"):
        if key not in _KEYS:
            raise ConfigError(f"{where}: {UnknownNameError('key', str(key), _KEYS)}")
        texts = row.get(key) if key in _LISTS else [row.get(key)]
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            what = "a list of texts" if key in _LISTS else "a text"
            raise ConfigError(f"{where}: {key} must be {what}; a task needs sentence, scene and goal")
    if str(row.get("scene", "")).endswith(".json"):
        row = {**row, "scene": str((path.parent / row["scene"]).resolve())}
    try:
        case = _reader(suite)(name, {"gold": [], **row})
        stage = SUITES[suite].stage(case)
        try:
            world = stage.truth()
            for goal in (case.goal, *case.instead):
                for literal in goal:
                    stage.domain.check_literal(literal, world)
            if all(stage.conditions(()).values()):
                raise ConfigError("its goal holds already at the start")
            plan = case.gold or solve(stage.domain, world, case.goal, _SECONDS)
            for action in plan:
                outcome = stage.body.execute(action)
                if not outcome.ok:
                    raise ConfigError(f"its plan fails at {action}: {outcome.message}")
            missed = [text for text, holds in stage.conditions(plan).items() if not holds]
            if missed:
                raise ConfigError(f"its plan does not reach {', '.join(missed)}")
        finally:
            stage.close()
    except PlanweaveError as error:
        raise ConfigError(str(error) if str(error).startswith(str(path)) else f"{where}: {error}") from None
    return {**row, "gold": [str(action) for action in plan]}


def _reader(suite: str) -> Any:
    reader = getattr(SUITES[suite], "case_of", None)
    if reader is None:
        raise ConfigError(f"the suite {suite} takes no tasks of one's own, only ids of its tasks; home does")
    return reader
