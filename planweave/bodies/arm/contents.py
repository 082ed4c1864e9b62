"""What lies in drawers: it moves with them, and is hidden, not gone, while they are shut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.joints import SeenJoint

_LOOKS = 5  # at an open drawer without a thing that should be in view there, after which it is gone
_MARGIN = 0.02  # m from a drawer's front, and the furniture's, from which on what lies there is in view
_SUNK = 0.03  # m above a drawer's upper edge at which the lower side of what lies in it may be


@dataclass
class _Inside:
    """A thing as it was seen in a drawer that was so far out; looks: at its place in view, without it."""

    part: str
    value: float
    thing: Thing
    looks: int = 0


class Contents:
    """Follows the contents of drawers from look to look."""

    def __init__(self) -> None:
        self._inside: dict[str, _Inside] = {}

    def clear(self) -> None:
        """Know of nothing in any drawer."""
        self._inside.clear()

    def drop(self, name: str) -> None:
        """A thing was taken."""
        self._inside.pop(name, None)

    def hider(self, name: str) -> str:
        """The drawer that hides a thing; empty where none does."""
        inside = self._inside.get(name)
        return inside.part if inside is not None else ""

    def update(self, things: Mapping[str, Thing], furniture: Iterable[Furniture]) -> dict[str, Thing]:
        """The things of a look, with those that lie hidden in drawers at the places to which these have taken them."""
        furniture = list(furniture)
        rooms = [room for each in furniture for room in each.rooms()]
        joints = {name: joint for each in furniture for name, joint in each.joints.items()}
        found = dict(things)
        for name, thing in things.items():
            if not thing.visible:
                continue
            around = next((r for r in rooms if r.covers(*thing.position[:2]) and r.bottom - _SUNK < thing.bottom), None)
            if around is not None and thing.bottom < around.top:
                self._inside[name] = _Inside(around.name, joints[around.name].value, thing)
            else:
                self.drop(name)
        for name, inside in list(self._inside.items()):
            if name in things and things[name].visible:
                continue
            joint = joints.get(inside.part)
            moved = _carried(inside, joint) if joint is not None else None
            if moved is None or joint is None:
                self.drop(name)
                continue
            inside.looks = inside.looks + 1 if _in_view(moved, joint) else 0
            if inside.looks >= _LOOKS:
                self.drop(name)
                found.pop(name, None)
            else:
                found[name] = moved
        return found


def _carried(inside: _Inside, joint: SeenJoint) -> Thing:
    by = (joint.value - inside.value) * joint.axis
    x, y, z = (float(a + b) for a, b in zip(inside.thing.position, by))
    return replace(inside.thing, position=(x, y, z), visible=False, inferred=True)


def _in_view(thing: Thing, joint: SeenJoint) -> bool:
    """Whether a thing lies where its drawer is out and seen."""
    behind = float((joint.panel.centre - thing.position) @ joint.axis) - float(joint.panel.half[0])
    return joint.visible and _MARGIN < behind < joint.value - _MARGIN
