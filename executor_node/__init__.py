"""The Franka body as a ROS node: executes actions and publishes the world."""
