"""Managed (lifecycle) nodes, which load and connect in configure and work only while they are active."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter

from planweave.core.base.errors import PlanweaveError, SystemDownError
from planweave.core.base.parameter import AUTOSTART
from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import Parameter, declare, refuse_unknown
from planweave_ros.rclpy_compat import destroy_actions

_ANSWERED = 0.3  # s for the answer of a shutdown to leave before the process ends
_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_WAYS = {"unconfigured": ("configure", "activate"), "inactive": ("activate",)}


class ManagedNode(LifecycleNodeMixin, GuardedNode):
    """A node whose `configure` reads parameters and files, and makes publishers, services and clients.

    It is configured at construction, where an error is raised, and activated with the parameter `autostart`. Later a
    configuration that fails is logged and leaves the node unconfigured: set the parameter, and configure again. Active,
    it works; inactive, it does not, and reports why; cleaned up, it has none of what `configure` made, and each
    parameter can be set; shut down, its process ends.
    """

    def __init__(self, name: str, table: Sequence[Parameter], overrides: Sequence[Any] = ()) -> None:
        """table: parameters, AUTOSTART among them. Raises PlanweaveError."""
        self.begun = time.monotonic()
        self._state, self._failure = "unconfigured", Exception("not configured")
        self._table, self._rows = table, dict[str, Parameter]()
        self._before, self._closing, self._started = list[Any](), contextlib.ExitStack(), False
        parts: tuple[Any, Any] = GuardedNode, LifecycleNodeMixin  # each begins itself, as in rclpy's LifecycleNode
        parts[0].__init__(self, name, parameter_overrides=list(overrides))
        parts[1].__init__(self, callback_group=MutuallyExclusiveCallbackGroup())
        try:
            values = self.declare(self._table)
            self.add_on_set_parameters_callback(self._on_set)
            if self.trigger_configure() is not _SUCCESS:
                raise self._failure
            if not values[AUTOSTART.name]:
                self.get_logger().warning(self.why_idle)
            elif self.trigger_activate() is not _SUCCESS:
                raise self._failure
            self._started = True
        except BaseException:
            self.destroy_node()
            raise

    @property
    def active(self) -> bool:
        return self._state == "active"

    @property
    def configured(self) -> bool:
        return self._state in ("inactive", "active")

    @property
    def why_idle(self) -> str:
        """The reason why the node is not active, and the service to call; empty where it is."""
        if self.active:
            return ""
        name = self.get_fully_qualified_name()
        ways = " and ".join(f"ros2 lifecycle set {name} {way}" for way in _WAYS.get(self._state, ()))
        return f"{self.get_name()} is {self._state}{': ' if ways else ''}{ways}"

    # ---- what nodes add -----------------------------------------------------------------------------------------

    def read_parameters(self) -> dict[str, Any]:
        """The values of all parameters; raises PlanweaveError. Nodes declare here what depends on others."""
        return self.declare(self._table)

    def configure(self, values: dict[str, Any]) -> None:
        """Read files, and make all that the node works with; raises PlanweaveError. values: of `read_parameters`."""
        raise NotImplementedError

    def begin_work(self) -> None:
        """Called on activation."""

    def pause_work(self) -> None:
        """Called on deactivation: end the current work. Must return within seconds."""

    def change(self, new: dict[str, Any]) -> None:
        """Take over new values of changeable parameters, or raise PlanweaveError."""

    # ---- what nodes call ----------------------------------------------------------------------------------------

    def declare(self, table: Sequence[Parameter]) -> dict[str, Any]:
        """Declare parameters, or read those declared before, and return their values; see `declare`."""
        return declare(self, table, self._rows)

    def require_active(self) -> None:
        """Raise SystemDownError with `why_idle` where the node is not active."""
        if self.why_idle:
            raise SystemDownError(self.why_idle)

    def on_release(self, close: Callable[[], object]) -> None:
        """Call this on cleanup and at the node's end, the last one first; publishers and clients are still there."""
        self._closing.callback(close)

    def stop_work(self) -> None:
        """End the work before the node ends, while it is still spun."""
        if self.configured:
            self.pause_work()

    def destroy_node(self) -> None:
        """Destroy what `configure` made, then the node."""
        self._state = "finalized"
        self._release()
        super().destroy_node()

    # ---- transitions, called by rclpy ---------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._before = self._entities()
        try:
            values = self.read_parameters()
            refuse_unknown(self)
            self.configure(values)
        except Exception as error:
            self._release()
            return self._failed("configured", error)
        self._state = "inactive"
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._state = "active"
        try:
            self.begin_work()
        except Exception as error:
            self._state = "inactive"
            return self._failed("activated", error)
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._state = "inactive"
        self.pause_work()
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._state = "unconfigured"
        self._release()
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.stop_work()
        self._state = "finalized"
        end = threading.Timer(_ANSWERED, self.finalized)
        end.daemon = True
        end.start()
        return _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log a transition's exception, which rclpy hides; the node has to be configured again."""
        self._state = "unconfigured"
        self._release()
        self.get_logger().error(f"a transition from {state.label} failed; {self.why_idle}")
        return _SUCCESS

    # ---- inside -------------------------------------------------------------------------------------------------

    def _failed(self, what: str, error: Exception) -> TransitionCallbackReturn:
        """Log why the node could not be configured or activated; at its start `__init__` raises it."""
        self._failure = error
        if self._started:
            self.get_logger().error(f"{self.get_name()} could not be {what}: {error}; mend that, then {self.why_idle}")
        return _FAILURE

    def _entities(self) -> list[Any]:
        return [*self.timers, *self.subscriptions, *self.services, *self.waitables, *self.clients, *self.publishers]

    def _release(self) -> None:
        """Destroy what was made since `configure` began: first what calls the node, last what it calls."""
        before = set(map(id, self._before))

        def destroy(entities: Iterable[Any], by: Callable[[Any], object]) -> None:
            for entity in [each for each in entities if id(each) not in before]:
                by(entity)

        destroy(self.timers, self.destroy_timer)
        destroy(self.subscriptions, self.destroy_subscription)
        destroy(self.services, self.destroy_service)
        self._closing.close()
        destroy_actions(self)
        destroy(self.clients, self.destroy_client)
        destroy(self.publishers, self.destroy_publisher)

    def _on_set(self, parameters: Sequence[RosParameter]) -> SetParametersResult:
        """Check values; while the node is configured, only what is changeable changes."""
        new = {p.name: p.value for p in parameters if p.name in self._rows}
        fixed = ", ".join(name for name in new if self.configured and not self._rows[name].changeable)
        if fixed:
            ways = ", ".join(["deactivate"] * self.active + ["cleanup"])
            return SetParametersResult(
                reason=f"{fixed}: fixed while {self.get_name()} is configured; first  ros2 lifecycle set "
                f"{self.get_fully_qualified_name()}  {ways}, then set it, configure and activate"
            )
        try:
            for name, value in new.items():
                self._rows[name].checked(value, self.get_name())
            if new and self.configured:
                self.change(new)
        except PlanweaveError as error:
            return SetParametersResult(reason=str(error))
        return SetParametersResult(successful=True)
