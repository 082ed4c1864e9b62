"""Print the table of all options of the methods, as it stands in docs/methods.md; --write puts it there."""

import sys
from pathlib import Path

from planweave.methods import METHODS
from planweave.methods.running.options import options_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "methods.md"
HEADING = "## Options\n"
OURS = "planweave"


def table() -> str:
    """Markdown: option, default and meaning, of Planweave's own methods in order; `paper` of all in one row."""
    rows = ["| option | default | |", "|---|---|---|"]
    for name in sorted(METHODS):
        if not METHODS[name].__module__.startswith(f"{OURS}."):
            continue
        for row in options_of(name).values():
            if row.name == "paper":
                continue
            value = str(row.default).lower() if isinstance(row.default, bool) else str(row.default)
            choices = f" ({', '.join(row.choices)})" if row.choices else ""
            rows.append(f"| `{name}.{row.name}` | {value} | {row.description}{choices} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Print, or replace the table in the page."""
    if "--write" not in sys.argv[1:]:
        print(table(), end="")
        return 0
    text = PAGE.read_text(encoding="utf-8")
    before, heading, rest = text.partition(HEADING)
    if not heading:
        print(f"{PAGE} has no line {HEADING.strip()!r}", file=sys.stderr)
        return 1
    intro, _, old = rest.partition("| option |")
    _, gap, after = old.partition("\n\n")
    PAGE.write_text(before + heading + intro + table() + (gap[1:] + after if gap else ""), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
