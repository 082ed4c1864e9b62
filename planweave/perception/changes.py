"""Changes on the table since the last report: objects that appeared, moved or disappeared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planweave.perception.perceiver import NamedObject

_Place = tuple[float, float, float]


@dataclass(frozen=True)
class Changes:
    """Names in alphabetical order."""

    appeared: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    disappeared: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.appeared or self.moved or self.disappeared)


class ChangeDetector:
    """Compares tracked objects with those reported before; call `update` once per frame.

    An object has moved when it rests at another place for `settle` consecutive frames, so that neither noise nor a
    single bad frame nor transport by the arm counts. It has disappeared when the tracker has dropped it for as long:
    the tracker keeps occluded and held objects, and drops only those whose absence was observed.
    """

    def __init__(self, distance: float = 0.02, settle: int = 3):
        """distance: displacement in metres that counts as a move; settle: consecutive frames after which it counts."""
        self._distance, self._settle = distance, settle
        self._told: dict[str, _Place] = {}
        self._new: dict[str, tuple[_Place, int]] = {}  # places that wait to count, and for how many frames
        self._absent: dict[str, int] = {}

    def update(self, objects: Sequence[NamedObject]) -> Changes:
        """Changes caused by the objects of a new frame."""
        there = {o.name: o for o in objects}
        appeared = sorted(there.keys() - self._told.keys())
        for name in appeared:
            self._told[name] = there[name].thing.position
        moved = [name for name, seen in sorted(there.items()) if seen.visible and self._has_moved(name, seen)]
        self._absent = {name: self._absent.get(name, 0) + 1 for name in self._told.keys() - there.keys()}
        disappeared = sorted(name for name, frames in self._absent.items() if frames >= self._settle)
        for name in disappeared:
            del self._told[name], self._absent[name]
            self._new.pop(name, None)
        return Changes(tuple(appeared), tuple(moved), tuple(disappeared))

    def _has_moved(self, name: str, seen: NamedObject) -> bool:
        """Whether an object counts as at another place than reported."""
        place = seen.thing.position
        if math.dist(place, self._told[name]) <= self._distance:
            self._new.pop(name, None)
            return False
        last, frames = self._new.get(name, (place, 0))
        frames = frames + 1 if math.dist(place, last) <= self._distance / 2 else 1
        self._new[name] = (place, frames)
        if frames < self._settle:
            return False
        self._told[name] = place
        del self._new[name]
        return True
