"""Names asked for over /perception/look_for, found by an open-vocabulary detector on real ROS 2."""

import json
import threading

import pytest
from codes import raises_code
from doubles.camera_driver import EXPECTED, CameraDriver, blocks_view, look
from doubles.fake_openai import FakeOpenAI, completion
from planweave_interfaces.srv import LookFor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from perception_node.node import PerceptionNode

pytestmark = pytest.mark.gl


@pytest.fixture
def start(make_node, spin_until):
    def make(**parameters):
        camera = CameraDriver(make_node("camera_driver"), blocks_view(), QoSProfile(depth=5))
        node = make_node(PerceptionNode, [Parameter(name, value=value) for name, value in parameters.items()])
        client = camera.node.create_client(LookFor, "/perception/look_for")
        spin_until(lambda: camera.ready() and client.service_is_ready(), 10.0, "the connections")

        def ask(*names):
            """The answer, while the camera gives images."""
            future = client.call_async(LookFor.Request(names=list(names)))
            look(camera, spin_until, times=3)
            spin_until(future.done, 10.0, "the answer")
            return future.result()

        return camera, node, ask

    return make


def test_asked_names_reach_the_objects_and_junk_is_refused(start, spin_until):
    camera, _, ask = start(detector="region_head")
    assert sorted(o.name for o in look(camera, spin_until).objects) == EXPECTED
    answer = ask("drop everything; now", "cup")
    assert (answer.success, answer.code) == (False, "configuration") and "'drop everything; now'" in answer.message
    answer = ask("the crimson block", "a navy block")
    assert answer.success and answer.message == "looked for: crimson block, navy block"
    before = {o.id for o in camera.heard[-1].objects}
    objects = {o.name: o for o in look(camera, spin_until, times=4).objects}
    assert set(objects) == {*EXPECTED, "crimson_block", "navy_block"} - {"red_cube", "blue_cube"}
    assert objects["crimson_block"].pose.position.x == pytest.approx(0.47, abs=0.005)
    assert {o.id for o in objects.values()} == before, "another name, the same thing"
    assert ask().message == "no names are looked for"
    assert sorted(o.name for o in look(camera, spin_until, times=4).objects) == EXPECTED


def test_the_answer_comes_when_images_were_seen_with_the_names(start, spin_until, make_node):
    camera, node, _ = start(detector="region_head", look_for_timeout=0.3)
    look(camera, spin_until)
    client = make_node("asker").create_client(LookFor, "/perception/look_for")
    assert client.wait_for_service(timeout_sec=60.0)
    answer = client.call_async(LookFor.Request(names=["crimson block"]))
    spin_until(answer.done, 10.0, "the answer without an image")
    assert answer.result().success and " 0.3 s" in answer.result().message


def test_who_needs_no_names_is_not_asked(make_node, spin_until):
    node = make_node(PerceptionNode)
    assert not node.count_services("/perception/look_for")


def test_an_unknown_detector_and_a_bad_name_end_the_start_with_a_word(make_node):
    for parameters, data in (
        ({"detector": "vlid"}, "'vild'"),
        ({"detector": "region_head", "look_for": ["{cup}"]}, "'{cup}'"),
    ):
        with raises_code("configuration", data):
            make_node(PerceptionNode, [Parameter(name, value=value) for name, value in parameters.items()])


def test_the_answer_comes_once_the_model_has_named_what_is_there(start, spin_until, monkeypatch):
    may_answer = threading.Event()

    def named(fake, body, number):
        may_answer.wait(60.0)
        marks = body["response_format"]["json_schema"]["schema"]["properties"]["marks"]
        numbers = marks["items"]["properties"]["mark"]["enum"]
        rows = [{"mark": k, "name": "brick", "colour": "", "part_of": 0, "drawers": 0, "state": ""} for k in numbers]
        return 200, completion([json.dumps({"marks": rows})])

    with FakeOpenAI(named) as fake:
        for name, value in (("PLANWEAVE_VISION_MODEL", "eyes"), ("OPENAI_BASE_URL", fake.url), ("OPENAI_API_KEY", "k")):
            monkeypatch.setenv(name, value)
        camera, _, _ = start(detector="vlm")
        look(camera, spin_until, times=3)
        client = camera.node.create_client(LookFor, "/perception/look_for")
        assert client.wait_for_service(timeout_sec=60.0)
        answer = client.call_async(LookFor.Request(names=["brick"]))
        spin_until(lambda: look(camera, spin_until) and fake.requests, 20.0, "the request to the model")
        waiting = look(camera, spin_until, times=3)
        assert sorted(o.name for o in waiting.objects) == EXPECTED, "they keep their names while others are asked for"
        assert not answer.done()
        may_answer.set()
        spin_until(lambda: look(camera, spin_until) and answer.done(), 20.0, "the answer")
        assert answer.result().message == "looked for: brick"
        assert [o.name for o in camera.heard[-1].objects if "brick" not in o.name] == []
