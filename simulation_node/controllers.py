"""The controllers of the simulated arm and hand on ROS, as ros2_control offers them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from control_msgs.msg import SpeedScalingFactor
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.core.base.errors import PlanweaveError
from planweave.robots import RobotDescription
from planweave.simulation.runner import Runner
from planweave.simulation.simulator import Simulator
from planweave.simulation.trajectory import Point, TrajectoryError
from planweave.simulation.trajectory_controller import INVALID_GOAL, SUCCESSFUL, GoalResult
from planweave_ros.conversions import time_from_msg, time_to_msg
from planweave_ros.deferred import DeferredActionServer, Goal

_MONITORED = 0.05  # s of wall time between two messages of feedback, as ros2_control's action_monitor_rate has it


class _Controller:
    """One action, of which the newest goal is carried out. `_goal` is known to the physics thread alone."""

    def __init__(self, node: Node, runner: Runner, action: Any, name: str):
        self._node, self._runner, self._name = node, runner, node.resolve_service_name(name)
        self._goal: Goal | None = None
        self.server = DeferredActionServer(node, action, name, self._start, self._accepts)

    def _obey(self, command: Callable[[Simulator], None]) -> str:
        """Run a command in the physics thread; returns, and logs, why it was refused, else empty."""
        try:
            self._runner.call(command)
        except PlanweaveError as error:
            if self._node.context.ok():
                self._node.get_logger().error(f"{self._name}: refused: {error}")
            return str(error)
        return ""

    def _accepts(self, request: Any) -> bool:
        return not self._obey(lambda simulator: self._check(simulator, request))

    def _start(self, goal: Goal) -> None:
        def begin(simulator: Simulator) -> None:
            if goal.cancel_asked.is_set():
                goal.finish(self._refusal(""), False)
                return
            self._begin(simulator, goal)
            self._goal = goal

        goal.on_cancel = lambda: self._cancel(goal)
        goal.begin()
        if problem := self._obey(begin):
            goal.finish(self._refusal(problem), False)

    def _cancel(self, goal: Goal) -> None:
        def stop(simulator: Simulator) -> None:
            if self._goal is goal:
                self._goal = None
                self._stop(simulator)
                goal.finish(self._refusal(""), False)

        self._obey(stop)

    def _end(self, goal: Goal, result: Any, success: bool) -> None:
        self._goal = None
        goal.finish(result, success)

    def _check(self, simulator: Simulator, request: Any) -> None:
        """Raise TrajectoryError where the request cannot be carried out."""
        raise NotImplementedError

    def _begin(self, simulator: Simulator, goal: Goal) -> None:
        """Carry out a goal, whose end `_end` is told."""
        raise NotImplementedError

    def _stop(self, simulator: Simulator) -> None:
        """Stop what is carried out."""
        raise NotImplementedError

    def _refusal(self, why: str) -> Any:
        """The result of a goal that was not, or not wholly, carried out."""
        raise NotImplementedError


class ArmController(_Controller):
    """A joint_trajectory_controller: its action, and its topics of trajectories and of the speed scaling."""

    def __init__(self, node: Node, runner: Runner, robot: RobotDescription):
        name, group = robot.ros.arm_controller, MutuallyExclusiveCallbackGroup()
        super().__init__(node, runner, FollowJointTrajectory, f"{name}/follow_joint_trajectory")
        self._joints = list(robot.joint_names)
        self._told = 0.0  # wall time (monotonic, s) of the last feedback
        node.create_subscription(JointTrajectory, f"{name}/joint_trajectory", self._on_topic, 10, callback_group=group)
        node.create_subscription(
            SpeedScalingFactor, f"{name}/speed_scaling_input", self._on_scaling, 10, callback_group=group
        )

    def tell(self, simulator: Simulator) -> None:
        """Publish feedback of the goal that is carried out; in the physics thread."""
        goal, now = self._goal, time.monotonic()
        if goal is None or now - self._told < _MONITORED:
            return
        self._told = now
        wanted = simulator.controller.desired
        positions, velocities = (values[: len(self._joints)] for values in simulator.joint_state())
        feedback = FollowJointTrajectory.Feedback(
            joint_names=self._joints,
            desired=_point(wanted.positions, wanted.velocities),
            actual=_point(positions, velocities),
            error=_point(wanted.positions - positions, wanted.velocities - velocities),
            index=simulator.controller.index(),
        )
        feedback.header.stamp = time_to_msg(simulator.time)
        goal.publish(feedback)

    def _check(self, simulator: Simulator, request: FollowJointTrajectory.Goal) -> None:
        simulator.controller.check(*_trajectory(simulator, request.trajectory))
        _tolerances(simulator, request)

    def _begin(self, simulator: Simulator, goal: Goal) -> None:
        def ended(result: GoalResult) -> None:
            self._end(goal, _result(result), result.code == SUCCESSFUL)

        what = _trajectory(simulator, goal.request.trajectory)
        simulator.controller.follow(*what, ended, _tolerances(simulator, goal.request))

    def _stop(self, simulator: Simulator) -> None:
        simulator.controller.cancel()

    def _refusal(self, why: str) -> FollowJointTrajectory.Result:
        return _result(GoalResult(INVALID_GOAL if why else SUCCESSFUL, why))

    def _on_topic(self, message: JointTrajectory) -> None:
        self._obey(lambda simulator: simulator.controller.follow(*_trajectory(simulator, message)))

    def _on_scaling(self, message: SpeedScalingFactor) -> None:
        def scale(simulator: Simulator) -> None:
            if not 0.0 <= message.factor <= 1.0:
                raise TrajectoryError(f"the speed scaling must be 0 to 1, not {message.factor}")
            simulator.controller.scaling = message.factor

        self._obey(scale)


class GripperController(_Controller):
    """A parallel_gripper_action_controller that allows stalling: fingers that something holds are at their goal."""

    def __init__(self, node: Node, runner: Runner, robot: RobotDescription):
        super().__init__(node, runner, ParallelGripperCommand, f"{robot.ros.gripper_controller}/gripper_cmd")
        self._gripper = robot.gripper

    def _check(self, simulator: Simulator, request: ParallelGripperCommand.Goal) -> None:
        simulator.check_gripper(*self._command(request))

    def _begin(self, simulator: Simulator, goal: Goal) -> None:
        def ended(reached: bool | None) -> None:
            result = ParallelGripperCommand.Result(
                state=self._state(simulator), reached_goal=reached is True, stalled=reached is False
            )
            self._end(goal, result, reached is not None)

        simulator.move_gripper(*self._command(goal.request), ended)

    def _stop(self, simulator: Simulator) -> None:
        simulator.stop_gripper()

    def _refusal(self, why: str) -> ParallelGripperCommand.Result:
        return ParallelGripperCommand.Result()

    def _command(self, request: ParallelGripperCommand.Goal) -> tuple[float, float]:
        """Opening (m) and force (N, 0: the default)."""
        command, gripper = request.command, self._gripper
        named = list(command.name) in ([], [gripper.joints[0]])
        if not named or len(command.position) != 1 or len(command.effort) > 1:
            raise TrajectoryError(
                f"a command of the gripper must name {gripper.joints[0]} alone, with one position "
                f"({gripper.closed:g} closed, {gripper.open:g} open) and at most one effort (N)"
            )
        return gripper.width(list(command.position)), command.effort[0] if command.effort else 0.0

    def _state(self, simulator: Simulator) -> JointState:
        positions, velocities = simulator.joint_state()
        at = len(positions) - len(self._gripper.joints)
        return JointState(
            name=[self._gripper.joints[0]], position=[float(positions[at])], velocity=[float(velocities[at])]
        )


def _trajectory(simulator: Simulator, message: JointTrajectory) -> tuple[list[str], list[Point], float]:
    """Joints, points, and seconds from now at which it begins."""
    points = [
        Point(time_from_msg(p.time_from_start), p.positions, p.velocities, p.accelerations) for p in message.points
    ]
    begin = time_from_msg(message.header.stamp)
    if begin and points and begin + points[-1].time < simulator.time:
        raise TrajectoryError(f"the trajectory ends {simulator.time - begin - points[-1].time:.1f} s in the past")
    return list(message.joint_names), points, max(0.0, begin - simulator.time) if begin else 0.0


def _tolerances(simulator: Simulator, request: FollowJointTrajectory.Goal) -> Any:
    return simulator.controller.tolerances(
        {each.name: each.position for each in request.path_tolerance},
        {each.name: each.position for each in request.goal_tolerance},
        time_from_msg(request.goal_time_tolerance),
    )


def _point(positions: Any, velocities: Any) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=positions.tolist(), velocities=velocities.tolist())


def _result(result: GoalResult) -> FollowJointTrajectory.Result:
    return FollowJointTrajectory.Result(error_code=result.code, error_string=result.text)
