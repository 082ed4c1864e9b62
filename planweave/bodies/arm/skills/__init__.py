"""What the arm can do, one skill a file: grasp, place, push aside, open, close, turn, hand over, return to base.

Each skill returns, or raises SkillFailureError with a text for the planner. A skill plans its free motion before it
moves. Every timed trajectory passes the safety limits and is checked against collision once more, as timed, before it
is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import Arm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.motion_execution import OnPhase
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills.articulated import close, open_up, turn_off, turn_on
from planweave.bodies.arm.skills.body import SkillContext
from planweave.bodies.arm.skills.grasp import grasp
from planweave.bodies.arm.skills.hand_over import hand_over
from planweave.bodies.arm.skills.home import return_to_base
from planweave.bodies.arm.skills.placing import (
    grab_and_putin,
    place_at,
    place_behind,
    place_between,
    place_in,
    place_in_front_of,
    place_left_of,
    place_on,
    place_right_of,
)
from planweave.bodies.arm.skills.push import push_aside
from planweave.bodies.arm.skills.push_to import push_to_front_of
from planweave.bodies.arm.surroundings import Surroundings
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action

SKILLS: dict[str, Callable[..., None]] = {
    "grasp": grasp,
    "place_on": place_on,
    "place_in": place_in,
    "place_at": place_at,
    "place_left_of": place_left_of,
    "place_right_of": place_right_of,
    "place_in_front_of": place_in_front_of,
    "place_behind": place_behind,
    "place_between": place_between,
    "push_aside": push_aside,
    "hand_over": hand_over,
    "return_to_base": return_to_base,
    "grab_and_putin": grab_and_putin,
    "push_to_front_of": push_to_front_of,
    "open": open_up,
    "close": close,
    "turn_on": turn_on,
    "turn_off": turn_off,
}
_NEEDS_HELD = {name for name in SKILLS if name.startswith("place_")} | {"hand_over"}


class Skills:
    """Executes actions of the tabletop domain with an arm, one at a time, with the configured retries."""

    def __init__(
        self,
        arm: Arm,
        scene: PlanningScene,
        reaching: ApproachPlanner,
        safety: Safety,
        world: Surroundings,
        settings: SkillSettings | None = None,
    ):
        self.body = SkillContext(arm, scene, reaching, safety, world, settings or SkillSettings())
        self.reaching, self.mover, self.sight = reaching, self.body.mover, self.body.sight

    def run(self, action: Action, on_phase: OnPhase | None = None) -> None:
        """Execute one action whose precondition holds. Raises SkillFailureError."""
        self.mover.begin(on_phase)
        self.body.tried.clear()
        self.body.pushed.clear()
        if action.name not in SKILLS:
            raise SkillFailureError(Code.INVALID_ACTION, str(UnknownNameError("skill", action.name, SKILLS)))
        if action.name in self.body.settings.off:
            raise SkillFailureError(
                Code.INVALID_ACTION,
                f"{action.name} is switched off for this arm (parameter actions_off of executor_node); nothing moved",
            )
        try:
            self._try(action)
        finally:
            self.body.world.action_ended()

    def _try(self, action: Action) -> None:
        """Run the skill; after a failure apply the remedy of its code and retry.

        A lost object is grasped again first (regrasp after a slip).
        """
        failures: Counter[Code] = Counter()
        while True:
            try:
                if failures and action.name in _NEEDS_HELD and self.body.world.held is None:
                    grasp(self.body, action.args[0])
                SKILLS[action.name](self.body, *action.args)
                return
            except SkillFailureError as error:
                failures[error.code] += 1
                policy = self.body.settings.retries.get(error.code)
                if error.final or policy is None or failures[error.code] > policy.times:
                    if sum(failures.values()) > 1:
                        error.message += f" (tried {sum(failures.values())} times)"
                    raise
                remedy = policy.remedy
            self._prepare(remedy)

    def _prepare(self, remedy: str) -> None:
        """See `planweave.bodies.arm.retries.REMEDIES`."""
        if remedy != "other_grasp":
            self.body.tried.clear()
        if remedy == "back_off" or self.body.world.held is not None:
            self.body.look_anew()
        else:
            self.body.draw_back()
