"""FF-Replan (Yoon, Fern and Givan, ICAPS 2007), the classical baseline of the BCR paper, Section V.C.

Determinise the uncertain effects, plan, act; replan when the observed state differs from the predicted one. No language
model. Predicted effects on unobserved objects are assumed until an action fails: an agent that walked to a cup and does
not see it tries to take it, and learns that it is in a closed container.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from planweave.core.base.failure import Code
from planweave.core.base.parameter import option
from planweave.core.checks.assumptions import UnobservedEffects, never_seen
from planweave.core.checks.validation import Goal, unmet_goal
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.rules import RuleError
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Known, Literal, World
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

#: Failures that say that a thing cannot be reached from here, and how often: trying the same again is of no use then.
#: What has stopped the arm on its way may not do so on another, and another look may show a grasp.
_OUT_OF_REACH = {Code.UNREACHABLE: 1, Code.PLANNING_FAILED: 1, Code.COLLISION: 2}
_NO_GRASP = 2  # searches in which no grasp was free, with what that shows to be false, after which there is none
_LOOK = 10.0  # s for a look
_HOLDING = "holding"


def _held(world: World) -> set[str]:
    """Names of what the hand holds, as far as it is known."""
    return {fact.args[0] for fact in world.by_predicate.get(_HOLDING, ())}


def _check_there(episode: Episode, world: World) -> None:
    """Raise NoPlanError where an object of the goal, which was there when the task began, is known no more."""
    gone = [name for name in dict.fromkeys(a for g in episode.goal for a in g.args) if name not in world.by_name]
    if gone:
        are = "are" if len(gone) > 1 else "is"
        raise NoPlanError(f"{', '.join(map(spoken, gone))} {are} not seen where last known", proved=False)


def _check_seen(episode: Episode, world: World) -> None:
    """Raise NoPlanError where an object of the goal was never seen."""
    names = dict.fromkeys(a for g in world.unmet(episode.goal) for a in g.args)
    hidden = [n for n in names if (thing := world.by_name.get(n)) is not None and thing.known < Known.REMEMBERED]
    if hidden:
        raise NoPlanError(
            f"nobody has seen {', '.join(map(spoken, hidden))}, and FF-Replan-limited cannot search; "
            "leave classical.limited off, or take another method",
            proved=False,
        )


@dataclass
class Classical(PaperMode):
    """max_replans: number of replans; plan_timeout: seconds per search; retries: of one action that fails
    otherwise than by _OUT_OF_REACH.

    limited: the place of a goal's object that was never seen is unknown to the planner, which cannot search for it.
    """

    formula_goals: ClassVar = True  # it has no prompts, which need literals

    max_replans: int = option(20, "plans after the first at most", 0, 1000)
    plan_timeout: float = option(5.0, "seconds for one search", 0.1, 600.0)
    retries: int = option(3, "repetitions of one action that fails, but not for want of a way or reach", 0, 100)
    limited: bool = option(False, "plan only for objects that were seen (FF-Replan-limited of the BCR paper)")

    def run(self, episode: Episode) -> None:
        """Act until the goal holds in the observed world; raises NoPlanError where no plan reaches it. What was taken
        and could not be put where it was to be is put down again.
        """
        with self._putting_back(episode):
            disproved: dict[Literal, frozenset[Literal]] = {}  # what acting showed to be false, and in what facts
            predicted = UnobservedEffects()
            failures: dict[Action, list[str]] = {}  # messages of the failures of every action, the last failed one last
            tried: set[tuple[object, ...]] = set()  # what was known and planned before plans in which no action failed
            self._no_room: dict[Action, frozenset[Literal]] = {}  # ways to put down what is held that failed, likewise
            self._surprise = ""  # why the last plan was given up, in words
            looked = 0  # the attempt before which another look was taken: what one look shows badly is no proof
            world = episode.observe()
            for attempt in range(self.max_replans + 1):
                if not world.unmet(episode.goal):
                    return
                episode.tell("planning" if attempt == 0 else "planning again")
                try:
                    plan, believed = self._next(episode, world, disproved, predicted, failures)
                except NoPlanError:
                    anew = world if attempt in (0, looked) else episode.look(_LOOK)
                    if anew.facts == world.facts:
                        raise
                    looked, world = attempt + 1, anew
                    continue
                episode.journal.add(
                    "classical_plan",
                    actions=[str(a) for a in plan],
                    attempt=attempt,
                    assumed=[str(f) for f in sorted(predicted.facts)],
                )
                asked = {a for g in world.unmet(episode.goal) for a in g.args}
                hidden = sorted(asked & never_seen(episode.domain, world))
                situation = (believed.facts, plan, sum(map(len, failures.values())))
                if not plan or (hidden and situation in tried):
                    why = f", since {', '.join(map(spoken, hidden))} was never seen" if hidden else ""
                    episode.tell(
                        message=f"all that can be done is done, and whether it had its effect cannot be seen{why}"
                    )
                    return
                tried.add(situation)
                world = self._follow(episode, plan, world, disproved, predicted, failures)
                gave_up = (
                    list(failures)[-1:]
                    if episode.stopped
                    else [a for a, said in failures.items() if len(said) > self.retries]
                )
                for action in gave_up:
                    count = len(failures[action])
                    often = f" {count} times, at last" if count > 1 else ""
                    episode.tell(message=f"gave up: {action} failed{often} since: {failures[action][-1]}")
                if episode.stopped or gave_up:
                    return
                if world.unmet(episode.goal) and attempt < self.max_replans:
                    episode.corrections += 1
            episode.tell(
                message=f"gave up after {self.max_replans} replans"
                + (f", at last since {self._surprise}" if self._surprise else "")
            )

    @contextlib.contextmanager
    def _putting_back(self, episode: Episode) -> Iterator[None]:
        """Put down what an attempt has left in the hand at its end, and say so."""
        had = _held(episode.observe())
        try:
            yield
        except NoPlanError as error:
            raise NoPlanError(f"{error}{self._put_back(episode, had)}", error.proved, error.brief) from None
        if put_back := self._put_back(episode, had):
            episode.tell(message=f"{episode.message}{put_back}")

    def _put_back(self, episode: Episode, had: set[str]) -> str:
        """Put down what an attempt that failed has left in the hand, where nothing is in the way; what became of it, in
        words, empty where it holds nothing, or what it held before. Nothing moves after a stop.
        """
        world = episode.observe()
        held = _held(world) - had - {name for g in episode.goal if g.predicate == _HOLDING for name in g.args}
        able = episode.domain.extra.get("aside") and not (episode.stopped or episode.dry_run or world.silent)
        if not held or not able or self.paper or not world.unmet(episode.goal):
            return ""
        failed, trouble = episode.failed, episode.trouble
        try:
            plan = self._searched(episode, world, (Literal("hand_empty"),))
            if all(episode.execute(action).ok for action in plan):
                return f"; what the hand held was put down again: {', '.join(map(episode.domain.phrase, plan))}"
            return f"; the hand still holds {', '.join(map(spoken, sorted(held)))}"
        except NoPlanError:
            return ""
        finally:
            episode.failed, episode.trouble = failed, trouble

    def _next(
        self,
        episode: Episode,
        world: World,
        disproved: dict[Literal, frozenset[Literal]],
        predicted: UnobservedEffects,
        failures: Mapping[Action, Sequence[str]],
    ) -> tuple[tuple[Action, ...], World]:
        """A plan, and the world as it is believed to be; raises NoPlanError. Forgets what was disproved in others."""
        _check_there(episode, world)
        if self.limited:
            _check_seen(episode, world)
        now = _circumstances(world)
        for fact in [fact for fact, then in disproved.items() if then != now]:
            del disproved[fact]
        self._no_room = {a: then for a, then in self._no_room.items() if then == _circumstances(world, a.args[0])}
        found = {fact.negated() for fact in disproved if not fact.positive}
        facts = world.facts.difference(disproved).union(found)
        believed = predicted.applied_to(episode.domain, replace(world, facts=facts))
        return self._solve(episode, believed, disproved, failures), believed

    def _solve(
        self,
        episode: Episode,
        world: World,
        disproved: Mapping[Literal, object],
        failures: Mapping[Action, Sequence[str]],
    ) -> tuple[Action, ...]:
        """A plan; raises NoPlanError, with what has failed where it is that which leaves no plan. Where states are
        asked for, as of two drawers, it is first a plan for those that can be reached: that may clear the way.
        """
        others = world.actions_off | {action.name for action in self._no_room}
        if others != world.actions_off:  # another side, say, of what a thing shall be near to
            with contextlib.suppress(NoPlanError):
                return self._searched(episode, replace(world, actions_off=others), episode.goal)
        full = {Literal("reachable", (name,)) for action in self._no_room for name in action.args[1:]}
        world = replace(world, facts=world.facts - full)
        names = {name for literal in (*disproved, *full) for name in literal.args}
        able = tuple(g for g in episode.goal if not names & set(g.args))
        states = all(len(g.args) == 1 for g in world.unmet(episode.goal))
        try:
            return self._searched(episode, world, able if states and world.unmet(able) else episode.goal)
        except NoPlanError as error:
            because = [said[-1] for action, said in failures.items() if names & set(action.args)]
            if not because:
                raise
            why = "; ".join(dict.fromkeys(because))  # what else is named follows from what is taken to be out of reach
            raise NoPlanError(f"{why}; without that, {error.brief}", error.proved) from None

    def _searched(self, episode: Episode, world: World, goal: Goal) -> tuple[Action, ...]:
        """A plan that keeps the domain's rules; raises NoPlanError."""
        return solve(episode.domain, world, goal, self.plan_timeout, all_outcomes=True, namespace=episode.namespace)

    def _follow(
        self,
        episode: Episode,
        plan: tuple[Action, ...],
        world: World,
        disproved: dict[Literal, frozenset[Literal]],
        predicted: UnobservedEffects,
        failures: dict[Action, list[str]],
    ) -> World:
        """Execute a plan to its end, or until the state differs from the predicted one; returns the observed world."""
        for index, action in enumerate(plan):
            rest = plan[index + 1 :]
            episode.intend(plan[index:])
            outcome = episode.execute(action)
            observed = outcome.world
            if not outcome.ok:
                failures[action] = [*failures.pop(action, []), outcome.message]
                self._surprise = f"it could not {episode.domain.phrase(action)}: {outcome.message}"
                predicted.discard(action)
                if outcome.final:
                    return observed
                none_is_free = outcome.code is Code.NO_GRASP and outcome.unmet
                most = _NO_GRASP if none_is_free else _OUT_OF_REACH.get(outcome.code, 0)
                if 0 < most <= len(failures[action]):
                    held = observed.holds(Literal(_HOLDING, action.args[:1]))
                    around, then = (_circumstances(w, action.args[0] if held else "") for w in (observed, world))
                    now = _circumstances(observed)
                    to = [observed.by_name.get(name) for name in action.args[held:]]
                    shown = {fact: now for fact in outcome.unmet if observed.holds(fact)}  # but by trying it
                    if around != then:
                        pass  # another try may find a way
                    elif shown:
                        disproved.update(shown)
                    elif held and any(thing is not None and thing.type != "location" for thing in to):
                        self._no_room[action] = around
                    else:
                        disproved.update((Literal("reachable", (name,)), now) for name in action.args[held:])
                return observed
            predicted.record(episode.domain, world, observed, action)
            missing = self._missing(episode, predicted.applied_to(episode.domain, observed), rest)
            if missing:
                before, self._surprise = self._surprise, f"after it did '{episode.domain.phrase(action)}', {missing}"
                if self._surprise == before:  # a third time would have the same end: what is put aside goes elsewhere
                    asked, now = {a for g in observed.unmet(episode.goal) for a in g.args}, _circumstances(observed)
                    disproved.update((Literal("reachable", (n,)), now) for n in action.args[1:] if n not in asked)
                return observed
            world = observed
        return world

    def _missing(self, episode: Episode, world: World, rest: tuple[Action, ...]) -> str:
        """Why the rest of the plan does not reach the goal from the observed world, "" where it does.

        Only such differences from the prediction cause a replan.
        """
        phrases = episode.domain.phrases
        transition = Transition(episode.domain, world)
        state = transition.state()
        for action in rest:
            gone = [arg for arg in action.args if arg not in world.by_name]
            if gone:
                return f"{gone[0]} is not there any more"
            try:
                unmet = transition.unmet(state, action)
            except RuleError as error:
                return str(error)
            if unmet:
                return phrases((u.negated() for u in unmet), 3)
            transition.apply(state, action)
        return phrases((g.negated() for g in unmet_goal(transition, state, episode.goal)), 3)


def _circumstances(world: World, moved: str = "") -> frozenset[Literal]:
    """Facts of the things around the arm, which decide what it reaches: without those of what it holds and reaches, and
    of one that it has taken itself.
    """
    others = ("reachable", "holding", "clear")
    return frozenset(f for f in world.facts if f.args and f.predicate not in others and f.args[0] != moved)
