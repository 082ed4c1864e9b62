"""Methods over DDS: feedback_node's loops, planner_node with a recorded model, and a body that the domain drives."""

import pytest
from doubles.method_runs import ASKING, FOLDER, SETTINGS, TASKS
from doubles.nodes import BodyNodeDouble
from doubles.planner_worlds import BLOCKS
from doubles.scripted import SymbolicBody
from planweave_interfaces.action import RunTask
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_fixtures import simulated, task_goal

from feedback_node.node import FeedbackNode
from planner_node.node import PlannerNode
from planweave.core.symbolic.world import Literal
from planweave.llm.clients.recording import ReplayClient
from planweave_ros import conversions as convert
from planweave_ros.rclpy_compat import ThreadSafeActionClient

LIKE_RECORDED = {
    "samples": SETTINGS.samples,
    "votes": SETTINGS.votes,
    "proposals": SETTINGS.proposals,
    "exclude_actions": list(SETTINGS.exclude_actions),
}


class Client(Node):
    def __init__(self):
        super().__init__("client")
        self.run = ThreadSafeActionClient(self, RunTask, "/run_task")


def parameters(values):
    return [Parameter(name, value=value) for name, value in values.items()]


@pytest.mark.parametrize("method", ASKING)
def test_a_task_by_each_method(make_node, spin_until, method):
    sentence, goal = TASKS["tabletop"]
    make_node(
        PlannerNode, ReplayClient(FOLDER / f"tabletop_{method}.jsonl"), parameter_overrides=parameters(LIKE_RECORDED)
    )
    make_node(BodyNodeDouble, SymbolicBody(BLOCKS))
    options = {"fallback": "none", "scene_aware.samples": 3, "zero_shot.samples": 3}
    make_node(FeedbackNode, simulated("feedback_node", **options))
    client = make_node(Client)
    assert client.run.wait_for_server(timeout_sec=60.0)
    sent = client.run.send_goal_async(
        RunTask.Goal(
            task=task_goal(sentence=sentence, method=method, goal=[convert.literal_to_msg(Literal.parse(goal))])
        )
    )
    spin_until(sent.done, 20.0, "acceptance")
    result = sent.result().get_result_async()
    spin_until(result.done, 40.0, "the end of the task")
    got = result.result().result
    assert got.success, got.message
    assert got.status.method == method and got.status.usage.requests and not got.status.progress.fallback
