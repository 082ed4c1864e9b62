"""Options of a method: their parameters, and checked values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

from planweave.core.base.errors import UnknownNameError
from planweave.core.base.parameter import Parameter, option, option_parameters
from planweave.methods import METHODS


def options_of(method: str) -> dict[str, Parameter]:
    """The options of a method by their names; raises UnknownNameError or PluginError."""
    return {row.name: row for row in option_parameters(METHODS[method])}


def option_of(method: str, name: str) -> Parameter:
    """One option; raises UnknownNameError, which names the nearest."""
    rows = options_of(method)
    if name not in rows:
        raise UnknownNameError(f"option of {method}", str(name), rows)
    return rows[name]


def checked_options(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for options of a method; raises UnknownNameError, ConfigError or PluginError."""
    return {name: option_of(method, name).checked(value, method) for name, value in values.items()}


@dataclass
class PaperMode:
    """Base of a method's dataclass. PAPER: what `paper` sets; docs/methods.md has them in a table.

    An option with another value than its default keeps it, so that a condition of the paper can be changed alone. No
    other method takes over where one with `paper` fails (`planweave.methods.running.method_run`).
    """

    PAPER: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    paper: bool = option(
        False, "as in the paper, without fallback; options that differ from their default stay", kw_only=True
    )

    def __post_init__(self) -> None:
        """Set the options of PAPER that have their defaults."""
        defaults = {each.name: each.default for each in fields(self)}
        for name, value in self.PAPER.items() if self.paper else ():
            if getattr(self, name) == defaults[name]:
                setattr(self, name, value)
