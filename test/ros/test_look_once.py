"""planweave look on the topics of a camera's driver."""

import json

import pytest
from doubles.camera_driver import EXPECTED, CameraDriver, blocks_view

from planweave.cli.main import main
from planweave_ros.qos import IMAGES

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("compressed", [False, True])
def test_what_a_driver_shows_is_listed_without_the_robot(make_node, tmp_path, capsys, compressed):
    node = make_node("driver")
    driver = CameraDriver(node, blocks_view(), IMAGES, compressed)
    node.create_timer(0.2, lambda: driver.frame(millimetres=True))
    topics = ["--colour", driver.colour.topic_name, "--depth", driver.depth.topic_name]
    picture = tmp_path / "look.png"
    assert main(["look", "topics", *topics, "--camera", "overhead", "--out", str(picture), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    found = sorted(f"{o['colour']}_{o['class_name']}" for o in seen["objects"])
    assert found == sorted(name.replace("left_", "gray_").replace("right_", "gray_") for name in EXPECTED)
    assert picture.is_file()


def test_a_topic_without_images_is_named(make_node, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("planweave_ros.camera_topics._PATIENCE", 1.0)
    assert main(["look", "topics", "--colour", "/none", "--out", str(tmp_path / "look.png"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["error"] == "CameraError" and "/none" in result["message"]
    assert not (tmp_path / "look.png").exists()
