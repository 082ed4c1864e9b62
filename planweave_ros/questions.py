"""The planner's questions on ROS: one table, from which planner_node serves them and `RosPlanner` asks them.

A question is a method of `planweave.core.workflow.ports.Planner`; its arguments are the fields of the goal or request,
what it returns are the fields of the result or response, by the same names. A new one is a row here and its interface
file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_type_hints

from planweave_interfaces.action import ChooseAction, GeneratePlans, ProposeSteps, WritePlan
from planweave_interfaces.srv import CheckCondition, GroundStep, InterpretGoal
from rclpy.node import Node

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import (
    ConfigError,
    GoalError,
    ModelError,
    NoModelError,
    ParseError,
    PlanweaveError,
    SystemDownError,
    UnknownNameError,
    refused,
)
from planweave.core.workflow.ports import Planner
from planweave.core.workflow.question import AmbiguityError
from planweave.llm.clients.none import NoClient
from planweave.methods import questions
from planweave_ros import conversions as convert
from planweave_ros.calling import START_SECONDS, Caller
from planweave_ros.conversions import Codec
from planweave_ros.liveliness import PLANNER, Presence

BY_VOTE = ("tree_planner", "tree_planner_paper")
"""The methods of choices by vote; the first is that of a ChooseAction goal without one."""


def _option_texts(options: Mapping[str, int] | None) -> list[str]:
    return [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in (options or {}).items()]


def _options(texts: Iterable[str]) -> dict[str, int]:
    """``name=true``, ``name=false`` and ``name=3``; raises ConfigError."""
    options: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if value in ("true", "false"):
            options[name] = value == "true"
        elif value.isdecimal() and len(value) < 7:
            options[name] = int(value)
        else:
            raise ConfigError(f"option {text[:100]!r} is neither name=true, name=false nor name=NUMBER")
    return options


_OPTIONS = Mapping[str, int] | None


def _codec_of(kind: Any) -> Codec:
    return Codec(_option_texts, _options) if kind == _OPTIONS else convert.codec_of(kind)


@dataclass(frozen=True)
class PlannerQuestion:
    """One question. method: of Planner; name: of the action or service; interface: its type.

    fields: names in the message of those fields of the answer that are called otherwise. received: replies in an
    answer, for the feedback of an action. also: further fields of the result. error: what a failure is on the asking
    side; None: ParseError where the model answered, else ModelError. serves: of several questions by one name, whether
    this is the one for a method.
    """

    method: str
    name: str
    interface: Any
    fields: Mapping[str, str] = field(default_factory=dict)
    received: Callable[[Any], int] = lambda answer: 1
    also: Callable[[Any], Mapping[str, Any]] = lambda answer: {}
    error: type[PlanweaveError] | None = None
    serves: Callable[[str], bool] = lambda method: True

    @property
    def is_action(self) -> bool:
        """Return whether it is a ROS action; else it is a service."""
        return hasattr(self.interface, "Goal")

    @property
    def _signature(self) -> inspect.Signature:
        whole = inspect.signature(getattr(Planner, self.method))
        return whole.replace(parameters=[p for p in whole.parameters.values() if p.name != "self"])

    def _codecs(self) -> dict[str, Codec]:
        hints = get_type_hints(getattr(Planner, self.method))
        return {name: _codec_of(hints[name]) for name in self._signature.parameters}

    def _answer_codecs(self) -> tuple[type, dict[str, Codec]]:
        """What the question returns, and the codecs of its fields."""
        made = get_type_hints(getattr(Planner, self.method))["return"]
        return made, {name: _codec_of(hint) for name, hint in get_type_hints(made).items()}

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """The goal or request for a call of the method."""
        bound, codecs = self._signature.bind(*args, **kwargs), self._codecs()
        bound.apply_defaults()
        made = self.interface.Goal if self.is_action else self.interface.Request
        return made(**{name: codecs[name].to_msg(value) for name, value in bound.arguments.items()})

    def arguments(self, request: Any) -> dict[str, Any]:
        """The arguments of the method; an empty text stands for its default. Raises WorldError or ConfigError."""
        read = {name: codec.from_msg(getattr(request, name)) for name, codec in self._codecs().items()}
        for name, parameter in self._signature.parameters.items():
            if read[name] == "" and parameter.default is not inspect.Parameter.empty:
                read[name] = parameter.default
        return read

    def fill(self, reply: Any, answer: Any) -> None:
        for name, codec in self._answer_codecs()[1].items():
            setattr(reply, self.fields.get(name, name), codec.to_msg(getattr(answer, name)))
        for name, value in self.also(answer).items():
            setattr(reply, name, value)
        reply.success = True

    def fill_error(self, reply: Any, error: PlanweaveError) -> None:
        """Put a failure into the result or response: what was wrong, and what was asked of the model until then."""
        reply.message, reply.code = str(error), error.code
        if isinstance(error, NoModelError):
            reply.usage.endpoint = NoClient.endpoint
        elif error.usage is not None:
            reply.usage = convert.usage_to_msg(error.usage)
        if isinstance(error, AmbiguityError) and hasattr(reply, "question"):
            reply.question = convert.question_to_msg(error.question)
        if isinstance(error, GoalError) and hasattr(reply, "not_covered"):
            reply.not_covered = [*error.not_covered]
        if isinstance(error, ParseError) and hasattr(reply, "unreadable"):
            reply.unreadable = 1  # the model answered, so the caller may ask again with the message as a note

    def answer(self, reply: Any) -> Any:
        """The answer in a result or response; raises what a failed question raises, with its usage."""
        if not reply.success:
            used = convert.usage_from_msg(reply.usage)
            if used.endpoint == NoClient.endpoint and self.error is None:
                raise NoModelError(reply.message)
            answered = used.requests or getattr(reply, "unreadable", 0)
            unclear = convert.question_from_msg(reply.question) if hasattr(reply, "question") else None
            error = (
                AmbiguityError(reply.message, unclear)
                if unclear
                else refused(self.error or (ParseError if answered else ModelError), reply.message, reply.code)
            )
            if isinstance(error, GoalError):
                error.not_covered = tuple(getattr(reply, "not_covered", ()))
            error.usage = used if used.endpoint not in ("", NoClient.endpoint) else None
            raise error
        made, codecs = self._answer_codecs()
        return made(**{n: codec.from_msg(getattr(reply, self.fields.get(n, n))) for n, codec in codecs.items()})


_BY_VOTE = PlannerQuestion(
    "choose_action",
    "choose_action",
    ChooseAction,
    fields={"index": "choice"},
    received=lambda choice: sum(choice.votes) + choice.unreadable,
    serves=lambda method: method in ("", *BY_VOTE),
)
QUESTIONS: tuple[PlannerQuestion, ...] = (
    PlannerQuestion("generate_plans", "generate_plans", GeneratePlans, received=lambda sampled: sampled.received),
    _BY_VOTE,
    replace(_BY_VOTE, method="select_action", serves=lambda method: method in questions().select),
    PlannerQuestion("propose_steps", "propose_steps", ProposeSteps, received=lambda proposed: len(proposed.candidates)),
    PlannerQuestion("write", "write_plan", WritePlan),
    PlannerQuestion("interpret_goal", "interpret_goal", InterpretGoal, error=GoalError),
    PlannerQuestion(
        "ground_step",
        "ground_step",
        GroundStep,
        fields={"text": "message"},
        also=lambda found: {"passed": found.action is None},
    ),
    PlannerQuestion("check_condition", "check_condition", CheckCondition),
)


def question_for(name: str, request: Any) -> PlannerQuestion:
    """The question of that name for a goal or request; raises UnknownNameError for a method that has none."""
    rows = [row for row in QUESTIONS if row.name == name]
    method = getattr(request, "method", "")
    for row in rows:
        if row.serves(method):
            return row
    raise UnknownNameError("method that chooses", method, [*BY_VOTE, *questions().select])


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
