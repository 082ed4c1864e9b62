"""A body on ROS: ExecuteAction, transient local WorldState, Look, presence and diagnostics, whatever the body is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import Look
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from planweave.bodies.arm.input_checks import LONGEST
from planweave.bodies.arm.waiting import until
from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.base.health import Level, Report
from planweave.core.symbolic.rules import highest
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import LookingBody, Outcome
from planweave.core.workflow.wrapped_body import RuledBody
from planweave.goals import RuleFile
from planweave_ros import conversions as convert
from planweave_ros.deferred import DeferredActionServer, Goal
from planweave_ros.diagnostics import publish_diagnostics
from planweave_ros.guarded import GuardedNode
from planweave_ros.lifecycle import ManagedNode
from planweave_ros.liveliness import BODY, COMMANDER, Presence, show_presence
from planweave_ros.only_one import leave_to_another_body, own_publisher, refuse_a_second_body, second_body
from planweave_ros.permission import ApprovedSteps, Binding
from planweave_ros.qos import TRANSIENT_LOCAL

_LAST_RESULT = 1.0  # s of wall time for a stopped action to report its end when the node is shut down
_MOST_GOALS = 8  # that are looked at beside each other, one of which is carried out


class WorldPublisher:
    def __init__(self, node: Node) -> None:
        self.message = convert.WorldMessages()
        """The message of a world; what did not change since the last one is not made again."""
        self._publisher, self.key = own_publisher(
            node, lambda: node.create_publisher(WorldState, "world_state", TRANSIENT_LOCAL)
        )

    def publish(self, world: World) -> None:
        self._publisher.publish(self.message(world))


def keep_the_only_body(node: Node, worlds: WorldPublisher, since: float) -> None:
    """Raise ConfigError where another body is there; a GuardedNode ends where one is discovered late. Of two that
    start at the same time one stays. worlds: the node's own. since: time.monotonic() when the node was made.
    """
    refuse_a_second_body(node, since, worlds.key)
    if isinstance(node, GuardedNode):
        leave_to_another_body(node, since, worlds.key)


class BodyServer:
    """Serves a body's contract on a node, from now on until the node's end.

    One action at a time; the others are refused. A body with `begin` and `stop` (StoppableBody) is stopped where its
    action is cancelled, where who sent it has gone, and by `BodyServer.stop`. name: the body in messages. timeout: s
    for an action whose goal gives none. worlds: given where the body publishes its world itself at every change; else
    it is published now and after every action. why_idle: why the body does nothing now; problem: why no action may be
    carried out (default: another body is there); both "" where nothing is in the way. before_action: called before
    one begins, without the lock, with what tells that it is given up. since: time.monotonic() when the node was made;
    ConfigError is then raised where another body is there already; None: the caller sees to that. part, reports: names
    of diagnostics, and further ones.

    rules: file of rules that always hold, "" for config/rules.yaml; an action that breaks one is refused. heights:
    whether the body itself keeps the height that rules allow. require_approval: whether only the approved step of
    feedback_node is carried out (planweave_ros.permission). Raises ConfigError for rules that are wrong, or that the
    body cannot keep.
    """

    def __init__(
        self,
        node: Node,
        body: LookingBody,
        *,
        name: str = "the body",
        timeout: float = 60.0,
        worlds: WorldPublisher | None = None,
        why_idle: Callable[[], str] = lambda: "",
        problem: Callable[[], str] | None = None,
        before_action: Callable[[Callable[[], bool]], None] = lambda given_up: None,
        since: float | None = None,
        part: str = "body",
        reports: Mapping[str, Callable[[], Report]] | None = None,
        hardware: str = "",
        rules: str = "",
        heights: bool = False,
        require_approval: bool = False,
    ) -> None:
        domain = RuleFile(rules).load(body.observe().domain)
        if highest(domain.rules) is not None and not heights:
            raise ConfigError(
                f"a rule limits how high things are lifted, and {name} measures no heights; leave that rule out"
            )
        self._node, self.body, self._name, self._timeout = node, body, name, timeout
        self._why_idle, self._before_action = why_idle, before_action
        self._problem = problem or (lambda: second_body(node))
        self._acting: LookingBody = RuledBody(body, domain) if domain.rules else body
        self._publishes = worlds is None
        self._worlds = worlds or WorldPublisher(node)
        if since is not None:
            keep_the_only_body(node, self._worlds, since)
        self.lock = threading.RLock()
        """Held while an action begins or is stopped; hold it to do what must not happen beside an action."""
        self._current: Goal | None = None
        self._text = ""  # what the body is busy with
        self._why_ending = ""
        self._goals = threading.Semaphore(_MOST_GOALS)
        self._commander = Presence(node, COMMANDER, self._on_commander_lost)
        self._approved = ApprovedSteps(node) if require_approval else None
        self._binding = Binding(node)
        node.create_service(Look, "look", self._on_look, callback_group=MutuallyExclusiveCallbackGroup())
        if self._publishes:
            self._worlds.publish(body.observe())
        self._server = DeferredActionServer(node, ExecuteAction, "execute_action", self._start)
        show_presence(node, BODY)
        publish_diagnostics(node, {part: self.report, **(reports or {})}, hardware=hardware)

    # ---- for the node

    @property
    def busy(self) -> bool:
        """Return whether an action runs or the body is reserved; takes no lock."""
        return bool(self._text)

    @property
    def busy_with(self) -> str:
        """The action or reservation that keeps the body busy; empty for none."""
        with self.lock:
            return self._text

    @contextlib.contextmanager
    def reserved(self, what: str) -> Iterator[str]:
        """Reserve the body so that no action begins; where it is busy, gives with what, and reserves nothing."""
        with self.lock:
            busy = self._text
            if not busy:
                self._text = what
        try:
            yield busy
        finally:
            if not busy:
                self._text = ""

    def publish(self) -> World:
        world = self.body.observe()
        self._worlds.publish(world)
        return world

    def refuse_actions(self, why: str) -> None:
        """Begin no action any more: the node ends."""
        with self.lock:
            self._why_ending = why

    def stop(self, code: Code, why: str) -> bool:
        """Stop the action that runs; whether there was one."""
        with self.lock:
            if self._current is not None:
                self._stop(code, why)
            return self._current is not None

    def wait_idle(self, seconds: float) -> None:
        """Wait until nothing runs any more, some seconds at most."""
        until(lambda: not self.busy, seconds)

    def end(self, why: str) -> None:
        """Begin no action any more, stop the one that runs, and wait for its result: the node ends, still spun."""
        self.refuse_actions(why)
        if self.stop(Code.SAFETY_STOP, why):
            self.wait_idle(_LAST_RESULT)

    def report(self) -> Report:
        if problem := self._problem():
            return Report(Level.ERROR, problem)
        if idle := self._why_idle():
            return Report(Level.WARN, idle)
        return Report(Level.OK, f"busy with {busy}" if (busy := self.busy_with) else "ready")

    # ---- in

    def _on_look(self, request: Look.Request, response: Look.Response) -> Look.Response:
        look = self.body.look(request.timeout)
        response.fresh, response.message, response.world = look.fresh, look.message, self._worlds.message(look.world)
        return response

    def _on_commander_lost(self) -> None:
        """Stop where nobody is left who could: the result of the action would reach no one. Also where the one that has
        gone was discovered after the action began: it may have sent it.
        """
        with self.lock:
            if self._current is None:
                return
            self._stop(Code.SAFETY_STOP, f"who sent the action has gone (feedback_node?); {self._name} was stopped")
            text = self._text
        self._node.get_logger().warning(f"{text}: who sent it has gone; {self._name} was stopped")

    def _start(self, goal: Goal) -> None:
        """Carry a goal out on a thread of its own: one that has to wait keeps no thread from a cancellation."""
        goal.on_cancel = lambda: self._on_cancel(goal)
        if self._goals.acquire(blocking=False):
            task = goal, self._commander.departures
            threading.Thread(target=self._execute, args=task, daemon=True, name="execute_action").start()
        else:
            self._finish(goal, self._refused(Code.CONTROL_FAILED, f"{_MOST_GOALS} goals wait already; cancel them"))

    def _execute(self, goal: Goal, departures: int) -> None:
        """Carry a goal out. departures: of commanders, when it arrived."""
        try:
            request, feedback = goal.request, ExecuteAction.Feedback()
            action, timeout = convert.action_from_msg(request.action), float(request.timeout)
            timeout = self._timeout if timeout == 0 else min(timeout, LONGEST)

            def on_phase(phase: str, progress: float) -> None:
                feedback.phase, feedback.progress = phase, float(progress)
                goal.publish(feedback)

            outcome = self._refusal(goal, action, timeout, departures)
            if outcome is None:
                try:
                    goal.begin()
                    outcome = self._impossible(goal, action)
                    if outcome is None:
                        assert action is not None
                        outcome = self._acting.execute(
                            action,
                            task_id=request.task_id,
                            timeout=timeout,
                            on_phase=on_phase,
                            approval=request.approval,
                        )
                except Exception as error:  # the body may be anybody's
                    outcome = self._failed(action, error)
                finally:
                    with self.lock:
                        self._current, self._text = None, ""
                if self._publishes:
                    self._worlds.publish(outcome.world)
            self._finish(goal, outcome)
        except Exception as error:  # else nobody would hear of the goal's end
            self._node.get_logger().error(f"execute_action: {error!r}")
            goal.finish(ExecuteAction.Result(code=int(Code.CONTROL_FAILED), message=f"an error: {error!r}"), False)
        finally:
            self._goals.release()

    def _on_cancel(self, goal: Goal) -> None:
        with self.lock:
            if self._current is goal:
                self._stop(Code.CANCELED, f"the action was cancelled; {self._name} was stopped")

    def _stop(self, code: Code, why: str) -> None:
        """Stop the current action, where the body can be stopped; the lock is held."""
        stop = getattr(self.body, "stop", None)
        if stop is not None:
            stop(code, why)

    def _begin(self, goal: Goal, action: Action | None, timeout: float, departures: int) -> Outcome | None:
        """Make an action the current one; the outcome of one that is refused."""
        with self.lock:
            idle, busy = self._why_idle(), self._text
            if not idle and self._commander.departures > departures:
                idle = "a feedback_node has gone since the action was sent, perhaps its sender; send it again"
            if not busy and not idle:
                self._current, self._text = goal, str(action or "an action without a name")
                begin = getattr(self.body, "begin", None)
                if begin is not None:
                    begin(timeout)
                if goal.cancel_asked.is_set():
                    self._stop(Code.CANCELED, "the action was cancelled before it started")
                if why := self._why_ending or self._why_idle():  # begin has undone a stop that came before it
                    self._stop(Code.NOT_STARTED, why)
                return None
        if idle:
            return self._refused(Code.NOT_STARTED, f"nothing was moved: {idle}")
        return self._refused(
            Code.CONTROL_FAILED,
            f"{self._name} is busy with {busy}; send the action again when that is done, or cancel it first",
        )

    def _refusal(self, goal: Goal, action: Action | None, timeout: float, departures: int) -> Outcome | None:
        """The outcome of a goal that is refused; None: its action is the current one."""
        if not timeout >= 0:  # nor NaN
            return self._refused(Code.INVALID_ACTION, f"timeout must be above 0 s, got {timeout:g}")

        def given_up() -> bool:
            return bool(self._why_ending) or goal.cancel_asked.is_set()

        if problem := self._binding.problem(goal.request.sender, given_up):
            return self._refused(Code.NOT_STARTED, f"{problem}; nothing was moved")
        if self._approved is not None and action is not None:
            task_id, token = goal.request.task_id, goal.request.approval
            if problem := self._approved.problem(action, task_id, token, given_up):
                return self._refused(Code.NOT_STARTED, f"{action}: {problem}; nothing was moved")
        self._before_action(given_up)
        return self._begin(goal, action, timeout, departures)

    def _impossible(self, goal: Goal, action: Action | None) -> Outcome | None:
        """The outcome of the current action where it cannot be carried out."""
        if action is None:
            return self._refused(Code.INVALID_ACTION, "the goal names no action, such as grasp(red_cube)")
        if problem := self._problem():
            return self._refused(Code.NOT_STARTED, f"{problem}; nothing was moved")
        if hasattr(self.body, "stop"):
            return None
        if self._why_ending:
            return self._refused(Code.NOT_STARTED, self._why_ending)
        return self._refused(Code.CANCELED, "the action was cancelled") if goal.cancel_asked.is_set() else None

    def _failed(self, action: Action | None, error: Exception) -> Outcome:
        """The outcome of an action in which the body raised an exception; the body is stopped."""
        if isinstance(error, PlanweaveError):
            self._stop(Code.CONTROL_FAILED, str(error))
            return self._refused(Code.CONTROL_FAILED, str(error))
        self._stop(Code.CONTROL_FAILED, f"an error inside {self._node.get_name()}")
        self._node.get_logger().error(f"{action}: {error!r}")
        return self._refused(
            Code.CONTROL_FAILED,
            f"{self._node.get_name()} failed inside ({type(error).__name__}: {error}); {self._name} was stopped",
        )

    def _refused(self, code: Code, message: str) -> Outcome:
        return Outcome(code, message, self.body.observe())

    def _finish(self, goal: Goal, outcome: Outcome) -> None:
        result = ExecuteAction.Result(
            code=int(outcome.code),
            message=outcome.message,
            unmet=convert.literals_to_msg(outcome.unmet),
            motion_seconds=outcome.motion_seconds,
            planning_seconds=outcome.planning_seconds,
            pushed=list(outcome.pushed),
            world=self._worlds.message(outcome.world),
        )
        goal.finish(result, outcome.ok, outcome.code is not Code.SAFETY_STOP)


class ServingNode(ManagedNode):
    """A node that serves a body, while it is active; the running action is stopped before the node ends."""

    _served: BodyServer

    def serve(self, body: LookingBody, values: dict[str, Any], name: str = "the body") -> None:
        """Serve a body with the parameters action_timeout and rules; the last thing that `configure` does."""
        self._served = serve_body(
            self,
            body,
            name=name,
            timeout=values["action_timeout"],
            why_idle=lambda: self.why_idle,
            since=self.begun,
            rules=values["rules"],
        )
        self.on_release(lambda: self._served.stop(Code.SAFETY_STOP, f"{self.get_name()} was shut down"))

    def pause_work(self) -> None:
        if self._served.stop(Code.SAFETY_STOP, f"{self.get_name()} was deactivated"):
            self._served.wait_idle(_LAST_RESULT)

    def stop_work(self) -> None:
        """Let a running action end early; it reports its end while the node is still spun."""
        if self.configured:
            self._served.end(f"{self.get_name()} was shut down")


serve_body = BodyServer
"""Serve a body; to be called when all else of the node is made."""
