"""A parameter of a node as a row of a table; no ROS in here."""

from __future__ import annotations

from dataclasses import dataclass


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
