"""A behaviour tree that was given with its task: checked as plans are, then followed; no other method takes over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planweave.core.base.errors import GoalError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.action_tree import build_tree
from planweave.core.trees.behaviour_tree import Tree, check_names, play, sequence_of, tree_of_samples
from planweave.core.trees.behaviour_tree_xml import read_tree
from planweave.core.workflow.ports import Outcome
from planweave.methods.running.episode import Episode
from planweave.tasks.dry_run import PredictedBody

GIVEN = "given"
"""The method's name in the status of such a task."""


def is_tree(method: str) -> bool:
    """Return whether the method of a request is not a name but a behaviour tree (XML)."""
    return method.lstrip("\ufeff \t\r\n").startswith("<")


@dataclass(frozen=True)
class Prediction:
    """The run of a tree where every applicable action succeeds. fault: why it does not reach the goal, or ""."""

    actions: tuple[Action, ...]
    fault: str = ""


def predict(domain: Domain, world: World, tree: Tree, goal: Sequence[Literal]) -> Prediction:
    """Play a tree against the domain's effects; raises InvalidActionError for unknown names, in any branch."""
    check_names(domain, world, tree)
    body, failures = PredictedBody(domain, world), []

    def act(action: Action) -> bool:
        outcome = body.execute(action)
        if not outcome.ok:
            failures.append(outcome.message)
        return outcome.ok

    def holds(literal: Literal) -> bool:
        found = body.observe().holds(literal)
        if not found:
            failures.append(f"the condition {literal} does not hold after {len(body.done)} steps")
        return found

    if not play(tree, act, holds):
        return Prediction(body.done, "; ".join(dict.fromkeys(failures)))
    check = body.check(goal)
    return Prediction(body.done, "" if check.possible else check.message)


class _StoppedError(PlanweaveError):
    """A person or a safety limit stopped the body."""


@dataclass
class GivenTree:
    """text: the tree as XML (`planweave.core.trees.behaviour_tree_xml`)."""

    text: str
    alone: ClassVar[bool] = True  # planweave.methods.running.method_run: no other method takes over

    def run(self, episode: Episode) -> None:
        """Follow the tree; raises GoalError before anything moves where it would not reach the goal."""
        tree = read_tree(episode.domain, self.text)
        prediction = predict(episode.domain, episode.observe(), tree, episode.goal)
        episode.journal.add(
            "given_tree", plan=[str(a) for a in prediction.actions], ok=not prediction.fault, check=prediction.fault
        )
        if prediction.fault:
            raise GoalError(f"the given plan does not reach the goal: {prediction.fault}")
        episode.intend(prediction.actions)
        failed: list[Outcome] = []
        try:
            succeeded = play(
                tree, lambda action: _acted(episode, action, failed), lambda x: _condition_holds(episode, x)
            )
        except _StoppedError:
            return
        if not succeeded:
            episode.tell(
                message=f"the given tree failed: {failed[-1].message if failed else 'a condition did not hold'}"
            )


def _acted(episode: Episode, action: Action, failed: list[Outcome]) -> bool:
    outcome = episode.execute(action)
    if not outcome.ok:
        failed.append(outcome)
    if outcome.final:
        raise _StoppedError
    return outcome.ok


def _condition_holds(episode: Episode, literal: Literal) -> bool:
    held = episode.observe().holds(literal)
    episode.journal.add("condition", literal=str(literal), holds=held)
    return held


Events = Sequence[Mapping[str, Any]]


def recorded_domain(events: Events) -> str:
    """Name of the domain of a task's goal; empty where the record does not tell it."""
    return next((str(event["domain"]) for event in _of(events, "goal", "episode") if event.get("domain")), "")


def recorded_goal(events: Events) -> tuple[Literal, ...]:
    """The goal of a task; empty where it was not read."""
    found = next((event["goal"] for event in _of(events, "goal", "episode") if event.get("goal")), ())
    return tuple(map(Literal.parse, found))


def recorded_plan(events: Events) -> tuple[Action, ...]:
    """The actions that were carried out, else those that were planned last; raises GoalError where there are none."""
    done = [event["action"] for event in _of(events, "action") if event["code"] == "SUCCESS"]
    if done:
        return tuple(map(Action.parse, done))
    planned = [event["plan"] for event in _of(events, "planned", "approval_asked", "given_tree") if event["plan"]]
    planned += [event["actions"] for event in _of(events, "classical_plan")]
    if not planned:
        raise GoalError("the task has neither carried out nor planned an action")
    return tuple(map(Action.parse, planned[-1]))


def recorded_tree(domain: Domain, events: Events) -> Tree:
    """The tree that was given with a task, or that of its valid sampled plans; without any, its plan as a sequence."""
    given = next((event["tree"] for event in _of(events, "submitted") if event.get("tree")), "")
    if given:
        return read_tree(domain, given)
    samples = [
        CountedPlan(tuple(PlanStep(Action.parse(action)) for action in event["actions"]), event["samples"])
        for event in _of(events, "plan")
        if event.get("valid")
    ]
    goal = recorded_goal(events)
    return tree_of_samples(build_tree(samples), goal) if samples else sequence_of(recorded_plan(events), goal)


def _of(events: Events, *names: str) -> Iterator[Mapping[str, Any]]:
    return (event for event in events if event.get("event") in names)
