"""--record: what is published lands in an MCAP file with its types, and planweave show tells it."""

import importlib.util
import sys

import pytest

from planweave.cli import main as cli
from planweave.core.base.errors import PlanweaveError

if importlib.util.find_spec("mcap") is None or importlib.util.find_spec("mcap_ros2") is None:
    pytest.skip("the extra bag is not installed", allow_module_level=True)

from codes import raises_code
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from planweave_interfaces.msg import TaskStatus, WorldState
from sensor_msgs.msg import Image

from planweave.cli.recording import check_record, recorded, recording_lines
from planweave_ros.qos import STATUSES, TRANSIENT_LOCAL
from planweave_ros.recording import Recording, definition, recorded_topics


def messages(path):
    """Topic and decoded message of each, in order."""
    with open(path, "rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        return [(channel.topic, message) for _, channel, _, message in reader.iter_decoded_messages()]


@pytest.fixture
def sender(make_node, spin_until):
    """Publishes what a system does; images() sends one once somebody listens."""
    node = make_node("a_system")
    worlds = node.create_publisher(WorldState, "/world_state", TRANSIENT_LOCAL)
    statuses = node.create_publisher(TaskStatus, "/task_status", STATUSES)
    images = node.create_publisher(Image, "/camera/color/image_raw", 10)
    node.create_publisher(Image, "/elsewhere", 10)
    worlds.publish(WorldState(domain="tabletop", revision=7))
    status = {"task_id": "task-1", "sentence": "put a in the tray", "method": "given"}
    statuses.publish(TaskStatus(state=TaskStatus.RUNNING, **status))
    statuses.publish(TaskStatus(state=TaskStatus.SUCCEEDED, message="the goal holds, as observed", **status))

    def send():
        spin_until(images.get_subscription_count, 20.0, "the recording to listen")
        images.publish(Image(height=1, width=2, step=6, encoding="rgb8", data=b"123456"))

    node.send = send
    return node


def test_a_recording_has_what_is_transient_local_and_what_is_sent_with_its_types(sender, tmp_path, spin_until, capsys):
    path = tmp_path / "run.mcap"
    with Recording(str(path)) as recording:
        sender.send()
        spin_until(lambda: recording.received("/camera/color/image_raw"), 20.0, "the image to arrive")
        spin_until(lambda: recording.received("/task_status") == 2, 20.0, "the statuses to arrive")
        spin_until(lambda: recording.received("/world_state"), 20.0, "the world to arrive")
    found = messages(path)
    assert [m.state for topic, m in found if topic == "/task_status"] == [TaskStatus.RUNNING, TaskStatus.SUCCEEDED]
    assert next(m.revision for topic, m in found if topic == "/world_state") == 7
    assert bytes(next(m.data for topic, m in found if topic == "/camera/color/image_raw")) == b"123456"
    assert "/elsewhere" not in {topic for topic, _ in found}
    assert cli.main(["show", str(path)]) == 0
    told = capsys.readouterr().out
    assert "1  /world_state  planweave_interfaces/msg/WorldState" in told
    assert "task task-1 [given] succeeded: put a in the tray: the goal holds, as observed" in told


def test_a_full_disk_ends_the_recording_and_not_the_system(sender, tmp_path, spin_until, capsys, monkeypatch):
    path = tmp_path / "run.mcap"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with recorded(str(path)):
        monkeypatch.setattr("mcap.writer.Writer.add_message", full)
        sender.send()
    assert "ended early: No space left on device" in capsys.readouterr().err


def test_topics_of_the_system_follow_its_namespace():
    topics = recorded_topics()
    assert "/diagnostics" in topics and "world_state" in topics and "/world_state" not in topics


def test_a_schema_has_all_types_in_it_once():
    text = definition("planweave_interfaces/msg/WorldState")
    assert text.count("MSG: planweave_interfaces/WorldObject\n") == 1 and "MSG: geometry_msgs/Point\n" in text
    assert text.count("MSG: builtin_interfaces/Time\n") == 1
    for wrong in ("planweave_interfaces/srv/Look", "no_such_package/msg/Thing", "os/msg/../path"):
        with pytest.raises(PlanweaveError):
            definition(wrong)


def test_what_cannot_be_written_or_read_is_said_in_one_line(tmp_path, capsys, monkeypatch):
    there = tmp_path / "there.mcap"
    there.write_bytes(b"no recording")
    for path, said in (
        (tmp_path / "x.bag", "ends in .mcap"),
        (there, "is there already"),
        (tmp_path / "no" / "x.mcap", "there is no folder"),
    ):
        assert cli.main(["run", "x", "--record", str(path)]) == 2
        assert said in capsys.readouterr().err
    with raises_code("configuration"):
        recording_lines(there)
    with raises_code("configuration"):
        recording_lines(tmp_path / "none.mcap")
    monkeypatch.setitem(sys.modules, "mcap", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with raises_code("missing_extra", "planweave[bag]"):
        check_record("x.mcap")
