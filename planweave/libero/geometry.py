"""Collision geometry and joints of a loaded task at a state. Poses are 4x4 matrices in the base frame of the robot
(z up, x from it to the table, origin at its mount, which may be above what things stand on). Metres, rad.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.solids import Part, solid_of_geoms
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.libero.client import LiberoTask
from planweave.libero.truth import Names

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Geom:
    """A convex solid of the simulator. thing: "" for the room and its table; joint: the nearest joint that moves it
    within its thing, "" for none.

    kind and size as in MuJoCo: box (half extents), cylinder and capsule (radius, half length), sphere (radius),
    ellipsoid (radii), plane; mesh with the corners of its convex hull in `points`, in its own frame.
    """

    thing: str
    body: str
    joint: str
    kind: str
    size: tuple[float, ...]
    pose: Array
    points: Array | None = None


class Geometry:
    """The geometry of a task at a state of it."""

    def __init__(self, task: LiberoTask, state: Mapping[str, Any] | None = None) -> None:
        """state: by default the one in which the task was loaded."""
        self._found = task.geometry
        self._state = task.state if state is None else state
        self._world_to_base = np.asarray(np.linalg.inv(pose(self._state["base"])), dtype=np.float64)

    def to_base(self, in_world: Array) -> Array:
        """A 4x4 pose in LIBERO's world as one in the robot's base frame."""
        found: Array = self._world_to_base @ in_world
        return found

    def geoms(self) -> list[Geom]:
        """All collision geometry but the robot's."""
        joints = {row["body"]: name for name, row in self._found["joints"].items()}
        found = []
        for row in self._found["geoms"]:
            body, mesh = row["body"], row.get("mesh")
            points = np.array(self._found["meshes"][mesh]) if mesh else None
            thing = self._found["bodies"][body]["thing"]
            at = self.to_base(pose(self._state["bodies"][body])) @ pose([*row["pos"], *row["quat"]])
            found.append(Geom(thing, body, self._joint(joints, body), row["kind"], tuple(row["size"]), at, points))
        return found

    def articulations(self) -> list[Articulation]:
        """All joints of things that slide or turn."""
        geoms = self.geoms()
        found = []
        for name, row in self._found["joints"].items():
            axis = self._world_to_base[:3, :3] @ np.array(row["axis"])
            anchor = (self._world_to_base @ np.array([*row["anchor"], 1.0]))[:3]
            low, high = row["range"]
            thing = self._found["bodies"][row["body"]]["thing"]
            moved = _parts(g for g in geoms if g.joint == name)
            rest = _parts(g for g in geoms if g.thing == thing and g.joint != name)
            value = float(self._state["values"][name])
            found.append(Articulation(name, thing, row["kind"], axis, anchor, (low, high), value, moved, rest))
        return found

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a drawer (by its name in the symbolic world), of a door or of a knob (by its thing's name)."""
        joints = self._joints_of(name)
        found = [a for a in self.articulations() if a.name in joints]
        return found[0] if len(found) == 1 else None

    def openness(self, name: str) -> float:
        """Opening of a drawer or door: 0 shut, 1 at its open end; 0 for what does not move."""
        for joint in self._joints_of(name):
            return float(self._state["values"][joint]) / float(max(self._found["joints"][joint]["range"], key=abs))
        return 0.0

    def _joints_of(self, name: str) -> list[str]:
        names = Names(self._state)
        site = next((site for site, (part, _) in names.parts.items() if part == name), "")
        wanted, joints = self.joint_of_site(site), self._found["joints"]
        thing_of = {joint: self._found["bodies"][row["body"]]["thing"] for joint, row in joints.items()}
        return [joint for joint in joints if (joint == wanted if site else thing_of[joint] == name)]

    def joint_of_site(self, site: str) -> str:
        """The joint that moves a region (a drawer's inside); "" for none."""
        names = self._found["sites"].get(site) or [""]
        return str(names[0])

    def _joint(self, joints: Mapping[str, str], body: str) -> str:
        while body in self._found["bodies"]:
            if body in joints:
                return joints[body]
            parent = self._found["bodies"][body]["parent"]
            body = parent if parent != body else ""
        return ""


def _parts(geoms: Iterable[Geom]) -> tuple[Part, ...]:
    return solid_of_geoms((g.kind, g.size, g.pose, g.points) for g in geoms).parts


def pose(row: Sequence[float]) -> Array:
    """The 4x4 matrix of a position (x, y, z, m) and a quaternion (w, x, y, z)."""
    found = np.eye(4)
    w, x, y, z = row[3:]
    found[:3, :3] = rotation_from_quaternion(x, y, z, w)  # they come rounded
    found[:3, 3] = row[:3]
    return found
