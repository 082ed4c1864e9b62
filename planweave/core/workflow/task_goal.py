"""What a task is to bring about, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from planweave.core.symbolic.world import Literal


@dataclass(frozen=True)
class TaskGoal:
    """A sentence, or literals in its place; the fields are those of TaskGoal.msg.

    method: a name, or a behaviour tree in XML, which is followed. before, keep: as in `Reading`, of a goal in literals.
    world_revision: of the oldest world that the task may start from, so that it has what its sender has seen.
    """

    sentence: str
    method: str = ""
    goal: tuple[Literal, ...] = ()
    before: tuple[tuple[Literal, ...], ...] = ()
    keep: tuple[Literal, ...] = ()
    world_revision: int = field(default=0, compare=False)  # means nothing to a later process
    dry_run: bool = False
