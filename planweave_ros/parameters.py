"""Parameters of a node, declared from a table and checked at start."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.parameter import Parameter
from planweave.launcher import parameter_files

__all__ = ["Parameter", "declare"]


def declare(node: Node, table: Sequence[Parameter], **renamed: str) -> dict[str, Any]:
    """Declare the parameters (read only, unless changeable) and return their values.

    renamed: new names by old ones, which nobody may set. Raises ConfigError that says what is valid, also where none of
    the given parameter files matches this node: ROS would ignore them silently.
    """
    files = {str(path): [name for name, _ in parameter_files.read(path)] for path in parameter_files.given(sys.argv)}
    problem = parameter_files.stray(files, node.get_fully_qualified_name())
    if problem:
        raise ConfigError(problem)
    values: dict[str, Any] = {}
    for old, new in renamed.items():
        if node.declare_parameter(old, descriptor=ParameterDescriptor(dynamic_typing=True)).value is not None:
            raise ConfigError(f"{node.get_name()}: there is no parameter {old} any more; use {new}")
        node.undeclare_parameter(old)
    for row in table:
        descriptor = ParameterDescriptor(description=row.description, read_only=not row.changeable)
        bounded = row.low is not None and row.high is not None
        if bounded and isinstance(row.default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=row.low, to_value=row.high)]
        elif bounded and isinstance(row.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(row.low or 0), to_value=int(row.high or 0))]
        if row.choices:
            descriptor.additional_constraints = f"one of: {', '.join(row.choices)}"
        try:
            value = node.declare_parameter(row.name, row.default, descriptor).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            wanted = type(row.default).__name__ + (f" from {row.low:g} to {row.high:g}" if bounded else "")
            raise ConfigError(
                f"{node.get_name()}: parameter {row.name} must be a {wanted} ({row.description}): {error}"
            ) from None
        if (instead := row.replaced.get(str(value))) is not None:
            raise ConfigError(f"{node.get_name()}: there is no {row.name}: {value} any more; use {row.name}: {instead}")
        if row.choices and value not in row.choices:
            raise ConfigError(f"{node.get_name()}: {UnknownNameError(f'value of {row.name}', str(value), row.choices)}")
        values[row.name] = value
    return values
