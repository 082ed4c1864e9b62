"""How a skill ends early: one exception that carries the code and the text that a planner will read."""

from __future__ import annotations

from planweave.core.errors import PlanweaveError
from planweave.core.failure import Code
from planweave.core.world import Literal


class SkillFailureError(PlanweaveError):
    """A skill could not be carried out.

    unmet: the literals that do not hold, where they are known. obstacles: names of what is in the way. final: doing the
    same again cannot help.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        unmet: tuple[Literal, ...] = (),
        *,
        obstacles: tuple[str, ...] = (),
        final: bool = False,
    ):
        super().__init__(message)
        self.code, self.message, self.unmet = code, message, unmet
        self.obstacles, self.final = obstacles, final
