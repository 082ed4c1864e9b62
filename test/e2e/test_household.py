"""The household system's real nodes over DDS: every method ends with the goal verified, the model out of a cassette."""

import pytest
from doubles.method_runs import ASKING, FOLDER
from ros_fixtures import not_in_the_policies

from planweave.launcher.running_system import start_node, stop_nodes
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

SENTENCE = "put the salmon in the fridge"
# As they were recorded: small numbers of samples, since the answers were written by hand.
FEW = {"planner_node": {"samples": 3, "votes": 3}, "feedback_node": {"scene_aware.samples": 3, "zero_shot.samples": 3}}
CASSETTES = {method: FOLDER / f"real_household_{method}.jsonl" for method in ASKING}
SPECS = {spec.name: spec for spec in load_system("household").nodes}


@pytest.fixture(scope="module")
def house(ros, tmp_path_factory):
    """A client on the household's three nodes; one planner answers from all cassettes, whose questions all differ."""
    folder = tmp_path_factory.mktemp("house")
    cassette = folder / "all.jsonl"
    cassette.write_text("".join(path.read_text(encoding="utf-8") for path in CASSETTES.values()), encoding="utf-8")
    own = {"planner_node": {"client": "replay", "cassette": str(cassette)}, "feedback_node": {"fallback": "none"}}
    nodes = []
    with Client() as client:
        try:
            for name, spec in SPECS.items():
                nodes.append(
                    start_node(
                        name,
                        folder / f"{name}.log",
                        parameter_files=spec.parameter_files,
                        parameters={**FEW.get(name, {}), **own.get(name, {})},
                    )
                )
            yield client
        finally:
            stop_nodes(nodes, patience=60.0)


@pytest.mark.parametrize("method", [*ASKING, "classical"])
def test_the_salmon_ends_in_the_fridge(house, spin_until, method):
    spin_until(lambda: not house.missing(SPECS.values()), 30, "the household to be ready")
    house.load_scene("home_flat")
    done = house.run_task(SENTENCE, method=method, timeout=300.0)
    assert done.success, done.message
    assert done.status.method == method and not done.status.fallback
    recorded = CASSETTES[method].read_text(encoding="utf-8").splitlines()[1:] if method in ASKING else []
    assert done.status.usage.requests == len(recorded)
    checked = [e for e in done.record["events"] if e["event"] == "checked"]
    assert "inside(salmon_49, fridge_10)" in checked[-1]["facts"]


def test_the_security_policies_allow_what_the_nodes_use(house, make_node, spin_until):
    spin_until(lambda: not house.missing(SPECS.values()), 30, "the household to be ready")
    observer = make_node("observer")
    spin_until(lambda: set(SPECS) <= set(observer.get_node_names()), 30, "all nodes to be discovered")
    assert not not_in_the_policies(observer, SPECS.values(), spin_until), "run tools/policies.py"
