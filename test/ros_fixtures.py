"""For tests on real rclpy: a domain of their own on this machine, a spinning executor, and node processes.

Fixtures: `ros` (rclpy is initialised), `make_node` (nodes that are spun in the background), `spin_until` (wait for
a condition with a deadline), `start_node` (a room's node as a process that surely ends).

Deadlines end what hangs; no test is judged by its time. Seconds given to `spin_until` are those of a quiet machine and
are multiplied by PATIENCE.
"""

import contextlib
import gc
import os
import threading
import time

import pytest

from planweave.core.base.paths import config_dir
from planweave.launcher import namespace, parameter_files
from planweave.launcher.one_system import own_domain

SIMULATION = config_dir() / "simulation.yaml"
PATIENCE = 6.0  # how much slower than quiet a machine may be on which other programs run
PATIENT = {
    "feedback_node": {"observation_timeout": 60.0},
    "executor_node": {"verify_timeout": 60.0, "image_timeout": 60.0},
    "simulation_node": {"joint_state_rate": 20.0},
}
"""Parameters of nodes whose camera renders on such a machine, for systems that the tests start; each joint state costs
all who hear it, and by default there are 50 a second.
"""


def simulated(node, **values):
    """What config/simulation.yaml says for executor_node or feedback_node, and other values over it, as rclpy's
    parameters: without it a node is as safe as on a real arm. feedback_node has no simulator beside it, so no clock."""
    from rclpy.parameter import Parameter

    own = parameter_files.merged([SIMULATION], f"/{node}")
    if node == "feedback_node":
        own["use_sim_time"] = False
    return [Parameter(name, value=value) for name, value in {**own, **values}.items()]


def simulation(**values):
    """Parameters of a SimulationNode in this process."""
    from rclpy.parameter import Parameter

    return [Parameter(name, value=value) for name, value in {**PATIENT["simulation_node"], **values}.items()]


def task_goal(**fields):
    """The message of a task, as RunTask, PlanTask and SubmitTask have it."""
    from planweave_interfaces.msg import TaskGoal

    return TaskGoal(**fields)


def arm_goals(executor):
    """The trajectories that an ExecutorNode sends to the arm's controller from now on, as messages, with their time."""
    port, sent = executor._ports._goals, []
    send = port.send

    def told(goal, *rest):
        sent.append((time.monotonic(), goal.trajectory))
        send(goal, *rest)

    port.send = told
    return sent


