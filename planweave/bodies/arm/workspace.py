"""Named places on the table, read from ``config/workspaces/<name>.yaml`` and checked with file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import compose
from planweave.core.base.yaml_records import between, flag, key, number, numbers, place_of, read_record
from planweave.core.symbolic.world import Known, WorldObject

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Location:
    """A rectangle on the table: centre (x, y) and size (along x, along y), metres, in the base frame."""

    name: str
    centre: tuple[float, float] = key(numbers(2, between(-10.0, 10.0)))
    size: tuple[float, float] = key(numbers(2, number("larger than 0, in m, and at most 10", lambda m: 0 < m <= 10)))
    narrow: bool = key(flag, False)

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point lies inside the rectangle, dilated by `slack`."""
        return all(abs(p - c) <= s / 2 + slack for p, c, s in zip((x, y), self.centre, self.size))

    def within(self, other: Location) -> bool:
        """Whether this place is part of another."""
        return self is not other and all(
            abs(a - b) + s / 2 <= t / 2 + 1e-9 for a, b, s, t in zip(self.centre, other.centre, self.size, other.size)
        )

    def in_world(self) -> WorldObject:
        """As an object of the world."""
        of, turn = (self.name, "location", "location"), (0.0, 0.0, 0.0, 1.0)
        return WorldObject(*of, {}, (*self.centre, 0.0), turn, (*self.size, 0.0), known=Known.FIXED)


def load_workspace(name: str) -> tuple[Location, ...]:
    """The places of a workspace file, by name or path. Raises ConfigError that names file and line."""
    path = find_config("workspaces", name)
    root = compose(path)
    if not isinstance(root, yaml.MappingNode) or not root.value:
        raise ConfigError(f"{path}: expected places, each  name: {{centre: [x, y], size: [along x, along y]}}")
    places: dict[str, Location] = {}
    for node, value in root.value:
        at, word = place_of(path, node), str(node.value)
        if not _NAME.match(word):
            raise ConfigError(f"{at}: {word[:99]!r} is not a name; use lower-case letters, digits and _")
        if word in places:
            raise ConfigError(f"{at}: the place {word!r} is defined twice")
        places[word] = read_record(Location, path, value, "place", word, name=word)
    return tuple(places.values())
