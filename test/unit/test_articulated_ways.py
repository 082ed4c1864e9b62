"""Ways to the handle of a drawer, planned in the simulated kitchen: what leaves none is told."""

from types import SimpleNamespace

import pytest
from codes import raises_code
from doubles.kitchen import Kitchen

from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills import placing
from planweave.core.base.failure import Code
from planweave.core.base.paths import find_config
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
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


@pytest.mark.parametrize(("shuts", "least", "most"), [(True, 0.0, 0.05), (False, 0.1, 0.2)])
def test_into_what_is_shut_a_thing_is_set_down_and_not_dropped(monkeypatch, shuts, least, most):
    """What falls into a drawer beside another thing may come to stand out of it, or fall beside it."""
    rises = []
    monkeypatch.setattr(placing, "put_down", lambda *of: rises.append(of[-1]))
    world = World("kitchen", facts=frozenset({Literal("opened", ("box",))}))
    of = {"domain": Domain.load("kitchen"), "world": lambda: world, "places": ()}
    known = SimpleNamespace(articulation=lambda name: shuts or None, **of)
    box, sight = (
        Thing("box", "item", "box", (0.5, 0.0, 0.06), (0.2, 0.2, 0.12)),
        SimpleNamespace(require=lambda **of: 0),
    )
    context = SimpleNamespace(world=known, sight=sight, thing=lambda name: box, ground=0.0)
    placing.place_in(context, "cup", "box")
    assert least <= rises[0] <= most
