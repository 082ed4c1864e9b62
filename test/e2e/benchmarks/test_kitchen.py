"""The kitchen by what cameras see, against the simulator's truth: through all nodes, and in one process while people's
hands interfere."""

import itertools
import math
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from benchmarks.honesty import Judged
from benchmarks.kitchen import HONESTY, TASKS, running_kitchen
from benchmarks.kitchen_here import play_here
from planweave.bench.kitchen_tasks import BOTTOM, SHUT, TOP, KitchenTask, kitchen_task
from planweave.bench.tabletop_checks import ObjectPose
from planweave.core.base.paths import find_config
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.scene import load_scene, parse_scene

pytestmark = pytest.mark.gl
TIMES = 3  # on a busy machine the moment for a hand passes; a false success ends it
CASES = {case.id: case for case in HONESTY}


def test_success_is_reported_only_where_it_is_true():
    with running_kitchen(Console(quiet=True)) as stage:
        for _ in range(TIMES):
            played = stage.play(CASES["plain"])
            said = f"{played.outcome.value}: {played.message}"
            assert played.outcome is not Judged.FALSE_SUCCESS, said
            late = played.outcome is Judged.FALSE_FAILURE and "not confirmed" in played.message
            if late or played.outcome in (
                Judged.RIGHT_SUCCESS,
                Judged.RIGHT_NO,
            ):  # how often it succeeds the bench tells
                return
            print(said)
        pytest.fail(said)


def test_a_drawer_that_a_person_opens_when_it_has_just_been_shut_is_shut_in_the_end():
    """Without nodes, in the simulator's own time."""
    result, missing, came = play_here(CASES["drawer_opened_when_shut"], None)
    assert came and result.success and not missing, (result.message, missing)


def test_the_truth_of_being_in_a_drawer():
    scene = load_scene(str(find_config("scenes", "kitchen")))
    fixture = scene.fixtures[0]
    x, y = fixture.position[:2]
    mug = ObjectPose("mug", "mug", (x, y, 0.2), (0.07, 0.07, 0.085), 0.0)

    def missing(part, value):
        return KitchenTask("mug", "", {TOP: SHUT}, {"mug": part}).missing(scene, {TOP: value, BOTTOM: 0.0}, [mug])

    assert missing(TOP, 0.0) == []
    assert missing(BOTTOM, 0.0) == [f"mug in {BOTTOM}"]
    assert missing(TOP, 0.16) == [TOP, f"mug in {TOP}"], "it is behind the open drawer"


def test_things_are_strewn_without_touching():
    for seed in range(5):
        scene = yaml.safe_load(kitchen_task("mug_away").scene(seed))
        places = [thing["position"] for thing in scene["objects"]]
        assert len(places) == 4 and min(math.dist(a, b) for a, b in itertools.combinations(places, 2)) > 0.1


@pytest.mark.parametrize("seed", range(20))
def test_things_are_strewn_beside_a_door_that_is_open_at_first(seed):
    text = kitchen_task("close_cupboard").scene(seed)
    build_model(parse_scene(text, Path("kitchen.yaml")), [])  # refuses what overlaps


def test_every_case_is_named_once():
    ids = [case.id for case in (*TASKS, *HONESTY)]
    assert len(ids) == len(set(ids)) and len(HONESTY) >= 15
