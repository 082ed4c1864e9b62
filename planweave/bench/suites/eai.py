"""Suite `eai`: the 342 tasks of the Embodied Agent Interface on VirtualHome.

State and edge goals must hold at the end, action goals must have been executed in order, and all tasks count. The
official scorer gives even gold plans no success; its results are reported separately. Tasks
and homes come from the optional package `eai-eval`, or from a folder `eai_virtualhome` in PLANWEAVE_TEST_DATA.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import json
import os
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.bench.records import read_record
from planweave.bench.suites.case import Case
from planweave.bench.suites.home import HomeStage
from planweave.bodies.home.facts import edge_literal, state_literal
from planweave.bodies.home.graph import Graph, graph_from
from planweave.bodies.home.vocabulary import HomeVocabulary, read_line
from planweave.core.base.errors import MissingExtraError
from planweave.core.symbolic.world import Action, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from planweave.bench.results import Played, Results

_PROGRAMS = "dataset/programs_processed_precond_nograb_morepreconds"
_RUN = "TrimmedTestScene1_graph/results_intentions_march-13-18"


class EaiSuite:
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
    """Folder of the installed eai-eval, found without importing it."""
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


def official_scores(results: Results, console: Console) -> list[dict[str, Any]]:
    """A row for each method and model, over the first repetition; empty, with a message, where the package is missing.

    The official scorer takes a plan: it is given the executed actions.
    """
    folder = package_folder()
    if folder is None or importlib.util.find_spec("virtualhome_eval.evaluation") is None:
        console.print("EAI's own scorer is not asked: pip install 'planweave[eai]'", markup=False)
        return []
    rows = []
    for model in results.models:
        for method in results.methods(model):
            episodes = [e for e in results.row(method, model).episodes if e.spec.repetition == 0]
            if episodes:
                rows.append({"method": method, "model": model, "plans": len(episodes), **_score(folder, episodes)})
    return rows


def _score(package: Path, episodes: list[Played]) -> dict[str, Any]:
    """Task success and execution success of the official scorer, in percent; the reason where it fails."""
    try:
        from virtualhome_eval.evaluation.action_sequencing.scripts.evaluate_results import evaluate_results
    except ImportError as error:
        return {"task_success": f"cannot be imported: {error}", "execution_success": "–"}
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(None):
        answers = Path(name) / "answers" / "virtualhome" / "action_sequencing"
        answers.mkdir(parents=True)
        text = json.dumps([{"identifier": e.spec.case, "llm_output": _answer(e)} for e in episodes])
        (answers / "planweave_outputs.json").write_text(text, encoding="utf-8")
        options = Namespace(
            dataset="virtualhome",
            llm_response_path=str(Path(name) / "answers"),
            resource_dir=str(package / "resources"),
            dataset_dir=str(package / "dataset"),
            output_dir=str(Path(name) / "scores"),
        )
        try:
            evaluate_results(options)
            found = next(Path(name, "scores").rglob("summary.json"))
            summary = json.loads(found.read_text(encoding="utf-8"))
        except ZeroDivisionError:
            return {
                "task_success": "not for these tasks alone: it needs some with each kind of goal",
                "execution_success": "–",
            }
        except Exception as error:  # of their code, whatever it is
            return {
                "task_success": f"their scorer failed: {type(error).__name__}: {error}"[:200],
                "execution_success": "–",
            }
    return {
        "task_success": summary["goal_evaluation"]["task_success_rate"],
        "execution_success": summary["trajectory_evaluation"]["execution_success_rate"],
    }


def _answer(episode: Played) -> str:
    """The executed actions in the required answer format: {"WALK": ["fridge", "289"], …}."""
    events = read_record(episode.path)
    done = [Action.parse(e["action"]) for e in events if e["event"] == "action" and e["code"] == "SUCCESS"]
    pairs = []
    for action in done:
        args = [part for arg in action.args for part in arg.rpartition("_")[::2]]
        pairs.append(f"{json.dumps(action.name.upper())}: {json.dumps(args)}")
    return "{" + ", ".join(pairs) + "}"
