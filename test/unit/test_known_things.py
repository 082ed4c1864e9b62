"""Things followed through pictures: what stays, what is hidden, what was carried, what rolled away."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.boxes_camera import picture

from planweave.perception.evidence import evidence
from planweave.perception.geometry import Pose
from planweave.perception.known_things import KnownThings
from planweave.perception.seen_things import SeenThing, resting
from planweave.perception.vision_names import Named

RED, BLUE, GREEN = (200, 40, 40), (40, 60, 200), (40, 180, 60)
CUP = ((0.0, 0.1, 0.0), (0.06, 0.16, 0.08), RED)
BOX = ((-0.1, -0.2, 0.0), (0.0, -0.1, 0.06), BLUE)
TRAY = ((-0.1, -0.25, 0.0), (0.06, -0.08, 0.02), GREEN)


def shifted(box, x, y, z=0.0):
    low, high, colour = box
    return tuple(np.add(low, (x, y, z))), tuple(np.add(high, (x, y, z))), colour


def views(*boxes, **more):
    return [picture(boxes, **more), picture(boxes, eye=(0.2, -0.4, 0.8), name="side", **more)]


def seen(name, box, shots):
    """A thing from the points of its colour."""
    masks = [(v.rgb == box[2]).all(axis=-1) & ~v.steps for v in shots]
    points = np.concatenate([v.points[mask] for v, mask in zip(shots, masks)])
    colours = np.concatenate([v.rgb[mask] for v, mask in zip(shots, masks)])
    return SeenThing(name, points, colours, Named(name), 0.0)


def memory(*named):
    shots = views(*(box for _, box in named))
    return made([seen(name, box, shots) for name, box in named])


def made(things, of_furniture=lambda points: np.zeros(len(points), bool)):
    return KnownThings(things, 0.0, lambda thing: True, of_furniture)


def on_the_table(thing):
    return 0.0


def thing(kept, name):
    return next(each for each in kept.things if each.name == name)


def by(x, y, z=0.0):
    return Pose(np.eye(3), np.array((x, y, z)))


def test_what_lies_in_a_drawer_goes_down_to_its_floor():
    """And not through it, to the table: its middle would be below the drawer."""
    cup, box = (seen(name, shifted(at, 0.0, 0.0, 0.1), views(CUP, BOX)) for name, at in (("cup", CUP), ("box", BOX)))
    in_drawer = resting([cup, box], lambda thing: 0.1 if thing is cup else 0.0)
    assert [each.bottom for each in in_drawer] == [0.1, 0.0]


def let_go(kept, motion, shots):
    """Take the cup and let it go after a motion."""
    kept.carry("cup", by(0.0, 0.0, 0.2), [], 0.5, new=True)
    kept.update(shots, 1.0, let_go=motion)


def middle(box):
    return (np.array(box[0]) + box[1]) / 2


@pytest.mark.parametrize("up", [0.0, 0.07, 0.1])
def test_what_hangs_on_the_fingers_over_a_basket_is_not_in_it(up):
    """Its place in the basket is hidden, and what little of it is seen there would do for a thing that is."""
    tall, (x, y) = ((0.0, 0.1, 0.0), (0.05, 0.15, 0.13), RED), (0.2, 0.005)
    walls = [((0.17, 0.07, 0.0), (0.18, 0.19, 0.12), GREEN), ((0.28, 0.07, 0.0), (0.29, 0.19, 0.12), GREEN)]
    walls += [((0.18, 0.07, 0.0), (0.28, 0.08, 0.12), GREEN), ((0.18, 0.18, 0.0), (0.28, 0.19, 0.12), GREEN)]
    kept = memory(("cup", tall))
    let_go(kept, by(x, y), views(shifted(tall, x, y, up), *walls))
    cup = thing(kept, "cup")
    assert cup.visible and cup.bounds[1] == pytest.approx((x + 0.05, y + 0.15, up + 0.13), abs=0.004)


def test_what_goes_on_above_where_it_was_found_may_show_one_of_its_colours_there():
    """A carton that hangs over a basket is not in it, though what is seen there would do for its lower part."""
    tall = [((0.0, 0.1, 0.0), (0.05, 0.15, 0.1), RED), ((0.0, 0.1, 0.1), (0.05, 0.15, 0.13), BLUE)]
    both = [seen("cup", box, views(*tall)) for box in tall]
    points, colours = (np.concatenate([getattr(each, of) for each in both]) for of in ("points", "colours"))
    kept = made([SeenThing("cup", points, colours, Named("cup"), 0.0)])
    kept.update(views(*(shifted(box, 0.0, 0.0, 0.075) for box in tall)), 1.0)
    found = kept._going_on(SeenThing("cup", points, colours, Named("cup"), 0.0))
    assert found is not None and found.bounds[1][2] == pytest.approx(0.205, abs=0.004)


@pytest.mark.parametrize("up", [0.07, 0.1])
def test_what_hangs_beside_a_wall_of_its_colour_is_not_at_its_foot(up):
    """What is seen of both is too large to be it, and a face fits the same face higher up."""
    tall, wall, (x, y) = (
        ((0.0, 0.1, 0.0), (0.05, 0.15, 0.13), RED),
        ((0.25, 0.0, 0.0), (0.26, 0.25, 0.12), RED),
        (0.2, 0),
    )
    kept = memory(("cup", tall))
    let_go(kept, by(x, y), views(shifted(tall, x, y, up), wall))
    assert thing(kept, "cup").bounds[1][2] == pytest.approx(up + 0.13, abs=0.004)


WHITE = (230, 230, 225)
CARTON = [((0.0, 0.1, 0.0), (0.05, 0.15, 0.04), RED), ((0.0, 0.1, 0.04), (0.05, 0.15, 0.08), BLUE)]
CARTON += [((0.0, 0.1, 0.08), (0.05, 0.15, 0.13), WHITE)]
BASKET = [((0.18, 0.11, 0.0), (0.2, 0.16, 0.12), WHITE)]


def carton_and_basket():
    """Mostly as white as the basket, of which only the rim was seen."""
    shots = views(*CARTON, *BASKET)
    both = [seen("all", box, shots) for box in CARTON]
    points, colours = (np.concatenate([getattr(each, of) for each in both]) for of in ("points", "colours"))
    mine = points[:, 0] < 0.1
    parts = (("cup", mine), ("basket", ~mine & (points[:, 2] > 0.115)))
    return made(SeenThing(name, points[of], colours[of], Named(name), 0.0) for name, of in parts)


def test_the_inside_of_a_basket_is_not_what_was_let_go_over_it():
    kept = carton_and_basket()
    let_go(kept, by(0.21, 0.03), views(*BASKET))
    assert thing(kept, "cup").lost
    kept.update(views(*BASKET), 2.0)
    assert thing(kept, "cup").lost


@pytest.mark.parametrize("up", [0.2, 0.4])
def test_what_hangs_high_over_a_basket_is_apart_from_its_inside(up):
    kept = carton_and_basket()
    hanging = [shifted(box, 0.21, 0.03, up) for box in CARTON]
    let_go(kept, by(0.21, 0.03), views(*hanging, *BASKET))
    kept.update(views(*hanging, *BASKET), 2.0)
    cup = thing(kept, "cup")
    assert not cup.lost and cup.points[:, 2].min() > up - 0.01


def test_what_did_not_move_is_seen_where_it_was():
    kept = memory(("cup", CUP), ("box", BOX))
    before = [t.points for t in kept.things]
    kept.update(views(CUP, BOX), 1.0)
    assert all(t.visible and t.stamp == 1.0 and t.points is p for t, p in zip(kept.things, before))


@pytest.mark.parametrize("short", [0.0, 0.02])
def test_what_was_pushed_is_looked_for_about_where_it_should_be(short):
    """What pictures show at a flat thing's old place would do for it: most of that is still covered by it."""
    plate = ((0.0, 0.1, 0.0), (0.14, 0.24, 0.018), RED)
    kept = memory(("plate", plate), ("box", BOX))
    kept.pushed(thing(kept, "plate").moved(by(0.03, 0.0)))
    kept.update(views(shifted(plate, 0.03 - short, 0.0), BOX), 1.0)
    there = thing(kept, "plate")
    assert there.visible and there.middle[:2] == pytest.approx((0.1 - short, 0.17), abs=0.004)


