"""The report of a run: report.md, .html, .csv, .tex and episodes.html beside the records, results.json for programs."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planweave.bench.models import is_simulated, rates_of
from planweave.bench.papers import beside_ours
from planweave.bench.records import read_record, write_record
from planweave.bench.results import MEANINGS, MEASURES, Played, ResultRow, Results, as_json
from planweave.bench.runner import missing_in_words
from planweave.bench.statistics import Estimate, has_scipy
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table, as_csv, grid, key_of, latex, markdown

TEMPLATES = Path(__file__).with_name("templates")
_SHARES = frozenset({"sr", "gcr", "exec", "lcs", "graph"})
_WITH_RANGE = _SHARES | {"corrections", "prompt"}
_BESIDE = ("sr", "exec", "gcr", "lcs", "graph", "corrections", "cost")
_IN_LATEX = ("sr", "gcr", "exec", "lcs", "graph", "corrections", "requests", "prompt", "completion", "cost")
_NOT_IN_MARKDOWN = ("plan_sr", "gcr_changed", "exec_first", "lcs_words", "actions", "body_s")
_IN_MARKDOWN = tuple(name for name in MEASURES if name not in _NOT_IN_MARKDOWN)


def write_report(
    results: Results,
    how: str,
    about: str,
    reasons: Mapping[str, str],
    official: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write all files; returns their paths, the HTML report first. how: the command. about: machine and time.

    reasons: why episodes are missing, by the names of their records. Raises OSError.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.globals.update(
        number=_number, link=_link, anchor=_anchor, failure_texts=_failure_texts, happened=_happened
    )
    missing = {s.name: reasons.get(s.name, "not played") for s in results.missing}
    common: dict[str, Any] = {
        "suite": results.config.suite,
        "out": results.out,
        "how": how,
        "about": about,
        "settings": [f"{name}={value}" for name, value in results.config.settings.items()],
        "missing": sorted(missing),
        "wanted": len(results.wanted),
        "reasons": missing_in_words(missing),
        "intervals": has_scipy(),
        "headings": {name: heading for name, (heading, _) in MEASURES.items()},
        "meanings": MEANINGS,
        "beside": _BESIDE,
        "sections": [_section(results, model) for model in results.models],
        "official": list(official),
        "tables": tables_of(results),
    }
    files = {
        "report.html": environment.get_template("report.html").render(common),
        "episodes.html": environment.get_template("episodes.html").render(common),
        "report.md": _markdown(common),
        "report.csv": _csv(results),
        "report.tex": latex([*map(_latex_table, common["sections"]), *common["tables"]]),
        "results.json": json.dumps({"how": how, "about": about, **as_json(results), **_own(common["tables"])}, indent=1)
        + "\n",
        **({"tables.csv": as_csv(common["tables"])} if common["tables"] else {}),
    }
    for name, text in files.items():
        write_record(results.out / name, text)
    for episode in results.played:
        _draw(episode.path)
    return [results.out / name for name in files]


def tables_of(results: Results) -> list[Table]:
    suite = SUITES[results.config.suite]
    return list(suite.tables(results)) if hasattr(suite, "tables") else []


def _own(tables: Sequence[Table]) -> dict[str, Any]:
    return {"tables": [asdict(table) for table in tables]} if tables else {}


def _csv(results: Results) -> str:
    """A row for each method, model and group of tasks; of each measure mean, deviation and interval."""
    out = io.StringIO()
    parts = ("mean", "sd", "low", "high")
    writer = csv.writer(out, lineterminator="\n")
    about = ("method", "model", "simulated", "group", "episodes", "wanted")
    writer.writerow([*about, *(f"{name}_{part}" if part != "mean" else name for name in MEASURES for part in parts)])
    for row in as_json(results)["rows"]:
        numbers = ((row[name] or {}).get(part) for name in MEASURES for part in parts)
        writer.writerow([*(row[key] for key in about), *("" if n is None else f"{n:.6g}" for n in numbers)])
    return out.getvalue()


def _latex_table(section: Mapping[str, Any]) -> Table:
    """The columns that the papers have, of one model."""
    rows = [
        [row.method, str(len(row.episodes)), *(_number(row, k)["text"] or "–" for k in _IN_LATEX)]
        for row in section["rows"]
    ]
    notes = ["Simulated, no language model: these numbers compare the methods' loops."] if section["simulated"] else []
    header = ["method", "n", *(MEASURES[k][0] for k in _IN_LATEX)]
    return Table(section["title"], header, rows, notes, key=key_of(section["title"]))


def _draw(record: Path) -> None:
    """Write the rendering of an episode as a page beside its record, where it is missing."""
    from rich.console import Console

    from planweave.bench.drawing import drawing

    page = record.with_suffix(".html")
    if page.exists() and page.stat().st_mtime >= record.stat().st_mtime:
        return
    console = Console(record=True, width=118, file=io.StringIO(), highlight=False)
    for part in drawing(read_record(record)):
        console.print(part)
    write_record(page, console.export_html())


def _section(results: Results, model: str) -> dict[str, Any]:
    """What the reports show of a model. parts: the rows of each method by group of tasks."""
    rows = [results.row(method, model) for method in results.methods(model)]
    parts = {g: [results.row(r.method, model, g) for r in rows] for g in results.groups()}
    parts = {g: those for g, those in parts.items() if any(part.wanted for part in those)}
    return {
        "model": model,
        "title": title_of(model),
        "simulated": is_simulated(model),
        "rows": rows,
        "groups": list(parts),
        "parts": {r.method: [those[i] for those in parts.values()] for i, r in enumerate(rows)},
        "papers": _beside_papers(results, model),
        "plots": plots(results, model),
        "codes": sorted({code for row in rows for code in row.failures}),
        "comparisons": [
            (one, two, f"{c.difference:+.2f}", _range("sr", c.low, c.high), "–" if p is None else f"{p:.3f}", c.tasks)
            for one, two, c, p in results.comparisons(model)
        ],
    }


def title_of(model: str) -> str:
    """The heading of a model's tables."""
    if model == "none":
        return "Without a model"
    if not is_simulated(model):
        return f"Model {model}"
    rate, correlation = rates_of(model)
    return f"Simulated model, {rate:g} wrong steps, correlation of samples {correlation:g}"


