"""The household body as a port for planning loops, without ROS."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from planweave.bodies.home.body import HomeSession
from planweave.bodies.home.home import SimulatedHome
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome

OBSERVE = ("partial", "full")
_TIMEOUT = 60.0  # s for one action where its sender gives no time


class HomePort:
    """Implements planweave.core.workflow.ports.StoppableBody with a household body."""

    def __init__(self, body: HomeSession) -> None:
        self._body = body
        self._stopped: tuple[Code, str] | None = None

    def observe(self, revision: int = 0) -> World:
        """The agent's knowledge."""
        return self._body.observe()

    def begin(self, timeout: float) -> None:
        """From now on `stop` ends the action."""
        self._stopped = None

    def stop(self, code: Code, message: str) -> None:
        """End the action that was begun."""
        self._stopped = code, message

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """Execute one action."""
        begun = time.monotonic()
        if on_phase is not None:
            on_phase("acting", 0.0)
        step = self._body.execute(action, timeout or _TIMEOUT, lambda: self._stopped is not None)
        code, message = step.code, step.message
        if code is Code.CANCELED and self._stopped is not None:
            code = self._stopped[0]
            message = f"{message}: {self._stopped[1]}"
        return Outcome(code, message, self._body.observe(), step.unmet, time.monotonic() - begun)

    def look(self, seconds: float) -> Look:
        """What the person sees from where they stand, and remembers."""
        return Look(self._body.look())


class HomeBody(HomePort):
    """A home on the built-in VirtualHome simulator.

    scene: a name under config/scenes, or the path of a VirtualHome graph (JSON). observe: "partial" tells what can be
    seen from the room and what was seen before, "full" everything.
    """

    def __init__(self, scene: str | Path = "home_flat", observe: str = "partial") -> None:
        if observe not in OBSERVE:
            raise ConfigError(f"observe={observe!r}: expected one of {', '.join(OBSERVE)}")
        self.home = SimulatedHome(str(scene))
        super().__init__(HomeSession(self.home, observe == "partial"))

    @property
    def domain(self) -> Domain:
        """The household domain."""
        return self.home.simulator.vocabulary.domain

    @property
    def world(self) -> World:
        """The agent's current knowledge."""
        return self.observe()
