"""The meaning of a sentence to the robot, whoever read it: the grammar, a model, a person or an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal

READING_KINDS = ("task", "question", "unclear", "cannot")


@dataclass(frozen=True)
class Reading:
    """A task, or the answer to a question about the world (InterpretGoal.srv).

    goal: literals that hold in the end; before: states to be reached first, in order, each verified when it is reached;
    keep: literals that hold now and that no action of the task may end, in the goal as well. source: who read it,
    "grammar", "model", "given". understood: the task in words, to compare with the intention; not_covered: words of the
    sentence that the task leaves out, about which a person is asked: none of one that is accepted. answer: not empty
    where the sentence was a question; then nothing is executed.

    A sentence that leaves open what is meant is a question back, AmbiguityError with its choices; one that cannot be
    said here is a GoalError. Their not_covered are the words that nothing here says.
    """

    goal: tuple[Literal, ...]
    source: str
    usage: Usage = field(default_factory=Usage)
    understood: str = ""
    answer: str = ""
    before: tuple[tuple[Literal, ...], ...] = ()
    keep: tuple[Literal, ...] = ()
    not_covered: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrittenReading:
    """A model's reading of a sentence, as written: names are not checked. kind: one of
    READING_KINDS.

    any_of: numbers, and of which literals so many are to hold; choices: a goal for each thing that may be meant; words:
    of the sentence, and what each became; not_covered: those that became nothing. The rest is as in `Reading`.
    """

    kind: str = "task"
    goal: tuple[Literal, ...] = ()
    before: tuple[tuple[Literal, ...], ...] = ()
    any_of: tuple[tuple[int, tuple[Literal, ...]], ...] = ()
    keep: tuple[Literal, ...] = ()
    choices: tuple[tuple[Literal, ...], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    not_covered: tuple[str, ...] = ()


def plain(value: Any) -> Any:
    """A value as JSON has it: literals and actions as texts, tuples as lists."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, (Literal, Action)):
        return str(value)
    return asdict(value) if isinstance(value, Usage) else value


def as_texts(wanted: Any) -> dict[str, Any]:
    """goal, before and keep of a reading, a choice or a request, as JSON has them."""
    return {key: plain(getattr(wanted, key)) for key in ("goal", "before", "keep")}


def from_texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `as_texts`, of a row that may have more; what it lacks is empty."""
    goal, keep = (tuple(map(Literal.parse, row.get(key, ()))) for key in ("goal", "keep"))
    return {"goal": goal, "before": states(row.get("before", ())), "keep": keep}


def states(written: Sequence[Sequence[str]]) -> tuple[tuple[Literal, ...], ...]:
    return tuple(tuple(map(Literal.parse, state)) for state in written)
