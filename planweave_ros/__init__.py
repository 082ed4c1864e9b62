"""What the nodes share on the ROS side: message conversions, parameters, spinning."""
