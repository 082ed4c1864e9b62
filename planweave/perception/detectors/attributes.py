"""Shape and pose from colour, outline and relief: without training, every rule is a size in metres or a ratio.

Receptacles are wide: hollow rectangles (low or high walls), hollow circles and flat ones. Items: flat square or round
top, tall with a narrow neck, long, dome by size and length. The domain says which class a shape in a colour is
(`planweave.perception.object_classes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from planweave.geometry.columns import COLUMN, columns
from planweave.perception.colours import BLACK, colour_word, family_image, other_surface, patch_colour
from planweave.perception.detection import Detection, Measured, View
from planweave.perception.detectors.options import Options
from planweave.perception.geometry import (
    Outline,
    fit_sphere,
    outline,
    percentile,
    rotate_into,
    share_inside,
    wrap_yaw,
)
from planweave.perception.object_classes import UNKNOWN, UNSURE, ObjectClasses
from planweave.perception.regions import STRAY, PixelRegion

_RECEPTACLE_SIDE = 0.10  # m: nothing that a gripper of 0.08 m takes is wider than this in both directions
_HOLLOW = 0.01  # m that the floor of a receptacle is below its rim, at least
DEEP = 0.5
"""Height over width from which on a round vessel has deep walls."""
_RIM_FROM = 0.8  # of the radius of what is wide and round, from which on a point is of its rim
_EDGE = 0.02  # m from the outside of walls from which on there is no wall
_CELL, _ROOF = 0.02, 0.5  # m: edge of cells; share of what is between walls that a roof covers
_ROUND, _SECTORS = 0.7, 24  # share of these around its middle in which what is round reaches its radius, at least
_REACHES = 0.85  # of that radius
_RECTANGULAR = 0.8  # share of its box that the outline of a block fills, at least
_OTHER_SIZE = 0.25  # difference of sizes, as a share, from which on hidden cubes are not alike
_WALL = 0.025  # m of width of a bit of a wall
_DEEP = 0.02  # m that a small thing is hollow, at least
_HANDLE_WIDTH, _HANDLE_REACH = 0.04, 0.035  # m: of handles; and how far their middles are from a vessel's outside
_RIM = 0.01  # m from within a rim up to which a point is of its wall, and none of a handle
_FEW = 20  # pixels; of fewer no colour is told
_AGREE = 0.6  # share of these that must be of one colour
_WITHIN = 0.9  # of the radius of a rim: what is seen nearer to its middle is inside
_INSIDE = 0.9  # share of the points of a mug's inside that are within the outline of its rim
_QUARTER, _HALF, _FULL = math.pi / 2, math.pi, 2 * math.pi


@dataclass(frozen=True)
class _Look:
    """Measured attributes of a region."""

    region: PixelRegion
    pixel: float
    shape: Outline  # of all its points
    top: float
    colour: str
    rgb: tuple[float, float, float]
    classes: ObjectClasses

    def detection(
        self,
        class_name: str,
        shape: str,
        confidence: float,
        xy: Sequence[float] | np.ndarray,
        size: tuple[float, float, float],
        *,
        yaw: float = 0.0,
        symmetry: float = 0.0,
        bottom: float = 0.0,
        floor: float | None = None,
        receptacle: bool = False,
    ) -> Detection:
        """A detection from the region's top down to `bottom`; floor is the top unless given."""
        return Detection(
            class_name,
            self.colour,
            shape,
            float(np.clip(confidence, 0.05, 0.99)),
            (float(xy[0]), float(xy[1]), bottom + size[2] / 2),
            wrap_yaw(yaw, symmetry),
            symmetry,
            size,
            bottom + size[2] if floor is None else floor,
            self.rgb,
            self.region.cut,
            self.region.beyond,
            receptacle=receptacle,
        )

    def irregular(self, class_name: str, confidence: float, shape: Outline, yaw: float, symmetry: float) -> Detection:
        """A thing of no simple shape: a box of an outline."""
        size = (shape.long, shape.short, self.top)
        return self.detection(class_name, "irregular", confidence, shape.centre, size, yaw=yaw, symmetry=symmetry)

    def unknown(self, shape: Outline) -> Detection:
        """Region that no rule recognises."""
        return self.irregular(UNKNOWN, UNSURE, shape, shape.yaw, _HALF)


