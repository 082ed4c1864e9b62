"""Naming by the region head alone: open vocabulary without torch (planweave/perception/region_head.py)."""

from __future__ import annotations

from planweave.perception.detection import Detection, View
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import nameable, rename_all
from planweave.perception.region_head import fitting, load_region_head


class ByHead:
    """The detector `region_head`."""

    def __init__(self, options: Options):
        self._options = options

    def __call__(self, view: View) -> list[Detection]:
        """See Detector."""
        indices = nameable(view)
        if not view.names or not indices:
            return [thing for thing, _ in view.measured]
        regions = [region for k in indices if (region := view.measured[k][1]) is not None]
        scores, _ = load_region_head().score(regions, view.pixel, view.names)
        return rename_all(view, indices, fitting(scores), self._options.min_score)
