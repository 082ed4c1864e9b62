"""Drawers, doors and knobs of furniture, found in its points: their joints, how far they are open, and their handles.

Points are in metres in a frame with z up. The value of a drawer or a door is 0 where it is closed and grows as it
opens; that of a knob is the direction of its ridge about z, from x, in half a turn, since nobody sees which one is off.
What is found is geometry: a front is what a handle stands out of, its axis the front's normal (a drawer) or the edge
away from the handle (a door), its travel that of a box as deep as the furniture. Where nothing shows a part, none is
reported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np

from planweave.geometry.joints import OrientedBox, SeenJoint, frame, turn
from planweave.perception.carcass import BEFORE, CELL, FLAT, Carcass, left_of
from planweave.perception.geometry import rotate_into

_SAMPLE = 1000  # points of a front that tell its slant
_COVERED = 0.6  # share of the width over which a front shows
_TALL = 0.025  # least height of a front, m
_OUT = (BEFORE, 0.065)  # a handle stands out of its front by so much, m
_HANDLE = (0.03, 0.25)  # its longer side, m
_STANDS = 0.018  # m above what furniture stands on at which what is before a front ends that stands there, too
_INNER = 0.01  # m from the ends of a front within which no handle ends: else it is cut off there
_LEVEL = 0.01  # handles side by side begin and end at one height within this, m
_SAME = 0.04  # a part is found again so near to where its joint has it, m
_NAMED = 0.15  # one of its name is it within so much: of a front that is half hidden the middle is wrong, m
_FEW = 12  # points of a handle, at least
_APART = 0.02  # two fronts are open to different degrees from this on, m
_ASIDE = 0.25  # share of the width by which a door's handle is off the middle
_BOARD = 0.012  # thickness of a front of which only the outside is seen, and of a side, m
_REAR = 0.03  # a drawer ends its way so far before it would leave the furniture, m
_AROUND = 0.012  # m between what is seen of a drawer's inside and its front, or the furniture's
_SIDE, _THIN = 0.035, 0.008  # m from the edge of a front within which a drawer's side is, and its thickness
_OPEN_ENOUGH = 0.05  # m that a drawer is out from which on its inside is seen
_AJAR = 0.03  # what is this far before a front, and no front, belongs to a door that is open, m
_NOISE = 0.004  # what is less far before a closed front is of it, m
_ALONE = 0.7  # share of the furniture's height that the front of its only drawer takes up
_LOWEST = 0.08  # m that furniture with drawers or doors is high; what stands before lower one is none of it
_LEAST = 0.04  # rad from which on a door that shows no front is looked for
_TURNED = 0.45  # rad up to which the outside of an open door is seen, and so its handle
_THICKEST, _FILLED = 11, 0.05  # layers from the face of a door within which it ends; share of points of a layer of it
_WIDEST = 1.9  # rad to which a door opens, where nothing else is known
_INTO = 0.9  # rad from which on cameras see past a door
_SILL, _ROOF = 0.05, 0.02  # m behind the front in which the floor is looked for; thickness of what nobody sees above
_COLUMN = 0.01  # m: width of the columns in which the floor behind a door is looked for
_KNOB = (0.006, 0.06, 0.10)  # a knob stands out of a level face between these two, and is at most so wide, m
_RIDGE = 0.35  # upper share of a knob's height that shows which way it points
_BESIDE = 0.004  # m from the sides of a ridge from which on points are of what it stands on
_LONG = 1.6  # how much longer than wide that is


def joints_of(body: Carcass, points: np.ndarray) -> list[SeenJoint]:
    """Joints of the parts of one piece of furniture, drawers from the top down, then doors, then knobs.

    points: (n, 3), of the furniture alone.
    """
    seen = body.of(points)
    found = list(_drawers_and_doors(body, seen))
    shut = _shut(body, found)
    found = [replace(j, value=max(0.0, j.value - shut)) if j.kind == "slide" else j for j in found]
    found = [
        replace(j, box=_drawn_box(body, seen, j)) if j.kind == "slide" else replace(j, room=_room(body, seen, j))
        for j in found
    ]
    return _named(body, [*found, *_knobs(body, points)])


def with_shut(body: Carcass, points: np.ndarray) -> Carcass:
    """The body with what drawers and doors are measured from, as its points show it, for later looks."""
    return replace(body, shut=_shut(body, list(_drawers_and_doors(body, body.of(points)))))


def _drawers_and_doors(body: Carcass, seen: np.ndarray) -> Iterator[SeenJoint]:
    """Joints of what shows a front, and of open doors. The value of a drawer is how far out its front is."""
    fronts = list(_fronts(body, seen)) if body.top - body.low > _LOWEST else []
    found = [joint for front in fronts for joint in _closed_or_drawn(body, seen, *front)]
    hung = {float(np.sign(j.axis[2])) for j in found if j.kind == "hinge"}
    yield from found
    yield from _open_doors(body, seen, fronts, _shut(body, found), [sign for sign in (1.0, -1.0) if sign not in hung])


def _shut(body: Carcass, joints: Sequence[SeenJoint]) -> float:
    """How far out is what is closed: as the least drawn part, or, where all are open, with its front before the
    furniture's.
    """
    if body.shut is not None:
        return body.shut
    hung = [float(body.of(j.anchor[None])[0, 0]) + _BOARD / 2 for j in joints if j.kind == "hinge"]
    least = min([*hung, *(j.value for j in joints if j.kind == "slide")], default=_BOARD)
    return least if least < _APART else _BOARD


def remembered(before: Sequence[SeenJoint], now: Sequence[SeenJoint]) -> list[SeenJoint]:
    """The joints of a look with what an earlier one knew: a part keeps its name, and one that is not seen, as below an
    open drawer, is hidden where it was and not gone. Of a front that is half hidden the place is worse than its name.
    """
    found: dict[int, SeenJoint] = {}
    left = list(now)
    for as_named in (False, True):
        for k, old in enumerate(before):
            alike = [new for new in left if k not in found and _is_same(old, new, as_named)]
            if alike:
                room, box = max((old.room, alike[0].room), key=_size), _kept_box(old, alike[0])
                most, handle = min(old.most, alike[0].most), _kept_handle(old, alike[0])
                found[k] = replace(alike[0], name=old.name, most=most, room=room, handle=handle, box=box)
                left.remove(alike[0])
    known = [found.get(k, replace(old, visible=False)) for k, old in enumerate(before)]
    names = {joint.name for joint in known}
    return [*known, *(new for new in left if new.name not in names)]


def _kept_handle(old: SeenJoint, new: SeenJoint) -> OrientedBox | None:
    """The handle of a joint that is found again: a door's turns away from who has seen it."""
    is_shown = new.handle is not None and (new.value < _TURNED or not new.name.endswith("door"))
    if is_shown or old.handle is None or old.kind != "hinge":
        return new.handle
    turned = turn(old.axis, new.value - old.value)
    return old.handle.moved(frame(turned, new.anchor - turned @ old.anchor))


