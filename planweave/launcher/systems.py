"""Descriptions of systems in config/systems.yaml, shared by `planweave up` and the launch files."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.parameter import Parameter
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
    """A user option of a system: a parameter of one or several nodes. default: the value in the files of the first, or
    else that of its definition.
    """

    name: str
    nodes: tuple[str, ...]
    definition: Parameter
    default: Any

    @property
    def parameter(self) -> str:
        return self.definition.name

    @property
    def description(self) -> str:
        return self.definition.description


@dataclass(frozen=True)
class System:
    """Nodes that run together, in start order. alone: they need no other node, so that they are started in a ROS domain
    of their own.
    """

    name: str
    description: str
    nodes: tuple[NodeSpec, ...]
    sets: Mapping[str, str] = field(default_factory=dict)
    """What each option sets: NODE.PARAMETER, or the parameter of every node that has it."""
    alone: bool = False

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The user's options; raises UnknownNameError for one that no node has."""
        return tuple(self._option(name, sets) for name, sets in self.sets.items())

    def _option(self, name: str, sets: str) -> Option:
        specs = {node.name: node for node in self.nodes}
        node, _, rest = sets.partition(".")
        parameter, names = (rest, [node]) if node in specs else (sets, list(specs))
        tables = {each: table(each, parameter) for each in names}
        its = [each for each in names if parameter in tables[each]]
        if not its:
            raise UnknownNameError(f"parameter of {' or '.join(names)}", parameter, set().union(*tables.values()))
        definition = tables[its[0]][parameter]
        return Option(name, tuple(its), definition, _value(specs[its[0]], definition))

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

        Besides the options, ``node.parameter`` sets any parameter of a node.
        """
        known = {option.name: option for option in self.options}
        result: dict[str, dict[str, Any]] = {}
        for name, text in values.items():
            if name not in known and name.partition(".")[0] in {node.name for node in self.nodes}:
                known[name] = self._option(name, name)
            if name not in known:
                raise UnknownOptionError(self, name)
            option = known[name]
            for node in option.nodes:
                result.setdefault(node, {})[option.parameter] = option.definition.read(text, node)
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
    described = _read(path)
    if name not in described["systems"]:
        raise UnknownNameError("system", name, described["systems"])
    try:
        entry, options = described["systems"][name], described["options"]
        nodes = tuple(
            _spec(
                node,
                config,
                entry.get("files", ()),
                **{kind: tuple(described["nodes"][node].get(kind, ())) for kind in ("services", "actions", "topics")},
            )
            for node in entry["nodes"]
        )
        sets = {key: options.get(key, key) for key in entry.get("options", ())}
        return System(name, entry["description"], nodes, sets, bool(entry.get("alone", False)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: the system {name!r} lacks or misspells {error}") from None


def _spec(node: str, config: Path, names: Iterable[str], **interfaces: tuple[str, ...]) -> NodeSpec:
    """A node with its own parameter file and those of the names that have an entry for it."""
    own, more = config / f"{node.removesuffix('_node')}.yaml", (config / name for name in names)
    files = dict.fromkeys([own, *(file for file in more if _has_entry(file, node))])
    return NodeSpec(node, tuple(files), **interfaces)


def _has_entry(file: Path, node: str) -> bool:
    return any(parameter_files.is_for(entry, f"/{node}") for entry, _ in parameter_files.read(file))


def table(node: str, wanted: str = "") -> dict[str, Parameter]:
    """The definitions of a node's parameters by name; they stand in the package of that name, without ROS. wanted: one
    that may be of a family, such as skills.ACTION.
    """
    module = importlib.import_module(f"{node}.parameters")
    family = module.family(wanted) if hasattr(module, "family") else []
    rows = (*module.PARAMETERS, Parameter("use_sim_time", False, "time comes from /clock"), *family)
    return {row.name: row for row in rows}


def system_names(config: Path | None = None) -> list[str]:
    return list(_read((config or config_dir()) / "systems.yaml")["systems"])


def with_page(system: System, config: Path | None = None) -> System:
    """The system with the node of its page; what its files say of web_node counts over config/web.yaml."""
    files = [str(file) for node in system.nodes for file in node.parameter_files]
    return replace(system, nodes=(*system.nodes, _spec(PAGE, config or config_dir(), files)))


def systems_of(running: Iterable[str], config: Path | None = None) -> list[str]:
    """Names of the systems that consist of exactly the running nodes; unrelated nodes are ignored.

    Several names where systems differ in parameters only.
    """
    config = config or config_dir()
    nodes = {name: {n.name for n in load_system(name, config).nodes} for name in system_names(config)}
    ours = set(running) & set().union(*nodes.values())
    return [name for name, its in nodes.items() if its == ours]


def parameters_of(node: NodeSpec) -> dict[str, Any]:
    """The parameters in a node's files; raises ConfigError where the first has no entry for the node."""
    name = f"/{node.name}"
    if not _has_entry(node.parameter_files[0], node.name):
        raise ConfigError(f"{node.parameter_files[0]}: expected /**{name}: ros__parameters: …")
    return parameter_files.merged(node.parameter_files, name)


def _value(node: NodeSpec, definition: Parameter) -> Any:
    """A parameter in a node's files, or else its default; dots in the name address nested tables."""
    value: Any = parameters_of(node)
    for key in definition.name.split("."):
        if not isinstance(value, dict) or key not in value:
            return definition.default
        value = value[key]
    return value


def _read(path: Path) -> dict[str, Any]:
    """The tables of the file; raises ConfigError."""
    table = read_yaml(path)
    tables = table if isinstance(table, dict) else {}
    for name in ("nodes", "options", "systems"):
        if not isinstance(tables.get(name), dict):
            raise ConfigError(f"{path}: expected the tables nodes, options and systems; {name} is none")
    return tables
