"""Scenes that a camera shows badly: nothing is lost silently, and nothing is invented."""

import numpy as np
import pytest
from doubles.boxes_camera import picture

from planweave.perception.calibration import Extrinsics
from planweave.perception.object_classes import UNKNOWN, UNSURE
from planweave.perception.perceiver import Perceiver
from planweave.perception.pipeline import PipelineLimits

AREA = (-0.6, 0.6, -0.6, 0.6)
RED, BLUE, GREY, WHITE = (200, 30, 30), (30, 40, 200), (90, 90, 90), (230, 230, 230)
FAR = 10.0  # m, beyond which no camera sees
ABOVE, ASLANT = (0.01, 0.0, 1.0), (0.7, 0.0, 0.9)


def box(x, y, size, colour=RED, z=0.0):
    """A box of a size (3,) that stands at a height above a place."""
    a, b, c = size
    return (x - a / 2, y - b / 2, z), (x + a / 2, y + b / 2, z + c), colour


CUBE = box(0.0, 0.15, (0.05,) * 3, BLUE)


class Watch:
    """Perception of what one camera, and others, see of boxes, in noisy depth."""

    def __init__(self, **settings):
        self.perceiver = Perceiver(None, PipelineLimits(table=AREA, **settings))
        self._rng, self._stamp = np.random.default_rng(0), 0.0

    def noisy(self, view):
        z = view.depth
        z = np.where((z > 0) & (z < FAR), z + self._rng.normal(size=z.shape) * 1e-3 * z**2, 0)
        return type(view)(view.name, view.rgb, z.astype(np.float32), view.intrinsics, view.camera_to_frame)

    def look(self, view, sides=(), times=3):
        """What is known after some frames."""
        self.perceiver.pipeline.extrinsics = Extrinsics("camera", view.camera_to_frame)
        for _ in range(times):
            self._stamp += 1.0
            first, *others = map(self.noisy, (view, *sides))
            seen = self.perceiver.process(self._stamp, first.rgb, first.depth, first.intrinsics, None, (), others)
        return seen


def classes(seen):
    return sorted(o.thing.class_name for o in seen.objects)


@pytest.mark.parametrize(
    ("thing", "eye", "target"),
    [
        (box(0.1, 0.0, (0.06, 0.06, 0.3), WHITE), (0.8, 0.0, 0.25), (0.0, 0.0, 0.1)),
        (box(-0.1, -0.1, (0.06, 0.06, 0.7)), (0.7, 0.0, 0.5), (0.0, 0.0, 0.1)),
        (box(-0.1, -0.1, (0.06, 0.06, 0.4)), (0.7, 0.0, 0.45), (0.0, 0.0, -0.05)),
        (box(0.0, 0.46, (0.06, 0.3, 0.05), WHITE), (0.7, 0.0, 0.9), (0.0, 0.0, 0.0)),
    ],
    ids=["higher than the camera", "higher than the picture", "top cut off by the picture's edge", "cut off at a side"],
)
def test_what_is_seen_in_part_is_an_unknown_thing_as_large_as_it_is_seen(thing, eye, target):
    seen = Watch().look(picture([CUBE, thing], eye, target))
    assert classes(seen) == sorted(["cube", UNKNOWN])
    (unknown,) = (o.thing for o in seen.objects if o.thing.class_name == UNKNOWN)
    assert unknown.cut and unknown.confidence <= UNSURE and unknown.bottom == pytest.approx(0.0, abs=0.01)
    low, high = thing[0], thing[1]
    assert unknown.covers((low[0] + high[0]) / 2, np.clip((low[1] + high[1]) / 2, -0.35, 0.35), 0.04)
    assert unknown.top > 0.8 * min(high[2], 0.2)


def test_a_low_camera_loses_nothing():
    seen = Watch().look(picture([CUBE, box(-0.1, -0.1, (0.05,) * 3)], (0.8, 0.0, 0.06), (0.0, 0.0, 0.04)))
    assert [o.thing.class_name for o in seen.objects] == [UNKNOWN] * 2


def test_the_side_of_a_thing_that_is_known_is_no_other_thing():
    watch = Watch()
    tall = box(0.1, 0.0, (0.06, 0.06, 0.3), WHITE)
    before = {o.name for o in watch.look(picture([CUBE, tall], (0.5, 0.0, 0.9), (0.0, 0.0, 0.0))).objects}
    assert {o.name for o in watch.look(picture([CUBE, tall], (0.8, 0.0, 0.25), (0.0, 0.0, 0.1))).objects} == before


