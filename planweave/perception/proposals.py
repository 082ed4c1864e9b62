"""Segmentation of a frame into single objects: height mask, patches of one colour, merged and split by geometry.

Pixels above the table plane are cut into connected patches of one colour family. Patches are merged across continuous
surfaces (shading, leaves, plates of two shades) and where a steep side belongs to the top above it; the rest are
objects, also those inside a tray or on another object. Touching objects of one colour are split by height and shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import cv2
import numpy as np

from planweave.perception.cloud import Cloud
from planweave.perception.colours import BLACK, FAMILIES, family_image, smooth
from planweave.perception.patch_merging import join
from planweave.perception.patches import find_patches, level_share
from planweave.perception.splitting import split
from planweave.perception.stack_detection import find_columns

SMALLEST_OBJECT_AREA = 2.5e-4  # m^2 seen from above
LOWEST_OBJECT = 0.009  # m; anything lower is a rest of noise or of a tray's floor
_DROP = 0.035  # m
_LEAST_TOP = 1e-4  # m^2 of level surface, less of which is none
_BETWEEN = 0.012  # m


@dataclass
class Region:
    """The pixels of one object: rows, columns, points (N, 3) in the base frame with z above the table, colours (N, 3).

    steep: (N,) bool, pixels on steep sides. cut: touches the robot's mask or the image's border, so that a part is not
    visible. sides: pixels seen below a high flat top, which do not belong to that top.
    """

    rows: np.ndarray
    columns: np.ndarray
    points: np.ndarray
    colours: np.ndarray
    steep: np.ndarray
    cut: bool = False
    sides: Region | None = None

    def part(self, chosen: np.ndarray) -> Region:
        """The region of some of the pixels, chosen (N,) bool."""
        return Region(
            self.rows[chosen],
            self.columns[chosen],
            self.points[chosen],
            self.colours[chosen],
            self.steep[chosen],
            self.cut,
            self.sides,
        )

    def area(self, chosen: np.ndarray) -> float:
        """Area of some of the pixels on one level surface, m^2, from their extent in the image and in space."""
        if chosen.sum() < 3:
            return 0.0
        image = np.linalg.det(np.cov(np.stack((self.rows[chosen], self.columns[chosen])).astype(float)))
        table = np.linalg.det(np.cov(self.points[chosen, :2].T.astype(float)))
        return float(chosen.sum() * np.sqrt(max(table, 0.0) / max(image, 1e-9)))

    @cached_property
    def top(self) -> float:
        """Height of the highest points above the table, metres (98th percentile)."""
        return float(np.percentile(self.points[:, 2], 98))


def propose(
    rgb: np.ndarray, cloud: Cloud, height: np.ndarray, robot: np.ndarray, inside: np.ndarray, min_height: float = 0.004
) -> list[Region]:
    """Regions of single objects, highest first.

    rgb: (h, w, 3) uint8. height: (h, w) metres above the table plane. robot: pixels that show the robot. inside: pixels
    of the workspace. min_height: least height above the plane of an object's pixel, metres.
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
    level = level_share(cloud.x[window], cloud.y[window], cloud.pixel)
    around = np.ones((5, 5), np.uint8)
    behind, before = cv2.dilate(height[window], around), cv2.erode(height[window], around)
    # Mixed pixels hang between two surfaces at a silhouette; pixels on sides do too, but those cover no ground.
    mixed = (level > 0.55) & (behind - z > _BETWEEN) & (z - before > _BETWEEN)
    mask = np.where(mixed, np.uint8(0), mask)
    z = np.where(mask > 0, z, np.float32(0))
    relief = cv2.morphologyEx(z, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    steep = (relief > 3.2 * cloud.pixel) | (level < 0.55)
    stacks = find_columns(cloud.x[window], cloud.y[window], z, steep, cloud.pixel)
    tops = np.full(mask.shape, -1, dtype=np.int16)
    for k, stack in enumerate(stacks):
        mask[stack.sides] = mask[stack.stray] = 0
        tops[stack.top] = k
    families = family_image(colours)
    families[(families == BLACK) & steep] = FAMILIES + 1  # shaded sides of things of any colour
    # A cut of one pixel on the lower side of every drop keeps a thing apart from one of its colour far below it.
    drop = cv2.dilate(z, np.ones((3, 3), np.uint8)) - z > _DROP
    labels = find_patches(np.where(drop, 0, families).astype(np.uint8), mask)
    if labels.max() == 0:
        return []
    groups, upright = join(labels, z, colours, steep, cloud, window)
    # Of the whole image: what hides a thing at the window's border lies outside of the window.
    near_robot = cv2.dilate(robot.astype(np.uint8), np.ones((5, 5), np.uint8))[window] > 0
    rows, columns = np.nonzero(labels)
    owner = groups[labels[rows, columns]]
    for bottle in upright:
        # The column above its lowest point is the bottle's, also where the colour is that of a tray below.
        axis = np.hypot(
            cloud.x[window][rows, columns] - bottle.axis[0], cloud.y[window][rows, columns] - bottle.axis[1]
        )
        owner[(axis < 0.032) & (z[rows, columns] > bottle.low + 0.012)] = groups[bottle.members[0]]
    rows, columns, owner = rows[owner >= 0], columns[owner >= 0], owner[owner >= 0]
    order = np.argsort(owner, kind="stable")
    rows, columns, owner = rows[order], columns[order], owner[order]
    bounds = np.nonzero(np.diff(owner, prepend=-1, append=-1))[0]
    bottles = {int(groups[bottle.members[0]]) for bottle in upright}
    regions: list[Region] = []

    def touches(rows: np.ndarray, columns: np.ndarray) -> bool:
        """Whether pixels of the window border on the robot's mask or the image's border."""
        r, c = rows + y0, columns + x0
        edge = (r < 3) | (r >= rgb.shape[0] - 3) | (c < 3) | (c >= rgb.shape[1] - 3)
        return int(near_robot[rows, columns].sum()) >= 4 or int(edge.sum()) >= 4

    def pick(rows: np.ndarray, columns: np.ndarray) -> Region:
        """The region of some pixels of the window."""
        points = np.column_stack((cloud.x[window][rows, columns], cloud.y[window][rows, columns], z[rows, columns]))
        return Region(rows + y0, columns + x0, points, colours[rows, columns], steep[rows, columns])

    for start, end in pairwise(bounds):
        r, c = rows[start:end], columns[start:end]
        whole = pick(r, c)
        whole.cut = touches(r, c)
        for region in [whole] if int(owner[start]) in bottles else split(whole, cloud.pixel):
            if len(region.rows) * cloud.pixel**2 < SMALLEST_OBJECT_AREA:
                continue
            if region.top < LOWEST_OBJECT:
                continue
            # Where a thing is cut into objects depends on its outline: of one half seen, the pieces are not sure.
            region.cut = whole.cut or touches(region.rows - y0, region.columns - x0)
            on_top = tops[region.rows - y0, region.columns - x0]
            k = int(np.bincount(on_top + 1).argmax()) - 1
            region.sides = pick(*stacks[k].sides) if k >= 0 else None
            # From above every whole thing shows its top.
            region.cut = region.cut or region.area(~region.steep) < _LEAST_TOP
            regions.append(region)
    return sorted(regions, key=lambda region: -region.top)
