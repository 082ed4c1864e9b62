"""Names of services and topics that messages tell people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RosNames:
    """As they are in the ROS graph, after namespace and remapping; the defaults are those without either."""

    detections: str = "/perception/detected_objects"
    recover: str = "/executor/recover"
    let_go: str = "/executor/let_go"

    @property
    def how_to_recover(self) -> str:
        """What a person does where the controller moves nothing."""
        return (
            f"see whether the robot is in an error (Desk), then: ros2 service call {self.recover} std_srvs/srv/Trigger"
        )
