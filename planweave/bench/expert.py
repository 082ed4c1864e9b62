"""Oracle planner with full state: the basis of the simulated model."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.bench.suites.case import Case, Stage
from planweave.core.base.errors import PlanweaveError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.state import State
from planweave.core.symbolic.transition import Transition, facts_of
from planweave.core.symbolic.world import Action, Literal, World
from planweave.llm.clients.base import About

ANYTHING = About()


class Expert:
    """Knows the case's gold plan and, at any time, the true world and the executed actions (`done`).

    The remaining plan is the rest of the gold plan, if that is applicable and fulfils all conditions; else its shortest
    suffix that does; where none does, since the world was changed, a plan of the classical planner within `seconds`;
    else the gold plan from its first applicable step.
    """

    def __init__(self, case: Case, stage: Stage, done: Sequence[Action] = (), seconds: float = 30.0) -> None:
        self._case, self._stage, self._seconds = case, stage, seconds
        world = stage.truth()
        self.domain, self.expected = stage.domain, case.expected
        self.names = tuple(o.name for o in world.objects)
        self._transition = Transition(stage.domain, world)
        self._known: dict[tuple[frozenset[Literal], tuple[Action, ...], tuple[Action, ...]], tuple[Action, ...]] = {}
        self._done = done  # carried out so far; whoever runs the episode adds to it

    def rest(self, planned: Sequence[Action] = (), about: About = ANYTHING) -> tuple[Action, ...]:
        """The remaining plan after planned actions; inapplicable ones of them are skipped. about: not used."""
        world = self._stage.truth()
        key = (world.facts, tuple(self._done), tuple(planned))
        if key not in self._known:
            self._known[key] = self._rest(world, planned)
        return self._known[key]

    def _rest(self, world: World, planned: Sequence[Action]) -> tuple[Action, ...]:
        state, done = self._transition.state(world.facts), [*self._done]
        for action in planned:
            if self._transition.applicable(state, action):
                self._transition.apply(state, action)
                done.append(action)
        gold = self.expected
        for start in (self._left_at(done), *range(len(gold), -1, -1)):
            if self._reaches(state, gold[start:], done):
                return gold[start:]
        return self._planned_anew(world, state) or self._as_far_as_possible(state, gold)

    def _left_at(self, done: Sequence[Action]) -> int:
        """The index in the gold plan after its last step that was executed in order."""
        index = 0
        for action in done:
            if action in self.expected[index:]:
                index = self.expected.index(action, index) + 1
        return index

    def _reaches(self, state: State, steps: Sequence[Action], done: Sequence[Action]) -> bool:
        changes = []
        try:
            for step in steps:
                if not self._transition.applicable(state, step):
                    return False
                changes.append(self._transition.apply(state, step))
            found = self._case.conditions(lambda g: ((g.predicate, *g.args) in state) == g.positive, [*done, *steps])
            return all(found.values())
        finally:
            for change in reversed(changes):
                self._transition.undo(state, change)

    def _planned_anew(self, world: World, state: State) -> tuple[Action, ...]:
        now = World(world.domain, world.objects, facts_of(state), frame=world.frame)
        try:
            return solve(self.domain, now, self._case.goal, self._seconds)
        except PlanweaveError:
            return ()

    def _as_far_as_possible(self, state: State, gold: Sequence[Action]) -> tuple[Action, ...]:
        start = next((i for i, step in enumerate(gold) if self._transition.applicable(state, step)), 0)
        return tuple(gold[start:])
