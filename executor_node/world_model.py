"""What the body knows: objects last seen by the camera, the one in the gripper, the arm; and the world that
follows from it.

Thread-safe. Detections of images taken while the arm moved are left out: what they show is gone when they arrive.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from executor_node import relations
from executor_node.grasps import grasp_height
from executor_node.kinematics import Kinematics, downwards
from executor_node.safety import Safety
from executor_node.things import Thing, quaternion_of
from executor_node.workspace import Location
from planweave import franka
from planweave.domain import Domain
from planweave.world import World, WorldObject

Array = NDArray[np.float64]
_MOVED, _TURNED = 0.003, 0.12  # a pose that changes by less is not published as a change, m and rad
_LOOSE = 0.01  # a grip whose width changes by this much while the arm rests holds nothing any more, m
_LOOKS = 5  # images without any object after which an empty table is believed
_IN_HAND = 0.09  # a new item seen this near to the tool centre point is the one held, m


_Known = tuple[tuple[Thing, ...], tuple[Thing, ...], str, bool, tuple[Location, ...]]


@dataclass(frozen=True)
class Held:
    """The object in the gripper: how it looked, its pose in the tool's frame (4x4), and the finger opening (m)."""

    thing: Thing
    thing_to_tcp: Array
    width: float

    def seen_from(self, tcp_to_base: Array) -> Thing:
        """The object where the gripper holds it."""
        pose = tcp_to_base @ self.thing_to_tcp
        yaw = math.atan2(pose[1, 0], pose[0, 0])
        return replace(
            self.thing, position=(float(pose[0, 3]), float(pose[1, 3]), float(pose[2, 3])), yaw=yaw, visible=False
        )


