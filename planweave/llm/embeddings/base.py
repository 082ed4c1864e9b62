"""Interface of embeddings: one method, texts in and unit vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """Maps texts to vectors whose cosine is their similarity."""

    @property
    def name(self) -> str:
        """As in the table of embedders; records say which one was used."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text, shape (len(texts), dimension)."""


def cosine(embedder: Embedder, one: str, two: str) -> float:
    """Cosine similarity of two texts, clipped to 0 .. 1."""
    first, second = embedder.embed([one, two])
    return float(min(1.0, max(0.0, first @ second)))
