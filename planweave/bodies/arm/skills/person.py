"""Ask a person to do it: the arm goes out of the view and waits until the cameras see that it is done."""

from __future__ import annotations

import time

from planweave.bodies.arm.effects import expected, felt, unmet
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.skills.context import SkillContext
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action

_SECONDS = 60.0


class AskPerson:
    """See `planweave.bodies.arm.skills.door.Skill`. text: seconds of wall time for a person to do it; empty: 60."""

    planned = False

    def __init__(self, text: str = "") -> None:
        try:
            self.seconds = float(text or _SECONDS)
        except ValueError:
            self.seconds = 0.0
        if not 1.0 <= self.seconds <= 3600.0:
            raise ConfigError(f"person:{text}: after the colon are seconds from 1 to 3600, such as person:60")

    def can(self, context: SkillContext, action: Action) -> str:
        """See Skill. A person does what cameras see of things, but nothing that the hand must hold or let go."""
        domain = context.settings.domain
        if domain is None or action.name not in domain.actions:
            return "what it is for is not known"
        own = sorted(f.predicate for f in expected(domain, context.world.world(), action) if felt(domain, f))
        return f"{own[0]} is of the arm itself" if own else ""

    def run(self, context: SkillContext, action: Action) -> None:
        """Ask by the phase of the action, and look until it is done; CONTROL_FAILED where nobody does it in time."""
        assert context.settings.domain is not None
        domain, before = context.settings.domain, context.world.world()
        facts, phrase = expected(domain, before, action), domain.phrase(action)
        context.go_observe()
        context.mover.phase(f"please {phrase}: the arm waits, and sees when it is done", 0.5)
        end = time.monotonic() + self.seconds
        stamp = context.arm.state().stamp
        while unmet(facts, context.world.world()):
            left = end - time.monotonic()
            if left <= 0:
                raise SkillFailureError(
                    Code.CONTROL_FAILED, f"a person was asked to {phrase}, and {self.seconds:g} s later it is not seen"
                )
            stamp = context.sight.next_image(stamp, min(left, context.settings.verify_seconds)) or stamp
