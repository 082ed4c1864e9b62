"""Where the arm may go: a MuJoCo model of the arm, the table, the objects seen, and the object held.

The model is compiled once, with a pool of boxes and cylinders that are moved and resized as objects are seen.
MuJoCo tests the convex hulls of all links, the hand and the finger pads. Not thread-safe: one skill uses it at a
time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.scene_object import Thing
from planweave.core.errors import ConfigError
from planweave.core.memory import no_mesh_cache
from planweave.robots import RobotDescription, load_robot
from planweave.robots.meshes import simplify_meshes
from planweave.robots.model import TCP_SITE, finger_joints, robot_spec

Array = NDArray[np.float64]
RESOLUTION = 0.02
"""Largest joint step between two collision checks on a path, rad."""
MARGIN = 0.008
"""Distance kept from everything in free motion, m."""
_WALL = 0.008  # assumed wall thickness of trays, boxes and bowls, m
_BOXES, _CYLINDERS = 96, 32
_FAR = -50.0  # unused shapes wait far below the table
_RING = 10  # wall pieces of a round container
_HOLLOW = frozenset({"container"})


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies nearer than allowed; distance in metres, negative in penetration."""

    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        return f"{self.first} against {self.second}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A box or upright cylinder: centre, half extents along its own axes, turn about the vertical."""

    kind: str
    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    yaw: float


def _model(robot: RobotDescription, model_path: str | None, table_height: float) -> Any:
    """Arm, hand and table, with the pools of shapes; what it was compiled from is gone when this returns."""
    import mujoco

    spec = robot_spec(robot, model_path)
    simplify_meshes(spec, seen=False)
    box, cylinder = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER
    spec.worldbody.add_geom(name="table", type=box, size=[1.5, 1.5, 0.1], pos=[0.0, 0.0, table_height - 0.1])
    for name, kind, count in (("box", box, _BOXES), ("cylinder", cylinder, _CYLINDERS)):
        for index in range(count):
            body = spec.worldbody.add_body(name=f"pool_{name}_{index}", mocap=True, pos=[0.0, 0.0, _FAR])
            body.add_geom(name=f"pool_{name}_{index}", type=kind, size=[0.01, 0.01, 0.01])
    hand = spec.body(robot.gripper.link)
    tcp = np.array(spec.site(TCP_SITE).pos)
    for name, kind in (("box", box), ("cylinder", cylinder)):
        body = hand.add_body(name=f"held_{name}", pos=tcp)
        body.add_geom(name=f"held_{name}", type=kind, size=[0.01] * 3, mass=0)
    # The base stands on the table, and finger pads meet when the gripper is closed.
    for first, second in ((robot.base, robot.joints[0].link), robot.gripper.fingers):
        spec.add_exclude(bodyname1=first, bodyname2=second)
    return spec.compile()


