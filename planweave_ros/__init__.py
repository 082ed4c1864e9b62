"""Shared ROS code of the nodes: message conversions, parameters, executors, clients."""
