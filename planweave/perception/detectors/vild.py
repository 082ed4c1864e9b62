"""Naming by ViLD (Gu et al. 2022): class-agnostic proposals, here from depth, scored by CLIP and by a trained head.

As in the paper: proposals are cropped at 1 and 1.5 times their size and the two CLIP image embeddings are averaged
(section 3.2); names become text embeddings through several prompts, with a background class (3.3); and the
probabilities of the two branches are combined by a weighted geometric mean that trusts the head for its training
classes and CLIP for the rest (3.4, lambda = 2/3). The head trained against text embeddings is our region head, so the
distilled branch is CLIP itself, its teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from planweave.perception.detection import View
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import box_of
from planweave.perception.detectors.weights import ModelDetector
from planweave.perception.region_head import load_region_head, softmax
from planweave.perception.regions import PixelRegion

LAMBDA = 2 / 3
TEMPERATURE = 0.01
SCALES = (1.0, 1.5)
PROMPTS = (
    "a photo of {article} {name}",
    "a photo of {article} {name} in the scene",
    "there is {article} {name} in the scene",
    "a photo of {article} {name} on a table",
    "a photo of {article} {name} seen from above",
)
BACKGROUND = ("a photo of an empty table", "a photo of the background", "a photo of a robot gripper")
_BATCH = 32  # crops at a time


class Vild(ModelDetector):
    """The detector `vild`."""

    name = "vild"
    model = "openai/clip-vit-base-patch32"
    classes = ("CLIPModel", "CLIPProcessor")

    def __init__(self, options: Options):
        super().__init__(options)
        self._text: tuple[tuple[str, ...], np.ndarray] | None = None

    def score(self, view: View, regions: list[PixelRegion]) -> np.ndarray:
        """See ScoringDetector."""
        images = self._embed_images([crops(view.rgb, region) for region in regions])
        texts = self._embed_names(tuple(view.names))
        by_image = softmax(images @ texts.T / TEMPERATURE)
        return combine(by_image, *load_region_head().score(regions, view.pixel, view.names))

    def _embed_names(self, names: tuple[str, ...]) -> np.ndarray:
        """(names + 1, d), unit rows, the background last; cached per set of names."""
        if self._text is None or self._text[0] != names:
            prompts = [[p.format(article=article(name), name=name) for p in PROMPTS] for name in names]
            rows = [_unit(self._embed_texts(lines)).mean(axis=0) for lines in (*prompts, list(BACKGROUND))]
            self._text = names, _unit(np.stack(rows))
        return self._text[1]

    def _embed_texts(self, lines: Sequence[str]) -> np.ndarray:
        import torch

        model, processor = self.loaded()
        inputs = processor(text=list(lines), return_tensors="pt", padding=True, truncation=True)
        with torch.inference_mode():
            return _array(model.get_text_features(**inputs))

    def _embed_images(self, images: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """(n, d) unit rows from the crops of each region (n, scales)."""
        import torch
        from PIL import Image

        model, processor = self.loaded()
        flat = [Image.fromarray(crop) for pair in images for crop in pair]
        rows = []
        for start in range(0, len(flat), _BATCH):
            inputs = processor(images=flat[start : start + _BATCH], return_tensors="pt")
            with torch.inference_mode():
                rows.append(_unit(_array(model.get_image_features(**inputs))))
        return _unit(np.concatenate(rows).reshape(len(images), len(SCALES), -1).mean(axis=1))


def combine(by_image: np.ndarray, by_head: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Scores (regions, names), 0 where the background is likelier than any name.

    by_image: (regions, names + 1), the background last; by_head: (regions, names); known: (names,) bool, classes that
    the head was trained for. The image branch decides on the background; the remainder is shared among the names known
    to the head, and for unknown names the image branch alone counts.
    """
    names = by_image[:, :-1]
    if not known.any():
        scores = names
    else:
        left = names[:, known].sum(axis=1, keepdims=True)
        share = by_head / np.maximum(by_head.sum(axis=1, keepdims=True), 1e-9)
        head = np.where(known, share * left, names)
        weight = np.where(known, LAMBDA, 0.0)
        scores = np.maximum(head, 1e-9) ** weight * np.maximum(names, 1e-9) ** (1 - weight)
    return np.where(scores.max(axis=1, keepdims=True) > by_image[:, -1:], scores, 0.0)


def crops(rgb: np.ndarray, region: PixelRegion) -> list[np.ndarray]:
    """A region's bounding box at 1 and at 1.5 times its size, clipped to the image: (h, w, 3) uint8 each."""
    height, width = rgb.shape[:2]
    x0, y0, x1, y1 = box_of(region)
    pair = []
    for scale in SCALES:
        dx, dy = (scale - 1) * (x1 - x0) / 2, (scale - 1) * (y1 - y0) / 2
        rows = slice(max(int(y0 - dy), 0), min(int(np.ceil(y1 + dy)), height))
        columns = slice(max(int(x0 - dx), 0), min(int(np.ceil(x1 + dx)), width))
        pair.append(np.ascontiguousarray(rgb[rows, columns]))
    return pair


def article(name: str) -> str:
    """The indefinite article of a phrase."""
    return "an" if name[:1] in "aeiou" else "a"


def _array(features: Any) -> np.ndarray:
    """Transformers 5 wraps the projected features in an output object, 4 gives the tensor itself."""
    tensor = features if hasattr(features, "numpy") else features.pooler_output
    return tensor.float().numpy()


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)
