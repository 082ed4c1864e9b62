"""The household body as a port for planning loops, without ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from planweave.bodies.home.home import Home, SimulatedHome
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.picture import png
from planweave.bodies.home.simulator import StepResult
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome

OBSERVE = ("partial", "full")
_TIMEOUT = 60.0  # s for one action where its sender gives no time


class HomePort:
    """A home and the agent's knowledge of it as a planweave.core.workflow.ports.StoppableBody. Thread-safe.

    partial, names: see Observer. clock: stamps of observations, s.
    """

    def __init__(
        self, home: Home, partial: bool = True, names: str = "all", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.home, self._clock = home, clock
        self._observer, self._lock = Observer(partial, names), threading.Lock()
        self._stopped: tuple[Code, str] | None = None
        self._begin()

    def _begin(self) -> None:
        with self._lock:
            self._observer.begin(self.home.simulator)
            self._world = self._observer.look(self.home.simulator, self._clock())

    def observe(self, revision: int = 0) -> World:
        with self._lock:
            return self._world

    def look(self, seconds: float = 0.0) -> Look:
        """What the person sees from where they stand, and remembers."""
        with self._lock, self.home.lock:
            self._world = self._observer.look(self.home.simulator, self._clock())
            return Look(self._world)

    def begin(self, timeout: float) -> None:
        self._stopped = None

    def stop(self, code: Code, message: str) -> None:
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
        """Execute one action; a failure that reveals a hidden object is remembered."""
        begun = time.monotonic()
        if on_phase is not None:
            on_phase("acting", 0.0)
        step = self._step(action, timeout or _TIMEOUT)
        code, message = step.code, step.message
        if code is Code.CANCELED and self._stopped is not None:
            code = self._stopped[0]
            message = f"{message}: {self._stopped[1]}"
        return Outcome(code, message, self.observe(), step.unmet, time.monotonic() - begun)

    def _step(self, action: Action, timeout: float) -> StepResult:
        known = self.observe().by_name
        unknown = [a for a in action.args if a not in known]
        if unknown and action.name in self.home.simulator.vocabulary.domain.actions:
            error = UnknownNameError("object", unknown[0], known)
            return StepResult(
                Code.UNKNOWN_OBJECT, f"{error}; what is in other rooms or in closed things becomes visible there"
            )
        step = self.home.execute(action, timeout, lambda: self._stopped is not None)
        with self._lock:
            self._observer.learn(self.home.simulator, action, step.unmet)
            self._world = self._observer.look(self.home.simulator, self._clock())
        return step

    def picture(self) -> bytes:
        """A floor plan of the home, as a PNG file."""
        with self.home.lock:
            return png(self.home.simulator)

    def reset(self) -> None:
        """Restore the initial state and clear the memory."""
        self.home.reset()
        self._begin()

    def load(self, scene: str) -> None:
        """Load another home; raises PlanweaveError, and keeps the current one, where that fails."""
        self.home.load(scene)
        self._begin()


class HomeBody(HomePort):
    """A home on the built-in VirtualHome simulator.

    scene: a name under config/scenes, or the path of a VirtualHome graph (JSON). observe: "partial" tells what can be
    seen from the room and what was seen before, "full" everything.
    """

    def __init__(self, scene: str | Path = "home_flat", observe: str = "partial") -> None:
        if observe not in OBSERVE:
            raise ConfigError(f"observe={observe!r}: expected one of {', '.join(OBSERVE)}")
        super().__init__(SimulatedHome(str(scene)), observe == "partial")

    @property
    def domain(self) -> Domain:
        return self.home.simulator.vocabulary.domain

    @property
    def world(self) -> World:
        return self.observe()
