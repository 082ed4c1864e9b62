"""What Planweave knows of a robot: an arm of 6 or 7 joints with a gripper of two parallel fingers, read from one file.

Lengths in m, angles in rad, forces in N, torques in Nm; quaternions and frames as in URDF. Nothing else in the library
and in the nodes holds a number or a name of one robot.
"""

# ruff: noqa: RUF009  (the fields are made by functions that say how each is read)
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.yaml_files import BoundedLoader, plain_value, read_text

Vector = tuple[float, float, float]
_Reader = Callable[[Any], Any]
"""Reads a plain value; raises ValueError that says what it must be."""


def _number(low: float = -math.inf, what: str = "a number") -> _Reader:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= low:
            raise ValueError(what)
        return float(value)

    return read


_ANY = _number()
_POSITIVE = _number(0.0, "a number above 0")


def _numbers(count: int = 0, item: _Reader = _ANY) -> _Reader:
    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or (count and len(value) != count):
            raise ValueError(f"{count or 'a list of'} numbers")
        try:
            return tuple(item(x) for x in value)
        except ValueError as error:
            raise ValueError(f"{count or 'a list of'} numbers, each {error}") from None

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def _texts(low: int, high: int) -> _Reader:
    count = str(low) if low == high else f"{low} to {high}"

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not low <= len(value) <= high or not all(isinstance(x, str) for x in value):
            raise ValueError(f"a list of {count} names")
        if len(set(value)) != len(value):
            raise ValueError(f"a list of {count} different names")
        return tuple(value)

    return read


def _capsule(value: Any) -> tuple[Vector, Vector, float]:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError("[start, end, radius], in m")
    try:
        start, end = (_numbers(3)(v) for v in value[:2])
        return start, end, _POSITIVE(value[2])
    except ValueError as error:
        raise ValueError(f"[start, end, radius], in m: {error}") from None


def _capsules(value: Any) -> tuple[Capsule, ...]:
    if not isinstance(value, dict) or not all(isinstance(rows, list) for rows in value.values()):
        raise ValueError("a list of [start, end, radius] for each link")
    return tuple(Capsule(str(link), *_capsule(row)) for link, rows in value.items() for row in rows)


def _key(read: _Reader, default: Any = MISSING) -> Any:
    return field(metadata={"read": read}, **({} if default is MISSING else {"default": default}))


def _part(kind: type, default: Any = MISSING) -> Any:
    return field(metadata={"part": kind}, **({} if default is MISSING else {"default": default}))


@dataclass(frozen=True)
class Joint:
    """A revolute joint about the z of its frame, which lies at xyz and rpy in the link before, as in URDF.

    position: lower and upper limit; velocity, acceleration, jerk: largest ones, rad/s and on; effort: largest torque.
    servo: of the simulation: stiffness Nm/rad, damping Nm s/rad, rotor inertia kg m^2; by default made of the effort.
    """

    name: str = _key(_text)
    link: str = _key(_text)
    xyz: Vector = _key(_numbers(3))
    rpy: Vector = _key(_numbers(3))
    position: tuple[float, float] = _key(_numbers(2))
    velocity: float = _key(_POSITIVE)
    acceleration: float = _key(_POSITIVE)
    jerk: float = _key(_POSITIVE)
    effort: float = _key(_POSITIVE)
    servo: tuple[float, ...] = _key(_numbers(3, _POSITIVE), ())

    def problem(self) -> str:
        """What is wrong between the values; empty for nothing."""
        low, high = self.position
        return "" if low < high else f"position must be [lower, upper], and {low:g} is not below {high:g}"


@dataclass(frozen=True)
class LinkFrame:
    """A fixed frame in the link before; joint: its name in the URDF, by default the link's and ``_joint``."""

    link: str = _key(_text)
    xyz: Vector = _key(_numbers(3))
    rpy: Vector = _key(_numbers(3))
    joint: str = _key(_text, "")


@dataclass(frozen=True)
class Tool:
    """The tool centre point, between the finger pads, in the gripper's link: z approaches, y closes."""

    frame: str = _key(_text)
    xyz: Vector = _key(_numbers(3))
    rpy: Vector = _key(_numbers(3))


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

    link: str = _key(_text)
    xyz: Vector = _key(_numbers(3))
    rpy: Vector = _key(_numbers(3))
    tool: Tool = _part(Tool)
    joints: tuple[str, ...] = _key(_texts(1, 2))
    closed: float = _key(_number())
    open: float = _key(_number())
    opening: float = _key(_POSITIVE)
    force: float = _key(_POSITIVE)
    peak_force: float = _key(_POSITIVE)
    fingers: tuple[str, str] = _key(_texts(2, 2))
    tip: float = _key(_POSITIVE)
    reach_down: float = _key(_POSITIVE)
    finger_size: tuple[float, float] = _key(_numbers(2, _POSITIVE))
    closed_size: tuple[float, float] = _key(_numbers(2, _POSITIVE))
    finger_capsule: tuple[Vector, Vector, float] = _key(_capsule)

    def problem(self) -> str:
        """What is wrong between the values; empty for nothing."""
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

    arm_controller: str = _key(_text)
    gripper_controller: str = _key(_text)
    joint_state_topics: tuple[str, ...] = _key(_texts(1, 8))
    gripper: str = _key(_text, "command")
    hand: str = _key(_text, "gripper")
    driver: str = _key(_text, "")
    parameters: str = _key(_text, "a parameter file of its own")
    look: str = _key(_text, "see whether the robot is in an error")
    collision_torques: tuple[float, ...] = _key(_numbers(0, _POSITIVE), ())
    collision_forces: tuple[float, ...] = _key(_numbers(6, _POSITIVE), ())


