"""Write the table of codes into docs/codes.md, from what has them: errors, failures of actions, ends of tasks:
python tools/codes.py
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "codes.md"
FOLDERS = ("planweave", "planweave_ros")
FAILURES, ENDS = "planweave/core/base/failure.py", "planweave/core/workflow/task_status.py"
HEAD = "| code | of an action | says |\n|---|---|---|\n"


def codes() -> dict[str, tuple[str, str]]:
    """Name and number of the action's failure, "" for none, and meaning, by code. Raises ValueError for one
    used twice.
    """
    found: dict[str, tuple[str, str]] = {code: ("", words) for code, words in _ends()}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for code, words in _of(ast.parse(path.read_text(encoding="utf-8"))):
            if code in found:
                raise ValueError(f"{path}: the code {code} is another class's already")
            found[code] = "", words
    for name, number, words in _failures():
        found[name.lower()] = f"`{name}` {number}", words
    return found


def _failures() -> Iterator[tuple[str, int, str]]:
    """Name, number and docstring of each code of an action."""
    body = next(item for item in _module(FAILURES).body if isinstance(item, ast.ClassDef)).body
    for item, after in pairwise(body):
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and isinstance(after, ast.Expr):
            words = " ".join(str(ast.literal_eval(after.value)).split())
            yield item.targets[0].id, ast.literal_eval(item.value), words


def _ends() -> list[tuple[str, str]]:
    """Codes of ends, and what they say."""
    for item in _module(ENDS).body:
        if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == "ENDS" and item.value is not None:
            return list(ast.literal_eval(item.value).items())
    raise ValueError(f"{ENDS} has no ENDS")


def _module(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _of(module: ast.Module) -> Iterator[tuple[str, str]]:
    for item in (item for item in module.body if isinstance(item, ast.ClassDef) and item.name.endswith("Error")):
        for line in item.body:
            target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
            value = getattr(line, "value", None)
            if isinstance(target, ast.Name) and target.id == "code" and isinstance(value, ast.Constant):
                yield str(value.value), " ".join((ast.get_docstring(item) or "").split("\n\n")[0].split())


def page() -> str:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    tail = rest[rest.find("\n\n") :]
    rows = "".join(f"| `{code}` | {failure} | {words} |\n" for code, (failure, words) in sorted(codes().items()))
    return f"{head}{HEAD}{rows.rstrip()}{tail}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
