"""Things cut out of pictures whose truth is known to the millimetre: boxes by ray casting."""

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from doubles.boxes_camera import looking, picture

from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import LEVEL, Intrinsics, Pose
from planweave.perception.segmentation import around_things, find_segments
from planweave.perception.surface_pieces import _joined, _seeds

LOW, HIGH = (-0.6, -0.6, -0.1), (0.6, 0.6, 0.6)
RED, BLUE, GREY, WHITE = (200, 30, 30), (30, 40, 200), (90, 90, 90), (230, 230, 230)
DARK_RED = (120, 18, 18)


def box(x, y, z, size, colour=RED):
    """A box of a size (3,) that stands at a height above a place."""
    a, b, c = size
    return (x - a / 2, y - b / 2, z), (x + a / 2, y + b / 2, z + c), colour


def tray(x, y, size, height, colour=WHITE, thick=0.008):
    """A floor and four walls around a place."""
    h = size / 2
    walls = [
        ((x - h, y - h, 0), (x + h, y - h + thick, height), colour),
        ((x - h, y + h - thick, 0), (x + h, y + h, height), colour),
        ((x - h, y - h, 0), (x - h + thick, y + h, height), colour),
        ((x + h - thick, y - h, 0), (x + h, y + h, height), colour),
    ]
    return [((x - h, y - h, 0), (x + h, y + h, thick), colour), *walls]


def find(boxes, **where):
    return find_segments([picture(boxes, **where)], LOW, HIGH).segments


def extents(segment):
    return segment.points.min(axis=0), segment.points.max(axis=0)


CASES = {
    "apart": ([box(0, -0.1, 0, (0.05, 0.05, 0.05)), box(0, 0.1, 0, (0.05, 0.05, 0.05), BLUE)], 2),
    "on each other": ([box(0, 0, 0, (0.14, 0.14, 0.06)), box(0, 0, 0.06, (0.06, 0.06, 0.06))], 2),
    "beside each other, not flush": ([box(0, -0.04, 0, (0.08, 0.08, 0.08)), box(0.03, 0.03, 0, (0.06, 0.06, 0.04))], 2),
    "flush and of two plain colours": ([box(0, -0.03, 0, (0.06,) * 3), box(0, 0.03, 0, (0.06,) * 3, BLUE)], 2),
    "flush and of one colour": ([box(0, -0.03, 0, (0.06,) * 3), box(0, 0.03, 0, (0.06,) * 3)], 1),
    "flush, one of them striped, whose corners touch": (
        [box(0, -0.05, 0, (0.1, 0.1, 0.02), BLUE), box(0.05, 0.04, 0, (0.08, 0.08, 0.02))]
        + [box(0.05, y, 0.019, (0.08, 0.01, 0.0011), DARK_RED) for y in (0.015, 0.035, 0.055)],
        2,
    ),
    "flush and striped, side by side": (
        [box(0, -0.05, 0, (0.08, 0.1, 0.02), BLUE), box(0, 0.04, 0, (0.08, 0.08, 0.02))]
        + [box(0, y, 0.019, (0.08, 0.01, 0.0011), DARK_RED) for y in (0.015, 0.035, 0.055)],
        1,
    ),
    "a pattern that the surface encloses": (
        [box(0, 0, 0, (0.1,) * 3), box(0, 0, 0.099, (0.05, 0.05, 0.0011), BLUE)],
        1,
    ),
    "divided by what stands before it": (
        [box(-0.1, 0, 0, (0.06, 0.3, 0.08)), box(0.08, 0, 0, (0.05, 0.05, 0.16), GREY)],
        2,
    ),
    "a tray": (tray(0, 0, 0.2, 0.05), 1),
    "a box": (tray(0, 0, 0.16, 0.1), 1),
    "what lies across a box, flush with its walls": (
        [*tray(0, 0, 0.16, 0.05), box(0, 0, 0.03, (0.158, 0.04, 0.02), RED)],
        2,
    ),
    "a thing in a tray": ([*tray(0, 0, 0.24, 0.05), box(0, 0, 0.008, (0.05,) * 3, RED)], 2),
}


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_tray_of_thin_walls_is_one_thing_in_noisy_depth(turn):
    rng = np.random.default_rng(turn)
    view = picture(
        [*tray(0, 0, 0.24, 0.03, thick=0.007), box(0, 0, 0.007, (0.05,) * 3, BLUE)], eye=(0.1, 0.05 * turn, 1.0)
    )
    noise = (1e-3 * view.depth**2 * rng.normal(size=view.depth.shape)).astype(np.float32)
    cube, whole = find_segments([replace(view, depth=view.depth + noise)], LOW, HIGH).segments
    assert np.ptp(whole.points, axis=0) == pytest.approx((0.24, 0.24, 0.03), abs=0.02)
    assert np.ptp(cube.points, axis=0)[:2] == pytest.approx((0.05, 0.05), abs=0.015)


