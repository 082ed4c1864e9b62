"""Named places on the table, read from ``config/workspaces/<name>.yaml`` and checked with file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import BoundedLoader, plain_value, read_text

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_KEYS = {"centre", "size", "narrow"}


@dataclass(frozen=True, slots=True)
class Location:
    """A rectangle on the table: centre (x, y) and size (along x, along y), metres, in the base frame."""

    name: str
    centre: tuple[float, float]
    size: tuple[float, float]
    narrow: bool = False

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point lies inside the rectangle, dilated by `slack`."""
        return all(abs(p - c) <= s / 2 + slack for p, c, s in zip((x, y), self.centre, self.size))

    def within(self, other: Location) -> bool:
        """Whether this place is part of another."""
        return self is not other and all(
            abs(a - b) + s / 2 <= t / 2 + 1e-9 for a, b, s, t in zip(self.centre, other.centre, self.size, other.size)
        )


def load_workspace(name: str) -> tuple[Location, ...]:
    """The places of a workspace file, by name or path. Raises ConfigError that names file and line."""
    path = find_config("workspaces", name)
    try:
        root = yaml.compose(read_text(path), Loader=BoundedLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path.name}: {error}") from None
    if not isinstance(root, yaml.MappingNode) or not root.value:
        raise ConfigError(f"{path.name}: expected places, each  name: {{centre: [x, y], size: [along x, along y]}}")
    places: dict[str, Location] = {}
    for key, value in root.value:
        place = _location(path, key, value)
        if place.name in places:
            raise ConfigError(f"{_at(path, key)}: the place {place.name!r} is defined twice")
        places[place.name] = place
    return tuple(places.values())


def _location(path: Path, key: Any, value: Any) -> Location:
    name = str(key.value)
    if not _NAME.match(name):
        raise ConfigError(f"{_at(path, key)}: {name[:99]!r} is not a name; use lower-case letters, digits and _")
    if not isinstance(value, yaml.MappingNode):
        raise ConfigError(f"{_at(path, key)}: {name} must be  {{centre: [x, y], size: [along x, along y]}}")
    fields = {str(k.value): v for k, v in value.value}
    for k, _ in value.value:
        if str(k.value) not in _KEYS:
            raise ConfigError(
                f"{_at(path, k)}: {name} has no field {str(k.value)[:100]!r}; fields are {', '.join(sorted(_KEYS))}"
            )
    for wanted in ("centre", "size"):
        if wanted not in fields:
            raise ConfigError(f"{_at(path, key)}: {name} lacks {wanted!r}")
    size = _pair(path, name, "size", fields["size"])
    if min(size) <= 0:
        raise ConfigError(f"{_at(path, fields['size'])}: size of {name} must be larger than 0, got {list(size)}")
    narrow = _value(path, fields["narrow"]) if "narrow" in fields else False
    if not isinstance(narrow, bool):
        raise ConfigError(f"{_at(path, fields['narrow'])}: narrow of {name} must be true or false")
    return Location(name, _pair(path, name, "centre", fields["centre"]), size, narrow)


def _pair(path: Path, name: str, field: str, node: Any) -> tuple[float, float]:
    value = _value(path, node)
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 10 for x in value)
    ):
        raise ConfigError(f"{_at(path, node)}: {field} of {name} must be two numbers in metres, got {value!r}")
    return float(value[0]), float(value[1])


def _value(path: Path, node: Any) -> Any:
    try:
        return plain_value(node)
    except yaml.YAMLError as error:
        raise ConfigError(f"{_at(path, node)}: {getattr(error, 'problem', None) or error}") from None


def _at(path: Path, node: Any) -> str:
    return f"{path.name}:{node.start_mark.line + 1}"
