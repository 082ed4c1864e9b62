"""The Planner port over planner_node's actions and services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from rclpy.node import Node

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import PlanweaveError, SystemDownError
from planweave.core.workflow.ports import (
    Choice,
    ConditionCheck,
    Grounding,
    Proposals,
    SampledPlans,
    Written,
)
from planweave.core.workflow.reading import Reading
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

    def generate_plans(self, *args: Any, **kwargs: Any) -> SampledPlans:
        return cast(SampledPlans, self._ask("generate_plans", args, kwargs))

    def choose_action(self, *args: Any, **kwargs: Any) -> Choice:
        return cast(Choice, self._ask("choose_action", args, kwargs))

    def select_action(self, *args: Any, **kwargs: Any) -> Choice:
        return cast(Choice, self._ask("select_action", args, kwargs))

    def propose_steps(self, *args: Any, **kwargs: Any) -> Proposals:
        return cast(Proposals, self._ask("propose_steps", args, kwargs))

    def write(self, *args: Any, **kwargs: Any) -> Written:
        return cast(Written, self._ask("write", args, kwargs))

    def interpret_goal(self, *args: Any, **kwargs: Any) -> Reading:
        return cast(Reading, self._ask("interpret_goal", args, kwargs))

    def ground_step(self, *args: Any, **kwargs: Any) -> Grounding:
        return cast(Grounding, self._ask("ground_step", args, kwargs))

    def check_condition(self, *args: Any, **kwargs: Any) -> ConditionCheck:
        return cast(ConditionCheck, self._ask("check_condition", args, kwargs))

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
