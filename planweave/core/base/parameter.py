"""Parameters of nodes as plain values, without ROS."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, fields
from typing import Any

from planweave.core.base.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its default gives the type; low and high bound numbers, choices bound texts.

    changeable: may be set while the node is configured.
    """

    name: str
    default: bool | int | float | str | list[str] | list[float]
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    changeable: bool = False

    def checked(self, value: Any, whose: str) -> Any:
        """The value, if it has the right type and is within the bounds; raises ConfigError.

        whose: owner named in the error.
        """
        kind: Any = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        if kind is list and isinstance(value, array):
            value = value.tolist()
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ConfigError(f"{self.name}={value!r} of {whose} must be of type {kind.__name__}: {self.description}")
        if self.choices and value not in self.choices:
            raise ConfigError(f"{self.name}={value!r} of {whose}: expected one of {', '.join(self.choices)}")
        if (self.low is not None and not value >= self.low) or (self.high is not None and not value <= self.high):
            bounds = [
                f"{word} {bound:g}" for word, bound in (("from", self.low), ("to", self.high)) if bound is not None
            ]
            raise ConfigError(f"{self.name}={value!r} of {whose} must be {' '.join(bounds)}")
        return value

    def read(self, text: str, whose: str) -> Any:
        """Parse the text form of a value; raises ConfigError."""
        kind: Any = type(self.default)
        try:
            value: Any = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
            if isinstance(self.default, list):
                each = type(self.default[0]) if self.default else str
                value = [each(part.strip().strip("\"'")) for part in text.strip("[] ").split(",")]
        except (KeyError, ValueError):
            raise ConfigError(
                f"{self.name}={text} of {whose} must be of type {kind.__name__}: {self.description}"
            ) from None
        return self.checked(value, whose)


AUTOSTART = Parameter("autostart", True, "active at once; false: waits for  ros2 lifecycle set NODE activate")
"""Of every node with a lifecycle."""


def option(
    default: Any,
    description: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    kw_only: bool = False,
) -> Any:
    """A dataclass field for an option: the single place of its default, description and bounds."""
    return field(default=default, metadata={"row": (description, low, high, choices)}, kw_only=kw_only)


def option_parameters(options: type, prefix: str = "") -> list[Parameter]:
    """The fields of an options dataclass made by `option`, as parameters named prefix + field."""
    return [
        Parameter(prefix + each.name, each.default, *each.metadata["row"])  # type: ignore[arg-type]
        for each in fields(options)
        if "row" in each.metadata
    ]
