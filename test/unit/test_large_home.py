"""The large home and the ways at random through homes that other tests and benchmarks use."""

import pytest
from doubles.home_graphs import execute_line, large_home
from doubles.home_script import a_script

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
