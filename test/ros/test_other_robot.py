"""The nodes with a robot that is not ours, chosen by one parameter: a UR5e as examples/robot_ur5e describes it."""

from pathlib import Path

import numpy as np
import pytest
from codes import raises_code
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import DetectedObjects, WorldState
from rclpy.parameter import Parameter
from ros_fixtures import arm_goals, result_of, simulated, simulation
from sensor_msgs.msg import JointState

from executor_node.node import ExecutorNode
from perception_node.node import PerceptionNode
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave.robots import load_robot
from planweave_ros import conversions as convert
from planweave_ros.qos import TRANSIENT_LOCAL
from simulation_node.node import SimulationNode

pytestmark = pytest.mark.gl
FILE = str(Path(__file__).resolve().parents[2] / "examples" / "robot_ur5e" / "planweave_ur5e" / "ur5e.yaml")


def test_a_ur5e_sees_takes_and_stacks_a_cube(make_node, spin_until):
    robot, chosen = load_robot(FILE), Parameter("robot_type", value=FILE)
    make_node(SimulationNode, [chosen, *simulation(scene="blocks")])
    make_node(PerceptionNode, [chosen])
    sent = arm_goals(make_node(ExecutorNode, simulated("executor_node", robot_type=FILE)))
    client = make_node("client")
    states, seen, worlds = [], [], []
    client.create_subscription(JointState, "/joint_states", states.append, 10)
    client.create_subscription(DetectedObjects, "/perception/detected_objects", seen.append, 10)
    client.create_subscription(
        WorldState, "/world_state", lambda m: worlds.append(convert.world_from_msg(m)), TRANSIENT_LOCAL
    )
    action = make_node.action_client(client, ExecuteAction, "/execute_action")
    assert action.wait_for_server(timeout_sec=60.0)
    spin_until(lambda: states and worlds and "red_cube" in worlds[-1].by_name, 20, "a world with the red cube")
    assert list(states[-1].name) == [*robot.joint_names, *robot.gripper.joints]
    assert states[-1].position[-1] == pytest.approx(0.0, abs=0.02), "open: the knuckle at 0"
    assert {m.header.frame_id for m in seen} == {"base_link"} and worlds[-1].frame == "base_link"

    def do(text):
        goal = ExecuteAction.Goal(action=convert.action_to_msg(Action.parse(text)), timeout=60.0)
        return result_of(result_of(action.send_goal_async(goal)).get_result_async()).result

    for text, fact in (
        ("grasp(red_cube)", "holding(red_cube)"),
        ("place_on(red_cube, blue_cube)", "on(red_cube, blue_cube)"),
    ):
        result = do(text)
        assert result.code == Code.SUCCESS, result.message
        assert fact in {str(f) for f in convert.world_from_msg(result.world).facts}
    spin_until(lambda: len(sent) >= 4, 10, "the trajectories")
    for point in (p for _, message in sent for p in message.points):
        assert (np.abs(point.velocities) <= 0.4 * np.array(robot.velocity) * 1.02).all()


def test_limits_of_one_robot_are_not_used_for_another(make_node):
    with raises_code("configuration", "fr3", "robot_type", "ur5e"):
        make_node(ExecutorNode, simulated("executor_node", robot="fr3", arm="follow", gripper="none", robot_type=FILE))
