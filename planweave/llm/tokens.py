"""Estimate of a text's number of tokens, independent of any tokenizer."""

from __future__ import annotations

import re
from functools import lru_cache

_PIECES = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]")


@lru_cache(maxsize=8192)
def estimated_tokens(text: str) -> int:
    """One per word, plus one per six further letters; digits and punctuation count one each.

    On four of our prompts for a home of 239 objects this gave 0.94 to 1.05 times the count of SmolLM2's tokenizer.
    """
    return sum(1 + (len(p) - 1) // 6 if p.isalpha() else 1 for p in _PIECES.findall(text))