def _kept_box(old: SeenJoint, new: SeenJoint) -> tuple[OrientedBox, ...]:
    """The floor and sides of a joint that is found again: of a drawer that has not moved those of before, where a thing
    or the arm hides its floor now.
    """
    low, high = (j.box[0].centre[2] + j.box[0].half[2] if j.box else math.inf for j in (old, new))
    return old.box if abs(new.value - old.value) <= _NOISE and low < high - FLAT else new.box


def _is_same(old: SeenJoint, new: SeenJoint, as_named: bool) -> bool:
    """Whether two looks show one joint: at the same place, or as_named one of the same name near there."""
    if old.kind != new.kind or (as_named and old.name != new.name):
        return False
    if old.kind == "hinge":
        away = float(np.linalg.norm((new.anchor - old.anchor)[:2]))
    else:
        moved = new.panel.centre - old.panel.centre
        aside = moved - old.axis * (moved @ old.axis)
        away = float(np.linalg.norm(aside))
        if abs(aside[2]) > max(old.panel.half[2], new.panel.half[2]):
            return False  # it is a piece of the front above or below, which something before it has cut in two
    return away < (_NAMED if as_named else _SAME)


# ---- drawers, and doors that are closed --------------------------------------------------------------------------


def _fronts(body: Carcass, seen: np.ndarray) -> Iterator[tuple[float, float, float]]:
    """Upright surfaces across the furniture, parallel to its front: lower and upper edge, and how far out they are."""
    found: list[tuple[float, float, float]] = []
    for low, high, out in _surfaces(body, seen):
        frame = next((k for k, below in enumerate(found) if abs(below[2] - out) <= FLAT), None)
        if frame is not None and all(between[2] < out for between in found[frame + 1 :]):
            low, out = found[frame][0], (found[frame][2] + out) / 2  # what is further in between them is its window
            del found[frame:]
        found.append((low, high, out))
    yield from found


