"""Description of a robot: an arm of 6 or 7 joints with a gripper of two parallel fingers, read from one file.

Lengths in m, angles in rad, forces in N, torques in Nm; quaternions and frames as in URDF. Nothing else in the library
and in the nodes holds a number or a name of one robot.
"""

# ruff: noqa: RUF009  (the fields are made by functions that say how each is read)
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from planweave.core.base.errors import UnknownNameError
from planweave.core.base.yaml_files import compose
from planweave.core.base.yaml_records import NUMBER, POSITIVE, key, numbers, part, read_record, text, texts

Vector = tuple[float, float, float]


def _capsule(value: Any) -> tuple[Vector, Vector, float]:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError("[start, end, radius], in m")
    try:
        start, end = (numbers(3)(v) for v in value[:2])
        return start, end, POSITIVE(value[2])
    except ValueError as error:
        raise ValueError(f"[start, end, radius], in m: {error}") from None


def _capsules(value: Any) -> tuple[Capsule, ...]:
    if not isinstance(value, dict) or not all(isinstance(rows, list) for rows in value.values()):
        raise ValueError("a list of [start, end, radius] for each link")
    return tuple(Capsule(str(link), *_capsule(row)) for link, rows in value.items() for row in rows)


@dataclass(frozen=True)
class Joint:
    """A revolute joint about the z of its frame, which lies at xyz and rpy in the link before, as in URDF.

    position: lower and upper limit; velocity, acceleration, jerk: largest ones, rad/s and on; effort: largest torque.
    servo: of the simulation: stiffness Nm/rad, damping Nm s/rad, rotor inertia kg m^2; by default made of the effort.
    """

    name: str = key(text)
    link: str = key(text)
    xyz: Vector = key(numbers(3))
    rpy: Vector = key(numbers(3))
    position: tuple[float, float] = key(numbers(2))
    velocity: float = key(POSITIVE)
    acceleration: float = key(POSITIVE)
    jerk: float = key(POSITIVE)
    effort: float = key(POSITIVE)
    servo: tuple[float, ...] = key(numbers(3, POSITIVE), ())

    def problem(self) -> str:
        low, high = self.position
        return "" if low < high else f"position must be [lower, upper], and {low:g} is not below {high:g}"


@dataclass(frozen=True)
class LinkFrame:
    """A fixed frame in the link before; joint: its name in the URDF, by default the link's and ``_joint``."""

    link: str = key(text)
    xyz: Vector = key(numbers(3))
    rpy: Vector = key(numbers(3))
    joint: str = key(text, "")


@dataclass(frozen=True)
class Tool:
    """The tool centre point, between the finger pads, in the gripper's link: z approaches, y closes."""

    frame: str = key(text)
    xyz: Vector = key(numbers(3))
    rpy: Vector = key(numbers(3))


@dataclass(frozen=True)
class Capsule:
    """A cylinder with round ends around a part of a link, in the link's frame."""

    link: str
    start: Vector
    end: Vector
    radius: float


@dataclass(frozen=True)
class GripperDescription:
    """Two parallel fingers. See planweave/robots/fr3.yaml for each value."""

    link: str = key(text)
    xyz: Vector = key(numbers(3))
    rpy: Vector = key(numbers(3))
    tool: Tool = part(Tool)
    joints: tuple[str, ...] = key(texts(1, 2))
    closed: float = key(NUMBER)
    open: float = key(NUMBER)
    opening: float = key(POSITIVE)
    force: float = key(POSITIVE)
    peak_force: float = key(POSITIVE)
    fingers: tuple[str, str] = key(texts(2, 2))
    tip: float = key(POSITIVE)
    reach_down: float = key(POSITIVE)
    finger_size: tuple[float, float] = key(numbers(2, POSITIVE))
    closed_size: tuple[float, float] = key(numbers(2, POSITIVE))
    finger_capsule: tuple[Vector, Vector, float] = key(_capsule)

    def problem(self) -> str:
        if self.open == self.closed:
            return f"open and closed are both {self.open:g}; they are positions of {self.joints[0]}, and differ"
        return "" if self.force <= self.peak_force else "force must not be above peak_force"

    def width(self, positions: tuple[float, ...] | list[float]) -> float:
        """Opening between the pads, m, for positions of the joints."""
        share = sum(p - self.closed for p in positions) / (len(positions) * (self.open - self.closed))
        return self.opening * share

    def position(self, width: float) -> float:
        """Position of each joint for an opening, m."""
        return self.closed + width / self.opening * (self.open - self.closed)


