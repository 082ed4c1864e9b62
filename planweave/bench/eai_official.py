"""Scores of the Embodied Agent Interface's official scorer, reported separately and labelled (package eai-eval)."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.bench.records import read_record
from planweave.bench.suites.eai import package_folder
from planweave.core.symbolic.world import Action

if TYPE_CHECKING:
    from rich.console import Console

    from planweave.bench.results import Played, Results


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
