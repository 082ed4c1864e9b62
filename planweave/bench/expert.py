"""Somebody who knows the truth about a stage and has a right plan at any moment: what a simulated model knows."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.bench.suites.case import Case, Stage
from planweave.core.classical import solve
from planweave.core.errors import PlanweaveError
from planweave.core.state import State
from planweave.core.transition import Transition
from planweave.core.world import Action, Literal, World


class Expert:
    """Knows the case's gold plan and, at any moment, the world as it is and the actions carried out (`done`).

    What is left to do is the end of the gold plan from where it was left, if that can be done from here and fulfils all
    conditions; else the shortest end of it that does; where none does, since the world was changed, a plan of the
    classical planner within `seconds`; else the gold plan from its first step that can be done.
    """

    def __init__(self, case: Case, stage: Stage, done: Sequence[Action] = (), seconds: float = 30.0) -> None:
        self._case, self._stage, self._seconds = case, stage, seconds
        world = stage.truth()
        self.domain, self.expected = stage.domain, case.expected
        self.names = tuple(o.name for o in world.objects)
        self._transition = Transition(stage.domain, world)
        self._known: dict[tuple[frozenset[Literal], tuple[Action, ...], tuple[Action, ...]], tuple[Action, ...]] = {}
        self._done = done  # carried out so far; whoever runs the episode adds to it

    def rest(self, planned: Sequence[Action] = ()) -> tuple[Action, ...]:
        """What is left to do after actions that are only planned; those of them that cannot be done are passed over."""
        world = self._stage.truth()
        key = (world.facts, tuple(self._done), tuple(planned))
        if key not in self._known:
            self._known[key] = self._rest(world, planned)
        return self._known[key]

    def _rest(self, world: World, planned: Sequence[Action]) -> tuple[Action, ...]:
        state, done = self._transition.state(world.facts), [*self._done]
        for action in planned:
            if self._can(state, action):
                self._transition.apply(state, action)
                done.append(action)
        gold = self.expected
        for start in (self._left_at(done), *range(len(gold), -1, -1)):
            if self._reaches(state, gold[start:], done):
                return gold[start:]
        return self._planned_anew(world, state) or self._as_far_as_possible(state, gold)

    def _left_at(self, done: Sequence[Action]) -> int:
        """The index in the gold plan after the last of its steps that was done in its order."""
        index = 0
        for action in done:
            if action in self.expected[index:]:
                index = self.expected.index(action, index) + 1
        return index

    def _reaches(self, state: State, steps: Sequence[Action], done: Sequence[Action]) -> bool:
        changes = []
        try:
            for step in steps:
                if not self._can(state, step):
                    return False
                changes.append(self._transition.apply(state, step))
            found = self._case.conditions(lambda g: ((g.predicate, *g.args) in state) == g.positive, [*done, *steps])
            return all(found.values())
        finally:
            for change in reversed(changes):
                self._transition.undo(state, change)

    def _can(self, state: State, action: Action) -> bool:
        try:
            return not self._transition.unmet(state, action)
        except PlanweaveError:
            return False

    def _planned_anew(self, world: World, state: State) -> tuple[Action, ...]:
        facts = frozenset(Literal(f[0], f[1:]) for f in state.facts)
        try:
            return solve(
                self.domain,
                World(world.domain, world.objects, facts, frame=world.frame),
                self._case.goal,
                self._seconds,
            )
        except PlanweaveError:
            return ()

    def _as_far_as_possible(self, state: State, gold: Sequence[Action]) -> tuple[Action, ...]:
        start = next((i for i, step in enumerate(gold) if self._can(state, step)), 0)
        return tuple(gold[start:])