def test_what_is_hidden_stays_and_is_not_seen():
    kept = memory(("cup", CUP), ("box", BOX))
    kept.update(views(CUP, BOX, hidden=np.ones((240, 320), bool)), 1.0)
    assert not any(t.visible or t.lost for t in kept.things)


def test_what_is_gone_is_lost_and_found_again_by_its_colours():
    kept = memory(("cup", CUP), ("box", BOX))
    kept.update(views(BOX), 1.0)
    assert thing(kept, "cup").lost and not thing(kept, "box").lost
    there = shifted(CUP, -0.2, 0.05)
    kept.update(views(there, BOX), 2.0)
    cup = thing(kept, "cup")
    assert not cup.lost and cup.stamp == 2.0 and np.abs(cup.middle - middle(there))[:2].max() < 0.03


def test_a_thing_of_other_colours_is_not_taken_for_it():
    kept = memory(("cup", CUP), ("box", BOX))
    low, high, _ = shifted(CUP, -0.2, 0.05)
    kept.update(views((low, high, GREEN), BOX), 1.0)
    assert thing(kept, "cup").lost


def test_what_was_exchanged_for_one_of_its_shape_is_gone_from_there():
    """And is found again where it is put, also after it was lost; shade alone makes no other thing."""
    kept = memory(("cup", CUP), ("box", BOX))
    low, high, _ = CUP
    kept.update(views((low, high, (150, 30, 30)), BOX), 1.0)
    assert thing(kept, "cup").visible
    kept.update(views((low, high, GREEN), BOX), 2.0)
    assert thing(kept, "cup").lost
    there = shifted(CUP, -0.2, 0.05)
    kept.update(views((low, high, GREEN), there, BOX), 3.0)
    assert not thing(kept, "cup").lost and np.abs(thing(kept, "cup").middle - middle(there))[:2].max() < 0.03


