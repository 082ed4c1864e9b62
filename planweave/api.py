"""Functions of the library: plan, check a plan, and run a task on a body, without ROS. See docs/library.md."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from planweave.bodies import checked_body, make_body
from planweave.core.base.budget import Budget
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import ConfigError, GoalError, MissingExtraError, ParseError, PlanweaveError
from planweave.core.base.usage import Usage
from planweave.core.checks.validation import Goal, Validation, goal_atoms, simplest, validate
from planweave.core.pddl.formula import Axiom, Formula, terms_of
from planweave.core.planning.pddl_writer import formula_pddl
from planweave.core.planning.rule_conflicts import goal_conflict
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import read_plan
from planweave.core.symbolic.schemas import Predicate
from planweave.core.symbolic.transition import completed
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.symbolic.written import Written, read_formula, read_goal
from planweave.core.workflow.approval import NEAR_PEOPLE
from planweave.core.workflow.ports import LookingBody
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.core.workflow.wrapped_body import CompletedBody
from planweave.llm.accounting import Prices
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.none import SET_ONE, NoClient
from planweave.methods import METHODS
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.running.options import checked_options
from planweave.tasks.given_tree import is_tree
from planweave.tasks.task_manager import Method, Task, TaskManager

#: The defaults of planner_node and feedback_node.
_BUDGET = Budget(requests=200, tokens=1_000_000, cost=1.0)
_ACTION_TIMEOUT = 180.0  # s
_METHOD = "tree_planner"
_POLL = 0.05  # s
_END = 5.0  # s that a cancelled task has to end
_OPENAI_MODEL = "gpt-4.1-mini"


@dataclass(frozen=True)
class Plan:
    """A sequence of actions; prints as numbered steps, with the phrases of `domain`."""

    actions: tuple[Action, ...]
    domain: Domain

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions)

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, index: int) -> Action:
        return self.actions[index]

    def __str__(self) -> str:
        if not self.actions:
            return "nothing to do: the goal holds already"
        return "\n".join(f"{number}. {action}" for number, action in enumerate(self.actions, 1))


@dataclass(frozen=True)
class Result:
    """End of a task. success: the goal was observed to hold after all motion had ended.

    steps: the executed actions, each with the name of its outcome code. usage: of language models. record: every event,
    as in a task's journal. status: the last status published.
    """

    success: bool
    state: TaskState
    message: str
    goal: tuple[Literal, ...]
    steps: tuple[tuple[Action, str], ...]
    usage: Usage
    record: tuple[dict[str, Any], ...]
    status: TaskStatus

    def __str__(self) -> str:
        lines = [f"{number}. {action}: {code.lower()}" for number, (action, code) in enumerate(self.steps, 1)]
        return "\n".join([*lines, f"{self.state.word}: {self.message}"])


def plan(domain: Domain, world: World, goal: Written | Formula, *, timeout: float = 5.0) -> Plan:
    """Plan classically to a goal, without a language model.

    goal: "in(cup, tray) and not on(a, b)", a Literal, or several; or any formula, as PDDL text ("(forall (?i - item)
    (in ?i tray))") or that of a Problem. timeout: seconds for all of it. Every plan is checked before it is returned.
    Raises NoPlanError, which names the literal that cannot be reached and why, or the rules that are in the way;
    PddlError, ParseError, UnknownNameError or InvalidActionError for an invalid goal.
    """
    world = _of_domain(domain, world)
    wanted = simplest(read_formula(domain, world, goal))
    try:
        return Plan(solve(domain, world, wanted, _seconds("timeout", timeout)), domain)
    except NoPlanError as error:
        ruled_out = "" if isinstance(wanted, Formula) or not error.proved else goal_conflict(domain, world, wanted)
        if not ruled_out:
            raise
        raise NoPlanError(ruled_out, error.proved) from None


def check(
    domain: Domain, world: World, plan: Plan | str | Iterable[Action | str], goal: Written | Formula = ()
) -> Validation:
    """Validate a plan against a goal (see `plan`); the result prints as the first failing step with its causes.

    plan: what `plan` returned, actions, or a text as planweave.core.symbolic.plan reads it: one action a line,
    also as planners write it. Raises PddlError or ParseError, and UnknownNameError or InvalidActionError for an invalid
    goal; an invalid step is part of the result.
    """
    world = _of_domain(domain, world)
    given: Iterable[Action | str] = read_plan(plan)[0] if isinstance(plan, str) else plan
    if not isinstance(given, Iterable):
        raise ParseError(f"{given!r} is not a plan: give what plan() returned, actions, or a text")
    actions = [domain.spelled(Action.parse(x) if isinstance(x, str) else x, world) for x in given]
    return validate(domain, world, actions, read_formula(domain, world, goal) if goal else ())


def run(
    sentence: str = "",
    *,
    body: LookingBody | str,
    method: str = "",
    model: str | ChatClient | None = None,
    goal: Written | Formula | None = None,
    on_event: Callable[[TaskStatus], None] | None = None,
    approve: Callable[[TaskStatus], bool] | None = None,
    timeout: float = 600.0,
    fallback: str = "classical",
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Execute the task of a sentence on a body, and wait for its end.

    This is the loop of feedback_node: success means that the goal was observed to hold after all motion had ended.

    body: SymbolicBody, Home, any implementation of `LookingBody`, or the name of an installed one, which is created for
    this task; "ros" is the body of a running system (`planweave_ros.robot.Robot`). A running action of a
    `StoppableBody` (planweave.core.workflow.ports) is stopped where the task is cancelled. model: None for the
    environment's choice (OPENAI_BASE_URL, OPENAI_API_KEY, PLANWEAVE_MODEL, else the embedded model), "none" for no
    model, the name of the endpoint's model, the path of a .gguf file, or a ChatClient, which is not closed. goal: given
    directly, as for `plan`; the sentence is then not interpreted. The prompts of most methods need literals; classical
    takes any formula. on_event: called at every change, in the caller's thread; an exception in it cancels the task.
    method: a name, or a behaviour tree in XML, which is followed as it is, without fallback; empty for tree_planner, or
    classical where no model is set that could plan the task, or the goal is no conjunction of literals. approve: called
    with the status before a plan is executed (`plan`, `plan_words`, `plan_check`, `plan_changes` of it), again where
    the plan changes, and for each hand-over and push by itself; False ends the task as CANCELED, "the plan was not
    approved". timeout: seconds of wall time, after which the task is cancelled. fallback: the method that takes over
    where the goal does not hold, "" for none. options: of the method.

    All other settings are the defaults of planner_node and feedback_node: those of
    `planweave.methods.language.settings.PlannerSettings`, a budget of 200 requests, 1,000,000 tokens and 1 US dollar,
    180 s per action. The files in config/, which the command line's nodes read, do not apply.

    Failures of the task are part of the result. Raises PlanweaveError for wrong usage only.
    """
    chosen = method or _METHOD
    made = _method_maker(chosen, fallback, options or {})
    seconds = _seconds("timeout", timeout)
    with contextlib.ExitStack() as ends:
        client = _client(model, ends)
        body = _body(body, approve is not None, ends)
        domain = getattr(body, "domain", None)
        load = partial(_domain_of, domain) if isinstance(domain, Domain) else Domain.load
        wanted: Goal = ()
        if goal is not None:
            wanted = _given_goal(load((world := body.observe()).domain), world, goal)
        if isinstance(wanted, Formula):
            method = method or (chosen if options else "classical")
            _require_formula_goals(method, fallback)
            body = FormulaGoalBody(body, load(world.domain), wanted)
            load, wanted = partial(_domain_of, body.domain), (body.literal,)
        events: queue.SimpleQueue[TaskStatus] = queue.SimpleQueue()
        manager: TaskManager | None = None

        def exchanged(exchange: dict[str, Any]) -> None:
            task = manager.get(str(exchange.get("task_id", ""))) if manager is not None else None
            if task is not None:
                task.journal.add("exchange", **exchange)

        asked = LanguagePlanner(client, budget=_BUDGET, prices=Prices(), load_domain=load, on_exchange=exchanged)
        planner: Any = _Asked(asked, lambda: manager.running if manager is not None else None)
        manager = TaskManager(
            planner,
            body,
            made,
            default_method=chosen,
            fallback=fallback,
            action_timeout=_ACTION_TIMEOUT,
            approval_timeout=seconds if approve is not None else 0.0,
            approved_alone=NEAR_PEOPLE,
            on_change=lambda task: events.put(task.snapshot()),
            load_domain=load,
        )
        ends.callback(manager.close, _END)
        asked_for: set[str] = set()  # hashes of plans

        def told(status: TaskStatus) -> None:
            if on_event is not None:
                on_event(status)
            waits = status.state is TaskState.AWAITING_APPROVAL and status.plan_hash not in asked_for
            if approve is not None and waits:
                asked_for.add(status.plan_hash)
                approved = bool(approve(status))
                with contextlib.suppress(GoalError):  # the task was cancelled meanwhile
                    manager.approve(status.task_id, status.plan_hash, approved, approver="approve=")

        task = manager.submit(sentence, chosen if options else method, wanted)
        _wait(task, events, told, seconds)
        return _result(task)


