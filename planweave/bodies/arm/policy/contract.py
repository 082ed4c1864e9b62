"""Inputs and outputs of a policy, declared in ``config/policies/NAME.yaml`` and checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import compose
from planweave.core.base.yaml_records import between, key, number, numbers, one_of, part, read_record, text

KINDS = {
    "joint_positions": "joint positions, rad",
    "joint_deltas": "changes of the joint positions, rad",
    "tool_deltas": "changes of the tool's position, m, and its turn about fixed axes, rad, in the base frame",
}
"""What one row of a policy's actions is, before the value of the gripper."""
STATES = ("joints", "gripper", "tool_position", "tool_turn", "fingers")
"""Parts of the measured state: joint positions (n,) rad; gripper (1,) in the policy's sense; the tool's position (3,) m
and turn (3,), axis times angle in rad, in the base frame; distances (2,) m of the fingers from their middle, the
second negative.
"""


@dataclass(frozen=True)
class CameraInput:
    """A picture: name of the camera, RGB (size, size, 3) uint8, padded to a square, turned by 0 or 180 degrees."""

    camera: str = key(text)
    size: int = key(between(16, 2048, whole=True))
    turned: int = key(number("0, or 180 where it is upside down", lambda degrees: degrees in (0, 180), whole=True), 0)


def _server(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"wss?://[\w.\-\[\]:]+(/[\w./-]*)?", value):
        raise ValueError("an address such as ws://127.0.0.1:8000")
    return value


def _state(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("keys, and the parts of the state that each has")
    read = one_of("part", STATES)
    return {str(key): tuple(map(read, row if isinstance(row, list) else [row])) for key, row in value.items()}


def _two(value: list[Any]) -> tuple[float, float]:
    first, second = numbers(2, between(-1000.0, 1000.0))(value)
    return first, second


def _gripper(value: Any) -> tuple[float, float]:
    if not isinstance(value, dict) or set(value) != {"open", "closed"}:
        raise ValueError("the values that mean open and closed, such as {open: 0.0, closed: 1.0}")
    return _two([value["open"], value["closed"]])


def _scale(value: Any) -> tuple[float, float]:
    return _two(value if isinstance(value, list) else [value, value])


@dataclass(frozen=True)
class Contract:
    """server: its address, ws://host:port or wss://host. joints: of the robot that it was trained for. pictures, state,
    prompt: what an observation has under which key. actions: key of the reply. kind: of KINDS. scale: what a value is
    multiplied with, one for all or one for positions and one for turns. gripper: values that mean open and closed.
    rate: steps a second that the policy was trained with. chunk: steps in a reply; execute: how many of these are made
    before the next observation. reply_seconds, first_reply_seconds: of wall time for a reply. seconds: for an action.
    """

    server: str = key(_server)
    joints: int = key(between(6, 7, whole=True))
    pictures: Mapping[str, CameraInput] = part(CameraInput, many=dict)
    state: Mapping[str, tuple[str, ...]] = key(_state)
    kind: str = key(one_of("kind", KINDS))
    rate: float = key(between(1.0, 200.0))
    chunk: int = key(between(1, 500, whole=True))
    execute: int = key(between(1, 500, whole=True))
    gripper: tuple[float, float] = key(_gripper)
    prompt: str = key(text, "prompt")
    actions: str = key(text, "actions")
    scale: tuple[float, float] = key(_scale, (1.0, 1.0))
    reply_seconds: float = key(between(0.05, 60.0), 1.0)
    first_reply_seconds: float = key(between(0.05, 600.0), 60.0)
    seconds: float = key(between(1.0, 3600.0), 60.0)

    def problem(self) -> str:
        if self.execute > self.chunk:
            return f"execute: {self.execute} steps of a chunk of {self.chunk} cannot be made"
        return "gripper: open and closed must differ" if self.gripper[0] == self.gripper[1] else ""

    @property
    def width(self) -> int:
        """Values in one row of actions."""
        return (6 if self.kind == "tool_deltas" else self.joints) + 1


def load_contract(name: str) -> Contract:
    """The contract of a file under config/policies, by name, or of a path; raises ConfigError with file and key."""
    path = find_config("policies", name)
    found: Contract = read_record(Contract, path, compose(path), "policy's contract (docs/skills.md)")
    return found
