"""Plots of a run as SVG, by matplotlib (extra `bench`). Simulated and real models are never in one plot."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import Any

from planweave.bench.results import Results

_COLOURS = (
    *("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#7d4e9c"),
    *("#00798c", "#8d6e63", "#ec7505", "#5c6b73", "#b5179e"),
)


def has_matplotlib() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def plots(results: Results, model: str) -> dict[str, str]:
    """Title: SVG text, for one model. Empty where matplotlib is missing or nothing was run."""
    if not has_matplotlib():
        return {}
    methods = [m for m in results.methods(model) if results.row(m, model).episodes]
    if not methods:
        return {}
    found = {"Success against tokens": _tokens(results, model, methods)} if model != "none" else {}
    lengths = [g for g in results.groups() if g.startswith("plan of ")]
    if len(lengths) > 1:
        found["Success by length of the gold plan"] = _lines(results, model, methods, lengths)
    faults = [g for g in results.groups() if g.startswith("fault ")]
    if faults:
        found["Recovery by fault"] = _bars(results, model, methods, faults)
    return found


def _figure(width: float = 6.4) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 3.9), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(-0.03, 1.05)
    axes.grid(True, axis="y", alpha=0.3)
    axes.set_ylabel("success rate")
    return figure, axes


def _style(index: int, method: str) -> dict[str, str]:
    return {"color": _COLOURS[index % len(_COLOURS)], "label": method}


def _svg(figure: Any) -> str:
    """With the methods' names in a legend."""
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _tokens(results: Results, model: str, methods: Sequence[str]) -> str:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = _figure(7.4)
    for index, method in enumerate(methods):
        row = results.row(method, model)
        sr, prompt, written = (row.estimates[k] for k in ("sr", "prompt", "completion"))
        if sr is None or prompt is None or written is None:
            continue
        error = None
        if sr.low is not None and sr.high is not None:
            error = [[max(0.0, sr.mean - sr.low)], [max(0.0, sr.high - sr.mean)]]
        tokens, style = max(prompt.mean + written.mean, 1), _style(index, method)
        axes.errorbar([tokens], [sr.mean], yerr=error, fmt="o", ms=7, capsize=3, **style)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("tokens of a task, read and written (mean)")
    return _svg(figure)


def _lines(results: Results, model: str, methods: Sequence[str], groups: Sequence[str]) -> str:
    figure, axes = _figure(7.4)
    for index, method in enumerate(methods):
        found = [results.row(method, model, g).estimates["sr"] for g in groups]
        points = {i: e.mean for i, e in enumerate(found) if e is not None}
        axes.plot(list(points), list(points.values()), marker="o", ms=5, **_style(index, method))
    axes.set_xticks(range(len(groups)), [g.removeprefix("plan of ").removesuffix(" steps") for g in groups])
    axes.set_xlabel("steps of the gold plan")
    return _svg(figure)


def _wrapped(text: str) -> str:
    """Two lines where a label is long."""
    words = text.split()
    half = (len(words) + 1) // 2
    return text if len(text) < 11 else " ".join(words[:half]) + "\n" + " ".join(words[half:])


def _bars(results: Results, model: str, methods: Sequence[str], groups: Sequence[str]) -> str:
    figure, axes = _figure(8.4)
    width = 0.8 / len(methods)
    for index, method in enumerate(methods):
        found = [results.row(method, model, g).estimates["sr"] for g in groups]
        places = [i + (index + 0.5) * width - 0.4 for i in range(len(groups))]
        axes.bar(places, [e.mean if e else 0.0 for e in found], width, **_style(index, method))
    axes.set_xticks(range(len(groups)), [_wrapped(g.removeprefix("fault ")) for g in groups])
    return _svg(figure)
