"""Collision model: a MuJoCo model of the arm, the table, the objects seen, and the object held.

The model has spare shapes that become boxes and cylinders as objects are seen; where they do not suffice, it is
compiled anew with more. MuJoCo tests the convex hulls of all links, the hand and the finger pads. Not thread-safe: one
skill uses it at a time.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.solids import Part
from planweave.core.base.memory import no_mesh_cache
from planweave.geometry.arrays import Array
from planweave.geometry.joints import frame
from planweave.geometry.rotations import quaternion_from_rotation, rotation_from_quaternion
from planweave.robots import RobotDescription, load_robot
from planweave.robots.meshes import simplified_spec
from planweave.robots.model import TCP_SITE, finger_joints

RESOLUTION = 0.02
"""Largest joint step between two collision checks on a path, rad."""
MARGIN = 0.008
"""Distance kept from everything in free motion, m."""
_HELD_MARGIN = 0.005  # around what is held, m: as well as it was measured, and as it slips in the hand
_HANGS = 0.5  # rad by which what is held beside its middle may tip, as a bowl whose sloping wall lies along the pads
_MIDDLE = 0.02  # from the fingers, as far as which the middle of what is held may be, m
_ARENA = 128 << 20  # bytes for collisions, used as they are needed: every part may meet every one that is held
TABLE = "table"
"""What contacts with all that does not move are called."""


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies nearer than allowed; distance in metres, negative in penetration."""

    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        return f"{self.first} against {self.second}"


@dataclass(frozen=True, slots=True)
class Near:
    """Object near the arm, and its distance, m; grips: it is near the fingers or the held object."""

    name: str
    distance: float
    grips: bool


def _model(robot: RobotDescription, model_path: str | None, table_height: float, around: int, held: int) -> Any:
    """Arm, hand and table, with spare shapes around and held; what it was compiled from is gone when this returns."""
    import mujoco

    spec = simplified_spec(robot, model_path, seen=False)
    box = mujoco.mjtGeom.mjGEOM_BOX
    spec.worldbody.add_geom(name="table", type=box, size=[1.5, 1.5, 0.1], pos=[0.0, 0.0, table_height - 0.1])
    hand = spec.body(robot.gripper.link)
    tcp = np.array(spec.site(TCP_SITE).pos)
    for index in range(around):
        body = spec.worldbody.add_body(name=f"around_{index}", mocap=True)
        body.add_geom(name=f"around_{index}", type=box, size=[0.01] * 3)
    for name in ("hanging", *(f"held_{index}" for index in range(held))):
        hand.add_body(name=name, pos=tcp).add_geom(name=name, type=box, size=[0.01] * 3, mass=0)
    # The base stands on the table, and finger pads meet when the gripper is closed.
    for first, second in ((robot.base, robot.joints[0].link), robot.gripper.fingers):
        spec.add_exclude(bodyname1=first, bodyname2=second)
    spec.memory = _ARENA
    return spec.compile()