def _beside_papers(results: Results, model: str) -> list[dict[str, Any]]:
    """Our rows with those of the papers below them: for household suites, whose tasks are of the papers' kind, and real
    models only.
    """
    if results.config.suite not in ("home", "eai") or is_simulated(model) or model == "none":
        return []
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for paper in beside_ours():
        row = results.row(paper["method"], model, paper["group"])
        if not row.episodes:
            continue
        entry = found.setdefault(
            (paper["method"], paper["group"]),
            {
                "name": f"{paper['method']}, {paper['group'] + ' tasks' if paper['group'] else 'all tasks'}",
                "row": row,
                "theirs": [],
            },
        )
        entry["theirs"].append({"label": paper["label"], "texts": [paper.get(k, "") for k in _BESIDE]})
    return list(found.values())


def _failure_texts(row: ResultRow, codes: Sequence[str]) -> list[str]:
    tried = sum(e.measures.actions for e in row.episodes)
    texts = [f"{100 * row.failures[code] / tried:.1f}" if tried else "–" for code in codes]
    ended = sum(bool(e.error) for e in row.episodes)
    return [*texts, f"{ended} of {len(row.episodes)}"]


def number_of(measure: str, found: Estimate | None) -> dict[str, str]:
    """An estimate as text: the mean with its deviation; range: its interval."""
    if found is None:
        return {"text": "", "range": ""}
    text = _text(measure, found.mean)
    if found.sd is not None:
        text += f" ± {_text(measure, found.sd)}"
    return {"text": text, "range": _range(measure, found.low, found.high) if measure in _WITH_RANGE else ""}


def _number(row: ResultRow, measure: str) -> dict[str, str]:
    return number_of(measure, row.estimates[measure])


def _range(measure: str, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{_text(measure, low)}, {_text(measure, high)}]"


def _text(measure: str, value: float) -> str:
    if measure in _SHARES:
        return f"{value:.2f}"
    if measure == "cost":
        return f"{value:.4f}"
    if measure.endswith("_s"):
        return f"{value:.3f}" if value < 1 else f"{value:.1f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _link(*parts: str) -> str:
    """To the episodes of a method with a model, and of a group of tasks."""
    return f"episodes.html#{_anchor(*parts)}"


