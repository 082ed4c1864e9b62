"""Nodes that are told to end, or are killed: the arm stops, exits are clean, and who is gone is missed soon."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from doubles.environment import python_path
from doubles.true_camera import TrueCamera
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import Look
from rclpy.impl.implementation_singleton import rclpy_implementation as bindings
from rclpy.task import Future
from ros_fixtures import SIMULATION, simulation
from sensor_msgs.msg import JointState

from planweave.core.symbolic.world import Action
from planweave.launcher.one_system import own_domain
from planweave.launcher.systems import load_system
from planweave_ros import conversions as convert
from planweave_ros.liveliness import BODY, Presence
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.spin import spun
from simulation_node.node import SimulationNode

HERE = os.environ["ROS_DOMAIN_ID"]  # as ros_fixtures has it
GRASP = "grasp(red_cube)"
STOPPED = 0.5  # rad that the joint that moved most may go on after a signal; a whole approach is 1.4 to 1.9


@pytest.fixture
def table(make_node, start_node, spin_until):
    """The simulation in real time and a camera that knows the truth, here; the executor as a process."""

    class Table:
        def __init__(self):
            self.way, self.last, self.speed, self.facts = np.zeros(7), None, 0.0, set()
            self.simulation = make_node(SimulationNode, simulation(scene="blocks", real_time_factor=1.0))
            make_node(TrueCamera, self.simulation)
            self.client = client = make_node("client")
            client.create_subscription(JointState, "/joint_states", self.joints, 100)
            client.create_subscription(WorldState, "/world_state", self.world, TRANSIENT_LOCAL)
            self.body = Presence(client, BODY)
            self.action = make_node.action_client(client, ExecuteAction, "/execute_action")
            self.looks = client.create_client(Look, "/look")
            self.start()

        def start(self, **parameters):
            self.facts = set()
            self.executor = start_node("executor_node", parameter_files=[SIMULATION], **parameters)
            spin_until(self.is_ready, 60, "the executor")
            time.sleep(1.0)  # nothing tells when it has discovered the client

        def is_ready(self):
            assert self.executor.returncode is None, self.executor.output()
            return self.body.there and self.facts and self.action.server_is_ready()

        def joints(self, msg):
            new = np.array(msg.position[:7])
            self.way += np.abs(new - (new if self.last is None else self.last))
            self.last, self.speed = new, float(np.abs(np.array(msg.velocity)[:7]).max())

        def world(self, msg):
            self.facts = {str(f) for f in convert.world_from_msg(msg).facts}

        def begin(self, text=GRASP):
            """Send an action and wait until the arm moves; the future of its result."""
            goal, said = ExecuteAction.Goal(action=convert.action_to_msg(Action.parse(text)), timeout=60.0), []
            for _ in range(5):  # an executor that has just started may not have seen the table yet
                sent = self.action.send_goal_async(goal)
                spin_until(sent.done, 20, "the goal to be accepted")
                result = sent.result().get_result_async()
                spin_until(lambda ended=result.done: self.speed > 0.2 or ended(), 30, "the arm to move")
                if not result.done():
                    return result
                said.append(result.result().result.message)
                time.sleep(1.0)
            raise AssertionError(said)

        def goes_on(self, signalled):
            """How far the joint that moved most went on until it stood."""
            before = self.way.copy()
            signalled()
            spin_until(lambda: self.speed < 0.02, 20, "the arm to stand")
            return float((self.way - before).max())

    return Table()


@pytest.mark.gl
def test_the_arm_stops_when_the_executor_is_told_to_end_or_is_killed_and_it_knows_afterwards(table, spin_until):
    """One system through all of it: SIGINT, SIGTERM, SIGKILL of the executor, SIGKILL of who commands it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        result = table.begin()
        assert table.goes_on(lambda number=number: os.kill(table.executor.pid, number)) < STOPPED
        spin_until(result.done, 5, "the action to end")
        assert "executor_node " in result.result().result.message
        table.looks.call_async(Look.Request(timeout=20.0))  # what then waits for an image does not hold up the end
        assert table.executor.wait(10.0) == 0, table.executor.output()
        assert "Error" not in table.executor.output() and "Traceback" not in table.executor.output()
        spin_until(
            lambda: not table.client.count_publishers("/world_state"), 10, "the graph to forget it: it said goodbye"
        )
        # After a commander's death the arm goes on for up to 2 s, on a busy machine longer: not to the cube, if slow.
        table.start(**({"speed": 0.1} if number == signal.SIGTERM else {}))

    environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parent.parent)}
    for _ in range(3):  # one to which the middleware never shows the action ends by itself
        commander = subprocess.Popen([sys.executable, "-m", "doubles.commander_process", GRASP], env=environment)
        spin_until(lambda one=commander: table.speed > 0.2 or one.poll() is not None, 60, "the arm to move")
        if commander.poll() is None:
            break
        os.kill(table.executor.pid, signal.SIGTERM)  # or whose action it shows to nobody that came later
        assert table.executor.wait(10.0) == 0, table.executor.output()
        spin_until(lambda: not table.client.count_publishers("/world_state"), 10, "the graph to forget it")
        table.start(speed=0.1)
    assert commander.poll() is None, "no commander has the arm move"
    commander.kill()
    commander.wait(10)
    spin_until(lambda: "who sent it has gone; the arm was stopped" in table.executor.output(), 20, "the loss")
    spin_until(lambda: table.speed < 0.02, 10, "the arm to stand")
    assert "hand_empty()" in table.facts, "it did not come to the grasp"

    result = table.begin()
    spin_until(lambda: "holding(red_cube)" in table.facts, 60, "the cube to be held")
    before = table.way.copy()  # what stands on the table would be let go of
    spin_until(lambda: (table.way - before).max() > 0.15 or result.done(), 10, "the lift")
    table.executor.kill()
    spin_until(lambda: table.body.lost, 10, "the death to be noticed")
    spin_until(lambda: table.speed < 0.02, 10, "the arm to stand")
    time.sleep(0.5)
    table.start()
    assert "hand_empty()" not in table.facts, "the cube is between the fingers"
    spin_until(lambda: table.client.count_publishers("/world_state") == 1, 40, "the graph to forget the dead")


