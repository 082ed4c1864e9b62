"""An action tree for display: rows of ActionTree.msg as text, JSON and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planweave.core.trees.action_tree import Status


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
    """Rows as plain JSON values."""
    return [{**asdict(row), "status": row.status.name.lower()} for row in rows]
