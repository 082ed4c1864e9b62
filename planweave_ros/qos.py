"""Quality of service of topics and services, each profile once."""

from rclpy.qos import DurabilityPolicy, QoSProfile

TRANSIENT_LOCAL = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The newest message goes to who subscribes later, too: worlds, trees, markers, fixed transforms."""
WORLDS = QoSProfile(depth=4, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For who listens to worlds: all publishers share the depth of a subscription, so that with 1 the world of a second one
replaces that of the body where neither was read yet, and who publishes at changes only is not heard of again.
"""
STATUSES = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The newest statuses of tasks, of which several may end at once."""
IMAGES = QoSProfile(depth=2)
"""Images: late ones are of no use."""
REQUESTS = QoSProfile(depth=500)
"""Requests of services and actions, and their answers. Every client of a service gets the answers to all its clients,
and of more than ROS 2's default of 10 at once the oldest unread ones are dropped, so that who asked waits in vain.
"""
