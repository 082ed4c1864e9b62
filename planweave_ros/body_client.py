"""The Body port over ExecuteAction, WorldState and Look, and the eyes of perception_node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import Look as LookSrv
from planweave_interfaces.srv import LookFor
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.node import Node

from planweave.bodies.arm.waiting import GRIP_SECONDS
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import CanceledError, NotStoppedError, SystemDownError, WorldError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome
from planweave_ros import conversions as convert
from planweave_ros.calling import STOP_SECONDS, Caller, NoResultError
from planweave_ros.liveliness import BODY, COMMANDER, GRACE, LEASE, Presence, show_presence
from planweave_ros.only_one import LivingPublishers, publisher_of, serves, two_publishers
from planweave_ros.permission import APPROVED_SECONDS, DEATH
from planweave_ros.qos import WORLDS

_WORLD, _ACTION, _LOOK = "world_state", "execute_action", "look"
_GOALS = "/_action/send_goal"  # after an action's name: the service by which its server takes goals
_PUBLISHERS_KEPT = 4  # publishers of worlds whose newest world is kept
_BESIDE = DEATH + APPROVED_SECONDS + GRIP_SECONDS + STOP_SECONDS
"""Seconds that a body may take beside an action's own: to know sender, approval and grip before it, and to stop."""
_GRAPH_SECONDS = 0.1  # how often is looked who publishes the world, while it is waited for


