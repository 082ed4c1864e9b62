"""A simulated arm on a table with an RGB-D camera, as a ROS node."""
