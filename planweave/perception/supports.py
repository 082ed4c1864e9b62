"""Support of each object, and with it the height of its bottom: the table, or the object below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from planweave.perception.detection import Detection
from planweave.perception.geometry import Projector
from planweave.perception.object_classes import UNKNOWN, UNSURE, ObjectClasses

_SNAP = 0.012  # m: a cube's bottom this near to a surface stands on it
_THIN = 0.002  # m that a part of a thing is high, at least
_WIDE = 0.25  # m that a board or a bin is wide, at least
_FITS = 0.9  # of the width of a vessel that what is in it has at most
_FLAT = 0.5  # times as high as it is wide what is round on all sides is at least
_SLENDER, _ROUND = 5.0, 3.0  # times as high as it is wide what stands by itself is at most, and what has a round top


def rest_on_supports(
    found: Sequence[Detection], classes: ObjectClasses, remembered: Iterable[Detection] = ()
) -> list[Detection]:
    """The detections with bottom and height set by the support of each. classes: of the domain.

    A detector measures an object's top, and the height of a cube (`square_top`) from its width. The bottom is on the
    highest object below (of this frame, or remembered and now hidden by the objects on it), else on the table. A cube
    that would be too tall keeps its own height and stays above the hidden object below it. What would be too tall to
    stand hangs in the air, as a part of another robot's arm, and a ball far wider than high is a part of what is below
    it: such are unknown things.
    """
    candidates = [*found, *remembered]
    grounded: list[Detection] = []
    for item in found:
        if item.receptacle or _is_lid(item):
            grounded.append(_with_bottom(item, 0.0) if item.bottom < 0.03 else item)
            continue
        beneath = [_level(s, item) for s in candidates if s is not item and _carries(s, item)]
        support = max((level for level in beneath if level < item.top - 0.012), default=0.0)
        cube = item.class_name == classes.name("square_top", item.colour)
        if cube and abs(item.bottom - support) > _SNAP:
            grounded.append(item)
        else:
            grounded.append(_with_bottom(item, support))
    return [_unknown(item) if _hangs(item) or _is_flat_ball(item, classes) else item for item in grounded]


def _is_flat_ball(item: Detection, classes: ObjectClasses) -> bool:
    is_ball = item.class_name == classes.find("dome", item.colour)
    return is_ball and item.size[2] < _FLAT * min(item.size[:2])


def _hangs(item: Detection) -> bool:
    width = _ROUND * max(item.size[:2]) if item.shape == "irregular" else _SLENDER * min(item.size[:2])
    return item.size[2] > width and item.class_name != UNKNOWN


def _is_lid(item: Detection) -> bool:
    """Whether it was measured as a lid, on the table or on a rim; a detector may have named it otherwise."""
    return bool(item.parts) and item.shape == "irregular" and not item.beyond


def _unknown(item: Detection) -> Detection:
    """What nobody knows the lower part of: all below its top is taken for it."""
    return replace(item, class_name=UNKNOWN, shape="irregular", confidence=UNSURE, cut=True, beyond=True)


def _carries(support: Detection, item: Detection) -> bool:
    x, y, _ = item.position
    margin = 0.0 if support.receptacle else 0.004
    return support.covers(x, y, margin)


def _level(support: Detection, item: Detection) -> float:
    """Height at which a thing rests: on the floor of what it fits into, else on its rim; a mug is not in itself."""
    return support.floor if min(item.size[:2]) < _FITS * min(support.size[:2]) else support.top


def _with_bottom(item: Detection, bottom: float) -> Detection:
    height = max(item.top - bottom, 0.004)
    x, y, _ = item.position
    parts = np.reshape(item.parts, (-1, 6)) - (0.0, 0.0, max(bottom - item.bottom, 0.0)) * 2
    parts[:, 2] = np.maximum(parts[:, 2], 0.0)  # they were measured from the table up
    kept = tuple(map(tuple, parts[parts[:, 5] > _THIN].tolist()))
    return replace(item, position=(x, y, bottom + height / 2), size=(*item.size[:2], height), parts=kept)


def enclosed(found: Sequence[Detection]) -> list[str]:
    """Messages about things within the outline of an unknown one: shelves, and bins that are not seen whole, are
    not supported.
    """
    said = []
    for around in (thing for thing in found if thing.class_name == UNKNOWN and min(thing.size[:2]) > _WIDE):
        inside = [t for t in found if t.class_name != UNKNOWN and t.top < around.top and _carries(around, t)]
        (x, y, _), size = around.position, " x ".join(f"{100 * v:.0f}" for v in around.size)
        if inside:
            said.append(
                f"{len(inside)} thing(s) below or in something unknown at ({x:.2f}, {y:.2f}) m, {size} cm, "
                "a shelf or a bin that is not seen whole, which the arm keeps clear of: take it away, or have the "
                "camera see the bin whole and from above, within the searched area (parameter table)"
            )
    return said


def lifted(found: Sequence[Detection], ground: np.ndarray, projector: Projector) -> list[Detection]:
    """Detections that were measured above what is below them, above the table. ground: (h, w) height of that, m.

    Of the heights that are in the picture, a thing stands on the highest that is below it where it would then be seen.
    """
    heights = np.unique(ground[ground > 0.0])[::-1]
    result = list(found)
    for k, thing in enumerate(found):
        x, y, z = thing.position
        columns, rows = projector.pixels(np.column_stack((np.full((len(heights), 2), (x, y)), z + heights)))
        for rise, column, row in zip(heights.tolist(), columns, rows):
            if not (np.isfinite(column) and np.isfinite(row)):
                continue
            v, u = (int(np.clip(round(float(a)), 0, n - 1)) for a, n in zip((row, column), ground.shape))
            if ground[v, u] == np.float32(rise):
                result[k] = replace(thing, position=(x, y, z + rise), floor=thing.floor + rise)
                break
    return result
