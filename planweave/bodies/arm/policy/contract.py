"""What a policy is sent and what it answers, declared in ``config/policies/NAME.yaml`` and checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import read_yaml

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

    camera: str
    size: int
    turned: int = 0


@dataclass(frozen=True)
class Contract:
    """server: its address, ws://host:port or wss://host. joints: of the robot that it was trained for. pictures, state,
    prompt: what an observation has under which key. actions: key of the reply. kind: of KINDS. scale: what a value is
    multiplied with, one for all or one for positions and one for turns. gripper: values that mean open and closed.
    rate: steps a second that the policy was trained with. chunk: steps in a reply; execute: how many of these are made
    before the next observation. reply_seconds, first_reply_seconds: of wall time for a reply. seconds: for an action.
    """

    server: str
    joints: int
    pictures: Mapping[str, CameraInput]
    state: Mapping[str, tuple[str, ...]]
    kind: str
    rate: float
    chunk: int
    execute: int
    gripper: tuple[float, float]
    prompt: str = "prompt"
    actions: str = "actions"
    scale: tuple[float, float] = (1.0, 1.0)
    reply_seconds: float = 1.0
    first_reply_seconds: float = 60.0
    seconds: float = 60.0

    @property
    def width(self) -> int:
        """Values in one row of actions."""
        return (6 if self.kind == "tool_deltas" else self.joints) + 1


def load_contract(name: str) -> Contract:
    """The contract of a file under config/policies, by name, or of a path; raises ConfigError with file and key."""
    path = find_config("policies", name)
    raw = read_yaml(path)
    known = {field.name for field in fields(Contract)}
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected the keys {', '.join(sorted(known))} (docs/skills.md)")
    for key in raw:
        if key not in known:
            raise ConfigError(f"{path}: {UnknownNameError('key', str(key), known)}")
    missing = [f.name for f in fields(Contract) if f.name not in raw and f.name not in _OPTIONAL]
    if missing:
        raise ConfigError(
            f"{path}: {', '.join(missing)} missing: a policy's contract is declared whole (docs/skills.md)"
        )
    try:
        return _checked(Contract(**{key: _READERS[key](value) for key, value in raw.items()}))
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _checked(contract: Contract) -> Contract:
    if contract.execute > contract.chunk:
        raise ValueError(f"execute: {contract.execute} steps of a chunk of {contract.chunk} cannot be made")
    if contract.gripper[0] == contract.gripper[1]:
        raise ValueError("gripper: open and closed must differ")
    return contract


def _server(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"wss?://[\w.\-\[\]:]+(/[\w./-]*)?", value):
        raise ValueError(f"server: {value!r:.99} is no address such as ws://127.0.0.1:8000")
    return value


def _number(key: str, low: float, high: float, whole: bool = False) -> Any:
    def read(value: Any) -> Any:
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not right or not low <= value <= high:
            raise ValueError(f"{key}: {value!r:.99} is no {'whole ' if whole else ''}number from {low:g} to {high:g}")
        return value if whole else float(value)

    return read


def _pair(key: str) -> Any:
    def read(value: Any) -> tuple[float, float]:
        values = value if isinstance(value, list) else [value, value]
        if len(values) != 2:
            raise ValueError(f"{key}: {value!r:.99} are not two numbers")
        first, second = (_number(key, -1000.0, 1000.0)(each) for each in values)
        return first, second

    return read


def _gripper(value: Any) -> tuple[float, float]:
    if not isinstance(value, dict) or set(value) != {"open", "closed"}:
        raise ValueError("gripper: give the values that mean open and closed, such as {open: 0.0, closed: 1.0}")
    found: tuple[float, float] = _pair("gripper")([value["open"], value["closed"]])
    return found


def _pictures(value: Any) -> dict[str, CameraInput]:
    found = {}
    for key, row in _mapping("pictures", value).items():
        row = _mapping(f"pictures.{key}", row)
        if not {"camera", "size"} <= set(row) <= {"camera", "size", "turned"} or row.get("turned", 0) not in (0, 180):
            raise ValueError(f"pictures.{key}: give camera, size (pixels) and, where it is upside down, turned: 180")
        size = _number(f"pictures.{key}.size", 16, 2048, whole=True)(row["size"])
        found[key] = CameraInput(_text(f"pictures.{key}.camera", row["camera"]), size, row.get("turned", 0))
    return found


def _state(value: Any) -> dict[str, tuple[str, ...]]:
    found = {}
    for key, row in _mapping("state", value).items():
        found[key] = tuple(row if isinstance(row, list) else [row])
        for part in found[key]:
            if part not in STATES:
                raise ValueError(f"state.{key}: {UnknownNameError('part', str(part), STATES)}")
    return found


def _kind(value: Any) -> str:
    if value not in KINDS:
        raise ValueError(f"kind: {UnknownNameError('kind', str(value), KINDS)}")
    return str(value)


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key}: {value!r:.99} is no text")
    return value


def _mapping(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{key}: {value!r:.99} is no mapping")
    return {str(k): v for k, v in value.items()}


_OPTIONAL = {"prompt", "actions", "scale", "reply_seconds", "first_reply_seconds", "seconds"}
_READERS: dict[str, Any] = {
    "server": _server,
    "joints": _number("joints", 6, 7, whole=True),
    "pictures": _pictures,
    "state": _state,
    "kind": _kind,
    "rate": _number("rate", 1.0, 200.0),
    "chunk": _number("chunk", 1, 500, whole=True),
    "execute": _number("execute", 1, 500, whole=True),
    "gripper": _gripper,
    "prompt": lambda value: _text("prompt", value),
    "actions": lambda value: _text("actions", value),
    "scale": _pair("scale"),
    "reply_seconds": _number("reply_seconds", 0.05, 60.0),
    "first_reply_seconds": _number("first_reply_seconds", 0.05, 600.0),
    "seconds": _number("seconds", 1.0, 3600.0),
}
