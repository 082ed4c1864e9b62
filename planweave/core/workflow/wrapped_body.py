"""Bodies around another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import completed, rule_problem
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Look, LookingBody, Outcome, StoppableBody


class WrappedBody:
    """Keeps planweave.core.workflow.ports.LookingBody; what a subclass does not change is the other body's, `begin` and
    `stop` (StoppableBody) where that has them. A wrapper decides in `execute`, before and after the other body's.
    """

    def __init__(self, body: LookingBody) -> None:
        self._body = body

    def observe(self, revision: int = 0) -> World:
        return self._body.observe(revision)

    def look(self, seconds: float) -> Look:
        return self._body.look(seconds)

    def execute(self, action: Action, **options: Any) -> Outcome:
        return self._body.execute(action, **options)

    @property
    def begin(self) -> Callable[[float], None]:
        """The other body's; AttributeError where that cannot be stopped."""
        return cast(StoppableBody, self._body).begin

    @property
    def stop(self) -> Callable[[Code, str], None]:
        """The other body's; AttributeError where that cannot be stopped."""
        return cast(StoppableBody, self._body).stop


class CompletedBody(WrappedBody):
    """A body whose worlds have the constants of their domain, what its derived predicates follow from the rest, and
    where things were when a task began (`since`).
    """

    def __init__(self, body: LookingBody, load_domain: Callable[[str], Domain]) -> None:
        super().__init__(body)
        self._load_domain = load_domain
        self._origins: Mapping[str, tuple[float, float, float]] = {}

    def since(self, before: World) -> CompletedBody:
        """The same body for a task that began in a world."""
        body = CompletedBody(self._body, self._load_domain)
        body._origins = before.taken(*before.by_name).origins
        return body

    def begin_anew(self, now: World, goal: Iterable[Literal]) -> None:
        """Reset the origins of the objects of these literals to where they are now."""
        self._origins = {**self._origins, **now.taken(*(g.args[0] for g in goal if g.args)).origins}

    def observe(self, revision: int = 0) -> World:
        return self._completed(self._body.observe(revision))

    def look(self, seconds: float) -> Look:
        look = self._body.look(seconds)
        world = self._completed(look.world)
        return look if world is look.world else replace(look, world=world)

    def execute(self, action: Action, **options: Any) -> Outcome:
        outcome = self._body.execute(action, **options)
        world = self._completed(outcome.world)
        return outcome if world is outcome.world else replace(outcome, world=world)

    def _completed(self, world: World) -> World:
        if self._origins:
            world = replace(world, origins=self._origins)
        try:
            domain = self._load_domain(world.domain)
        except PlanweaveError:  # raised again where the domain is needed
            return world
        return completed(domain, world)


class RuledBody(WrappedBody):
    """domain: with rules. An action that cannot be checked against them is refused, too."""

    def __init__(self, body: LookingBody, domain: Domain) -> None:
        super().__init__(body)
        self._domain = domain

    def execute(self, action: Action, **options: Any) -> Outcome:
        world = self._body.observe()
        try:
            why = rule_problem(self._domain, world, action)
        except PlanweaveError as error:
            unknown = isinstance(error, UnknownNameError) and error.kind == "object"
            return Outcome(Code.UNKNOWN_OBJECT if unknown else Code.INVALID_ACTION, f"{action}: {error}", world)
        if why:
            return Outcome(Code.INVALID_ACTION, f"nothing was moved, {why}", world)
        return self._body.execute(action, **options)
