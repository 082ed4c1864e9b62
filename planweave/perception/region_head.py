"""The region head: how well phrases describe objects, by a small trained network in plain numpy.

After ViLD (Gu et al. 2022, section 3.3): a head maps the features of a region to embeddings near the text embeddings of
its descriptions, so that phrases outside the training set can be compared as well. Nouns and shades have separate
embeddings, so that their combinations need no training. Nouns come from a table of word vectors; shades from a table of
their values. Trained by training/region_head/train.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from planweave.perception.region_features import measures, picture
from planweave.perception.regions import PixelRegion

_LEAST_NOUN, _LEAST_SHADE = 0.3, -0.1  # cosines from which a noun or a shade is rather right than wrong
_LIKELY, _ASKED_FOR = 0.45, 0.2  # probabilities from which a name is given to many, and to the one it fits best
_STRANGE, _FAMILIAR, _LEAST_TRUST = 0.2, 0.8, 0.5  # cosines of a noun with the nearest one of the training; a weight
WEIGHTS = Path(__file__).with_name("region_head.npz")
SIZES = {"small": -1.0, "little": -1.0, "tiny": -1.0, "large": 1.0, "big": 1.0, "huge": 1.0}


@dataclass(frozen=True)
class PhraseParts:
    """A parsed phrase.

    noun (96,): its word vector, all 0 where it is unknown; shade (3,): CIE Lab in hundreds; size: -1 small, 1 large; 0
    in has_shade or size where the phrase does not mention it. trust: weight of the noun, smaller where no training noun
    is near it.
    """

    noun: np.ndarray
    shade: np.ndarray
    has_shade: float
    size: float
    trust: float = 1.0

    @property
    def known(self) -> bool:
        """Whether the head can score the phrase."""
        return bool(np.any(self.noun))


class RegionHead:
    """Scores phrases for regions. Keeps its weights as a dict of float32 arrays, named as in train.py."""

    def __init__(self, weights: dict[str, np.ndarray], words: Sequence[str], vectors: np.ndarray,
                 shades: dict[str, np.ndarray], nouns: Sequence[str]):  # fmt: skip
        """vectors: (words, 96); shades: CIE Lab in hundreds by name; nouns: those of the training."""
        self.weights = weights
        self._words = {word: row for row, word in enumerate(words)}
        self._vectors, self._shades = vectors, shades
        self._trained = np.stack([self._vector(noun) for noun in nouns])

    def read(self, phrase: str) -> PhraseParts:
        """The parts of a lower-case phrase: the last word is its noun, preceded by shade and size."""
        *before, noun = phrase.replace("-", " ").replace("'", " ").replace("grey", "gray").split()
        vector = self._vector(noun)
        nearest = float((self._trained @ vector).max())
        trust = float(np.clip((nearest - _STRANGE) / (_FAMILIAR - _STRANGE), _LEAST_TRUST, 1.0))
        size = next((SIZES[word] for word in before if word in SIZES), 0.0)
        rest = [word for word in before if word not in SIZES]
        for length in range(len(rest), 0, -1):
            for start in range(len(rest) - length + 1):
                lab = self._shades.get(" ".join(rest[start : start + length]))
                if lab is not None:
                    return PhraseParts(vector, lab, 1.0, size, trust)
        return PhraseParts(vector, np.zeros(3, np.float32), 0.0, size, trust)

    def _vector(self, noun: str) -> np.ndarray:
        for word in (noun, noun.removesuffix("s")):
            if word in self._words:
                return self._vectors[self._words[word]]
        return np.zeros(self._vectors.shape[1], np.float32)

    def embed_phrases(self, parts: Sequence[PhraseParts]) -> tuple[np.ndarray, np.ndarray]:
        """Embeddings of nouns and shades, one unit row per phrase; a missing shade is a zero row."""
        w = self.weights
        noun = np.stack([p.noun for p in parts]) @ w["noun"]
        hidden = _relu(np.stack([p.shade for p in parts]) @ w["shade1"] + w["shade1_b"])
        shade = hidden @ w["shade2"] + w["shade2_b"]
        return _unit(noun), _unit(shade) * np.array([[p.has_shade] for p in parts], np.float32)

    def embed_regions(self, pictures: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n, 6, 32, 32) and (n, measures) -> embeddings of nouns and shades, and sizes (n,) from small to large."""
        w = self.weights
        x = pictures
        for k in (1, 2, 3):
            x = _relu(_convolve(x, w[f"conv{k}"], w[f"conv{k}_b"]))
        seen = (numbers - w["mean"]) / w["deviation"]
        hidden = _relu(x.reshape(len(x), -1) @ w["look"] + w["look_b"])
        hidden = _relu(np.concatenate((hidden, seen), axis=1) @ w["joint"] + w["joint_b"])
        colours = _relu(np.concatenate((numbers[:, -3:], _mean_colour(pictures)), axis=1) @ w["tint"] + w["tint_b"])
        sizes = (hidden @ w["size"] + w["size_b"])[:, 0]
        return _unit(hidden @ w["out"] + w["out_b"]), _unit(colours @ w["tone"] + w["tone_b"]), sizes

    def logits(self, pictures: np.ndarray, numbers: np.ndarray, parts: Sequence[PhraseParts]) -> np.ndarray:
        """(n, phrases): relative scores of several phrases for a region."""
        return self.judge(pictures, numbers, parts)[0]

    def judge(
        self, pictures: np.ndarray, numbers: np.ndarray, parts: Sequence[PhraseParts]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The logits, and the absolute probability that a phrase fits; both (n, phrases).

        A phrase fits as well as its worse part, noun or shade.
        """
        w = self.weights
        nouns, tones, sizes = self.embed_regions(pictures, numbers)
        noun, shade = self.embed_phrases(parts)
        said = np.array([p.size for p in parts], np.float32)
        trust = np.array([p.trust for p in parts], np.float32)
        has_shade = np.array([p.has_shade for p in parts], bool)
        likeness, tint = nouns @ noun.T, tones @ shade.T
        logits: np.ndarray = w["scales"][0] * likeness * trust + w["scales"][1] * tint + sizes[:, None] * said[None, :]
        by_noun = w["scales"][0] * trust * (likeness - _LEAST_NOUN)
        by_shade = np.where(has_shade[None, :], w["scales"][1] * (tint - _LEAST_SHADE), np.inf)
        fits: np.ndarray = 1 / (1 + np.exp(-np.minimum(by_noun, by_shade)))
        return logits, fits

    def score(
        self, regions: Sequence[PixelRegion], pixel: float, names: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities (regions, names) and which names are known, (names,) bool; unknown ones have probability 0.

        The product of the probabilities that a name is the best of these and that it fits at all; the rest to 1 is for
        none.
        """
        parts = [self.read(name) for name in names]
        known = np.array([p.known for p in parts], bool)
        result = np.zeros((len(regions), len(names)), np.float32)
        if len(regions) and known.any():
            pictures = np.stack([picture(region) for region in regions])
            numbers = np.stack([measures(region, pixel) for region in regions])
            logits, fits = self.judge(pictures, numbers, [p for p in parts if p.known])
            result[:, known] = softmax(logits) * fits
        return result, known


@lru_cache(maxsize=1)
def load_region_head(path: Path = WEIGHTS) -> RegionHead:
    """The head with the weights in the package."""
    with np.load(path, allow_pickle=False) as data:
        weights = {k[2:]: data[k].astype(np.float32) for k in data.files if k.startswith("w_")}
        vectors = data["vectors"].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        shades = dict(zip(str(data["shades"]).split(","), data["lab"].astype(np.float32)))
        return RegionHead(weights, str(data["words"]).split(), vectors, shades, str(data["nouns"]).split())


def fitting(scores: np.ndarray) -> np.ndarray:
    """The scores (regions, names) of RegionHead.score without those to be ignored.

    Likely names are kept. A name without a likely region is assigned to its best region, if it is that region's best
    name and not unlikely, since it was requested.
    """
    if not scores.size:
        return scores
    rows, columns = np.arange(len(scores)), scores.argmax(axis=1)
    mutual = np.zeros(scores.shape, bool)
    mutual[rows, columns] = scores[:, columns].argmax(axis=0) == rows
    return np.where((scores > _LIKELY) | (mutual & (scores > _ASKED_FOR)), scores, 0.0)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Softmax along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _mean_colour(pictures: np.ndarray) -> np.ndarray:
    """(n, 3): mean colour of the regions' pixels."""
    mask = pictures[:, 3:4]
    return pictures[:, :3].sum(axis=(2, 3)) / np.maximum(mask.sum(axis=(2, 3)), 1e-3)


def _convolve(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """3 x 3 convolution, stride 2, zero padding 1: (n, c, s, s) -> (n, k, s/2, s/2); kernel (k, c, 3, 3)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    result: np.ndarray = np.tensordot(windows, kernel, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
    return result + bias[None, :, None, None]


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, np.float32(0))


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.float32(1e-6))