class RosBody:
    """Implements planweave.core.workflow.ports.StoppableBody with ExecuteAction and WorldState, for any body.

    timeout: seconds for an action where the caller sets none; world_timeout: seconds to wait for a body that reports
    its world; on_domain: called with the domain of the first world that is heard, and where it changes;
    sender: key of the feedback_node that this is part of (`planweave_ros.liveliness.show_own_presence`).
    """

    def __init__(
        self,
        node: Node,
        canceled: Callable[[], Cancellation],
        timeout: float,
        world_timeout: float,
        on_domain: Callable[[str], None] = lambda name: None,
        sender: Callable[[], bytes] = lambda: b"",
    ):
        self._presence = Presence(node, BODY, self._gone, self._come)
        show_presence(node, COMMANDER)
        caller = Caller(node, canceled, self._presence)
        self._caller, self._timeout, self._world_timeout, self._sender = caller, timeout, world_timeout, sender
        self._node, self._canceled = node, canceled
        self._topic = node.resolve_topic_name(_WORLD)  # names as they are after namespace and remapping
        self._action, self._look_name = node.resolve_service_name(_ACTION), node.resolve_service_name(_LOOK)
        self._execute = caller.action_client(ExecuteAction, _ACTION)
        self._look = caller.client(LookSrv, _LOOK)
        self._worlds: dict[bytes, World] = {}  # by their publisher
        self._domain, self._on_domain = "", on_domain  # of the world heard last
        self._refused = ""  # why the newest message could not be taken
        self._living = LivingPublishers(node, self._topic, LEASE + GRACE + 1.0)
        self._owner = b""  # the publisher that is known to serve ExecuteAction
        self._answer_time = 0  # when the last result or look came, nanoseconds of system time
        self._arrived = threading.Condition()
        self._interrupted = Cancellation()  # of the action that was begun last
        self._left = False  # whether a body has gone, so that its world was dropped
        self._one_by_one = MutuallyExclusiveCallbackGroup()  # else two threads may take two worlds in the wrong order
        self._subscription = self._listen()

    def destroy(self) -> None:
        """Destroy the action client; without this the graph lists it after the node's end."""
        self._execute.destroy()

    def _listen(self) -> Any:
        return self._node.create_subscription(WorldState, _WORLD, self._heard, WORLDS, callback_group=self._one_by_one)

    def _heard(self, msg: WorldState, info: dict[str, Any]) -> None:
        """Store a published world, unless it was sent before the last response and is older than the world in that."""
        source = publisher_of(info)
        self._living.heard(source)
        try:
            world = convert.world_from_msg(msg)
        except WorldError as error:
            with self._arrived:
                self._worlds.pop(source, None)  # it is no longer as it was, and how it is nobody said
                self._refused = str(error)
            self._node.get_logger().warning(f"{self._topic}: {error}", throttle_duration_sec=10.0)
            return
        with self._arrived:
            known = self._worlds.get(source) or self._worlds.get(b"")
            late = info["source_timestamp"] < self._answer_time
            if not (late and known is not None and _age(world) < _age(known)):
                self._worlds[source] = world
            for gone in list(self._worlds)[:-_PUBLISHERS_KEPT]:
                del self._worlds[gone]
            self._refused = ""
            self._arrived.notify_all()
        if world.domain != self._domain:
            self._domain = world.domain
            self._on_domain(world.domain)

    def _believed(self) -> tuple[World | None, str]:
        """The world of the only publisher, the node that executes actions; or why there is none."""
        problem = two_publishers(names := self._living.names(), self._topic)
        if problem or not names:
            return None, problem or self._refused
        ((source, name),) = names.items()
        if source != self._owner:
            if not serves(self._node, name, source, (self._action + _GOALS).__eq__):
                return None, (
                    f"{name} publishes {self._topic}, but does not serve {self._action}; stop it, or start the body"
                )
            self._owner = source
        # Without publishers in the messages' info (rclpy before 9) all worlds are from the one publisher there is.
        return self._worlds.get(source) or self._worlds.get(b""), self._refused

    def _answered(self, msg: WorldState, what: str) -> World:
        """Store the world of a result or of a look: no older one is returned from now on."""
        if (servers := self._living.servers(what)) > 1:
            raise SystemDownError(f"{servers} nodes serve {what}; stop all but the body")
        try:
            world = convert.world_from_msg(msg)
        except WorldError as error:
            raise SystemDownError(f"the answer of {what} cannot be believed: {error}") from None
        with self._arrived:
            _, problem = self._believed()
            if problem:
                raise SystemDownError(f"the world cannot be believed: {problem}")
            self._worlds = dict.fromkeys([*self._worlds, self._owner], world)
            self._answer_time = time.time_ns()
        return world

    def _gone(self) -> None:
        """Drop the world of a body that has gone."""
        with self._arrived:
            left = self._living.one_died(self._owner)
            self._worlds = {source: world for source, world in self._worlds.items() if source in left}
            self._owner, self._answer_time = b"", 0
            self._left = True

    def _come(self) -> None:
        """Read the last published world anew: a body taken for dead that lives publishes it at its next change only,
        and a dead process delivers none.
        """
        with self._arrived:
            if not self._left:
                return
            self._left = False
        before, self._subscription = self._subscription, self._listen()
        self._node.destroy_subscription(before)

    def await_ready(self, on_wait: Callable[[str], None] = lambda message: None) -> None:
        """Wait for a body that reports its world, at most `world_timeout` seconds; on_wait is called where there is
        none yet.

        Raises CanceledError where the running task is cancelled meanwhile, SystemDownError after the deadline.
        """
        deadline = time.monotonic() + self._world_timeout
        told = False
        while True:
            with self._arrived:
                world, problem = self._believed()
            if world is not None and self._caller.is_ready(self._execute):
                return
            if time.monotonic() > deadline:
                raise SystemDownError(self._unbelieved(problem))
            if not told:
                told, why = True, problem or "no body reports its world yet"
                on_wait(f"{why}; waiting up to {self._world_timeout:g} s")
            self._canceled().check()
            time.sleep(_GRAPH_SECONDS)

    def _unbelieved(self, problem: str) -> str:
        """Why there is no accepted world."""
        if problem:
            return f"the world cannot be believed: {problem}"
        return (
            f"no body reports the world (nothing on {self._topic} in {self._world_timeout:g} s): is executor_node "
            "running, and does perception see camera images? try: planweave doctor"
        )

    def _require(self) -> None:
        """Raise SystemDownError where the body is known to have gone, instead of waiting."""
        if self._presence.lost:
            raise SystemDownError(
                "the body is gone (executor_node, virtualhome_node or body_node ended); start it again and "
                "repeat the task"
            )

    def observe(self, revision: int = 0) -> World:
        deadline = time.monotonic() + self._world_timeout
        self._require()
        with self._arrived:
            while True:
                world, problem = self._believed()
                if world is not None and world.revision >= revision:
                    return world
                gone = bool(self._worlds) and not self._node.count_publishers(self._topic)
                left = deadline - time.monotonic()
                if left <= 0 or gone:
                    break
                self._canceled().check()
                self._arrived.wait(min(left, _GRAPH_SECONDS))  # nothing tells when a publisher comes or goes
        if problem or world is None:
            raise SystemDownError(self._unbelieved(problem))
        raise SystemDownError(
            f"the task is to begin in world revision {revision}, but the body's newest is {world.revision} after "
            f"{self._world_timeout:g} s; was the body restarted? look at {self._topic} anew and send the task again"
        )

    def begin(self, timeout: float) -> None:
        self._interrupted = Cancellation()

    def stop(self, code: Code, message: str) -> None:
        """Cancel the action that was begun; `execute` then returns with the outcome of the body, which has stopped."""
        self._interrupted.cancel(message)

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        seconds = timeout or self._timeout
        goal = ExecuteAction.Goal(
            task_id=task_id,
            action=convert.action_to_msg(action),
            approval=approval,
            sender=self._sender().hex(),
            timeout=float(seconds),
        )
        listener = (lambda f: on_phase(f.phase, f.progress)) if on_phase else None
        try:
            result = self._caller.run_goal(
                self._execute,
                goal,
                seconds + _BESIDE,
                f"the body ({self._action})",
                listener,
                self._interrupted,
            )
            world = self._answered(result.world, self._action + _GOALS)
        except NotStoppedError:
            raise
        except CanceledError:
            return Outcome(Code.CANCELED, "it was not sent to the body", self.observe())
        except SystemDownError as error:
            if self._presence.lost:
                raise
            code, message = Code.CONTROL_FAILED, str(error)
            if isinstance(error, NoResultError):  # it may still move: nothing is tried again
                code, message = Code.SAFETY_STOP, f"{error}: whether it has stopped is not known"
            with self._arrived:
                return Outcome(code, message, self._worlds.get(self._owner) or World(""))
        code, message = Code.CONTROL_FAILED, result.message
        if result.code in list(Code):
            code = Code(result.code)
        else:
            message = (
                f"the body ({self._action}) ended the action with the unknown code {result.code} ({message}); "
                "is it of the same version of Planweave?"
            )
        return Outcome(
            code,
            message,
            world,
            convert.literals_from_msg(result.unmet),
            float(result.motion_seconds),
            float(result.planning_seconds),
            tuple(result.pushed),
        )

    def look(self, seconds: float) -> Look:
        what = f"the body ({self._look_name})"
        self._require()
        if not self._caller.there(self._look, 5.0):
            raise SystemDownError(f"{what} is not running; start it, e.g. with: planweave up tabletop")
        request = LookSrv.Request(timeout=float(seconds))
        reply = self._caller.call(self._look, request, seconds + STOP_SECONDS, what)
        return Look(self._answered(reply.world, self._look_name), bool(reply.fresh), reply.message)


def _age(world: World) -> tuple[int, float]:
    return world.revision, world.stamp


class RosEyes:
    """Sets the queries of perception_node's open-vocabulary detector. timeout: seconds per call."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float):
        self._caller, self._timeout = Caller(node, canceled), timeout
        self._look = node.create_client(LookFor, "perception/look_for", callback_group=ReentrantCallbackGroup())
        self._name = f"perception_node ({node.resolve_service_name('perception/look_for')})"

    def look_for(self, names: Sequence[str]) -> str:
        """Set the queries and wait until an image was processed with them; "" at once where the detector has none."""
        if not names or not self._look.service_is_ready():
            return ""
        request = LookFor.Request(names=list(names))
        return str(self._caller.call(self._look, request, self._timeout, self._name).message)
