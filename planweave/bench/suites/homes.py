"""Stages in a home: the built-in simulator with an agent, partially observed, for one episode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from planweave.bench.faults import Injection
from planweave.bench.suites.case import Case
from planweave.bodies.home.graph import Graph
from planweave.bodies.home.home import SimulatedHome
from planweave.bodies.home.port import HomePort
from planweave.bodies.home.simulator import HomeSimulator, StepResult
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody


class PlainHome(SimulatedHome):
    """A home for one episode, with the faults of `injection`."""

    def __init__(self, graph: Graph, injection: Injection | None = None) -> None:
        self.simulator = HomeSimulator(graph)
        self.lock = threading.Lock()
        self._injection = injection

    def execute(self, action: Action, timeout: float, stopped: Callable[[], bool]) -> StepResult:
        """Execute one action without delay."""
        with self.lock:
            if self._injection is not None:
                return self._injection.execute(self.simulator, action)
            return self.simulator.execute(action)


class HomeStage:
    """A home in the built-in simulator; evaluated on its true state, not on the agent's observations."""

    reproducible = True

    def __init__(self, case: Case, graph: Graph) -> None:
        self.case, self._graph = case, graph
        home = PlainHome(graph, Injection(case.fault) if case.fault else None)
        self.simulator, self.domain = home.simulator, home.simulator.vocabulary.domain
        self.body: LookingBody = HomePort(home)

    def truth(self) -> World:
        return self.simulator.world()

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """The case's conditions, evaluated now."""
        return self.case.conditions(self.simulator.holds, done)

    def after_gold(self) -> frozenset[Literal]:
        """The facts after the gold plan in a copy of this home."""
        other = HomeStage(self.case, self._graph)
        for action in self.case.gold:
            other.body.execute(action)
        return other.truth().facts

    def close(self) -> None:
        """Does nothing."""