class PlanningScene:
    """Collision checks for joint positions and paths. Joint positions in rad, finger opening as a width in m."""

    def __init__(self, model_path: str | None = None, table_height: float = 0.0, robot: RobotDescription | None = None):
        """model_path: see `planweave.robots.model.robot_spec`; robot: by default the default one."""
        import mujoco

        self.robot = robot = robot or load_robot()

        self._mj = mujoco
        with no_mesh_cache():
            self.model = _model(robot, model_path, table_height)
        self._data = mujoco.MjData(self.model)
        self._arm = np.array([self.model.joint(name).qposadr[0] for name in robot.joint_names])
        self._fingers = np.array([self.model.joint(name).qposadr[0] for name in finger_joints(robot)])
        self._tcp = self.model.site(TCP_SITE).id
        model = self.model
        self._geom_name: list[str] = []
        for index in range(model.ngeom):
            body = model.body(int(model.geom_bodyid[index])).name
            self._geom_name.append("table" if body == "world" else body)
            if body in robot.links:
                model.geom_margin[index] = MARGIN
        self._pool = {
            kind: [
                (model.geom(f"pool_{kind}_{i}").id, int(model.body_mocapid[model.body(f"pool_{kind}_{i}").id]))
                for i in range(count)
            ]
            for kind, count in (("box", _BOXES), ("cylinder", _CYLINDERS))
        }
        self._held = {kind: model.geom(f"held_{kind}").id for kind in ("box", "cylinder")}
        for index in self._held.values():
            model.geom_contype[index] = model.geom_conaffinity[index] = 0
        self._held_name = ""
        self._held_solid: tuple[Shape, Array] | None = None
        self.table_height = table_height
        self.shapes: list[Shape] = []
        self._is_finger = [name in robot.gripper.fingers for name in self._geom_name]

    # ---- what stands around -------------------------------------------------------------------------------------

    def update(self, things: Iterable[Thing]) -> None:
        """Replace all obstacles. Containers become walls and a floor, everything else a box or a cylinder."""
        free = {kind: list(reversed(rows)) for kind, rows in self._pool.items()}
        self.shapes = []
        for thing in things:
            for shape in shapes_of(thing):
                self.shapes.append(shape)
                if not free[shape.kind]:
                    raise ConfigError(f"too many objects on the table for the planning scene at {thing.name}")
                geom, mocap = free[shape.kind].pop()
                self._resize(geom, shape.kind, shape.half)
                self._data.mocap_pos[mocap] = shape.centre
                self._data.mocap_quat[mocap] = (math.cos(shape.yaw / 2), 0.0, 0.0, math.sin(shape.yaw / 2))
                self._geom_name[geom] = thing.name
        for rows in free.values():
            for _, mocap in rows:
                self._data.mocap_pos[mocap] = (0.0, 0.0, _FAR)

    def attach(self, thing: Thing, thing_to_tcp: Array) -> None:
        """Attach an object to the hand; `thing_to_tcp` is its 4x4 pose in the frame of the tool centre point."""
        self.detach()
        shape = solid_of(thing)
        geom = self._held[shape.kind]
        model = self.model
        self._resize(geom, shape.kind, shape.half)
        site_to_hand = np.eye(4)
        rotation = np.zeros(9)
        self._mj.mju_quat2Mat(rotation, model.site_quat[self._tcp])
        site_to_hand[:3, :3] = rotation.reshape(3, 3)
        site_to_hand[:3, 3] = model.site_pos[self._tcp]
        pose = site_to_hand @ thing_to_tcp
        quaternion = np.zeros(4)
        self._mj.mju_mat2Quat(quaternion, pose[:3, :3].ravel())
        body = model.geom_bodyid[geom]
        model.body_pos[body] = pose[:3, 3]
        model.body_quat[body] = quaternion
        model.geom_contype[geom] = model.geom_conaffinity[geom] = 1
        self._geom_name[geom] = self._held_name = thing.name
        self._held_solid = (shape, pose)

    def held(self) -> tuple[Shape, Array] | None:
        """The attached solid (with its world pose when it was seen), and its 4x4 pose in the gripper's link."""
        return self._held_solid if self._held_name else None

    @property
    def holding(self) -> bool:
        """Whether an object is attached to the hand."""
        return bool(self._held_name)

    def detach(self) -> None:
        """Detach the held object."""
        for geom in self._held.values():
            self.model.geom_contype[geom] = self.model.geom_conaffinity[geom] = 0
        self._held_name = ""

    def set_opening(self, width: float) -> None:
        """Set the distance between the finger pads for the following checks."""
        self._data.qpos[self._fingers] = min(max(width, 0.0), self.robot.gripper.opening) / 2

    def _resize(self, geom: int, kind: str, half: Sequence[float]) -> None:
        model = self.model
        if kind == "box":
            model.geom_size[geom] = half
            radius = math.sqrt(sum(h * h for h in half))
        else:
            side = max(half[0], half[1])
            model.geom_size[geom] = (side, half[2], 0.0)
            radius = math.hypot(side, half[2])
        model.geom_rbound[geom] = radius
        # MuJoCo's broad phase looks at the bounding box of the body, which was computed when the model was compiled.
        model.geom_aabb[geom] = (0.0, 0.0, 0.0, radius, radius, radius)
        model.bvh_aabb[model.body_bvhadr[model.geom_bodyid[geom]]] = (0.0, 0.0, 0.0, radius, radius, radius)

    # ---- checks -------------------------------------------------------------------------------------------------

    def free(self, q: Sequence[float] | Array, margin: float = MARGIN) -> bool:
        """Whether every obstacle is farther away than the margin (0 to MARGIN, m)."""
        data = self._data
        data.qpos[self._arm] = q
        self._mj.mj_kinematics(self.model, data)
        self._mj.mj_collision(self.model, data)
        # Two links are told of from twice the margin on: newer versions of MuJoCo add up those of both geoms.
        return not data.ncon or float(data.contact.dist.min()) >= margin

    def contact(
        self, q: Sequence[float] | Array, margin: float = MARGIN, touching: Collection[str] = (), depth: float = 0.0
    ) -> Contact | None:
        """The deepest forbidden contact, None where there is none; arguments as in `contacts`."""
        return min(self.contacts(q, margin, touching, depth), key=lambda c: c.distance, default=None)

    def contacts(
        self, q: Sequence[float] | Array, margin: float = MARGIN, touching: Collection[str] = (), depth: float = 0.0
    ) -> list[Contact]:
        """All forbidden contacts.

        touching: objects that the fingers, and the held object, may touch. depth: tolerated penetration between the
        held object and its surroundings, m (its outline is known only as precisely as the camera measured it).
        """
        data = self._data
        data.qpos[self._arm] = q
        self._mj.mj_kinematics(self.model, data)
        self._mj.mj_collision(self.model, data)
        found = []
        for index in range(data.ncon):
            distance = float(data.contact.dist[index])
            if distance >= margin:
                continue
            first, second = (int(g) for g in data.contact.geom[index])
            names = self._geom_name[first], self._geom_name[second]
            held = bool(self._held_name) and self._held_name in names
            if held:
                other = names[1] if names[0] == self._held_name else names[0]
            else:
                other = names[1] if self._is_finger[first] else names[0] if self._is_finger[second] else ""
            if other in touching:
                continue
            if held and distance >= -depth:
                continue
            found.append(Contact(*names, distance))
        return found

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

    def edge_free(self, first: Array, second: Array, margin: float = MARGIN) -> bool:
        """Whether the straight joint-space line between two free configurations is free; tests the middle first."""
        count = steps_between(first, second)
        return all(self.free(first + (second - first) * (k / count), margin) for k in halving(count))


