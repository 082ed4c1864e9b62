"""The whole tabletop system as processes over DDS: the main job, and nodes that are killed in the middle of it."""

import json
import subprocess
import sys
import time

import pytest
import yaml
from ros_fixtures import PATIENCE, not_in_the_policies

from planweave.core.paths import config_dir
from planweave.launcher.systems import load_system

CONFIG = config_dir()
SENTENCE = "put the red cube in the left tray"


def client_node():
    """A node that can run tasks and hears their status; its action client is made before it is spun."""
    import rclpy
    from planweave_interfaces.action import RunTask
    from planweave_interfaces.msg import TaskStatus
    from rclpy.action import ActionClient

    node = rclpy.create_node("e2e_client")
    node.run = ActionClient(node, RunTask, "/run_task")
    node.statuses = []
    node.create_subscription(TaskStatus, "/task_status", node.statuses.append, 50)
    return node


@pytest.fixture
def system(start_node, make_node, spin_until):
    """The five nodes as processes by name, and a client; the planner answers goals by grammar alone."""
    from planweave_ros.calling import MUTUAL_DISCOVERY

    nodes = {}

    def start(name, **parameters):
        spec = next(n for n in load_system("tabletop").nodes if n.name == name)
        nodes[name] = start_node(name, parameter_files=spec.parameter_files, **parameters)

    client = make_node(client_node)
    for name in ("simulation_node", "perception_node", "executor_node"):
        start(name)
    start("planner_node", client="none")
    start("feedback_node", action_timeout=60.0)
    spin_until(client.run.server_is_ready, 30, "the system to be ready")
    time.sleep(2 * MUTUAL_DISCOVERY)  # nothing tells when the server, too, has discovered this client
    client.nodes, client.start = nodes, start
    return client


def run(client, spin_until, sentence=SENTENCE, method="classical", seconds=60):
    """Run a task to its end; returns the result, or right away the future where seconds is 0."""
    from planweave_interfaces.action import RunTask

    sent = client.run.send_goal_async(RunTask.Goal(sentence=sentence, method=method))
    spin_until(sent.done, 10, "the goal to be accepted")
    result = sent.result().get_result_async()
    if not seconds:
        return sent.result(), result
    spin_until(result.done, seconds, "the task to end")
    return result.result().result


def succeeds_within(seconds, client, spin_until):
    """The task is repeated until it is done: a node may be on its way, and on a busy machine too few images come in the
    time of one look, which ends a task as not confirmed.
    """
    deadline = time.monotonic() + seconds * PATIENCE
    while not (result := run(client, spin_until, seconds=60)).success:
        assert result.message, "a task that fails says why"
        assert time.monotonic() < deadline, result.message


def acting(client):
    """Whether the arm is on its way."""
    return any(s.phase.startswith("acting:") for s in client.statuses)


def test_the_command_line_does_the_main_job():
    """One command, no system running: the embedded model is asked, the arm acts, the camera sees the goal hold."""
    done = subprocess.run(
        [sys.executable, "-m", "planweave", "run", "--system", "tabletop", "--json", SENTENCE],
        capture_output=True,
        text=True,
        timeout=540,
    )
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["success"] is True, result["message"]
    assert result["goal"] == ["in(red_cube, left_tray)"] and result["unmet"] == []
    assert result["usage"]["requests"] >= 1 and result["usage"]["endpoint"] == "embedded"
    checked = [e for e in result["record"]["events"] if e["event"] == "checked"]
    assert "in(red_cube, left_tray)" in checked[-1]["facts"] and checked[-1]["stamp"] > 0


def test_a_killed_simulation_ends_the_task_and_the_next_is_served(system, spin_until):
    _, result = run(system, spin_until, seconds=0)
    spin_until(lambda: acting(system), 30, "the arm to move")
    system.nodes["simulation_node"].kill()
    spin_until(result.done, 60, "the task to end")
    message = result.result().result.message
    assert not result.result().result.success and message
    assert "joint" in message or "silent" in message or "camera" in message, message
    system.start("simulation_node")
    succeeds_within(60, system, spin_until)


def test_a_killed_executor_ends_the_task_and_the_next_is_served(system, spin_until):
    _, result = run(system, spin_until, seconds=0)
    spin_until(lambda: acting(system), 30, "the arm to move")
    system.nodes["executor_node"].kill()
    spin_until(result.done, 90, "the task to end")
    assert not result.result().result.success and result.result().result.message
    system.start("executor_node")
    succeeds_within(60, system, spin_until)


def check_the_loop_of_the_library():
    """pw.run in this process, on the arm of the running system."""
    import planweave as pw
    from planweave_ros.robot import Robot

    arm = Robot(patience=10.0 * PATIENCE)
    try:
        result = pw.run(SENTENCE, body=arm, method="classical", model="none", timeout=60.0 * PATIENCE)
    finally:
        arm.close()
    assert result.success and {code for _, code in result.steps} == {"SUCCESS"}, result


def check_graph(client, spin_until):
    """The recording profile and the SROS 2 policies against the graph of the running system."""
    from rclpy.qos import DurabilityPolicy

    latched = yaml.safe_load((CONFIG / "rosbag2" / "qos.yaml").read_text())
    topics = (CONFIG / "rosbag2" / "topics").read_text().split()
    assert set(latched) <= set(topics)
    for topic in topics:
        offered = spin_until(lambda t=topic: client.get_publishers_info_by_topic(t), 20, f"a publisher of {topic}")
        if topic == "/rosout":
            continue
        durable = {info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for info in offered}
        assert durable == {topic in latched}, topic
        assert topic not in latched or latched[topic]["durability"] == "transient_local"
    assert not not_in_the_policies(client, load_system("tabletop").nodes, spin_until), "run tools/policies.py"


def test_cancel_stops_the_arm_and_the_next_task_is_served(system, spin_until):
    check_graph(system, spin_until)
    check_the_loop_of_the_library()
    from sensor_msgs.msg import JointState

    goal, result = run(system, spin_until, "put the blue cube in the right tray", seconds=0)
    spin_until(lambda: acting(system), 30, "the arm to move")
    goal.cancel_goal_async()
    spin_until(result.done, 20, "the task to end")
    assert result.result().result.status.state == result.result().result.status.CANCELED
    states = []
    system.create_subscription(JointState, "/joint_states", states.append, 10)
    spin_until(lambda: len(states) > 2, 10, "joint states")
    assert max(abs(v) for v in states[-1].velocity[:7]) < 0.02
    stamps = [t.sec + 1e-9 * t.nanosec for t in (result.result().result.status.stamp, states[-1].header.stamp)]
    assert stamps[0] > 0 and abs(stamps[0] - stamps[1]) < 1000, "a task's stamps are of the simulated clock, too"
    succeeds_within(60, system, spin_until)
