"""What the kitchen's judge takes to be in a cupboard."""

import pytest

from planweave.bench.kitchen_tasks import DOOR, kitchen_task
from planweave.bench.tabletop_checks import ObjectPose
from planweave.simulation.scene import load_scene

TASK = kitchen_task("mug_in_cupboard")


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "kitchen.yaml"
    path.write_text(TASK.scene())
    return load_scene(str(path))


@pytest.mark.parametrize(
    ("height", "rise", "inside"),
    [(0.055, (0.0, 0.0, 1.0), True), (0.046, (0.7, 0.7, 0.1), True), (0.35, (0.0, 0.0, 1.0), False)],
    ids=["standing", "lying", "on its roof"],
)
def test_a_mug_is_in_the_cupboard_also_where_it_lies(scene, height, rise, inside):
    x, y, _ = next(f for f in scene.fixtures if f.kind == "cupboard").position
    mug = ObjectPose("mug", "mug", (x, y, height), (0.07, 0.07, 0.085), rise=rise)
    missing = TASK.missing(scene, {DOOR: 0.0}, [mug])
    assert (missing == []) is inside