def _anchor(*parts: str) -> str:
    return "--".join(re.sub(r"[^A-Za-z0-9.]+", "-", p) for p in parts if p)


def _happened(episode: Played) -> str:
    return episode.error[:200] or ", ".join(f"{n} × {code}" for code, n in episode.measures.failures.items())


def _markdown(common: Mapping[str, Any]) -> str:
    lines = [f"# planweave bench {common['suite']}", "", common["about"], "", f"`{common['how']}`", ""]
    if common["settings"]:
        lines += [f"Parameters other than the defaults: {', '.join(f'`{s}`' for s in common['settings'])}", ""]
    if common["missing"]:
        lines += [
            f"**{len(common['missing'])} of {common['wanted']} episodes are missing** and count nowhere:",
            "",
            *(f"- {line}" for line in common["reasons"]),
            "",
        ]
    intervals = " [95 % bootstrap interval over tasks]."
    without = "; intervals need `pip install 'planweave[bench]'`."
    lines += [f"Means ± standard deviation of repetitions{intervals if common['intervals'] else without}", ""]
    lines += [markdown(common["tables"])] if common["tables"] else []
    for section in common["sections"]:
        lines += _section_markdown(section)
    if official := common["official"]:
        keys = ("method", "model", "task_success", "execution_success", "plans")
        header = ("method", "model", "task success, %", "execution success, %", "plans")
        lines += ["## What EAI's own scorer says", "", *grid(header, [[str(o[key]) for key in keys] for o in official])]
    return "\n".join(lines).rstrip() + "\n"


def _section_markdown(section: Mapping[str, Any]) -> Iterator[str]:
    """The tables of one model."""
    yield from (f"## {section['title']}", "")
    if section["simulated"]:
        yield (
            "**Simulated: no language model.** It knows a right plan and errs at this rate; these numbers "
            "compare the methods' loops and say nothing about any language model.\n"
        )
    yield from grid(["method", "episodes", *(MEASURES[k][0] for k in _IN_MARKDOWN)], map(_cells, section["rows"]))
    papers = [
        row
        for entry in section["papers"]
        for row in (
            [f"**{entry['name']}**", *(_linked(entry["row"], k) for k in _BESIDE)],
            *([q["label"], *(text or "–" for text in q["texts"])] for q in entry["theirs"]),
        )
    ]
    groups = [[name, *(_linked(part, "sr") for part in parts)] for name, parts in section["parts"].items()]
    codes = section["codes"]
    failures = [[row.method, *_failure_texts(row, codes)] for row in section["rows"]] if codes else []
    compared = [
        [one, two, f"[{difference}]({_link(one, section['model'])}) {span}", p, str(tasks)]
        for one, two, difference, span, p, tasks in section["comparisons"]
    ]
    for words, header, rows in (
        (
            "Beside the papers, whose tasks, homes and models are others:",
            ["", *(MEASURES[k][0] for k in _BESIDE[:-1]), "cost"],
            papers,
        ),
        ("Success rate by group of tasks:", ["method", *section["groups"]], groups if section["groups"] else []),
        ("Failed actions per 100 tried, by code:", ["method", *codes, "ended by an error"], failures),
        (
            "Paired comparison of success rates (first minus second; p adjusted after Benjamini and Hochberg):",
            ["first", "second", "difference", "p", "tasks"],
            compared,
        ),
    ):
        if rows:
            yield from ("", words, "", *grid(header, rows))
    yield ""


def _cells(row: ResultRow) -> list[str]:
    played = len(row.episodes)
    episodes = f"{played} of {row.wanted}" if played < row.wanted else str(played)
    cells = [
        _linked(row, k) + (f" {r}" if k in _SHARES and (r := _number(row, k)["range"]) else "") for k in _IN_MARKDOWN
    ]
    return [row.method, f"[{episodes}]({_link(row.method, row.model)})", *cells]


def _linked(row: ResultRow, measure: str) -> str:
    text = _number(row, measure)["text"]
    return f"[{text}]({_link(row.method, row.model, row.group)})" if text else "–"


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
