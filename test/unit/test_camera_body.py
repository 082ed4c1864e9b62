"""LIBERO's robot by its cameras alone: what the body may know, what it asks the vision model, and whole episodes."""

import json

import numpy as np
import pytest
from codes import raises_code
from doubles.fake_openai import FakeOpenAI, completion
from doubles.recorded_libero import ROBOT, THINGS, RecordedSimulator

from planweave.bodies.arm.held import Held
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.goals import read_sentence
from planweave.libero.bodies import blinded, body_on, check_view
from planweave.libero.body import LiberoBody
from planweave.libero.true_names import TrueNamer
from planweave.perception.vision_names import Marked, vision_timeout

pytestmark = pytest.mark.slow

KITCHEN = Domain.load("kitchen")


def a_body():
    simulator = RecordedSimulator()
    found = LiberoBody(
        simulator, blinded(simulator.load("x")), "camera", TrueNamer(lambda: {"things": THINGS, "base": ROBOT["base"]})
    )
    assert not simulator.poisoned
    return found


@pytest.fixture(scope="module")
def body():
    """One that takes no step."""
    return a_body()


def configured(monkeypatch, url):
    for name, value in {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "PLANWEAVE_VISION_MODEL": "eyes"}.items():
        monkeypatch.setenv(name, value)


def test_nothing_of_the_true_state_is_known(body):
    names = {o.class_name for o in body.observe().objects}
    assert "dragon" not in names and {"akita_black_bowl", "ramekin", "plate", "stove", "wooden_cabinet"} <= names
    assert blinded(RecordedSimulator().load("x")).state.keys() == {"base"}


def test_a_look_without_a_step_takes_no_picture_and_asks_nobody(body):
    simulator = body._view._simulator
    count = len(simulator.captured)
    world = body.look(0.0).world
    assert world.facts == body.observe().facts and len(simulator.captured) == count
    assert count == 2 * 2, "two cameras: before a step and after it, in which nothing moves"


def test_the_sentence_is_read_on_what_is_seen(body):
    goal = read_sentence(
        KITCHEN, body.observe(), "pick up the akita black bowl on the ramekin and place it on the plate"
    )
    (literal,) = goal.goal
    assert literal.predicate == "on" and literal.args[1] == "plate_1"
    assert body.observe().holds(Literal("on", (literal.args[0], "ramekin_1")))


def test_things_have_shapes_in_the_base_frame(body):
    plate = next(t for t in body.world.things() if t.name == "plate_1")
    low, high = np.split(np.array(THINGS["plate_1"]["bounds"]), 2)
    assert np.abs(np.array(plate.position[:2]) - ((low + high) / 2 - ROBOT["base"])[:2]).max() < 0.01


def test_what_still_stands_where_it_was_is_not_held():
    body = a_body()
    thing = next(t for t in body.world.things() if t.name == "plate_1")
    body.arm.steps += 1
    body.world.grasped(Held(thing, np.eye(4), 0.03))
    world = body.look(0.0).world
    assert body.world.held is None and not world.holds(Literal("holding", ("plate_1",)))
    assert "plate_1" in {t.name for t in body.world.things()}


def test_a_bowl_in_an_open_drawer_is_the_bowl_and_the_drawers_front_is_not():
    def truth():
        thing = {"cabinet": "wooden_cabinet", "bowl": "akita_black_bowl"}
        bounds = {"cabinet": [0.5, -0.4, 0.0, 0.9, 0.0, 0.22], "bowl": [0.7, -0.19, 0.155, 0.81, -0.08, 0.205]}
        things = {name: {"category": thing[name], "bounds": bounds[name]} for name in thing}
        return {"things": things, "base": [0.0] * 7}

    def mark(position, size):
        return Marked([None], position, size, np.zeros((1, 3)))

    front, bowl = mark((0.79, -0.12, 0.178), (0.2, 0.227, 0.068)), mark((0.757, -0.133, 0.18), (0.108, 0.108, 0.044))
    cabinet, other = mark((0.65, -0.25, 0.1), (0.27, 0.27, 0.2)), mark((0.2, 0.3, 0.1), (0.05, 0.05, 0.05))
    named = TrueNamer(truth).names([], [front, bowl, cabinet, other])
    assert [n.class_name for n in named] == ["handle", "akita_black_bowl", "wooden_cabinet", "nothing"]
    assert named[0].part_of == 3


def test_without_a_model_it_says_which_variable_to_set(monkeypatch):
    monkeypatch.delenv("PLANWEAVE_VISION_MODEL", raising=False)
    with raises_code("configuration", "PLANWEAVE_VISION_MODEL"):
        check_view("camera")
    with raises_code("unknown_name", "'touch'", "camera, named, truth"):
        check_view("touch")


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "1e9"])
def test_a_time_to_wait_that_is_none_is_refused(text):
    with raises_code("configuration", "PLANWEAVE_VISION_TIMEOUT"):
        vision_timeout({"PLANWEAVE_VISION_TIMEOUT": text})


def test_a_model_names_things_with_one_request(monkeypatch):
    def reply(fake, body, number):
        marks = body["response_format"]["json_schema"]["schema"]["properties"]["marks"]["items"]["properties"]["mark"]
        rows = [{"mark": n, "name": "black bowl", "colour": "black", "part_of": 0, "drawers": 0} for n in marks["enum"]]
        return 200, completion([json.dumps({"marks": rows})])

    with FakeOpenAI(reply) as fake:
        configured(monkeypatch, fake.url)
        simulator = RecordedSimulator()
        _, body = body_on(simulator, "libero_spatial/5/0", "camera")
        body.look(0.0)
        assert len(fake.requests) == 1 and not simulator.poisoned
        images = [part for part in fake.requests[0]["messages"][1]["content"] if part["type"] == "image_url"]
        assert len(images) == 3  # two cameras, and all marks enlarged
    assert {o.class_name for o in body.observe().objects} >= {"black_bowl"}


def test_an_endpoint_that_takes_no_pictures_is_told_so(monkeypatch):
    with FakeOpenAI(lambda fake, body, number: (400, {"error": {"message": "image_url is not supported"}})) as fake:
        configured(monkeypatch, fake.url)
        with raises_code("model_pictures", "PLANWEAVE_VISION_MODEL"):
            body_on(RecordedSimulator(), "libero_spatial/5/0", "camera")
