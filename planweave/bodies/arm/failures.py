"""The exception that ends a skill, with a failure code and a message for planners."""

from __future__ import annotations

from planweave.core.base.errors import PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal


class SkillFailureError(PlanweaveError):
    """A skill failed.

    unmet: literals that do not hold, where known. obstacles: names of the blocking objects. permanent: a retry cannot
    succeed.
    """

    code: Code

    def __init__(
        self,
        code: Code,
        message: str,
        unmet: tuple[Literal, ...] = (),
        *,
        obstacles: tuple[str, ...] = (),
        permanent: bool = False,
    ):
        super().__init__(message)
        self.code, self.message, self.unmet = code, message, unmet
        self.obstacles, self.permanent = obstacles, permanent