def without_depth(view, *things):
    """A view of things that give no depth: glass, or black."""
    bare = picture([CUBE], tuple(view.camera_to_frame.translation), name=view.name)
    gone = np.any([picture([CUBE, thing], bare.camera_to_frame.translation).depth != bare.depth for thing in things], 0)
    return type(view)(view.name, view.rgb, np.where(gone, 0, view.depth), view.intrinsics, view.camera_to_frame)


@pytest.mark.parametrize("eye", [ABOVE, ASLANT], ids=["from above", "aslant"])
@pytest.mark.parametrize("size", [(0.06, 0.06, 0.12), (0.03, 0.03, 0.04), (0.3, 0.2, 0.02)], ids=str)
def test_what_has_no_depth_is_said_and_kept_clear_of(eye, size):
    glass = box(0.0, -0.12, size, (12, 12, 12))
    seen = Watch().look(without_depth(picture([CUBE, glass], eye), glass))
    assert classes(seen) == sorted(["cube", UNKNOWN])
    (unknown,) = (o.thing for o in seen.objects if o.thing.class_name == UNKNOWN)
    assert unknown.confidence <= UNSURE and unknown.bottom == pytest.approx(0.0, abs=0.01)
    assert all(unknown.covers(x, y, 0.006) for x in (glass[0][0], glass[1][0]) for y in (glass[0][1], glass[1][1]))
    assert unknown.top > size[2] - 0.006
    assert len(seen.problems) == 1 and "nothing has depth at" in seen.problems[0]


def test_what_had_no_depth_is_gone_once_the_table_is_seen_there():
    watch, glass = Watch(), box(0.0, -0.12, (0.06, 0.06, 0.12))
    watch.look(without_depth(picture([CUBE, glass], ASLANT), glass))
    seen = watch.look(picture([CUBE], ASLANT), times=6)
    assert (classes(seen), seen.problems) == (["cube"], ())


@pytest.mark.parametrize("right", [False, True])
def test_the_shadow_of_a_thing_is_no_thing(right):
    """What one of a sensor's two eyes does not see, as behind the thing's edge."""
    view = picture([CUBE, box(0.1, -0.1, (0.12, 0.12, 0.5), GREY)], ASLANT)
    depth, columns = view.depth.copy(), np.arange(view.depth.shape[1])
    for row, z in enumerate(view.depth):
        seen_at = columns + (0.075 if right else -0.075) * view.intrinsics.fx / z
        nearest = np.maximum.accumulate(seen_at) if not right else np.minimum.accumulate(seen_at[::-1])[::-1]
        depth[row, (seen_at < nearest - 1e-6) if not right else (seen_at > nearest + 1e-6)] = 0
    assert (depth == 0).mean() > 0.005
    seen = Watch().look(type(view)(view.name, view.rgb, depth, view.intrinsics, view.camera_to_frame))
    assert (len(seen.objects), seen.problems) == (2, ())


SIDES = tuple(((x, y, 0.6), (0.0, 0.0, 0.0), name) for x, y, name in ((-0.8, 0.3, "left"), (0.1, -0.9, "right")))


def from_all(boxes, eye=ABOVE):
    return picture(boxes, eye), [picture(boxes, *side) for side in SIDES]


@pytest.mark.slow
def test_what_another_thing_hides_from_the_first_camera_is_seen_by_the_others():
    tall, hidden = box(0.15, 0.0, (0.06, 0.3, 0.25), GREY), box(-0.02, 0.03, (0.05,) * 3, RED)
    first, others = from_all([CUBE, tall, hidden], (0.6, 0.0, 0.3))
    watch = Watch()
    assert RED not in {tuple(c) for c in first.rgb.reshape(-1, 3).tolist()}
    seen = watch.look(first, others)
    (red,) = (o.thing for o in seen.objects if o.thing.colour == "red")
    assert (red.class_name, red.confidence <= UNSURE, red.cut) == (UNKNOWN, True, True)
    assert red.position[:2] == pytest.approx((-0.02, 0.03), abs=0.03) and red.top == pytest.approx(0.05, abs=0.01)
    assert len(seen.objects) == 3 and not seen.problems
    before = {o.name: o.id for o in seen.objects}
    seen = watch.look(*from_all([CUBE, tall], (0.6, 0.0, 0.3)), times=6)
    assert {o.name: o.id for o in seen.objects} == {n: i for n, i in before.items() if "red" not in n}


