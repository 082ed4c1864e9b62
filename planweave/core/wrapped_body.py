"""Bodies around another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planweave.core.domain import Domain
from planweave.core.errors import PlanweaveError
from planweave.core.ports import Look, LookingBody, Outcome
from planweave.core.transition import completed
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


class CompletedBody(WrappedBody):
    """A body whose worlds have the constants of their domain, and what its derived predicates follow from the rest."""

    def __init__(self, body: LookingBody, load_domain: Callable[[str], Domain]) -> None:
        super().__init__(body)
        self._load_domain = load_domain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def observe(self, revision: int = 0) -> World:
        """See planweave.core.ports.Body."""
        return self._completed(self._body.observe(revision))

    def look(self, seconds: float) -> Look:
        """See planweave.core.ports.LookingBody."""
        look = self._body.look(seconds)
        world = self._completed(look.world)
        return look if world is look.world else replace(look, world=world)

    def execute(self, action: Action, **options: Any) -> Outcome:
        """See planweave.core.ports.Body."""
        outcome = self._body.execute(action, **options)
        world = self._completed(outcome.world)
        return outcome if world is outcome.world else replace(outcome, world=world)

    def _completed(self, world: World) -> World:
        try:
            domain = self._load_domain(world.domain)
        except PlanweaveError:  # raised again where the domain is needed
            return world
        return completed(domain, world)
