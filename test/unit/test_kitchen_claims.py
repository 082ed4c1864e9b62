"""What is claimed of a mug in a shut drawer or behind a shut door: nothing, where it came out before it was shut."""

import pytest
from doubles.kitchen_cameras import NAMES
from doubles.seeing_kitchen import SeeingKitchen

from planweave.bench.kitchen_tasks import kitchen_task
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action

pytestmark = pytest.mark.gl
TASK = kitchen_task("mug_in_cupboard")
LYING = (0.7071, 0.7071, 0.0, 0.0)
MUG, PLATE, CABINET, CUPBOARD = 0, 3, 0, 1


@pytest.fixture(scope="module")
def compiled():
    kitchen = SeeingKitchen(TASK.scene(), cameras=(*NAMES, "wrist"))
    kitchen.eyes = dict(kitchen._eyes)
    kitchen._eyes.pop("wrist")
    return kitchen


@pytest.fixture(scope="module")
def let_go(compiled):
    """The mug was let go behind the open door, and seen there."""
    compiled.start_over()
    compiled.put(MUG, (0.42, 0.02, 0.001))  # where the open door is far
    compiled.put(PLATE, (0.3, -0.1, 0.001))
    compiled.move(CUPBOARD, "door", 1.8)
    compiled.see(5)
    place = behind(compiled, 0.0)
    compiled.put(MUG, place)
    compiled.hand_over("mug", place)
    compiled.see(3)
    assert next(t for t in compiled.world.things() if t.name == "mug").visible
    return compiled.kept()


@pytest.fixture
def kitchen(compiled, let_go):
    compiled.go_back(let_go)
    yield compiled
    compiled._eyes = {name: compiled.eyes[name] for name in NAMES}


def behind(kitchen, x, z=0.0125, y=0.0):
    """A place behind the door, or before it, by its distance inward from the cupboard's middle, and beside it, m."""
    body = kitchen.data.body("fixture_1")
    return tuple(body.xpos + body.xmat.reshape(3, 3) @ (x, y, z))


def test_what_stays_behind_the_door_is_there(kitchen):
    kitchen.move(CUPBOARD, "door", 0.0)
    assert kitchen.check("in mug cupboard", "closed cupboard", times=4).confirmed and not kitchen.missing(TASK)


@pytest.mark.parametrize(
    ("place", "turned", "looks"),
    [((2.0, 0.0, 0.0), (), 5), ((2.0, 0.0, 0.0), (), 3), ((-0.2, 0.001), (), 0), ((-0.2, 0.045), LYING, 0)],
    ids=["taken_away", "taken_away_soon", "stands_before_it", "lies_before_it"],
)
def test_what_came_out_is_not_there(kitchen, place, turned, looks):
    """looks: at the open cupboard without it."""
    kitchen.put(MUG, place if len(place) == 3 else behind(kitchen, *place), turned)
    kitchen.see(looks)
    kitchen.move(CUPBOARD, "door", 0.0)
    assert not kitchen.check("in mug cupboard", "closed cupboard", times=5).confirmed and kitchen.missing(TASK)


@pytest.mark.parametrize("taken", [False, True])
def test_a_camera_on_the_hand_looks_behind_the_door_where_no_other_sees(kitchen, taken):
    place = behind(kitchen, 0.03, y=-0.05)
    kitchen.put(MUG, place)
    kitchen.hand_over("mug", place)
    assert kitchen.check("in mug cupboard").confirmed
    kitchen._eyes = {name: kitchen.eyes[name] for name in ("overhead", "right", "wrist")}
    assert kitchen.check("in mug cupboard").unobserved == ("mug",)
    if taken:
        kitchen.put(MUG, (2.0, 0.0, 0.0))
    outcome = kitchen.run(Action("look_at", ("mug",)))
    assert outcome.code is Code.SUCCESS, outcome.message
    assert kitchen.check("in mug cupboard", times=6).confirmed is not taken


@pytest.fixture(scope="module")
def put_away(compiled):
    """The drawer is 0.15 m out, with the mug in it, as seen; and the mug's place once it is shut, m."""
    kitchen = compiled
    kitchen.start_over()
    kitchen.move(CABINET, "top_drawer", 0.15)
    body = kitchen.data.body("fixture_0_top_drawer")
    kitchen.see(5)
    inside = body.xpos + body.xmat.reshape(3, 3) @ (-0.05, 0.0, 0.02)
    kitchen.put(MUG, tuple(inside))
    kitchen.see(8)
    return kitchen.kept(), tuple(inside + 0.15 * body.xmat.reshape(3, 3) @ (1.0, 0.0, 0.0))


@pytest.fixture
def shut_in(compiled, put_away):
    """That again; the mug's place once the drawer is shut, m."""
    kept, place = put_away
    compiled.go_back(kept)
    return place


@pytest.mark.parametrize("taken", [False, True])
def test_what_a_person_takes_from_a_drawer_while_the_arm_comes_to_shut_it_is_not_there(compiled, shut_in, taken):
    kitchen, task = compiled, kitchen_task("mug_away")
    kitchen.world.motion_began()
    if taken:
        kitchen.put(MUG, (2.0, 0.0, 0.0))
    kitchen.see(6)
    kitchen.world.part_moves("cabinet_top_drawer")
    kitchen.move(CABINET, "top_drawer", 0.0)
    if not taken:
        kitchen.put(MUG, shut_in)
    kitchen.see(6)
    kitchen.world.motion_ended(kitchen.simulator.time)
    check = kitchen.check("in mug cabinet_top_drawer", "closed cabinet_top_drawer", times=4)
    assert check.confirmed != taken and bool(kitchen.missing(task)) == taken


@pytest.mark.parametrize("opened", [False, True])
def test_what_a_person_takes_from_the_drawer_that_the_hand_has_just_shut_is_not_there(compiled, shut_in, opened):
    """One image shows that it is out, while the arm still moves."""
    kitchen, task = compiled, kitchen_task("mug_away")
    kitchen.world.motion_began()
    kitchen.world.part_moves("cabinet_top_drawer")
    kitchen.see()
    kitchen.move(CABINET, "top_drawer", 0.0)
    kitchen.put(MUG, (2.0, 0.0, 0.0) if opened else shut_in)
    kitchen.world.part_shut("cabinet_top_drawer", kitchen.simulator.time)
    if opened:
        kitchen.move(CABINET, "top_drawer", 0.17)
        kitchen.see()
        kitchen.move(CABINET, "top_drawer", 0.0)
    kitchen.world.motion_ended(kitchen.simulator.time)
    check = kitchen.check("in mug cabinet_top_drawer", "closed cabinet_top_drawer", times=4)
    assert check.confirmed != opened and bool(kitchen.missing(task)) == opened
