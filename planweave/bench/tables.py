"""Tables as Markdown; as JSON they are their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns. notes stand above, remarks below; a row of one text is a heading across the table."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()


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
