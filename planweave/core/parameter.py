"""A parameter of a node as a row of a table; no ROS in here."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its default gives the type; low and high bound numbers, choices bound texts.

    changeable: may be set while the node runs, which the node hears of by add_on_set_parameters_callback.
    """

    name: str
    default: bool | int | float | str | list[str] | list[float]
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    changeable: bool = False


def option(
    default: Any, description: str, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """A field of a dataclass of options: its default and its description stand here alone."""
    return field(default=default, metadata={"row": (description, low, high, choices)})


def option_parameters(options: type, prefix: str = "") -> list[Parameter]:
    """The fields of a dataclass of options that were made by `option`, as parameters called prefix + field."""
    return [
        Parameter(prefix + each.name, each.default, *each.metadata["row"])  # type: ignore[arg-type]
        for each in fields(options)
        if "row" in each.metadata
    ]
