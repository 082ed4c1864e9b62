"""The arm as a ROS node: executes actions and publishes the world."""
