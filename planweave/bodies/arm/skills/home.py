"""Move to the home position, with the held object."""

from __future__ import annotations

from planweave.bodies.arm.skills.context import SkillContext


def return_to_base(body: SkillContext) -> None:
    """Move to the home position; does nothing where the arm is there already."""
    body.mover.phase("planning", 0.0)
    body.go_to(body.scene.robot.home, ("planning", 0.0), ("returning", 0.2))
