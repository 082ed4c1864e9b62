"""Honesty in a home: somebody changes it after the person's last look, and the simulator's facts judge the report.

The person, observing in part, is given a goal, and the classical planner plans. Once an action of the case is done and
looked at, somebody else moves, opens, closes or takes a thing. No ROS and no model: task manager, observation and
simulator are the product's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.home_tasks import HomeBody
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.state import AtomKey
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.ports import Outcome
from planweave.core.workflow.task_status import TaskStatus
from planweave.llm.clients.none import NoClient
from planweave.methods import METHODS
from planweave.methods.planner import LanguagePlanner
from planweave.tasks.task_manager import TaskManager

SCENE = "home_flat"
PATIENCE = 120.0  # wall seconds for one task


@dataclass(frozen=True)
class HomeCase:
    """A goal, and what somebody does to the home once `after` was done: facts that end, and facts that begin."""

    id: str
    goal: str
    after: str = ""
    ends: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()


_STORED = "inside(salmon_49, fridge_10); closed(fridge_10)"
_SERVED = "on(coffee_pot_48, coffee_table_19)"
_DARK = "switched_off(light_switch_17)"
_SHUT, _LAID, _SWITCHED = "close(fridge_10)", "putback(coffee_pot_48, coffee_table_19)", "switchoff(light_switch_17)"
_OUT = (("inside(salmon_49, fridge_10)",), ("on(salmon_49, kitchen_counter_6)",))
_AJAR = (("closed(fridge_10)",), ("opened(fridge_10)",))
_ASIDE = (("on(coffee_pot_48, coffee_table_19)",), ("on(coffee_pot_48, tvstand_20)",))
_AWAY = (
    ("on(coffee_pot_48, coffee_table_19)", "in_room(coffee_pot_48, living_room_2)"),
    ("on(coffee_pot_48, kitchen_counter_6)", "in_room(coffee_pot_48, kitchen_1)"),
)
_LIT = (("switched_off(light_switch_17)",), ("switched_on(light_switch_17)",))

CASES = (
    HomeCase("home_undisturbed", _STORED),
    HomeCase("home_taken_out_and_shut_again", _STORED, _SHUT, *_OUT),
    HomeCase("home_door_opened_again", _STORED, _SHUT, *_AJAR),
    HomeCase("home_moved_aside", _SERVED, _LAID, *_ASIDE),
    HomeCase("home_taken_to_another_room", _SERVED, _LAID, *_AWAY),
    HomeCase("home_light_switched_on", _DARK, _SWITCHED, *_LIT),
)


class SharedHome(HomeBody):
    """A home in which somebody else does something, too, after the person has looked at what an action made of it."""

    def __init__(self, case: HomeCase):
        super().__init__(SCENE)
        self._case, self.met = case, False

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """See planweave.core.workflow.ports.Body."""
        outcome = super().execute(action)
        if outcome.ok and str(action) == self._case.after and not self.met:
            self.met = True
            state = self.home.simulator.state
            for text in self._case.ends:
                state.discard(_atom(text))
            for text in self._case.begins:
                state.add(_atom(text))
        return outcome


def play(case: HomeCase) -> tuple[TaskStatus, bool]:
    """How the task ended, and whether its goal holds then. Raises PlanweaveError where the case cannot be played."""
    home = SharedHome(case)
    goal = tuple(Literal.parse(part) for part in case.goal.split(";"))
    manager = TaskManager(
        LanguagePlanner(NoClient()),
        home,
        lambda name: METHODS[name](plan_timeout=PATIENCE / 2),
        default_method="classical",
    )
    try:
        task = manager.submit("", goal=goal)
        if not task.ended.wait(PATIENCE):
            raise PlanweaveError(f"{case.id} did not end within {PATIENCE:g} s")
    finally:
        manager.close()
    if case.after and not home.met:
        raise PlanweaveError(
            f"{case.id}: {case.after} was never done, so nobody changed anything: {task.status.message}"
        )
    return task.status, all(map(home.home.simulator.holds, goal))


def _atom(text: str) -> AtomKey:
    literal = Literal.parse(text)
    return (literal.predicate, *literal.args)
