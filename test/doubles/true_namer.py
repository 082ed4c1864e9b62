"""A namer that knows: marks get the names of the true things of LIBERO's simulator that are at their places.

It stands in for the vision model, so that what depth alone makes of a scene can be told from what names make of it.
"""

import numpy as np

from planweave.libero.truth import categories
from planweave.perception.vision_names import Named

_AWAY = 0.04  # m from every thing that a mark shows nothing
CALLED = {"cabinet": "wooden_cabinet"}  # as LIBERO's sentences have it


class TrueNamer:
    """Answers as a model without a fault would, from a state (see planweave.libero.truth). asked: how many times."""

    def __init__(self, state):
        self.asked = 0
        self._rows = []
        known = {**categories()["items"], **categories()["fixtures"]}
        for thing in state["things"].values():
            if thing["bounds"]:
                low, high = np.split(np.array(thing["bounds"]), 2)
                low[:2], high[:2] = -high[:2], -low[:2]
                self._rows.append((known[thing["category"]]["class"], low, high))

    def names(self, pictures, things, words="", changing=()):
        """A name for every mark; of several on one thing the largest is the thing, the others its parts."""
        self.asked += 1
        nearest = [self._nearest(np.array(mark.position)) for mark in things]
        found = []
        for k, (row, away) in enumerate(nearest):
            kind = self._rows[row][0]
            whole = max((j for j, (other, _) in enumerate(nearest) if other == row), key=lambda j: _volume(things[j]))
            if away > _AWAY:
                found.append(Named("nothing"))
            elif k == whole:
                found.append(Named(CALLED.get(kind, kind), drawers=3 if kind == "cabinet" else 0))
            else:
                found.append(Named("handle" if kind == "cabinet" else "part", part_of=whole + 1))
        return found

    def _nearest(self, place):
        """The thing in whose bounds a place is, or is nearest to; and how far it is from them, m."""

        def away(row):
            return float(np.linalg.norm(np.maximum(0, np.maximum(row[1] - place, place - row[2]))))

        def cost(k):
            row = self._rows[k]
            return away(row) > 0.005, away(row) + 0.3 * float(np.linalg.norm((row[1] + row[2]) / 2 - place))

        best = min(range(len(self._rows)), key=cost)
        return best, away(self._rows[best])


def _volume(mark):
    return float(np.prod(mark.size))
