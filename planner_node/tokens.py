"""How many tokens a text has, by a rule that needs no tokenizer of any one model."""

from __future__ import annotations

import re
from functools import lru_cache

_PIECES = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]")


@lru_cache(maxsize=8192)
def estimated_tokens(text: str) -> int:
    """An upper estimate: a word counts one and one more for every six letters beyond, a digit and a sign one each.

    Against the tokenizers of SmolLM2 and of OpenAI's models this is 10 to 40 % too many on prompts like ours.
    """
    return sum(1 + (len(p) - 1) // 6 if p.isalpha() else 1 for p in _PIECES.findall(text))
