"""Exceptions of rclpy without a public name in all supported releases.

They are taken from rclpy's own reference to its compiled part, because the name of that module is not fixed: it is
`_rclpy_pybind11` up to Lyrical, and is to change with ros2/rclpy#1707.
"""

from rclpy.impl.implementation_singleton import rclpy_implementation

RCLError: type[Exception] = rclpy_implementation.RCLError
"""A call of rcl failed; also that a node is unknown (NodeNameNonExistentError)."""
