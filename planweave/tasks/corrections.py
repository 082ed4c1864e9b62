"""Sentences that correct what the task before has understood: "no, the other one", "no, that is a coaster"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.base.errors import GoalError
from planweave.core.base.names import one_line
from planweave.goals import split_naming
from planweave.tasks.task import Task

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


_OTHER = re.compile(r"(no|wrong)?\W*(not (that|this)( one)?)?\W*(i (mean|meant))?\W*the other( one)?\W*", re.IGNORECASE)


def is_correction(sentence: str) -> bool:
    """Return whether a sentence says nothing but that the other one is meant."""
    return bool(sentence) and _OTHER.fullmatch(sentence) is not None


def is_objection(sentence: str) -> bool:
    """Return whether a sentence begins with "no" and gives a name: what goes on is not what was meant."""
    found = split_naming(sentence)
    return found is not None and found[0]


def spoken_of(tasks: Sequence[Task], task: Task) -> list[str]:
    """Things that the newest other one of the tasks, oldest first, is about: what a person chose, else what its goal
    names.
    """
    for other in reversed(tasks):
        meant = [name for answered in other.answers.clarifications for name in answered.meant]
        named = meant or [name for literal in other.status.goal for name in literal.args]
        if other is not task and named:
            return list(dict.fromkeys(named))
    return []
