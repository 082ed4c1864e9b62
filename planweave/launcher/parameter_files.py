"""ROS parameter files: matching of entries to nodes, as in rcl; without ROS.

An entry's key is a node's name preceded by its namespace, flat or nested. `*` matches one part of the name and `**` any
number of parts (rcl_yaml_param_parser, since Galactic): `/**/executor_node` matches an executor_node in any namespace,
a bare `executor_node` only the one without.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.base.yaml_files import read_yaml

NODES = (
    "body_node",
    "executor_node",
    "feedback_node",
    "libero_node",
    "perception_node",
    "planner_node",
    "simulation_node",
    "virtualhome_node",
    "web_node",
)
"""The nodes of Planweave, by the names that they have where nobody renames them."""
_PARAMETERS = "ros__parameters"
_EVERYBODY = "/**"


def entries(table: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Key (with a leading /) and parameters of each entry, in file order."""
    for key, value in table.items():
        if not isinstance(value, Mapping):
            continue
        if key == _PARAMETERS:
            yield above or "/", dict(value)
        else:
            yield from entries(value, f"{above}/{str(key).strip('/')}")


def is_for(entry: str, node: str) -> bool:
    """Whether an entry matches a fully qualified node name."""
    parts = {"**": r"(?:/\w+)*", "*": r"/\w+"}
    pattern = "".join(parts.get(part, f"/{re.escape(part)}") for part in entry.strip("/").split("/"))
    return re.fullmatch(pattern, node) is not None


def read(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a file; raises ConfigError that names it."""
    table = read_yaml(path)
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path}: expected a table of names at the top")
    return list(entries(table))


def merged(paths: Sequence[Path], node: str) -> dict[str, Any]:
    """Parameters of a fully qualified node name as nested tables; later files take precedence."""
    found: dict[str, Any] = {}
    for path in paths:
        for name, parameters in read(path):
            if is_for(name, node):
                _merge(found, parameters)
    return found


def own_keys(paths: Sequence[Path], node: str) -> Iterator[tuple[Path, str]]:
    """The parameters, dotted, that files give to a node by its name, not to all nodes."""
    own = node.rpartition("/")[2]
    for path in paths:
        for name, parameters in read(path):
            if name.endswith(f"/{own}") and is_for(name, node):
                yield from ((path, key) for key in dotted(parameters))


def dotted(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The keys of nested tables, as ROS joins them."""
    for key, value in table.items():
        yield from dotted(value, f"{above}{key}.") if isinstance(value, Mapping) else [f"{above}{key}"]


def _merge(under: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            under[key] = dict(under[key])
            _merge(under[key], value)
        else:
            under[key] = value


def given(arguments: Sequence[str]) -> list[Path]:
    """Parameter files among a process's ROS arguments."""
    found, ros = [], False
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        if argument in ("--ros-args", "--"):
            ros = argument == "--ros-args"
        elif ros and argument == "--params-file" and following:
            found.append(Path(following))
    return found


def stray(files: Mapping[str, Collection[str]], node: str) -> str:
    """Error message where none of the files given to a node (path and keys) has an entry for it; else empty.

    A file for several of our nodes may lack it if another file does not.
    """
    own = node.rpartition("/")[2]
    neighbours = [name for name in NODES if name != own]
    names = {path: [name for name in its if name != _EVERYBODY] for path, its in files.items()}
    others = {path: its for path, its in names.items() if its and not any(is_for(name, node) for name in its)}
    wrong = {
        path: its
        for path, its in others.items()
        if any(name.rpartition("/")[2] not in neighbours for name in its) or others == names
    }
    if not wrong:
        return ""
    said = "; ".join(f"{path} is for {', '.join(sorted(set(its)))}" for path, its in wrong.items())
    return (
        f"{node} was given parameters that are not for it, and would run without them: {said}; name the entry "
        f"/**/{own} (any namespace) or {node}"
    )
