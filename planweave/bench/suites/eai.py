"""Suite `eai`: the 342 tasks of the Embodied Agent Interface on VirtualHome.

State and edge goals must hold at the end, action goals must have been executed in order, and all tasks count. The
official scorer gives even gold plans no success; its results are reported separately, see
`planweave.bench.eai_official`. Tasks and homes come from the optional package `eai-eval`, or from a folder
`eai_virtualhome` in PLANWEAVE_TEST_DATA.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.bench.suites.case import Case
from planweave.bench.suites.home import HomeStage
from planweave.bodies.home.facts import edge_literal, state_literal
from planweave.bodies.home.graph import Graph, graph_from
from planweave.bodies.home.script import read_line
from planweave.bodies.home.vocabulary import HomeVocabulary
from planweave.core.base.errors import MissingExtraError
from planweave.core.symbolic.world import Literal

_PROGRAMS = "dataset/programs_processed_precond_nograb_morepreconds"
_RUN = "TrimmedTestScene1_graph/results_intentions_march-13-18"


class EaiSuite:
    """The tasks in the order of the data."""

    name = "eai"
    description = "342 tasks of the Embodied Agent Interface (VirtualHome), our corrected scorer"
    needs_ros = False

    def close(self) -> None:
        """Does nothing."""

    def cases(self) -> Mapping[str, Case]:
        """All tasks; reading them takes a few seconds once. Raises MissingExtraError."""
        return _cases()

    def stage(self, case: Case, repetition: int = 0) -> HomeStage:
        _cases()
        return HomeStage(case, _graph(case.id))


def package_folder() -> Path | None:
    """Where eai-eval is installed, without importing it."""
    found = importlib.util.find_spec("virtualhome_eval")
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None


def data_folder() -> Path | None:
    given = os.environ.get("PLANWEAVE_TEST_DATA")
    folder = Path(given) / "eai_virtualhome" if given else None
    return folder if folder and (folder / "tasks_342.json").is_file() else None


@lru_cache(maxsize=1)
def _cases() -> Mapping[str, Case]:
    vocabulary = HomeVocabulary.load()
    return {row["id"]: _case(row, _graph(row["id"]), vocabulary) for row in _rows()}


def _case(row: Mapping[str, Any], graph: Graph, vocabulary: HomeVocabulary) -> Case:
    goal = [state_literal(graph, vocabulary, g["id"], g["state"]) for g in row["states"]]
    goal += [edge_literal(graph, e["from_id"], e["relation_type"], e["to_id"]) for e in row["edges"]]
    unique: dict[Literal, None] = dict.fromkeys(goal)
    return Case(
        row["id"],
        f"{row['task']}: {' '.join(row['description'].split())}",
        "TrimmedTestScene1",
        tuple(unique),
        tuple(read_line(line, graph, vocabulary) for line in row["plan"]),
        in_order=tuple(frozenset(a.lower() for a in goal.split("|")) for goal in row["actions"]),
        source="Embodied Agent Interface",
        groups=("action goals",) if row["actions"] else (),
    )


def _rows() -> Iterator[dict[str, Any]]:
    """id, task, description, states, edges, actions (goals), plan (lines)."""
    folder = data_folder()
    if folder:
        for row in json.loads((folder / "tasks_342.json").read_text(encoding="utf-8")):
            yield {
                "id": row["id"],
                "task": row["task"],
                "description": row["description"],
                "states": row["state_goals"],
                "edges": row["edge_goals"],
                "actions": row["action_goals_ordered"],
                "plan": row["gold_plan"],
            }
        return
    package = _package()
    resources = package / "resources" / "virtualhome"
    tasks = json.loads((resources / "task_state_LTL_formula_accurate.json").read_text(encoding="utf-8"))["scene_1"]
    for name, programs in tasks.items():
        for number, program in programs.items():
            text = (package / _PROGRAMS / "executable_programs" / _RUN / f"file{number}.txt").read_text("utf-8")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            goals = program["vh_goal"]
            yield {
                "id": number,
                "task": name,
                "description": " ".join(x for x in lines[1:] if not x.startswith("[")),
                "states": [g for g in goals["goal"] if "state" in g],
                "edges": [g for g in goals["goal"] if "relation_type" in g],
                "actions": goals["actions"],
                "plan": [re.sub(r"\(\d+\.(\d+)\)", r"(\1)", x) for x in lines if x.startswith("[")],
            }


def _package() -> Path:
    folder = package_folder()
    if folder is None:
        raise MissingExtraError("the suite eai (its tasks and homes)", "eai")
    return folder


@lru_cache(maxsize=1)
def _packed() -> dict[str, str]:
    """The homes of a data folder as JSON texts, by task."""
    folder = data_folder()
    assert folder is not None
    with gzip.open(folder / "init_graphs_342.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {re.match(r'\{"id": "([^"]+)"', line).group(1): line for line in lines}  # type: ignore[union-attr]


@lru_cache(maxsize=16)
def _graph(number: str) -> Graph:
    if data_folder():
        return graph_from(json.loads(_packed()[number]), number)
    path = _package() / _PROGRAMS / "init_and_final_graphs" / _RUN / f"file{number}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    return graph_from(data["init_graph"], number)
