"""For tests on real rclpy: a domain of their own on this machine, a spinning executor, and node processes.

Fixtures: `ros` (rclpy is initialised), `make_node` (nodes that are spun in the background), `spin_until` (wait for
a condition with a deadline), `start_node` (a room's node as a process that surely ends).
"""

import fcntl
import os
import random
import tempfile
import threading
import time
from pathlib import Path

import pytest


def _own_domain():
    """A ROS domain that no other test run on this machine has now, and the lock that keeps it so."""
    for domain in random.SystemRandom().sample(range(1, 102), 101):  # above 101 ports clash with outgoing connections
        lock = (Path(tempfile.gettempdir()) / f"planweave-test-domain-{domain}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError("all 101 ROS domains are taken by other test runs")


_domain, _lock = _own_domain()
os.environ["ROS_DOMAIN_ID"] = str(_domain)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


@pytest.fixture(scope="session")
def ros():
    """rclpy, initialised for the whole session in a random domain."""
    import rclpy

    from planweave_ros.spin import share_python_fairly

    share_python_fairly()
    rclpy.init()
    yield rclpy
    rclpy.try_shutdown()


@pytest.fixture
def executor(ros):
    """An executor that spins in a thread of its own until the test has ended."""
    from rclpy.executors import MultiThreadedExecutor

    executor = MultiThreadedExecutor(num_threads=4)
    thread = threading.Thread(target=executor.spin, name="test executor", daemon=True)
    thread.start()
    yield executor
    executor.shutdown(timeout_sec=5.0)
    thread.join(5.0)
    assert not thread.is_alive(), "the executor did not end: a callback of this test blocks"


@pytest.fixture
def make_node(ros, executor):
    """make_node("name") or make_node(SomeNode, …): a node that is spun in the background and destroyed at the end."""
    made = []

    def make(what="test_node", *args, **kwargs):
        node = ros.create_node(what, *args, **kwargs) if isinstance(what, str) else what(*args, **kwargs)
        executor.add_node(node)
        made.append(node)
        return node

    yield make
    for node in made:
        executor.remove_node(node)
        node.destroy_node()


@pytest.fixture
def spin_until():
    """spin_until(condition, 5.0, "what is awaited"): poll every 10 ms; fails with that text at the deadline."""

    def wait(condition, seconds, what):
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"waited {seconds:g} s in vain for {what}")
            time.sleep(0.01)

    return wait


@pytest.fixture
def start_node(tmp_path):
    """start_node("executor_node", parameter=value, …) -> console.processes.NodeProcess, ended after the test.

    Keywords `parameter_files`, `module` (another module in its place) and `environment` are passed on.
    """
    from console.processes import start_node as start
    from console.processes import stop_nodes

    started = []

    def make(name, *, parameter_files=(), module="", environment=None, **parameters):
        log = tmp_path / f"{name}-{len(started)}.log"
        started.append(start(name, log, parameter_files=parameter_files, parameters=parameters, module=module,
                             environment=environment))
        return started[-1]

    yield make
    late = stop_nodes(started, patience=10.0)
    for node in started:
        if node.name in late:
            print(f"--- {node.name} (had to be killed)\n{node.output()[-4000:]}")
