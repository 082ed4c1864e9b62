"""Write the table of error codes into docs/codes.md, from the classes that have them: python tools/codes.py"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "codes.md"
FOLDERS = ("planweave", "planweave_ros")


def codes() -> dict[str, str]:
    """What every code says: the first paragraph of the docstring of its class. Raises ValueError for one used twice."""
    found: dict[str, str] = {}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for code, words in _of(ast.parse(path.read_text(encoding="utf-8"))):
            if code in found:
                raise ValueError(f"{path}: the code {code} is another class's already")
            found[code] = words
    return found


def _of(module: ast.Module) -> Iterator[tuple[str, str]]:
    for item in (item for item in module.body if isinstance(item, ast.ClassDef) and item.name.endswith("Error")):
        for line in item.body:
            target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
            value = getattr(line, "value", None)
            if isinstance(target, ast.Name) and target.id == "code" and isinstance(value, ast.Constant):
                yield str(value.value), " ".join((ast.get_docstring(item) or "").split("\n\n")[0].split())


def page() -> str:
    """The page with its table made anew."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition("| code | says |\n")
    tail = rest[rest.find("\n\n") :]
    rows = "".join(f"| `{code}` | {words} |\n" for code, words in sorted(codes().items()))
    return f"{head}| code | says |\n|---|---|\n{rows.rstrip()}{tail}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
