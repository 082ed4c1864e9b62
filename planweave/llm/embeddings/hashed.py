"""Embeddings without a model: words and their character n-grams, hashed into a fixed number of signed buckets.

The default, since it needs no packages, loads nothing and takes microseconds. It captures spelling, not meaning: "mugs"
is near "mug" and "coffeepot" near "coffee pot", but "couch" is no nearer to "sofa" than to "lamp". Compared are mostly
names that a model copied from its prompt, where spelling matters; for the rest there is the extra with MiniLM.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

DIMENSION = 512
_WORDS = re.compile(r"[a-z]+|\d+")
_FILLERS = frozenset(("the", "a", "an", "of", "your", "my", "some", "please", "then", "and"))
_WORD_WEIGHT = 1.0  # of a whole word against all of its letter sequences together
_LETTERS_WEIGHT = 0.8
_PAIR_WEIGHT = 0.4  # of two neighbours written as one word
_NUMBER_WEIGHT = 0.4  # numbers tell copies of a thing apart, no more
MAX_CHARACTERS = 2000


class HashedEmbedder:
    """Words, their sequences of 3 and 4 letters, and pairs of neighbours (the hashing trick)."""

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
