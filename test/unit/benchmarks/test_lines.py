"""The count of lines."""

import argparse

from rich.console import Console

from benchmarks import lines


def test_lines_of_parts_are_counted():
    values = [int(row.value.replace(",", "")) for row in lines.run(argparse.Namespace(), Console())]
    counted = dict(zip(lines.COUNTED, values))
    goals = (lines.ROOT / "planweave" / "goals").rglob("*.py")
    assert counted["`planweave/goals`"] == sum(len(path.read_text().splitlines()) for path in goals)
    whole, product, *parts = values
    assert whole > product > max(parts[:-1])
