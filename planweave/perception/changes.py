"""What is different on the table since it was last told: objects that appeared, moved or disappeared."""

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
    """Compares tracked objects with those told of before; call `update` once a frame.

    An object has moved when it is seen resting at another place for `settle` frames in a row, so neither noise nor one
    bad frame nor the way through the air counts. It has disappeared when the tracker has dropped it for as long: the
    tracker keeps what is covered or held, and drops only what is seen to be gone.
    """

    def __init__(self, distance: float = 0.02, settle: int = 3):
        """distance: metres beyond which an object has moved; settle: frames in a row that confirm it."""
        self._distance, self._settle = distance, settle
        self._told: dict[str, _Place] = {}
        self._new: dict[str, tuple[_Place, int]] = {}  # places that wait to be confirmed, and for how many frames
        self._absent: dict[str, int] = {}

    def update(self, objects: Sequence[NamedObject]) -> Changes:
        """What the objects of a new frame change."""
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
        """Whether an object is confirmed to lie elsewhere than was told."""
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
