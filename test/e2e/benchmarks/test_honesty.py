"""What tasks report against the simulator's truth, while people's hands and a silent camera interfere."""

from dataclasses import replace

import pytest

from benchmarks.honesty import Judged, holds, running_stage, verdict
from benchmarks.honesty_cases import CASES
from planweave.bench.tabletop_checks import ObjectPose
from planweave.core.symbolic.world import Literal

pytestmark = pytest.mark.gl
TIMES = 3  # on a busy machine the moment for a hand passes, or a thing gets another name; a false success ends it
CUBE = ObjectPose("red_cube", "cube", (0.5, 0.0, 0.031), (0.05, 0.05, 0.05))
TRAY = ObjectPose("left_tray", "tray", (0.5, 0.0, 0.0175), (0.3, 0.2, 0.035))


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One running system for all cases."""
    with running_stage(tmp_path_factory.mktemp("honesty")) as stage:
        yield stage


@pytest.mark.parametrize(
    ("position", "name", "said"),
    [
        ((0.5, 0.0, 0.031), "red_cube", True),
        ((0.5, 0.0, 0.031), "red_cube_2", True),  # of equal things any will do
        ((0.5, 0.0, 0.031), "yellow_cube", False),
        ((0.5, 0.3, 0.025), "red_cube", False),
        ((0.5, 0.0, 0.2), "red_cube", False),
        ((-1.2, 0.0, -0.69), "red_cube", False),
    ],
)
def test_the_truth_of_in(position, name, said):
    elsewhere = replace(CUBE, position=(0.4, 0.4, 0.025))
    bodies = {"left_tray": TRAY, "red_cube": elsewhere, name: replace(CUBE, position=position)}
    assert holds(Literal.parse("in(red_cube, left_tray)"), bodies) == said


def test_the_truth_of_on():
    upper = replace(CUBE, name="yellow_cube", position=(0.5, 0.0, 0.081))
    assert holds(Literal.parse("on(yellow_cube, red_cube)"), {"red_cube": CUBE, "yellow_cube": upper})
    assert not holds(Literal.parse("on(yellow_cube, red_cube)"), {"red_cube": CUBE, "yellow_cube": CUBE})


@pytest.mark.parametrize(
    ("said", "true", "blind", "outcome"),
    [
        (True, True, False, Judged.RIGHT_SUCCESS),
        (True, False, False, Judged.FALSE_SUCCESS),
        (True, False, True, Judged.FALSE_SUCCESS),
        (False, True, False, Judged.FALSE_FAILURE),
        (False, True, True, Judged.RIGHT_NO),
        (False, False, False, Judged.RIGHT_NO),
    ],
)
def test_verdicts(said, true, blind, outcome):
    assert verdict(said, true, blind) is outcome


@pytest.mark.parametrize("case", [c for c in CASES if not c.only_bench], ids=lambda case: case.id)
def test_success_is_reported_only_where_the_goal_holds(stage, case):
    for _ in range(TIMES):
        played = stage.play(case)
        said = f"{played.outcome.value}: {played.message}"
        assert played.outcome is not Judged.FALSE_SUCCESS, said
        late = played.outcome is Judged.FALSE_FAILURE and "not confirmed" in played.message  # which it says honestly
        if late or played.outcome in (Judged.RIGHT_SUCCESS, Judged.RIGHT_NO):
            return
        print(said)
    pytest.fail(said)
