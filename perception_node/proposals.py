"""Which pixels belong to one object: height mask, patches of one colour, joined and split by geometry.

Method: what stands out of the table plane is cut into connected patches of one colour family. Patches are joined where the
surface goes on (shading, leaves, plates of two shades) and where a steep side belongs to the top above it; what is left are
objects, also those inside a tray or on another object. Objects of one colour that touch are split by height and by shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from perception_node.cloud import Cloud
from perception_node.colours import BLACK, FAMILIES, family_image, same_surface, smooth
from perception_node.geometry import outline, share_inside
from perception_node.splitting import split

SMALLEST_PATCH = 16          # pixels; smaller ones join a neighbour
SMALLEST_OBJECT_AREA = 2.5e-4   # m^2 seen from above
LOWEST_OBJECT = 0.009        # m; anything lower is a rest of noise or of a tray's floor
NARROWEST = 0.016            # m
_DROP = 0.035                # m
_BETWEEN = 0.012             # m
_APART = 3                   # pixels between the two sides of a border that are compared


@dataclass
class Region:
    """The pixels of one object: rows, columns, points (N, 3) in the base frame with z above the table, colours (N, 3).

    steep: share of the pixels on steep sides. cut: touches the robot's outline or the image's edge, so a part is unseen.
    """

    rows: np.ndarray
    columns: np.ndarray
    points: np.ndarray
    colours: np.ndarray
    steep: np.ndarray
    cut: bool = False

    def part(self, chosen: np.ndarray) -> Region:
        """The region of some of the pixels, chosen (N,) bool."""
        return Region(self.rows[chosen], self.columns[chosen], self.points[chosen], self.colours[chosen], self.steep[chosen],
                      self.cut)

    def area(self, chosen: np.ndarray) -> float:
        """Area of some of the pixels, which lie on one level surface, m^2; from their spread in the image and on the table."""
        if chosen.sum() < 3:
            return 0.0
        image = np.linalg.det(np.cov(np.stack((self.rows[chosen], self.columns[chosen])).astype(float)))
        table = np.linalg.det(np.cov(self.points[chosen, :2].T.astype(float)))
        return float(chosen.sum() * np.sqrt(max(table, 0.0) / max(image, 1e-9)))

    @cached_property
    def top(self) -> float:
        """Height of the highest points above the table, metres (98th percentile)."""
        return float(np.percentile(self.points[:, 2], 98))


def propose(rgb: np.ndarray, cloud: Cloud, height: np.ndarray, robot: np.ndarray, inside: np.ndarray,
            min_height: float = 0.004) -> list[Region]:
    """Regions of single objects, highest first.

    rgb: (h, w, 3) uint8. height: (h, w) metres above the table plane. robot: pixels that show the robot. inside: pixels of
    the workspace. min_height: metres above the plane from which on a pixel is no table.
    """
    free = cloud.valid & ~robot & inside
    stands_out = (free & (height > min_height)).astype(np.uint8)
    stands_out = cv2.morphologyEx(stands_out, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    x0, y0, w, h = cv2.boundingRect(stands_out)
    if w == 0 or h == 0:
        return []
    window = (slice(y0, y0 + h), slice(x0, x0 + w))
    mask = stands_out[window]
    colours = smooth(rgb[window])
    z = np.where(mask > 0, height[window], np.float32(0))
    level = _level_share(cloud.x[window], cloud.y[window], cloud.pixel)
    around = np.ones((5, 5), np.uint8)
    behind, before = cv2.dilate(height[window], around), cv2.erode(height[window], around)
    # Mixed pixels hang between two surfaces at a silhouette; pixels on sides do too, but those cover no ground.
    mixed = (level > 0.55) & (behind - z > _BETWEEN) & (z - before > _BETWEEN)
    mask = mask & ~mixed
    z = np.where(mask > 0, z, np.float32(0))
    relief = cv2.morphologyEx(z, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    steep = (relief > 3.2 * cloud.pixel) | (level < 0.55)
    families = family_image(colours)
    families[(families == BLACK) & steep] = FAMILIES + 1     # shaded sides of things of any colour
    # A cut of one pixel on the lower side of every drop keeps a thing apart from one of its colour far below it.
    drop = cv2.dilate(z, np.ones((3, 3), np.uint8)) - z > _DROP
    labels = _patches(np.where(drop, 0, families).astype(np.uint8), mask)
    if labels.max() == 0:
        return []
    groups, upright = _join(labels, z, colours, steep, cloud, window)
    near_robot = cv2.dilate(robot[window].astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    rows, columns = np.nonzero(labels)
    owner = groups[labels[rows, columns]]
    for bottle in upright:      # the column above its lowest point is the bottle's, also where the colour is that of a tray below
        axis = np.hypot(cloud.x[window][rows, columns] - bottle.axis[0], cloud.y[window][rows, columns] - bottle.axis[1])
        owner[(axis < 0.032) & (z[rows, columns] > bottle.low + 0.012)] = groups[bottle.members[0]]
    rows, columns, owner = rows[owner >= 0], columns[owner >= 0], owner[owner >= 0]
    order = np.argsort(owner, kind="stable")
    rows, columns, owner = rows[order], columns[order], owner[order]
    bounds = np.nonzero(np.diff(owner, prepend=-1, append=-1))[0]
    bottles = {int(groups[bottle.members[0]]) for bottle in upright}
    regions: list[Region] = []
    for start, end in zip(bounds[:-1], bounds[1:]):
        r, c = rows[start:end], columns[start:end]
        points = np.column_stack((cloud.x[window][r, c], cloud.y[window][r, c], z[r, c]))
        whole = Region(r + y0, c + x0, points, colours[r, c], steep[r, c])
        for region in [whole] if int(owner[start]) in bottles else split(whole, cloud.pixel):
            if len(region.rows) * cloud.pixel**2 < SMALLEST_OBJECT_AREA:
                continue
            if region.top < LOWEST_OBJECT:
                continue
            rr, cc = region.rows - y0, region.columns - x0
            edge = ((region.rows < 3) | (region.rows >= rgb.shape[0] - 3) | (region.columns < 3)
                    | (region.columns >= rgb.shape[1] - 3))
            region.cut = int(near_robot[rr, cc].sum()) >= 4 or int(edge.sum()) >= 4
            regions.append(region)
    return sorted(regions, key=lambda region: -region.top)


def _level_share(x: np.ndarray, y: np.ndarray, pixel: float) -> np.ndarray:
    """Area on the table that each pixel covers, as a share of what it covers on level ground; near 0 on upright sides."""
    across = cv2.Sobel(x, cv2.CV_32F, 1, 0, ksize=3) * cv2.Sobel(y, cv2.CV_32F, 0, 1, ksize=3)
    across -= cv2.Sobel(x, cv2.CV_32F, 0, 1, ksize=3) * cv2.Sobel(y, cv2.CV_32F, 1, 0, ksize=3)
    return np.abs(across) / np.float32(64 * pixel**2)


def _patches(families: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Connected patches of one colour family, labelled from 1; small ones are given to their neighbours."""
    labels = np.zeros(mask.shape, dtype=np.uint16)
    families = np.where(mask > 0, families, 0).astype(np.uint8)
    count = 0
    for family in range(1, FAMILIES + 2):
        one = (families == family).astype(np.uint8)
        if not one.any():
            continue
        found, numbers, stats, _ = cv2.connectedComponentsWithStats(one, connectivity=4)
        keep = stats[:, cv2.CC_STAT_AREA] >= SMALLEST_PATCH
        keep[0] = False
        renumber = np.zeros(found, dtype=np.uint16)
        renumber[keep] = count + 1 + np.arange(int(keep.sum()))
        labels = np.maximum(labels, renumber[numbers])
        count += int(keep.sum())
    for _ in range(4):
        grown = cv2.dilate(labels, np.ones((3, 3), np.uint8))
        labels = np.where((labels == 0) & (mask > 0), grown, labels)
    # Remains of noise that no patch is near to become patches of their own.
    rest, numbers = cv2.connectedComponents(((labels == 0) & (mask > 0)).astype(np.uint8))
    if rest > 1:
        labels = np.where(numbers > 0, (numbers + count).astype(np.uint16), labels)
    return labels


