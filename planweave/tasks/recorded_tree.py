"""The plan and the tree of a recorded task, from the events of its journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.action_tree import build_tree
from planweave.core.trees.behaviour_tree import Tree, sequence_of, tree_of_samples
from planweave.core.trees.behaviour_tree_xml import read_tree

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
