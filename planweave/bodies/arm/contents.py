"""Contents of drawers, with which they move, and of cupboards: hidden, not gone, while these are shut."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from planweave.bodies.arm.furniture import Furniture, is_open, is_shut
from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array
from planweave.geometry.joints import SeenJoint

_LOOKS = 5  # at what is open without a thing that should be in view there, after which it is gone
_LAST = 2  # such looks, the last ones before it was shut, after which nobody knows: one alone may be an error
_STANDS = 0.01  # m by which a drawer that was not moved may seem to be farther out, or less
_MARGIN = 0.02  # m from a drawer's front, and the furniture's, from which on what lies there is in view
_REACHED = {"slide": 0.03, "hinge": 0.3}  # m or rad from which on somebody may have taken out what is in there
_SOON = 3.0  # s after it was shut in which an image must show so: to open, empty and shut it takes about as long
_HANDLE = 0.065  # m before a front that is of its handle
_DEEP = 0.02  # m in height by which a thing is before a front, at least
_SUNK = 0.03  # m above a drawer's upper edge at which the lower side of what lies in it may be


@dataclass
class _Inside:
    """A thing as it was seen in a drawer that was so far out, or behind a door; others: names of those known then;
    looks: at its place, without it.
    """

    part: str
    value: float
    thing: Thing
    others: frozenset[str] = frozenset()
    looks: int = 0


class Contents:
    """Follows the contents of drawers from look to look."""

    def __init__(self) -> None:
        self._inside: dict[str, _Inside] = {}
        self._joints: dict[str, SeenJoint] = {}  # at the newest look
        self._shut: dict[str, float] = {}  # since when parts are shut that the hand has shut, and not moved since, s
        self._unconfirmed: dict[str, float] = {}  # the same, of parts that no image has shown since
        self.known: Collection[str] = ()
        """Names of the things that perception knows in the newest image, also one taken while the arm moves."""
        self.behind_doors: list[Thing] = []
        """Rooms behind open doors, as seen last."""

    def copy(self) -> Contents:
        """Contents of their own, the same until now."""
        other = Contents()
        other._inside = {name: replace(inside) for name, inside in self._inside.items()}
        other._joints, other._shut = self._joints, dict(self._shut)
        other._unconfirmed = dict(self._unconfirmed)
        other.known, other.behind_doors = self.known, self.behind_doors
        return other

    def clear(self) -> None:
        self._inside.clear()
        self._shut.clear()
        self._unconfirmed.clear()
        self.behind_doors = []

    def drop(self, name: str) -> None:
        """A thing was taken."""
        self._inside.pop(name, None)

    def reached(self, point: Array) -> None:
        """The hand moves at a point, m, base frame: what is behind a door there may go along with it, and is known to
        be there again only once it is seen. Out of a drawer a hand goes upwards.
        """
        for room in self.behind_doors:
            if room.covers(*point[:2]) and room.bottom < point[2] < room.top:
                for name in [name for name, inside in self._inside.items() if inside.part == room.name]:
                    self.drop(name)

    def part_moves(self, part: str) -> None:
        """The hand begins to move a part, with what lies in it. What perception knows no more, since its place was seen
        empty while the part stood as it was, is not in there: once it is shut, no look tells.
        """
        self._shut.pop(part, None)
        self._unconfirmed.pop(part, None)
        joint = self._joints.get(part)
        for name, inside in [row for row in self._inside.items() if row[1].part == part and row[0] not in self.known]:
            if joint is not None and (joint.kind != "slide" or abs(joint.value - inside.value) < _STANDS):
                self.drop(name)

    def part_shut(self, part: str, stamp: float) -> None:
        """The hand has come so far since `stamp` (s) that the part which it pushes is shut."""
        if part not in self._shut:
            self._shut[part] = self._unconfirmed[part] = stamp

    def part_doubted(self, part: str) -> None:
        """Doubt that the hand shut a part: what is not seen in there before it is seen shut may have been taken out."""
        for inside in self._inside.values():
            inside.looks = max(inside.looks, _LAST * (inside.part == part))

    def glimpse(self, things: Mapping[str, Thing], furniture: Iterable[Furniture], stamp: float) -> None:
        """Note what an image stamped `stamp` (s) shows, also one taken while the arm moves. What the hand has shut, and
        the image shows open, somebody else has opened: what is not seen in there may have been taken out. So does
        what is seen before a drawer that is not seen itself: its sides, as unknown things, or what is in it. And where
        the first image that shows it comes late, somebody may have opened it and shut it again.
        """
        self.known = things.keys()
        shut = {part: j for part, j in joints_of(furniture).items() if stamp > self._shut.get(part, stamp)}
        opened = set()
        for part, joint in shut.items():
            if not joint.visible:
                doubted = any(_in_way(thing, joint) for thing in things.values())
            else:
                late = stamp - self._unconfirmed.pop(part, stamp) > _SOON
                doubted = late or joint.value > _REACHED[joint.kind]
            if doubted:
                opened.add(part)
        for name in [n for n, inside in self._inside.items() if inside.part in opened and not _is_seen(n, things)]:
            self.drop(name)

    def hider(self, name: str) -> str:
        """The drawer, or the furniture behind whose door it is, that hides a thing; empty where none does."""
        inside = self._inside.get(name)
        return inside.part if inside is not None else ""

    def update(self, things: Mapping[str, Thing], furniture: Iterable[Furniture]) -> dict[str, Thing]:
        """The things of a look, with those that lie hidden in drawers at the places to which these have taken them.

        What should be in view where it is open, and is not, is gone after some looks: nobody knows any more that it is
        there once it is shut. So it is where something appears elsewhere that may be it, and where the last looks
        before somebody shut it, fewer, did not show it.
        """
        joints = self.find(things, furniture)
        self._joints = joints
        found = {**things, **self.carried(things, joints)}
        for name, inside in [row for row in self._inside.items() if not _is_seen(row[0], things)]:
            joint = joints[inside.part]
            shut = joint.visible and is_shut(joint)
            inside.looks += not shut and _in_view(found[name], joint, name in things)
            if inside.looks >= (_LAST if shut else _LOOKS) or any(_may_be(inside, other) for other in things.values()):
                self.drop(name)
                found.pop(name)
                if name in things and joint.kind != "slide":
                    found[name] = things[name]
        return found

    def find(self, things: Mapping[str, Thing], furniture: Iterable[Furniture]) -> dict[str, SeenJoint]:
        """Find which of the things that are seen lie in drawers; returns the furniture's joints by their names. What
        lies across a drawer's rim goes along with it, too, though it does not count as in it (relations.container_of).
        """
        furniture = list(furniture)
        rooms = [room for each in furniture for room in each.rooms()]
        joints = joints_of(furniture)
        self.behind_doors = [room for room in rooms if joints[room.name].kind != "slide"]
        for name, thing in things.items():
            if not thing.visible:
                continue
            self.drop(name)
            around = next((r for r in rooms if r.covers(*thing.position[:2]) and r.bottom - _SUNK < thing.bottom), None)
            if around is not None and thing.bottom < around.top:
                self._inside[name] = _Inside(around.name, joints[around.name].value, thing, frozenset(things))
        return joints

    def carried(self, things: Mapping[str, Thing], joints: Mapping[str, SeenJoint]) -> dict[str, Thing]:
        """Unseen contents of drawers, where these have taken them; what was in unknown ones is dropped."""
        found = {}
        for name, inside in [row for row in self._inside.items() if not _is_seen(row[0], things)]:
            joint = joints.get(inside.part)
            if joint is None:
                self.drop(name)
                continue
            by = joint.value - inside.value if joint.kind == "slide" else 0.0
            x, y, z = (float(a + by * b) for a, b in zip(inside.thing.position, joint.axis))
            found[name] = replace(inside.thing, position=(x, y, z), visible=False, inferred=True)
        return found


def joints_of(furniture: Iterable[Furniture]) -> dict[str, SeenJoint]:
    """The joints of pieces of furniture by the names of what they move."""
    return {name: joint for each in furniture for name, joint in each.owned_joints()}


def _is_seen(name: str, things: Mapping[str, Thing]) -> bool:
    return name in things and things[name].visible


def _in_way(thing: Thing, joint: SeenJoint) -> bool:
    """Whether a thing is seen where a drawer that is shut comes when it is drawn out, before its handle."""
    shut = joint.panel.centre - joint.value * joint.axis
    ahead, aside, up = (thing.position - shut) @ joint.panel.axes
    beside, tall = joint.panel.half[1:]
    in_way = _HANDLE < ahead < joint.most and abs(aside) < beside and abs(up) < tall + thing.size[2] / 2 - _DEEP
    return thing.visible and joint.kind == "slide" and bool(in_way)


def _may_be(inside: _Inside, other: Thing) -> bool:
    """Whether a thing that nobody knew when another was hidden may be that one: by its colour, or for being of its
    class.
    """
    alike = other.class_name == inside.thing.class_name or (bool(other.colour) and other.colour == inside.thing.colour)
    return alike and other.visible and other.name not in inside.others


def _in_view(thing: Thing, joint: SeenJoint, remembered: bool) -> bool:
    """Whether a thing lies where its drawer is out and seen, or behind a door that is wide open; or not quite shut,
    where perception does not remember it, since its place was seen without it.
    """
    if joint.kind != "slide":
        return joint.visible and (is_open(joint) if remembered else not is_shut(joint))
    behind = float((joint.panel.centre - thing.position) @ joint.axis) - float(joint.panel.half[0])
    return joint.visible and _MARGIN < behind < joint.value - _MARGIN