@pytest.mark.parametrize(("x", "y", "drop"), [(0.0, 0.0, 0.0), (0.02, -0.015, 0.0), (0.01, 0.0, 0.08)])
def test_what_was_let_go_is_found_by_its_shape(x, y, drop):
    kept = memory(("cup", CUP), ("box", BOX))
    there = shifted(CUP, -0.1, -0.02)
    let_go(kept, by(-0.1 + x, -0.02 + y, drop), views(there, BOX))
    cup = thing(kept, "cup")
    assert cup.visible and cup.was_put
    assert np.abs(cup.middle[:2] - middle(there)[:2]).max() < 0.008


def test_walls_of_its_colour_beside_it_speak_for_no_other_place():
    """As a black book's in a black compartment: what a picture shows of these is theirs."""
    book, stands = ((0.1, 0.0, 0.0), (0.13, 0.11, 0.13), RED), by(-0.185, -0.11)
    walls = [((x, -0.12, 0.0), (x + 0.01, 0.01, high), RED) for x, high in ((-0.1, 0.13), (-0.05, 0.08))]
    both = seen("all", book, views(book, *walls))
    mine = both.points[:, 0] > 0.05
    kept = made(
        replace(both, name=name, points=both.points[of], colours=both.colours[of])
        for name, of in (("cup", mine), ("caddy", ~mine))
    )
    there = shifted(book, *stands.translation[:2])
    let_go(kept, stands.shifted(np.array((-0.01, 0.015, 0.06))), views(there, *walls))
    assert np.abs(thing(kept, "cup").middle - middle(there)).max() < 0.003


@pytest.mark.parametrize(("share", "wall", "lost"), [(0.6, False, False), (1.0, False, True), (0.6, True, True)])
def test_what_shows_another_side_where_it_was_let_go_is_it_by_its_place(share, wall, lost):
    """Not what has none of its colours, nor what is of the furniture there."""
    there, shots = shifted(CUP, -0.1, -0.02), views(CUP, BOX)
    kept = made([seen("cup", CUP, shots), seen("box", BOX, shots)], lambda points: np.full(len(points), wall))
    shots = views(there, BOX)
    for view in shots:
        rows, columns = np.nonzero((view.rgb == RED).all(axis=-1))
        chosen = np.random.default_rng(0).random(len(rows)) < share
        view.rgb[rows[chosen], columns[chosen]] = (150, 150, 20)
    let_go(kept, by(-0.1, -0.02), shots)
    cup = thing(kept, "cup")
    assert (cup.lost, cup.visible) == (lost, not lost)
    assert lost or np.abs(cup.middle[:2] - middle(there)[:2]).max() < 0.02


