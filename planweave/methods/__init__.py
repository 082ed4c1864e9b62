"""Planning methods: one file each, found through the entry points ``planweave.methods``.

A method is a dataclass of its options with ``run(episode)``, which acts until it has nothing left to do, and
``questions``, what it asks of the model.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from typing import Any

from planweave.core.plugins import Registry
from planweave.methods.question import Questions


def _wrong(method: Any) -> str:
    if not (isinstance(method, type) and is_dataclass(method) and callable(getattr(method, "run", None))):
        return "a method is a dataclass of its options with run(episode)"
    if not isinstance(getattr(method, "questions", Questions()), Questions):
        return "the attribute questions is no planweave.methods.question.Questions"
    return ""


METHODS = Registry("planweave.methods", "method", _wrong)


@cache
def questions() -> Questions:
    """The questions of all methods together."""
    merged = Questions()
    for method in reversed(METHODS.working().values()):  # of a name that two methods use, the first stays
        merged |= getattr(method, "questions", Questions())
    return merged
