"""An arm in MuJoCo on a table with an RGB-D camera; only node.py speaks ROS."""
