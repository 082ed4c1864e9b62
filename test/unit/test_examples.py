"""What counts as an example's own work."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_ROW = re.compile(r"(?m)^\| \[`(\w+)`\]\(\.\./examples/\1/README\.md\) \|.*\| (\d+) \| (\d+) \|$")


def example_files(folder):
    """The files of an example package that are its own work: without its test, README and pyproject.toml."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.startswith("test_")
        and path.name not in ("pyproject.toml", "README.md")
        and not {"__pycache__", "build"} & set(path.parts)
        and ".egg-info" not in str(path)
    ]


def test_the_table_of_examples_counts_their_files():
    rows = _ROW.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))
    assert rows
    for name, python, data in rows:
        files = example_files(ROOT / "examples" / name)
        modules = [path for path in files if path.suffix == ".py"]
        assert (len(modules), len(files) - len(modules)) == (int(python), int(data)) and int(python) == 1, name
