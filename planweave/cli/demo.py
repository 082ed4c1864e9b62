"""Run four sentences on the simulated arm; the third must fail first and recover, the fourth is in a kitchen.

Writes to out/demo/, for each sentence: a video, pictures before and after, the action tree as a picture; and for all
together result.json and transcript.md, the prompts and replies of the language model.

examples:
  planweave demo
  planweave demo --only 1 --out /tmp/demo
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import ConfigError, PlanweaveError, SystemDownError
from planweave.core.base.usage import Usage
from planweave.core.trees.action_tree import TreeRow
from planweave.core.workflow.task_status import usage_text

if TYPE_CHECKING:
    from rich.console import Console

    from planweave_ros.client import Client, TaskResult


JOINS = False
VIDEO_PATIENCE, VIDEO_FRAMES = 1.5, 48  # seconds that writing each video may wait for rendering; frames at most
MAX_NODES = 80  # of the picture of a tree, preferring those tried


@dataclass(frozen=True)
class DemoTask:
    """One sentence of the demo. system: that carries it out; must_recover: a failed action and a reached goal are both
    expected.
    """

    name: str
    system: str
    scene: str
    sentence: str
    must_recover: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the results (default: out/demo)")
    parser.add_argument("--only", type=int, metavar="N", help="only the Nth sentence")
    parser.add_argument("--method", default="", help="planning method (default: that of config/feedback.yaml)")


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave.cli.run import started

    tasks = load_demo()
    if options.only is not None and not 1 <= options.only <= len(tasks):
        raise ConfigError(f"--only {options.only}: expected 1 to {len(tasks)}")
    chosen = tasks if options.only is None else tasks[options.only - 1 : options.only]
    out = options.out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {options.out}: {error.strerror}") from None
    for old in [*out.glob("[0-9]-*"), out / "result.json", out / "transcript.md"]:
        old.unlink(missing_ok=True)
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    begun = time.monotonic()
    entries: list[dict[str, Any]] = []
    settings, started_in = {"video_patience": str(VIDEO_PATIENCE), "video_frames": str(VIDEO_FRAMES)}, 0.0
    for system, group in itertools.groupby(chosen, lambda task: task.system):
        now, its = time.monotonic(), list(group)
        with started(system, {**settings, "scene": its[0].scene}, console) as (client, running):
            started_in += time.monotonic() - now
            for task in its:
                entries.append(_one(client, console, task, out, options.method, running.check, load=task is not its[0]))
    return _finish(console, entries, out, started_in, time.monotonic() - begun)


def load_demo() -> list[DemoTask]:
    """The tasks of config/demo.yaml; raises ConfigError."""
    from planweave.core.base.paths import config_dir
    from planweave.core.base.yaml_files import read_yaml

    path = config_dir() / "demo.yaml"
    try:
        return [DemoTask(**row) for row in read_yaml(path)["tasks"]]
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _one(
    client: Client, console: Console, task: DemoTask, out: Path, method: str, check: Callable[[], None], load: bool
) -> dict[str, Any]:
    """Run one task and write its pictures and video; returns its entry for result.json."""
    from planweave.cli.progress import Progress, done_lines, summary
    from planweave.cli.results import result_json
    from planweave.core.trees.action_tree import with_fallback

    console.print(f"\n[bold]{task.name}[/bold]  scene {task.scene}\n  “{task.sentence}”")
    if load:
        client.load_scene(task.scene)
    client.start_recording()
    with Progress(console, task.sentence) as progress:
        result = client.run_task(
            task.sentence, method=method, timeout=300.0, on_status=progress.status, on_tree=progress.tree, watch=check
        )
    summary(console, result.status, result.message)
    for line in done_lines(result.record):
        console.print(f"  {line}", highlight=False, markup=False)
    entry = {"name": task.name, "scene": task.scene, **result_json(result)}
    entry["recovered"] = recovered(result)
    entry["planned_by_model"] = planned_by_model(result)
    entry["as_expected"] = result.success and (entry["recovered"] or not task.must_recover)
    if task.must_recover:
        did = "it did" if entry["recovered"] else "nothing failed"
        console.print(f"  this one had to fail first and recover: {did}")
    files = []
    with _told(console, "video"):
        client.stop_recording(str(out / f"{task.name}.webm"))
        files.append(f"{task.name}.webm")
    with _told(console, "picture before and after"):
        files.append(_side_by_side(out, task.name))
    with _told(console, "picture of the tree"):
        picture = f"{task.name}-tree.svg"
        if draw_tree(with_fallback(result.rows, result.record), out / picture, task.sentence):
            files.append(picture)
    entry["files"] = files
    return entry


@contextlib.contextmanager
def _told(console: Console, what: str) -> Any:
    """Print a problem with an output file instead of ending the demo."""
    try:
        yield
    except SystemDownError:
        raise
    except (PlanweaveError, OSError) as error:
        console.print(f"  no {what}: {error}")


def _side_by_side(out: Path, name: str) -> str:
    """Join the first and last picture of the video; returns the name of the new file."""
    from PIL import Image

    paths = [out / f"{name}_{when}.png" for when in ("before", "after")]
    images = [Image.open(path).convert("RGB") for path in paths]
    gap = 8
    joined = Image.new("RGB", (sum(image.width for image in images) + gap, images[0].height), "white")
    joined.paste(images[0], (0, 0))
    joined.paste(images[1], (images[0].width + gap, 0))
    joined.save(out / f"{name}-before-after.png")
    for image, path in zip(images, paths):
        image.close()
        path.unlink()
    return f"{name}-before-after.png"


def recovered(result: TaskResult) -> bool:
    """Whether an action failed on the way to the goal."""
    return result.success and result.status.steps > result.status.executed


def planned_by_model(result: TaskResult) -> bool:
    """Whether the goal was reached by the language model's plan, without the classical planner."""
    status = result.status
    asked = status.method != "classical" and status.usage.requests > 0
    return result.success and asked and status.executed > 0 and not status.fallback


