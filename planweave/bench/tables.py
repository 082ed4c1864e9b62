"""Tables as Markdown, HTML, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "–": "--",
    "−": "$-$",
    "†": r"$\dagger$",
    "α": r"$\alpha$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns. notes stand above, remarks below; a row of one text is a heading across the table.

    key: one word, for LaTeX's label.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    key: str = "table"


def markdown(tables: Sequence[Table]) -> str:
    """A heading, the notes, the table and the remarks of each."""
    lines: list[str] = []
    for table in tables:
        width = len(table.header)
        lines += [f"## {table.title}", "", *(line for note in table.notes for line in (note, ""))]
        rows = ([f"**{row[0]}**", *[""] * (width - 1)] if len(row) == 1 else row for row in table.rows)
        lines += [*grid(table.header, rows), "", *(line for remark in table.remarks for line in (remark, ""))]
    return "\n".join(lines).rstrip() + "\n"


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for texts in (header, *rows):
        yield "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
        if texts is header:
            yield "|---" * len(header) + "|"


def as_html(tables: Sequence[Table]) -> str:
    import jinja2

    template = (Path(__file__).with_name("templates") / "tables.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True).from_string(template).render(tables=tables) + "\n"


def as_csv(tables: Sequence[Table]) -> str:
    """All tables below each other: the first column names the table, the second the heading that a row stands under. A
    row without a label has that of the row above; notes and remarks are rows whose second column says so.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables:
        heading = label = ""
        writer.writerow(["table", "part", *table.header])
        for row in table.rows:
            if len(row) == 1:
                heading = row[0]
            else:
                label = row[0] or label
                writer.writerow([table.key, heading, label, *row[1:]])
        blank = [""] * (len(table.header) - 1)
        writer.writerows([table.key, "note", note, *blank] for note in (*table.notes, *table.remarks))
    return out.getvalue()


def latex(tables: Sequence[Table]) -> str:
    """One `table` environment each, with booktabs' rules; notes and remarks below it."""
    lines = ["% needs \\usepackage{booktabs}"]
    for table in tables:
        width = len(table.header)
        lines += [
            "\\begin{table}",
            "  \\centering\\small",
            f"  \\caption{{{tex(table.title)}}}",
            f"  \\label{{tab:{table.key}}}",
            f"  \\begin{{tabular}}{{l{'r' * (width - 1)}}}",
            "    \\toprule",
            f"    {' & '.join(map(tex, table.header))} \\\\",
            "    \\midrule",
        ]
        for row in table.rows:
            if len(row) == 1:
                lines.append(f"    \\multicolumn{{{width}}}{{l}}{{\\textit{{{tex(row[0])}}}}} \\\\")
            else:
                lines.append(f"    {' & '.join(map(tex, row))} \\\\")
        lines += ["    \\bottomrule", "  \\end{tabular}"]
        lines += [f"  \\par {tex(text)}" for text in (*table.notes, *table.remarks)]
        lines += ["\\end{table}", ""]
    return "\n".join(lines)


def tex(text: str) -> str:
    """A text with LaTeX's special characters written out."""
    return "".join(_LATEX.get(c, c) for c in text)


def key_of(*words: str) -> str:
    """A word for LaTeX's label and a CSV's first column."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(words)).strip("-").lower()


#: format: suffix of its file, what makes it
FORMATS: Mapping[str, tuple[str, Callable[[Sequence[Table]], str]]] = {
    "markdown": (".md", markdown),
    "html": (".html", as_html),
    "csv": (".csv", as_csv),
    "latex": (".tex", latex),
}
