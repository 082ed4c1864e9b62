"""The Planner port over planner_node's actions and services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import PlanweaveError, SystemDownError
from planweave_ros.calling import START_SECONDS, Caller
from planweave_ros.liveliness import PLANNER, Presence
from planweave_ros.questions import QUESTIONS


class RosPlanner:
    """Keeps planweave.core.workflow.ports.Planner. A call goes over the action or service of its row in QUESTIONS to
    planner_node (`_answer`), where LanguagePlanner (planweave/methods/language/planner.py) has a method of that name.

    timeout: of each call, s.
    """

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float):
        self._caller, self._timeout = Caller(node, canceled, Presence(node, PLANNER)), timeout
        self._canceled = canceled
        clients = {
            row.name: (self._caller.action_client if row.is_action else self._caller.client)(row.interface, row.name)
            for row in {row.name: row for row in QUESTIONS}.values()
        }
        self._questions = {row.method: (row, clients[row.name]) for row in QUESTIONS}

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_") or method not in self._questions:
            raise AttributeError(method)
        return lambda *args, **kwargs: self._ask(method, args, kwargs)

    def _ask(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer; raises what the Planner port says."""
        row, client = self._questions[method]
        request, what = row.request(*args, **kwargs), f"planner_node ({row.name})"
        if row.is_action:
            try:
                return row.answer(self._caller.run_goal(client, request, self._timeout, what))
            except PlanweaveError:
                self._canceled().check()  # nothing of it moves
                raise
        if not self._caller.there(client, START_SECONDS):
            raise SystemDownError(f"{what} is not running; start it: planweave up tabletop")
        return row.answer(self._caller.call(client, request, self._timeout, what))
