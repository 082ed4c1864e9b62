"""One task as a method's loop sees it: the two ports, the goal, and the bookkeeping around every action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from feedback_node.journal import Journal
from planweave.action_tree import Node
from planweave.budget import Usage
from planweave.cancellation import Cancellation
from planweave.domain import Domain
from planweave.errors import PlanweaveError
from planweave.failure import Code
from planweave.ports import Body, Outcome, Planner
from planweave.transition import Transition, inverse_actions
from planweave.world import Action, Literal, World


@dataclass
class Episode:
    """What a method works with. `changed` is called after every change that people may want to see."""

    task_id: str
    sentence: str
    goal: tuple[Literal, ...]
    domain: Domain
    planner: Planner
    body: Body
    journal: Journal
    canceled: Cancellation = field(default_factory=Cancellation)
    changed: Callable[[], None] = lambda: None
    action_timeout: float = 0.0

    phase: str = ""
    message: str = ""
    action: Action | None = None
    tree: Node | None = None
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    executed: int = 0
    corrections: int = 0
    questions: int = 0
    fallback: bool = False

    def tell(self, phase: str = "", message: str = "") -> None:
        """Say what is going on."""
        self.phase = phase or self.phase
        self.message = message or self.message
        self.changed()

    def observe(self) -> World:
        """The newest world."""
        self.canceled.check()
        return self.body.observe()

    def spend(self, usage: Usage) -> None:
        """Add up what was asked of the model."""
        self.usage = self.usage + usage
        self.changed()

    def execute(self, action: Action, undoing: bool = False) -> Outcome:
        """Execute one action and record what came of it."""
        self.canceled.check()
        why = "undo" if undoing else "fallback" if self.fallback else "plan"
        self.action, self.steps = action, self.steps + 1
        self.tell("acting" if why == "plan" else f"acting ({why})")
        outcome = self.body.execute(
            action, task_id=self.task_id, timeout=self.action_timeout,
            on_phase=lambda phase, progress: self.tell(f"acting: {phase}"),
        )
        self.action = None
        self.executed += outcome.ok
        self.journal.add(
            "action", action=str(action), why=why, code=outcome.code.name, message=outcome.message,
            unmet=[str(u) for u in outcome.unmet], motion_seconds=round(outcome.motion_seconds, 3),
            planning_seconds=round(outcome.planning_seconds, 4),
            facts=[str(f) for f in sorted(outcome.world.facts)],
        )
        self.tell(message=outcome.message if not outcome.ok else "")
        return outcome

    def undo(self, action: Action, before: World) -> bool:
        """Take an action back by its declared inverse; False where that cannot be done, with the reason said."""
        inverse = inverse_actions(self.domain, before, action)
        if inverse is None:
            self.journal.add("undo", action=str(action), done=False, reason="the domain declares no inverse")
            self.tell(message=f"{action} cannot be undone: the domain declares no inverse; going on from here")
            return False
        for step in inverse:
            world = self.observe()
            transition = Transition(self.domain, world)
            try:
                missing = transition.unmet(transition.state(), step)
            except PlanweaveError as error:
                self.journal.add("undo", action=str(action), by=str(step), done=False, reason=str(error))
                return False
            if missing:
                reason = "not needed or not possible now: " + ", ".join(map(str, missing))
                self.journal.add("undo", action=str(action), by=str(step), done=False, reason=reason)
                return False
            outcome = self.execute(step, undoing=True)
            self.journal.add("undo", action=str(action), by=str(step), done=outcome.ok, reason=outcome.message)
            if outcome.code is Code.SAFETY_STOP or not outcome.ok:
                self.tell(message=f"{action} could not be undone: {outcome.message}; going on from here")
                return False
        return True
