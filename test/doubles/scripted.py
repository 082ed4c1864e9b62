"""A scripted language model (as a planner port) and a symbolic body: the domain itself plays the world."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from planweave.core.base.errors import CanceledError, PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.core.workflow.ports import (
    Choice,
    ConditionCheck,
    Grounding,
    Look,
    Outcome,
    Proposals,
    Reading,
    SampledPlans,
    Written,
)
from planweave.core.workflow.question import AmbiguityError


def plan(text: str, samples: int = 1, logprob: float | None = None) -> CountedPlan:
    """A plan from ``a(b); c(d)``."""
    steps = tuple(PlanStep(Action.parse(part)) for part in text.split(";") if part.strip())
    return CountedPlan(steps, samples, logprob)


def literals(text: str) -> tuple[Literal, ...]:
    """Literals from ``p(a); not q(b)``."""
    return tuple(Literal.parse(part) for part in text.split(";") if part.strip())


def tabletop(objects: str, facts: str = "", unreachable: Iterable[str] = ()) -> World:
    """A tabletop world from ``a b: item; tray: container``; sensible facts are added."""
    things = []
    for group in objects.split(";"):
        names, _, kind = group.partition(":")
        things += [WorldObject(name, kind.strip()) for name in names.split()]
    given = set(literals(facts))
    under = {f.args[1] for f in given if f.predicate == "on"}
    held = {f.args[0] for f in given if f.predicate == "holding"}
    base = set()
    for thing in things:
        if thing.type == "item":
            base.add(Literal("narrow", (thing.name,)))
        if thing.name not in under or thing.type != "item":
            base.add(Literal("clear", (thing.name,)))
        if thing.name not in unreachable:
            base.add(Literal("reachable", (thing.name,)))
    if not held:
        base.add(Literal("hand_empty"))
    return World("tabletop", tuple(things), frozenset(given | base | {Literal("at_base")}))


class ScriptedPlanner:
    """A planner port that answers from a script and remembers what it was asked."""

    def __init__(
        self,
        plans: Sequence[CountedPlan] = (),
        choices: Iterable[int] = (),
        goal: str = "",
        error: PlanweaveError | None = None,
        steps=(),
        texts=(),
        checks=None,
        understood="",
        answer="",
        unclear=None,  # a question that the sentence leaves open before it is answered
    ):
        self.plans, self.choices, self.goal, self.error = tuple(plans), deque(choices), literals(goal), error
        self.steps, self.texts, self.checks = deque(steps), deque(texts), dict(checks or {})
        self.understood, self.answer, self.unclear = understood, answer, unclear
        self.other_plans: tuple[CountedPlan, ...] | None = (
            None  # where the first do not pass the check; None for the same
        )
        self.asked: list[tuple] = []

    def generate_plans(self, sentence, world, **options) -> SampledPlans:
        self.asked.append(("generate", sentence, options))
        if self.error:
            raise self.error
        plans = self.plans if not options.get("errors") or self.other_plans is None else self.other_plans
        count = sum(p.samples for p in plans)
        return SampledPlans(plans, count, usage=Usage(1, 1000, 0, 10 * count))

    def choose_action(self, sentence, world, history, options, **more) -> Choice:
        self.asked.append(("choose", tuple(history), tuple(options), tuple(more.get("errors", ()))))
        index = self.choices.popleft()
        return Choice(index, tuple(int(i == index) for i in range(len(options))), usage=Usage(1, 100, 0, 1))

    def propose_steps(self, method, sentence, world, history, **more) -> Proposals:
        self.asked.append(("propose", method, tuple(map(str, history)), tuple(more.get("errors", ()))))
        row = self.steps.popleft()
        candidates = tuple(row) if isinstance(row, (list, tuple)) else (row,)
        return Proposals(candidates, Usage(1, 500, 0, 5))

    def write(self, method, sentence, world, **more) -> Written:
        self.asked.append(
            (
                "write",
                method,
                tuple(more.get("history", ())),
                tuple(more.get("errors", ())),
                more.get("start", 0),
                more.get("options"),
            )
        )
        return Written(tuple(self.texts.popleft().split("\n")), usage=Usage(1, 500, 0, 50))

    def ground_step(self, method, sentence, step, world, **more) -> Grounding:
        self.asked.append(("ground", method, step))
        return Grounding(None if step.startswith("wait") else Action.parse(step), step, Usage(1, 100, 0, 5))

    def check_condition(self, condition, world, **more) -> ConditionCheck:
        self.asked.append(("check", condition))
        return ConditionCheck(self.checks[condition](world), "rule")

    def select_action(self, method, sentence, world, history, options, **more) -> Choice:
        self.asked.append(("select", method, tuple(map(str, options)), tuple(more.get("errors", ()))))
        answer = self.choices.popleft()
        if isinstance(answer, PlanweaveError):
            raise answer
        index = [str(o) for o in options].index(answer) if isinstance(answer, str) else answer
        return Choice(index, tuple(int(i == index) for i in range(len(options))), usage=Usage(1, 100, 0, 5))

    before = ()  # states that every sentence asks for first

    def interpret_goal(self, sentence, world, clarifications=(), task_id="") -> Reading:
        self.asked.append(("interpret", sentence))
        if self.unclear and not clarifications:
            raise AmbiguityError("the sentence is not clear", self.unclear)
        return Reading(self.goal, "grammar", understood=self.understood, answer=self.answer, before=self.before)


class SymbolicBody:
    """A body port driven by the domain. `faults` maps an action to what happens instead, each used once.

    A fault is (code, message) or (code, message, change) where change(world) gives the world after it.
    """

    def __init__(self, world: World, faults: dict[str, list[tuple]] | None = None):
        self.world, self.faults = world, faults or {}
        self.done: list[str] = []
        self.approvals: list[str] = []  # the token of each action
        self.hold = threading.Event()
        self.hold.set()
        self.began = threading.Event()

    def observe(self, revision=0) -> World:
        return self.world

    def look(self, seconds) -> Look:
        """A look at everything; tests put another in its place."""
        self.world = replace(self.world, stamp=self.world.stamp + 0.1).all_seen()
        return Look(self.world)

    def execute(self, action, *, task_id="", timeout=0.0, on_phase: Callable | None = None, approval="") -> Outcome:
        self.began.set()
        self.approvals.append(approval)
        if not self.hold.wait(60.0):
            raise CanceledError("held too long")
        domain = Domain.load(self.world.domain)
        transition = Transition(domain, self.world)
        try:
            missing = transition.unmet(transition.state(), action)
        except PlanweaveError as error:
            return Outcome(Code.INVALID_ACTION, str(error), self.world)
        if missing:
            return Outcome(Code.PRECONDITION_UNMET, f"{missing[0]} does not hold", self.world, missing)
        queue = self.faults.get(str(action))
        if queue:
            code, message, *change = queue.pop(0)
            if change:
                self.world = replace(change[0](self.world), revision=self.world.revision + 1)
            return Outcome(code, message, self.world)
        self.done.append(str(action))
        self.world = replace(transition.result(self.world, action), revision=self.world.revision + 1)
        return Outcome(Code.SUCCESS, "done", self.world)
