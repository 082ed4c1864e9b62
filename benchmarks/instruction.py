"""A sentence that others wrote, in a world that has what it names, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import AmbiguityError
from planweave.core.workflow.reading import Reading


@dataclass(frozen=True)
class Instruction:
    """One sentence of a set. verdict: of a reading, "right", "wrong" or "not judged". contradicted: the set's goal is
    not what the sentence says.
    """

    set: str
    id: str
    domain: Domain
    world: World
    text: str
    verdict: Callable[[Reading], str] = field(repr=False)
    contradicted: bool = False

    def read_by(self, read: Callable[[Domain, World, str], Reading]) -> dict[str, Any]:
        """What became of it, as plain JSON values: what was said, and the verdict; "asked" and "refused" as well, and
        "contradicted" for what is not right of a sentence whose goal is not what it says.
        """
        row = self._row(read)
        return row if not self.contradicted or row["verdict"] == "right" else {**row, "verdict": "contradicted"}

    def _row(self, read: Callable[[Domain, World, str], Reading]) -> dict[str, Any]:
        try:
            got = read(self.domain, self.world, self.text)
        except AmbiguityError as error:
            return {"verdict": "asked", "said": str(error), "choices": [c.label for c in error.question.choices]}
        except GoalError as error:
            return {"verdict": "refused", "said": str(error)}
        return {
            "verdict": self.verdict(got),
            "said": got.answer or " & ".join(map(str, got.goal)),
            "before": [" & ".join(map(str, step)) for step in got.before],
            "keep": [*map(str, got.keep)],
            "source": got.source,
        }
