"""body_node: the ROS node of an installed body (entry point ``planweave.bodies``), chosen by name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from planweave.bodies import make_body
from planweave.goals import RULES
from planweave_ros.parameters import Parameter, declare
from planweave_ros.serve_body import ServingNode, serve_body
from planweave_ros.spin import run_node

PARAMETERS = [
    RULES,
    Parameter("body", "home", "the body's name: that of an entry point in planweave.bodies"),
    Parameter("action_timeout", 60.0, "wall seconds for one action where its goal gives no time", 0.1, 3600.0),
]


class BodyNode(ServingNode):
    """One action at a time; the world at first and after each."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        begun = time.monotonic()
        super().__init__("body_node", parameter_overrides=list(parameter_overrides))
        values = declare(self, PARAMETERS)
        self.body = make_body(values["body"])
        self._served = serve_body(self, self.body, timeout=values["action_timeout"], since=begun, rules=values["rules"])
        self.get_logger().info(f"ready: {values['body']}, in the domain {self.body.observe().domain}")

    def destroy_node(self) -> None:
        """Take the node down; `stop_work` comes before."""
        super().destroy_node()
        getattr(getattr(self, "body", None), "close", lambda: None)()


def main() -> int:
    """Console script."""
    return run_node(BodyNode, stop=BodyNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
