"""body_node: the ROS node of an installed body (entry point ``planweave.bodies``), chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from body_node.parameters import PARAMETERS
from planweave.bodies import make_body
from planweave_ros.serve_body import ServingNode
from planweave_ros.spin import run_node


class BodyNode(ServingNode):
    """One action at a time; the world at first and after each."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("body_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        self.body = make_body(values["body"])
        self.on_release(getattr(self.body, "close", lambda: None))
        self.serve(self.body, values)
        self.get_logger().info(f"ready: {values['body']}, in the domain {self.body.observe().domain}")


def main() -> int:
    return run_node(BodyNode, stop=BodyNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
