"""A double of tf2_ros as its Python API is documented (rolling, tf2_ros_py): what is set is what is looked up.

sys.modules["tf2_ros"] = tf2_api.module({("fr3_link0", "camera"): (position, quaternion)})
"""

import types

from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time


class TransformException(Exception):
    """Root of tf2's exceptions."""


class LookupException(TransformException):
    """A frame that does not exist."""


class TransformListener:
    """Fills the buffer from /tf and /tf_static; here the buffer is full."""

    def __init__(
        self,
        buffer,
        node,
        *,
        spin_thread=False,
        qos=None,
        static_qos=None,
        tf_topic="/tf",
        tf_static_topic="/tf_static",
        static_only=False,
    ):
        assert isinstance(node, Node) and hasattr(buffer, "lookup_transform")


def module(transforms):
    """tf2_ros; transforms: position and quaternion (x, y, z, w) by (target frame, source frame), may be changed."""

    class Buffer:
        def __init__(self, cache_time=None, node=None):
            self.asked = []

        def lookup_transform(self, target_frame, source_frame, time, timeout=Duration()):  # noqa: B008
            assert isinstance(time, Time) and isinstance(timeout, Duration)
            if (target_frame, source_frame) not in transforms:
                raise LookupException(f'"{source_frame}" passed to lookupTransform does not exist.')
            (x, y, z), (qx, qy, qz, qw) = transforms[target_frame, source_frame]
            found = TransformStamped()
            found.header.frame_id, found.child_frame_id = target_frame, source_frame
            found.transform = Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw))
            return found

    fake = types.ModuleType("tf2_ros")
    fake.Buffer, fake.TransformListener = Buffer, TransformListener
    fake.TransformException, fake.LookupException = TransformException, LookupException
    return fake
