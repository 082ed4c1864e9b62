"""Naming by the region head alone: open vocabulary without torch (planweave/perception/region_head.py)."""

from __future__ import annotations

import numpy as np

from planweave.perception.detection import View
from planweave.perception.detectors.renaming import ScoringDetector
from planweave.perception.region_head import fitting, load_region_head
from planweave.perception.regions import PixelRegion


class ByHead(ScoringDetector):
    """The detector `region_head`."""

    def score(self, view: View, regions: list[PixelRegion]) -> np.ndarray:
        """See ScoringDetector."""
        return fitting(load_region_head().score(regions, view.pixel, view.names)[0])
