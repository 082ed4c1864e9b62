"""Robot descriptions, one file each, found by name: ours beside this file, others from installed packages or a path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.paths import is_file
from planweave.core.base.plugins import Registry, offered_file
from planweave.robots.description import RobotDescription, read_robot

__all__ = ["DEFAULT", "ROBOTS", "RobotDescription", "broken_robots", "find_robot", "load_robot", "robot_names"]

DEFAULT = "fr3"
ROBOTS = Registry("planweave.robots", "robot")
"""By name: the path of a .yaml file, or a folder, package or module beside which ``<name>.yaml`` lies."""


def robot_names() -> list[str]:
    return sorted({*(path.stem for path in Path(__file__).parent.glob("*.yaml")), *ROBOTS})


def find_robot(name: str) -> Path:
    """The file of a robot, by name or path. Raises UnknownNameError or PluginError."""
    if name.endswith(".yaml") and is_file(name):
        return Path(name)
    path = Path(__file__).parent / f"{name}.yaml"
    if path.parent == Path(__file__).parent and is_file(path):
        return path
    if name in ROBOTS:
        return offered_file(ROBOTS, name, ".yaml")
    raise UnknownNameError("robot", name, robot_names())


@lru_cache(maxsize=8)
def load_robot(name: str = DEFAULT) -> RobotDescription:
    """The description of a robot, by name or path. Raises ConfigError with file, line and key, or as `find_robot`."""
    return read_robot(find_robot(name), "" if name.endswith(".yaml") else name)


def broken_robots() -> list[str]:
    """Faults of the descriptions that installed packages offer, a line each."""
    found = []
    for name in ROBOTS:
        try:
            load_robot(name)
        except PlanweaveError as error:
            found.append(str(error))
    return found
