"""Naming by OWLv2 (Minderer et al. 2023): boxes for phrases in the whole image, assigned to overlapping regions."""

from __future__ import annotations

import numpy as np

from planweave.perception.detection import View
from planweave.perception.detectors.boxes import BoxDetector
from planweave.perception.detectors.vild import article


class Owlv2(BoxDetector):
    """The detector `owlv2`."""

    name = "owlv2"
    model = "google/owlv2-base-patch16-ensemble"
    classes = ("Owlv2ForObjectDetection", "Owlv2Processor")

    def find(self, view: View) -> tuple[np.ndarray, list[int], np.ndarray]:
        """See BoxDetector."""
        import torch
        from PIL import Image

        model, processor = self.loaded()
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