def measure(regions: Sequence[PixelRegion], pixel: float, classes: ObjectClasses) -> list[Measured]:
    """One detection per object in the regions; pixel: side of a pixel on the table, metres; classes: the domain's."""
    regions = _with_insides(regions, pixel)
    found = [detect(region, pixel, classes) for region in regions]
    regions, found = _with_handles(regions, found, classes.furnished)
    kept: list[Measured] = []
    for region, thing in zip(regions, found):
        if not _is_bit_of_a_wall(region, thing, found, pixel):
            kept.append((thing, region))
            kept += [(hidden, None) for hidden in _hidden_cubes(region, thing, classes)]
    return kept


def detect_by_attributes(view: View) -> list[Detection]:
    """The detector `attributes`: the measured detections unchanged."""
    return [thing for thing, _ in view.measured]


def _with_insides(regions: Sequence[PixelRegion], pixel: float) -> list[PixelRegion]:
    """Regions, highest first, each with what is lower within its outline, where it has hardly a point itself, and of
    its colour: the inside of a mug that was cut from its rim.
    """
    kept: list[PixelRegion] = []
    for region in regions:
        around = next((k for k, other in enumerate(kept) if _is_inside(region, other, pixel)), None)
        if around is None:
            kept.append(region)
        else:
            kept[around] = kept[around].joined(region)
    return kept


def _is_inside(one: PixelRegion, around: PixelRegion, pixel: float) -> bool:
    """Whether a region is the inside of another one; the outlines are made only where it lies among its points."""
    if one.top >= around.top - _HOLLOW:
        return False
    low, high = around.spread[0], around.spread[2]
    if not ((low <= one.spread[1]) & (one.spread[1] <= high)).all():
        return False
    inner, outer = one.points[:, :2], around.points[:, :2]
    if share_inside(inner, outline(outer, pixel / 2).hull) <= _INSIDE:
        return False
    hollow = share_inside(outer, outline(inner, pixel / 2).hull, -pixel) < 1 - _INSIDE
    return hollow and not other_surface(patch_colour(around.colours), patch_colour(one.colours))


def _with_handles(
    regions: Sequence[PixelRegion], found: Sequence[Detection], in_parts: bool
) -> tuple[list[PixelRegion], list[Detection]]:
    """Regions and detections where what is narrow, beside a small hollow thing and of its colour is its handle;
    in_parts: whether parts are asked for.
    """
    vessels = [k for k, thing in enumerate(found) if thing.shape == "hollow" and not thing.receptacle]
    owner = {
        k: v
        for v in vessels
        for k, thing in enumerate(found)
        if k not in vessels
        and not other_surface(thing.rgb, found[v].rgb, lit_alike=False)
        and thing.top < found[v].top + 0.008
        and min(thing.size[:2]) < _HANDLE_WIDTH
        and math.dist(thing.position[:2], found[v].position[:2]) < found[v].size[0] / 2 + _HANDLE_REACH
    }
    kept, things = [], []
    for k, (region, thing) in enumerate(zip(regions, found)):
        if k in owner:
            continue
        if thing.shape == "hollow" or thing.beyond:  # a bin beyond the picture is hollow, too
            points = np.concatenate([region.points, *(regions[h].points for h, v in owner.items() if v == k)])
            thing = replace(thing, hollow=True, parts=parts_of(points, thing) if in_parts else ())
        kept.append(region)
        things.append(thing)
    return kept, things


def parts_of(points: np.ndarray, thing: Detection) -> tuple[tuple[float, ...], ...]:
    """Boxes for the points (n, 3) of a thing that stands on the table, m: see Detection.parts. The wall
    of a round vessel is as high as its rim all around, and no further out.
    """
    own = np.column_stack((rotate_into(points[:, :2], thing.position[:2], thing.yaw), points[:, 2]))
    if thing.is_round:
        away, most = np.hypot(*own[:, :2].T), thing.size[0] / 2 - COLUMN / 2
        angles = np.linspace(0.0, 2 * np.pi, math.ceil(8 * most / COLUMN))
        rim = np.column_stack((most * np.cos(angles), most * np.sin(angles), np.full(len(angles), thing.size[2])))
        own = np.concatenate((own[(away < most) | (away > most + _RIM)], rim))
    return corners_of(own)


