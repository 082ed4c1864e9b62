"""Pixels to named objects: depth and colour images in, objects with poses in the robot's base frame out."""
