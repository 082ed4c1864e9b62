"""The household body as a plain object, without ROS: executes actions, reports observed worlds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from planweave.bodies.home.home import Home
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.picture import png
from planweave.bodies.home.simulator import StepResult
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, World


class HomeSession:
    """A home and the agent's knowledge of it. Thread-safe.

    clock: stamps of observations, s.
    """

    def __init__(
        self, home: Home, partial: bool = True, names: str = "all", clock: Callable[[], float] = time.monotonic
    ):
        self.home, self._clock = home, clock
        self._observer = Observer(partial, names)
        self._lock = threading.Lock()
        self._observer.begin(home.simulator)
        self._world = self._observer.look(home.simulator, clock())

    def observe(self) -> World:
        """The agent's current knowledge."""
        with self._lock:
            return self._world

    def look(self) -> World:
        """The agent's knowledge after a fresh observation."""
        with self._lock, self.home.lock:
            self._world = self._observer.look(self.home.simulator, self._clock())
            return self._world

    def execute(self, action: Action, timeout: float = 60.0, stopped: Callable[[], bool] = lambda: False) -> StepResult:
        """Execute one action; a failure that reveals a hidden object is remembered."""
        known = self.observe().by_name
        unknown = [a for a in action.args if a not in known]
        if unknown and action.name in self.home.simulator.vocabulary.domain.actions:
            error = UnknownNameError("object", unknown[0], known)
            return StepResult(
                Code.UNKNOWN_OBJECT, f"{error}; what is in other rooms or in closed things becomes visible there"
            )
        step = self.home.execute(action, timeout, stopped)
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

    def _begin(self) -> None:
        with self._lock:
            self._observer.begin(self.home.simulator)
            self._world = self._observer.look(self.home.simulator, self._clock())
