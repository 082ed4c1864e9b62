"""How the arm carries out skills: speeds, forces and patience."""

from __future__ import annotations

from dataclasses import dataclass

OBSERVE: tuple[float, ...] = (0.0, -1.10, 0.0, -2.55, 0.0, 1.45, 0.785398)
"""Where the arm waits for a look at the table: drawn back, so that it covers as little of it as possible, rad."""


@dataclass(frozen=True)
class Settings:
    """How skills are carried out. Metres, seconds (wall time for waits), N; factors of the joint limits."""

    speed: float = 0.4
    acceleration: float = 0.8
    approach_speed: float = 0.25
    grip_force: float = 20.0
    smallest_width: float = 0.004  # the fingers closed on nothing below this, or below 40 % of what was expected
    slip: float = 0.006  # an object whose grip narrows by this much is lost
    grasp_retries: int = 0  # further grasps to try after one closed on nothing or slipped
    look_seconds: float = 5.0  # wait for a camera image
    verify_seconds: float = 4.0  # wait until an object is seen where it was put
    planning_seconds: float = 2.0  # for one motion
    clearance: float = 0.10  # height of the straight approach from above, m
    observe: tuple[float, ...] = OBSERVE
