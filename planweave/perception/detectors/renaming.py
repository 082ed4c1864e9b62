"""From phrases found by an open-vocabulary detector to class names of measured objects."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from planweave.perception.detection import Detection, View
from planweave.perception.detectors.options import Options
from planweave.perception.regions import PixelRegion
from planweave.perception.vocabulary import split_phrase


def nameable(view: View) -> dict[int, PixelRegion]:
    """Regions, by their indices, of the measured objects that names are asked for and whose appearance is visible well
    enough to be classified.
    """
    found = {k: region for k, (thing, region) in enumerate(view.measured) if region is not None and not thing.cut}
    return {k: region for k, region in found.items() if len(region.rows)} if view.names else {}


class ScoringDetector(abc.ABC):
    """A detector that scores the requested names for the regions of depth."""

    def __init__(self, options: Options):
        self._options = options

    def __call__(self, view: View) -> list[Detection]:
        """See Detector."""
        return rename_all(view, partial(self.score, view), self._options.min_score)

    @abc.abstractmethod
    def score(self, view: View, regions: list[PixelRegion]) -> np.ndarray:
        """Scores (regions, names), 0 for a name that does not fit."""


def rename(thing: Detection, phrase: str, confidence: float) -> Detection:
    """The object renamed to a phrase; its pose is unchanged, its colour as well where the phrase has no colour word."""
    class_name, colour = split_phrase(phrase)
    return replace(
        thing,
        class_name=class_name,
        colour=colour or thing.colour,
        confidence=float(np.clip(confidence, 0.05, 0.99)),
    )


def rename_all(view: View, score: Callable[[list[PixelRegion]], np.ndarray], min_score: float) -> list[Detection]:
    """All objects; those that are nameable renamed to their best phrase, if any of their scores is high enough.

    score: of regions, (regions, names); called where there are any. Objects without a fitting phrase keep their
    measured name, so that every object in the depth image remains known.
    """
    found, regions = [thing for thing, _ in view.measured], nameable(view)
    scores = score(list(regions.values())) if regions else np.zeros((0, 0))
    for row, k in enumerate(regions):
        best = int(np.argmax(scores[row]))
        if scores[row, best] >= min_score:
            found[k] = rename(found[k], view.names[best], float(scores[row, best]))
    return found


def box_of(region: PixelRegion) -> tuple[float, float, float, float]:
    """x0, y0, x1, y1 around the region's pixels, ends excluded."""
    return (
        float(region.columns.min()),
        float(region.rows.min()),
        float(region.columns.max()) + 1.0,
        float(region.rows.max()) + 1.0,
    )


def match_boxes(
    regions: Sequence[PixelRegion], boxes: np.ndarray, labels: Sequence[int], scores: np.ndarray, names: int
) -> np.ndarray:
    """Scores (regions, names): of boxes (n, 4) found in the image, each assigned to the region it overlaps best.

    A box counts for a region with an IoU of at least 0.3, weighted by the IoU, so that of two boxes with equal score
    the tighter one names the object.
    """
    result = np.zeros((len(regions), names), np.float32)
    if not len(boxes):
        return result
    own = np.array([box_of(region) for region in regions], np.float32).reshape(-1, 4)
    for box, label, score in zip(boxes, labels, scores):
        low, high = np.maximum(own[:, :2], box[:2]), np.minimum(own[:, 2:], box[2:])
        shared = np.prod(np.clip(high - low, 0, None), axis=1)
        union = np.prod(own[:, 2:] - own[:, :2], axis=1) + max(float(np.prod(box[2:] - box[:2])), 0.0) - shared
        overlap = shared / np.maximum(union, 1e-6)
        if len(overlap) and overlap.max() >= 0.3:
            k = int(np.argmax(overlap))
            result[k, label] = max(result[k, label], float(score) * float(overlap[k]))
    return result