def test_what_slid_aside_and_shows_another_side_is_all_of_it():
    """Not the part of it that stands where it should: its middle would seem to be nearer to that."""
    kept, there = memory(("cup", CUP), ("box", BOX)), shifted(CUP, -0.1, -0.02)
    shots = views(there, BOX)
    for view in shots:
        rows, columns = np.nonzero((view.rgb == RED).all(axis=-1))
        chosen = np.random.default_rng(0).random(len(rows)) < 0.6
        view.rgb[rows[chosen], columns[chosen]] = (150, 150, 20)
    let_go(kept, by(-0.1, -0.055), shots)
    cup = thing(kept, "cup")
    assert np.abs(cup.middle[:2] - middle(there)[:2]).max() < 0.008


def test_what_stands_where_it_was_let_go_is_it_before_what_is_of_its_colours_beside():
    """As a book between walls of a caddy as dark as it is, of which another side is seen than before."""
    there, wall = shifted(CUP, -0.1, -0.02), ((-0.1, 0.18, 0.0), (-0.04, 0.22, 0.08), RED)
    kept, shots = memory(("cup", CUP), ("box", BOX)), views(there, wall, BOX)
    for view in shots:
        rows, columns = np.nonzero((view.rgb == RED).all(axis=-1) & (view.points[..., 1] < 0.17))
        chosen = np.random.default_rng(0).random(len(rows)) < 0.6
        view.rgb[rows[chosen], columns[chosen]] = (150, 150, 20)
    let_go(kept, by(-0.1, -0.02), shots)
    assert np.abs(thing(kept, "cup").middle[:2] - middle(there)[:2]).max() < 0.02


def test_one_of_two_alike_that_is_put_on_the_other_is_not_taken_for_it():
    both = (("cup", CUP), ("twin", shifted(CUP, -0.1, -0.1)))
    kept = made([seen(name, box, views(box)) for name, box in both])
    there = shifted(CUP, -0.1, -0.1, 0.02)  # nested
    let_go(kept, by(-0.1, -0.1, 0.02), views(shifted(CUP, -0.1, -0.1), there))
    assert thing(kept, "cup").low == pytest.approx(0.02, abs=0.008)


def test_what_stood_with_its_lower_part_hidden_stands_as_high_on_another():
    kept = memory(("cup", CUP), ("box", BOX))
    cup = thing(kept, "cup")
    high = cup.points[:, 2] > 0.035
    kept.put(replace(cup, points=cup.points[high], colours=cup.colours[high]))
    there = shifted(CUP, -0.08, -0.28, 0.06)  # on the box
    let_go(kept, by(-0.08, -0.28, 0.06), views(BOX, there))
    below = {thing.name: thing.below for thing in resting(kept.things, on_the_table)}
    assert thing(kept, "cup").low == pytest.approx(0.06, abs=0.01) and below["cup"] == "box"


def test_what_stands_on_something_thin_is_not_on_the_ground():
    """And what stands in a vessel does not bear it, though it begins below the vessel's rim."""
    plate, cup = ((-0.1, 0.0, 0.0), (0.1, 0.2, 0.005), GREEN), shifted(CUP, -0.03, -0.03, 0.005)
    kept = memory(("plate", plate), ("cup", cup), ("box", BOX))
    below = {thing.name: thing.below for thing in resting(kept.things, on_the_table)}
    assert below == {"plate": "", "cup": "plate", "box": ""}


BOARD = ((0.0, 0.1, 0.0), (0.02, 0.24, 0.05), RED), (0.01, 0.1, 0.175)  # upright, and the end that it is held at
PLATE = ((-0.07, 0.1, 0.0), (0.07, 0.24, 0.012), RED), (0.0, 0.1, 0.156)


