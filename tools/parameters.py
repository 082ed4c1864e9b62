"""Write what is made of the definitions of parameters (NODE/parameters.py, options of methods): docs/parameters.md, the
table in docs/methods.md, and the comments in each node's own file of config/. Run: python tools/parameters.py
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from planweave.core.base.parameter import Parameter
from planweave.launcher.parameter_files import NODES
from planweave.launcher.systems import table
from planweave.methods import METHODS
from planweave.methods.running.options import options_of

ROOT = Path(__file__).resolve().parent.parent
PAGE, METHODS_PAGE = ROOT / "docs" / "parameters.md", ROOT / "docs" / "methods.md"
HEAD = "| parameter | default | |\n|---|---|---|\n"
_COLUMN, _WIDTH = 32, 120  # where comments begin and lines end
_SHOWN = 4  # choices
_VALUE = re.compile(r"^( +)([\w.]+):( +[^#\s].*?)?(?: +#.*)?$")


def pages() -> dict[Path, str]:
    """All of it by file, made anew."""
    found = {PAGE: _with_tables(PAGE, {node: _of_node(node) for node in NODES})}
    found[METHODS_PAGE] = _with_tables(METHODS_PAGE, {"Options": _of_methods()})
    for node in NODES:
        path = ROOT / "config" / f"{node.removesuffix('_node')}.yaml"
        found[path] = "\n".join(_commented(path.read_text(encoding="utf-8").splitlines(), node)) + "\n"
    return found


def _with_tables(page: Path, tables: dict[str, str]) -> str:
    """A page with the table under each heading in place of the one that is there."""
    text = page.read_text(encoding="utf-8")
    for heading, rows in tables.items():
        before, title, rest = text.partition(f"## {heading}\n")
        intro, _, old = rest.partition(HEAD)
        text = before + title + intro + HEAD + rows + re.sub(r"\A(?:\|.*\n)*", "", old)
    return text


def _of_node(node: str) -> str:
    left_out = {*METHODS, "use_sim_time"}
    return _rows((row.name, row) for row in table(node).values() if row.name.partition(".")[0] not in left_out)


def _of_methods() -> str:
    """Parameters of Planweave's own methods in order; `paper` of all stands in the text."""
    own = [name for name in sorted(METHODS) if METHODS[name].__module__.startswith("planweave.")]
    return _rows((f"{name}.{r.name}", r) for name in own for r in options_of(name).values() if r.name != "paper")


def _rows(rows: Iterable[tuple[str, Parameter]]) -> str:
    return "".join(f"| `{name}` | {_shown(row.default)} | {meaning(row)} |\n" for name, row in rows)


def meaning(row: Parameter) -> str:
    """The description with what values there are, and whether it changes while the node is configured. Long lists of
    choices are left out: installed packages add to them.
    """
    values = ", ".join(row.choices) if len(row.choices) <= _SHOWN else ""
    if row.low is not None and row.high is not None:
        values = f"{row.low:g} to {row.high:g}" if isinstance(row.default, float) else f"{row.low} to {row.high}"
    return row.description + (f" ({values})" if values else "") + (" [at any time]" if row.changeable else "")


def _shown(value: object) -> str:
    return f"`{json.dumps(value)}`"


def _commented(lines: list[str], node: str) -> Iterator[str]:
    """The lines of a parameter file; the entry of the node with the meaning of each parameter."""
    ours, path = False, list[tuple[int, str]]()
    for line in lines:
        if line[:1] not in ("", " ", "#"):
            ours, path = line.rstrip(":") == f"/**/{node}", []
        if ours and line.lstrip().startswith("#") and line.index("#") >= _COLUMN:
            continue  # goes on from the line before
        found = _VALUE.match(line) if ours else None
        if found is None:
            yield line
            continue
        indent, key, value = found.groups()
        path = [(depth, name) for depth, name in path if depth < len(indent)] + [(len(indent), key)]
        name = ".".join(name for _, name in path[1:])
        if value is None:
            yield f"{indent}{key}:"
            continue
        first, more = f"{indent}{key}:{value}", f"{'':<{_COLUMN}}# "
        row = table(node)[name]
        differs = yaml.safe_load(value) != row.default  # so that nobody changes the one and forgets the other
        yield from textwrap.wrap(
            meaning(row) + (f" [default {json.dumps(row.default)}]" if differs else ""),
            _WIDTH,
            initial_indent=f"{first:<{_COLUMN - 1}} # ",
            subsequent_indent=more,
            break_on_hyphens=False,
        )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
