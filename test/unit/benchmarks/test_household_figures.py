"""The figures of the household: homes and scripts that they are taken on are sound. How fast is not asserted."""

import pytest
from doubles.home_graphs import execute_line

from benchmarks.household_figures import a_script, figures, large_home
from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.simulator import HomeSimulator

pytestmark = pytest.mark.slow


def test_the_large_home():
    data = large_home()
    graph = graph_from(data)
    assert len(graph.nodes) == 444 and len(graph.edges) > 5000
    assert large_home() == data  # the same every time
    close = {(a, b) for a, r, b in graph.edges if r == "CLOSE"}
    assert close == {(b, a) for a, b in close}


def test_a_script_can_be_run_and_mixes_actions():
    data = large_home(150)
    lines = a_script(data, steps=120)
    simulator = HomeSimulator(graph_from(data))
    assert all(execute_line(simulator, line).ok for line in lines)
    assert len({line.partition("]")[0] for line in lines}) > 15


def test_all_figures_are_there():
    found = figures(repeats=1)
    row = found["444 nodes"]
    assert row["nodes"] == 444 and row["steps"] == 400
    for figure in ("step_us", "steps_per_second", "load_ms", "load_and_first_step_ms", "observe_ms", "memory_mib"):
        assert row[figure] > 0
