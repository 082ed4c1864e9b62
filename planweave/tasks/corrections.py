"""Sentences that correct what the task before has understood."""

from __future__ import annotations

import re

_OTHER = re.compile(r"(no|wrong)?\W*(not (that|this)( one)?)?\W*(i (mean|meant))?\W*the other( one)?\W*", re.IGNORECASE)


def is_correction(sentence: str) -> bool:
    """Whether a sentence says nothing but that the other one is meant."""
    return bool(sentence) and _OTHER.fullmatch(sentence) is not None
