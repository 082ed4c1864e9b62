"""Options of a method: their parameters, and checked values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planweave.core.base.errors import UnknownNameError
from planweave.core.base.parameter import Parameter, option_parameters
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
