"""What the simulation of the tabletop knows, what tasks say, and a person's hand in it."""

import numpy as np

UP = 0.06  # m above the table at which a cube's bottom is in the air


class Watch:
    """What the simulator knows, and what tasks say."""

    def __init__(self, node):
        from geometry_msgs.msg import PoseArray
        from planweave_interfaces.msg import TaskStatus
        from planweave_interfaces.srv import Intervene
        from sensor_msgs.msg import JointState

        from planweave_ros import conversions as convert
        from planweave_ros.qos import STATUSES

        self._convert, self.status = convert, None
        self.poses, self.speed, self.states = np.zeros((0, 3)), 0.0, 0
        self._hand = node.create_client(Intervene, "/simulation/intervene")
        node.create_subscription(PoseArray, "/simulation/object_poses", self._on_poses, 10)
        node.create_subscription(JointState, "/joint_states", self._on_joints, 100)
        node.create_subscription(TaskStatus, "/task_status", self._on_status, STATUSES)

    def _on_poses(self, msg):
        self.poses = np.array([(p.position.x, p.position.y, p.position.z) for p in msg.poses])

    def _on_joints(self, msg):
        self.speed, self.states = float(np.abs(np.array(msg.velocity)[:7]).max()), self.states + 1

    def _on_status(self, msg):
        self.status = self._convert.status_from_msg(msg)

    def in_the_air(self, index):
        """Whether the thing of that number in the scene's file is in the air."""
        return len(self.poses) > index and self.poses[index][2] > UP

    def says(self, state, words=""):
        return self.status is not None and self.status.state is state and words in self.status.message

    def move(self, thing, place):
        """A person's hand puts a thing elsewhere; the future of the answer."""
        from geometry_msgs.msg import Point
        from planweave_interfaces.srv import Intervene

        x, y, z = place
        return self._hand.call_async(Intervene.Request(objects=[thing], places=[Point(x=x, y=y, z=z)]))