@pytest.mark.parametrize(
    "boxes", [[CUBE], [CUBE, box(-0.1, -0.1, (0.1, 0.06, 0.2), GREY), box(0.1, 0.0, (0.2, 0.1, 0.03))]]
)
def test_further_cameras_invent_nothing(boxes):
    one, all_of_them = Watch().look(picture(boxes, ABOVE)), Watch().look(*from_all(boxes))
    assert {o.name for o in all_of_them.objects} == {o.name for o in one.objects}
    assert not all_of_them.problems


def test_a_thing_that_another_camera_looks_through_is_in_doubt():
    first, others = picture([CUBE, box(0.1, -0.1, (0.06,) * 3)], ABOVE), [picture([CUBE], *side) for side in SIDES]
    seen = Watch().look(first, others)
    assert {o.thing.colour: o.thing.confidence > 0.5 for o in seen.objects} == {"blue": True, "red": False}
    assert len(seen.problems) == 1 and "do not agree on the red cube" in seen.problems[0]


def walls(half, height, thick=0.02):
    """Four walls around the middle; half: of their outside along x and y, m."""
    x, y = half
    return [
        *(((-x, s - thick / 2, 0.0), (x, s + thick / 2, height), GREY) for s in (-y, y)),
        *(((s - thick / 2, -y, 0.0), (s + thick / 2, y, height), GREY) for s in (-x, x)),
    ]


OTHER = box(-0.1, -0.1, (0.05,) * 3)
SHELF = [
    box(-0.1, 0.0, (0.4, 0.6, 0.02), GREY, z=0.35),
    box(-0.31, 0.0, (0.02, 0.6, 0.37), WHITE),
    *(box(-0.1, y, (0.4, 0.02, 0.37), GREY) for y in (-0.31, 0.31)),
]


@pytest.mark.parametrize("eye", [ABOVE, ASLANT], ids=["from above", "aslant"])
def test_a_bin_is_a_hollow_box_with_the_things_in_it(eye):
    seen = {
        o.thing.class_name: o.thing for o in Watch().look(picture([CUBE, OTHER, *walls((0.3, 0.3), 0.2)], eye)).objects
    }
    assert sorted(seen) == ["box", "cube"]
    around, inside = seen["box"], [t for t in (seen["cube"],) if seen["box"].covers(*t.position[:2])]
    assert inside and around.size == pytest.approx((0.62, 0.62, 0.2), abs=0.02) and around.shape == "hollow"
    middle = [
        np.array(part) for part in around.parts if (np.abs(part[:2]) < 0.2).all() and (np.abs(part[3:5]) < 0.2).all()
    ]
    assert all(part[5] < 0.02 for part in middle), "what is between the walls is free"


@pytest.mark.parametrize("colour", [(20, 20, 20), BLUE], ids=["black", "blue"])
@pytest.mark.parametrize("size", [(0.14, 0.018, 0.016), (0.05, 0.022, 0.03)], ids=["a pen", "an eraser"])
def test_what_is_narrow_in_a_tray_is_no_bit_of_its_wall(size, colour):
    around = [box(0.0, 0.0, (0.30, 0.22, 0.006)), *((a, b, RED) for a, b, _ in walls((0.15, 0.11), 0.04, 0.008))]
    looked = Watch().look(picture([*around, box(0.02, 0.0, size, colour, 0.006)], ABOVE))
    tray, thing = sorted((o.thing for o in looked.objects), key=lambda t: t.colour != "red")
    assert tray.receptacle and tray.colour == "red" != thing.colour
    assert sorted(thing.size) == pytest.approx(sorted(size), abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("around", "eye", "target"),
    [
        (walls((0.44, 0.54), 0.2), (0.9, 0.0, 0.9), (0.0, 0.0, 0.0)),
        (SHELF, (0.8, 0.0, 0.6), (0.0, 0.0, 0.1)),
        (SHELF, (0.8, 0.0, 0.3), (0.0, 0.0, 0.1)),
        (SHELF[:1], (0.8, 0.0, 0.6), (0.0, 0.0, 0.1)),
        (SHELF[:1], (0.8, 0.0, 0.3), (0.0, 0.0, 0.1)),
    ],
    ids=["a bin beyond the picture", "a shelf", "a shelf from below its board", "a board", "a board from below"],
)
def test_what_stands_in_a_shelf_or_a_bin_in_part_seen_is_said(around, eye, target):
    seen = Watch().look(picture([CUBE, OTHER, *around], eye, target))
    assert {o.thing.class_name for o in seen.objects} == {"cube", UNKNOWN}
    assert {o.thing.colour for o in seen.objects if o.thing.class_name == "cube"} == {"blue", "red"}
    assert len(seen.problems) == 1 and seen.problems[0].startswith("2 thing(s) below or in something unknown")