@pytest.mark.parametrize(("plate", "pivot", "seen_only"), [(*BOARD, False), (*PLATE, True)])
def test_what_turns_between_the_fingers_is_followed(plate, pivot, seen_only):
    """A flat one also by an angle that is not among those it is expected to turn by."""
    kept, lift, angle = memory(("cup", plate), ("box", BOX)), by(0.0, 0.0, 0.15), 0.6
    pivot, across = np.array(pivot), np.array((1.0, 0.0, 0.0))
    swings = [Pose.about(pivot, across, a) for a in (-angle, angle)]
    shots, there = views(BOX), swings[0].apply(lift.apply(thing(kept, "cup").points))
    for view in shots:  # paint the board where it hangs now
        columns, rows, depth = view.projector.pixels_and_depth(there)
        for u, v, d in zip(np.rint(columns).astype(int), np.rint(rows).astype(int), depth):
            if 0 <= v < view.depth.shape[0] and 0 <= u < view.depth.shape[1]:
                view.depth[max(v - 1, 0) : v + 2, max(u - 1, 0) : u + 2] = d
                view.rgb[max(v - 1, 0) : v + 2, max(u - 1, 0) : u + 2] = RED
    shots = [replace(view) for view in shots]
    how = {"grip": pivot} if seen_only else {"swings": swings}
    found = kept.carry("cup", lift, shots, 1.0, new=True, **how)
    assert np.allclose(found.rotation, swings[0].rotation, atol=0.1 if seen_only else 1e-8)
    assert np.abs(thing(kept, "cup").middle - there.mean(axis=0)).max() < 0.02


def test_what_fell_out_of_the_hand_is_not_between_the_fingers_though_it_is_seen():
    kept, lift = memory(("cup", CUP), ("box", BOX)), by(0.0, 0.0, 0.2)
    grip, fallen = middle(CUP) + (0.0, 0.0, 0.2), shifted(CUP, 0.06, 0.0, 0.0)
    assert kept.carry("cup", lift, views(fallen, BOX), 1.0, new=True, grip=grip) is None


def test_what_is_carried_is_where_the_hand_is_unless_its_place_there_is_seen_empty():
    kept, lift = memory(("cup", CUP), ("box", BOX)), by(0.0, 0.0, 0.2)
    assert kept.carry("cup", lift, views(CUP, BOX), 1.0, new=True) is None, "it stands where it was"
    slipped = kept.carry("cup", lift, views(shifted(CUP, 0.01, 0.0, 0.19), BOX), 2.0, new=True)
    assert np.abs(slipped.translation - (0.01, 0.0, -0.01)).max() < 0.005
    assert np.abs(thing(kept, "cup").middle - middle(shifted(CUP, 0.01, 0.0, 0.19))).max() < 0.012
    unseen = kept.carry("cup", lift, views(hidden=np.ones((240, 320), bool)), 3.0, new=False)
    assert (unseen.translation == 0).all()
    assert kept.carry("cup", lift, views(BOX), 4.0, new=False) is None, "its place is empty"


def test_what_tipped_over_is_found_by_its_colours():
    kept = memory(("cup", CUP), ("box", BOX))
    lying = ((-0.1, 0.0, 0.0), (-0.02, 0.06, 0.06), RED)
    let_go(kept, by(-0.06, -0.1), views(lying, BOX))
    cup = thing(kept, "cup")
    assert cup.visible and np.abs(cup.middle[:2] - middle(lying)[:2]).max() < 0.03


def test_a_thin_thing_that_was_taken_away_is_not_seen_in_the_table():
    """A plate of about the table's colour, 6 mm high: a picture does not see far behind it where it was."""
    plate = ((-0.07, 0.05, 0.0), (0.07, 0.19, 0.006), (130, 120, 108))
    kept = memory(("plate", plate), ("box", BOX))
    kept.update(views(plate, BOX), 1.0)
    assert thing(kept, "plate").visible
    kept.update(views(BOX), 2.0)
    assert not thing(kept, "plate").visible


def test_a_larger_thing_of_its_colours_is_not_taken_for_it():
    """A can that missed the basket, whose inside has the can's colours and was not seen before."""
    kept = memory(("cup", CUP), ("box", BOX))
    let_go(kept, by(-0.05, 0.0), views(((-0.1, 0.05, 0.0), (0.03, 0.18, 0.05), RED), BOX))
    assert thing(kept, "cup").lost


