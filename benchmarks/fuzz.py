"""Figures of `python -m benchmarks fuzz`: replies and sentences that nobody would write, put to the real readers."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from benchmarks.fuzzing import (
    LONGEST,
    Found,
    as_asked,
    fuzzed_replies,
    fuzzed_sentences,
    put,
    reply_readers,
    sentence_reader,
    slopes,
)

SLOPE = 1.1  # of log time against log length


def run(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """All figures, as rows of figure, value, goal and whether it is met."""
    readers = reply_readers()
    console.print("time against length …")
    rows = []
    for name, slope in slopes(readers).items():
        figure = f"{name}: slope of time against length, 1 kB to 1 MB"
        rows.append(_row(figure, f"{slope:.2f}", f"<= {SLOPE}", slope <= SLOPE))
    console.print(f"{options.texts} replies, {len(readers)} readers …")
    rows += _found("replies", put(fuzzed_replies(options.seed, options.texts), readers, as_asked), console)
    console.print(f"{options.texts} sentences …")
    read = {"sentences": sentence_reader()}
    return rows + _found("sentences", put(fuzzed_sentences(options.seed, options.texts), read), console)


def _found(what: str, found: Found, console: Console) -> list[dict[str, Any]]:
    for fault in found.faults[:20]:
        console.print(f"[red]{what}[/]: {fault}", markup=False)
    return [
        _row(f"fuzzed {what}: texts, readings accepted", f"{found.texts:,}, {found.accepted:,}"),
        _row(f"fuzzed {what}: crashes and unknown names", str(len(found.faults)), "0", not found.faults),
        _row(
            f"fuzzed {what}: longest, processor time",
            f"{found.seconds:.3f} s ({found.slowest})",
            f"<= {LONGEST:g} s",
            found.seconds <= LONGEST,
        ),
    ]


def _row(figure: str, value: str, goal: str = "", met: bool | None = None) -> dict[str, Any]:
    return {"figure": figure, "value": value, "goal": goal, "met": met}