@dataclass
class _Patch:
    pixels: int
    colour: np.ndarray
    low: float
    middle: float
    top: float
    steep: float
    xy: np.ndarray
    z: np.ndarray


def _join(labels: np.ndarray, z: np.ndarray, colours: np.ndarray, steep: np.ndarray, cloud: Cloud,
          window: tuple[slice, slice]) -> tuple[np.ndarray, list[_Bottle]]:
    """For every patch number the number of its object, -1 for none; and the upright bottles."""
    count = int(labels.max()) + 1
    parent = np.arange(count)
    patches = _describe(labels, z, colours, steep, cloud, window, count)
    borders = _borders(labels, z, colours, count)

    def find(a: int) -> int:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = int(parent[a])
        return a

    bottles = _bottles(patches, cloud.pixel)
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

    for (a, b), border in sorted(borders.items(), key=lambda item: abs(item[1].step)):
        one, two = patches[a], patches[b]
        if one is None or two is None or find(a) == find(b) or {find(a), find(b)} & taken:
            continue
        if _goes_on(one, two, border, cloud.pixel):
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


def _slivers(groups: np.ndarray, patches: list[_Patch | None], borders: dict[tuple[int, int], _Border],
             bottles: set[int]) -> np.ndarray:
    """Give what is too narrow to be a thing (leaves, stalks, strips of a shaded side) to the neighbour it borders on most."""
    members: dict[int, list[np.ndarray]] = {}
    for number, patch in enumerate(patches):
        if patch is not None:
            members.setdefault(int(groups[number]), []).append(patch.xy)
    narrow = {}
    for group, parts in members.items():
        xy = np.concatenate(parts)
        shape = outline(xy) if len(xy) > 3 else None
        if group not in bottles and (shape is None or shape.short < NARROWEST and shape.long < 0.10):
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


