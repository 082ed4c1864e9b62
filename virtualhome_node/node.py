"""virtualhome_node: the household body. Carries out actions in a VirtualHome home and publishes what is seen of it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import CompressedImage

from planweave.bodies.home.port import Home, HomePort, SimulatedHome, UnityHome
from planweave.bodies.home.unity import UnityClient
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.scenes import SceneServices
from planweave_ros.serve_body import ServingNode
from planweave_ros.spin import run_node
from virtualhome_node.parameters import PARAMETERS


class VirtualHomeNode(ServingNode):
    """Executes one action at a time; publishes the world after each, and whenever the home was changed otherwise."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("virtualhome_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        home: Home
        if values["backend"] == "unity":
            client = UnityClient(values["unity.url"], values["unity.timeout"])
            home = UnityHome(client, values["unity.environment"], values["unity.animate"])
        else:
            home = SimulatedHome(values["scene"], values["action_seconds"])
        self.body = HomePort(home, values["observe"] == "partial", values["names"], self._now)
        self._pictured: tuple[int, int] | None = None  # revision and number of subscribers of the last picture
        self._pictures = self.create_publisher(CompressedImage, "virtualhome/picture", TRANSIENT_LOCAL)
        SceneServices(self, "virtualhome", lambda: "the home", lambda: self._served, self._reset, self._load_scene)
        self.create_timer(values["picture_period"], self._draw, callback_group=MutuallyExclusiveCallbackGroup())
        self.serve(self.body, values, "the person")
        world = self.body.observe()
        self.get_logger().info(
            f"ready: {values['backend']}, {len(world.objects)} things told, the person is in "
            f"{next((f.args[0] for f in world.facts if f.predicate == 'agent_in'), 'no room')}"
        )

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _reset(self) -> str:
        self.body.reset()
        return ""

    def _load_scene(self, scene: str) -> str:
        self.body.load(scene)
        return ""

    def _draw(self) -> None:
        """A picture where someone looks and something has changed, or where someone new looks."""
        watchers = self._pictures.get_subscription_count()
        key = self.body.home.simulator.revision, watchers
        if not watchers or key == self._pictured or self._served.busy:
            return
        self._pictured = key
        msg = CompressedImage(format="png", data=array("B", self.body.picture()))
        msg.header.stamp = self.get_clock().now().to_msg()
        msg.header.frame_id = "home"
        self._pictures.publish(msg)


def main() -> int:
    return run_node(VirtualHomeNode, stop=VirtualHomeNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