def test_what_overhangs_in_a_tray_is_no_part_of_it():
    """From above its foot is not seen: below its lower edge there is the tray's floor, as below a handle."""
    post, ball = box(0, 0, 0.008, (0.02, 0.02, 0.03)), box(0, 0, 0.038, (0.06, 0.06, 0.03))
    assert len(find([*tray(0, 0, 0.24, 0.05), post, ball], eye=(0.05, 0.0, 1.1))) == 2


def test_the_ground_can_be_given():
    (thing,) = find_segments([picture([box(0, 0, 0, (0.06,) * 3)])], LOW, HIGH, LEVEL).segments
    assert extents(thing)[1][2] == pytest.approx(0.06, abs=0.005)


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("eye", [(0.7, 0.0, 0.9), (0.05, 0.0, 1.1)], ids=["aslant", "from above"])
def test_things_are_told_apart_and_kept_whole(case, eye):
    boxes, count = CASES[case]
    assert len(find(boxes, eye=eye)) == count


def test_the_cubes_of_a_tower_are_told_apart_by_their_colours():
    assert len(find([box(0, 0, k * 0.06, (0.06,) * 3, c) for k, c in enumerate((RED, BLUE, WHITE))])) == 3


def test_the_points_of_a_thing_are_its_own():
    low, high = extents(find([box(0, 0, 0, (0.1, 0.08, 0.12))])[0])
    assert low == pytest.approx((-0.05, -0.04, 0.0), abs=0.01)
    assert high == pytest.approx((0.05, 0.04, 0.12), abs=0.01)


def test_what_hovers_beside_a_thing_is_attached_to_it():
    cabinet = box(-0.1, 0, 0, (0.2, 0.3, 0.25), WHITE)
    posts = [((0.0, y - 0.01, 0.14), (0.03, y + 0.01, 0.16), GREY) for y in (-0.05, 0.05)]
    handle = ((0.03, -0.06, 0.14), (0.045, 0.06, 0.16), GREY)
    (thing,) = find([cabinet, *posts, handle], eye=(0.8, 0.1, 0.6))
    assert len(thing.attached) == 1
    assert thing.attached[0].points.mean(axis=0) == pytest.approx((0.04, 0.0, 0.15), abs=0.02)


def sized(view, factor):
    """The same view by a camera with so many times the pixels."""
    i = view.intrinsics
    large = Intrinsics(
        i.fx * factor,
        i.fy * factor,
        (i.width * factor - 1) / 2,
        (i.height * factor - 1) / 2,
        i.width * factor,
        i.height * factor,
    )
    return replace(
        view,
        rgb=view.rgb.repeat(factor, 0).repeat(factor, 1),
        depth=view.depth.repeat(factor, 0).repeat(factor, 1),
        intrinsics=large,
    )


SCENE = [*tray(0.1, -0.2, 0.2, 0.05), box(0, 0.1, 0, (0.12, 0.12, 0.06)), box(0, 0.1, 0.06, (0.05,) * 3, BLUE)]


