"""executor_node as a real robot has it: FollowJointTrajectory, Franka's hand, recovery; the simulation behind them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from doubles import hand_actions, ros_messages
from doubles.environment import python_path
from doubles.true_camera import TrueCamera
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from ros_fixtures import result_of, simulated, simulation
from trajectory_msgs.msg import JointTrajectory

from executor_node import node as executor
from planweave.bodies.arm.arms.moveit import MoveItFollower
from planweave.bodies.arm.arms.moveit_process import MoveItProcess
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave_ros import arm_ports
from planweave_ros import conversions as convert
from simulation_node.node import SimulationNode

pytestmark = pytest.mark.gl


@pytest.fixture
def make_robot(make_node, spin_until, monkeypatch):
    """make_robot(**parameters of executor_node): simulation, camera and a client with do(text) -> result, recover()."""
    from std_srvs.srv import Trigger

    class Recovered:
        def __init__(self, node, controller, torques, forces):
            self.prepared = 0

        def prepare(self, check):
            self.prepared += 1
            return ""

        def run(self):
            return True, "active again"

    hand_actions.Recorded.sent.clear()
    there = [name for name in sys.modules if name.partition(".")[0] == "control_msgs"]
    ros_messages.install(lambda name, module: name in there or monkeypatch.setitem(sys.modules, name, module))
    monkeypatch.setattr(arm_ports, "ActionPort", hand_actions.Recorded)
    monkeypatch.setattr(executor, "make_recovery", lambda driver: {"franka_ros2": Recovered}[driver])
    monkeypatch.setattr(
        executor, "StopWatch", lambda *_: SimpleNamespace(problem="", close=lambda: None, beat=lambda: None)
    )

    class Robot:
        sent = hand_actions.Recorded.sent

        until, make = staticmethod(spin_until), staticmethod(make_node)

        def __init__(self, **parameters):
            self.simulation = make_node(SimulationNode, simulation(scene="blocks"))
            hand_actions.Recorded.simulation = self.simulation
            make_node(TrueCamera, self.simulation)
            self.executor = make_node(executor.ExecutorNode, simulated("executor_node", robot="fr3", **parameters))
            client = make_node("client")
            self.action = make_node.action_client(client, ExecuteAction, "/execute_action")
            self.recovery = client.create_client(Trigger, "/executor/recover")
            assert self.action.wait_for_server(timeout_sec=60.0)

        def send(self, text):
            goal = ExecuteAction.Goal(action=convert.action_to_msg(Action.parse(text)), timeout=60.0)
            return result_of(self.action.send_goal_async(goal))

        def do(self, text):
            return self.end(self.send(text))

        def end(self, handle):
            return result_of(handle.get_result_async()).result

        def recover(self):
            return result_of(self.recovery.call_async(Trigger.Request()))

        def cancel(self, handle):
            result_of(handle.cancel_goal_async())

    return Robot


def test_a_pick_a_cancel_recovery_and_a_second_body(make_robot):
    robot = make_robot(arm="follow", gripper="franka", home_gripper=True)
    assert robot.recovery.wait_for_service(timeout_sec=60.0)
    result = robot.do("grasp(red_cube)")
    assert result.code == Code.SUCCESS, result.message
    names = [name for name, _ in robot.sent]
    assert names[0] == "franka_gripper/homing" and names.count("franka_gripper/homing") == 1
    assert names.index("franka_gripper/move") < names.index("franka_gripper/grasp")
    goals = [goal for name, goal in robot.sent if name == "fr3_arm_controller/follow_joint_trajectory"]
    assert len(goals) >= 3 and all(goal.trajectory.joint_names[0] == "fr3_joint1" for goal in goals)
    assert robot.recover().success
    before = len(robot.sent)
    handle = robot.send("place_at(red_cube, right_spot)")
    robot.until(lambda: len(robot.sent) > before, 20, "a motion")
    busy = robot.recover()
    assert not busy.success and "place_at(red_cube, right_spot)" in busy.message
    robot.cancel(handle)
    assert robot.end(handle).code == Code.CANCELED
    assert robot.recover().message == "active again"
    other = robot.make("executor_node_2")
    other.create_publisher(WorldState, "/world_state", 1)
    robot.until(lambda: other.count_publishers("/world_state") == 2, 20, "the second publisher in the graph")
    before = len(robot.sent)
    result = robot.do("return_to_base()")
    assert result.code == Code.NOT_STARTED and "executor_node_2 already publishes /world_state" in result.message
    assert len(robot.sent) == before


def test_moveit_runs_beside_the_node_and_ends_with_it(make_robot, monkeypatch):
    monkeypatch.setattr(MoveItFollower, "grace", 0.5)
    test = Path(__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", python_path(test, test.parent))
    monkeypatch.setattr(
        executor,
        "MoveItProcess",
        lambda config, use_sim_time, namespace, robot: MoveItProcess(
            config, use_sim_time, namespace=namespace, command=[sys.executable, "-m", "doubles.moveit_child"]
        ),
    )
    robot = make_robot(arm="moveit", gripper="none")
    child = robot.executor._moveit._child
    result = robot.do("return_to_base()")  # where the arm is already: the double of MoveIt moves nothing
    assert result.code == Code.SUCCESS, result.message
    result = robot.do("grasp(red_cube)")
    assert result.code == Code.CONTROL_FAILED
    assert child.poll() is None
    robot.executor.destroy_node()
    monkeypatch.setattr(robot.executor, "destroy_node", lambda: None)  # the fixture would do it again
    assert child.wait(60.0) is not None


def test_a_trajectory_of_another_publisher_stops_the_motion_and_names_it(make_robot):
    robot = make_robot(arm="follow", gripper="franka", home_gripper=False)
    publisher = robot.make("teleop").create_publisher(JointTrajectory, "/fr3_arm_controller/joint_trajectory", 10)
    robot.until(lambda: publisher.get_subscription_count() >= 2, 20, "controller and body to listen")
    handle = robot.send("grasp(red_cube)")
    robot.until(lambda: robot.executor._arm._following, 60, "a motion")
    publisher.publish(JointTrajectory(joint_names=["fr3_joint1"]))
    result = robot.end(handle)
    assert result.code == Code.SAFETY_STOP and "/teleop" in result.message
    publisher.publish(JointTrajectory(joint_names=["fr3_joint1"]))  # of no concern while nothing moves
    assert robot.do("return_to_base()").code == Code.SUCCESS
