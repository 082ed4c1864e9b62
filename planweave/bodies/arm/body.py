"""An arm as a body that executes actions by skills: checks before an action, the skill, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from planweave.bodies.arm import effects, preconditions
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.retries import NEVER_AGAIN
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Look, Outcome

Told = Callable[[str, float], None]
"""Called with phase and progress (0 to 1) of the action that runs."""


class ArmBody:
    """Keeps planweave.core.workflow.ports.StoppableBody. What differs between arms is in `_admit`, `_make_ready` and
    `_ended` (executor_node.arm_body, planweave.libero.body). skills: may be replaced between two actions.
    """

    timeout = 60.0
    """Seconds of wall time for an action that is given none."""

    def __init__(self, domain: Domain, world: WorldModel, arm: ControlledArm, skills: Skills) -> None:
        self.domain, self.world, self.arm, self.skills = domain, world, arm, skills
        self._begun = False  # by whoever will call `execute` next

    def observe(self, revision: int = 0) -> World:
        return self.world.world()

    def look(self, seconds: float) -> Look:
        return Look(self.world.world())

    def begin(self, timeout: float) -> None:
        """From now on `stop` ends the action; timeout in s of wall time."""
        self._begun = True
        self.arm.begin(time.monotonic() + (timeout or self.timeout))

    def stop(self, code: Code, message: str) -> None:
        self.arm.abort(code, message)

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Told | None = None,
        approval: str = "",
    ) -> Outcome:
        """Carry out an action; where it was begun, its time runs since then, and it may have been stopped since."""
        if not self._begun:
            self.begin(timeout)
        self._begun = False
        mover, pushed = self.skills.mover, self.skills.context.pushed
        phase = [""]

        def told(name: str, progress: float) -> None:
            phase[0] = name
            if on_phase is not None:
                on_phase(name, progress)

        self.skills.begin(told)
        code, unmet = Code.SUCCESS, tuple[Literal, ...]()
        try:
            self.arm.check()
            self._admit(action, told)
            how = self._carry_out(action)
            message = f"done: {self.domain.phrase(action)}{how}"
        except SkillFailureError as error:
            code, message, unmet = error.action_code, error.message, error.unmet
        except Exception:
            self.arm.abort(Code.CONTROL_FAILED, "an error of the program")
            raise
        self._ended(action, code, message, phase[0])
        if pushed:
            message += f"; pushed aside to get there: {', '.join(pushed)}"
        if mover.stood_in:
            names = ", ".join(sorted(mover.stood_in))
            message += f"; the arm was where {names} was seen, and went on from there as if nothing were in that place"
        return Outcome(
            code, message, self.world.world(), unmet, mover.motion_seconds, mover.planning_seconds, tuple(pushed)
        )

    def _carry_out(self, action: Action) -> str:
        """Carry out an action by the skills of its list, until one has its effect; what went before, for a message.

        Raises the failure of the last one, with those before it.
        """
        before = self.world.world()
        preconditions.check(self.domain, before, action)
        facts = effects.expected(self.domain, before, action)
        self._make_ready()
        failed, skills = "", self.skills.able(action)
        for left, (name, skill) in zip(range(len(skills) - 1, -1, -1), skills.items()):
            try:
                if failed:  # by a skill that may have moved things
                    preconditions.check(self.domain, self.world.world(), action)
                with self.skills.attempt() as context:
                    skill.run(context, action)
                self._verify(action, facts)
                return failed and f" by {name}, after{failed}"
            except SkillFailureError as error:
                reason = f" {name}: {error.message};" if len(skills) > 1 else error.message
                # nothing moves on by itself into what blocks it
                blocked = error.permanent and error.action_code is Code.COLLISION
                if not left or blocked or error.action_code in NEVER_AGAIN:
                    error.message = f"{failed}{reason}".strip(" ;")
                    raise
                failed += reason
            self.skills.context.look_anew()
            if not effects.unmet(facts, self.world.world()):
                return f" as it is seen, though{failed}".rstrip(";")
        raise AssertionError("a list of skills is never empty")

    def _verify(self, action: Action, facts: frozenset[Literal]) -> None:
        """Raise SkillFailureError where the facts that an action is for are not so. What the arm does not feel itself
        is looked at: with the newest image, where that was taken since the arm moved, and shows it.
        """
        body = self.skills.context
        fresh = self.world.looked_since_motion or all(effects.felt(self.domain, fact) for fact in facts)
        if not body.settings.observe or not fresh or effects.unmet(facts, self.world.world()):
            body.look_anew()
        unmet = effects.unmet(facts, self.world.world())
        if unmet:
            lost = any(fact.predicate == "holding" for fact in unmet)
            told = "; ".join(self.domain.phrase(fact.negated()) for fact in unmet)
            raise SkillFailureError(
                Code.GRASP_LOST if lost else Code.CONTROL_FAILED,
                f"after trying to {self.domain.phrase(action)}: {told}",
                unmet,
            )

    def _admit(self, action: Action, told: Told) -> None:
        """Raise SkillFailureError where the action must not begin; the world is up to date afterwards."""

    def _make_ready(self) -> None:
        """Raise SkillFailureError where what shall move the arm is not ready."""

    def _ended(self, action: Action, code: Code, message: str, phase: str) -> None:
        """Process the end of an action in its last phase."""
