"""Descriptions of systems in config/systems.yaml, shared by `planweave up` and the launch files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.paths import config_dir
from planweave.core.base.yaml_files import read_yaml
from planweave.launcher import parameter_files
from planweave.launcher.namespace import namespace

PAGE = "web_node"
"""The node of a system's page, which any system may have."""


@dataclass(frozen=True)
class NodeSpec:
    """One node of a system: its name, its parameter files (later ones take precedence), and the interfaces that exist
    once it is ready.
    """

    name: str
    parameter_files: tuple[Path, ...]
    services: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """A user option of a system, for one or several nodes; default: the value in the files of the first."""

    name: str
    nodes: tuple[str, ...]
    parameter: str
    default: Any
    description: str = ""


@dataclass(frozen=True)
class System:
    """Nodes that run together, in start order. alone: they need no other node, so that they are started in a ROS domain
    of their own.
    """

    name: str
    description: str
    nodes: tuple[NodeSpec, ...]
    options: tuple[Option, ...] = ()
    alone: bool = False

    def with_file(self, path: str) -> System:
        """The system with one more parameter file for every node, which takes precedence; raises ConfigError where it
        cannot be read or has no entry for any of the nodes.
        """
        file = Path(path).absolute()
        names = [name for name, _ in parameter_files.read(file)]
        if not any(parameter_files.is_for(name, f"{namespace()}/{node.name}") for name in names for node in self.nodes):
            raise ConfigError(
                f"{file} is for no node of the system {self.name}: it names "
                f"{', '.join(names) or 'none'}; expected e.g. /**/{self.nodes[0].name}"
            )
        nodes = tuple(replace(node, parameter_files=(*node.parameter_files, file)) for node in self.nodes)
        return replace(self, nodes=nodes)

    def overrides(self, values: dict[str, str]) -> dict[str, dict[str, Any]]:
        """Parameters by node for option values, converted to the type of the default; raises UnknownNameError or
        ConfigError.

        Besides the options, ``node.parameter`` sets any parameter that occurs in one of the node's files.
        """
        known = {option.name: option for option in self.options}
        files = {node.name: node.parameter_files for node in self.nodes}
        result: dict[str, dict[str, Any]] = {}
        for name, text in values.items():
            node, dot, parameter = name.partition(".")
            if dot and node in files:
                option = Option(name, (node,), parameter, _value(files[node], node, parameter), "see the node's file")
            elif name in known:
                option = known[name]
            else:
                raise UnknownOptionError(self, name)
            for node in option.nodes:
                result.setdefault(node, {})[option.parameter] = _typed(option, text)
        return result


class UnknownOptionError(UnknownNameError):
    """Neither an option of a system nor a parameter of one of its nodes."""

    code = "unknown_option"

    def __init__(self, system: System, name: str):
        super().__init__(f"option of the system {system.name}", name, [option.name for option in system.options])
        nodes = ", ".join(node.name for node in system.nodes)
        self.args = (
            f"{self}; any parameter is set as NODE.PARAMETER=VALUE, e.g. feedback_node.require_approval=true; "
            f"nodes: {nodes}",
        )


def load_system(name: str, config: Path | None = None) -> System:
    """The system of a name; raises UnknownNameError, or ConfigError that locates the error in the file."""
    config = config or config_dir()
    path = config / "systems.yaml"
    table = _read(path)
    if name not in table["systems"]:
        raise UnknownNameError("system", name, table["systems"])
    try:
        entry = table["systems"][name]
        nodes = tuple(
            NodeSpec(
                node,
                tuple(config / file for file in _listed(files)),
                **{kind: tuple(table["nodes"][node].get(kind, ())) for kind in ("services", "actions", "topics")},
            )
            for node, files in entry["nodes"].items()
        )
        options = tuple(_option(key, table["options"][key], nodes) for key in entry.get("options", ()))
        return System(name, entry["description"], nodes, options, bool(entry.get("alone", False)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: the system {name!r} lacks or misspells {error}") from None


def system_names(config: Path | None = None) -> list[str]:
    """Names of all systems."""
    return list(_read((config or config_dir()) / "systems.yaml")["systems"])


def _option(key: str, row: dict[str, Any], nodes: Iterable[NodeSpec]) -> Option:
    """An option for those of its nodes that a system has."""
    files = {node.name: node.parameter_files for node in nodes}
    its = tuple(node for node in _listed(row["node"]) if node in files)
    if not its:
        raise KeyError(f"{row['node']}, whose option {key} is")
    name = row.get("name", key)
    parameter = row.get("parameter", name)
    return Option(name, its, parameter, _value(files[its[0]], its[0], parameter), row.get("description", ""))


def with_page(system: System, config: Path | None = None) -> System:
    """The system with the node of its page; what its files say of web_node counts over config/web.yaml."""
    own = (config or config_dir()) / "web.yaml"
    files = dict.fromkeys(file for node in system.nodes for file in node.parameter_files)
    more = [f for f in files if any(parameter_files.is_for(entry, f"/{PAGE}") for entry, _ in parameter_files.read(f))]
    return replace(system, nodes=(*system.nodes, NodeSpec(PAGE, (own, *more))))


def systems_of(running: Iterable[str], config: Path | None = None) -> list[str]:
    """Names of the systems that consist of exactly the running nodes; unrelated nodes are ignored.

    Several names where systems differ in parameters only.
    """
    config = config or config_dir()
    nodes = {name: {n.name for n in load_system(name, config).nodes} for name in system_names(config)}
    ours = set(running) & set().union(*nodes.values())
    return [name for name, its in nodes.items() if its == ours]


def _typed(option: Option, text: str) -> Any:
    kind = type(option.default)
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = "true or false" if kind is bool else f"a number like {option.default}"
        raise ConfigError(f"{option.name}={text!r}: expected {wanted} ({option.description})") from None


def parameters_of(node: NodeSpec) -> dict[str, Any]:
    """The parameters in a node's files; raises ConfigError where the first has no entry for the node."""
    name = f"/{node.name}"
    if not any(parameter_files.is_for(entry, name) for entry, _ in parameter_files.read(node.parameter_files[0])):
        raise ConfigError(f"{node.parameter_files[0]}: expected /**{name}: ros__parameters: …")
    return parameter_files.merged(node.parameter_files, name)


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _value(paths: tuple[Path, ...], node: str, parameter: str) -> Any:
    """A node's parameter in its parameter files; dots in the name address nested tables."""
    value: Any = parameter_files.merged(paths, f"/{node}")
    try:
        for key in parameter.split("."):
            value = value[key]
    except (KeyError, TypeError):
        raise ConfigError(f"{paths[0]}: {node}: ros__parameters: has no {parameter!r}") from None
    return value


def _read(path: Path) -> dict[str, Any]:
    """The tables of the file; raises ConfigError."""
    table = read_yaml(path)
    tables = table if isinstance(table, dict) else {}
    for name in ("nodes", "options", "systems"):
        if not isinstance(tables.get(name), dict):
            raise ConfigError(f"{path}: expected the tables nodes, options and systems; {name} is none")
    return tables
