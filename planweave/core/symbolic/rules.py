"""Rules that always hold, as data; planweave.core.symbolic.rule_check holds actions against them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from planweave.core.base.errors import InvalidActionError


@dataclass(frozen=True, slots=True)
class Description:
    """Objects by their noun, "" for anything, and the words before it; but: those that are left out."""

    noun: str = ""
    words: frozenset[str] = frozenset()
    but: tuple[Description, ...] = ()

    def __str__(self) -> str:
        said = " ".join(sorted((*self.words, self.noun or "thing"), key=lambda w: (w.isdigit(), w == self.noun, w)))
        left_out = f" but {' and '.join(map(str, self.but))}" if self.but else ""
        return ("anything" if said == "thing" else f"any {said}") + left_out

    @property
    def is_anything(self) -> bool:
        return not self.noun and not self.words and not self.but


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A literal that no action may bring about, whichever of the described objects it is of."""

    predicate: str
    things: tuple[Description, ...]
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. text: as it was written; untouched: objects that no action may touch; highest: m above the table that
    nothing carried may exceed; notes: what its reader should know.
    """

    text: str
    forbidden: tuple[Forbidden, ...] = ()
    untouched: tuple[Description, ...] = ()
    highest: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that an action would break, and by what."""

    rule: Rule
    by: str

    def __str__(self) -> str:
        return f'against the rule "{self.rule.text}": {self.by}'


class RuleError(InvalidActionError):
    """An action that would break a rule that always holds; broken: which, and by what."""

    code = "rule"

    def __init__(self, broken: Iterable[Broken]):
        self.broken = tuple(broken)
        super().__init__("; ".join(dict.fromkeys(map(str, self.broken))))


def highest(rules: Collection[Rule]) -> float | None:
    """The height in m that nothing carried may exceed, None where no rule says one."""
    return min((rule.highest for rule in rules if rule.highest is not None), default=None)
