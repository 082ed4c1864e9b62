"""Base of detectors that find names as boxes in the whole image."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from planweave.perception.detection import Detection, View
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import match_boxes, nameable, rename_all
from planweave.perception.detectors.weights import Lazy, load, need_vision


class BoxDetector(abc.ABC):
    """Names the regions of depth by the boxes of a model, whose weights are loaded with the first image."""

    #: the detector's name, and its classes of transformers: of the model and of its processor
    name: str
    classes: tuple[str, str]

    def __init__(self, options: Options):
        need_vision(self.name)
        self._options = options
        self._model = Lazy(self._load)

    def _load(self) -> tuple[Any, Any]:
        import transformers

        model, processor = load(self._options, *(getattr(transformers, name) for name in self.classes))
        return model.eval(), processor

    def __call__(self, view: View) -> list[Detection]:
        """See Detector."""
        indices = nameable(view)
        if not view.names or not indices:
            return [thing for thing, _ in view.measured]
        boxes, labels, scores = self.find(view)
        regions = [region for k in indices if (region := view.measured[k][1]) is not None]
        matched = match_boxes(regions, boxes, labels, scores, len(view.names))
        return rename_all(view, indices, matched, self._options.min_score)

    @abc.abstractmethod
    def find(self, view: View) -> tuple[np.ndarray, list[int], np.ndarray]:
        """Boxes (n, 4) in pixels, the index of the name of each, and scores (n,)."""
