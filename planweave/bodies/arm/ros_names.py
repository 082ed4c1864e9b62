"""Names of services and topics in messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RosNames:
    """Names in the ROS graph, after namespace and remapping; the defaults are those without either.

    look: where a person looks first, as the robot's description says.
    """

    detections: str = "/perception/detected_objects"
    recover: str = "/executor/recover"
    let_go: str = "/executor/let_go"
    look: str = "see whether the robot is in an error"

    @property
    def how_to_recover(self) -> str:
        """The remedy for a controller that does not move."""
        return f"{self.look}, then: ros2 service call {self.recover} std_srvs/srv/Trigger"
