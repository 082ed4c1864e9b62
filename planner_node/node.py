"""planner_node: the ROS interface of the language model: one action or service per kind of request."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import String

from planner_node.parameters import PARAMETERS
from planweave.core.base.budget import Budget
from planweave.core.base.errors import CanceledError, MissingExtraError, PlanweaveError
from planweave.core.base.health import Level, Report
from planweave.core.base.paths import config_dir
from planweave.goals import RuleFile
from planweave.llm.accounting import PRICES, Prices
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.none import SET_ONE, NoClient
from planweave.llm.embeddings import choose_embedder
from planweave.llm.reasoning import sendable
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings
from planweave_ros.deferred import DeferredActionServer, Goal
from planweave_ros.diagnostics import publish_diagnostics
from planweave_ros.lifecycle import ManagedNode
from planweave_ros.liveliness import PLANNER, show_presence
from planweave_ros.questions import QUESTIONS, question_for
from planweave_ros.spin import run_node


class PlannerNode(ManagedNode):
    """Serves the questions of planweave_ros.questions while it is active; publishes every exchange on /llm_exchanges.

    Actions wait in threads of their own; a service that asks the model holds one of the executor's threads.
    """

    def __init__(self, client: ChatClient | None = None, parameter_overrides: Sequence[Any] = ()) -> None:
        self._given = client
        super().__init__("planner_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        """Choose the model, and serve the questions."""
        self._asked: set[threading.Event] = set()  # set to give a question up
        self._end_asked = threading.Event()  # the same for the services' questions
        self._lock = threading.Lock()
        self._client = self._given or self._choose(values)
        self.on_release(self._client.close)
        values["exclude_actions"] = tuple(a for a in values["exclude_actions"] if a)
        rules = RuleFile(values["rules"])
        self.planner = LanguagePlanner(
            self._client,
            PlannerSettings(**{f.name: values[f.name] for f in fields(PlannerSettings)}),
            budget=Budget(values["budget_requests"], values["budget_tokens"], values["budget_cost"]),
            prices=Prices(values["price_table"] or PRICES),
            embedder=choose_embedder(values["embedding"]),
            load_domain=rules.load,
            on_exchange=self._publish_exchange,
        )
        self._exchange_counts = [0, 0]  # answered, failed
        self._last_exchange: tuple[float, str] | None = None  # when (time.monotonic()), and what failed
        self._pool = ThreadPoolExecutor(values["workers"], thread_name_prefix="question")
        self.on_release(partial(self._pool.shutdown, wait=True, cancel_futures=True))
        self.on_release(self.pause_work)
        group = ReentrantCallbackGroup()
        self._exchanges = self.create_publisher(String, "llm_exchanges", 100)
        for row in {row.name: row for row in QUESTIONS}.values():
            if row.is_action:
                DeferredActionServer(self, row.interface, row.name, partial(self._work_on, row.name))
            else:
                self.create_service(row.interface, row.name, partial(self._respond, row.name), callback_group=group)
        show_presence(self, PLANNER)
        publish_diagnostics(self, {"model": self._model_report})
        threading.Thread(target=self._prepare, name="prepare", daemon=True).start()
        self.get_logger().info(f"asking {self._client.model or 'the only model'} at {self._client.endpoint}")

    def pause_work(self) -> None:
        """Cancel all requests."""
        with self._lock:
            ending, self._end_asked = self._end_asked, threading.Event()
            for event in (ending, *self._asked):
                event.set()

    def _prepare(self) -> None:
        try:
            self.planner.prepare(sorted(path.stem for path in (config_dir() / "domains").glob("*.pddl")))
        except PlanweaveError as error:  # a question about that domain will say so, too
            if self.configured:
                self.get_logger().warning(str(error))

    def _choose(self, values: dict[str, Any]) -> ChatClient:
        try:
            return choose_client(os.environ, values)
        except MissingExtraError as error:
            if values["client"] != "auto":
                raise
            self.get_logger().warning(
                f"{error}; or {SET_ONE}. Until then only goals in controlled English are read, and classical plans"
            )
            return NoClient(f"{error}; or {SET_ONE}")

    def _model_report(self) -> Report:
        """Whether the model answered when it was asked last; it is asked for nothing but tasks."""
        values = {
            "model": self._client.model,
            "endpoint": self._client.endpoint,
            "answered": self._exchange_counts[0],
            "failed": self._exchange_counts[1],
        }
        if self.why_idle:
            return Report(Level.WARN, self.why_idle, values)
        if isinstance(self._client, NoClient):
            return Report(Level.WARN, "there is no model; only sentences in controlled English are read", values)
        if self._last_exchange is None:
            return Report(Level.OK, "not asked yet", values)
        at, error = self._last_exchange
        values["age_s"] = time.monotonic() - at
        return Report(Level.ERROR if error else Level.OK, error or "answered when it was asked last", values)

    def _publish_exchange(self, exchange: dict[str, Any]) -> None:
        error = str(exchange.get("error", ""))
        if not error.startswith("CanceledError"):
            with self._lock:
                self._exchange_counts[bool(error)] += 1
                self._last_exchange = time.monotonic(), error
        if self.configured:
            self._exchanges.publish(String(data=sendable(json.dumps(exchange, ensure_ascii=False))))

    def _respond(self, name: str, request: Any, response: Any) -> Any:
        self._answer(name, request, response, self._end_asked)
        return response

    def _work_on(self, name: str, goal: Goal) -> None:
        """One action goal: asked in a thread; every failure becomes a message in the result."""

        def work() -> None:
            goal.begin()
            row = next(row for row in QUESTIONS if row.name == name)
            result = row.interface.Result()
            answer = self._answer(name, goal.request, result, goal.cancel_asked)
            if answer is not None:
                goal.publish(row.interface.Feedback(received=row.received(answer)))
            with self._lock:
                self._asked.discard(goal.cancel_asked)
            goal.finish(result, result.success)

        with self._lock:
            self._asked.add(goal.cancel_asked)
        self._pool.submit(work)

    def _answer(self, name: str, request: Any, reply: Any, canceled: threading.Event) -> Any:
        """Call the method of a question of LanguagePlanner, and fill the result or response; its answer, else None."""
        row = next(row for row in QUESTIONS if row.name == name)
        try:
            self.require_active()
            row = question_for(name, request)
            answer = getattr(self.planner, row.method)(**row.arguments(request), canceled=canceled)
            row.fill(reply, answer)
            return answer
        except PlanweaveError as error:
            row.fill_error(reply, error)
            if row.is_action and not isinstance(error, CanceledError):
                self.get_logger().warning(reply.message)
        except Exception as error:
            reply.message, reply.code = f"a fault in planner_node: {error!r}; please report it", "internal"
            self.get_logger().error(reply.message)
        return None


def main() -> int:
    return run_node(PlannerNode, threads=8)


if __name__ == "__main__":
    raise SystemExit(main())