def shapes_of(thing: Thing) -> list[Shape]:
    """The solids that represent an object in collision checks."""
    if thing.type not in _HOLLOW:
        return [solid_of(thing)]
    x, y, z = thing.position
    half_x, half_y, half_z = (s / 2 for s in thing.size)
    floor = min(_WALL / 2, half_z)
    base = Shape(
        "cylinder" if thing.is_round else "box", (x, y, thing.bottom + floor), (half_x, half_y, floor), thing.yaw
    )
    shapes = [base]
    if thing.is_round:
        radius = max(half_x, half_y) - _WALL / 2
        length = math.tan(math.pi / _RING) * (radius + _WALL / 2)
        for index in range(_RING):
            angle = 2 * math.pi * index / _RING
            centre = (x + radius * math.cos(angle), y + radius * math.sin(angle), z)
            shapes.append(Shape("box", centre, (_WALL / 2, length, half_z), angle))
        return shapes
    for u, v, along_x, along_y in (
        (half_x - _WALL / 2, 0.0, _WALL / 2, half_y),
        (_WALL / 2 - half_x, 0.0, _WALL / 2, half_y),
        (0.0, half_y - _WALL / 2, half_x, _WALL / 2),
        (0.0, _WALL / 2 - half_y, half_x, _WALL / 2),
    ):
        px, py = thing.world(u, v)
        shapes.append(Shape("box", (px, py, z), (along_x, along_y, half_z), thing.yaw))
    return shapes


def solid_of(thing: Thing) -> Shape:
    """One solid that encloses an object."""
    half = (thing.size[0] / 2, thing.size[1] / 2, max(thing.size[2] / 2, 1e-3))
    return Shape("cylinder" if thing.is_round else "box", thing.position, half, thing.yaw)


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
