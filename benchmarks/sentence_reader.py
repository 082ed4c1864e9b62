"""Sentences that others wrote, read as the product reads them with a language model behind a real endpoint.

Each sentence is one line of a file as soon as it is answered: set, id, verdict, what was said, requests and tokens. A
run that was interrupted goes on where it ended, with the same file; a verdict "not judged" may be replaced there by
hand, by "right" or "wrong", and is counted so the next time.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import libero_sentences, outside_sentences
from benchmarks.figures import Row, figure
from benchmarks.libero_sentences import Instruction
from planweave.bench.models import check_model, client_of
from planweave.bench.parameters import PLANNER, all_values, planner_settings, settings_of
from planweave.core.base.errors import ConfigError
from planweave.methods.language.planner import LanguagePlanner

SETS = ("outside", "libero", "libero_90")
FEW_WRONG = 0.01  # of those that are not refused or asked back
ENOUGH = 0.95  # of LIBERO's; of the outside ones many cannot be said
TOKENS = 2500  # of prompt and reply of a sentence
_READERS = ("auto", "openai", "cassette")
_DEFAULTS = ("planner.reader=model", "planner.goal_votes=1")


def chosen(options: argparse.Namespace) -> list[Instruction]:
    """The sentences of the sets that the command names, or --sample of each; raises ConfigError."""
    names = options.tasks or [s for s in SETS if options.folders or s == "libero"]
    if unknown := [name for name in names if name not in SETS]:
        raise ConfigError(f"--task {unknown[0]}: sets of sentences are {', '.join(SETS)}")
    if not options.folders and names != ["libero"]:
        raise ConfigError("the sets outside and libero_90 are in a folder: python -m benchmarks sentences FOLDER")
    found: list[Instruction] = []
    for name in dict.fromkeys(names):
        of = list(_set(name, Path(options.folders[0]) if options.folders else Path()))
        few = min(options.sample or len(of), len(of))
        found += [of[i] for i in sorted(random.Random(options.seed).sample(range(len(of)), few))]
    return found


def _set(name: str, folder: Path) -> Iterator[Instruction]:
    if name == "libero":
        return libero_sentences.libero()
    return libero_sentences.libero_90(folder) if name == "libero_90" else outside_sentences.instructions(folder)


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """Read what no line of the file tells yet, --jobs at once; the rows are of the whole file. Raises ConfigError."""
    if check_model(options.model).partition(":")[0] not in _READERS:
        raise ConfigError(f"--model {options.model}: only {', '.join(_READERS)} can read sentences")
    of = chosen(options)
    path = Path(options.out or "out/bench/sentences.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = planner_settings(all_values(settings_of([*_DEFAULTS, *options.set]), PLANNER))
    known = _lines(path)
    reader = _Reader(LanguagePlanner(client_of(options.model), settings, on_exchange=lambda e: reader.heard(e)))
    left = [one for one in of if (one.set, one.id) not in known]
    console.print(f"{len(of)} sentences, {len(left)} of them are to be read; lines: {path}", markup=False)
    pool = ThreadPoolExecutor(options.jobs or 1)
    try:
        waiting = [pool.submit(reader.line, one) for one in left]
        with path.open("a", encoding="utf-8") as file:
            for done in as_completed(waiting):
                line = done.result()
                known[line["set"], line["id"]] = line
                print(json.dumps(line), file=file, flush=True)
                shown = ("wrong", "not judged", "unanswered")
                if line["verdict"] in shown:
                    console.print(f"{line['verdict']}: {line['id']}: {line['text']!r} -> {line['said']}", markup=False)
    finally:
        reader.canceled.set()
        pool.shutdown(cancel_futures=True)
    by = figure("sentences read by", options.model)
    names = dict.fromkeys(one.set for one in of)
    return [by, *(row for n in names for row in rows(n, [known[o.set, o.id] for o in of if o.set == n]))]


def _lines(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What a file tells, the last line of a sentence alone; those of no answer and the half line of an end aside."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if line["verdict"] != "unanswered":
            found[line["set"], line["id"]] = line
    return found


class _Reader:
    """Asks the product's planner, and counts what each sentence took. Thread-safe. canceled: gives up what waits."""

    def __init__(self, planner: LanguagePlanner) -> None:
        self._planner, self.canceled = planner, threading.Event()
        self._of: dict[str, list[Mapping[str, Any]]] = {}

    def heard(self, exchange: Mapping[str, Any]) -> None:
        """Keep a request and its reply, by the sentence that they belong to."""
        self._of[exchange["task_id"]].append(exchange)

    def line(self, one: Instruction) -> dict[str, Any]:
        """The line of a sentence; "unanswered" where the endpoint failed."""
        task = f"{one.set} {one.id}"
        exchanges = self._of[task] = []
        read: Callable[..., Any] = partial(self._planner.interpret_goal, task_id=task, canceled=self.canceled)
        row = one.read_by(lambda domain, world, text: read(text, world))
        failed = [e["error"] for e in exchanges if "error" in e]
        row |= {"verdict": "unanswered", "said": failed[0]} if failed else {}
        used = [e["reply"]["usage"] for e in exchanges if "reply" in e]
        return {
            "set": one.set,
            "id": one.id,
            "text": one.text,
            **row,
            "replies": [r["text"] for e in exchanges if "reply" in e for r in e["reply"]["replies"]],
            "requests": len(exchanges),
            "prompt_tokens": sum(u["prompt_tokens"] for u in used),
            "completion_tokens": sum(u["completion_tokens"] for u in used),
        }


def rows(name: str, lines: Sequence[Mapping[str, Any]], enough: float = ENOUGH) -> list[Row]:
    found = Counter(line["verdict"] for line in lines)
    clear, read, wrong = len(lines) - found["contradicted"], found["right"], found["wrong"]
    counts = ("right", "asked", "refused", "wrong", "not judged", "contradicted", "unanswered")
    made = [figure(f"{name}: {', '.join(counts)}, of {len(lines)}", ", ".join(str(found[c]) for c in counts))]
    if name != "outside" and clear:
        made.append(figure(f"{name}: right of {clear}", f"{read / clear:.2f}", f"≥ {enough}", read >= enough * clear))
    made.append(figure(f"{name}: read wrongly", str(wrong), f"≤ {FEW_WRONG:.0%}", wrong <= FEW_WRONG * clear))
    asked = [line for line in lines if line.get("requests")]
    if asked:
        tokens = [line["prompt_tokens"] + line["completion_tokens"] for line in asked]
        most = (
            f"{statistics.mean(line['requests'] for line in asked):.2f}; {statistics.median(tokens):.0f}, {max(tokens)}"
        )
        title = f"{name}: requests a sentence that was asked; tokens with the reply, median and most"
        made.append(figure(title, most, f"≤ {TOKENS}", max(tokens) <= TOKENS))
    return made
