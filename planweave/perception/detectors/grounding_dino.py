"""Naming by Grounding DINO (Liu et al. 2023): boxes for phrases in the image, assigned to overlapping regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz import fuzz, process

from planweave.perception.detection import View
from planweave.perception.detectors.boxes import BoxDetector

_LIKE = 60  # of 100: how alike the words that lit up and a name must be


class GroundingDino(BoxDetector):
    """The detector `grounding_dino`."""

    name = "grounding_dino"
    model = "IDEA-Research/grounding-dino-tiny"
    classes = ("GroundingDinoForObjectDetection", "AutoProcessor")

    def find(self, view: View) -> tuple[np.ndarray, list[int], np.ndarray]:
        """See BoxDetector."""
        import torch
        from PIL import Image

        model, processor = self.loaded()
        image = Image.fromarray(view.rgb)
        boxes: list[np.ndarray] = [np.zeros((0, 4), np.float32)]
        labels: list[int] = []
        scores: list[float] = []
        for part in self._parts(view.names):
            names = [view.names[k] for k in part]
            # One text, each name ended by a full stop, is what the model was trained on.
            inputs = processor(images=image, text=". ".join(names) + ".", return_tensors="pt")
            with torch.inference_mode():
                outputs = model(**inputs)
            [found] = processor.post_process_grounded_object_detection(
                outputs,
                inputs["input_ids"],
                threshold=self._options.min_score,
                text_threshold=self._options.min_score,
                target_sizes=[view.rgb.shape[:2]],
            )
            for box, text, score in zip(found["boxes"].numpy(), found["text_labels"], found["scores"].numpy()):
                name = nearest_name(text, names)
                if name is not None:
                    boxes.append(box[None])
                    labels.append(part[name])
                    scores.append(float(score))
        return np.concatenate(boxes), labels, np.array(scores, np.float32)

    def _parts(self, names: Sequence[str]) -> list[list[int]]:
        """Indices of names in the fewest texts within the model's limit of max_text_len tokens, beyond which
        it fails.
        """
        model, processor = self.loaded()
        room = model.config.max_text_len - 2  # for a token at the beginning and one at the end
        parts: list[list[int]] = [[]]
        used = 0
        for k, name in enumerate(names):
            tokens = len(processor.tokenizer(name + ".", add_special_tokens=False)["input_ids"])
            if used + tokens > room and parts[-1]:
                parts.append([])
                used = 0
            if tokens <= room:
                parts[-1].append(k)
                used += tokens
        return [part for part in parts if part]


def nearest_name(words: str, names: Sequence[str]) -> int | None:
    """The name whose tokens were activated, possibly in part; None where there is none."""
    best = process.extractOne(words, names, scorer=fuzz.token_sort_ratio, score_cutoff=_LIKE)
    return None if best is None else int(best[2])
