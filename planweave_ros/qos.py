"""Quality of service of topics, each profile once."""

from rclpy.qos import DurabilityPolicy, QoSProfile

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The newest message goes to who subscribes later, too: worlds, trees, markers, fixed transforms."""
LATCHED_STATUSES = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The newest statuses of tasks, of which several may end at once."""
IMAGES = QoSProfile(depth=2)
"""Images: late ones are of no use."""
