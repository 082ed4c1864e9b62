"""Merging of patches into objects: continuous surfaces, sides with their tops, rims with their floors, bottles."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.cloud import Cloud
from planweave.perception.colours import same_surface
from planweave.perception.geometry import outline, share_inside
from planweave.perception.patches import Border, Patch, describe, find_borders

_NARROWEST = 0.016  # m: nothing narrower is a thing


@dataclass(frozen=True)
class Bottle:
    """An upright bottle: its axis (2,), lowest visible height, and its patches, the cap first."""

    axis: np.ndarray
    low: float
    members: list[int]


def join(
    labels: np.ndarray, z: np.ndarray, colours: np.ndarray, steep: np.ndarray, cloud: Cloud, window: tuple[slice, slice]
) -> tuple[np.ndarray, list[Bottle]]:
    """Object number of every patch, -1 for none; and the upright bottles."""
    count = int(labels.max()) + 1
    parent = np.arange(count)
    patches = describe(labels, z, colours, steep, cloud, window, count)
    borders = find_borders(labels, z, colours, count)

    def find(a: int) -> int:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = int(parent[a])
        return a

    bottles = find_bottles(patches, cloud.pixel)
    for bottle in bottles:
        for member in bottle.members:
            parent[find(member)] = find(bottle.members[0])
    taken = {find(bottle.members[0]) for bottle in bottles}

    best: dict[int, tuple[float, int]] = {}
    for (a, b), border in borders.items():
        for low, high, rise in ((a, b, border.highest), (b, a, -border.lowest)):
            side, above = patches[low], patches[high]
            if side is None or above is None or side.steep < 0.6 or find(low) == find(high):
                continue
            if above.top < side.middle or rise < -0.004 or not same_surface(side.colour, above.colour, 0.10):
                continue
            score = border.length * (1.0 if above.steep < 0.6 else 0.3)
            if score > best.get(low, (0.0, 0))[0]:
                best[low] = (score, high)
    for low, (_, high) in sorted(best.items(), key=lambda item: -item[1][0]):
        if find(low) not in taken:
            parent[find(low)] = find(high)

    leaves: set[int] = set()
    for (a, b), border in sorted(borders.items(), key=lambda item: abs(item[1].step)):
        one, two = patches[a], patches[b]
        if one is None or two is None or find(a) == find(b) or {find(a), find(b)} & taken:
            continue
        small = a if one.pixels < two.pixels else b
        if small in leaves:
            continue  # a leaf or stalk belongs to one thing only, or it would join two
        if _goes_on(one, two, border):
            parent[find(a)] = find(b)
        elif _is_leaf(one, two, border, cloud.pixel):
            leaves.add(small)
            parent[find(a)] = find(b)
    groups = np.array([find(i) for i in range(count)])
    whole = {int(groups[bottle.members[0]]) for bottle in bottles}
    groups = _slivers(_frames_around(groups, patches, whole), patches, borders, whole)
    sizes = np.bincount(groups, minlength=count)
    for number, patch in enumerate(patches):
        # What hangs on a silhouette by itself is no thing but pixels that mix two depths.
        if patch is not None and sizes[groups[number]] == 1 and patch.steep > 0.85 and patch.pixels < 70:
            groups[number] = -1
    groups[0] = -1
    return groups, bottles


def _goes_on(one: Patch, two: Patch, border: Border) -> bool:
    """Whether two neighbouring patches are one continuous surface."""
    small, large = (one, two) if one.pixels < two.pixels else (two, one)
    if abs(border.step) > 0.010:
        return False
    if border.contrast < 30 and same_surface(one.colour, two.colour):
        return True
    return abs(border.step) < 0.004 and _encloses(large, small)


def _is_leaf(one: Patch, two: Patch, border: Border, pixel: float) -> bool:
    """Whether the smaller patch is a small part of another colour on the larger one: a leaf, a stalk, a tip."""
    small, large = (one, two) if one.pixels < two.pixels else (two, one)
    if abs(border.step) > 0.010 or large.steep > 0.9 or small.pixels > 0.35 * large.pixels:
        return False
    return small.pixels * pixel**2 < 3.5e-4 and abs(small.middle - large.middle) < 0.030


def _encloses(large: Patch, small: Patch) -> bool:
    hull = cv2.convexHull(large.xy.astype(np.float32))
    sample = small.xy[:: max(1, len(small.xy) // 40)]
    return all(cv2.pointPolygonTest(hull, (float(x), float(y)), True) > 0.004 for x, y in sample)


def find_bottles(patches: list[Patch | None], pixel: float) -> list[Bottle]:
    """Upright bottles: a small high cap, and around its axis something wider and much lower."""
    found: list[Bottle] = []
    highest = sorted((i for i, patch in enumerate(patches) if patch), key=lambda i: -patches[i].top)  # type: ignore[union-attr]
    for number in highest:
        cap = patches[number]
        if cap is None or cap.top < 0.09 or not 1.5e-4 < cap.pixels * pixel**2 < 1.3e-3 or cap.middle < cap.top - 0.015:
            continue
        if any(number in bottle.members for bottle in found):
            continue
        high = cap.xy[cap.z > cap.top - 0.012]
        axis = np.median(high, axis=0)
        if np.percentile(np.linalg.norm(high - axis, axis=1), 85) > 0.019:
            continue
        members, widest = [number], 0.0
        for other, patch in enumerate(patches):
            if patch is None or other == number or patch.middle > cap.top:
                continue
            away = float(np.percentile(np.linalg.norm(patch.xy - axis, axis=1), 85))
            if away < 0.040:
                members.append(other)
                widest = max(widest, away)
        low = min(patch.low for m in members if (patch := patches[m]))
        if cap.top - low > 0.06 and widest > 0.016:
            found.append(Bottle(axis, low, members))
    return found


def _slivers(
    groups: np.ndarray, patches: list[Patch | None], borders: dict[tuple[int, int], Border], bottles: set[int]
) -> np.ndarray:
    """Merge patches too narrow for an object (leaves, stalks, strips of a side) into the neighbour with the longest
    border.
    """
    members: dict[int, list[np.ndarray]] = {}
    for number, patch in enumerate(patches):
        if patch is not None:
            members.setdefault(int(groups[number]), []).append(patch.xy)
    narrow = {}
    for group, parts in members.items():
        xy = np.concatenate(parts)
        shape = outline(xy) if len(xy) > 3 else None
        if group not in bottles and (shape is None or (shape.short < _NARROWEST)):
            narrow[group] = len(xy)
    joined = groups.copy()
    for group in sorted(narrow, key=lambda g: narrow[g]):
        lengths: dict[int, int] = {}
        for (a, b), border in borders.items():
            for here, there in ((a, b), (b, a)):
                if joined[here] == group and joined[there] != group:
                    lengths[int(joined[there])] = lengths.get(int(joined[there]), 0) + border.length
        if lengths:
            joined[joined == group] = max(lengths, key=lambda g: lengths[g])
    return joined


def _frames_around(groups: np.ndarray, patches: list[Patch | None], bottles: set[int]) -> np.ndarray:
    """Merge the parts of hollow objects: thin rims and sides with the floor of the same colour that they enclose."""
    members: dict[int, list[Patch]] = {}
    for number, patch in enumerate(patches):
        if patch is not None:
            members.setdefault(int(groups[number]), []).append(patch)
    pieces = []
    for group, parts in members.items():
        xy = np.concatenate([p.xy for p in parts])
        if len(xy) < 6 or group in bottles:
            continue
        pixels = np.array([p.pixels for p in parts])
        steep = float(pixels @ np.array([p.steep for p in parts]) / pixels.sum())
        pieces.append((outline(xy), group, xy, steep, parts[int(np.argmax(pixels))].colour))
    pieces.sort(key=lambda piece: -piece[0].area)
    joined = groups.copy()
    for k, (shape, group, large_xy, steep, colour) in enumerate(pieces):
        if shape.short < 0.10:
            break
        for other_shape, other, xy, other_steep, other_colour in pieces[k + 1 :]:
            if max(steep, other_steep) < 0.6 or not same_surface(colour, other_colour, 0.10):
                continue
            if share_inside(xy[::5], shape.hull, 0.020 if other_steep > 0.6 else 0.006) > 0.7 or (
                other_shape.short > 0.10 and share_inside(large_xy[::5], other_shape.hull, 0.02) > 0.7
            ):
                joined[joined == other] = joined[group]
    return joined
