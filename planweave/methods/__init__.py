"""Planning methods: one file each, found through the entry points ``planweave.methods``.

A method is a dataclass of its options with ``run(episode)``, which acts until it has nothing left to do, and
``questions``, its requests to the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planweave.core.base.plugins import Registry
from planweave.methods.language.prompting import SAMPLE_SYSTEM, SAMPLE_USER
from planweave.methods.language.question import Questions


def _wrong(method: Any) -> str:
    if not (isinstance(method, type) and is_dataclass(method) and callable(getattr(method, "run", None))):
        return "a method is a dataclass of its options with run(episode)"
    asked = getattr(method, "questions", Questions())
    if not isinstance(asked, Questions):
        return "the attribute questions is not a planweave.methods.language.question.Questions"
    if not isinstance(asked.sample, Mapping):
        return "questions.sample is not a mapping of names to folders of prompts"
    for name, folder in asked.sample.items():
        for file in (SAMPLE_SYSTEM, SAMPLE_USER):
            if not (Path(folder) / file).is_file():
                return f"questions.sample[{name!r}]: there is no prompt file {Path(folder) / file}"
    return ""


METHODS = Registry("planweave.methods", "method", _wrong)


def asks_model(name: str) -> bool:
    """Whether a method needs a model except for interpreting the goal; raises UnknownNameError or PluginError."""
    return bool(getattr(METHODS[name], "questions", False))


@cache
def questions() -> Questions:
    """The questions of all methods together."""
    merged = Questions()
    for method in reversed(METHODS.working().values()):  # of a name that two methods use, the first stays
        merged |= getattr(method, "questions", Questions())
    return merged