@dataclass(frozen=True)
class Ros:
    """Names of the real robot's controllers and topics, relative to its namespace, and what is special about it.

    driver: whose recovery is used (planweave_ros/recovery.py), none where empty; parameters: file for a real one;
    look: where a person sees whether the robot is in an error; collision_torques and collision_forces: external ones
    at which the robot stops itself, where the driver can be told.
    """

    arm_controller: str = key(text)
    gripper_controller: str = key(text)
    joint_state_topics: tuple[str, ...] = key(texts(1, 8))
    gripper: str = key(text, "command")
    hand: str = key(text, "gripper")
    driver: str = key(text, "")
    parameters: str = key(text, "a parameter file of its own")
    look: str = key(text, "see whether the robot is in an error")
    collision_torques: tuple[float, ...] = key(numbers(0, POSITIVE), ())
    collision_forces: tuple[float, ...] = key(numbers(6, POSITIVE), ())


@dataclass(frozen=True)
class Planners:
    """Names of this robot in other planners; empty where they do not know it."""

    moveit_group: str = key(text, "")
    vamp: str = key(text, "")


@dataclass(frozen=True)
class RobotDescription:
    """One robot; see the module. name: what people choose it by; file: where it was read.

    home, observe: joint positions, the second with a free view of the table. model: a wheel with its meshes or an MJCF
    beside the file, by default one is made of the capsules. prefix: of names, which those of another model may lack.
    """

    name: str
    file: Path
    title: str = key(text)
    base: str = key(text)
    joints: tuple[Joint, ...] = part(Joint, many=list)
    home: tuple[float, ...] = key(numbers())
    observe: tuple[float, ...] = key(numbers())
    flange: LinkFrame = part(LinkFrame)
    gripper: GripperDescription = part(GripperDescription)
    capsules: tuple[Capsule, ...] = key(_capsules)
    ros: Ros = part(Ros)
    planners: Planners = part(Planners, Planners())
    prefix: str = key(text, "")
    model: str = key(text, "")

    def problem(self) -> str:
        count = len(self.joints)
        if count not in (6, 7):
            return f"joints are {count}; Planweave moves arms of 6 or 7"
        links = [self.base, *(j.link for j in self.joints), self.gripper.link]
        names = [*self.joint_names, *self.gripper.joints]
        for what, given in (("link", links), ("joint", names)):
            twice = next((name for name in given if given.count(name) > 1), "")
            if twice:
                return f"two {what}s are called {twice!r}"
        for pose_key in ("home", "observe"):
            pose = getattr(self, pose_key)
            if len(pose) != count:
                return f"{pose_key} has {len(pose)} numbers; it needs one for each of the {count} joints"
            for joint, value in zip(self.joints, pose):
                if not joint.position[0] <= value <= joint.position[1]:
                    low, high = joint.position
                    return f"{pose_key}: {value:g} is beyond the limits of {joint.name}, {low:g} to {high:g}"
        for capsule in self.capsules:
            if capsule.link not in links:
                return f"capsules: {UnknownNameError('link', capsule.link, links)}"
        torques = self.ros.collision_torques
        return "" if len(torques) in (0, count) else f"ros.collision_torques has {len(torques)} numbers, not {count}"

    @property
    def count(self) -> int:
        return len(self.joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def lower(self) -> tuple[float, ...]:
        return tuple(joint.position[0] for joint in self.joints)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        return tuple(joint.position[1] for joint in self.joints)

    @cached_property
    def velocity(self) -> tuple[float, ...]:
        """Largest joint velocities, rad/s."""
        return tuple(joint.velocity for joint in self.joints)

    @cached_property
    def acceleration(self) -> tuple[float, ...]:
        """Largest joint accelerations, rad/s^2."""
        return tuple(joint.acceleration for joint in self.joints)

    @cached_property
    def jerk(self) -> tuple[float, ...]:
        """Largest joint jerks, rad/s^3."""
        return tuple(joint.jerk for joint in self.joints)

    @cached_property
    def links(self) -> frozenset[str]:
        between = (joint.link for joint in self.joints)
        return frozenset((self.base, *between, self.flange.link, self.gripper.link, *self.gripper.fingers))


def read_robot(path: Path, name: str = "") -> RobotDescription:
    """Read a description; name: by default the file's. Raises ConfigError with file, line, key and what is right."""
    found: RobotDescription = read_record(
        RobotDescription, path, compose(path), "robot", name=name or path.stem, file=path
    )
    return found