def _wait(
    task: Task,
    events: queue.SimpleQueue[TaskStatus],
    on_event: Callable[[TaskStatus], None],
    seconds: float,
) -> None:
    """Forward events until the task has ended; cancel it after its timeout."""
    deadline = time.monotonic() + seconds
    told: TaskStatus | None = None
    while True:
        over = task.ended.is_set()  # what came before that is in the queue
        try:
            status = events.get(timeout=0.0 if over else _POLL)
            if status != told:
                on_event(told := status)
        except queue.Empty:
            if over:
                return
        if not over and time.monotonic() >= deadline:
            if task.canceled.is_set:
                return
            task.canceled.cancel(f"cancelled: it had not ended within the {seconds:g} s given (timeout)")
            deadline = time.monotonic() + _END


def _result(task: Task) -> Result:
    status, events = task.snapshot(), tuple(task.journal.events())
    steps = tuple((Action.parse(e["action"]), str(e["code"])) for e in events if e["event"] == "action")
    state, message = status.state, status.message
    if not state.ended:  # it hangs in code that looks at no flag
        state = TaskState.FAILED if task.acts else TaskState.CANCELED
        message = f"{task.canceled.reason}, and does not stop; it was {status.phase}"
    return Result(state is TaskState.SUCCEEDED, state, message, status.goal, steps, status.usage, events, status)


