"""Action ports on real rclpy: every end of a goal, cancelling early and late; and only one body in a domain."""

import importlib.util
import threading
import time
from types import SimpleNamespace

import pytest
from codes import raises_code
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from rclpy.parameter import Parameter

from executor_node.node import ExecutorNode
from planweave.core.workflow.action_end import End
from planweave_ros.action_port import ActionPort
from planweave_ros.deferred import DeferredActionServer
from planweave_ros.only_one import refuse_a_second_body, second_body


@pytest.fixture
def make_port(make_node, executor, spin_until):
    """make_port(do, accept) -> port to a server; do(goal) -> (message, success) works on a goal in a thread of its own.

    rclpy's plain server loses a goal that is cancelled between its look at the state and its change to EXECUTING.
    """
    servers = []

    def make(do=None, accept=lambda: True):
        def work(goal):
            goal.begin()
            message, success = do(goal)
            goal.finish(result(message), success)

        node = make_node("a_server_and_its_client")
        if do is not None:
            servers.append(
                DeferredActionServer(
                    node,
                    ExecuteAction,
                    "/move_it",
                    lambda goal: threading.Thread(target=work, args=(goal,), daemon=True).start(),
                    lambda _: accept(),
                )
            )
        port = ActionPort(node, ExecuteAction, "/move_it")
        if do is not None:
            spin_until(
                lambda: port._client.server_is_ready() and port._canceler._client.service_is_ready(), 10, "the server"
            )
        return port

    yield make
    executor.end()  # it must not wait for what is destroyed
    for server in servers:
        server.destroy()


class Ends(list):
    """Collects the ends of goals."""

    def __init__(self):
        super().__init__()
        self.come = threading.Event()

    def __call__(self, ended):
        self.append(ended)
        self.come.set()

    def wait(self):
        assert self.come.wait(60.0), "no end"
        self.come.clear()
        return self[-1]


def goal():
    return ExecuteAction.Goal()


def result(message):
    return ExecuteAction.Result(message=message)


def test_goals_end_as_the_server_says(make_port):
    said = ["succeed"]

    port, ends = make_port(lambda _: (said[0], said[0] == "succeed"), lambda: said[0] != "refuse"), Ends()
    for word, end in (("succeed", End.SUCCEEDED), ("abort", End.ABORTED), ("refuse", End.REJECTED)):
        said[0] = word
        port.send(goal(), ends)
        ended = ends.wait()
        assert ended.end is end and ended.action == "/move_it"
        assert end is End.REJECTED or ended.result.message == word


def test_without_a_server_nothing_is_sent(make_port):
    ends = Ends()
    make_port().send(goal(), ends)
    assert ends.wait().end is End.ABSENT


def test_cancel_ends_what_runs_and_what_is_not_yet_accepted(make_port):
    running = threading.Event()

    def do(goal):
        running.set()
        return "", not goal.cancel_asked.wait(60.0)

    port, ends = make_port(do), Ends()
    port.send(goal(), ends)
    assert running.wait(60.0)
    port.cancel()
    assert ends.wait().end is End.CANCELED
    port.send(goal(), ends)
    port.cancel()  # before the server has answered
    assert ends.wait().end is End.CANCELED


def test_a_cancel_before_rclpy_says_that_a_goal_is_accepted_reaches_it(make_node):
    """Another thread of the executor may be that quick; the goal is being cancelled then, and no second one comes."""
    told = []
    server = DeferredActionServer(make_node("server"), ExecuteAction, "/move_it", told.append)
    try:
        handle = SimpleNamespace(goal_id=SimpleNamespace(uuid=bytes(16)), request=None)
        server._cancel(handle)
        server._accepted(handle)
        assert told[0].cancel_asked.is_set()
    finally:
        server.destroy()


def test_no_response_comes_before_its_request_is_registered(make_node, spin_until):
    """Also where the sender pauses after it has sent: rclpy's own client loses the acceptance of a goal here."""

    class SlowToLeave:
        """A lock; who sends pauses after having released it."""

        def __init__(self):
            self._lock = threading.Lock()

        def __enter__(self):
            self._lock.acquire()

        def __exit__(self, *_):
            self._lock.release()
            if threading.current_thread() is threading.main_thread():
                time.sleep(0.2)

    server = make_node("server")
    goals = []
    made = DeferredActionServer(server, ExecuteAction, "/do_it", goals.append)
    client = make_node.action_client(make_node("client"), ExecuteAction, "/do_it")
    spin_until(client.server_is_ready, 10, "the server")
    client._lock = SlowToLeave()
    heard = []
    sent = client.send_goal_async(goal(), feedback_callback=heard.append)
    spin_until(sent.done, 10, "the goal to be accepted")
    spin_until(lambda: goals, 10, "the goal")
    goals[0].begin()
    goals[0].publish(ExecuteAction.Feedback(phase="half way"))
    spin_until(lambda: heard, 10, "feedback")
    canceled, ended = sent.result().cancel_goal_async(), sent.result().get_result_async()
    spin_until(canceled.done, 10, "the cancellation")
    goals[0].finish(result("stopped"), success=False)
    spin_until(ended.done, 10, "the result")
    assert ended.result().result.message == "stopped"
    spin_until(lambda: not client._futures, 10, "nothing to be kept of what has ended")
    made.destroy()


def test_a_second_body_is_refused(make_node, ros):
    first = make_node("executor_node")
    first.create_publisher(WorldState, "/world_state", 1)
    refuse_a_second_body(first, time.monotonic() - 10.0)
    assert not second_body(first)
    second = make_node("another_body")
    second.create_publisher(WorldState, "/world_state", 1)
    with raises_code("configuration", "executor_node", "/world_state", "ROS_DOMAIN_ID"):
        refuse_a_second_body(second, time.monotonic() + 5.0)


def test_an_arm_whose_messages_are_not_installed_says_what_to_install(ros, monkeypatch):
    if importlib.util.find_spec("control_msgs") is not None:
        pytest.skip("control_msgs is installed")
    monkeypatch.setenv("ROS_DISTRO", "lyrical")
    node = ExecutorNode.__new__(ExecutorNode)
    with raises_code("configuration", "control_msgs", "apt install ros-lyrical-control-msgs"):
        node.__init__([Parameter("robot", value="fr3"), Parameter("gripper", value="none")])
    node.destroy_node()