def _frames_around(groups: np.ndarray, patches: list[_Patch | None], bottles: set[int]) -> np.ndarray:
    """Join the pieces of hollow things: thin rims and sides with the floor that they frame, where the colour is the same."""
    members: dict[int, list[_Patch]] = {}
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
        for other_shape, other, xy, other_steep, other_colour in pieces[k + 1:]:
            if max(steep, other_steep) < 0.6 or not same_surface(colour, other_colour, 0.10):
                continue
            if share_inside(xy[::5], shape.hull, 0.020 if other_steep > 0.6 else 0.006) > 0.7 or \
                    (other_shape.short > 0.10 and share_inside(large_xy[::5], other_shape.hull, 0.02) > 0.7):
                joined[joined == other] = joined[group]
    return joined


def _goes_on(one: _Patch, two: _Patch, border: _Border, pixel: float) -> bool:
    """Whether two neighbouring patches are one surface."""
    small, large = (one, two) if one.pixels < two.pixels else (two, one)
    if abs(border.step) > 0.010:
        return False
    if border.contrast < 30 and same_surface(one.colour, two.colour):
        return True
    if abs(border.step) < 0.004 and _encloses(large, small):
        return True
    area = small.pixels * pixel**2
    return area < 3.5e-4 and small.pixels < 0.35 * large.pixels and abs(small.middle - large.middle) < 0.030 and large.steep < 0.9


def _encloses(large: _Patch, small: _Patch) -> bool:
    hull = cv2.convexHull(large.xy.astype(np.float32))
    sample = small.xy[:: max(1, len(small.xy) // 40)]
    return all(cv2.pointPolygonTest(hull, (float(x), float(y)), True) > 0.004 for x, y in sample)


@dataclass(frozen=True)
class _Bottle:
    """An upright bottle: its axis (2,), lowest height seen, and its patches, the cap first."""

    axis: np.ndarray
    low: float
    members: list[int]


def _bottles(patches: list[_Patch | None], pixel: float) -> list[_Bottle]:
    """Upright bottles: a small high cap, and round its axis something wider and much lower."""
    found: list[_Bottle] = []
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
            found.append(_Bottle(axis, low, members))
    return found


def _describe(labels: np.ndarray, z: np.ndarray, colours: np.ndarray, steep: np.ndarray, cloud: Cloud,
              window: tuple[slice, slice], count: int) -> list[_Patch | None]:
    rows, columns = np.nonzero(labels)
    number = labels[rows, columns]
    order = np.argsort(number, kind="stable")
    rows, columns, number = rows[order], columns[order], number[order]
    starts = np.searchsorted(number, np.arange(count + 1))
    x, y = cloud.x[window], cloud.y[window]
    patches: list[_Patch | None] = []
    for i in range(count):
        r, c = rows[starts[i]:starts[i + 1]], columns[starts[i]:starts[i + 1]]
        if i == 0 or len(r) == 0:
            patches.append(None)
            continue
        low, middle, top = np.percentile(z[r, c], (3, 50, 97))
        patches.append(_Patch(len(r), np.median(colours[r, c], axis=0), float(low), float(middle), float(top),
                              float(steep[r, c].mean()), np.column_stack((x[r, c], y[r, c])), z[r, c]))
    return patches


@dataclass(frozen=True)
class _Border:
    """Height of the second patch over the first along the border, metres: median, 15 % and 85 % quantiles.

    contrast: difference of the colours, 0 to 255.
    """

    length: int
    step: float
    lowest: float
    highest: float
    contrast: float


def _borders(labels: np.ndarray, z: np.ndarray, colours: np.ndarray, count: int) -> dict[tuple[int, int], _Border]:
    keys, steps, contrasts = [], [], []
    d = _APART
    for first, second in ((np.s_[:, :-d], np.s_[:, d:]), (np.s_[:-d, :], np.s_[d:, :])):
        a, b = labels[first], labels[second]
        rows, columns = np.nonzero((a != b) & (a > 0) & (b > 0))
        la, lb = a[rows, columns].astype(np.int64), b[rows, columns].astype(np.int64)
        rise = z[second][rows, columns] - z[first][rows, columns]
        ordered = la < lb
        keys.append(np.where(ordered, la * count + lb, lb * count + la))
        steps.append(np.where(ordered, rise, -rise))
        contrasts.append(np.abs(colours[second][rows, columns].astype(np.int16) - colours[first][rows, columns]).max(axis=1))
    key, step, contrast = np.concatenate(keys), np.concatenate(steps), np.concatenate(contrasts)
    order = np.argsort(key, kind="stable")
    key, step, contrast = key[order], step[order], contrast[order]
    bounds = np.nonzero(np.diff(key, prepend=-1, append=-1))[0]
    found = {}
    for start, end in zip(bounds[:-1], bounds[1:]):
        if end - start >= 4:
            lowest, middle, highest = np.percentile(step[start:end], (15, 50, 85))
            found[int(key[start]) // count, int(key[start]) % count] = _Border(
                int(end - start), float(middle), float(lowest), float(highest), float(np.median(contrast[start:end])))
    return found
