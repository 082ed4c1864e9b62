"""Perception as a ROS node: depth and colour images to named objects with poses in the robot's base frame."""
