"""Move to the home position, with the held object."""

from __future__ import annotations

from planweave.bodies.arm.skills.context import SkillContext


def return_to_base(context: SkillContext) -> None:
    """Move to the home position; does nothing where the arm is there already."""
    context.mover.phase("planning", 0.0)
    context.go_to(context.scene.robot.home, ("planning", 0.0), ("returning", 0.2))