class PlanningScene:
    """Collision checks for joint positions and paths. Joint positions in rad, finger opening as a width in m."""

    def __init__(
        self, model_path: str | None = None, table_height: float = 0.0, robot: RobotDescription | None = None
    ) -> None:
        """model_path: see `planweave.robots.model.robot_spec`; robot: by default the default one."""
        import mujoco

        self.robot = robot or load_robot()
        self.table_height = table_height
        self.ceiling = math.inf  # m above the table that no point of the held object may exceed
        self.shapes: list[Part] = []
        self._mj, self._model_path = mujoco, model_path
        self._hangs = False  # whether what is held now may hang lower than it was grasped
        self._held_name = ""
        self._held_part: Part | None = None
        self._compile(64, 8)

    def _compile(self, around: int, held: int) -> None:
        """Compile the model with so many spare shapes, none of them there."""
        robot = self.robot
        with no_mesh_cache():
            self.model = model = _model(robot, self._model_path, self.table_height, around, held)
        self._data = self._mj.MjData(model)
        self._arm = np.array([model.joint(name).qposadr[0] for name in robot.joint_names])
        self._fingers = np.array([model.joint(name).qposadr[0] for name in finger_joints(robot)])
        self._tcp = model.site(TCP_SITE).id
        bodies = [model.body(int(body)).name for body in model.geom_bodyid]
        self._geom_name = [TABLE if body == "world" else body for body in bodies]
        model.geom_margin[[name in robot.links for name in self._geom_name]] = MARGIN
        self._around = [model.geom(f"around_{i}").id for i in range(around)]
        self._held = [model.geom(f"held_{i}").id for i in range(held)]
        self._hanging = model.geom("hanging").id
        for geom in (*self._around, *self._held, self._hanging):
            self._switch(geom, False)
        self._is_finger = [name in robot.gripper.fingers for name in self._geom_name]
        still = {robot.base, robot.joints[0].link}  # whose distance to the table never changes
        self._moving = [g for g, name in enumerate(self._geom_name) if name in robot.links - still]

    def _need(self, around: int = 0, held: int = 0) -> None:
        """Have so many spare shapes at least; all that are there stay as they are."""
        had = len(self._around), len(self._held)
        if around <= had[0] and held <= had[1]:
            return
        old, data, names = self.model, self._data, self._geom_name
        geoms = [*self._around, *self._held, self._hanging]
        self._compile(*(n if least <= n else 2 * least for n, least in zip(had, (around, held))))
        self._data.qpos[:] = data.qpos
        for geom in geoms:
            new = self.model.geom(old.geom(geom).name).id
            self._resize(new, old.geom_type[geom], old.geom_size[geom])
            self._switch(new, bool(old.geom_contype[geom]))
            self._geom_name[new] = names[geom]
            body, before = self.model.geom_bodyid[new], old.geom_bodyid[geom]
            self.model.body_pos[body], self.model.body_quat[body] = old.body_pos[before], old.body_quat[before]
            if (mocap := old.body_mocapid[before]) >= 0:
                place = self.model.body_mocapid[body]
                self._data.mocap_pos[place] = data.mocap_pos[mocap]
                self._data.mocap_quat[place] = data.mocap_quat[mocap]

    def twin(self) -> PlanningScene:
        """A scene of its own of the same robot, without obstacles; in place of compiling the model once more."""
        other = copy.copy(self)
        other.model = copy.copy(self.model)
        other._data = self._mj.MjData(other.model)
        other._geom_name, other.shapes = list(self._geom_name), []
        other.update(())
        other.detach()
        return other

    # ---- what stands around -------------------------------------------------------------------------------------

    def update(self, things: Iterable[Thing]) -> None:
        """Replace all obstacles by their own parts, or by a box or a cylinder; a container by walls and a floor."""
        parts = [(thing.name, part) for thing in things for part in parts_of(thing)]
        self.shapes = [part for _, part in parts]
        self._need(around=len(parts))
        for geom, (name, part) in zip(self._around, parts):
            self._resize(geom, *_shape(part))
            self._switch(geom, True)
            mocap = self.model.body_mocapid[self.model.geom_bodyid[geom]]
            self._data.mocap_pos[mocap] = part.pose[:3, 3]
            self._data.mocap_quat[mocap] = _mujoco_quaternion(part.pose)
            self._geom_name[geom] = name
        for geom in self._around[len(parts) :]:
            self._switch(geom, False)

    def leave_out(self, q: Sequence[float] | Array, names: Collection[str], depth: float) -> None:
        """Take out the parts of these objects in which the arm, or what it holds, is deeper than `depth` (m)."""
        data = self._collide(q)
        deep = data.contact.geom[: data.ncon][data.contact.dist[: data.ncon] < -depth]
        for geom in np.unique(deep):
            if self._geom_name[geom] in names and geom not in self._held_geoms():
                self._switch(int(geom), False)

    def attach(self, thing: Thing, thing_to_tcp: Array) -> None:
        """Attach an object to the hand; `thing_to_tcp` is its 4x4 pose in the frame of the tool centre point."""
        self.detach()
        whole, parts = solid_of(thing), parts_of(thing)
        self._need(held=len(parts))
        model = self.model
        w, x, y, z = model.site_quat[self._tcp]
        site_to_hand = frame(rotation_from_quaternion(x, y, z, w), model.site_pos[self._tcp])
        to_hand = site_to_hand @ thing_to_tcp @ np.linalg.inv(pose_of(thing))
        for geom, part in zip(self._held, parts):
            self._attach(geom, *_shape(part), to_hand @ part.pose)
            self._switch(geom, True)
            self._geom_name[geom] = thing.name
        self._held_name = thing.name
        self._held_part = whole.moved(to_hand)
        tipped = _tipped(thing_to_tcp)
        self._hangs = tipped is not None
        if tipped is not None:
            around = site_to_hand @ tipped @ np.linalg.inv(pose_of(thing)) @ whole.pose
            self._attach(self._hanging, self._mj.mjtGeom.mjGEOM_BOX, whole.half, around)

    def _attach(self, geom: int, kind: int, size: Sequence[float] | Array, pose: Array) -> None:
        """Set the kind and size of a shape and its pose in the gripper's link."""
        self._resize(geom, kind, size)
        body = self.model.geom_bodyid[geom]
        self.model.body_pos[body] = pose[:3, 3]
        self.model.body_quat[body] = _mujoco_quaternion(pose)

    @contextlib.contextmanager
    def room_around_held(self, tips: bool = True) -> Iterator[bool]:
        """Keep a margin around what is held, too, and, if it `tips`, room for that where it is held beside its middle;
        gives whether something is held.
        """
        self._switch(self._hanging, self._hangs and tips)
        try:
            with self._told_from(self._held_geoms(), _HELD_MARGIN):
                yield self.holding
        finally:
            self._switch(self._hanging, False)

    def held(self) -> Part | None:
        """Solid around the attached object, its pose in the gripper's link."""
        return self._held_part if self._held_name else None

    @property
    def holding(self) -> bool:
        return bool(self._held_name)

    def detach(self) -> None:
        for geom in (*self._held, self._hanging):
            self._switch(geom, False)
        self._held_name, self._hangs = "", False

    def set_opening(self, width: float) -> None:
        """Set the distance between the finger pads for the following checks."""
        self._data.qpos[self._fingers] = min(max(width, 0.0), self.robot.gripper.opening) / 2

    def _switch(self, geom: int, on: bool) -> None:
        """Set whether a spare shape is there. Its body must say the same, else the broad phase looks at it."""
        model = self.model
        body = model.geom_bodyid[geom]
        model.geom_contype[geom] = model.geom_conaffinity[geom] = on
        model.body_contype[body] = model.body_conaffinity[body] = on

    def _resize(self, geom: int, kind: int, size: Sequence[float] | Array) -> None:
        """Set MuJoCo's kind of a shape, and its size as MuJoCo has it, m."""
        model = self.model
        model.geom_type[geom], model.geom_size[geom] = kind, size
        radius = math.hypot(*size)
        model.geom_rbound[geom] = radius
        # MuJoCo's broad phase looks at the bounding box of the body, which was computed when the model was compiled.
        model.geom_aabb[geom] = (0.0, 0.0, 0.0, radius, radius, radius)
        model.bvh_aabb[model.body_bvhadr[model.geom_bodyid[geom]]] = (0.0, 0.0, 0.0, radius, radius, radius)

    # ---- checks -------------------------------------------------------------------------------------------------

    def _collide(self, q: Sequence[float] | Array) -> Any:
        """MuJoCo's data with the contacts of joint positions."""
        data = self._data
        data.qpos[self._arm] = q
        self._mj.mj_kinematics(self.model, data)
        self._mj.mj_collision(self.model, data)
        return data

    def free(self, q: Sequence[float] | Array, margin: float = MARGIN) -> bool:
        """Whether every obstacle is farther away than the margin (0 to MARGIN, m)."""
        data = self._collide(q)
        # Two links are told of from twice the margin on: newer versions of MuJoCo add up those of both geoms.
        return (not data.ncon or float(data.contact.dist.min()) >= margin) and self._room_above() >= 0.0

    def contact(
        self, q: Sequence[float] | Array, margin: float = MARGIN, touching: Collection[str] = (), depth: float = 0.0
    ) -> Contact | None:
        """The deepest forbidden contact, None where there is none; arguments as in `contacts`."""
        return min(self.contacts(q, margin, touching, depth, 1), key=lambda c: c.distance, default=None)

    def contacts(
        self,
        q: Sequence[float] | Array,
        margin: float = MARGIN,
        touching: Collection[str] = (),
        depth: float = 0.0,
        most: int | None = None,
    ) -> list[Contact]:
        """All forbidden contacts, or so many, the deepest first, and what a rule on heights forbids.

        touching: objects that the fingers, and the held object, may touch. depth: tolerated penetration between the
        held object and its surroundings, m (its outline is known only as precisely as the camera measured it).
        """
        near, found = self._collide(q).contact, list[Contact]()
        distances = near.dist
        deepest = distances.argsort(kind="stable")[: (distances < margin).sum()]
        for distance, (first, second) in zip(distances[deepest].tolist(), near.geom[deepest].tolist()):
            names = self._geom_name[first], self._geom_name[second]
            held = bool(self._held_name) and self._held_name in names
            if held:
                other = names[1] if names[0] == self._held_name else names[0]
            else:
                other = names[1] if self._is_finger[first] else names[0] if self._is_finger[second] else ""
            if other in touching:
                continue
            if held and depth and distance >= -depth:
                continue
            found.append(Contact(*names, distance))
            if len(found) == most:
                break
        if (room := self._room_above()) < 0.0:
            found.append(Contact(self._held_name, f"the height of {self.ceiling:g} m that a rule allows", room))
        return found

    def _room_above(self) -> float:
        """Room between the top of the held object and the ceiling, m, as the arm was placed last; infinite without."""
        if not self._held_name or self.ceiling == math.inf:
            return math.inf
        return self.ceiling + self.table_height - max(self._top_of(geom) for geom in self._held_geoms())

    def _held_geoms(self) -> list[int]:
        """The geoms that the held object consists of now."""
        return [geom for geom in self._held if self.model.geom_contype[geom]]

    def _top_of(self, geom: int) -> float:
        """Height of the highest point of a box or cylinder, m in the base frame."""
        up, size = self._data.geom_xmat[geom][6:9], self.model.geom_size[geom]
        if self.model.geom_type[geom] == self._mj.mjtGeom.mjGEOM_BOX:
            half = float(np.abs(up) @ size)
        else:
            half = float(math.hypot(up[0], up[1]) * size[0] + abs(up[2]) * size[1])
        return float(self._data.geom_xpos[geom][2]) + half

    def path_contact(
        self, path: Array, margin: float = MARGIN, touching: Collection[str] = (), depth: float = 0.0
    ) -> Contact | None:
        """The first contact found on straight joint-space lines between the rows of `path`, a configuration each."""
        for first, second in pairwise(path):
            for q in between(first, second):
                found = self.contact(q, margin, touching, depth)
                if found:
                    return found
        return self.contact(path[-1], margin, touching, depth)

    @contextlib.contextmanager
    def far_sighted(self, reach: float) -> Iterator[None]:
        """Let `nearby` see what is up to `reach` away, m; checks of contacts must not run meanwhile."""
        with self._told_from([*self._moving, *self._held_geoms()], reach):
            yield

    @contextlib.contextmanager
    def _told_from(self, geoms: list[int], reach: float) -> Iterator[None]:
        """Have contacts of these shapes told from a distance on, m."""
        margins = {
            name: getattr(self.model, name) for name in ("geom_margin", "body_margin") if hasattr(self.model, name)
        }
        before = {name: values.copy() for name, values in margins.items()}
        margins["geom_margin"][geoms] = reach
        if "body_margin" in margins:  # by which MuJoCo's broad phase leaves bodies out
            margins["body_margin"][self.model.geom_bodyid[geoms]] = reach
        try:
            yield
        finally:
            for name, values in margins.items():
                values[:] = before[name]

    def nearby(self, q: Sequence[float] | Array) -> list[Near]:
        """Distances between the arm, with what it holds, and everything around it; within `far_sighted`."""
        data, found = self._collide(q), []
        own = self.robot.links | ({self._held_name} if self._held_name else set())
        for index in range(data.ncon):
            first, second = (int(g) for g in data.contact.geom[index])
            names = self._geom_name[first], self._geom_name[second]
            if (names[0] in own) == (names[1] in own):
                continue
            mine, other = (first, names[1]) if names[0] in own else (second, names[0])
            if mine in self._moving or self._geom_name[mine] == self._held_name:
                grips = self._is_finger[mine] or self._geom_name[mine] == self._held_name
                found.append(Near(other, float(data.contact.dist[index]), grips))
        return found

    def pinched(self, q: Sequence[float] | Array) -> bool:
        """Whether a finger touches an object, at the opening that is set."""
        return any(
            {c.first, c.second} & {*self.robot.gripper.fingers} and "table" not in (c.first, c.second)
            for c in self.contacts(q, 0.0)
            if {c.first, c.second} - self.robot.links
        )

    def edge_free(self, first: Array, second: Array, margin: float = MARGIN) -> bool:
        """Whether the straight joint-space line between two free configurations is free; tests the middle first."""
        count = steps_between(first, second)
        return all(self.free(first + (second - first) * (k / count), margin) for k in halving(count))


