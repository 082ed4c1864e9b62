"""The household body as a port for planning loops, without ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from planweave.bodies.home.graph import load_graph
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.picture import png
from planweave.bodies.home.simulator import HomeSimulator, StepResult
from planweave.bodies.home.unity import UnityClient, UnityError
from planweave.bodies.home.vocabulary import write_line
from planweave.core.base.errors import ConfigError, PlanweaveError, SceneError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome

Stopped = Callable[[], bool]
#: States of things that Unity does not know, beside what its graph has no words for.
_NOT_IN_UNITY = frozenset({"heated", "cooked", "toasted", "washed", "sliced", "filled", "used"})


class Home(Protocol):
    """A home that executes actions."""

    simulator: HomeSimulator
    lock: threading.Lock  # held while the simulator changes; hold it to read the simulator from another thread

    def execute(self, action: Action, timeout: float, stopped: Stopped) -> StepResult:
        """Execute one action within `timeout` seconds; stopped() becomes true when it is cancelled."""

    def reset(self) -> None:
        """Restore the initial state; raises PlanweaveError."""

    def load(self, scene: str) -> None:
        """Load another home; raises PlanweaveError, and keeps the current one, where that fails."""


class SimulatedHome:
    """The built-in simulator. seconds: simulated duration of an action, for display."""

    def __init__(self, scene: str, seconds: float = 0.0):
        self.simulator = HomeSimulator(load_graph(scene))
        self.lock = threading.Lock()
        self._seconds = seconds

    def execute(self, action: Action, timeout: float, stopped: Stopped) -> StepResult:
        end = time.monotonic() + min(self._seconds, timeout)
        while (left := end - time.monotonic()) > 0 and not stopped():
            time.sleep(min(left, 0.02))
        if stopped():
            return StepResult(Code.CANCELED, f"{action} was cancelled before it was executed")
        if self._seconds > timeout:
            return StepResult(Code.TIMEOUT, f"{action} takes {self._seconds:g} s, but only {timeout:g} s were allowed")
        with self.lock:
            return self.simulator.execute(action)

    def reset(self) -> None:
        with self.lock:
            self.simulator.reset()

    def load(self, scene: str) -> None:
        fresh = HomeSimulator(load_graph(scene))
        with self.lock:
            fresh.revision = self.simulator.revision + 1
            self.simulator = fresh


class UnityHome:
    """Unity executes the actions; its graph is fetched after each, and failures are explained by the simulator."""

    def __init__(self, client: UnityClient, environment: int = 0, animate: bool = True):
        self._client, self._environment, self._animate = client, environment, animate
        client.health()
        client.reset(environment)
        self.simulator = HomeSimulator(client.graph())
        self.lock = threading.Lock()

    def execute(self, action: Action, timeout: float, stopped: Stopped) -> StepResult:
        """See Home. Unity cannot be interrupted: it may complete an action after a cancellation or a timeout."""
        foreseen = self.simulator.explain(action)
        try:
            self.simulator.vocabulary.domain.check_action(action, self.simulator.world(()))
        except PlanweaveError:
            return self.simulator.execute(action)  # not an action over this home: Unity need not be asked
        line = write_line(action, self.simulator.graph, character=0)
        try:
            failure = self._client.run_line(line, timeout, self._animate, stopped)
        except UnityError as error:
            return StepResult(error.action_code, f"{error} (while executing {line})")
        if failure:
            return self._failed(action, line, failure, foreseen)
        with self.lock:
            self.simulator.execute(action)  # for the states that Unity does not know
        try:
            self._refresh()
        except UnityError as error:
            return StepResult(Code.CONTROL_FAILED, f"{line} was executed, but its result is unknown: {error}")
        return StepResult(Code.SUCCESS, "Success")

    def _failed(self, action: Action, line: str, failure: str, foreseen: str) -> StepResult:
        if foreseen:
            step = self.simulator.execute(action)
            return StepResult(Code.PRECONDITION_UNMET, f"{failure} Reason: {foreseen}", step.unmet)
        return StepResult(
            Code.CONTROL_FAILED,
            f"{failure} Reason: none is known; by the graph of the home {line} is "
            "possible. Walk to the object again, or use another one of its class.",
        )

    def _refresh(self) -> None:
        """Adopt Unity's graph, and keep what it does not tell of objects that still exist."""
        old = self.simulator
        fresh = HomeSimulator(self._client.graph(), old.vocabulary)
        names = fresh.graph.by_name
        for predicate in _NOT_IN_UNITY | (old.vocabulary.domain.predicates.keys() - fresh.told):
            for fact in old.state.of(predicate):
                if all(a in names for a in fact[1:]):
                    fresh.state.add(fact)
        fresh.revision, fresh.steps = old.revision + 1, old.steps
        with self.lock:
            self.simulator = fresh

    def reset(self) -> None:
        self._client.reset(self._environment)
        fresh = HomeSimulator(self._client.graph(), self.simulator.vocabulary)
        with self.lock:
            fresh.revision = self.simulator.revision + 1
            self.simulator = fresh

    def load(self, scene: str) -> None:
        """Load another of Unity's environments, by number."""
        if not scene.strip().isdigit():
            raise SceneError(f"scene {scene!r}: with Unity a scene is the number of one of its environments, e.g. 4")
        self._environment = int(scene)
        self.reset()


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
        """World as the person sees it from where they stand, and remembers it."""
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
