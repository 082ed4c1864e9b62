"""The household body as a ROS node: VirtualHome, in the built-in simulator or in Unity."""