class _Asked:
    """A planner whose pending requests end when its task is cancelled."""

    def __init__(self, planner: LanguagePlanner, running: Callable[[], Task | None]) -> None:
        self._planner, self._running = planner, running

    def __getattr__(self, name: str) -> Callable[..., Any]:
        question = getattr(self._planner, name)

        def ask(*args: Any, **kwargs: Any) -> Any:
            task, given_up = self._running(), threading.Event()
            canceled = task.canceled if task is not None else Cancellation()
            with canceled.calling(given_up.set):
                try:
                    return question(*args, **kwargs, canceled=given_up)
                except PlanweaveError:
                    canceled.check()  # the reason that the task has, not the question's
                    raise

        return ask


def _client(model: str | ChatClient | None, ends: contextlib.ExitStack) -> ChatClient:
    """The model's client, closed with `ends` where it is ours; raises ConfigError for an object that is none."""
    if model is not None and not isinstance(model, str):
        if missing := [name for name in ("complete", "close", "capabilities") if not hasattr(model, name)]:
            raise ConfigError(
                f'model={model!r:.200} has no {", ".join(missing)}; give None, "none", a model\'s name, or a ChatClient'
            )
        return model
    if model == "none":
        return NoClient('language models are disabled (model="none")')
    environ = {**os.environ, **({"PLANWEAVE_MODEL": model} if model else {})}
    try:
        client = choose_client(environ, {"client": "auto", "openai_model": _OPENAI_MODEL})
    except MissingExtraError as error:
        if model:
            raise
        return NoClient(f"{error}; or {SET_ONE}")
    ends.callback(client.close)
    return client


