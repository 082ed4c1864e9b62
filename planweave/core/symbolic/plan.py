"""Plans as sampled, with the corrections made by post-processing; and plan files, one action a line, as Planweave, VAL,
Fast Downward, FF, ENHSP and kairos write them.

``(stack a b)``, ``3: (stack a b) [1]``, ``step 3: STACK A B``, ``3. stack(a, b)`` and ``stack(a, b)`` are the same
step. A line that starts with ``;`` is a comment, and so is what follows ``;`` after a step in brackets; after
``stack(a, b)`` a ``;`` separates it from the next step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from planweave.core.base.errors import ParseError, PddlError
from planweave.core.base.yaml_files import read_text
from planweave.core.symbolic.world import Action


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step. text: phrase for people; original: what the model wrote, where a name was corrected."""

    action: Action
    text: str = ""
    original: str = ""


@dataclass(frozen=True, slots=True)
class CountedPlan:
    """A plan with the number of samples that produced it and, where known, their summed log-probability."""

    steps: tuple[PlanStep, ...]
    samples: int = 1
    logprob: float | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(step.action for step in self.steps)

    def __str__(self) -> str:
        return "; ".join(map(str, self.actions))


MAX_STEPS = 100_000
_NUMBER = re.compile(r"(?:step\s+)?(?P<time>\d+(?:\.\d+)?)\s*(?::|[.)](?=\s))\s*", re.I)
_BRACKETS = re.compile(r"\(\s*([^\s(),;]+(?:\s+[^\s(),;]+)*)\s*\)\s*")
_AFTER = re.compile(r"(?:\[[^\]]*\]\s*)?(?:;.*)?\Z")  # duration and cost in square brackets, and a comment
_PLAIN = re.compile(r"[^\s(),;\[\]]+(?:\s+[^\s(),;\[\]]+)*\Z")
_FORMS = "a step has the form (stack a b), as planners write it, or stack(a, b); a comment begins with ;"


def load_plan(path: str | Path) -> tuple[tuple[Action, ...], tuple[int, ...]]:
    """The steps of a plan file and the line of each; raises ConfigError where it cannot be read, or PddlError."""
    path = Path(path)
    return read_plan(read_text(path), path.name)


def read_plan(text: str, source: str = "plan") -> tuple[tuple[Action, ...], tuple[int, ...]]:
    """The steps of a text and the line of each; raises PddlError with source and line. Names are as written."""
    steps: list[Action] = []
    lines: list[int] = []
    last = 0.0

    def error(code: str, message: str) -> PddlError:
        return PddlError(f"{source}:{number}:1: {message}", code, number, 1)

    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        rest = line.strip()
        if not rest or rest.startswith(";"):
            continue
        head = _NUMBER.match(rest)
        if head is not None:
            rest = rest[head.end() :]
            time = float(head["time"])
            if time < last:
                raise error("plan-order", f"{time:g} comes after {last:g}: write the steps in the order of their times")
            last = time
        found = _steps(rest, numbered=head is not None)
        if found is None:
            raise error("syntax", f"cannot read {line.strip()[:80]!r}: {_FORMS}")
        steps += found
        lines += [number] * len(found)
        if len(steps) > MAX_STEPS:
            raise error("too-long", f"more than {MAX_STEPS} steps")
    return tuple(steps), tuple(lines)


def _steps(text: str, numbered: bool) -> list[Action] | None:
    """The steps of a line without its number, None where it has another form."""
    if text.startswith("("):
        found, at = [], 0
        while match := _BRACKETS.match(text, at):
            name, *args = match[1].split()
            found.append(Action(name, tuple(args)))
            at = match.end()
        return found if found and _AFTER.match(text, at) else None
    if numbered and _PLAIN.match(text):  # FF
        name, *args = text.split()
        return [Action(name, tuple(args))]
    try:
        return [Action.parse(part) for part in text.split(";") if part.strip()]
    except ParseError:
        return None
