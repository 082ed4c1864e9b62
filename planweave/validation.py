"""Check a whole plan against the domain before it runs, and say why it fails where it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planweave.domain import Domain
from planweave.errors import PlanweaveError
from planweave.state import AtomKey
from planweave.transition import Change, Transition
from planweave.world import Action, Literal, World


@dataclass(frozen=True)
class Cause:
    """Why a literal does not hold where it is needed.

    destroyed_by is the index of the step that made it false, None where it never held; achievers are the names of
    the domain's actions that can make it true.
    """

    literal: Literal
    destroyed_by: int | None
    achievers: tuple[str, ...]


@dataclass(frozen=True)
class Validation:
    """Result of checking a plan. failed_step indexes the first step that cannot be done, None if all can.

    world is the predicted state after the last step that can be done; goal_unmet what of the goal fails there.
    """

    ok: bool
    failed_step: int | None
    causes: tuple[Cause, ...]
    message: str
    world: World
    goal_unmet: tuple[Literal, ...] = ()


def achievers(domain: Domain, literal: Literal) -> tuple[str, ...]:
    """Names of the actions with an effect that can make a literal true."""
    return tuple(
        schema.name for schema in domain.actions.values()
        if any(
            atom.predicate == literal.predicate
            for effect in schema.effects for atom in (effect.add if literal.positive else effect.delete)
        )
    )


class Validator:
    """Checks plans that all start from one world; what is made of the world once serves them all. One thread's."""

    def __init__(self, domain: Domain, world: World) -> None:
        self._domain, self._world = domain, world
        self._transition = Transition(domain, world)
        self._state = self._transition.state()

    def check(self, actions: Sequence[Action], goal: Sequence[Literal] = ()) -> Validation:
        """Run a plan through the transition function; the first failing step and its cause chain, then the goal."""
        changes: list[Change] = []
        try:
            return self._run(actions, goal, changes)
        finally:
            for change in reversed(changes):
                self._transition.undo(self._state, change)

    def _run(self, actions: Sequence[Action], goal: Sequence[Literal], changes: list[Change]) -> Validation:
        for index, action in enumerate(actions):
            try:
                missing = self._transition.unmet(self._state, action)
            except PlanweaveError as error:
                here = self._after(changes)
                return Validation(False, index, (), f"step {index + 1}, {action}: {error}", here, here.unmet(goal))
            if missing:
                causes = tuple(_cause(self._domain, literal, changes) for literal in missing)
                reasons = "; ".join(_reason(cause, actions) for cause in causes)
                here, message = self._after(changes), f"step {index + 1}, {action}: {reasons}"
                return Validation(False, index, causes, message, here, here.unmet(goal))
            changes.append(self._transition.apply(self._state, action))
        end = self._after(changes)
        unmet = end.unmet(goal)
        if not unmet:
            return Validation(True, None, (), "every step can be done" + (" and the goal holds" if goal else ""), end)
        causes = tuple(_cause(self._domain, literal, changes) for literal in unmet)
        reasons = "; ".join(_reason(cause, actions) for cause in causes)
        return Validation(False, None, causes, f"the goal is not reached: {reasons}", end, unmet)

    def _after(self, changes: Sequence[Change]) -> World:
        """The world after changes; only what changed is made anew, since a home has ten thousand facts."""
        added: set[AtomKey] = set()
        deleted: set[AtomKey] = set()
        for change in changes:
            added = (added - change.deleted) | change.added
            deleted = (deleted | change.deleted) - change.added
        facts = self._world.facts
        if deleted:
            facts = facts.difference([Literal(f[0], f[1:]) for f in deleted])
        if added:
            facts = facts.union([Literal(f[0], f[1:]) for f in added])
        return replace(self._world, facts=facts)


def validate(
    domain: Domain, world: World, actions: Sequence[Action], goal: Sequence[Literal] = ()
) -> Validation:
    """Check one plan; `Validator` for several from the same world."""
    return Validator(domain, world).check(actions, goal)


def _cause(domain: Domain, literal: Literal, changes: list[Change]) -> Cause:
    key = (literal.predicate, *literal.args)
    for index in range(len(changes) - 1, -1, -1):
        change = changes[index]
        if key in (change.deleted if literal.positive else change.added):
            return Cause(literal, index, achievers(domain, literal))
    return Cause(literal, None, achievers(domain, literal))


def _reason(cause: Cause, actions: Sequence[Action]) -> str:
    if cause.destroyed_by is not None:
        return f"{cause.literal} does not hold since step {cause.destroyed_by + 1}, {actions[cause.destroyed_by]}"
    way = f" (made so by {', '.join(cause.achievers)})" if cause.achievers else " (no action can make it so)"
    return f"{cause.literal} does not hold{way}"
