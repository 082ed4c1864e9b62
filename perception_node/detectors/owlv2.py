"""Names by OWLv2 (Minderer et al. 2023): boxes for phrases in the whole image, given to the regions they overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from perception_node.detection import Detection, View
from perception_node.detectors.options import Options
from perception_node.detectors.renaming import match_boxes, nameable, rename_all
from perception_node.detectors.vild import article
from perception_node.detectors.weights import Lazy, load, need_vision


class Owlv2:
    """The detector `owlv2`."""

    def __init__(self, options: Options):
        need_vision("owlv2")
        self._options = options
        self._model = Lazy(self._load)

    def _load(self) -> tuple[Any, Any]:
        from transformers import Owlv2ForObjectDetection, Owlv2Processor

        model, processor = load(self._options, Owlv2ForObjectDetection, Owlv2Processor)
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

    def find(self, view: View) -> tuple[np.ndarray, list[int], np.ndarray]:
        """Boxes (n, 4) in pixels, the index of the name of each, and scores (n,)."""
        import torch
        from PIL import Image

        model, processor = self._model.get()
        queries = [f"a photo of {article(name)} {name}" for name in view.names]
        inputs = processor(
            text=[queries], images=Image.fromarray(view.rgb), return_tensors="pt", padding="max_length", truncation=True
        )
        with torch.inference_mode():
            outputs = model(**inputs)
        [found] = processor.post_process_grounded_object_detection(
            outputs, threshold=self._options.min_score, target_sizes=torch.tensor([view.rgb.shape[:2]])
        )
        return found["boxes"].numpy(), [int(k) for k in found["labels"]], found["scores"].numpy()
