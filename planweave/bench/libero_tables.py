"""Tables of the suite `libero`: success by suite, and where and why the failed episodes ended."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from planweave.bench.models import is_simulated
from planweave.bench.report import number_of, title_of
from planweave.bench.results import Played, Results
from planweave.bench.statistics import estimate
from planweave.bench.suites.libero import AS_SAID
from planweave.bench.tables import Table
from planweave.libero.bodies import CAMERA, NAMED, TRUTH
from planweave.libero.suites import LONGEST, contradictory, published

_HEADER = (
    "",
    "episodes",
    "success",
    "95 %",
    f"with {LONGEST:,} steps",
    "in the end",
    "false successes",
    "steps",
    "processor, s",
)
_VIEWS = {
    TRUTH: "view truth: the true poses of all things, an upper bound that says nothing about cameras and stands beside "
    "nothing that others published",
    CAMERA: "view camera: RGB-D pictures of agentview and the wrist, the robot's joints and the sentence; things are "
    "cut out by depth and named once an episode by {vision}; no demonstration, no memory, no tuning for a task, no "
    "model of any thing",
    NAMED: "view named: as view camera, but what is cut out has its true name from the simulator, which no robot has: "
    "an upper bound of names, for measuring cameras, memory and arm",
}
_RULES = (
    "Success: LIBERO's own checker said so after a step within the published limit (spatial 220, object 280, goal 300, "
    f"10: 520, 90: 400 steps of 1/20 s). With {LONGEST:,} steps: the same within that many; – where the episodes ended "
    "at the published limit. In the end: it said so after the last step. False successes: Planweave saw its goal hold "
    "in the end, and LIBERO's checker did not. Steps: median until success. Processor: user and system, of worker and "
    "simulator, the mean of an episode."
)
_STAGES = (
    "read: the sentence was not understood. see: nothing is seen that a name in it means. plan: none was found. grasp, "
    "place, open, close, turn, push: this action failed for good, with the code of the last try. steps: LIBERO's "
    "checker said yes after the limit, or no step was left. judge: Planweave saw its goal hold, and LIBERO's checker "
    "said no. time: the episode took too long. left: no action failed, and the goal is not reached."
)
_NO_ACTION = ("", "", "")


def tables(results: Results) -> list[Table]:
    """For each model the rates of its methods, then what ended the failed episodes."""
    found = []
    for model in results.models:
        for method in results.methods(model):
            episodes = results.row(method, model).episodes
            if episodes:
                found.append(_rates(results, method, model, episodes))
                failed = [e for e in episodes if not e.measures.sr]
                found += [_failures(method, model, failed)] if failed else []
    if results.config.options["view"] == CAMERA and not all(map(is_simulated, results.models)):
        found.append(_published())
    return found


def _published() -> Table:
    columns = ("system", "trained", "remembers", "sees", "on", "rate")
    rows = [[p[c] for c in columns] for p in published()]
    notes = ["As read from stored pages and summaries. Planweave is not trained and remembers nothing of a task."]
    return Table("What others published", columns, rows, notes)


def _rates(results: Results, method: str, model: str, episodes: Sequence[Played]) -> Table:
    view = str(results.config.options["view"])
    by_suite: dict[str, list[Played]] = defaultdict(list)
    for episode in episodes:
        by_suite[episode.spec.case.partition("/")[0]].append(episode)
    rows = [_row(name, some) for name, some in by_suite.items()]
    if len(rows) > 1:
        rows.append(_row("all", episodes))
    said = [e for e in episodes if AS_SAID in e.case.groups]
    odd = sorted({e.case.scene for e in episodes} - {e.case.scene for e in said})
    if odd and said:
        rows.append(_row(f"all but {len(odd)} task{'s' * (len(odd) > 1)} (below)", said))
    vision = results.config.options.get("vision") or "a vision model"
    notes = [f"{_VIEWS.get(view, 'view ' + view).format(vision=vision)}.", _RULES]
    if is_simulated(model):
        notes.insert(0, "Simulated: no language model.")
    return Table(
        f"{_named(method, model)}, view {view}",
        _HEADER,
        rows,
        notes,
        [f"{task}: {contradictory()[task]}." for task in odd],
    )


def _row(name: str, episodes: Sequence[Played]) -> list[str]:
    details = [_details(e) for e in episodes]
    rate = estimate(_by_task(episodes))
    number = number_of("sr", rate)
    longest = f"{sum(d['first'] is not None for d in details) / len(details):.2f}"
    firsts = [d["first"] for e, d in zip(episodes, details) if e.measures.sr]
    return [
        name,
        str(len(episodes)),
        number["text"].partition(" ±")[0] or "–",
        number["range"].strip("[]") or "–",
        longest if all(d["longest"] == LONGEST for d in details) else "–",
        f"{sum(d['holds'] for d in details) / len(details):.2f}",
        str(sum(bool(e.end.get("claimed")) and not d["holds"] for e, d in zip(episodes, details))),
        f"{statistics.median(firsts):.0f}" if firsts else "–",
        f"{statistics.fmean(d['processor_seconds'] for d in details):.1f}",
    ]


def _by_task(episodes: Sequence[Played]) -> dict[str, list[float]]:
    """Success by task; its initial states and repetitions are no independent samples."""
    found: dict[str, list[float]] = defaultdict(list)
    for e in episodes:
        found[e.case.scene].append(e.measures.sr)
    return found


def _failures(method: str, model: str, failed: Sequence[Played]) -> Table:
    kinds: dict[tuple[str, str], list[Played]] = defaultdict(list)
    for e in failed:
        kinds[ended_at(e.end)].append(e)
    rows = [
        [stage, code, str(len(some)), ": ".join(filter(None, (some[0].spec.case, _why(some[0].end))))]
        for (stage, code), some in sorted(kinds.items(), key=lambda row: -len(row[1]))
    ]
    return Table(
        f"{_named(method, model)}: where {len(failed)} failed episodes ended",
        ("stage", "code", "episodes", "for example"),
        rows,
        [_STAGES],
    )


def ended_at(end: Mapping[str, Any]) -> tuple[str, str]:
    """Stage (see _STAGES) and code of a failed episode's end, from the last event of its record."""
    details, (action, code, _) = end["details"], end.get("failed", _NO_ACTION)
    if details["first"] is not None or details["steps"] >= details["longest"]:
        return "steps", code
    if action:
        return action.partition("(")[0].partition("_")[0], code
    if end["kind"] == "NoPlanError":
        return "plan", ""
    if end["kind"] in ("GoalError", "AmbiguityError"):
        return ("see" if end["error"].startswith("unknown object") else "read"), ""
    if end["kind"] == "CanceledError":
        return "time", ""
    if end["kind"]:
        return "error", end["kind"]
    return ("judge" if end.get("claimed") else "left"), ""


def _named(method: str, model: str) -> str:
    title = title_of(model)
    return f"{method}, {title[0].lower()}{title[1:]}"


def _why(end: Mapping[str, Any]) -> str:
    _, _, message = end.get("failed", _NO_ACTION)
    text = " ".join(str(message or end["error"] or end["message"] or "").split())
    return text if len(text) <= 160 else text[:159] + "…"


def _details(episode: Played) -> Mapping[str, Any]:
    found: Mapping[str, Any] = episode.end["details"]
    return found
