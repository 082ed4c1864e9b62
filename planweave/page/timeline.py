"""A preview as one motion along a time axis: where the robot is at a time, and what it carries or has put down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from viser.transforms import SO3

from planweave.core.workflow.step_motion import Carried, PlanPreview

Array = NDArray[np.float64]
Tool = Callable[[Array], Array]
"""Pose (4, 4) of the tool centre point in the robot's base frame, of joint positions of arm and fingers."""


@dataclass(frozen=True)
class _Transport:
    """An object that is carried from a time to another, s of the whole plan, at a pose (4, 4) in the tool's frame; it
    then stays at a pose in the base frame.
    """

    name: str
    since: float
    until: float
    in_tool: Array
    left_at: Array


class Timeline:
    """The motions of all steps, one after the other. Steps whose motion is not known take no time."""

    def __init__(self, preview: PlanPreview, tool: Tool):
        times: list[Array] = []
        rows: list[Array] = []
        carried: list[tuple[Carried, float]] = []
        at = 0.0
        for step in preview.steps:
            if step.times:
                times.append(at + np.array(step.times))
                rows.append(np.array(step.positions))
                if step.held is not None:
                    carried.append((step.held, at))
                at += step.times[-1]
        self.duration = at
        self._times = np.concatenate(times) if times else np.zeros(0)
        self._rows = np.vstack(rows) if rows else np.zeros((0, 0))
        self._tool = tool
        self._transports = [self._transport(held, begun) for held, begun in carried]

    def _transport(self, held: Carried, begun: float) -> _Transport:
        in_tool = np.eye(4)
        x, y, z, w = held.orientation
        in_tool[:3, :3], in_tool[:3, 3] = SO3(np.array((w, x, y, z))).as_matrix(), held.position
        until = begun + held.until
        return _Transport(held.name, begun + held.since, until, in_tool, self._tool(self.at(until)) @ in_tool)

    def at(self, t: float) -> Array:
        """Joint positions of arm (rad) and fingers (m), between the points that are known."""
        found: Array = np.array([np.interp(t, self._times, column) for column in self._rows.T])
        return found

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(transport.name for transport in self._transports))

    def objects(self, t: float) -> dict[str, Array]:
        """Poses (4, 4) in the base frame of what has been taken until a time."""
        found: dict[str, Array] = {}
        tool: Array | None = None
        for transport in self._transports:
            if transport.since <= t <= transport.until:
                tool = self._tool(self.at(t)) if tool is None else tool
                found[transport.name] = tool @ transport.in_tool
            elif transport.until < t:
                found[transport.name] = transport.left_at
        return found
