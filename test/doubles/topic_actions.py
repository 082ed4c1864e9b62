"""Actions of ros2_control and franka_ros2 on top of simulation_node's topics, for a node under test."""

import threading
import types
from typing import ClassVar

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.core.action_end import ActionEnd, End
from planweave.robots import load_robot

FR3 = load_robot()


class TopicAction:
    """Stands in for planweave_ros.action_port.ActionPort: moves the simulated joints and reports when they rest."""

    sent: ClassVar = []  # (action, goal) of all of them

    def __init__(self, node, action_type, name):
        self._name, self._lock, self._done = name, threading.Lock(), None
        arm = "arm" in name
        self._joints = FR3.joint_names if arm else FR3.gripper.joints[:1]
        self._begun = self._stamp = 0.0
        self._goal = np.zeros(len(self._joints))
        controller = "/fr3_arm_controller" if arm else "/fr3_gripper_controller"
        self._out = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", 10)
        node.create_subscription(JointState, "/joint_states", self._on_state, 10)

    def send(self, goal, done, feedback=None):
        TopicAction.sent.append((self._name, goal))
        if hasattr(goal, "trajectory"):
            message = goal.trajectory
        else:
            width, force = getattr(goal, "width", 0.08), getattr(goal, "force", 20.0)  # homing has neither
            point = JointTrajectoryPoint(positions=[width / 2], effort=[force])
            message = JointTrajectory(joint_names=list(self._joints), points=[point])
        last = message.points[-1]
        with self._lock:
            self._done, self._goal = done, np.array(last.positions)
            self._begun = self._stamp + last.time_from_start.sec + last.time_from_start.nanosec * 1e-9
        self._out.publish(message)

    def cancel(self):
        if "arm" in self._name:
            self._out.publish(JointTrajectory(joint_names=list(self._joints)))
        self._end(End.CANCELED)
        return ""

    def _on_state(self, msg):
        self._stamp = msg.header.stamp.sec + msg.header.stamp.nanosec * 1e-9
        index = [msg.name.index(name) for name in self._joints]
        speed = max(abs(msg.velocity[i]) for i in index)
        there = max(abs(msg.position[i] - q) for i, q in zip(index, self._goal))
        rests = self._stamp > self._begun + 0.3 and speed < 0.005
        if rests and (there < 0.01 or "arm" not in self._name):
            self._end(End.SUCCEEDED, error_code=0, success=True)

    def _end(self, end, **result):
        with self._lock:
            done, self._done = self._done, None
        if done is not None:
            done(ActionEnd(end, self._name, types.SimpleNamespace(**result)))
