"""Bringing a Franka arm back after an error, in the order that franka_ros2 asks for (v3.3.0 and later): clear the
robot's error, activate the hardware component, activate the controller. Nothing moves by it.
"""

from __future__ import annotations

import threading
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.action_end import ActionEnd, End
from planweave_ros.action_port import ActionPort
from planweave_ros.controllers import ERROR_RECOVERY, duration, interface

HARDWARE = "FrankaHardwareInterface"
CONTROLLERS = ["joint_state_broadcaster", "fr3_arm_controller"]
_PATIENCE = 10.0  # s for one step


class Recovery:
    """The three steps. `run` blocks, so the node must be spun with several threads."""

    def __init__(self, node: Node):
        self._error = ActionPort(node, interface("franka_msgs", "action", "ErrorRecovery"), ERROR_RECOVERY)
        self._error_goal = interface("franka_msgs", "action", "ErrorRecovery").Goal
        state = interface("controller_manager_msgs", "srv", "SetHardwareComponentState")
        switch = interface("controller_manager_msgs", "srv", "SwitchController")
        group = ReentrantCallbackGroup()
        self._state_request, self._switch_request = state.Request, switch.Request
        self._state = node.create_client(
            state, "/controller_manager/set_hardware_component_state", callback_group=group
        )
        self._switch = node.create_client(switch, "/controller_manager/switch_controller", callback_group=group)

    def run(self) -> tuple[bool, str]:
        """Whether the arm can move again, and what was done or what failed."""
        problem = self._clear() or self._activate_hardware() or self._activate_controllers()
        return not problem, problem or "the error is cleared and the arm's controller is active again"

    def _clear(self) -> str:
        ended = threading.Event()
        answer: list[ActionEnd] = []

        def done(end: ActionEnd) -> None:
            answer.append(end)
            ended.set()

        self._error.send(self._error_goal(), done)
        if not ended.wait(_PATIENCE):
            return f"{ERROR_RECOVERY} did not answer within {_PATIENCE:g} s"
        if answer[0].end is End.ABSENT:
            return f"nobody offers {ERROR_RECOVERY}: is franka_ros2 running? (fake hardware has no errors to clear)"
        if answer[0].end is not End.SUCCEEDED:
            return (
                "the robot's error could not be cleared: look at Desk, release the user stop, move the arm free by "
                "hand if it presses against something, and try again"
            )
        return ""

    def _activate_hardware(self) -> str:
        request = self._state_request()
        request.name = HARDWARE
        request.target_state.label = "active"
        answer = self._call(self._state, request)
        if isinstance(answer, str):
            return answer
        return "" if answer.ok else f"the hardware component {HARDWARE} did not become active: see ros2_control's log"

    def _activate_controllers(self) -> str:
        request = self._switch_request()
        request.activate_controllers = list(CONTROLLERS)
        request.strictness = self._switch_request.BEST_EFFORT
        request.timeout = duration(5.0)
        answer = self._call(self._switch, request)
        if isinstance(answer, str):
            return answer
        said = str(getattr(answer, "message", "") or "see ros2 control list_controllers")
        return "" if answer.ok else f"the controllers {', '.join(CONTROLLERS)} did not become active: {said}"

    def _call(self, client: Any, request: Any) -> Any:
        """The response, or a text that says why there is none."""
        if not client.service_is_ready():
            return f"nobody offers {client.srv_name}: is ros2_control's controller_manager running?"
        ended = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: ended.set())
        if not ended.wait(_PATIENCE):
            return f"{client.srv_name} did not answer within {_PATIENCE:g} s"
        return future.result()
