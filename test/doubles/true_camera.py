"""A double of perception_node: publishes what the simulator in this process knows, ten times a second."""

from concurrent.futures import CancelledError

from planweave_interfaces.msg import DetectedObject, DetectedObjects
from rclpy.node import Node

from doubles.direct_arm import true_things
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.geometry.upright_shape import quaternion_of
from planweave.robots import load_robot
from planweave_ros import conversions as convert

FR3 = load_robot()


class TrueCamera(Node):
    """`silent`: publishes nothing. `left`: images until it falls silent, None: no end. `hidden`: names that
    it sees no more (last pose, not visible).
    """

    def __init__(self, simulation):
        super().__init__("true_camera")
        self._simulation = simulation
        self._domain = Domain.load("tabletop")
        self.silent, self.hidden = False, set()
        self.left = None
        self._publisher = self.create_publisher(DetectedObjects, "/perception/detected_objects", 10)
        self.create_timer(0.1, self._look)

    def _look(self):
        if self.silent:
            return
        try:
            stamp, things = self._simulation._runner.call(
                lambda s: (s.time, true_things(s.scene, s, self._domain)), 0.5
            )
        except (PlanweaveError, CancelledError):  # the simulation has ended
            return
        msg = DetectedObjects()
        msg.header.frame_id, msg.header.stamp = FR3.base, convert.time_to_msg(stamp)
        for number, thing in enumerate(things):
            msg.objects.append(
                DetectedObject(
                    id=number,
                    name=thing.name,
                    class_name=thing.class_name,
                    colour=thing.colour,
                    shape=thing.shape,
                    confidence=1.0,
                    visible=thing.visible and thing.name not in self.hidden,
                    pose=convert.pose_to_msg(thing.position, quaternion_of(thing.yaw)),
                    size=convert.size_to_msg(thing.size),
                )
            )
        self._publisher.publish(msg)
        if self.left is not None:
            self.left -= 1
            self.silent = self.left == 0
