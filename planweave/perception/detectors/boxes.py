"""Base of detectors that find names as boxes in the whole image."""

from __future__ import annotations

import abc

import numpy as np

from planweave.perception.detection import View
from planweave.perception.detectors.renaming import match_boxes
from planweave.perception.detectors.weights import ModelDetector
from planweave.perception.regions import PixelRegion


class BoxDetector(ModelDetector):
    """Names the regions of depth by the boxes of a model."""

    def score(self, view: View, regions: list[PixelRegion]) -> np.ndarray:
        """See ScoringDetector."""
        return match_boxes(regions, *self.find(view), len(view.names))

    @abc.abstractmethod
    def find(self, view: View) -> tuple[np.ndarray, list[int], np.ndarray]:
        """Boxes (n, 4) in pixels, the index of the name of each, and scores (n,)."""