def _surfaces(body: Carcass, seen: np.ndarray) -> Iterator[tuple[float, float, float]]:
    """As `_fronts`, from the lowest up, those above and below a window for themselves."""
    near = seen[(np.abs(seen[:, 1]) < body.width) & (seen[:, 0] > -0.03)]
    columns = max(1, int(2 * body.width / 0.01))
    rows = np.arange(body.low + CELL, body.top + 2 * CELL, CELL)
    outs: list[float | None] = []
    for z in rows:
        row = near[np.abs(near[:, 2] - z) < CELL / 2 + 0.001]
        outs.append(_outermost(row[:, 0], np.floor(row[:, 1] / 0.01).astype(int), columns))
    start = 0
    while start < len(rows):
        out, end = outs[start], start + 1
        if out is None:
            start += 1
            continue
        members = [out]
        while end < len(rows):
            after = outs[end]
            if after is None or abs(after - float(np.median(members))) > FLAT:
                # a handle may hide a few rows of its front
                further = [k for k in range(end, min(end + 6, len(rows))) if _is_near(outs[k], members)]
                if not further:
                    break
                end = further[0]
                continue
            members.append(after)
            end += 1
        low, high = float(rows[start] - CELL / 2), float(rows[end - 1] + CELL / 2)
        if min(high, body.top) - low >= _TALL - CELL / 2:
            yield low, min(high, max(body.top, low + _TALL)), float(np.median(members))
        start = end


def _is_near(out: float | None, members: list[float]) -> bool:
    return out is not None and abs(out - float(np.median(members))) <= FLAT


def _outermost(out: np.ndarray, column: np.ndarray, columns: int) -> float | None:
    """The furthest distance at which points lie across most of a width; None where there is none."""
    if not len(out):
        return None
    bins = np.floor(out / FLAT).astype(int)
    for k in sorted(set(bins.tolist()), reverse=True):
        here = (bins == k) | (bins == k - 1)
        if len(set(column[here].tolist())) >= _COVERED * columns:
            return float(np.median(out[here]))
    return None


def _closed_or_drawn(body: Carcass, seen: np.ndarray, low: float, high: float, out: float) -> Iterator[SeenJoint]:
    """The parts of one front, one for each handle; none for handles side by side, which two drawers have, two doors, or
    one wide drawer: where one panel ends is not seen.
    """
    band = seen[(seen[:, 2] > low) & (seen[:, 2] < high) & (np.abs(seen[:, 1]) < body.width)]
    middle, slope = _slant(band[np.abs(band[:, 0] - out) < _APART], out)
    ahead = band[:, 0] - middle - slope * band[:, 1]
    standing, farther = band[(ahead > _OUT[0]) & (ahead < _OUT[1])], band[(ahead >= _OUT[1]) & (ahead < 2 * _OUT[1])]
    inner = (h for h in _groups(standing) if np.abs(h[:, 1]).max() < body.width - _INNER)
    inner = (h for h in inner if np.percentile(h[:, 2], 10) > body.low + _STANDS and not _goes_on(h, farther))
    handles = sorted(inner, key=lambda h: -float(h[:, 2].mean()))
    levels = _levels(handles)
    doors = [h for (h, *more) in levels if not more and _is_upright(h) and abs(_middle(h)[1]) > _ASIDE * body.width]
    drawers = [level for level in levels if not any(level[0] is door for door in doors)]
    edges = [high, *((_middle(a[0])[2] + _middle(b[0])[2]) / 2 for a, b in itertools.pairwise(drawers)), low]
    for (handle, *beside), top, bottom in zip(drawers, edges, edges[1:]):
        if beside:
            continue
        panel = body.box(np.array((out - _BOARD, -body.width, bottom)), np.array((out, body.width, top)))
        travel = 2 * body.depth - _REAR
        axis = np.array((*body.front, 0.0))
        yield SeenJoint("drawer", "slide", axis, panel.centre, out, travel, panel, body.box(*_bar(handle)))
    if middle - (body.shut or 0.0) > _APART:
        return
    for handle in doors:
        sign = -float(np.sign(_middle(handle)[1]))  # the hinge is on the other side
        along = sign * body.width
        hinge = np.array((middle + slope * along - _BOARD / 2, along))
        yield _door(body, hinge, sign, max(0.0, -math.atan(sign * slope)), (low, high), handle)


