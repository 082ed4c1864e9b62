"""Sentences that correct what the task before has understood: "no, the other one", "no, that is a coaster"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.goals import split_naming
from planweave.tasks.task import Task

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
