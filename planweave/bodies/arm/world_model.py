"""World model of the arm: objects last seen by the camera, the held one, the arm; and the resulting symbolic world.

Thread-safe. Detections of images taken during arm motion are ignored: they are outdated on arrival.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm import relations
from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.contents import Contents, joints_of
from planweave.bodies.arm.furniture import Furniture, articulation_of
from planweave.bodies.arm.grasps import grasp_height
from planweave.bodies.arm.held import Held, between_fingers
from planweave.bodies.arm.kinematics import Kinematics, downwards
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import AS_SEEN, PutRules
from planweave.bodies.arm.swept_space import swept
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_builder import Surroundings, WorldBuilder, steady
from planweave.core.base.errors import WorldError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import needed_predicates
from planweave.core.symbolic.world import Literal, World
from planweave.geometry import spatial
from planweave.geometry.joints import SeenFixture
from planweave.geometry.seen_object import SeenObject

Array = NDArray[np.float64]
_LOOSE = 0.01  # a grip whose width changes by this much while the arm rests holds nothing any more, m
_BACK = 1.0  # s by which the stamps of images go back where a clock started anew
_LOOKS = 5  # images without any object in a row after which an empty table is believed
_RECHECK = 0.4  # s between two checks of what is overdue already, or not due while the arm moves
_IN_GRIP = 0.045  # what the fingers stand around is this near to the tool centre point, beside half its height, m
_IN_HAND = 0.09  # a new item seen this near to the tool centre point is the one held, m


class WorldModel:
    """Fuses detections with the state of the gripper.

    `on_change` is called with a new world after each change, from any thread, once the camera has published; and when
    detections stop, or come again (`World.silent`). detection_timeout: wall seconds without detections, at rest, after
    which they count as stopped; joint_state_timeout: the same of joint states, after which the grip is only remembered.
    frame: name of the frame of the world's positions, by default that of the robot's base; base_to_frame: pose (4x4)
    that brings those of the base there, by default none. actions_off: actions that the body refuses, copied into the
    world. ground: height of what all stands on, m, base frame; rules: what is surely so of things that the robot has
    put down. look: where a look costs nothing but the call, as in a simulator that is stepped, looks and tells this
    model what it sees; called when detections are waited for, which are never overdue then.
    """

    def __init__(
        self,
        domain: Domain,
        places: Sequence[Location],
        kinematics: Kinematics,
        safety: Safety,
        on_change: Callable[[World], None] | None = None,
        detection_timeout: float = 1.5,
        joint_state_timeout: float = 3.0,
        frame: str = "",
        actions_off: frozenset[str] = frozenset(),
        ground: float = 0.0,
        base_to_frame: Array | None = None,
        rules: PutRules = AS_SEEN,
        look: Callable[[], object] | None = None,
    ):
        self.domain, self.places = domain, tuple(places)
        self._kinematics, self._safety = kinematics, safety
        self.on_change = on_change
        self._look, self._ground = look, ground
        self._detection_timeout = detection_timeout if look is None else math.inf
        self._joint_state_timeout = joint_state_timeout
        self._things_of = ThingBuilder(domain)
        self._builder = WorldBuilder(domain, self.reachable, ground, base_to_frame, rules)
        self._joint_states_at = time.monotonic()  # when the newest joint state came
        self._no_joint_states = False
        self._ended = False
        self._changed = threading.Condition(threading.RLock())
        self._things: dict[str, Thing] = {}
        self._furniture: tuple[Furniture, ...] = ()
        self._travels: dict[str, float] = {}  # of drawers that were pulled until they stopped, m
        self._camera: tuple[float, float, float] | None = None
        self._contents = Contents()
        self._rooms: list[Thing] = []  # compartments of things
        self._lost: dict[str, Thing] = {}  # known, but nobody knows where they are
        self._put: set[str] = set()  # what the robot has put where it is
        self._placed: dict[str, Thing] = {}  # put down, and not seen since
        self._held: Held | None = None
        self._gripped: float | None = None  # opening of fingers that hold something nobody saw them take, m
        self._handed: dict[str, Thing] = {}  # in a person's hand, and not seen to lie anywhere since
        self._felt: set[Literal] = set()  # facts that skills have reported, of objects that are still there
        self._joints = np.array(self._kinematics.robot.home)
        self._at_base = False
        self._moving = False
        self._still_since = 0.0
        self._seen_stamp = -1.0
        self._due_since = float("-inf")  # wall time since which detections are due
        self._last_seen: dict[str, float] = {}  # stamps by name, s
        self._reach: dict[tuple[float, ...], bool] = {}
        # What no action asks for follows from the poses when somebody wants to know it; the rest must be listed.
        relations_of = domain.predicates.keys() & spatial.RELATIONS.keys()
        self._listed = relations_of & needed_predicates(domain)
        self._world = World(
            domain.name,
            frame=frame or kinematics.robot.base,
            derived=spatial.derived(relations_of - self._listed),
            actions_off=actions_off,
        )
        self._truth: World | None = None
        self._true_joint: Callable[[str], Articulation | None] = lambda name: None
        self._known: object = None  # what the world was computed from
        self._steady: dict[str, Thing] = {}  # the things among that, without noise
        self._told = 0  # the newest revision that `on_change` was called with
        self._looks = 0  # images since the start
        self._empty = 0  # images in a row without any object
        self._refresh()

    # ---- what comes in ------------------------------------------------------------------------------------------

    def on_seen(
        self,
        objects: Iterable[SeenObject],
        fixtures: Iterable[SeenFixture],
        stamp: float,
        camera: tuple[float, float, float] | None = None,
    ) -> None:
        """Process what perception tells, whoever brings it, as `on_detections` does."""
        seen, furniture = list(objects), map(Furniture.of, fixtures)
        here, lost = ([self._things_of.thing(o) for o in seen if o.lost == gone] for gone in (False, True))
        self.on_detections(here, stamp, furniture, lost, camera)

    def on_truth(
        self, world: World, joint: Callable[[str], Articulation | None], things: Iterable[Thing], stamp: float
    ) -> None:
        """Process what a simulator tells of itself, in place of detections: its things, objects and facts, and the
        joint of a drawer, door or knob by name.
        """
        with self._changed:
            self._truth, self._true_joint = world, joint
            self.on_detections(things, stamp)

    def on_detections(
        self,
        things: Iterable[Thing],
        stamp: float,
        furniture: Iterable[Furniture] = (),
        lost: Iterable[Thing] = (),
        camera: tuple[float, float, float] | None = None,
    ) -> None:
        """Process all tracked objects of an image stamped `stamp` (s), the furniture in it, and objects of which nobody
        knows any more where they are. camera: its place, m; None where nobody knows.
        """
        with self._changed:
            if self._world.silent and stamp < self._seen_stamp - _BACK:  # joint states will tell the same, later
                self.clock_restarted()
            self._due_since = time.monotonic()
            was_silent = self._world.silent
            self._world = replace(self._world, silent=False, heard=time.time())
            found = {t.name: t for t in things}
            self._empty = 0 if found else self._empty + 1
            # A tracker that was reset, or started again, names nothing in its first images.
            unsure = (self._things or not self._looks) and 0 < self._empty < _LOOKS
            furniture = tuple(furniture)
            if not unsure:
                self._contents.glimpse(found, furniture, stamp)
            if self._moving or stamp < self._still_since or unsure:
                if was_silent:
                    self._tell()
                return
            self._recognise_grip(found)
            if self._held is not None:
                found = {n: t for n, t in found.items() if n != self._held.thing.name and not self._in_hand(t)}
            for name, thing in self._placed.items():
                if name in found and not found[name].visible:
                    found[name] = replace(thing, visible=False, below=found[name].below)
            back = {
                n for n in self._handed if n in found and found[n].visible and relations.lies(found[n], found.values())
            }
            self._handed = {n: t for n, t in self._handed.items() if n not in back}
            found = {n: t for n, t in found.items() if n not in self._handed}
            self._furniture, self._camera = tuple(each.with_travels(self._travels) for each in furniture), camera
            known = {name for each in self._furniture for name in each.joints}
            self._travels = {name: travel for name, travel in self._travels.items() if name in known}
            found = self._contents.update(found, self._furniture)
            self._placed = {n: t for n, t in self._placed.items() if n in found and not found[n].visible}
            self._things = found
            self._lost = {t.name: t for t in lost if t.name not in found}
            self._rooms = [each.room for each in self._builder.compartments(found.values())]
            self._seen_stamp = stamp
            self._last_seen.update((n, stamp) for n, t in found.items() if t.visible)
            for each in self._furniture:
                self._last_seen.update({each.name: stamp} if each.is_seen else {})
                self._last_seen.update((n, stamp) for n, joint in each.joints.items() if joint.visible)
            self._looks += 1
            self._refresh(tell=was_silent)
            self._changed.notify_all()

    def carried_by(self, furniture: Iterable[SeenFixture]) -> dict[str, tuple[float, float, float]]:
        """By how much what lies in drawers has gone along with these, (x, y, z) m, as the furniture is seen now."""
        with self._changed:
            moved = self._contents.carried({}, joints_of(map(Furniture.of, furniture)))
            old = {name: self._things[name].position for name in moved if name in self._things}
            by = {name: np.subtract(moved[name].position, place).tolist() for name, place in old.items()}
            return {name: (x, y, z) for name, (x, y, z) in by.items()}

    def check_overdue(self) -> float:
        """Publish a change where detections or joint states are overdue; call it again after so many seconds."""
        with self._changed:
            now = time.monotonic()
            if now - self._joint_states_at > self._joint_state_timeout:
                self.joint_states_stopped()
            if self._looks and not self._world.silent and self.overdue:
                self._world = replace(self._world, silent=True)
                self._tell()
            left = self._joint_states_at + self._joint_state_timeout - now
            left = min(left, self._due_since + self._detection_timeout - now)
            return left if left > 0.0 else _RECHECK

    def joint_states_stopped(self) -> None:
        """Joint states have stopped: until they resume, held and handed-over objects are only remembered."""
        with self._changed:
            self._no_joint_states = True
            self._refresh()

    @property
    def no_joint_states(self) -> bool:
        """Whether joint states have stopped, or are not waited for any more."""
        with self._changed:
            return self._no_joint_states or self._ended

    def end(self) -> None:
        """End all waits, now and later, as if nothing came: the node ends."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def gripped_unseen(self, width: float | None) -> None:
        """Set that the fingers, `width` m apart, hold an object that they were not seen to grasp; None: they hold
        nothing.

        Until the tracker identifies it, the hand is not empty and its content unknown.
        """
        with self._changed:
            self._gripped = width if self._held is None else None
            self._refresh()

    @property
    def holds_unknown(self) -> bool:
        """Whether the gripper holds an unidentified object."""
        with self._changed:
            return self._gripped is not None

    @property
    def joints(self) -> Array:
        """Joint positions as measured last, rad."""
        with self._changed:
            return self._joints

    @property
    def tips_height(self) -> float:
        """Height of the finger tips above what all stands on, m."""
        return float(self._kinematics.forward(self.joints)[2, 3]) - self._kinematics.robot.gripper.tip - self._ground

    def _recognise_grip(self, found: dict[str, Thing]) -> None:
        """Identify the held object by the tracker's object between the fingers; requires the lock."""
        if self._gripped is None:
            return
        tcp = self._kinematics.forward(self._joints)
        near = [
            (math.dist(t.position, tcp[:3, 3]), t)
            for t in found.values()
            if t.type == "item" and math.dist(t.position, tcp[:3, 3]) < _IN_GRIP + t.size[2] / 2
        ]
        if near:
            _, thing = min(near, key=lambda pair: pair[0])
            self._held, self._gripped = between_fingers(thing, tcp, self._gripped), None

    def _in_hand(self, thing: Thing) -> bool:
        """Whether a new detection is the held object under another name."""
        if thing.type != "item" or thing.name in self._things or not thing.visible:
            return False
        return math.dist(thing.position, self._kinematics.forward(self._joints)[:3, 3]) < _IN_HAND

    def on_joints(self, positions: Array, width: float | None = None) -> None:
        """Process measured joint positions, rad; with a finger opening (m), when no skill runs, also check the grip."""
        at_base = bool((np.abs(positions - np.array(self._kinematics.robot.home)) < relations.AT_BASE).all())
        with self._changed:
            self._joints, self._joint_states_at = positions, time.monotonic()
            if self._moving and self._contents.behind_doors:
                self._contents.reached(self._kinematics.forward(positions)[:3, 3])
            if self._no_joint_states:
                self._no_joint_states = False
                self._refresh()
            if self._held is not None and width is not None and abs(width - self._held.width) > _LOOSE:
                self.released(None)
            if self._gripped is not None and width is not None and abs(width - self._gripped) > _LOOSE:
                self.gripped_unseen(None)
            if at_base != self._at_base:
                self._at_base = at_base
                self._refresh()

    def go_on_from(self, other: WorldModel) -> None:
        """Know what another model knows now, but where the arm is."""
        with other._changed, self._changed:
            self._things, self._placed, self._handed = dict(other._things), dict(other._placed), dict(other._handed)
            self._furniture, self._contents, self._camera = other._furniture, other._contents.copy(), other._camera
            self._lost, self._put, self._rooms = dict(other._lost), set(other._put), other._rooms
            self._held, self._gripped, self._felt = other._held, other._gripped, set(other._felt)
            self._last_seen, self._looks, self._no_joint_states = (
                dict(other._last_seen),
                other._looks,
                other._no_joint_states,
            )
            self._seen_stamp, self._still_since = other._seen_stamp, other._still_since
            self._refresh()

    def clock_restarted(self) -> None:
        """Reset on a clock that started anew (another simulator): until detections come again, the last world is
        reported as `silent`, in which no task starts.
        """
        with self._changed:
            self._world = replace(self._world, silent=True)
            self._tell()
            self._things, self._placed, self._handed, self._held = {}, {}, {}, None
            self._furniture, self._rooms, self._lost, self._put = (), [], {}, set()
            self._contents.clear()
            self._gripped, self._felt = None, set()
            self._moving, self._still_since, self._seen_stamp, self._looks = False, 0.0, -1.0, 0
            self._last_seen = {}
            self._refresh()

    def use_limits(self, safety: Safety) -> None:
        """Replace the workspace limits."""
        with self._changed:
            self._safety, self._known = safety, None  # what can be reached is computed anew
            self._refresh()

    def use_places(self, places: Sequence[Location]) -> None:
        """Replace the named places."""
        with self._changed:
            self.places = tuple(places)
            self._refresh()

    def motion_began(self) -> None:
        """The arm starts to move: images are ignored from now on."""
        with self._changed:
            self._moving = True

    def motion_ended(self, stamp: float) -> None:
        """The arm is at rest since `stamp` (s)."""
        with self._changed:
            self._moving = False
            self._still_since = stamp
            self._due_since = time.monotonic()

    def grasped(self, held: Held) -> None:
        """The gripper holds an object, just taken or as it is seen there now."""
        with self._changed:
            if self._held is None or self._held.thing.name != held.thing.name:
                self._world = self._world.taken(held.thing.name)
            self._held, self._gripped = held, None
            self._contents.drop(held.thing.name)
            self._things.pop(held.thing.name, None)
            self._placed.pop(held.thing.name, None)
            self._refresh()

    def settled(self, width: float) -> None:
        """The fingers are `width` m apart since the held object was lifted: a sloping wall lies down between them."""
        with self._changed:
            if self._held is not None:
                self._held = replace(self._held, width=width)

    def released(self, thing: Thing | None) -> None:
        """The gripper is empty; `thing`: the object at its new place, None where it is unknown."""
        with self._changed:
            held, self._held, self._gripped = self._held, None, None
            self._put |= {held.thing.name} if held is not None else set()
            if thing is not None:
                self._things[thing.name] = self._placed[thing.name] = replace(thing, visible=False, below=None)
            elif held is not None:
                self._things.pop(held.thing.name, None)
            self._refresh()

    def handed_over(self, thing: Thing) -> None:
        """A person has taken the object out of the gripper; it stays with them until the camera sees it lie."""
        with self._changed:
            self._held = None
            self._things.pop(thing.name, None)
            self._handed[thing.name] = replace(thing, visible=False)
            self._refresh()

    def felt(self, fact: Literal) -> None:
        """The hand has felt a fact (`felt` in the domain's notes), which holds until its negation is felt, one of its
        objects is lost, or the clock starts anew. Raises WorldError for one that cameras tell.
        """
        if not self.domain.predicates[fact.predicate].felt:
            raise WorldError(f"{fact} was reported as felt; {fact.predicate} has no felt: true in the domain's notes")
        with self._changed:
            self._felt.discard(fact.negated())
            if fact.positive:
                self._felt.add(fact)
            self._refresh()

    def part_moves(self, name: str) -> None:
        """The arm begins to move a drawer, door or knob."""
        with self._changed:
            self._contents.part_moves(name)

    def part_shut(self, name: str, stamp: float) -> None:
        """The arm, which pushes a drawer or a door, has come so far since `stamp` (s) that it is shut."""
        with self._changed:
            self._contents.part_shut(name, stamp)

    def part_doubted(self, name: str) -> None:
        """The arm has pushed a drawer or a door, and may not be what shuts it."""
        with self._changed:
            self._contents.part_doubted(name)

    def part_moved(self, name: str, value: float) -> None:
        """The arm has moved a drawer, door or knob; how far, the next look tells."""

    def part_stopped(self, name: str, value: float) -> None:
        """A drawer was pulled until it stopped, so far out (m): from now on that is as far as it goes."""
        with self._changed:
            self._travels[name] = value
            self._furniture = tuple(each.with_travels(self._travels) for each in self._furniture)
            self._refresh()

    def put(self, thing: Thing) -> None:
        """Set the assumed pose of an object until it is observed."""
        with self._changed:
            self._things[thing.name] = self._placed[thing.name] = replace(thing, visible=False, below=None)
            self._refresh()

    def action_ended(self) -> None:
        """Update the pose of the held object in the world."""
        with self._changed:
            if self._held is not None:
                self._refresh()

    # ---- what goes out ------------------------------------------------------------------------------------------

    def world(self) -> World:
        """The newest world."""
        with self._changed:
            return self._world

    def things(self) -> tuple[Thing, ...]:
        """Objects on the table, without the held one; furniture, and the rooms in its open drawers."""
        with self._changed:
            return (*self._things.values(), *self._rooms, *(t for f in self._furniture for t in f.things(self.domain)))

    def kept_free(self) -> list[Thing]:
        """Areas where nothing is put down, so that drawers and doors can be moved on."""
        with self._changed:
            return swept(self._furniture)

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a drawer, door or knob; None where none is known."""
        with self._changed:
            return self._true_joint(name) or articulation_of(self._furniture, name)

    @property
    def camera(self) -> tuple[float, float, float] | None:
        """Place of the camera that shows what stands on the table, m; None where nobody knows."""
        with self._changed:
            return self._camera

    @property
    def held(self) -> Held | None:
        """The object in the gripper."""
        with self._changed:
            return self._held

    @property
    def overdue(self) -> bool:
        """Whether detections are due and do not come; also before the first."""
        with self._changed:
            return not self._moving and time.monotonic() - self._due_since > self._detection_timeout

    @property
    def looked_since_motion(self) -> bool:
        """Whether an image was processed since the arm moved last."""
        with self._changed:
            return not self._moving and self._seen_stamp >= self._still_since

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Wait for detections of an image stamped later than `after` (s); their stamp, None where none arrived
        in time. Who looks when asked shows what is there now: it may be what was there at `after`.
        """
        if self._look is not None:
            self._look()
            with self._changed:
                return self._seen_stamp if self._seen_stamp >= after else None
        end = time.monotonic() + seconds
        with self._changed:
            while self._seen_stamp <= after:
                left = end - time.monotonic()
                if left <= 0 or self._ended or not self._changed.wait(left):
                    return None if self._seen_stamp <= after else self._seen_stamp
            return self._seen_stamp

    # ---- facts --------------------------------------------------------------------------------------------------

    def reachable(self, what: Thing | Location) -> bool:
        """Whether the hand reaches the grasp of an item, or a placement at an object or place."""
        if isinstance(what, Location):
            points = [
                (what.centre[0] + a * what.size[0] / 4, what.centre[1] + b * what.size[1] / 4, 0.04)
                for a, b in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
            ]
            yaw = 0.0
        elif what.type == "item":
            z, (x, y, _), yaw = grasp_height(what, self._kinematics.robot.gripper), what.position, what.yaw
            points = [(x, y, z)]
            if relations.hollow_of(what) is not None:  # its wall on this side
                away = max(math.hypot(x, y), 1e-6)
                share = 1.0 - what.support(x / away, y / away) / away
                points.append((share * x, share * y, z))
        else:
            points, yaw = [(*what.position[:2], what.top + 0.03)], what.yaw
        if isinstance(what, Thing) and any(each.name == what.name and each.joints for each in self._furniture):
            return True  # which way a hand takes a handle, or a knob, only planning tells
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

    def _refresh(self, tell: bool = False) -> None:
        """Recompute the world where more than noise has changed; publish it then, or if forced. Requires the lock."""
        things = list(self._things.values())
        if self._held is not None:
            things.append(self._held.seen_from(self._kinematics.forward(self._joints)))
        self._steady = {t.name: steady(t, self._steady.get(t.name)) for t in sorted(things, key=attrgetter("name"))}
        handed = tuple(t for t in self._handed.values() if t.name not in self._things)
        there = {t.name for t in (*things, *handed)} | {p.name for p in self.places}
        there |= {each.name for each in self._furniture}
        there |= {part.name for each in self._furniture for part in each.parts()}
        self._felt = {fact for fact in self._felt if there.issuperset(fact.args)}
        around = Surroundings(
            tuple(self._steady.values()),
            handed,
            tuple(self._lost.values()),
            self._furniture,
            self.places,
            self._held.thing.name if self._held is not None else "",
            self._gripped is not None,
            self._at_base,
            self._no_joint_states,
            frozenset(self._felt),
            frozenset(self._placed),
            frozenset(self._put),
            {name: part for name in self._steady if (part := self._contents.hider(name))},
            self._last_seen,
        )
        self._world = replace(self._world, stamp=max(self._seen_stamp, 0.0))
        known = self._truth or around.state
        if known != self._known:
            self._known = known
            self._compute(around)
        if tell or self._told != self._world.revision:
            self._tell()

    def _tell(self) -> None:
        """Publish the world, unless it only seems empty: no task may start then, as long as the tracker is unsure."""
        sure = self._seen_stamp >= 0 and (bool(self._steady) or max(self._looks, self._empty) >= _LOOKS)
        if sure and self.on_change is not None:
            self._told = self._world.revision
            self.on_change(self._world)

    def _compute(self, around: Surroundings) -> None:
        old, by, told = self._world, self._builder, self._truth
        objects, facts = (told.objects, told.facts) if told else (by.objects(around), by.facts(around))
        if self._listed:
            poses = replace(old, objects=objects, facts=facts)
            facts |= {Literal(*fact) for fact in spatial.all_facts(poses, self._listed)}
        if objects != old.objects or facts != old.facts or not old.revision:
            self._world = replace(old, objects=objects, facts=facts, revision=old.revision + 1)