def corners_of(own: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """Boxes for the points (n, 3) of a thing in its own frame, from the middle of its bottom: see Detection.parts."""
    return tuple(map(tuple, columns(own, 0.0).reshape(-1, 6).tolist()))


def _is_bit_of_a_wall(region: PixelRegion, thing: Detection, found: Sequence[Detection], pixel: float) -> bool:
    """Whether a region is narrow, along a receptacle's edge, no higher than that and of its colour in some light."""
    return region.outline(pixel / 2).short <= _WALL and any(
        other is not thing
        and other.receptacle
        and thing.top < other.top + 0.008
        and not other_surface(other.rgb, thing.rgb, lit_alike=False)
        and _is_along_edge(region.points[:, :2], other)
        for other in found
    )


def _is_along_edge(xy: np.ndarray, of: Detection) -> bool:
    """Whether points (n, 2), m, lie within a receptacle, where it has walls: beside its sides, or in a bowl's slope."""
    own = rotate_into(xy, of.position[:2], of.yaw)
    half = np.array(of.size[:2]) / 2
    away = half[0] - np.hypot(*own.T) if of.is_round else (half - abs(own)).min(axis=1)
    return bool(away.min() > -_EDGE and percentile(away, 90) < (half[0] / 2 if of.is_round else _EDGE + _WALL))


def _hidden_cubes(region: PixelRegion, upper: Detection, classes: ObjectClasses) -> list[Detection]:
    """Cubes that must be below one without support: of its size, each with the colour of the visible side.

    Inferred from top to bottom, as far as sides are visible.
    """
    sides = region.sides
    if (
        sides is None
        or not len(sides.rows)
        or region.cut
        or upper.class_name != classes.name("square_top", upper.colour)
        or upper.bottom < 0.02
    ):
        return []
    count = max(1, round(upper.bottom / upper.size[0]))
    edge = upper.bottom / count
    if abs(edge / upper.size[0] - 1) > _OTHER_SIZE:
        return []
    sides = sides.part(_inner(sides))
    z = sides.points[:, 2]
    own = z > upper.bottom + 0.2 * upper.size[2]
    # A side is in the shade; how much darker it is than a top the upper cube's own sides tell.
    shade = np.median(sides.colours[own].max(axis=1)) / max(*upper.rgb, 1.0) if own.sum() >= _FEW else 0.6
    cubes: list[Detection] = []
    for level in reversed(range(count)):
        here = sides.colours[(z > (level + 0.2) * edge) & (z < (level + 0.8) * edge)]
        if len(here) < _FEW:
            break
        lit = np.minimum(here / np.clip(shade, 0.45, 1.0), 255.0)
        families = family_image(lit.astype(np.uint8)[None])[0]
        most = families == np.bincount(families).argmax()
        if most.mean() < _AGREE:
            break
        rgb = np.median(lit[most], axis=0)
        cubes.append(
            replace(
                upper,
                colour=colour_word(*rgb),
                confidence=0.3,
                position=(*upper.position[:2], (level + 0.5) * edge),
                size=(edge, edge, edge),
                floor=(level + 1) * edge,
                rgb=(float(rgb[0]), float(rgb[1]), float(rgb[2])),
                inferred=True,
            )
        )
    return cubes


def _inner(region: PixelRegion) -> np.ndarray:
    """Interior pixels (N,) of a region; those at its boundary mix two colours."""
    image, rows, columns = region.raster()
    around = np.ones((3, 3), np.uint8)
    whole = cv2.morphologyEx(image, cv2.MORPH_CLOSE, around)  # depth has holes
    return cv2.erode(whole, around)[rows, columns] > 0


def detect(region: PixelRegion, pixel: float, classes: ObjectClasses) -> Detection:
    """The detection of one region."""
    rgb, shape = patch_colour(region.colours), region.outline(pixel / 2)
    look = _Look(region, pixel, shape, region.top, colour_word(*rgb), rgb, classes)
    if region.beyond:
        return look.unknown(look.shape)
    return _receptacle(look) if look.shape.short > _RECEPTACLE_SIDE else _item(look)


def _receptacle(look: _Look) -> Detection:
    points, shape, top = look.region.points, look.shape, look.top
    rim = outline(points[points[:, 2] > top - 0.010, :2], look.pixel / 2) if top > 0.02 else shape
    if rim.short < 0.7 * shape.short:
        rim = shape
    squareness = (rim.fill - 0.785) / (1.0 - 0.785)
    if squareness > 0.5:
        local = rotate_into(points[:, :2], rim.centre, rim.yaw)
        middle = (np.abs(local[:, 0]) < rim.long / 2 - _EDGE) & (np.abs(local[:, 1]) < rim.short / 2 - _EDGE)
        floor = percentile(points[middle, 2], 30) if middle.sum() > _FEW else 0.006
        low = percentile(points[:, 2], 3) < top / 2  # else nothing is seen that goes down from the rim
        if not low or floor > top - _HOLLOW or _is_roofed(local[middle], points[middle, 2] > top / 2, rim):
            return look.unknown(shape)
        name = look.classes.name("low_walls" if top < 0.052 else "high_walls", look.colour)
        sure, size, floor = 0.6 + 0.4 * min(1.0, abs(top - 0.052) / 0.02), (rim.long, rim.short, top), min(floor, top)
        found = look.detection(name, "hollow", sure, rim.centre, size, yaw=rim.yaw, symmetry=_HALF, floor=floor)
        return replace(found, receptacle=True)
    away = np.hypot(points[:, 0] - rim.circle_centre[0], points[:, 1] - rim.circle_centre[1])
    radius = rim.radius
    edge = min(top, percentile(points[away > _RIM_FROM * radius, 2], 95))  # something higher may stand in its middle
    for share in (0.5, _RIM_FROM):  # in a full one its walls alone are seen
        inner = points[away < share * radius, 2]
        if len(inner) > _FEW:
            break
    floor = percentile(inner, 30) if len(inner) > _FEW else edge
    size = (2 * radius, 2 * radius, top)
    if not _is_round(points[:, :2], rim) or (top >= 0.030 and floor > edge - _HOLLOW):
        return look.unknown(shape)
    shape_name, kind = ("round_flat", "cylinder") if top < 0.030 else ("round_walls", "hollow")
    if top > DEEP * 2 * radius and look.classes.find("deep_walls", look.colour):
        shape_name = "deep_walls"
    name = look.classes.name(shape_name, look.colour)
    sure = 0.6 + 0.4 * min(1.0, abs(top - 0.030) / 0.01)
    return look.detection(name, kind, sure, centre_of(rim), size, floor=min(floor, top), receptacle=True)


def _is_round(xy: np.ndarray, rim: Outline) -> bool:
    """Whether points (n, 2), m, reach a circle of the outline's area all around; corners and notches do not."""
    x, y = (xy - centre_of(rim)).T
    sectors = (np.arctan2(y, x) / _FULL * _SECTORS).astype(int) % _SECTORS
    reached = np.unique(sectors[np.hypot(x, y) > _REACHES * rim.radius])
    return len(reached) >= _ROUND * _SECTORS


def _is_roofed(xy: np.ndarray, high: np.ndarray, rim: Outline) -> bool:
    """Whether most of what is between walls is covered by something as high, as by a shelf's board: (n, 2) m, (n,)."""
    cells = np.unique(np.floor(xy[high] / _CELL).astype(int), axis=0)
    return len(cells) * _CELL**2 > _ROOF * (rim.long - 2 * _EDGE) * (rim.short - 2 * _EDGE)


def centre_of(shape: Outline) -> tuple[float, float]:
    """Centre of a round outline: the centroid of its hull, which is robust to outliers."""
    x, y = shape.hull[:, 0], shape.hull[:, 1]
    x1, y1 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y1 - x1 * y
    area = cross.sum() / 2
    if abs(area) < 1e-9:
        return shape.circle_centre
    return float(((x + x1) * cross).sum() / (6 * area)), float(((y + y1) * cross).sum() / (6 * area))


def _item(look: _Look) -> Detection:
    points, top = look.region.points, look.top
    vessel = _vessel(look)
    if vessel is not None:
        return vessel
    crown = points[points[:, 2] > top - 0.011]
    if len(crown) < 8:
        crown = points
    face = outline(crown[:, :2], look.pixel / 2)
    spread = look.shape
    own = top - percentile(points[:, 2], 3)
    if top > 0.085 and own > 0.05 and face.radius < 0.020 and face.aspect < 1.4 and spread.short > 2.6 * face.radius:
        return _bottle(look, face)
    dome = _dome(look)
    if spread.aspect > 1.8 and (name := look.classes.find("long", look.colour)):
        flesh = _flesh(look)
        sure = 0.5 + 0.3 * min(1.5, flesh.shape.aspect - 1.8)
        return flesh.irregular(name, sure, flesh.shape, flesh.shape.yaw, _HALF)
    if dome > 0.2:
        return _fruit(_flesh(look), dome)
    return _block(look, crown, face)


def _vessel(look: _Look) -> Detection | None:
    """A small hollow round thing, by its rim; None where the domain has no class for such, or it is none."""
    name, points = look.classes.find("small_walls", look.colour), look.region.points
    rim = points[points[:, 2] > look.top - 0.012]
    if not name or len(rim) < _FEW or look.top < 2 * _DEEP:
        return None
    ring = outline(rim[:, :2], look.pixel / 2)
    centre, radius = np.array(ring.circle_centre), ring.radius
    aside, below = np.hypot(*(points[:, :2] - centre).T), points[:, 2] < look.top - _DEEP
    inside = points[(aside < _WITHIN * radius) & below, 2]  # seen aslant, the wall on the other side
    if ring.aspect > 1.5 or len(inside) < _FEW or (~below[aside < 0.5 * radius]).sum() > STRAY * len(rim):
        return None
    # The outline may have a handle; half of the points of the rim are nearer to its middle than its radius.
    centre = (rim[:, :2].min(axis=0) + rim[:, :2].max(axis=0)) / 2
    for _ in range(3):
        away = rim[:, :2] - centre
        distance = np.hypot(*away.T)
        near = distance < 1.15 * np.median(distance)
        system = np.column_stack((2 * rim[near, :2], np.ones(int(near.sum()))))
        (x, y, c), *_ = np.linalg.lstsq(system, (rim[near, :2] ** 2).sum(axis=1), rcond=None)
        centre, radius = np.array((x, y)), math.sqrt(max(c + x * x + y * y, 1e-9))
    radius += 0.003  # from the middle of the wall to its outside
    size = (2 * radius, 2 * radius, look.top)
    return look.detection(name, "hollow", 0.8, centre, size, floor=percentile(inside, 10))


def _flesh(look: _Look) -> _Look:
    """The region without parts of another colour: stalks, leaves and tips, which would shift the centre."""
    families = family_image(look.region.colours[None])[0]
    counts = np.bincount(families, minlength=BLACK + 1)
    counts[BLACK] = 0
    kept = (families == int(np.argmax(counts))) | (families == BLACK)
    if kept.sum() < 0.5 * len(kept):
        return look
    region = look.region.part(kept)
    return replace(look, region=region, shape=outline(region.points[:, :2], look.pixel / 2))


def _dome(look: _Look) -> float:
    """Roundness of the top: drop from centre to rim over the radius, 1 for a hemisphere, 0 for a flat top.

    From a paraboloid z = a + b x + c y - k r^2 fitted to the central part of the points within a radius of the top.
    """
    points = look.region.points
    crown = points[points[:, 2] > look.top - 0.030]
    if len(crown) < 20:
        return 0.0
    shape = outline(crown[:, :2], look.pixel / 2)
    local = rotate_into(crown[:, :2], shape.centre, shape.yaw) / (shape.long / 2, shape.short / 2)
    square = (local**2).sum(axis=1)
    middle = square < 0.72**2
    if middle.sum() < 12:
        return 0.0
    system = np.column_stack((np.ones(int(middle.sum())), local[middle], -square[middle]))
    solution, *_ = np.linalg.lstsq(system, crown[middle, 2], rcond=None)
    return float(solution[3]) / max(shape.short / 2, 1e-6)


def _block(look: _Look, crown: np.ndarray, face: Outline) -> Detection:
    """A cube or an upright cylinder, from the outline of its flat top."""
    points, top = look.region.points, look.top
    centre = centre_of(face)
    level = float(np.median(crown[:, 2]))
    squareness = (face.fill - 0.785) / (1.0 - 0.785)
    sure, area = 0.55 + 0.6 * abs(squareness - 0.42), face.area
    seen = look.region.area(points[:, 2] > top - 0.011)
    if seen > 0.8 * area:
        area = min(area, seen)  # an outline through noisy edges is too wide, the count of pixels is not
    edge, diameter = math.sqrt(area), 2 * math.sqrt(area / math.pi)
    if squareness > 0.42 and face.aspect < 1.35:
        bottom = max(level - edge, 0.0)
        if bottom < 0.012:
            bottom = 0.0
        name, size = look.classes.name("square_top", look.colour), (edge, edge, level - bottom)
        return look.detection(name, "box", sure, centre, size, yaw=face.yaw, symmetry=_QUARTER, bottom=bottom)
    if face.aspect < 1.35:
        name = look.classes.name("round_top", look.colour)
        return look.detection(name, "cylinder", sure, centre, (diameter, diameter, level))
    if face.fill < _RECTANGULAR:
        return look.unknown(face)
    name = look.classes.name("other_top", look.colour)
    return look.detection(name, "box", 0.3, face.centre, (face.long, face.short, level), yaw=face.yaw, symmetry=_HALF)


def _bottle(look: _Look, neck: Outline) -> Detection:
    """An upright bottle, centred below its cap; its width is measured across the line of sight."""
    points = look.region.points
    centre = centre_of(neck)
    away = np.hypot(points[:, 0] - centre[0], points[:, 1] - centre[1])
    radius = percentile(away, 92)
    share = points[:, 2] / look.top
    shoulder = (share > 0.54) & (share < 0.78) & (away < 1.1 * radius)  # above a label, below the cap
    rgb = patch_colour(look.region.colours[shoulder]) if shoulder.sum() > 8 else look.rgb
    look = replace(look, colour=colour_word(*rgb), rgb=rgb)
    return look.detection(
        look.classes.name("neck", look.colour), "cylinder", 0.9, centre, (2 * radius, 2 * radius, look.top)
    )


def _fruit(look: _Look, dome: float) -> Detection:
    """Round objects by colour, size and length."""
    points, shape, colour = look.region.points, look.shape, look.colour
    sure = 0.5 + min(0.45, dome - 0.2)
    centre, radius = fit_sphere(points[points[:, 2] > 0.4 * look.region.top])
    if not 0.4 * shape.radius < radius < 2.0 * shape.radius:
        centre, radius = np.array([*shape.circle_centre, 0.0]), shape.radius
    small = radius < 0.026 or shape.short < 0.044
    long = shape.aspect > 1.15 or shape.circle_radius > 1.1 * shape.radius
    for fits, kind in ((small, "small_dome"), (long, "long_dome")):
        if fits and (name := look.classes.find(kind, colour)):
            return look.irregular(name, sure, shape, _pointed_yaw(look), _FULL)
    name, size = look.classes.name("dome", colour), (2 * radius, 2 * radius, look.top)
    sure = sure if look.classes.has_own("dome", colour) else 0.4
    return look.detection(name, "irregular", sure, centre[:2], size)


def _pointed_yaw(look: _Look) -> float:
    """Direction of the long axis, towards its thinner end."""
    shape = look.shape
    along = rotate_into(look.region.points[:, :2], shape.centre, shape.yaw)
    front, back = along[along[:, 0] > 0.15 * shape.long, 1], along[along[:, 0] < -0.15 * shape.long, 1]
    if len(front) < 4 or len(back) < 4 or np.ptp(front) < np.ptp(back):
        return shape.yaw
    return shape.yaw + math.pi


def by_attributes(options: Options) -> Callable[[View], list[Detection]]:
    """The detector `attributes`, which has no options."""
    return detect_by_attributes


by_attributes.open_vocabulary = False  # type: ignore[attr-defined]
