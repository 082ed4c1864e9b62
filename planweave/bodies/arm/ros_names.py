"""Names of services and topics in messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RosNames:
    """Names in the ROS graph, after namespace and remapping; the defaults are those without either.

    look: where a person looks first, as the robot's description says. kind: simulation, driver (a stand-in behind
    ros2_control) or robot: what it means that no joint states come, and what ends it, differ. fingers: topic of the
    fingers' joint states.
    """

    detections: str = "/perception/detected_objects"
    recover: str = "/executor/recover"
    let_go: str = "/executor/let_go"
    look: str = "see whether the robot is in an error"
    kind: Literal["simulation", "driver", "robot"] = "robot"
    fingers: str = "/joint_states"

    @property
    def how_to_recover(self) -> str:
        """The remedy for a controller that does not move."""
        if self.kind == "simulation":
            return "is simulation_node running?"
        if self.kind == "driver":
            return "see that the driver runs and its controller is active: ros2 control list_controllers"
        return f"{self.look}, then: ros2 service call {self.recover} std_srvs/srv/Trigger"

    @property
    def no_arm_states(self) -> str:
        """Meaning of missing joint states of the arm, and the remedy."""
        if self.kind != "robot":
            return self.how_to_recover
        return (
            "the robot's driver has ended, or has stopped by itself (reflex, error, user stop, lost network): "
            f"{self.how_to_recover}"
        )

    @property
    def no_finger_states(self) -> str:
        """The same of the fingers."""
        return f"the arm's come, but none of the fingers on {self.fingers}: is the hand's node running and connected?"
