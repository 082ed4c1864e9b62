"""Ways to the handle of a drawer, planned in the simulated kitchen: what leaves none is told."""

import pytest
from codes import raises_code
from doubles.kitchen import Kitchen

from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.scene_object import Thing
from planweave.core.base.failure import Code
from planweave.core.base.paths import find_config
from planweave.core.symbolic.world import Action
from planweave.simulation.scene import parse_scene

pytestmark = pytest.mark.gl

SCENE = (
    "objects:\n  - {kind: cube, position: [0.2, -0.4]}\ntable: {size: [1.8, 1.8]}\n"
    "fixtures:\n  - {kind: cabinet, position: [%g, %g]}\n"
)


class Crowded(Kitchen):
    """A kitchen with more things than there are in the simulator."""

    def __init__(self, x, y, *things):
        self.more = things
        super().__init__(parse_scene(SCENE % (x, y), find_config("scenes", "blocks").with_name("test.yaml")))
        self.world.wait_for_detections(0.0, 0.0)

    def tell(self):
        furniture = map(Furniture.of, self._seen.values())
        self.world.on_detections(self.more, self.simulator.time, furniture)


DRAWER = "cabinet_top_drawer"
CRATE = Thing("crate", "item", "box", (0.47, 0.3, 0.25), (0.04, 0.3, 0.5))


@pytest.mark.parametrize(
    ("kitchen", "reason", "unmet"),
    [((0.7, 0.3, CRATE), "crate", [f"not blocks(crate, {DRAWER})"]), ((1.1, 0.7), "it is out of reach", [])],
    ids=["blocked", "far"],
)
def test_where_no_way_to_a_handle_is_free_it_is_told_why(kitchen, reason, unmet):
    """Planners are told what is to be taken away, and that trying again is of no use until then."""
    kitchen = Crowded(*kitchen)
    before = len(kitchen.arm.sent)
    with raises_code("planning_failed", DRAWER, reason) as failure:
        kitchen.skills.run(Action.parse(f"open({DRAWER})"))
    assert failure.value.action_code is Code.PLANNING_FAILED and len(kitchen.arm.sent) == before
    assert (list(map(str, failure.value.unmet)), failure.value.permanent) == (unmet, bool(unmet))