def result_of(future, seconds=90.0):
    """The result of a future that another thread completes."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    assert done.wait(seconds), "no answer in time"
    return future.result()


def hold_a_domain():
    """Have this test run, and what it starts, in a ROS domain of its own until it ends. Systems that the tests hold, in
    namespaces of theirs, are beside it."""
    os.environ[namespace.VARIABLE] = "tests"
    held = contextlib.ExitStack()
    held.enter_context(own_domain("tests"))
    os.environ.pop(namespace.VARIABLE)
    return held


_held = hold_a_domain()


@pytest.fixture(scope="session")
def ros():
    """rclpy, initialised for the whole session in a random domain."""
    import rclpy

    from planweave_ros.spin import share_python_fairly

    share_python_fairly()
    rclpy.init()
    gc.collect()
    gc.freeze()  # what was imported so far, so that make_node need not look through it after every test
    yield rclpy
    gc.unfreeze()
    rclpy.try_shutdown()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """A node stays in the ROS graph until its last publisher, action server or client is gone, and those stand in
    cycles with it, also where it refused to start: a body that lingers keeps that of a later test from starting.
    What fixtures gave, which pytest lets go of only after this, holds some as well.
    """
    yield
    if "ros" in item.fixturenames:
        item.funcargs.clear()
        gc.collect()


@pytest.fixture
def executor(ros):
    """An executor that spins in a thread of its own until the test has ended."""
    from rclpy.executors import MultiThreadedExecutor

    from planweave_ros.spin import spun

    executor, stack = MultiThreadedExecutor(num_threads=4), contextlib.ExitStack()
    thread = stack.enter_context(spun(executor, 10.0 * PATIENCE))

    def end():
        stack.close()
        assert not thread.is_alive(), "the executor did not end"

    executor.end = end
    yield executor
    end()


@pytest.fixture
def make_node(ros, executor):
    """make_node("name") or make_node(SomeNode, …): a node that is spun in the background and destroyed at the end.

    make_node.action_client(node, type, name): an action client of such a node. Made while the node is spun it may be
    used by the executor before it is complete, which ends the executor's thread.
    """
    made = []

    def make(what="test_node", *args, **kwargs):
        node = ros.create_node(what, *args, **kwargs) if isinstance(what, str) else what(*args, **kwargs)
        executor.add_node(node)
        made.append(node)
        return node

    def action_client(node, kind, name):
        from planweave_ros.rclpy_compat import ThreadSafeActionClient

        executor.remove_node(node)
        try:
            return ThreadSafeActionClient(node, kind, name)
        finally:
            executor.add_node(node)

    make.action_client = action_client
    yield make
    executor.end()  # it must not wait for what is destroyed
    while made:
        made.pop(0).destroy_node()


@pytest.fixture
def tasks_going_on(make_node):
    """A list of TaskStatus messages that a node answers /list_tasks with."""
    from planweave_interfaces.srv import ListTasks

    tasks = []

    def answer(_, response):
        response.tasks = tasks
        return response

    make_node("list_of_tasks").create_service(ListTasks, "/list_tasks", answer)
    return tasks


@pytest.fixture
def spin_until():
    """spin_until(condition, 5.0, "what is awaited"): poll every 10 ms; fails with that text at the deadline."""

    def wait(condition, seconds, what):
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"waited {seconds * PATIENCE:g} s in vain for {what}")
            time.sleep(0.01)

    return wait


@contextlib.contextmanager
def node_processes(folder):
    """start("executor_node", parameter=value, …) -> a NodeProcess; all end with the block. Their logs are in `folder`.

    Parameters are those of PATIENT, where a test gives no others. Keywords `parameter_files`, `module` (another module
    in its place) and `environment` are passed on.
    """
    from planweave.launcher.running_system import start_node as start_process
    from planweave.launcher.running_system import stop_nodes

    started = []

    def start(name, *, parameter_files=(), module="", environment=None, **parameters):
        log = folder / f"{name}-{len(started)}.log"
        started.append(
            start_process(
                name,
                log,
                parameter_files=parameter_files,
                parameters={**PATIENT.get(name, {}), **parameters},
                module=module,
                environment=environment,
            )
        )
        return started[-1]

    try:
        yield start
    finally:
        late = stop_nodes(started, patience=10.0 * PATIENCE)
        for node in started:  # pytest shows it where the test failed
            state = "had to be killed" if node.name in late else f"exit code {node.returncode}"
            print(f"--- {node.name} ({state})\n{node.output()[-4000:]}")


@pytest.fixture
def start_node(tmp_path):
    """See `node_processes`; ended after the test."""
    with node_processes(tmp_path) as start:
        yield start


def not_in_the_policies(observer, specs, spin_until):
    """What running nodes use of the graph without a permission in config/sros2/policies.xml, by node."""
    from rclpy.node import NodeNameNonExistentError

    from planweave_ros.graph import missing, offers, permissions_of, read_policies

    def all_of(node):
        try:
            used = permissions_of(observer, node.name)
        except NodeNameNonExistentError:  # not discovered yet
            return None
        return used if offers(used, node.topics, node.services, node.actions) else None

    allowed = read_policies((config_dir() / "sros2" / "policies.xml").read_text())
    found = {}
    for spec in specs:
        used = spin_until(lambda n=spec: all_of(n), 20, f"all of {spec.name}")
        if lacking := missing(used, allowed[spec.name]):
            found[spec.name] = lacking
    return found
