"""Behaviour trees over the actions and predicates of a domain: sequences, fallbacks, conditions and actions.

Semantics as in BehaviorTree.CPP 4: a Sequence ends at its first child that fails, a Fallback at its first child that
succeeds, and every child is carried out to its end before the next one begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from planweave.core.base.errors import GoalError, InvalidActionError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.action_tree import TreeNode


@dataclass(frozen=True, slots=True)
class ActionNode:
    """An action of the domain; fails where the body does not carry it out. line: in the file it was read from."""

    action: Action
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ConditionNode:
    """A condition: a literal that holds in the observed world, or does not."""

    literal: Literal
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """All children in order, until one fails."""

    children: tuple[Tree, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FallbackNode:
    """The children in order, until one succeeds."""

    children: tuple[Tree, ...]
    line: int = field(default=0, compare=False)


Tree = ActionNode | ConditionNode | SequenceNode | FallbackNode


def nodes(tree: Tree) -> Iterator[Tree]:
    """This node and all below it, parents first."""
    yield tree
    if isinstance(tree, (SequenceNode, FallbackNode)):
        for child in tree.children:
            yield from nodes(child)


def play(tree: Tree, act: Callable[[Action], bool], holds: Callable[[Literal], bool]) -> bool:
    """Carry out a tree once; whether it succeeds. act: executes an action, holds: evaluates a condition."""
    if isinstance(tree, ActionNode):
        return act(tree.action)
    if isinstance(tree, ConditionNode):
        return holds(tree.literal)
    results = (play(child, act, holds) for child in tree.children)
    return all(results) if isinstance(tree, SequenceNode) else any(results)


def check_names(domain: Domain, world: World, tree: Tree) -> None:
    """Check all actions and conditions, also of branches never reached; raises InvalidActionError with the line."""
    for node in nodes(tree):
        try:
            if isinstance(node, ActionNode):
                domain.check_action(node.action, world)
            elif isinstance(node, ConditionNode):
                domain.check_literal(node.literal, world)
        except PlanweaveError as error:
            where = f"line {node.line}: " if node.line else ""
            raise InvalidActionError(f"{where}{error}") from None


def sequence_of(actions: Iterable[Action], goal: Iterable[Literal] = ()) -> Tree:
    """A plan as a tree: its actions in order, then the goal as conditions; raises GoalError where there is neither."""
    children: tuple[Tree, ...] = (*map(ActionNode, actions), *map(ConditionNode, goal))
    if not children:
        raise GoalError("there is nothing to export: no action was planned or executed, and the goal is not known")
    return SequenceNode(children)


def tree_of_samples(root: TreeNode, goal: tuple[Literal, ...]) -> Tree:
    """An action tree (`planweave.core.trees.action_tree`) as a behaviour tree: forks are fallbacks, most sampled branch
    first, and each sampled plan ends with the goal as conditions.
    """
    if not goal:
        raise GoalError("the goal is not known, so that no branch of the tree could tell whether it is reached")
    return _one(_below(root, goal))


def _below(node: TreeNode, goal: tuple[Literal, ...]) -> tuple[Tree, ...]:
    branches = [_branch(child, goal) for child in sorted(node.children.values(), key=lambda c: -c.samples)]
    return branches[0] if len(branches) == 1 else (FallbackNode(tuple(map(_one, branches))),)


def _branch(node: TreeNode, goal: tuple[Literal, ...]) -> tuple[Tree, ...]:
    if node.action is None:
        return tuple(map(ConditionNode, goal))
    return (ActionNode(node.action), *_below(node, goal))


def _one(parts: tuple[Tree, ...]) -> Tree:
    return parts[0] if len(parts) == 1 else SequenceNode(parts)
