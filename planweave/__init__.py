"""The shared language of Planweave: domain, world, transition, plan, action tree, ports. No ROS."""

__version__ = "0.1.0"
