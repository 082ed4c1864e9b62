"""Options of a detector: model, confidence threshold, time limit, log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options of a detector. model: a name on the Hugging Face hub or the path of a folder; revision: its branch, tag
    or commit.

    min_score: least confidence with which a name is accepted. timeout: seconds of wall time for a reply of a model that
    is asked. say: called with lines for the log. classes: names that a model is to prefer to others.
    """

    model: str = ""
    revision: str = "main"
    min_score: float = 0.15
    say: Callable[[str], None] = print
    timeout: float = 60.0
    classes: tuple[str, ...] = ()
