"""Text embeddings, for matching replies to known names, and for choosing examples."""

from __future__ import annotations

from collections.abc import Callable

from planweave.core.base.errors import UnknownNameError
from planweave.llm.embeddings.base import Embedder, cosine
from planweave.llm.embeddings.hashed import HashedEmbedder
from planweave.llm.embeddings.minilm import MiniLMEmbedder

__all__ = ["EMBEDDERS", "Embedder", "HashedEmbedder", "choose_embedder", "cosine"]

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashed": HashedEmbedder, "minilm": MiniLMEmbedder}


def choose_embedder(name: str = "hashed") -> Embedder:
    """An embedder by its name; raises UnknownNameError, or MissingExtraError where its packages are not installed."""
    if name not in EMBEDDERS:
        raise UnknownNameError("embedding", name, EMBEDDERS)
    return EMBEDDERS[name]()