@pytest.mark.parametrize("factor", [2, 4, 6])
def test_the_camera_s_resolution_does_not_matter(factor):
    view = picture(SCENE)
    large = sized(view, factor)
    found, other = (find_segments([v], LOW, HIGH).segments for v in (view, large))
    assert len(found) == len(other) == 3
    for one, two in zip(found, other):
        assert two.masks["front"].shape == large.depth.shape
        assert np.mean(two.masks["front"]) == pytest.approx(np.mean(one.masks["front"]), rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_depth_and_colour_does_not_matter(seed):
    view, rng = picture(SCENE), np.random.default_rng(seed)
    depth = view.depth + 1e-3 * view.depth**2 * rng.normal(size=view.depth.shape).astype(np.float32)
    rgb = np.clip(view.rgb.astype(int) + rng.integers(-3, 4, view.rgb.shape), 0, 255).astype(np.uint8)
    assert len(find_segments([replace(view, depth=depth, rgb=rgb)], LOW, HIGH).segments) == 3


def test_the_same_picture_gives_the_same_things():
    one, two = find(SCENE), find(SCENE)
    assert all((a.masks["front"] == b.masks["front"]).all() for a, b in zip(one, two))


@pytest.mark.parametrize("x", [0.0, 0.3])
def test_what_is_seen_around_things_does_not_hang_on_the_rest_of_the_picture(x):
    seen = sized(picture([box(x, 0.1, 0, (0.06, 0.06, 0.09)), *tray(x, -0.1, 0.2, 0.05)]), 2)
    noise = (1e-3 * seen.depth**2 * np.random.default_rng(0).normal(size=seen.depth.shape)).astype(np.float32)
    seen = replace(seen, depth=seen.depth + noise)
    around, whole = around_things(seen, LOW, HIGH, LEVEL), replace(seen)
    assert np.count_nonzero(around.valid) < 0.6 * whole.upward.size and whole.points.any()  # all of it is computed
    one, other = (find_segments([view], LOW, HIGH, LEVEL).segments for view in (around, whole))
    assert len(one) == len(other) > 1
    for a, b in zip(one, other):
        assert np.array_equal(a.masks[seen.name], b.masks[seen.name]) and np.array_equal(a.points, b.points)
        at = a.masks[seen.name] & around.valid
        assert np.array_equal(around.points[at], whole.points[at]) and np.array_equal(
            around.upward[at], whole.upward[at]
        )


def test_two_cameras_make_one_thing_of_what_both_see():
    views = [picture(SCENE), picture(SCENE, eye=(-0.6, 0.3, 0.8), name="side")]
    found = find_segments(views, LOW, HIGH).segments
    assert len(found) == 3
    assert all(s.masks["front"].any() and s.masks["side"].any() for s in found)


@pytest.mark.parametrize("height", [0.05, 0.08])
def test_what_stands_between_two_alike_does_not_make_them_one(height):
    """Each camera sees the ground on one side of it."""
    alike = [box(x, 0, 0, (0.08, 0.1, 0.03)) for x in (-0.12, 0.12)]
    boxes = [*alike, box(0, 0, 0, (0.05, 0.12, height), GREY)]
    views = [picture(boxes, eye=(0.7, 0.0, 0.6)), picture(boxes, eye=(-0.7, 0.0, 0.6), name="behind")]
    assert len(find_segments(views, LOW, HIGH).segments) == 3


@pytest.mark.parametrize(
    ("overlap", "alone", "together"), [(0.001, 2, 2), (0.04, 1, 2), (None, 1, 1)], ids=["corner", "wide", "a long one"]
)
def test_what_one_camera_sees_as_two_is_parted_where_it_is_narrow(overlap, alone, together):
    """Where one sees it as two the waist may be wider than where it is told by its outline alone."""
    middles = [(0.05, 0.05), (overlap - 0.05, overlap - 0.05)] if overlap is not None else []
    boxes = [box(x, y, 0, (0.1, 0.1, 0.05)) for x, y in middles] or [box(0, 0, 0, (0.06, 0.3, 0.05))]
    above, side = picture(boxes, eye=(0.3, 0.0, 0.9)), picture(boxes, eye=(0.0, 0.6, 0.8), name="side")
    middle = (overlap or 0.0) if boxes[1:] else 0.0
    between = np.abs(side.points[..., :2].sum(axis=-1) - middle if boxes[1:] else side.points[..., 1]) < 0.02
    assert len(find_segments([above], LOW, HIGH).segments) == alone
    assert len(find_segments([above, replace(side, hidden=between)], LOW, HIGH).segments) == together


def test_a_few_pixels_of_a_border_join_nothing():
    """A print on a carton ends at its edge, where a few pixels of what stands behind it are taken for the print."""
    wholes = np.ones((40, 40), np.int32)
    wholes[:, 20:] = 2
    labels, step, crease = wholes.copy(), np.zeros((40, 40)), np.zeros((40, 40))
    labels[9, 20:30], labels[[8, 10], 20] = 3, 3
    step[:, 19:21], step[9] = 2.0, 0.0  # seen everywhere between them but in one row
    crease[9, 30] = 2.0  # a line of the print
    view = SimpleNamespace(range=np.where(wholes == 1, 1.1, 1.0), edges=((step, crease), (np.zeros((40, 40)), crease)))
    joined = _joined(labels, view, wholes)
    assert joined[labels == 3][0] == joined[labels == 2][0] != joined[labels == 1][0]


def test_pixels_of_the_robot_are_no_thing():
    view = picture([box(0, 0, 0, (0.1, 0.1, 0.1))])
    hidden = view.points[..., 2] > 0.03
    found = find_segments([replace(view, hidden=hidden)], LOW, HIGH).segments
    assert not any((s.masks["front"] & hidden).any() for s in found)


def test_a_slanted_ground_is_the_ground():
    turn = looking((0.7, 0.0, 0.9), (0.0, 0.0, 0.0))
    c, s = np.cos(0.02), np.sin(0.02)
    tilt = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    view = picture([box(0, 0, 0, (0.1, 0.1, 0.1))])
    tilted = replace(view, camera_to_frame=type(turn)(tilt @ turn.rotation, tilt @ turn.translation))
    assert len(find_segments([tilted], LOW, HIGH).segments) == 1


def test_without_a_level_surface_it_says_so():
    with pytest.raises(ValueError):
        find_segments([picture([])], (5, 5, 5), (6, 6, 6))


def test_a_gap_of_a_pixel_in_the_cut_between_two_things_does_not_join_them():
    """A bowl stands on a cabinet; its rim meets the far edge of the top, where the cut between them has a gap."""
    calm = np.ones((60, 80), np.uint8)
    calm[:, 40] = 0
    calm[30, 40] = 1
    seeds = _seeds(calm, np.full(calm.shape, 1e-6))
    assert len(np.unique(seeds[:, :40])) == len(np.unique(seeds[:, 41:])) == 1 and seeds[0, 0] != seeds[0, 79]
    small = _seeds(
        calm, np.full(calm.shape, 1e-7)
    )  # parts of one thing, as a rim and what it encloses, may be so small
    assert len(np.unique(small[calm > 0])) == 1


def test_what_is_connected_only_beside_the_robot_is_two_things():
    """A bowl stands on a stove, and a finger before both: no step is measured at the finger's outline."""
    calm, hidden = np.ones((60, 80), np.uint8), np.zeros((60, 80), bool)
    calm[:, 40] = 0
    calm[20:22, 40] = 1
    hidden[:20, 35:46] = True
    calm[hidden] = 0
    areas = np.full(calm.shape, 1e-7)
    assert len(np.unique(_seeds(calm, areas)[calm > 0])) == 1
    seeds = _seeds(calm, areas, hidden)
    assert len(np.unique(seeds[calm > 0])) == 2 and seeds[59, 0] != seeds[59, 79]  # and no pixel is without a number


def test_a_window_smaller_than_the_arms_of_creases_has_none():
    shape, level = (20, 88), np.float32(0.02)
    near = Intrinsics(430.0, 430.0, 44.0, 10.0, shape[1], shape[0])
    view = DepthView("hand", np.zeros((*shape, 3), np.uint8), np.full(shape, level), near, Pose(np.eye(3), np.zeros(3)))
    assert view.cuts.shape == shape and not view.cuts.any()


@pytest.mark.parametrize("noise", [2.5e-3, 4e-3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_things_that_stand_near_are_told_apart_in_depth_as_stereo_blurs_it(noise, seed):
    """Their feet run out over the table, whose own depth is as uneven: 2 to 3 mm at 1 m, in waves of a few pixels."""
    view = picture(
        [
            box(-0.15, -0.06, 0, (0.07,) * 3),
            box(-0.15, 0.05, 0, (0.07, 0.07, 0.12), BLUE),
            box(0.1, 0.1, 0, (0.06, 0.06, 0.1), GREY),
        ],
        eye=(0.55, 0.0, 0.75),
    )
    depth = 1 / cv2.GaussianBlur(1 / view.depth, (0, 0), 3)
    waves = cv2.GaussianBlur(np.random.default_rng(seed).normal(size=depth.shape).astype(np.float32), (0, 0), 4)
    uneven = replace(view, depth=(depth + noise * depth**2 * waves / waves.std()).astype(np.float32))
    found = find_segments([uneven], LOW, HIGH).segments
    assert sorted(s.points[:, 2].max() for s in found) == pytest.approx([0.07, 0.1, 0.12], abs=0.015)