@dataclass(frozen=True)
class Planners:
    """Names of this robot in other planners; empty where they do not know it."""

    moveit_group: str = _key(_text, "")
    vamp: str = _key(_text, "")


@dataclass(frozen=True)
class RobotDescription:
    """One robot; see the module. name: what people choose it by; file: where it was read.

    home, observe: joint positions, the second with a free view of the table. model: a wheel with its meshes or an MJCF
    beside the file, by default one is made of the capsules. prefix: of names, which those of another model may lack.
    """

    name: str
    file: Path
    title: str = _key(_text)
    base: str = _key(_text)
    joints: tuple[Joint, ...] = _part(Joint)
    home: tuple[float, ...] = _key(_numbers())
    observe: tuple[float, ...] = _key(_numbers())
    flange: LinkFrame = _part(LinkFrame)
    gripper: GripperDescription = _part(GripperDescription)
    capsules: tuple[Capsule, ...] = _key(_capsules)
    ros: Ros = _part(Ros)
    planners: Planners = _part(Planners, Planners())
    prefix: str = _key(_text, "")
    model: str = _key(_text, "")

    def problem(self) -> str:
        """What is wrong between the values; empty for nothing."""
        count = len(self.joints)
        if count not in (6, 7):
            return f"joints are {count}; Planweave moves arms of 6 or 7"
        links = [self.base, *(j.link for j in self.joints), self.gripper.link]
        names = [*self.joint_names, *self.gripper.joints]
        for what, given in (("link", links), ("joint", names)):
            twice = next((name for name in given if given.count(name) > 1), "")
            if twice:
                return f"two {what}s are called {twice!r}"
        for key in ("home", "observe"):
            pose = getattr(self, key)
            if len(pose) != count:
                return f"{key} has {len(pose)} numbers; it needs one for each of the {count} joints"
            for joint, value in zip(self.joints, pose):
                if not joint.position[0] <= value <= joint.position[1]:
                    low, high = joint.position
                    return f"{key}: {value:g} is beyond the limits of {joint.name}, {low:g} to {high:g}"
        for capsule in self.capsules:
            if capsule.link not in links:
                return f"capsules: {UnknownNameError('link', capsule.link, links)}"
        torques = self.ros.collision_torques
        return "" if len(torques) in (0, count) else f"ros.collision_torques has {len(torques)} numbers, not {count}"

    @property
    def count(self) -> int:
        """Number of the arm's joints."""
        return len(self.joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Of the arm."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def lower(self) -> tuple[float, ...]:
        """Lower position limits."""
        return tuple(joint.position[0] for joint in self.joints)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        """Upper position limits."""
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
        """Names of all links, from the base to the fingers."""
        between = (joint.link for joint in self.joints)
        return frozenset((self.base, *between, self.flange.link, self.gripper.link, *self.gripper.fingers))


def read_robot(path: Path, name: str = "") -> RobotDescription:
    """Read a description; name: by default the file's. Raises ConfigError with file, line, key and what is right."""
    try:
        root = yaml.compose(read_text(path), Loader=BoundedLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    found: RobotDescription = _read(RobotDescription, path, root, "", name=name or path.stem, file=path)
    return found


def _read(kind: type, path: Path, node: Any, where: str, **known: Any) -> Any:
    """A part of the file as a dataclass; where: its key so far."""
    line = f"{path}:{node.start_mark.line + 1 if node is not None else 1}"
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{line}: {where or 'a robot'} must be keys and values")
    wanted = {each.name: each for each in fields(kind) if each.name not in known}
    given: dict[str, Any] = {}
    for key, value in node.value:
        at, word = f"{path}:{key.start_mark.line + 1}", str(key.value)
        if word not in wanted:
            raise ConfigError(f"{at}: {UnknownNameError(f'key of {where}' if where else 'key', word, wanted)}")
        if word in given:
            raise ConfigError(f"{at}: {where and where + '.'}{word} is given twice")
        given[word] = _value(wanted[word], path, value, f"{where and where + '.'}{word}")
    for word, each in wanted.items():
        if word not in given and each.default is MISSING:
            raise ConfigError(f"{line}: {where or 'the robot'} lacks {word!r}")
    part = kind(**known, **given)
    problem = part.problem() if hasattr(part, "problem") else ""
    if problem:
        raise ConfigError(f"{line}: {where and where + ': '}{problem}")
    return part


def _value(each: Any, path: Path, node: Any, where: str) -> Any:
    if "part" in each.metadata:
        kind = each.metadata["part"]
        if kind is not Joint:
            return _read(kind, path, node, where)
        if not isinstance(node, yaml.SequenceNode):
            raise ConfigError(f"{path}:{node.start_mark.line + 1}: {where} must be a list, from the base on")
        return tuple(_read(kind, path, item, f"{where}[{index}]") for index, item in enumerate(node.value))
    try:
        value = plain_value(node)
        return each.metadata["read"](value)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}:{node.start_mark.line + 1}: {where}: {error}") from None
    except ValueError as error:
        shown = str(value)[:80]
        raise ConfigError(f"{path}:{node.start_mark.line + 1}: {where} must be {error}, not {shown}") from None