class WorldModel:
    """Merges what is seen with what is held.

    `on_change` is called with a new world after each change, from any thread, once the camera has been heard.
    """

    def __init__(
        self,
        domain: Domain,
        places: Sequence[Location],
        kinematics: Kinematics,
        safety: Safety,
        on_change: Callable[[World], None] | None = None,
    ):
        self.domain, self.places = domain, tuple(places)
        self._kinematics, self._safety = kinematics, safety
        self.on_change = on_change
        self._changed = threading.Condition(threading.RLock())
        self._things: dict[str, Thing] = {}
        self._placed: dict[str, Thing] = {}  # put down, and not seen since
        self._held: Held | None = None
        self._handed: dict[str, Thing] = {}  # in a person's hand, and not seen on the table since
        self._joints = np.array(franka.HOME)
        self._at_base = False
        self._moving = False
        self._still_since = 0.0
        self._seen_stamp = -1.0
        self._seen_at = float("-inf")
        self._reach: dict[tuple[float, ...], bool] = {}
        self._world = World(domain.name, frame=franka.BASE_FRAME)
        self._known: _Known | None = None  # what the world was computed from
        self._told = 0  # the newest revision that `on_change` was called with
        self._looks = 0  # images since the start
        self._refresh()

    # ---- what comes in ------------------------------------------------------------------------------------------

    def on_detections(self, things: Iterable[Thing], stamp: float) -> None:
        """All tracked objects after an image stamped `stamp` (s)."""
        with self._changed:
            self._seen_at = time.monotonic()
            if self._moving or stamp < self._still_since:
                return
            found = {t.name: t for t in things}
            if self._held is not None:
                found = {n: t for n, t in found.items() if n != self._held.thing.name and not self._in_hand(t)}
            for name, thing in self._placed.items():
                if name in found and not found[name].visible:
                    found[name] = replace(thing, visible=False)
            self._handed = {n: t for n, t in self._handed.items() if n not in found or not found[n].visible}
            found = {n: t for n, t in found.items() if n not in self._handed}
            self._placed = {n: t for n, t in self._placed.items() if n in found and not found[n].visible}
            self._things = found
            self._seen_stamp = stamp
            self._looks += 1
            self._refresh()
            self._changed.notify_all()

    def _in_hand(self, thing: Thing) -> bool:
        """Whether something not seen before is the object held, under another name."""
        if thing.type != "item" or thing.name in self._things or not thing.visible:
            return False
        return math.dist(thing.position, self._kinematics.forward(self._joints)[:3, 3]) < _IN_HAND

    def on_joints(self, positions: Array, width: float | None = None) -> None:
        """Measured joint positions, rad; with a finger opening (m), when no skill runs, also whether the grip
        still holds.
        """
        at_base = bool((np.abs(positions - np.array(franka.HOME)) < relations.AT_BASE).all())
        with self._changed:
            self._joints = positions
            if self._held is not None and width is not None and abs(width - self._held.width) > _LOOSE:
                self.released(None)
            if at_base != self._at_base:
                self._at_base = at_base
                self._refresh()

    def clock_restarted(self) -> None:
        """Stamps begin anew (another simulator): what was seen and held is forgotten."""
        with self._changed:
            self._things, self._placed, self._handed, self._held = {}, {}, {}, None
            self._moving, self._still_since, self._seen_stamp, self._looks = False, 0.0, -1.0, 0
            self._refresh()

    def use_places(self, places: Sequence[Location]) -> None:
        """Know other named places from now on."""
        with self._changed:
            self.places = tuple(places)
            self._refresh()

    def motion_began(self) -> None:
        """The arm starts to move: images from now on are not looked at."""
        with self._changed:
            self._moving = True

    def motion_ended(self, stamp: float) -> None:
        """The arm stands still since `stamp` (s)."""
        with self._changed:
            self._moving = False
            self._still_since = stamp

    def grasped(self, held: Held) -> None:
        """The gripper holds an object."""
        with self._changed:
            self._held = held
            self._things.pop(held.thing.name, None)
            self._placed.pop(held.thing.name, None)
            self._refresh()

    def released(self, thing: Thing | None) -> None:
        """The gripper is empty; `thing`: the object where it was put down, None where it is not known."""
        with self._changed:
            held, self._held = self._held, None
            if thing is not None:
                self._things[thing.name] = self._placed[thing.name] = replace(thing, visible=False)
            elif held is not None:
                self._things.pop(held.thing.name, None)
            self._refresh()

    def handed_over(self, thing: Thing) -> None:
        """A person has taken the object out of the gripper; it is theirs until the camera sees it on the table."""
        with self._changed:
            self._held = None
            self._things.pop(thing.name, None)
            self._handed[thing.name] = replace(thing, visible=False)
            self._refresh()

    def put(self, thing: Thing) -> None:
        """An object is believed to be somewhere else from now on, until it is seen."""
        with self._changed:
            self._things[thing.name] = self._placed[thing.name] = replace(thing, visible=False)
            self._refresh()

    def action_ended(self) -> None:
        """Take the pose of what is held into the world."""
        with self._changed:
            if self._held is not None:
                self._refresh()

    # ---- what goes out ------------------------------------------------------------------------------------------

    def world(self) -> World:
        """The newest world."""
        with self._changed:
            return self._world

    def things(self) -> tuple[Thing, ...]:
        """Objects on the table, without the one held."""
        with self._changed:
            return tuple(self._things.values())

    @property
    def held(self) -> Held | None:
        """The object in the gripper."""
        with self._changed:
            return self._held

    @property
    def seconds_since_seen(self) -> float:
        """Wall seconds since detections last came in; infinite before the first."""
        with self._changed:
            return time.monotonic() - self._seen_at

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Wait for detections of an image stamped later than `after` (s); their stamp, None when none came in
        time.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while self._seen_stamp <= after:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return None if self._seen_stamp <= after else self._seen_stamp
            return self._seen_stamp

    # ---- facts --------------------------------------------------------------------------------------------------

    def reachable(self, what: Thing | Location) -> bool:
        """Whether the hand gets to where it would grasp an item, or put something down at a thing or place."""
        if isinstance(what, Location):
            points = [
                (what.centre[0] + a * what.size[0] / 4, what.centre[1] + b * what.size[1] / 4, 0.04)
                for a, b in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
            ]
            yaw = 0.0
        elif what.type == "item":
            points, yaw = [(*what.position[:2], grasp_height(what))], what.yaw
        else:
            points, yaw = [(*what.position[:2], what.top + 0.03)], what.yaw
        if isinstance(what, Thing) and self._held is not None and what.name == self._held.thing.name:
            return True
        return any(self._reaches(point, yaw) for point in points)

    def _reaches(self, point: tuple[float, float, float], yaw: float) -> bool:
        if not self._safety.allows_point(*point):
            return False
        key = (*(round(p, 2) for p in point), round(math.remainder(yaw, math.pi / 2), 1))
        known = self._reach.get(key)
        if known is None:
            if len(self._reach) > 5000:
                self._reach.clear()
            known = any(self._kinematics.reaches(downwards(*point, yaw + k * math.pi / 2)) for k in range(4))
            self._reach[key] = known
        return known

    def _refresh(self) -> None:
        """Compute the world anew where anything but noise changed; the lock is held."""
        held = self._held
        handed = [t for t in self._handed.values() if t.name not in self._things]
        things = list(self._things.values())
        if held is not None:
            things.append(held.seen_from(self._kinematics.forward(self._joints)))
        before = {t.name: t for t in self._known[0]} if self._known is not None else {}
        steady = tuple(_steady(t, before.get(t.name)) for t in sorted(things, key=_by_name))
        known = (steady, tuple(handed), held.thing.name if held is not None else "", self._at_base, self.places)
        self._world = replace(self._world, stamp=max(self._seen_stamp, 0.0))
        if known != self._known:
            self._known = known
            self._compute(known)
        # At first nothing is seen for certain; a task must not begin in a world that only seems empty.
        sure = self._seen_stamp >= 0 and (bool(known[0]) or self._looks >= _LOOKS)
        if sure and self._told != self._world.revision and self.on_change is not None:
            self._told = self._world.revision
            self.on_change(self._world)

    def _compute(self, known: _Known) -> None:
        things, handed, held, at_base, places = known
        facts = relations.facts(things, places, held, at_base, self.reachable, [t.name for t in handed])
        objects = tuple(self._object(t) for t in sorted((*things, *handed), key=_by_name))
        objects += tuple(
            WorldObject(p.name, "location", "location", {}, (*p.centre, 0.0), (0.0, 0.0, 0.0, 1.0), (*p.size, 0.0))
            for p in places
        )
        old = self._world
        if objects != old.objects or facts != old.facts or not old.revision:
            self._world = replace(old, objects=objects, facts=facts, revision=old.revision + 1)

    def _object(self, thing: Thing) -> WorldObject:
        attributes = {k: v for k, v in (("colour", thing.colour), ("shape", thing.shape)) if v}
        if not thing.visible:
            attributes["visible"] = "false"
        return WorldObject(
            thing.name, thing.type, thing.class_name, attributes, thing.position, quaternion_of(thing.yaw), thing.size
        )


def _by_name(thing: Thing) -> str:
    return thing.name


def _steady(new: Thing, old: Thing | None) -> Thing:
    """The old object where nothing but noise differs."""
    if old is None:
        return new
    same = replace(new, position=old.position, size=old.size, yaw=old.yaw) == old
    turned = abs(math.remainder(new.yaw - old.yaw, 2 * math.pi))
    resized = max(abs(a - b) for a, b in zip(new.size, old.size))
    noise = same and turned < _TURNED and resized < _MOVED and math.dist(new.position, old.position) < _MOVED
    return old if noise else new