def _body(body: LookingBody | str, approved: bool, ends: contextlib.ExitStack) -> LookingBody:
    """The body, created by its name and closed with `ends` where that is given. approved: a person sees each plan."""
    if isinstance(body, str):
        body = make_body(body)
        ends.callback(getattr(body, "close", lambda: None))
    body = checked_body(body)
    if getattr(body, "require_approval", False) and not approved:
        raise ConfigError(
            "this body does only what a person has approved: give approve=, a function that is shown each plan, "
            "or use the nodes (planweave up, planweave approve)"
        )
    return body


def _require_formula_goals(*methods: str) -> None:
    """Raise FormulaGoalError where one of the methods, "" for none, plans for literals alone."""
    for name in filter(None, methods):
        if is_tree(name) or not getattr(METHODS[name], "formula_goals", False):
            raise FormulaGoalError("tree (a behaviour tree)" if is_tree(name) else name)


def _method_maker(method: str, fallback: str, options: Mapping[str, Any]) -> Callable[[str], Method]:
    """A factory of methods by name, the chosen one with its options; raises UnknownNameError or ConfigError."""
    for name in filter(None, ("" if is_tree(method) else method, fallback)):
        METHODS[name]  # or why it cannot be used
    chosen = {} if is_tree(method) and not options else checked_options(method, options)

    def make(name: str) -> Method:
        made: Method = METHODS[name](**(chosen if name == method else {}))
        return made

    return make


def _domain_of(domain: Domain, name: str) -> Domain:
    return domain if name == domain.name else Domain.load(name)


def _given_goal(domain: Domain, world: World, goal: Written | Formula) -> Goal:
    """The goal of a task; raises ParseError where it asks for nothing."""
    found = simplest(read_formula(domain, world, goal))
    return found if found else read_goal(domain, world, ())


def _of_domain(domain: Domain, world: World) -> World:
    """The world, with constants and derived facts; raises ConfigError where it is one of another domain."""
    if world.domain != domain.name:
        raise ConfigError(f"the world is one of the domain {world.domain!r}, and {domain.name!r} was given")
    return completed(domain, world)


def _seconds(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= 86_400:
        raise ConfigError(f"{name}={value!r}: give seconds, above 0 and at most 86400")
    return float(value)


class FormulaGoalError(GoalError):
    """A method was given a goal that is no conjunction of literals, and its prompts need literals. method: its name."""

    code = "formula_goal"

    def __init__(self, method: str):
        super().__init__(
            f"the method {method} needs a goal of literals, such as 'in(cup, tray) and not on(a, b)', and this one is "
            "another formula; use method='classical' with fallback='' or 'classical', or planweave.plan"
        )
        self.method = method


class FormulaGoalBody(CompletedBody):
    """A body whose worlds state by `literal` whether a formula holds, and whose domain derives it."""

    def __init__(self, body: LookingBody, domain: Domain, formula: Formula) -> None:
        super().__init__(body, lambda name: self.domain)
        name = "goal"
        while name in domain.predicates:
            name += "-"
        text, terms = formula_pddl(formula), terms_of(formula)
        named = (thing for thing in body.observe().objects if thing.name in terms)
        self.literal, self._formula = Literal(name), formula
        self.domain = replace(
            domain,
            predicates=MappingProxyType({**domain.predicates, name: Predicate(name, (), text, f"not {text}", True)}),
            axioms=(*domain.axioms, Axiom(name, (), formula)),
            constants=tuple(dict.fromkeys((*domain.constants, *named))),
        )

    def _completed(self, world: World) -> World:
        return super()._completed(world.with_derived(goal_atoms(self.domain, world, self._formula)))
