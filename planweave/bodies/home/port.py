"""The household body as a port for planning loops, without ROS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planweave.bodies.home.body import HomeSession
from planweave.bodies.home.home import SimulatedHome
from planweave.core.domain import Domain
from planweave.core.errors import ConfigError
from planweave.core.ports import Look, Outcome
from planweave.core.world import Action, World

OBSERVE = ("partial", "full")
_TIMEOUT = 60.0  # s for one action where its sender gives no time


class HomePort:
    """Implements planweave.core.ports.LookingBody with a household body."""

    def __init__(self, body: HomeSession) -> None:
        self._body = body

    def observe(self, revision: int = 0) -> World:
        """The agent's knowledge."""
        return self._body.observe()

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
        step = self._body.execute(action, timeout or _TIMEOUT)
        return Outcome(step.code, step.message, self._body.observe(), step.unmet)

    def look(self, seconds: float) -> Look:
        """The agent's knowledge after a fresh observation from where it stands."""
        return Look(self._body.look())


class HomeBody(HomePort):
    """A home in the built-in VirtualHome simulator.

    scene: a name under config/scenes, or the path of a VirtualHome graph (JSON). observe: "partial" limits observations
    to the current room and to memory, "full" reports everything.
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
