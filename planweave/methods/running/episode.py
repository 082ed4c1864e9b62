"""An attempt at a task, as its method sees it: planner and body ports, goal, and bookkeeping of every action."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.action_tree import TreeNode
from planweave.core.workflow.ports import LookingBody, Outcome, Planner
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.methods.running.journal import Journal
from planweave.methods.running.recorded_body import RecordedBody


@dataclass
class Episode:
    """A method's view of its task: context, and counters of what was done. `changed` is called after every change of
    the task's status. acting: what carries actions out: `RecordedBody`, and the wrappers that a task puts round it.
    before: the world before the last attempt at an action; observed: facts around the actions so far.
    """

    task_id: str
    sentence: str
    goal: tuple[Literal, ...]
    domain: Domain
    planner: Planner
    body: LookingBody
    journal: Journal
    canceled: Cancellation = field(default_factory=Cancellation)
    changed: Callable[[], None] = lambda: None
    dry_run: bool = False
    namespace: str = ""  # of the body, for messages

    phase: str = ""
    message: str = ""
    action: Action | None = None
    tree: TreeNode | None = None
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    executed: int = 0
    corrections: int = 0
    questions: int = 0
    fallback: bool = False
    alone: bool = False  # no other method takes over: the method's switch `paper`, or a given tree
    used: list[Action] = field(default_factory=list)
    pushed: list[str] = field(default_factory=list)
    failed: Outcome | None = None  # of the last action, where it failed
    trouble: tuple[Action, str] | None = None  # the last failed action and what it said, until it succeeds
    stopped: bool = False  # by a person or a safety limit: nothing more may be tried
    observed: set[Literal] = field(default_factory=set)
    said: deque[str] = field(default_factory=deque)
    intended: tuple[Action, ...] = ()  # the actions that the method announced, from the next one on
    before: World | None = None
    acting: WrappedBody = field(init=False)

    def __post_init__(self) -> None:
        """Wrap the body in its record alone."""
        self.acting = RecordedBody(self.body, self)

    def tell(self, phase: str = "", message: str = "") -> None:
        """Publish phase and message, this in words for people."""
        self.phase = phase or self.phase
        self.message = self.domain.told(message) or self.message
        self.changed()

    def observe(self) -> World:
        self.canceled.check()
        return self.body.observe().with_derived(self.goal)

    def look(self, seconds: float) -> World:
        """The world as it is seen from now on, or the newest one where nothing is seen so long."""
        return self.body.look(seconds).world.with_derived(self.goal)

    def spend(self, usage: Usage | None) -> None:
        """Add language model usage."""
        self.usage = self.usage + (usage or Usage())
        self.changed()

    def intend(self, plan: Sequence[Action]) -> None:
        """Announce the intended actions, as far as the method knows them: they are approved together."""
        self.intended = tuple(plan)

    def execute(self, action: Action, undoing: bool = False) -> Outcome:
        """Execute one action, and record its outcome. It waits while the task is paused or its plan is not approved.

        After a pause an interrupted action goes on where it is still right, and fails where the world was changed so
        that its plan is not; raises ReachedMeanwhileError where nothing is left to do.
        """
        self.canceled.check()
        plan = self.intended if self.intended[:1] == (action,) else ()
        self.intended = plan[1:]
        return self.acting.execute(action, plan=plan, undoing=undoing)

    def follow(self, plan: Sequence[Action]) -> None:
        """Execute a plan open loop: failed actions are skipped, as in the papers' open-loop baselines."""
        for index, action in enumerate(plan):
            self.intend(plan[index:])
            if self.execute(action).final:
                return
        self.tell("plan ended")

    def feedback(self) -> list[str]:
        """Feedback of people since the last call; treated as additional error messages."""
        said = []
        while self.said:
            said.append(self.said.popleft())
        return said