def _slant(front: np.ndarray, out: float) -> tuple[float, float]:
    """How far out the middle of a front is, m, by its points (n, 3), and how much further along it, as a door's is that
    is ajar.
    """
    line = _line(front[:: 1 + len(front) // _SAMPLE, :2]) if len(front) else None
    if line is None:
        return out, 0.0
    direction, offset = line
    return -offset / float(direction[1]), float(direction[0] / direction[1])


def _drawn_box(body: Carcass, seen: np.ndarray, drawer: SeenJoint) -> tuple[OrientedBox, ...]:
    """Floor and sides of a drawer as far as it is out; none where it is not far enough out that they are seen."""
    out = drawer.value
    low, high = (float(drawer.panel.centre[2] + s * drawer.panel.half[2]) for s in (-1, 1))
    inside = (seen[:, 0] > _AROUND) & (seen[:, 0] < out - _AROUND) & (np.abs(seen[:, 1]) < body.width)
    inside &= (seen[:, 2] > low) & (seen[:, 2] < high)
    at, beside = seen[inside], np.abs(seen[inside, 1])
    middle = at[beside < body.width - _SIDE, 2]
    if out < _OPEN_ENOUGH or len(middle) < 10 * _FEW:
        return ()
    floor = float(np.percentile(middle, 15))
    wall = at[(beside >= body.width - _SIDE) & (at[:, 2] > floor + 0.02)]
    rim = float(np.percentile(wall[:, 2], 90)) if len(wall) >= _FEW else high
    inner = float(np.percentile(np.abs(wall[:, 1]), 10)) if len(wall) >= _FEW else body.width - _SIDE
    sides = (
        body.box(np.array((0.0, min(a, b), low)), np.array((out, max(a, b), rim)))
        for a, b in ((inner, inner + _THIN), (-inner, -inner - _THIN))
    )
    return (body.box(np.array((0.0, -inner, low)), np.array((out, inner, floor))), *sides)


def _room(body: Carcass, seen: np.ndarray, door: SeenJoint) -> OrientedBox | None:
    """What is behind an open door, over as much of the floor as shows at the front: as deep as the furniture, since
    from above nobody sees further; None where no floor is seen.
    """
    if door.value < _INTO:
        return None
    inside = (seen[:, 0] < -_NOISE) & (seen[:, 0] > -_SILL) & (np.abs(seen[:, 1]) < body.width - _BOARD)
    at = seen[inside & (seen[:, 2] > body.low + _NOISE) & (seen[:, 2] < body.top - _ROOF)]
    if len(at) < 10 * _FEW:
        return None
    layers, counts = np.unique(np.floor(at[:, 2] / FLAT).astype(int), return_counts=True)
    floor = float(np.median(at[np.abs(at[:, 2] / FLAT - layers[counts.argmax()] - 0.5) <= 1.0, 2]))
    along = at[np.abs(at[:, 2] - floor) < FLAT, 1]
    columns, counts = np.unique(np.floor(along / _COLUMN).astype(int), return_counts=True)
    shown = columns[counts >= _FEW]
    if not len(shown) or floor > (body.low + body.top) / 2:
        return None
    along = along[(along >= shown.min() * _COLUMN) & (along < (shown.max() + 1) * _COLUMN)]
    low, high = float(along.min()), float(along.max())
    if len(shown) * _COLUMN < max(_COVERED * (high - low), 2 * _SIDE):
        return None
    return body.box(np.array((_SIDE - 2 * body.depth, low, floor)), np.array((0.0, high, body.top - _ROOF)))


def _size(room: OrientedBox | None) -> float:
    """The volume of a room, m3; 0 where none is known."""
    return 0.0 if room is None else float(8 * np.prod(room.half))


def _door(
    body: Carcass,
    hinge: np.ndarray,
    sign: float,
    value: float,
    edges: tuple[float, float],
    grip: np.ndarray,
    plate: tuple[float, float, float] | None = None,
) -> SeenJoint:
    """A door with its hinge at a place of the front's coordinates, to the left (sign 1) or to the right of its handle.

    edges: its lower and its upper one; grip: points of its handle; plate: where its inner and its outer face are,
    from the hinge, and its length; by default a board as wide as the front.
    """
    (out, along), (low, high), turned = hinge, edges, sign * value
    inner, outer, length = plate or (-_BOARD / 2, _BOARD / 2, 2 * abs(along))
    ends = sorted((along, along - sign * length))
    panel = body.box(np.array((out + inner, ends[0], low)), np.array((out + outer, ends[1], high)), turned, hinge)
    handle = None
    if len(grip) >= _FEW:  # turned back to where it is with the door shut, boxed there, and turned again
        back = rotate_into(grip[:, :2], hinge, turned) + hinge
        handle = body.box(*_bar(np.column_stack((back, grip[:, 2]))), turned, hinge)
    axis = np.array((0.0, 0.0, sign))
    return SeenJoint("door", "hinge", axis, body.place(np.array((*hinge, low))), value, _WIDEST, panel, handle)


def _angle(direction: np.ndarray, sign: float) -> float:
    """How far a door is open that leads away from its hinge, to the left (sign 1) or to the right of its handle."""
    return float(np.arctan2(direction[0], -sign * direction[1]))


def _groups(standing: np.ndarray, rows: np.ndarray | None = None) -> list[np.ndarray]:
    """Points before a front in groups as large as handles. rows: what is given of each point, by default itself."""
    if len(standing) < _FEW:
        return []
    rows = standing if rows is None else rows
    cells = np.floor(standing[:, 1:] / CELL).astype(int)
    cells -= cells.min(axis=0) - 2
    image = np.zeros(cells.max(axis=0) + 3, np.uint8)
    image[cells[:, 0], cells[:, 1]] = 1
    image = cv2.dilate(image, np.ones((3, 3), np.uint8))
    _, labels = cv2.connectedComponents(image)
    of = labels[cells[:, 0], cells[:, 1]]
    found = [(standing[of == k], rows[of == k]) for k in np.unique(of)]
    large = (_HANDLE[0] <= np.ptp(g[:, 1:], axis=0).max() <= _HANDLE[1] for g, _ in found)
    return [given for (_, given), fits in zip(found, large) if fits and len(given) >= _FEW]


def _goes_on(handle: np.ndarray, farther: np.ndarray) -> bool:
    """Whether what stands before a front is thicker than a handle, by points (n, 3) that are farther before it: then it
    is a thing of its own.
    """
    low, high = handle[:, 1:].min(axis=0), handle[:, 1:].max(axis=0)
    return bool(((farther[:, 1:] > low) & (farther[:, 1:] < high)).all(axis=1).sum() >= _FEW)


def _levels(handles: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Handles from the top down, those side by side together."""
    levels: list[list[np.ndarray]] = []
    for handle in handles:
        ends = np.array((handle[:, 2].min(), handle[:, 2].max()))
        beside = (v for v in levels if np.abs((v[0][:, 2].min(), v[0][:, 2].max()) - ends).max() < _LEVEL)
        level = next(beside, None)
        if level is None:
            levels.append([handle])
        else:
            level.append(handle)
    return levels


def _is_upright(handle: np.ndarray) -> bool:
    wide, tall = np.ptp(handle[:, 1:], axis=0)
    return bool(tall > wide)


def _middle(handle: np.ndarray) -> np.ndarray:
    return np.asarray((handle.min(axis=0) + handle.max(axis=0)) / 2)


def _bar(handle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high corner of the bar of a handle: what stands out furthest."""
    bar = handle[handle[:, 0] > np.percentile(handle[:, 0], 98) - 0.02]
    low, high = np.percentile(bar, 1, axis=0), np.percentile(bar, 99, axis=0)
    thick = min(high[1] - low[1], high[2] - low[2])
    low[0] = max(low[0], high[0] - thick)  # of its posts nothing counts
    return low, high


# ---- doors that are open -----------------------------------------------------------------------------------------


def _open_doors(
    body: Carcass,
    seen: np.ndarray,
    fronts: Sequence[tuple[float, float, float]],
    shut: float,
    signs: Sequence[float],
) -> Iterator[SeenJoint]:
    """An upright plate that begins at an edge of the front and leads away from it. signs: of the edges, as of `_door`;
    shut: how far out what is closed is, m.
    """
    free = seen[seen[:, 0] > _NOISE]
    for low, high, out in fronts:
        if out > shut + _APART:  # what is drawn out
            free = free[(free[:, 2] < low - 0.01) | (free[:, 2] > high + 0.01)]
    best: tuple[int, float, float, np.ndarray, tuple[float, float, float] | None, np.ndarray] | None = None
    for sign in signs:
        edge = np.array((0.0, sign * body.width))
        arm = free[:, :2] - edge
        away = np.linalg.norm(arm, axis=1)
        angle = np.arctan2(arm[:, 0], -sign * arm[:, 1])  # 0 along the front, grows as the door opens
        leaf = free[(away > 0.03) & (away < 2 * body.width + 0.03) & (angle > _LEAST) & (angle < math.pi - 0.5)]
        line = _line(leaf[:, :2] - edge) if len(leaf) >= 100 and leaf[:, 0].max() > _AJAR else None
        if line is None:
            continue
        direction, offset = line
        on = leaf[np.abs((leaf[:, :2] - edge) @ left_of(direction) - offset) < FLAT]
        reach, tall = (on[:, :2] - edge) @ direction, float(np.ptp(on[:, 2]))
        value = _angle(direction, sign)
        if value < _LEAST or abs(offset) > 0.03 or reach.min() > body.width:
            continue
        if tall < 0.4 * (body.top - body.low) or np.ptp(reach) < 0.5 * 2 * body.width:
            continue
        if best is None or len(on) > best[0]:
            out = sign * offset / math.cos(value) if value < _TURNED else shut
            hinge = np.array((out - _BOARD / 2, sign * body.width))
            arm = leaf[:, :2] - edge - offset * left_of(direction)
            plate, grip = _plate_and_handle(leaf, sign * arm @ left_of(direction), arm @ direction, body)
            if plate is not None:
                by = float((edge + offset * left_of(direction) - hinge) @ left_of(direction)) * sign
                plate = plate[0] + by, plate[1] + by, plate[2]
            best = len(on), sign, value, hinge, plate, grip
    if best is not None:
        _, sign, value, hinge, plate, grip = best
        if len(grip) >= _FEW or value > _TURNED:
            yield _door(body, hinge, sign, value, (body.low, body.top), grip, plate)


def _plate_and_handle(
    leaf: np.ndarray, out: np.ndarray, reach: np.ndarray, body: Carcass
) -> tuple[tuple[float, float, float] | None, np.ndarray]:
    """Of an open door: where its inner and its outer face are and its length, where both faces or its upper edge are
    seen; and the points that stand out of its outer face, far from its hinge and from what it stands on.

    out, reach: of each point, from the face that is seen best towards the outer side, and from the hinge.
    """
    layers = np.floor(out / FLAT + 0.5).astype(int)
    full = np.bincount(layers[np.abs(layers) <= _THICKEST] + _THICKEST, minlength=2 * _THICKEST + 1)
    gaps = np.flatnonzero(full < _FILLED * full.max()) - _THICKEST
    low, high = max(gaps[gaps < 0], default=-_THICKEST) + 1, min(gaps[gaps > 0], default=_THICKEST) - 1
    inner, outer = (low - 0.5) * FLAT, (high + 0.5) * FLAT
    plate, least = None, _OUT[0] + 0.01
    if outer - inner > _BOARD:
        of_it = (layers >= low) & (layers <= high)
        plate, least = (inner, outer, float(np.percentile(reach[of_it], 99.5))), outer + _OUT[0]
    near = (out > least) & (out < least + _OUT[1] - _OUT[0]) & (reach > (1 + _ASIDE) * body.width)
    found = _groups(np.column_stack((out, reach, leaf[:, 2]))[near], leaf[near])
    high = (grip for grip in found if np.percentile(grip[:, 2], 10) > body.low + _STANDS)
    bars = (grip for grip in high if np.ptp(grip[:, 2]) > np.linalg.norm(np.ptp(grip[:, :2], axis=0)))
    return plate, max(bars, key=len, default=leaf[:0])


def _line(xy: np.ndarray, tries: int = 60) -> tuple[np.ndarray, float] | None:
    """Unit direction, away from the origin, and offset of the line that most points (n, 2) lie on."""
    rng = np.random.default_rng(0)
    best, count = None, 0
    for a, b in rng.integers(0, len(xy), (tries, 2)):
        way = xy[b] - xy[a]
        length = float(np.linalg.norm(way))
        if length < 0.05:
            continue
        normal = np.array((-way[1], way[0])) / length
        on = np.abs((xy - xy[a]) @ normal) < FLAT
        if on.sum() > count:
            best, count = on, int(on.sum())
    if best is None or count < 0.3 * len(xy):
        return None
    middle = xy[best].mean(axis=0)
    direction = np.linalg.svd(xy[best] - middle, full_matrices=False)[2][0]
    if direction @ middle < 0:
        direction = -direction
    return direction, float(middle @ left_of(direction))


# ---- knobs -------------------------------------------------------------------------------------------------------


def _knobs(body: Carcass, points: np.ndarray) -> Iterator[SeenJoint]:
    """Small things that stand out of the level top, each with a ridge that shows which way it is turned."""
    height = points[:, 2] - body.top
    standing, tall = points[(height > _KNOB[0]) & (height < _KNOB[1])], points[height >= _KNOB[1]]
    for group in _groups(standing[:, [2, 0, 1]]):
        knob = group[:, [1, 2, 0]]
        if np.ptp(knob[:, :2], axis=0).max() > _KNOB[2]:
            continue
        low, most = knob[:, :2].min(axis=0), knob[:, :2].max(axis=0)
        if ((tall[:, :2] > low) & (tall[:, :2] < most)).all(axis=1).sum() >= _FEW:
            continue  # something higher, which stands there
        high = float(np.percentile(knob[:, 2], 98))
        ridge = knob[knob[:, 2] > body.top + (1 - _RIDGE) * (high - body.top), :2]
        if len(ridge) < _FEW:
            continue
        x, y = ridge.mean(axis=0)
        along = np.linalg.svd(ridge - (x, y), full_matrices=False)[2][0]
        long, short = np.ptp(ridge @ along), np.ptp(ridge @ left_of(along))
        if long < _LONG * short:
            continue  # round: nobody sees how it is turned
        value = math.atan2(along[1], along[0]) % math.pi
        axes = np.column_stack(((*along, 0), (-along[1], along[0], 0), (0, 0, 1)))
        beside = knob[np.abs((knob[:, :2] - (x, y)) @ left_of(along)) > short / 2 + _BESIDE, 2]
        foot = float(np.percentile(beside, 90)) if len(beside) >= _FEW else body.top  # of the ridge: the knob's disc
        half = np.array((long / 2, short / 2, (high - foot) / 2))
        box = OrientedBox(np.array((x, y, (foot + high) / 2)), axes, half)
        up = np.array((0.0, 0.0, 1.0))
        yield SeenJoint("knob", "hinge", up, np.array((x, y, body.top)), value, math.pi, box, box)


# ---- names -------------------------------------------------------------------------------------------------------


def _named(body: Carcass, joints: list[SeenJoint]) -> list[SeenJoint]:
    """With names that tell them apart: by height where there are several of a kind one above the other, or where one
    leaves room for another that is hidden.
    """
    found = []
    for name in ("drawer", "door", "knob"):
        alike = sorted((j for j in joints if j.name == name), key=lambda j: -float(j.panel.centre[2]))
        levels = {1: ("",), 2: ("top_", "bottom_"), 3: ("top_", "middle_", "bottom_")}.get(len(alike))
        if len(alike) == 1 and name == "drawer":
            levels = (_level(body, alike[0].panel),)
        levels = levels or tuple(f"{k + 1}_" for k in range(len(alike)))
        found += [replace(j, name=f"{level}{name}") for level, j in zip(levels, alike)]
    return found


def _level(body: Carcass, front: OrientedBox) -> str:
    """Beginning of the name of the only drawer that is seen; empty where its front leaves no room for another."""
    if 2 * front.half[2] > _ALONE * (body.top - body.low):
        return ""
    return "top_" if front.centre[2] > (body.top + body.low) / 2 else "bottom_"
