"""Parameters of a node, declared from a table and checked at start."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.parameter import Parameter
from planweave.launcher import parameter_files

_OPEN = ("qos_overrides.", "skills.")  # ROS's own, and of the actions of other domains
__all__ = ["Parameter", "declare"]


def declare(node: Node, table: Sequence[Parameter], known: dict[str, Parameter] | None = None) -> dict[str, Any]:
    """Declare the parameters and return their values.

    known: what a managed node declared before, by name; a parameter that still has its default takes over a new one.
    None: of a node without a lifecycle, whose parameters are read only unless changeable. Raises ConfigError that says
    what is valid, also where none of the given parameter files matches this node: ROS would ignore them silently.
    """
    files = {str(path): [name for name, _ in parameter_files.read(path)] for path in parameter_files.given(sys.argv)}
    problem = parameter_files.stray(files, node.get_fully_qualified_name())
    if problem:
        raise ConfigError(problem)
    values: dict[str, Any] = {}
    for row in table:
        fixed = not row.changeable
        descriptor = ParameterDescriptor(description=row.description, read_only=fixed and known is None)
        bounded = row.low is not None and row.high is not None
        if bounded and isinstance(row.default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=row.low, to_value=row.high)]
        elif bounded and isinstance(row.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(row.low or 0), to_value=int(row.high or 0))]
        constraints = [f"one of: {', '.join(row.choices)}"] if row.choices else []
        constraints += ["set while the node is unconfigured"] if fixed and known is not None else []
        descriptor.additional_constraints = "; ".join(constraints)
        before = known.get(row.name) if known is not None else None
        if before is not None and before != row and _plain(node.get_parameter(row.name).value) == before.default:
            node.undeclare_parameter(row.name)
            before = None
        try:
            if before is None:
                node.declare_parameter(row.name, row.default, descriptor)
            value = node.get_parameter(row.name).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            wanted = type(row.default).__name__ + (f" from {row.low:g} to {row.high:g}" if bounded else "")
            raise ConfigError(
                f"{node.get_name()}: parameter {row.name} must be a {wanted} ({row.description}): {error}"
            ) from None
        if row.choices and value not in row.choices:
            raise ConfigError(f"{node.get_name()}: {UnknownNameError(f'value of {row.name}', str(value), row.choices)}")
        values[row.name] = value
        if known is not None:
            known[row.name] = row
    return values


def refuse_unknown(node: Node) -> None:
    """Raise UnknownNameError for a parameter that a file gives this node and that it has not declared, which ROS would
    ignore silently.
    """
    for path, key in parameter_files.own_keys(parameter_files.given(sys.argv), node.get_fully_qualified_name()):
        if not node.has_parameter(key) and not key.startswith(_OPEN):
            raise UnknownNameError(f"parameter of {node.get_name()} in {path}", key, node.get_parameters_by_prefix(""))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, array) else value
