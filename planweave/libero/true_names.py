"""True names for what the cameras see: an oracle in place of the vision model, for measuring.

What cameras, memory and arm make of a task can so be told from what names make of it; results say which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from planweave.libero.truth import kinds
from planweave.perception.vision_names import Named

_AWAY = 0.04  # m from every thing that a mark shows nothing
_STATES = {"stove": {"turnon": "on", "": "off"}, "microwave": {"open": "open", "close": "closed"}}
CALLED = {"cabinet": "wooden_cabinet"}  # as LIBERO's sentences have it


_Row: TypeAlias = tuple[str, np.ndarray, np.ndarray, str, str]  # class, low and high corner, state, colour


class TrueNamer:
    """Answers as a model without a fault would. look: the state now (planweave.libero.truth); asked: how many times."""

    def __init__(self, look: Callable[[], Mapping[str, Any]]) -> None:
        self.asked = 0
        self._look = look

    def _rows(self) -> list[_Row]:
        """All things as they are now."""
        state, found = self._look(), list[_Row]()
        base = np.array(state["base"], float)[:3]
        told = {(row[0], row[1]) for row in state.get("facts", ()) if len(row) == 2}
        for name, thing in state["things"].items():
            if thing["bounds"]:
                low, high = np.array(thing["bounds"]).reshape(2, 3) - base
                category = kinds()[thing["category"]]
                kind = category["class"]
                words = _STATES.get(kind, {})  # by LIBERO's predicate; under none, where it says none of them
                now = next((word for fact, word in words.items() if (fact, name) in told), words.get("", ""))
                found.append((kind, low, high, now, category.get("color", "")))
        return found

    def names(
        self, pictures: Sequence[Any], things: Sequence[Any], words: str = "", changing: Collection[str] = ()
    ) -> list[Named]:
        """A name for every mark; of several on one thing the largest is the thing, the others its parts."""
        self.asked += 1
        rows = self._rows()
        nearest = [_nearest(rows, mark) for mark in things]
        found = []
        for k, (row, away) in enumerate(nearest):
            kind, _, _, state, colour = rows[row]
            whole = max((j for j, (other, _) in enumerate(nearest) if other == row), key=lambda j: _volume(things[j]))
            if away > _AWAY:
                found.append(Named("nothing"))
            elif k == whole:
                drawers = 3 if kind == "cabinet" else 0
                found.append(Named(CALLED.get(kind, kind), colour, drawers=drawers, state=state))
            else:
                found.append(Named("handle" if kind == "cabinet" else "part", part_of=whole + 1))
        return found


def _nearest(rows: Sequence[_Row], mark: Any) -> tuple[int, float]:
    """The smallest thing in whose bounds most of a mark lies, or else the nearest one; and how far from it, m."""
    place, half = np.array(mark.position), np.array(mark.size) / 2

    def away(row: _Row) -> float:
        return float(np.linalg.norm(np.maximum(0, np.maximum(row[1] - place, place - row[2]))))

    def cost(k: int) -> tuple[bool, bool, float]:
        _, low, high, *_ = rows[k]
        common = np.minimum(high, place + half) - np.maximum(low, place - half)
        if float(np.prod(np.maximum(common, 0))) > 0.5 * _volume(mark):
            return False, False, float(np.prod(high - low))
        beyond = away(rows[k])
        return True, beyond > 0.005, beyond + 0.3 * float(np.linalg.norm((low + high) / 2 - place))

    best = min(range(len(rows)), key=cost)
    return best, away(rows[best])


def _volume(mark: Any) -> float:
    return float(np.prod(mark.size))
