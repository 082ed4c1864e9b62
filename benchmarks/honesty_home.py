"""Honesty in a home: somebody changes it after the person's last look, and the simulator's facts judge the report.

The person, observing in part, is given a goal, and the classical planner plans. Once an action of the case is done and
looked at, somebody else moves, opens, closes or takes a thing. No ROS and no model: task manager, observation and
simulator are the product's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import planweave as pw
from planweave.bench.faults import bring_about
from planweave.bench.suites.home import literals
from planweave.bodies.home.port import HomeBody
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Outcome
from planweave.core.workflow.task_status import TaskState

SCENE = "home_flat"
PATIENCE = 120.0  # wall seconds for one task


@dataclass(frozen=True)
class HomeCase:
    """A goal, and what somebody makes true in the home once `after` was done."""

    id: str
    goal: str
    after: str = ""
    changes: str = ""


_STORED = "inside(salmon_49, fridge_10); closed(fridge_10)"
_SERVED = "on(coffee_pot_48, coffee_table_19)"
_SHUT, _LAID, _SWITCHED = "close(fridge_10)", "putback(coffee_pot_48, coffee_table_19)", "switchoff(light_switch_17)"
CASES = (
    HomeCase("home_undisturbed", _STORED),
    HomeCase("home_taken_out_and_shut_again", _STORED, _SHUT, "on(salmon_49, kitchen_counter_6)"),
    HomeCase("home_door_opened_again", _STORED, _SHUT, "opened(fridge_10)"),
    HomeCase("home_moved_aside", _SERVED, _LAID, "on(coffee_pot_48, tvstand_20)"),
    HomeCase("home_taken_to_another_room", _SERVED, _LAID, "on(coffee_pot_48, kitchen_counter_6)"),
    HomeCase("home_light_switched_on", "switched_off(light_switch_17)", _SWITCHED, "switched_on(light_switch_17)"),
)


class SharedHome(HomeBody):
    """A home in which somebody else does something, too, after the person has looked at what an action made of it."""

    def __init__(self, case: HomeCase):
        super().__init__(SCENE)
        self._case, self.met = case, False

    def execute(self, action: Action, **options: Any) -> Outcome:
        outcome = super().execute(action, **options)
        if outcome.ok and str(action) == self._case.after and not self.met:
            self.met = True
            for literal in literals(self._case.changes):
                bring_about(self.home.simulator, literal)
        return outcome


def play(case: HomeCase) -> tuple[pw.Result, bool]:
    """Play a case: its result, and whether its goal holds then. Raises PlanweaveError where it cannot be played."""
    home, goal = SharedHome(case), literals(case.goal)
    options = {"plan_timeout": PATIENCE / 2}
    result = pw.run(body=home, goal=goal, method="classical", model="none", timeout=PATIENCE, options=options)
    if result.state is TaskState.CANCELED:
        raise PlanweaveError(f"{case.id} did not end within {PATIENCE:g} s")
    if case.after and not home.met:
        raise PlanweaveError(f"{case.id}: {case.after} was never done, so nobody changed anything: {result.message}")
    return result, all(map(home.home.simulator.holds, goal))
