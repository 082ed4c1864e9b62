"""Action goals and service requests from a thread that does not spin the node, each wait with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from planweave.bodies.arm.waiting import until
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import NotStoppedError, PlanweaveError, SystemDownError
from planweave_ros.liveliness import Presence
from planweave_ros.rclpy_compat import ThreadSafeActionClient

#: A server answers only a client that it has discovered, which may take it so many seconds longer than the other way.
MUTUAL_DISCOVERY = 0.8
STOP_SECONDS = 5.0  # how long a server may take to acknowledge a cancellation
_LOOK_SECONDS = 0.5  # how often is looked whether the servers are there
START_SECONDS = 30.0  # how long a server may take to be seen, e.g. one started again on a busy machine


class NoResultError(SystemDownError):
    """A goal was sent, and its server does not tell its end: it may still work on it."""


class Caller:
    """Sends goals and requests from a thread that does not spin the node; every wait has a deadline."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], presence: Presence | None = None):
        self._node, self._canceled, self._presence = node, canceled, presence
        self._group = ReentrantCallbackGroup()
        self._since: dict[Any, float | None] = {}  # client -> when its server was first seen; None: not there
        group = self._group if presence is None else presence.group
        self._looks = node.create_timer(_LOOK_SECONDS, self._look, callback_group=group)
        if presence is not None:
            presence.on_change = self._look_anew

    def action_client(self, kind: Any, name: str) -> ThreadSafeActionClient:
        """A client of an action server, with its presence monitored."""
        client = ThreadSafeActionClient(self._node, kind, name, callback_group=self._group)
        self._look_for(client)
        return client

    def client(self, kind: Any, name: str) -> Any:
        """A client of a service, with its presence monitored."""
        client = self._node.create_client(kind, name, callback_group=self._group)
        self._look_for(client)
        return client

    def _look_for(self, client: Any) -> None:
        self._since[client] = None
        self._looks.reset()

    def _look(self) -> None:
        now = time.monotonic()
        for client, since in self._since.items():
            self._since[client] = (since or now) if self.is_ready(client) else None
        known = all(since is not None and now - since > MUTUAL_DISCOVERY for since in self._since.values())
        if not self._since or (known and self._presence is not None and self._presence.there):
            self._looks.cancel()  # until one goes or comes

    def _look_anew(self) -> None:
        self._since = dict.fromkeys(self._since)
        self._looks.reset()

    def is_ready(self, client: Any) -> bool:
        """Return whether a client's server is alive. The graph alone would list a killed one for another 20 s."""
        if self._presence is not None and self._presence.lost:
            return False
        return bool(
            client.server_is_ready() if isinstance(client, ThreadSafeActionClient) else client.service_is_ready()
        )

    def wait(
        self,
        future: Future,
        seconds: float,
        what: str,
        alive: Callable[[], bool],
        interrupted: Cancellation | None = None,
    ) -> Any:
        """The result of a future; None where the task is cancelled, or this wait interrupted, first; SystemDownError
        after the deadline.
        """
        ready = threading.Event()
        future.add_done_callback(lambda _: ready.set())
        canceled = self._canceled()
        deadline = time.monotonic() + seconds
        missing = 0
        with canceled.calling(ready.set), (interrupted or Cancellation()).calling(ready.set):
            while not ready.wait(max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic()))):
                missing = 0 if alive() else missing + 1
                if missing >= 2:
                    raise SystemDownError(f"{what} is gone; start it again and repeat the task")
                if time.monotonic() >= deadline:
                    raise SystemDownError(f"{what} did not answer in {seconds:g} s")
        return future.result() if future.done() else None

    def there(self, client: Any, seconds: float, given_up: Cancellation | None = None) -> bool:
        """Wait for a server until a deadline, and for mutual discovery with one that has just appeared; whether it is
        there. Raises CanceledError where the task is cancelled, or this was given up.
        """

        def check() -> None:
            self._canceled().check()
            (given_up or Cancellation()).check()

        if not until(lambda: self.is_ready(client), seconds, 0.02, check):
            return False
        since = self._since[client] or time.monotonic()
        time.sleep(max(0.0, since + MUTUAL_DISCOVERY - time.monotonic()))
        check()
        return True

    def watched(self, client: Any) -> Callable[[], bool]:
        """A function that returns whether the current server is still alive."""
        seen, before = self._presence, self._presence.departures if self._presence is not None else 0
        return lambda: self.is_ready(client) and (seen is None or seen.departures == before)

    def call(self, client: Any, request: Any, seconds: float, what: str) -> Any:
        """The response of a service; raises CanceledError where the task is cancelled first, else as `wait`."""
        alive = self.watched(client)
        reply = self.wait(client.call_async(request), seconds, what, alive)
        if reply is None:
            self._canceled().check()
        return reply

    def run_goal(
        self,
        client: ThreadSafeActionClient,
        goal: Any,
        seconds: float,
        what: str,
        on_feedback: Callable[[Any], None] | None = None,
        interrupted: Cancellation | None = None,
    ) -> Any:
        """Send a goal and wait for its result; cancelled on the server when the wait ends early.

        A goal that was sent is stopped where the task is cancelled, and its result returned; raises CanceledError where
        nothing was sent, NoResultError where the server does not tell its end, NotStoppedError where it does not then,
        either. interrupted: cancels this goal alone.
        """
        given_up = interrupted or Cancellation()
        if not self.there(client, min(seconds, START_SECONDS), given_up):
            raise SystemDownError(f"{what} is not running; start it, e.g. with: planweave up tabletop")
        listener = (lambda message: on_feedback(message.feedback)) if on_feedback else None
        alive = self.watched(client)
        sent = client.send_goal_async(goal, feedback_callback=listener)
        try:
            handle = self.wait(sent, min(seconds, 10.0), what, alive, given_up)
            if handle is None:
                handle = self._stopped(sent, what, alive)
        except PlanweaveError as error:
            sent.add_done_callback(_cancel_late)
            raise (NoResultError(str(error)) if isinstance(error, SystemDownError) else error) from None
        if not handle.accepted:
            raise SystemDownError(f"{what} rejected the goal; it may be busy with another one")
        result = handle.get_result_async()
        try:
            reply = self.wait(result, seconds, what, alive, given_up)
        except SystemDownError as error:
            handle.cancel_goal_async()
            raise NoResultError(str(error)) from None
        if reply is None:  # the task was cancelled, or this goal interrupted
            handle.cancel_goal_async()
            reply = self._stopped(result, what, alive)
        return reply.result

    def _stopped(self, future: Future, what: str, alive: Callable[[], bool]) -> Any:
        """The result of a future of a goal that was given up; NotStoppedError where it does not come in time."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + STOP_SECONDS
        while not done.wait(0.1):
            gone = not alive()
            if gone or time.monotonic() > deadline:
                late = f"did not acknowledge the cancellation in {STOP_SECONDS:g} s"
                raise NotStoppedError(
                    f"{self._canceled().reason or 'the action was stopped'}, but {what} "
                    f"{'has gone away' if gone else late}: whether it has stopped is not known"
                )
        return future.result()


def _cancel_late(future: Future) -> None:
    handle = future.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()


_SLICE = 0.05  # s between two looks whether somebody still waits


def ask(client: Any, request: Any, seconds: float, check: Callable[[], object] = lambda: None) -> Any:
    """The response; None where none arrived within the given wall time. check: raises where nobody waits any more."""
    future = client.call_async(request)
    try:
        return future.result() if until(lambda: is_done(future, _SLICE), seconds, 0.0, check) else None
    finally:
        if not future.done():
            client.remove_pending_request(future)


def is_done(future: Future, seconds: float) -> bool:
    """Return whether a future is done, after at most `seconds` of wall time."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(seconds)
