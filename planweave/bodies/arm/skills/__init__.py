"""Skills of the arm, one a file: grasp, place, push aside, open, close, turn, hand over, return to base.

Each skill returns, or raises SkillFailureError with a text for the planner. A skill plans its free motion before it
moves. Every timed trajectory passes the safety limits and is checked against collision once more, as timed, before it
is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import Arm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.motion_execution import OnPhase
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.door import Skill, make_lists
from planweave.bodies.arm.skills.planned import BUILT_IN
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action


class Skills:
    """The skills of an arm: which of them carry out an action, in the order in which they are tried."""

    def __init__(
        self,
        arm: Arm,
        scene: PlanningScene,
        reaching: ApproachPlanner,
        safety: Safety,
        world: WorldModel,
        settings: SkillSettings | None = None,
    ):
        self.context = SkillContext(arm, scene, reaching, safety, world, settings or SkillSettings())
        self.reaching, self.mover, self.sight = reaching, self.context.mover, self.context.sight
        self._lists = make_lists({"": BUILT_IN, **self.context.settings.skills})

    def able(self, action: Action) -> dict[str, Skill]:
        """The skills of the action's list that say they can carry it out, by name; raises INVALID_ACTION where there is
        none, or the action is switched off.
        """
        if action.name in self.context.settings.off:
            raise SkillFailureError(
                Code.INVALID_ACTION,
                f"{action.name} is switched off for this arm (parameter actions_off of executor_node); nothing moved",
            )
        skills = self._lists.get(action.name, self._lists[""])
        why = {name: skill.can(self.context, action) for name, skill in skills.items()}
        found = {name: skill for name, skill in skills.items() if not why[name]}
        if not found:
            told = "; ".join(f"{name}: {text}" for name, text in why.items())
            raise SkillFailureError(
                Code.INVALID_ACTION, f"no skill carries out {action} (parameter skills.{action.name}): {told}"
            )
        return found

    def begin(self, on_phase: OnPhase | None) -> None:
        """Begin an action: reset its accounts; on_phase: called with phase and progress (0 to 1)."""
        self.mover.begin(on_phase)
        self.context.pushed.clear()

    @contextmanager
    def attempt(self) -> Iterator[SkillContext]:
        """The context in which a skill carries out an action whose precondition holds."""
        try:
            yield self.context
        finally:
            self.context.world.action_ended()

    def run(self, action: Action, on_phase: OnPhase | None = None) -> None:
        """Begin an action whose precondition holds, and carry it out by the first skill that can; raises
        SkillFailureError.
        """
        self.begin(on_phase)
        skill = next(iter(self.able(action).values()))
        with self.attempt() as context:
            skill.run(context, action)
