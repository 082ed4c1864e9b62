"""The basis of an approval: the poses of the things that the plan names, and the preconditions that held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World

MOVED = 0.03
"""Distance by which a thing must have moved for an approval not to hold any more, m."""
_GRID = 0.01  # to which positions are rounded in the text, m
Position = tuple[float, float, float]


@dataclass(frozen=True)
class ApprovalBasis:
    """places: of the things that a plan names, m, None where the place is not known; things that are not there are left
    out. unmet: preconditions of its steps that do not hold before the first one.
    """

    places: dict[str, Position | None]
    unmet: frozenset[Literal]

    @classmethod
    def of(cls, domain: Domain, world: World, plan: Sequence[Action]) -> ApprovalBasis:
        """The basis on which a plan is approved in a world."""
        named = dict.fromkeys(arg for action in plan for arg in action.args)
        places = {name: world.by_name[name].position for name in named if name in world.by_name}
        transition, unmet = Transition(domain, world), set[Literal]()
        state = transition.state()
        for action in plan:
            try:
                unmet.update(transition.unmet(state, action))
            except PlanweaveError:  # no action over these objects; the check of the plan says so
                continue
        return cls(places, frozenset(unmet))

    def changes(self, now: ApprovalBasis, domain: Domain, moved: float = MOVED) -> tuple[str, ...]:
        """Differences from `now`, a sentence each; empty where the approval still holds. moved: see MOVED."""
        found = [f"{name} is gone" for name in self.places if name not in now.places]
        found += [f"{name} is new" for name in now.places if name not in self.places]
        for name, place in self.places.items():
            there = now.places.get(name)
            if name in now.places and (place is None) != (there is None):
                found.append(f"the place of {name} is {'known now' if there else 'not known any more'}")
            elif place is not None and there is not None and (way := math.dist(place, there)) > moved:
                found.append(f"{name} has moved by {way * 100:.0f} cm")
        found += [domain.phrase(x.negated()) for x in sorted(now.unmet - self.unmet)]
        found += [domain.phrase(x) for x in sorted(self.unmet - now.unmet)]
        return tuple(found)

    def lines(self) -> list[str]:
        """The same as text, positions rounded; for the plan's hash."""
        places = [f"{name} at {_rounded(place)}" for name, place in sorted(self.places.items())]
        return [*places, *map(str, sorted(self.unmet))]


def _rounded(place: Position | None) -> str:
    return " ".join(f"{round(x / _GRID) * _GRID:.2f}" for x in place) if place is not None else "?"
