"""Cameras: where frames come from. A camera is one file here that gives Frame values; node.py connects it."""
