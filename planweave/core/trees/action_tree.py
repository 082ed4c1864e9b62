"""The action tree of Tree-Planner (Hu et al., ICLR 2024, Section 3.2 and Algorithm 1)."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from planweave.core.symbolic.plan import CountedPlan
from planweave.core.symbolic.world import Action


class Status(enum.IntEnum):
    """State of a node; the numbers are those of ActionNode.msg."""

    UNTRIED = 0
    CURRENT = 1
    DONE = 2
    FAILED = 3
    INVALID = 4
    UNDONE = 5


@dataclass(eq=False)
class TreeNode:
    """A node (action, time step). action is None for the root and for an end leaf, which closes a sampled plan.

    samples counts the sampled plans through the edge to this node; logprob is the log of their summed probability, each
    the mean of its plan's steps: of whole plans the shortest would be the most probable ones.
    """

    action: Action | None
    time_step: int
    parent: TreeNode | None = None
    samples: int = 0
    logprob: float | None = None
    status: Status = Status.UNTRIED
    children: dict[Action | None, TreeNode] = field(default_factory=dict)

    @property
    def is_end(self) -> bool:
        return self.action is None and self.parent is not None

    @property
    def valid(self) -> bool:
        return self.status not in (Status.FAILED, Status.INVALID)

    def valid_children(self) -> list[TreeNode]:
        """Children that may still be tried, most sampled first."""
        return sorted((c for c in self.children.values() if c.valid), key=lambda c: -c.samples)

    def subtree(self) -> Iterator[TreeNode]:
        """This node and all below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children.values()))

    def invalidate(self) -> None:
        """Mark the whole subtree as invalid."""
        for node in self.subtree():
            if node.status is not Status.FAILED:
                node.status = Status.INVALID


def build_tree(plans: Iterable[CountedPlan]) -> TreeNode:
    """Merge plans by their shared prefixes (Algorithm 1); returns the root."""
    root = TreeNode(None, 0)
    for plan in plans:
        node = root
        root.samples += plan.samples
        for step, action in enumerate([*plan.actions, None], 1):
            child = node.children.get(action)
            if child is None:
                child = node.children[action] = TreeNode(action, step, node)
            child.samples += plan.samples
            if plan.logprob is not None:
                child.logprob = _log_add(child.logprob, plan.logprob / (len(plan.actions) + 1))
            node = child
    return root


def _log_add(a: float | None, b: float) -> float:
    if a is None:
        return b
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high))


@dataclass(frozen=True)
class TreeRow:
    """One node; the root has id 0 and parent -1. action is written name(argument, …), "[END]" for an end leaf."""

    id: int
    parent: int
    action: str
    time_step: int
    samples: int
    status: Status


def children_of(rows: Sequence[TreeRow]) -> dict[int, list[TreeRow]]:
    """Children by the id of their parent, most sampled first."""
    result: dict[int, list[TreeRow]] = {}
    for row in rows:
        if row.parent >= 0:
            result.setdefault(row.parent, []).append(row)
    for siblings in result.values():
        siblings.sort(key=lambda row: (-row.samples, row.id))
    return result


def with_fallback(rows: Sequence[TreeRow], record: Mapping[str, Any]) -> tuple[TreeRow, ...]:
    """Rows, with the steps of the fallback planner as one branch below the root, each action done or failed.

    record: the task's event record. Without this branch the tree of a task that the fallback completed shows only
    failures.
    """
    found = list(rows) or [TreeRow(0, -1, "", 0, 0, Status.UNTRIED)]
    parent = 0
    for event in record.get("events", []):
        if event.get("event") == "action" and event.get("why") == "fallback":
            done = event.get("code") == "SUCCESS"
            row = TreeRow(
                max(r.id for r in found) + 1,
                parent,
                f"{event.get('action')}  (classical planner)",
                next(r.time_step for r in found if r.id == parent) + 1,
                0,
                Status.DONE if done else Status.FAILED,
            )
            found.append(row)
            parent = row.id if done else parent
    return tuple(found) if len(found) > 1 else tuple(rows)


def as_json(rows: Sequence[TreeRow]) -> list[dict[str, Any]]:
    return [{**asdict(row), "status": row.status.name.lower()} for row in rows]