def _finish(console: Console, entries: list[dict[str, Any]], out: Path, started_in: float, seconds: float) -> int:
    """Write result.json and the transcript and print where they are; 0 where every task met expectations."""
    good = all(entry["as_expected"] for entry in entries)

    (out / "transcript.md").write_text(transcript(entries))
    (out / "result.json").write_text(
        json.dumps(
            {
                "success": good,
                "seconds": round(seconds, 1),
                "seconds_to_start": round(started_in, 1),
                "tasks": entries,
            },
            indent=2,
        )
    )
    reached = sum(entry["success"] for entry in entries)
    own = sum(entry["planned_by_model"] for entry in entries)
    console.print(
        f"\n{reached} of {len(entries)} goals reached, {own} as the language model planned, in "
        f"{seconds:.0f} s ({started_in:.0f} s to start). "
        f"In {out}: {', '.join(sorted(path.name for path in out.iterdir()))}"
    )
    return 0 if good else 1


def transcript(entries: Sequence[dict[str, Any]]) -> str:
    """The exchanges in the records of ended tasks (results.result_json, with a name each)."""
    lines = ["# Requests to language models", ""]
    for entry in entries:
        usage = entry["usage"]
        lines += [
            f"## {entry['name']}: {entry['sentence']}",
            "",
            f"Goal ({entry['goal_source'] or 'unknown'}): `{' and '.join(entry['goal']) or 'none'}`",
            "",
            usage_text(Usage(**usage)) + ".",
            "",
        ]
        exchanges = [event for event in entry["record"].get("events", []) if event.get("event") == "exchange"]
        for number, exchange in enumerate(exchanges, 1):
            kind, seconds = exchange.get("kind", "question"), exchange.get("seconds", 0.0)
            lines += [f"### Exchange {number} ({kind}), at {seconds:.1f} s", ""]
            lines += _request(exchange.get("request"))
            error = exchange.get("error")
            lines += [f"**no answer**: {error}", ""] if error else _reply(exchange.get("reply"))
        if not exchanges:
            asked = usage["requests"] or usage["endpoint"]
            lines += ["No exchange is in the record." if asked else "No model was asked.", ""]
    return "\n".join(lines)


def _request(request: Any) -> list[str]:
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        return _block(_text(request))
    lines = []
    for message in request["messages"]:
        lines += [f"**{message.get('role', '?')}**" if isinstance(message, dict) else "**?**", ""]
        lines += _block(_text(message.get("content")) if isinstance(message, dict) else _text(message))
    apart = ("messages", "json_schema")
    settings = {key: value for key, value in request.items() if key not in apart and value is not None}
    settings["json_schema"] = bool(request.get("json_schema"))
    return [*lines, "Settings: " + ", ".join(f"{key} {value}" for key, value in settings.items()), ""]


def _reply(reply: Any) -> list[str]:
    """Replies without duplicates, with their counts; a record may hold them cut (Journal)."""
    replies = reply.get("replies") if isinstance(reply, dict) else None
    if not isinstance(replies, list):
        return ["**reply**", "", *_block(_text(reply))]
    counts = Counter(_text(one.get("text") if isinstance(one, dict) else one) for one in replies)
    lines = []
    for text, count in counts.most_common():
        lines += [f"**reply** ×{count}" if count > 1 else "**reply**", "", *_block(text)]
    return lines


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _block(text: str) -> list[str]:
    """A fenced code block, so that no part of the text is interpreted as Markdown."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, text, fence, ""]


def draw_tree(rows: Sequence[TreeRow], path: Path, title: str) -> bool:
    """Write the tree as an SVG, as `planweave run` shows it on a terminal; whether there is anything in it."""
    from rich.console import Console

    from planweave.cli.progress import tree_view

    view = tree_view(rows, MAX_NODES)
    if view is not None:
        width = max(100, 70 + 4 * max(row.time_step for row in rows))  # each step is four columns further in
        console = Console(record=True, file=io.StringIO(), width=width, force_terminal=True)
        console.print(view)
        console.save_svg(str(path), title=title)
    return view is not None
