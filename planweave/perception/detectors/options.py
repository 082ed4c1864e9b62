"""What a detector is made with: which model, and whom to tell what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """model: a name on the Hugging Face hub or the path of a folder; revision: a branch, tag or commit of it.

    min_score: least confidence with which a name is taken. say: called with a line for the log.
    """

    model: str = ""
    revision: str = "main"
    min_score: float = 0.1
    say: Callable[[str], None] = print
