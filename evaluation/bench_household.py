"""Figures of the household as rows for `planweave bench household`: the simulator, beside eai-eval where installed."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from evaluation.household_figures import figures

STEP_GOAL, LOAD_GOAL = 20.0, 5.0  # times as fast as eai-eval's evolving graph


def run(_: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """All figures, as rows of figure, value, goal and whether it is met (None where there is no goal or comparison)."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    data = Path(os.environ.get("PLANWEAVE_TEST_DATA", beside))
    console.print("the household simulator on the 444-node home and, where its data are, the densest of EAI …")
    rows: list[dict[str, Any]] = []
    for scene, f in figures(data).items():
        rows += [
            _row(f"{scene}: step", f"{f['step_us']:.1f} us, {f['steps_per_second']:,.0f} a second"),
            _row(f"{scene}: load", f"{f['load_ms']:.1f} ms, {f['load_and_first_step_ms']:.1f} ms with a first step"),
            _row(f"{scene}: observe", f"{f['observe_ms']:.1f} ms"),
            _row(f"{scene}: memory", f"{f['memory_mib']:.1f} MiB"),
        ]
        ratio, theirs = f.get("ratio"), f.get("eai_eval")
        if ratio is None or theirs is None:
            rows.append(_row(f"{scene}: eai-eval", "not installed (pip install --no-deps eai-eval)"))
            continue
        rows += [
            _row(f"{scene}: step against eai-eval",
                 f"{ratio['step']:.0f}x ({theirs['step_us']:.0f} us; in place {ratio['step_in_place']:.0f}x)",
                 f">= {STEP_GOAL:.0f}x", ratio["step"] >= STEP_GOAL),
            _row(f"{scene}: load against eai-eval", f"{ratio['load']:.1f}x ({theirs['load_ms']:.1f} ms)",
                 f">= {LOAD_GOAL:.0f}x", ratio["load"] >= LOAD_GOAL),
            _row(f"{scene}: memory of eai-eval", f"{theirs['memory_mib']:.1f} MiB"),
        ]
    return rows


def _row(figure: str, value: str, goal: str = "", met: bool | None = None) -> dict[str, Any]:
    return {"figure": figure, "value": value, "goal": goal, "met": met}
