"""Waiting for images, and visual verification of placed objects."""

from __future__ import annotations

import time
from collections.abc import Iterator

from planweave.bodies.arm.arms.base import Arm
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.fresh_look import no_fresh_look
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal

_PATIENCE = 0.2  # a cancel is heard within this time while waiting for an image, s of wall time


class VisualCheck:
    """Observes the world through perception."""

    def __init__(self, arm: Arm, world: WorldModel, settings: SkillSettings):
        self.arm, self.world, self.settings = arm, world, settings

    def next_image(self, after: float, seconds: float) -> float | None:
        """Wait for detections of an image stamped after `after` (s); their stamp, None where none arrived in time."""
        end = time.monotonic() + seconds
        while True:
            self.arm.check()
            left = end - time.monotonic()
            seen = self.world.wait_for_detections(after, min(max(left, 0.0), _PATIENCE))
            if seen is not None or left <= _PATIENCE:
                return seen

    @property
    def _patience(self) -> float:
        """s that an image is waited for."""
        return max(self.settings.verify_seconds, self.settings.image_seconds)

    def look(self) -> None:
        """Wait for an image taken from now on."""
        next(self.images(), None)

    def images(self) -> Iterator[float]:
        """Wait for each image that is taken from now on, for verify_seconds, and for the first one as `look` does;
        gives their stamps (s).
        """
        stamp, left = self.arm.state().stamp - 1e-9, self._patience
        end = time.monotonic() + self.settings.verify_seconds
        while (seen := self.next_image(stamp, left)) is not None:
            yield seen
            left = end - time.monotonic()
            if left <= 0:  # a simulator's looks take no time
                return
            stamp = seen

    def require(self, since_motion: bool = False) -> None:
        """Wait for detections where none come, or, if requested, for a look newer than the last motion; raises
        CONTROL_FAILED where there is none in time.
        """
        if not self.world.overdue and (self.world.looked_since_motion or not since_motion):
            return
        if self.next_image(self.arm.state().stamp, self.settings.image_seconds) is None:
            raise SkillFailureError(Code.CONTROL_FAILED, self._no_look(self.settings.image_seconds))

    def verify(self, name: str, where: str, expected: Literal) -> None:
        """Wait until the camera shows the object at its target; raises GRASP_LOST where it does not."""
        elsewhere = 0
        looked = False
        for _ in self.images():
            looked = True
            thing = next((t for t in self.world.things() if t.name == name), None)
            if thing is not None and thing.visible:
                if self.world.world().holds(expected):
                    return
                elsewhere += 1
            if elsewhere >= 3:
                break
        if not looked:
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"{name} was let go at {where}, but {self._no_look(self._patience)}",
            )
        raise SkillFailureError(Code.GRASP_LOST, f"{name} was let go at {where}, but {self._whereabouts(name)}")

    def _no_look(self, seconds: float) -> str:
        return no_fresh_look(self.world, self.settings.names, seconds)

    def _whereabouts(self, name: str) -> str:
        thing = next((t for t in self.world.things() if t.name == name), None)
        if thing is None or not thing.visible:
            return "the camera does not see it"
        facts = [
            str(f) for f in sorted(self.world.world().facts) if f.predicate in ("on", "in", "at") and f.args[0] == name
        ]
        x, y, z = thing.position
        return f"the camera sees it at ({x:.2f}, {y:.2f}, {z:.2f}) m: {', '.join(facts) or 'at no known place'}"
