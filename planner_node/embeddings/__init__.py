"""Texts as unit vectors, for matching what a model wrote to what is known, and for choosing examples."""

from __future__ import annotations

from collections.abc import Callable

from planner_node.embeddings.base import Embedder, cosine
from planner_node.embeddings.hashed import HashedEmbedder
from planner_node.embeddings.minilm import MiniLMEmbedder
from planweave.errors import UnknownNameError

__all__ = ["EMBEDDERS", "Embedder", "HashedEmbedder", "choose_embedder", "cosine"]

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashed": HashedEmbedder, "minilm": MiniLMEmbedder}


def choose_embedder(name: str = "hashed") -> Embedder:
    """An embedder by its name; raises UnknownNameError, or MissingExtraError where its packages are not installed."""
    if name not in EMBEDDERS:
        raise UnknownNameError("embedding", name, EMBEDDERS)
    return EMBEDDERS[name]()
