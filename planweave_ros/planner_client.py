"""The Planner port over planner_node's actions and services."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import SystemDownError
from planweave_ros.calling import START_SECONDS, Caller
from planweave_ros.liveliness import PLANNER, Presence
from planweave_ros.questions import QUESTIONS, PlannerQuestion


class RosPlanner:
    """Keeps planweave.core.workflow.ports.Planner: a method for each row of QUESTIONS. timeout: of each call, s."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float):
        self._caller, self._timeout = Caller(node, canceled, Presence(node, PLANNER)), timeout
        clients = {
            row.name: (self._caller.action_client if row.is_action else self._caller.client)(row.interface, row.name)
            for row in {row.name: row for row in QUESTIONS}.values()
        }
        self._questions = {row.method: partial(self._ask, row, clients[row.name]) for row in QUESTIONS}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        questions: dict[str, Callable[..., Any]] = self.__dict__.get("_questions", {})
        if name not in questions:
            raise AttributeError(f"RosPlanner has no question {name!r}; it has {', '.join(questions)}", name=name)
        return questions[name]

    def _ask(self, row: PlannerQuestion, client: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The answer; raises what the Planner port says."""
        request, what = row.request(*args, **kwargs), f"planner_node ({row.name})"
        if row.is_action:
            return row.answer(self._caller.run_goal(client, request, self._timeout, what))
        if not self._caller.there(client, START_SECONDS):
            raise SystemDownError(f"{what} is not running; start it: planweave up tabletop")
        alive = self._caller.watched(client)
        reply = self._caller.wait(client.call_async(request), self._timeout, what, alive)
        if reply is None:
            self._caller.check_canceled()
        return row.answer(reply)