def test_a_sliver_of_its_colours_is_not_taken_for_it():
    kept = memory(("cup", CUP), ("box", BOX))
    sliver = (0.05, 0.18, 0.05), (0.065, 0.2, 0.075), RED
    kept.update(views(sliver, BOX), 1.0)
    assert thing(kept, "cup").lost


def test_what_was_let_go_and_is_nowhere_is_lost():
    kept = memory(("cup", CUP), ("box", BOX))
    let_go(kept, by(0.0, 0.0), views(BOX))
    cup = thing(kept, "cup")
    assert cup.lost and not cup.visible


def test_a_thing_falls_no_deeper_than_what_is_below_it():
    kept = memory(("cup", CUP), ("tray", TRAY))
    there = shifted(CUP, -0.05, -0.3, 0.02)
    let_go(kept, by(-0.05, -0.3, 0.06), views(there, TRAY))
    assert abs(thing(kept, "cup").points[:, 2].max() - 0.10) < 0.006


def test_a_thing_that_was_knocked_aside_is_still_on_the_level_top_that_it_hid():
    oven = ((-0.1, 0.05, 0.0), (0.2, 0.25, 0.1), GREEN)
    bowl = ((0.0, 0.11, 0.1), (0.08, 0.19, 0.135), RED)
    kept = memory(("bowl", bowl), ("oven", oven))
    moved = replace(thing(kept, "bowl"), points=thing(kept, "bowl").points - (0.037, 0.0, 0.0))
    assert kept._support(moved) == pytest.approx(0.1, abs=0.004)
    assert kept._support(moved.moved(by(-0.2, 0.0))) == 0.0


def test_a_strip_of_a_wall_that_is_seen_below_a_thing_is_no_floor():
    walls = (((-0.06, 0.04, 0.0), (0.16, 0.05, 0.14), GREEN), ((0.03, 0.13, 0.05), (0.034, 0.16, 0.06), GREEN))
    shots = views(CUP)
    kept = made([seen("cup", CUP, shots), seen("basket", walls[1], views(*walls))])
    assert kept._support(thing(kept, "cup").moved(by(0.0, 0.0, 0.1))) == 0.0


def test_pictures_look_through_where_nothing_is():
    shots = views(CUP)
    cup = seen("cup", CUP, shots)
    assert evidence(cup.points, shots).is_there
    assert evidence(cup.points + (0.0, 0.0, 0.3), shots).is_gone
    assert not evidence(cup.points + (5.0, 0.0, 0.0), shots).is_there


@pytest.mark.parametrize(("rise", "is_held"), [(0.04, True), (0.0, False)])
def test_a_tall_thing_that_was_lifted_a_little_still_fills_most_of_its_old_place(rise, is_held):
    bottle = ((-0.02, 0.1, 0.0), (0.02, 0.14, 0.16), RED)
    kept = memory(("bottle", bottle), ("box", BOX))
    found = kept.carry("bottle", by(0.0, 0.0, 0.04), views(shifted(bottle, 0.0, 0.0, rise), BOX), 1.0, new=True)
    assert (found is not None) is is_held


@pytest.mark.parametrize(("walls", "below"), [("nesw", "basket"), ("nes", ""), ("n", "")])
def test_what_stands_on_the_ground_between_walls_stands_in_what_has_them(walls, below):
    """The floor of a basket is hidden by what lies in it, and by its walls."""
    sides = {"n": (0.15, -0.1, 0.01, 0.2), "s": (-0.06, -0.1, 0.01, 0.2), "e": (-0.05, -0.1, 0.2, 0.01)}
    sides |= {"w": (-0.05, 0.09, 0.2, 0.01)}
    basket = np.concatenate(
        [
            np.stack(np.meshgrid(x + np.linspace(0, a, 12), y + np.linspace(0, b, 12), (0.06, 0.1)), -1).reshape(-1, 3)
            for x, y, a, b in (sides[side] for side in walls)
        ]
    )
    item = np.stack(np.meshgrid(*(np.linspace(0.02, 0.07, 8),) * 2, (0.005, 0.03)), -1).reshape(-1, 3)
    item[:, 1] -= 0.045
    things = [
        SeenThing(name, points, np.zeros_like(points), Named(name), 0.0)
        for name, points in (("basket", basket), ("cheese", item))
    ]
    assert {thing.name: thing.below for thing in resting(things, on_the_table)}["cheese"] == below


