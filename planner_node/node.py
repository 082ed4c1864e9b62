"""planner_node: the planner's questions as ROS actions and services. Wires; the thinking is elsewhere."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

from planweave_interfaces.action import ChooseAction, GeneratePlans, ProposeSteps, WritePlan
from planweave_interfaces.srv import CheckCondition, GroundStep, InterpretGoal
from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import String

from planweave.core.budget import Budget
from planweave.core.errors import (
    CanceledError,
    ConfigError,
    MissingExtraError,
    ParseError,
    PlanweaveError,
    UnknownNameError,
)
from planweave.core.health import Level, Report
from planweave.core.parameter import option_parameters
from planweave.core.paths import config_dir
from planweave.core.world import Action
from planweave.llm.accounting import PRICES, Prices
from planweave.llm.clients import CLIENTS, choose_client
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.none import NoClient
from planweave.llm.embeddings import EMBEDDERS, choose_embedder
from planweave.llm.names import EmbeddingSimilarity
from planweave.llm.replies import sendable
from planweave.methods import questions
from planweave.methods.planner import LanguagePlanner, Settings
from planweave_ros import conversions as convert
from planweave_ros.deferred import DeferredActionServer, Goal
from planweave_ros.diagnostics import publish_diagnostics
from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import Parameter, declare
from planweave_ros.presence import PLANNER, show_presence
from planweave_ros.spin import run_node

PARAMETERS = [
    Parameter(
        "client",
        "auto",
        "who is asked; auto: the endpoint of OPENAI_BASE_URL or OPENAI_API_KEY, else the embedded model",
        choices=("auto", *CLIENTS),
    ),
    Parameter("model", "", "model of the endpoint, or a .gguf file for the embedded one; PLANWEAVE_MODEL overrules it"),
    Parameter("openai_model", "gpt-4.1-mini", "model for OpenAI's own endpoint where none is named"),
    Parameter("threads", 0, "threads of the embedded model; 0: half of the cores", 0, 1024),
    Parameter("cassette", "", "recorded exchanges for client replay"),
    Parameter("record", "", "file to append every exchange to, for a later replay"),
    Parameter("price_table", "", "price table; empty: the one that comes with Planweave"),
    *option_parameters(Settings),
    Parameter(
        "exclude_actions", list(Settings.exclude_actions), "actions of the domain that are not offered to the model"
    ),
    Parameter(
        "embedding",
        "hashed",
        "how names and tasks are compared; minilm needs planweave[local-models]",
        choices=tuple(EMBEDDERS),
    ),
    Parameter("budget_requests", 200, "requests per task at most; 0: no limit", 0, 1_000_000),
    Parameter("budget_tokens", 1_000_000, "tokens per task at most; 0: no limit", 0, 1_000_000_000),
    Parameter("budget_cost", 1.0, "US dollars per task at most; 0: no limit", 0.0, 10_000.0),
    Parameter("workers", 8, "questions at the same time", 1, 100),
]


class PlannerNode(GuardedNode):
    """Serves the actions /generate_plans, /choose_action, /propose_steps and /write_plan and the services
    /interpret_goal, /ground_step and /check_condition; publishes every exchange on /llm_exchanges.

    Actions wait in threads of their own; a service that asks the model holds one of the executor's threads.
    """

    def __init__(self, client: ChatClient | None = None, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("planner_node", parameter_overrides=list(parameter_overrides))
        # Before anything that may be refused: the node is destroyed then, too.
        self._asked: set[threading.Event] = set()  # set to give a question up
        self._closing = threading.Event()  # the same for the services' questions
        self._lock, self._gone = threading.Lock(), False
        values = declare(self, PARAMETERS)
        self._client = client or self._choose(values)
        values["exclude_actions"] = tuple(a for a in values["exclude_actions"] if a)
        embedder = choose_embedder(values["embedding"])
        self.planner = LanguagePlanner(
            self._client,
            Settings(**{f.name: values[f.name] for f in fields(Settings)}),
            budget=Budget(values["budget_requests"], values["budget_tokens"], values["budget_cost"]),
            prices=Prices(values["price_table"] or PRICES),
            embedder=embedder,
            similarity=None if embedder.name == "hashed" else EmbeddingSimilarity(embedder),
            on_exchange=self._publish_exchange,
        )
        self._exchange_counts = [0, 0]  # answered, failed
        self._last_exchange: tuple[float, str] | None = None  # when (time.monotonic()), and what failed
        self._pool = ThreadPoolExecutor(values["workers"], thread_name_prefix="question")
        group = ReentrantCallbackGroup()
        self._exchanges = self.create_publisher(String, "llm_exchanges", 100)
        DeferredActionServer(self, GeneratePlans, "generate_plans", self._generate)
        DeferredActionServer(self, ChooseAction, "choose_action", self._choose_action)
        DeferredActionServer(self, ProposeSteps, "propose_steps", self._propose)
        DeferredActionServer(self, WritePlan, "write_plan", self._write)
        self.create_service(InterpretGoal, "interpret_goal", self._interpret, callback_group=group)
        self.create_service(GroundStep, "ground_step", self._ground, callback_group=group)
        self.create_service(CheckCondition, "check_condition", self._check, callback_group=group)
        show_presence(self, PLANNER)
        publish_diagnostics(self, {"model": self._model_report})
        threading.Thread(target=self._prepare, name="prepare", daemon=True).start()
        self.get_logger().info(f"asking {self._client.model or 'the only model'} at {self._client.endpoint}")

    def destroy_node(self) -> None:
        """Cancel all requests, stop the embedded server, then destroy the node."""
        self._gone = True
        self._closing.set()
        with self._lock:
            for event in self._asked:
                event.set()
        if hasattr(self, "_pool"):  # else a parameter was wrong
            self._pool.shutdown(wait=True, cancel_futures=True)
        if hasattr(self, "_client"):
            self._client.close()
        super().destroy_node()

    def _prepare(self) -> None:
        try:
            self.planner.prepare(sorted(path.stem for path in (config_dir() / "domains").glob("*.pddl")))
        except PlanweaveError as error:  # a question about that domain will say so, too
            if not self._gone:
                self.get_logger().warning(str(error))

    def _choose(self, values: dict[str, Any]) -> ChatClient:
        try:
            return choose_client(os.environ, values)
        except MissingExtraError as error:
            if values["client"] != "auto":
                raise
            self.get_logger().warning(
                f"{error}; or set OPENAI_API_KEY or OPENAI_BASE_URL. Until then only goals in "
                "controlled English are read, and the classical method plans"
            )
            return NoClient(str(error))

    def _model_report(self) -> Report:
        """Whether the model answered when it was asked last; it is asked for nothing but tasks."""
        values = {
            "model": self._client.model,
            "endpoint": self._client.endpoint,
            "answered": self._exchange_counts[0],
            "failed": self._exchange_counts[1],
        }
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
        if not self._gone:
            self._exchanges.publish(String(data=sendable(json.dumps(exchange, ensure_ascii=False))))

    def _serve(
        self, goal: Goal, result: Any, ask: Callable[[threading.Event], Any], fill: Callable[[Any], None]
    ) -> None:
        """One action goal: ask in a thread, fill the result; every failure becomes a message in it."""

        def work() -> None:
            goal.begin()
            try:
                fill(ask(goal.cancel_asked))
                result.success = True
            except PlanweaveError as error:
                _tell(result, error)
                if not isinstance(error, CanceledError):
                    self.get_logger().warning(result.message)
            except Exception as error:
                result.message = f"a fault in planner_node: {error!r}; please report it"
                self.get_logger().error(result.message)
            with self._lock:
                self._asked.discard(goal.cancel_asked)
            goal.finish(result, result.success)

        with self._lock:
            self._asked.add(goal.cancel_asked)
        self._pool.submit(work)

    def _generate(self, goal: Goal) -> None:
        request, result = goal.request, GeneratePlans.Result()

        def ask(canceled: threading.Event) -> Any:
            return self.planner.generate_plans(
                request.sentence,
                convert.world_from_msg(request.world),
                samples=request.samples,
                temperature=request.temperature,
                top_p=request.top_p,
                task_id=request.task_id,
                method=request.method or "tree_planner",
                canceled=canceled,
            )

        def fill(sampled: Any) -> None:
            goal.publish(GeneratePlans.Feedback(received=sampled.received))
            result.plans = [convert.plan_to_msg(p) for p in sampled.plans]
            result.received, result.dropped, result.mended = sampled.received, sampled.dropped, sampled.mended
            result.usage = convert.usage_to_msg(sampled.usage)

        self._serve(goal, result, ask, fill)

    def _choose_action(self, goal: Goal) -> None:
        request, result = goal.request, ChooseAction.Result()

        def ask(canceled: threading.Event) -> Any:
            world, history = convert.world_from_msg(request.world), _actions(request.history)
            errors = list(request.errors)
            if request.method in questions().select:
                try:
                    return self.planner.select_action(
                        request.method,
                        request.sentence,
                        world,
                        history,
                        _actions(request.options),
                        goal=convert.literals_from_msg(request.goal),
                        errors=errors,
                        task_id=request.task_id,
                        canceled=canceled,
                    )
                except ParseError:
                    result.unreadable = 1  # the caller may ask again with the message as a note
                    raise
            if request.method not in ("", "tree_planner"):
                raise UnknownNameError("method that chooses", request.method, ["tree_planner", *questions().select])
            return self.planner.choose_action(
                request.sentence,
                world,
                history,
                [convert.action_from_msg(m) for m in request.options],
                errors=errors,
                samples=request.samples,
                temperature=request.temperature,
                task_id=request.task_id,
                canceled=canceled,
            )

        def fill(choice: Any) -> None:
            goal.publish(ChooseAction.Feedback(received=sum(choice.votes) + choice.unreadable))
            result.choice, result.votes = choice.index, list(choice.votes)
            result.unreadable, result.usage = choice.unreadable, convert.usage_to_msg(choice.usage)

        self._serve(goal, result, ask, fill)

    def _propose(self, goal: Goal) -> None:
        request, result = goal.request, ProposeSteps.Result()

        def ask(canceled: threading.Event) -> Any:
            return self.planner.propose_steps(
                request.method,
                request.sentence,
                convert.world_from_msg(request.world),
                _actions(request.history),
                errors=list(request.errors),
                samples=request.samples,
                task_id=request.task_id,
                canceled=canceled,
            )

        def fill(proposed: Any) -> None:
            goal.publish(ProposeSteps.Feedback(received=len(proposed.candidates)))
            result.candidates = [convert.candidate_to_msg(c) for c in proposed.candidates]
            result.usage = convert.usage_to_msg(proposed.usage)

        self._serve(goal, result, ask, fill)

    def _write(self, goal: Goal) -> None:
        request, result = goal.request, WritePlan.Result()

        def ask(canceled: threading.Event) -> Any:
            return self.planner.write(
                request.method,
                request.sentence,
                convert.world_from_msg(request.world),
                history=list(request.history),
                errors=list(request.errors),
                start=int(request.start),
                options=_switches(request.options),
                task_id=request.task_id,
                canceled=canceled,
            )

        def fill(written: Any) -> None:
            goal.publish(WritePlan.Feedback(received=1))
            result.lines, result.explanation = list(written.lines), written.explanation
            result.usage = convert.usage_to_msg(written.usage)

        self._serve(goal, result, ask, fill)

    def _answer(self, response: Any, ask: Callable[[], None]) -> Any:
        """Run one service call; every failure becomes a message in the response."""
        try:
            ask()
            response.success = True
        except PlanweaveError as error:
            _tell(response, error)
        except Exception as error:
            response.message = f"a fault in planner_node: {error!r}; please report it"
            self.get_logger().error(response.message)
        return response

    def _interpret(self, request: InterpretGoal.Request, response: InterpretGoal.Response) -> InterpretGoal.Response:
        def ask() -> None:
            read = self.planner.interpret_goal(
                request.sentence, convert.world_from_msg(request.world), task_id=request.task_id, canceled=self._closing
            )
            response.source, response.goal = read.source, convert.literals_to_msg(read.goal)
            response.understood, response.answer = read.understood, read.answer
            response.usage = convert.usage_to_msg(read.usage)

        return self._answer(response, ask)

    def _ground(self, request: GroundStep.Request, response: GroundStep.Response) -> GroundStep.Response:
        def ask() -> None:
            found = self.planner.ground_step(
                request.method,
                request.sentence,
                request.step,
                convert.world_from_msg(request.world),
                errors=list(request.errors),
                task_id=request.task_id,
                canceled=self._closing,
            )
            response.passed, response.action = found.action is None, convert.action_to_msg(found.action)
            response.message, response.usage = found.text, convert.usage_to_msg(found.usage)

        return self._answer(response, ask)

    def _check(self, request: CheckCondition.Request, response: CheckCondition.Response) -> CheckCondition.Response:
        def ask() -> None:
            found = self.planner.check_condition(
                request.condition,
                convert.world_from_msg(request.world),
                task_id=request.task_id,
                canceled=self._closing,
            )
            response.holds, response.source = found.holds, found.source
            response.usage = convert.usage_to_msg(found.usage)

        return self._answer(response, ask)


def _tell(reply: Any, error: PlanweaveError) -> None:
    """A failure as part of a result: what was wrong, and what was asked of the model until then."""
    reply.message = str(error)
    if error.usage is not None:
        reply.usage = convert.usage_to_msg(error.usage)


def _actions(msgs: Sequence[Any]) -> list[Action]:
    return [action for msg in msgs if (action := convert.action_from_msg(msg)) is not None]


def _switches(options: Sequence[str]) -> dict[str, bool]:
    """``name=true`` and ``name=false``; raises ConfigError."""
    switches = {}
    for option in options:
        name, _, value = option.partition("=")
        if value not in ("true", "false"):
            raise ConfigError(f"option {option!r} is neither name=true nor name=false")
        switches[name] = value == "true"
    return switches


def main() -> int:
    """Console script."""
    return run_node(PlannerNode, threads=8)


if __name__ == "__main__":
    raise SystemExit(main())
