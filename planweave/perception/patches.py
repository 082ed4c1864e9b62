"""Patches: connected pixels of one colour family, their attributes, and the borders between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from planweave.perception.cloud import Cloud
from planweave.perception.colours import FAMILIES

SMALLEST_PATCH = 16  # pixels; smaller ones join a neighbour
_APART = 3  # pixels between the two sides of a border that are compared


def level_share(x: np.ndarray, y: np.ndarray, pixel: float) -> np.ndarray:
    """Area of table under each pixel, relative to a level surface; near 0 on vertical sides."""
    across = cv2.Sobel(x, cv2.CV_32F, 1, 0, ksize=3) * cv2.Sobel(y, cv2.CV_32F, 0, 1, ksize=3)
    across -= cv2.Sobel(x, cv2.CV_32F, 0, 1, ksize=3) * cv2.Sobel(y, cv2.CV_32F, 1, 0, ksize=3)
    return np.abs(across) / np.float32(64 * pixel**2)


def find_patches(families: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Connected patches of one colour family, labelled from 1; small ones are merged into their neighbours."""
    labels = np.zeros(mask.shape, dtype=np.uint16)
    families = np.where(mask > 0, families, 0).astype(np.uint8)
    count = 0
    for family in range(1, FAMILIES + 2):
        one = (families == family).astype(np.uint8)
        x0, y0, w, h = cv2.boundingRect(one)
        if w == 0:
            continue
        window = (slice(y0, y0 + h), slice(x0, x0 + w))
        found, numbers, stats, _ = cv2.connectedComponentsWithStats(one[window], connectivity=4)
        keep = stats[:, cv2.CC_STAT_AREA] >= SMALLEST_PATCH
        keep[0] = False
        renumber = np.zeros(found, dtype=np.uint16)
        renumber[keep] = count + 1 + np.arange(int(keep.sum()))
        np.maximum(labels[window], renumber[numbers], out=labels[window])
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
class Patch:
    pixels: int
    colour: np.ndarray
    low: float
    middle: float
    top: float
    steep: float
    xy: np.ndarray
    z: np.ndarray


@dataclass(frozen=True)
class Border:
    """Height of the second patch over the first along the border, metres: median, 15 % and 85 % quantiles.

    contrast: difference of the colours, 0 to 255.
    """

    length: int
    step: float
    lowest: float
    highest: float
    contrast: float


def describe(
    labels: np.ndarray,
    z: np.ndarray,
    colours: np.ndarray,
    steep: np.ndarray,
    cloud: Cloud,
    window: tuple[slice, slice],
    count: int,
) -> list[Patch | None]:
    rows, columns = np.nonzero(labels)
    number = labels[rows, columns]
    order = np.argsort(number, kind="stable")
    rows, columns, number = rows[order], columns[order], number[order]
    starts = np.searchsorted(number, np.arange(count + 1))
    x, y = cloud.x[window], cloud.y[window]
    patches: list[Patch | None] = []
    for i in range(count):
        r, c = rows[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        if i == 0 or len(r) == 0:
            patches.append(None)
            continue
        low, middle, top = np.percentile(z[r, c], (3, 50, 97))
        patches.append(
            Patch(
                len(r),
                np.median(colours[r, c], axis=0),
                float(low),
                float(middle),
                float(top),
                float(steep[r, c].mean()),
                np.column_stack((x[r, c], y[r, c])),
                z[r, c],
            )
        )
    return patches


def find_borders(labels: np.ndarray, z: np.ndarray, colours: np.ndarray, count: int) -> dict[tuple[int, int], Border]:
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
        contrasts.append(
            np.abs(colours[second][rows, columns].astype(np.int16) - colours[first][rows, columns]).max(axis=1)
        )
    key, step, contrast = np.concatenate(keys), np.concatenate(steps), np.concatenate(contrasts)
    order = np.argsort(key, kind="stable")
    key, step, contrast = key[order], step[order], contrast[order]
    bounds = np.nonzero(np.diff(key, prepend=-1, append=-1))[0]
    found = {}
    for start, end in pairwise(bounds):
        if end - start >= 4:
            lowest, middle, highest = np.percentile(step[start:end], (15, 50, 85))
            found[int(key[start]) // count, int(key[start]) % count] = Border(
                int(end - start), float(middle), float(lowest), float(highest), float(np.median(contrast[start:end]))
            )
    return found