def test_nodes_that_are_interrupted_while_they_start_end_cleanly(start_node):
    """Each at a random moment: no crash in C++, no error of a context that has gone."""
    nodes = {}
    with own_domain("the tests' second body"):
        second = os.environ["ROS_DOMAIN_ID"]
        for system in ("tabletop", "household"):
            for spec in load_system(system).nodes:
                if spec.name not in nodes:
                    where = second if system == "household" else HERE
                    nodes[spec.name] = start_node(
                        spec.name, parameter_files=spec.parameter_files, environment={"ROS_DOMAIN_ID": where}
                    )
    begun = time.monotonic()
    for moment, name in sorted((random.uniform(0.2, 8.0), name) for name in nodes):
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        nodes[name].interrupt()
    for name, node in nodes.items():
        code, said = node.wait(60.0), node.output()
        # Before our own code runs, Python ends at a SIGINT as it does: by that signal.
        assert code == 0 or (code == -signal.SIGINT and said.rstrip().endswith("KeyboardInterrupt")), (name, code, said)
        assert not any(word in said for word in ("terminate called", "RCLError", "Segmentation")), (name, said)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("InvalidHandle", "cannot use Destroyable because destruction was requested"),
        ("RCLError", "Failed to add 'rcl_action_server_t' to wait set: action server pointer is invalid"),
    ],
)
def test_a_thread_that_spins_outlives_what_is_destroyed_and_ends_before_its_executor(kind, text):
    class Executor:
        """Meets what another thread has destroyed, then spins to the end."""

        spins, thread, ended_first = 0, None, None

        def spin_until_future_complete(self, future):
            self.spins += 1
            if self.spins == 1:
                raise getattr(bindings, kind)(text)
            ended = threading.Event()
            future.add_done_callback(lambda _: ended.set())
            ended.wait(60.0)
            self._futures = [Future()]  # a callback that the pool has not begun
            threading.Timer(0.1, self._futures[0].set_result, [None]).start()

        def shutdown(self, timeout_sec):
            self.ended_first = not self.thread.is_alive() and all(task.done() for task in self._futures)

    executor = Executor()
    with spun(executor, 60.0) as executor.thread:
        pass
    assert executor.spins == 2 and executor.ended_first
