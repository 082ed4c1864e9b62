"""Stages in a home: the built-in simulator with an agent, partially observed, for one episode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from planweave.bench.faults import Injection
from planweave.bench.suites.case import Case
from planweave.bodies.home.body import HomeSession
from planweave.bodies.home.graph import Graph
from planweave.bodies.home.port import HomePort
from planweave.bodies.home.simulator import HomeSimulator, StepResult
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody


class PlainHome:
    """A home for one episode; implements `planweave.bodies.home.home.Home` with the faults of `injection`."""

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

    def reset(self) -> None:
        """Not used in an episode."""
        raise NotImplementedError("a stage is played once; make a new one")

    def load(self, scene: str) -> None:
        """Not used in an episode."""
        raise NotImplementedError("a stage is played once; make a new one")


class HomeStage:
    """A home in the built-in simulator; evaluated on its true state, not on the agent's observations."""

    reproducible = True

    def __init__(self, case: Case, graph: Graph) -> None:
        self.case, self._graph = case, graph
        self._home = PlainHome(graph, Injection(case.fault) if case.fault else None)
        self.domain = self._home.simulator.vocabulary.domain
        self.body: LookingBody = HomePort(HomeSession(self._home))

    @property
    def simulator(self) -> HomeSimulator:
        """The simulator."""
        return self._home.simulator

    def truth(self) -> World:
        """The whole home."""
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
