"""An action tree as the console shows it: rows out of ActionTree.msg, for text, JSON and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planweave.action_tree import Status


@dataclass(frozen=True)
class Row:
    """One node; the root has id 0 and parent -1. action is written name(argument, …), "[END]" for an end leaf."""

    id: int
    parent: int
    action: str
    time_step: int
    samples: int
    status: Status


def children_of(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Children by the id of their parent, most sampled first."""
    result: dict[int, list[Row]] = {}
    for row in rows:
        if row.parent >= 0:
            result.setdefault(row.parent, []).append(row)
    for siblings in result.values():
        siblings.sort(key=lambda row: (-row.samples, row.id))
    return result


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as plain JSON values."""
    return [{**asdict(row), "status": row.status.name.lower()} for row in rows]
