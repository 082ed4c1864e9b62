"""A behaviour tree that was given with its task: checked as plans are, then followed; no other method takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from planweave.core.base.errors import GoalError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.behaviour_tree import Tree, check_names, play
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
