"""Texts of people: checked when they arrive, and shortened for the log."""

from __future__ import annotations

from planweave.core.base.errors import GoalError
from planweave.core.base.names import one_line

MAX_SENTENCE = 2000


def plain(text: str, what: str, longest: int = MAX_SENTENCE) -> str:
    """A person's text, stripped; raises GoalError where it is too long or not plain text."""
    text = text.strip()
    if len(text) > longest:
        raise GoalError(f"the {what} has {len(text)} characters; at most {longest} are read")
    if any(ord(c) < 32 and c not in "\t\n" for c in text):
        raise GoalError(f"the {what} has control characters; send plain text")
    return text


def log_line(text: object) -> str:
    """One line of bounded length for the log."""
    shown = " ".join(map(str, text)) if isinstance(text, tuple) else one_line(str(text))
    return shown if len(shown) <= 500 else f"{shown[:500]} …"
