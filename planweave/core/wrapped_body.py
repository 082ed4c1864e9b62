"""A body around another one."""

from __future__ import annotations

from typing import Any

from planweave.core.ports import Look, LookingBody, Outcome
from planweave.core.world import Action, World


class WrappedBody:
    """Keeps planweave.core.ports.LookingBody; what a subclass does not change is the other body's."""

    def __init__(self, body: LookingBody) -> None:
        self._body = body

    def observe(self, revision: int = 0) -> World:
        """See planweave.core.ports.Body."""
        return self._body.observe(revision)

    def look(self, seconds: float) -> Look:
        """See planweave.core.ports.LookingBody."""
        return self._body.look(seconds)

    def execute(self, action: Action, **options: Any) -> Outcome:
        """See planweave.core.ports.Body."""
        return self._body.execute(action, **options)
