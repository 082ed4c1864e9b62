"""The pictures that a learned policy is given, by the topic of a camera."""

import pytest
from sensor_msgs.msg import Image

from planweave.bodies.arm.failures import SkillFailureError
from planweave.core.base.failure import Code
from planweave_ros.camera_pictures import Pictures


def test_the_newest_picture_is_given_and_waiting_for_one_ends_with_the_action(make_node, spin_until):
    def cancelled():
        raise SkillFailureError(Code.CANCELED, "cancelled")

    pictures = Pictures(make_node("watcher"))
    with pytest.raises(SkillFailureError):
        pictures("/dark/image_raw", cancelled)
    camera = make_node("camera").create_publisher(Image, "/bright/image_raw", 10)

    def shown():
        camera.publish(Image(height=2, width=3, encoding="rgb8", step=9, data=bytes(range(18))))
        return pictures("/bright/image_raw", lambda: None)

    assert spin_until(lambda: (found := shown()) is not None and [found], 10, "a picture")[0][1, 2].tolist() == [
        15,
        16,
        17,
    ]
