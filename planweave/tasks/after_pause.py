"""Decision about an action whose task was paused: whether it is done, goes on, or is no longer right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from planweave.core.base.failure import Code
from planweave.core.checks.validation import Validation, validate
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.transition import Change, Transition
from planweave.core.symbolic.world import Action, Known, Literal, World, WorldObject
from planweave.core.workflow.ports import Outcome
from planweave.methods.running.method_run import ReachedMeanwhileError


@dataclass(frozen=True)
class Resumed:
    """The world as it was when a task was paused, None where nobody knows it, and as the fresh look showed it
    afterwards. changes: what is different, in words.
    """

    before: World | None
    now: World
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AfterPause:
    """Decides how a task goes on after a pause; every decision is by the domain alone."""

    domain: Domain
    goal: tuple[Literal, ...]
    resumed: Resumed

    @property
    def now(self) -> World:
        """The world to go on from."""
        return self.resumed.now.with_derived(self.goal)

    def problem(self, plan: Sequence[Action]) -> Outcome | None:
        """The failure of a plan's first step where the plan gets less far now than before the pause; raises
        ReachedMeanwhileError.
        """
        self._check_goal()
        before = self.resumed.before
        return None if before is None else self._worse(before.with_derived(self.goal), plan, plan)

    def rest(self, began: World, plan: Sequence[Action]) -> Action | Outcome:
        """The action with which a plan goes on whose first one was interrupted, or its outcome where that is decided:
        it is done, or no longer right. began: the world before it. Raises ReachedMeanwhileError.
        """
        if self._is_done(began, plan[0]):
            return Outcome(Code.SUCCESS, "it was done when it was interrupted, as seen after the pause", self.now)
        self._check_goal()
        step = self._next_step(began, plan[0])
        if step is None:
            return self._failure(plan[0], validate(self.domain, self.now, plan[:1]))
        return self._worse(began, plan, (step, *plan[1:])) or step

    def _check_goal(self) -> None:
        """Raise where the goal, which did not hold, was brought about during the pause."""
        before = self.resumed.before
        if before is not None and before.with_derived(self.goal).unmet(self.goal) and not self.now.unmet(self.goal):
            raise ReachedMeanwhileError("the goal was reached while the task was paused")

    def _worse(self, began: World, before: Sequence[Action], plan: Sequence[Action]) -> Outcome | None:
        """The failure of a plan's first step where it gets less far now than the one before did where it began."""
        courses = (began, before), (self.now, plan)
        was, now = (validate(self.domain, world, steps, self.goal) for world, steps in courses)
        if now.failed_step is not None:
            worse = was.failed_step is None or now.failed_step < was.failed_step
        else:
            worse = was.possible and not now.possible
        return self._failure(plan[0], now) if worse else None

    def _is_done(self, began: World, action: Action) -> bool:
        """Whether all that an interrupted action brings about is so, and something is that it changes."""
        change = self._change(began, action)
        return bool(change.added or change.deleted) and _holds(self.now, change)

    def _next_step(self, began: World, action: Action) -> Action | None:
        """The action with which an interrupted one goes on: itself, where it is applicable; else one over the same
        things that was possible when the body stopped, still is, and brings about all the rest of it, as put where a
        pick-and-put holds the thing; None without one.
        """
        transition = Transition(self.domain, self.now)
        if transition.applicable(transition.state(), action):
            return action
        if self.resumed.before is None:
            return None
        stopped, wanted = Transition(self.domain, self.resumed.before), self._change(began, action)
        for step in self._over(action.args):
            possible = all(each.applicable(each.state(), step) for each in (stopped, transition))
            if possible and _holds(transition.result(self.now, step), wanted):
                return step
        return None

    def _change(self, began: World, action: Action) -> Change:
        transition = Transition(self.domain, began)
        return transition.apply(transition.state(), action)

    def _over(self, names: tuple[str, ...]) -> Iterator[Action]:
        for schema in self.domain.actions.values():
            if schema.name not in self.now.actions_off:
                yield from (Action(schema.name, args) for args in permutations(names, len(schema.parameters)))

    def _failure(self, action: Action, found: Validation) -> Outcome:
        first = found.failed_step == 0
        gone = any(name not in self.now.by_name for name in action.args)
        code = Code.UNKNOWN_OBJECT if first and gone else Code.PRECONDITION_UNMET
        changes = f" ({'; '.join(self.resumed.changes)})" if self.resumed.changes else ""
        return Outcome(
            code,
            f"while the task was paused somebody changed the world{changes}; nothing was moved since: {found.message}",
            self.now,
            tuple(cause.literal for cause in found.causes) if first else (),
        )


def _holds(world: World, change: Change) -> bool:
    return all(world.holds(Literal(f[0], f[1:])) for f in change.added) and not any(
        world.holds(Literal(f[0], f[1:])) for f in change.deleted
    )


MOVED = 0.02
"""Displacement of a thing that counts as a move, m: above the noise of a camera."""
_TOLD = 6  # facts that are told


def changes_between(domain: Domain, before: World, after: World) -> tuple[str, ...]:
    """Things that are gone, new or moved, and facts that hold no more or now; empty where nothing has changed."""
    said = [f"the {spoken(name)} is gone" for name in before.by_name if name not in after.by_name]
    said += [f"the {spoken(name)} is new" for name in after.by_name if name not in before.by_name]
    for name, old in before.by_name.items():
        if (new := after.by_name.get(name)) is not None and (far := _moved(old, new)) > MOVED:
            said.append(f"the {spoken(name)} was moved by {100 * far:.0f} cm")
    facts = _changed_facts(domain, before, after)
    said += [domain.phrase(fact) for fact in facts[:_TOLD]]
    return (*said, f"and {len(facts) - _TOLD} more facts") if len(facts) > _TOLD else tuple(said)


def _moved(old: WorldObject, new: WorldObject) -> float:
    """Displacement, m; 0 where it is not known."""
    if old.position is None or new.position is None or Known.FIXED in (old.known, new.known):
        return 0.0
    return math.dist(old.position, new.position)


def _changed_facts(domain: Domain, before: World, after: World) -> list[Literal]:
    """Facts of which people are told, and that are no longer, or only now, so; about things that are there."""
    lost = [fact.negated() for fact in sorted(before.facts - after.facts)]
    found = sorted(after.facts - before.facts)
    return [
        fact
        for fact in (*found, *lost)
        if fact.predicate in domain.spoken_of
        and fact.predicate not in {*before.derived, *after.derived}  # they follow from the places, which are told
        and all(name in after.by_name for name in fact.args)
    ]