def parts_of(thing: Thing) -> list[Part]:
    """The convex parts that represent an object in collision checks, in the base frame."""
    return list(thing.solid.moved(pose_of(thing)).parts)


def solid_of(thing: Thing) -> Part:
    """One part that encloses an object, in the base frame."""
    return thing.solid.around.moved(pose_of(thing))


def _tipped(thing_to_tcp: Array) -> Array | None:
    """The pose of a held object in the tool's frame where it has tipped about the fingers, its middle downwards; None
    where they hold it in its middle. It stood upright when it was grasped.
    """
    down, middle = -thing_to_tcp[:3, 2], thing_to_tcp[:3, 3]
    aside = middle - (middle @ down) * down
    lever = float(np.linalg.norm(aside))
    if lever < _MIDDLE:
        return None
    axis = np.cross(aside, down) / lever
    half = math.sin(_HANGS / 2)
    x, y, z = half * axis
    turn = rotation_from_quaternion(x, y, z, math.cos(_HANGS / 2))
    return frame(turn, np.zeros(3)) @ thing_to_tcp


def _mujoco_quaternion(pose: Array) -> tuple[float, float, float, float]:
    x, y, z, w = quaternion_from_rotation(pose[:3, :3])
    return w, x, y, z


def _shape(part: Part) -> tuple[int, tuple[float, float, float]]:
    """MuJoCo's kind and size of a part: hulls are the boxes around them."""
    import mujoco

    x, y, z = (float(half) for half in part.half)
    if part.kind == "cylinder":
        return mujoco.mjtGeom.mjGEOM_CYLINDER, (max(x, y), z, 0.0)
    return mujoco.mjtGeom.mjGEOM_BOX, (x, y, z)


def steps_between(first: Array, second: Array) -> int:
    """Number of steps of at most RESOLUTION between two configurations (largest joint difference)."""
    return max(1, math.ceil(float(np.abs(second - first).max()) / RESOLUTION))


def between(first: Array, second: Array) -> Iterable[Array]:
    """Configurations from `first` towards `second`, without the last, RESOLUTION apart."""
    count = steps_between(first, second)
    for k in range(count):
        yield first + (second - first) * (k / count)


def halving(count: int) -> Iterable[int]:
    """1 … count, coarse to fine, so that a blocked line is detected early."""
    step = 1 << max(count.bit_length() - 1, 0)
    yield count
    seen = {count, 0}
    while step:
        for k in range(step, count, step):
            if k not in seen:
                seen.add(k)
                yield k
        step >>= 1
