"""The figures of the library: what counts as an example's own work."""

import re

from benchmarks.library import ROOT, example_files

_ROW = re.compile(r"(?m)^\| \[`(\w+)`\]\(\.\./examples/\1/README\.md\) \|.*\| (\d+) \| (\d+) \|$")


def test_the_table_of_examples_counts_their_files():
    rows = _ROW.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))
    assert rows
    for name, python, data in rows:
        files = example_files(ROOT / "examples" / name)
        modules = [path for path in files if path.suffix == ".py"]
        assert (len(modules), len(files) - len(modules)) == (int(python), int(data)) and int(python) == 1, name
