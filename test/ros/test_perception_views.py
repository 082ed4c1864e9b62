"""What perception_node publishes for people and other programs: changes, markers, the annotated image, names to look
for."""

import numpy as np
import pytest
from doubles.camera_driver import CAMERA, EXPECTED, CameraDriver, blocks_view, look
from planweave_interfaces.msg import SceneChanges
from planweave_interfaces.srv import LookFor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

import perception_node.node as module
from perception_node.node import PerceptionNode
from planweave.robots import load_robot
from planweave_ros.qos import TRANSIENT_LOCAL

FR3 = load_robot()

pytestmark = pytest.mark.gl


class Table:
    """perception_node before a camera double, and what it says beside the objects."""

    def __init__(self, make_node, spin_until):
        self.spin_until = spin_until
        self.camera = CameraDriver(make_node("camera_driver"), blocks_view(), QoSProfile(depth=5))
        self.node = self.camera.node
        self.changes = self.hear(SceneChanges, "/perception/changes")
        self.perception = make_node(PerceptionNode, [Parameter("tracking.clear_views", value=2)])
        spin_until(self.camera.ready, 10.0, "the connections")
        spin_until(lambda: self.node.count_publishers("/perception/changes"), 10.0, "the changes' publisher")

    def hear(self, kind, topic, qos=10):
        """A list that fills with the topic's messages."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def look(self, times=2, **frame):
        """Show frames one by one; the last answer."""
        return look(self.camera, self.spin_until, times, **frame)

    def next_change(self, view):
        """Show a scene until the table is said to have changed."""
        self.camera.view, known = view, len(self.changes)
        self.spin_until(lambda: self.look(1) and len(self.changes) > known, 30.0, "a change")
        return self.changes[known]


@pytest.fixture
def table(make_node, spin_until):
    return Table(make_node, spin_until)


def test_what_appears_moves_and_disappears_is_told_by_name(table):
    first = table.next_change(blocks_view())
    assert (first.header.frame_id, sorted(first.appeared)) == (FR3.base, EXPECTED)
    assert not first.moved and not first.disappeared
    told = table.next_change(blocks_view((0.75, 0.0)))
    assert (list(told.appeared), list(told.moved), list(told.disappeared)) == ([], ["red_cube"], [])
    told = table.next_change(blocks_view(None))
    assert (list(told.appeared), list(told.moved), list(told.disappeared)) == ([], [], ["red_cube"])
    told = table.next_change(blocks_view())
    assert (list(told.appeared), list(told.moved), list(told.disappeared)) == (["red_cube"], [], [])


def test_a_table_at_rest_a_covered_object_and_forgetting_are_no_changes(table):
    table.next_change(blocks_view())
    cube = np.s_[225:275, 290:335]  # where the red cube is in the image
    covered, depth = blocks_view().rgb.copy(), blocks_view().depth.copy()
    covered[cube], depth[cube] = 90, 0.0  # something that the depth camera does not see
    hidden = table.look(8, rgb=covered, depth=depth)
    assert {o.name: o.visible for o in hidden.objects} == {name: name != "red_cube" for name in EXPECTED}
    client = table.node.create_client(Trigger, "/perception/forget")
    assert client.wait_for_service(timeout_sec=60.0)
    answer = client.call_async(Trigger.Request())
    table.spin_until(answer.done, 10.0, "the answer")
    table.look(6)
    assert len(table.changes) == 1


def test_markers_are_transient_local_complete_and_silent_while_nothing_changes(table):
    table.look(3)
    late = table.hear(MarkerArray, "/perception/markers", TRANSIENT_LOCAL)
    table.spin_until(lambda: late, 10.0, "the transient local markers")
    clear, *markers = late[-1].markers
    assert clear.action == Marker.DELETEALL
    assert {m.action for m in markers} == {Marker.ADD} and {m.header.frame_id for m in markers} == {FR3.base}
    bodies = [m for m in markers if m.ns == "objects"]
    labels = {m.id: m.text for m in markers if m.ns == "labels"}
    assert sorted(labels.values()) == EXPECTED and len({(m.ns, m.id) for m in markers}) == len(markers) == 16
    red = next(m for m in bodies if labels[m.id] == "red_cube")
    assert (red.type, red.pose.position.x) == (Marker.CUBE, pytest.approx(0.47, abs=0.004))
    assert red.color.r > 2 * red.color.g and red.scale.z == pytest.approx(0.05, abs=0.004)
    assert next(m for m in bodies if labels[m.id] == "orange_cylinder").type == Marker.CYLINDER
    table.camera.view = blocks_view(None)
    table.spin_until(lambda: table.look(1) and len(late[-1].markers) == 15, 30.0, "markers without the red cube")
    table.look(10)  # the pose settles by smoothing
    settled = len(late)
    table.look(4)
    assert len(late) == settled


def test_the_annotated_image_is_drawn_only_for_listeners(table, monkeypatch):
    drawn, annotate = [], module.annotate
    monkeypatch.setattr(module, "annotate", lambda *a: drawn.append(1) or annotate(*a))
    table.look(2)
    assert not drawn
    images = table.hear(Image, "/perception/image_annotated", 2)
    table.spin_until(lambda: table.node.count_publishers("/perception/image_annotated"), 10.0, "the publisher")
    table.spin_until(lambda: table.look(1) and images, 30.0, "an annotated image")
    image = images[-1]
    assert (image.encoding, image.width, image.height, image.step) == ("rgb8", 640, 480, 1920)
    assert image.header.frame_id == CAMERA.frame_id
    picture = np.frombuffer(image.data, np.uint8).reshape(480, 640, 3)
    touched = (picture != blocks_view().rgb).any(axis=2)
    assert 0.005 < touched.mean() < 0.2 and touched[225:275, 290:335].any()


@pytest.mark.parametrize(
    ("names", "success", "words"),
    [
        (["a red mug", "the screwdriver"], True, "red mug, screwdriver"),
        ([], True, ""),
        (["__import__('os').system('true')"], False, "is not a valid name"),
        (["mug"] * 101, False, "101"),
        (["x" * 61], False, "is not a valid name"),
    ],
)
def test_names_to_look_for_are_taken_or_refused_with_the_reason(make_node, spin_until, names, success, words):
    node = make_node("asker")
    quick = [Parameter("detector", value="region_head"), Parameter("look_for_timeout", value=0.0)]
    perception = make_node(PerceptionNode, quick)
    client = node.create_client(LookFor, "/perception/look_for")
    assert client.wait_for_service(timeout_sec=60.0)
    answer = client.call_async(LookFor.Request(names=names))
    spin_until(answer.done, 10.0, "the answer")
    assert (answer.result().success, answer.result().code) == (success, "" if success else "configuration")
    assert words in answer.result().message
    assert set(perception._perceiver.vocabulary.names) == ({"red mug", "screwdriver"} if success and names else set())
