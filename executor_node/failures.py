"""How a skill ends early: one exception that carries the code and the text that a planner will read."""

from __future__ import annotations

from planweave.errors import PlanweaveError
from planweave.failure import Code
from planweave.world import Literal


class SkillFailureError(PlanweaveError):
    """A skill could not be carried out. unmet names the literals that do not hold, where they are known."""

    def __init__(self, code: Code, message: str, unmet: tuple[Literal, ...] = ()):
        super().__init__(message)
        self.code, self.message, self.unmet = code, message, unmet
