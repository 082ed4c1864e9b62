"""One source for what only one can know: a second one is left out and told, its successor is taken. One body: of two
that start together one stays, and whoever was there first.
"""

import logging
import threading
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("planweave_interfaces")

from codes import raises_code
from doubles.scripted import SymbolicBody, tabletop
from planweave_interfaces.msg import WorldState

from planweave.core.base.errors import ConfigError
from planweave_ros import only_one
from planweave_ros.guarded import GuardedNode
from planweave_ros.serve_body import WorldPublisher, keep_the_only_body, serve_body

WORLD = tabletop("a: item", "on(a, table)")


def info(gid):
    return {"publisher_gid": {"data": gid}}


def test_who_speaks_alone_is_taken_and_is_no_problem(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(only_one.time, "monotonic", lambda: now[0])
    log = logging.getLogger("test")
    node = SimpleNamespace(
        get_logger=lambda: log, get_publishers_info_by_topic=lambda topic: [], resolve_topic_name=lambda topic: topic
    )
    source = only_one.OneSource(node, "/joint_states")
    assert source.takes(info(b"one")) and not source.problem

    now[0] = 1.0
    assert not source.takes(info(b"two")) and "two nodes publish /joint_states" in source.problem
    assert source.takes(info(b"one")) and source.problem, "the second spoke a moment ago"

    now[0] = 2.9
    assert not source.takes(info(b"two"))
    now[0] = 3.1  # the first has been silent for more than PAUSE
    assert source.takes(info(b"two")) and not source.problem
    assert not source.takes(info(b"one")) and source.problem


@pytest.mark.parametrize("names", [("executor_node", "executor_node"), ("executor_node", "virtualhome_node")])
def test_of_bodies_that_start_together_exactly_one_stays(ros, names):
    both_there, stayed, refused = threading.Barrier(2, timeout=60), [], []

    def start(name):
        node = ros.create_node(name)
        worlds = WorldPublisher(node)
        both_there.wait()
        try:
            keep_the_only_body(node, worlds, time.monotonic())
        except ConfigError as error:
            refused.append(str(error))
            node.destroy_node()
        else:
            stayed.append(node)

    threads = [threading.Thread(target=start, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    try:
        assert len(stayed) == 1 and len(refused) == 1 and "already publishes /world_state" in refused[0]
    finally:
        for node in stayed:
            node.destroy_node()


def test_a_publisher_knows_its_key_though_another_appears_in_the_same_moment(make_node):
    node, others = make_node("one"), []

    def make():
        if len(others) < 2:  # beside the first two attempts
            others.append(WorldPublisher(node))
        return node.create_publisher(WorldState, "world_state", 1)

    publisher, key = only_one.own_publisher(node, make)
    assert len(others) == 2 and {key} == only_one.publishers(node, "/world_state").keys() - {o.key for o in others}
    publisher.destroy()


def test_a_body_that_serves_is_not_left_to_an_earlier_key(make_node):
    newcomer = make_node("newcomer")
    worlds = WorldPublisher(newcomer)  # before the other's, so that its key is the lower one
    first = make_node("first")
    serve_body(first, SymbolicBody(WORLD))
    assert worlds.key == min(only_one.publishers(newcomer, "/world_state"))
    with raises_code("configuration", "first", "/world_state"):
        keep_the_only_body(newcomer, worlds, time.monotonic())


@pytest.mark.parametrize("newcomers", [2, 1])
def test_of_bodies_that_find_one_another_late_one_stays(make_node, spin_until, monkeypatch, newcomers):
    """With a single newcomer the other has been there for long, and stays, though its key is the higher one."""
    monkeypatch.setattr(only_one, "_STAYS", 0.5)
    monkeypatch.setattr(only_one, "_PRECEDENCE", 6.0)
    nodes = [make_node(GuardedNode, name) for name in ("one", "two")]
    made = [WorldPublisher(node) for node in nodes]
    assert made[0].key < made[1].key
    for node, worlds in list(zip(nodes, made, strict=True))[:newcomers]:
        node.finalized = lambda w=worlds: w._publisher.destroy()
        only_one.leave_to_another_body(node, time.monotonic(), worlds.key)
    loser, winner = nodes if newcomers == 1 else reversed(nodes)
    spin_until(lambda: loser.refused, 20, "one to leave")
    assert "already publishes /world_state" in loser.refused
    if newcomers == 2:
        spin_until(lambda: not only_one.second_body(winner), 20, "the other to be alone")
    assert not winner.refused


def test_a_server_is_known_by_its_participant_where_the_graph_lost_its_node(make_node, start_node, spin_until):
    start_node("planner_node", client="none")
    node = make_node("observer")

    def endpoint(name):
        return next((i for i in node.get_publishers_info_by_topic("/rosout") if i.node_name == name), None)

    planner = bytes(spin_until(lambda: endpoint("planner_node"), 30, "the planner").endpoint_gid)
    own = bytes(endpoint("observer").endpoint_gid)
    wanted = "/generate_plans/_action/send_goal".__eq__
    spin_until(lambda: only_one.serves(node, "/planner_node", own, wanted), 30, "its action, by its name")
    spin_until(lambda: only_one.serves(node, "/nobody", planner, wanted), 30, "its action, by its participant")
    assert not only_one.serves(node, "/nobody", own, wanted), "another participant serves nothing of it"