@pytest.mark.parametrize("aside", [0.0, 0.03, 0.05])
def test_a_thing_that_is_not_seen_is_not_its_twin_that_is(aside):
    twin = shifted(CUP, 0.15, 0.0)
    shots = views(CUP, twin)
    things = seen("cup", CUP, shots), seen("twin", twin, shots)
    middles = [middle(CUP), middle(twin)]
    split = [np.linalg.norm(t.points[:, None] - middles, axis=-1).argmin(axis=1) == k for k, t in enumerate(things)]
    kept = made([replace(t, points=t.points[mask], colours=t.colours[mask]) for t, mask in zip(things, split)])
    let_go(kept, by(0.15 + aside, 0.0), views(twin))
    for stamp in (2.0, 3.0):
        kept.update(views(twin), stamp)
        assert thing(kept, "twin").visible and thing(kept, "cup").lost


def test_what_stands_on_a_plate_and_covers_its_middle_stands_on_it():
    around = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    ring = np.stack((np.cos(around), np.sin(around)), axis=-1)
    wall = np.concatenate([np.c_[0.04 * ring, np.full(60, z)] for z in np.linspace(0.012, 0.09, 12)])
    plate = np.concatenate([np.c_[r * ring, np.full(60, 0.01)] for r in np.linspace(0.01, 0.1, 12)])
    things = [
        SeenThing(name, points, np.zeros_like(points), Named(name), 0.0)
        for name, points in (("mug", wall), ("plate", plate))
    ]
    assert {thing.name: thing.below for thing in resting(things, on_the_table)} == {"mug": "plate", "plate": ""}


@pytest.mark.parametrize("floor", [0.02, None], ids=["seen before", "never seen"])
def test_what_stands_between_walls_does_not_stand_on_the_ground_below_them(floor):
    """As a book in a caddy: its foot is hidden, and the ground below the caddy is none that it stands on."""
    x, y, z = (each.ravel() for each in np.meshgrid(*(np.linspace(-0.06, 0.06, 25),) * 2, np.linspace(0.02, 0.1, 17)))
    walls = np.maximum(np.abs(x), np.abs(y)) > 0.056
    points = np.column_stack((x, y, z))[walls]
    inner = np.column_stack((x, y, np.full(len(x), floor or 0.0)))[~walls] if floor else points[:0]
    box = np.concatenate((points, inner))
    upper = np.stack(np.meshgrid(np.linspace(-0.04, 0.04, 9), np.linspace(-0.01, 0.01, 5), [0.05, 0.09, 0.13]), axis=-1)
    caddy = SeenThing("caddy", box, np.zeros_like(box), Named("caddy"), 0.0)
    book = SeenThing("book", upper.reshape(-1, 3), np.zeros((135, 3)), Named("book"), 0.0, unseen=0.045)
    stands = {each.name: each for each in resting((caddy, book), on_the_table)}["book"]
    assert stands.below == "caddy" and 0.004 < stands.bottom <= 0.03  # and no higher than it is seen to begin
    assert stands.bottom <= stands.low


def test_what_shines_is_what_it_was_to_any_camera_and_an_edge_tells_nothing():
    """Its points lie a pixel beside the thing, and one camera saw it dark that another sees light."""
    (view,) = views(CUP)[:1]
    cup = seen("cup", CUP, [view])
    edge = cup.points[np.abs(cup.points[:, 0] - cup.points[:, 0].max()) < 0.004] + (0.0015, 0.0, 0.0)
    both = np.stack((np.full((len(edge), 3), 20), np.full((len(edge), 3), RED)), axis=1)
    strict, lenient = evidence(edge, [view], both[:, :1]), evidence(edge, [view], both, at_edges=False)
    assert strict.other > strict.seen and lenient.other == 0 and lenient.through <= strict.through
