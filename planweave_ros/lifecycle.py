"""Managed (lifecycle) nodes, which work only while they are active."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn

from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import Parameter

AUTOSTART = Parameter(
    "autostart", True, "become active at the start; false: wait for  ros2 lifecycle set NODE activate"
)
_ANSWERED = 0.3  # s for the answer of a shutdown to leave before the process ends
_SUCCESS = TransitionCallbackReturn.SUCCESS
_WAYS = {"unconfigured": ("configure", "activate"), "inactive": ("activate",)}


class ManagedNode(LifecycleNodeMixin, GuardedNode):
    """A node whose parameters and models are loaded at construction, where an error ends the process with one line.

    Active, it works; inactive, it does not, and reports why; cleaned up, its memory is reset; shut down, its process
    ends. Subclasses call `start` at the end of their construction.
    """

    def __init__(self, name: str, **kwargs: Any):
        parts: tuple[Any, Any] = GuardedNode, LifecycleNodeMixin  # each begins itself, as in rclpy's LifecycleNode
        parts[0].__init__(self, name, **kwargs)
        parts[1].__init__(self, callback_group=MutuallyExclusiveCallbackGroup())
        self._state = "unconfigured"

    @property
    def active(self) -> bool:
        """Return whether the node is active."""
        return self._state == "active"

    @property
    def why_idle(self) -> str:
        """The reason why the node is inactive, and the service to call; empty where it is active."""
        if self.active:
            return ""
        name = self.get_fully_qualified_name()
        ways = " and ".join(f"ros2 lifecycle set {name} {way}" for way in _WAYS.get(self._state, ()))
        return f"{self.get_name()} is {self._state}{': ' if ways else ''}{ways}"

    def start(self, autostart: bool) -> None:
        """Become inactive, and active where configured."""
        self.trigger_configure()
        if autostart:
            self.trigger_activate()
        else:
            self.get_logger().warning(self.why_idle)

    # ---- what nodes add -----------------------------------------------------------------------------------------

    def pause_work(self) -> None:
        """Called on deactivation: end the current work. Must return within seconds."""

    def forget(self) -> None:
        """Called on cleanup: reset what was observed."""

    # ---- transitions, called by rclpy ---------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See rclpy."""
        self._state = "inactive"
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See rclpy."""
        self._state = "active"
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See rclpy."""
        self._state = "inactive"
        self.pause_work()
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See rclpy."""
        self._state = "unconfigured"
        self.forget()
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See rclpy."""
        self._state = "finalized"
        self.pause_work()
        end = threading.Timer(_ANSWERED, self.finalized)
        end.daemon = True
        end.start()
        return _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log a transition's exception, which rclpy hides; the node has to be configured again."""
        self._state = "unconfigured"
        self.get_logger().error(f"a transition from {state.label} failed; {self.why_idle}")
        return _SUCCESS
