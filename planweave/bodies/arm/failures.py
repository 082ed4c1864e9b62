"""The exception that ends a skill, with a failure code and a message for planners."""

from __future__ import annotations

from planweave.core.base.errors import ActionFailureError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal


class SkillFailureError(ActionFailureError):
    """A skill failed.

    unmet: literals that do not hold, where known. obstacles: names of the blocking objects. permanent: a retry cannot
    succeed.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        unmet: tuple[Literal, ...] = (),
        *,
        obstacles: tuple[str, ...] = (),
        permanent: bool = False,
    ):
        super().__init__(message, code)
        self.message, self.unmet = message, unmet
        self.obstacles, self.permanent = obstacles, permanent
