"""Preparation of a Franka arm at start and after an error, in the order required by franka_ros2 (v3.3.0 and later):
clear the robot's error, activate the hardware component, set the contact thresholds, activate the controller. Nothing
moves.

The robot accepts the thresholds in idle mode only, so that the arm's controller is deactivated before; they are lost
when it is switched off.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.base.errors import UnknownNameError
from planweave.core.workflow.action_end import ActionEnd, End
from planweave_ros.action_port import ActionPort
from planweave_ros.calling import ask
from planweave_ros.controllers import ERROR_RECOVERY, duration, interface

HARDWARE = "FrankaHardwareInterface"
STATES = "joint_state_broadcaster"
CONTACT = 0.7
"""Share of a threshold from which on the robot reports a contact, without stopping."""
_PATIENCE = 10.0  # s for one step


def make_recovery(driver: str) -> type[Recovery]:
    """The recovery of a driver that a robot's description names; raises UnknownNameError."""
    if driver not in DRIVERS:
        raise UnknownNameError("driver", driver, DRIVERS)
    return DRIVERS[driver]


class Recovery:
    """The steps. `run` and `prepare` block, so the node must be spun with several threads.

    controller: name of the arm's. torques (7,) Nm at the joints and forces (6,) N and Nm at the hand: external ones
    beyond which the robot stops itself.
    """

    def __init__(self, node: Node, controller: str, torques: Sequence[float], forces: Sequence[float]):
        self._error = ActionPort(node, interface("franka_msgs", "action", "ErrorRecovery"), ERROR_RECOVERY)
        self._error_goal = interface("franka_msgs", "action", "ErrorRecovery").Goal
        state = interface("controller_manager_msgs", "srv", "SetHardwareComponentState")
        switch = interface("controller_manager_msgs", "srv", "SwitchController")
        contact = interface("franka_msgs", "srv", "SetFullCollisionBehavior")
        group = ReentrantCallbackGroup()
        self._state_request, self._switch_request = state.Request, switch.Request
        self._contact_request = contact.Request
        self._controller = controller.rpartition("/")[2]
        self._torques, self._forces = [float(x) for x in torques], [float(x) for x in forces]
        self._state = node.create_client(state, "controller_manager/set_hardware_component_state", callback_group=group)
        self._switch = node.create_client(switch, "controller_manager/switch_controller", callback_group=group)
        self._contact = node.create_client(contact, "service_server/set_full_collision_behavior", callback_group=group)
        self._lock = threading.Lock()
        self._prepared = False
        self._check: Callable[[], object] = lambda: None

    def run(self) -> tuple[bool, str]:
        """Recover the arm; returns whether it can move again, and what was done or what failed."""
        with self._lock:
            self._prepared, self._check = False, lambda: None
            problem = self._clear() or self._activate_hardware() or self._thresholds_and_controller()
        return not problem, problem or "the error is cleared and the arm's controller is active again"

    def prepare(self, check: Callable[[], object] = lambda: None) -> str:
        """Before the first motion: set the thresholds and activate the controller; empty, or what failed. check: raises
        where the action has ended.
        """
        with self._lock:
            self._check = check
            return "" if self._prepared else self._thresholds_and_controller()

    def _thresholds_and_controller(self) -> str:
        problem = self._switch_controllers(off=[self._controller]) or self._set_thresholds()
        problem = problem or self._switch_controllers(on=[STATES, self._controller])
        self._prepared = not problem
        return problem

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
            return f"nobody offers {ERROR_RECOVERY}: is franka_ros2 running? (fake hardware: set robot: fake)"
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

    def _set_thresholds(self) -> str:
        request = self._contact_request()
        for kind, values in (("torque", self._torques), ("force", self._forces)):
            for phase in ("acceleration", "nominal"):
                setattr(request, f"upper_{kind}_thresholds_{phase}", values)
                setattr(request, f"lower_{kind}_thresholds_{phase}", [CONTACT * value for value in values])
        answer = self._call(self._contact, request)
        if isinstance(answer, str):
            return answer
        if answer.success:
            return ""
        return f"the robot refused collision_torques and collision_forces: {answer.error or 'see its log'}"

    def _switch_controllers(self, on: Sequence[str] = (), off: Sequence[str] = ()) -> str:
        request = self._switch_request()
        request.activate_controllers, request.deactivate_controllers = list(on), list(off)
        request.strictness = self._switch_request.BEST_EFFORT  # what is so already is no error
        request.timeout = duration(5.0)
        answer = self._call(self._switch, request)
        if isinstance(answer, str):
            return answer
        said = str(getattr(answer, "message", "") or "see ros2 control list_controllers")
        wanted = f"{', '.join(on or off)} did not become {'active' if on else 'inactive'}"
        return "" if answer.ok else f"the controllers {wanted}: {said}"

    def _call(self, client: Any, request: Any) -> Any:
        """The response, or a text that says why there is none."""
        if not client.service_is_ready():
            who = "franka_ros2" if client is self._contact else "ros2_control's controller_manager"
            return f"nobody offers {client.srv_name}: is {who} running?"
        answer = ask(client, request, _PATIENCE, self._check)
        return f"{client.srv_name} did not answer within {_PATIENCE:g} s" if answer is None else answer


DRIVERS = {"franka_ros2": Recovery}
"""By the name in a robot's description (planweave/robots, ros: driver)."""
