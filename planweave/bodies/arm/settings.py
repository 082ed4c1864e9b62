"""Execution settings of skills: speeds, forces and timeouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.retries import Retry, read_retries
from planweave.bodies.arm.ros_names import RosNames
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.workflow.approval import NEAR_PEOPLE
from planweave.geometry.arrays import Array
from planweave.robots import load_robot

Pictures = Callable[[str, Callable[[], None]], "NDArray[np.uint8] | None"]
"""Gives the newest picture of a camera, RGB (height, width, 3); None where there is no fresh one. The second argument
is called while waiting, and raises where waiting must end.
"""
SKILL_LIST = "skills."
"""What the names of the parameters begin with that list the skills of an action."""


def no_picture(camera: str, check: Callable[[], None]) -> None:
    """Do nothing: there is no camera."""


@dataclass(frozen=True)
class PutRules:
    """Tolerances for things that the robot has put somewhere, m; by default as of all others.

    unsure: by which the middles of two things may be wrong against each other, as they are seen; centred: between the
    middles of an item and one that bears it, at most; stacked: the same of one in its hollow, which then is on it, too.
    """

    unsure: float = 0.0
    centred: float = math.inf
    stacked: float = -1.0


NEEDS_EYE = frozenset({"look_at"})
"""Actions for which the hand carries a camera."""
AS_SEEN = PutRules()
"""As of what the robot has not put anywhere."""


@dataclass(frozen=True)
class SkillSettings:
    """Execution settings of skills. Metres, seconds (wall time for waits), N; factors of the joint limits."""

    speed: float = 0.4
    acceleration: float = 0.8
    approach_speed: float = 0.25
    grip_force: float = 20.0
    contact_force: float = 40.0  # at which the hand stops pulling or pushing a part of furniture
    smallest_width: float = 0.004  # fingers nearer to each other than this hold nothing of which no grasp was planned
    not_closed: float = 0.01  # fingers that stay this much wider than the object expected hold it not, m
    slip: float = 0.006  # an object whose grip narrows by this much is lost
    retries: Mapping[Code, Retry] = field(default_factory=dict)  # what is tried again by itself, by failure code
    image_seconds: float = 5.0  # wait for a camera image
    verify_seconds: float = 4.0  # wait until an object is seen where it was put
    planning_seconds: float = 2.0  # for one motion
    clearance: float = 0.10  # height of the straight approach from above, m
    observe: tuple[float, ...] = field(
        default_factory=lambda: load_robot().observe
    )  # with a free view of the table, rad; empty where the arm hides nothing
    left: float = 1.0  # sign of y on the left of who gives the orders: 1 beside the robot, -1 opposite it
    pushes: int = 3  # neighbours to push aside where they leave no grasp free
    hand_over_at: tuple[float, float, float] = (0.60, 0.0, 0.40)  # where a person is given things
    hand_over_force: float = 5.0  # of the grip while a person pulls
    hand_over_seconds: float = 15.0  # until a person has taken what is held out
    hand_over_wait: float = 0.0  # that the arm then stays where it is, for the person's hand to go
    skills: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # by action, what carries it out: mentions of skills in the order in which they are tried
    pictures: Pictures = no_picture
    off: frozenset[str] = frozenset()  # actions that are not carried out
    eye: Array | None = None  # pose (4x4) in the tool's frame of a camera that the hand carries
    domain: Domain | None = None  # whose rules say which neighbours may not be pushed aside
    names: RosNames = field(default_factory=RosNames)  # of services and topics, for messages


def settings_from(
    values: Mapping[str, Any],
    names: RosNames,
    joints: int,
    domain: Domain | None = None,
    pictures: Pictures = no_picture,
) -> SkillSettings:
    """Settings from executor_node's parameters by name, for an arm of so many joints; raises ConfigError."""
    return SkillSettings(
        domain=domain,
        pictures=pictures,
        speed=values["speed"],
        approach_speed=values["approach_speed"],
        acceleration=values["acceleration"],
        grip_force=values["grip_force"],
        contact_force=values["contact_force"],
        retries=read_retries(values["retries"]),
        pushes=0 if values["require_approval"] else values["pushes"],  # nobody approved a neighbour's motion
        hand_over_at=point(values, "hand_over_at"),
        hand_over_force=values["hand_over_force"],
        hand_over_seconds=values["hand_over_timeout"],
        hand_over_wait=values["hand_over_wait"],
        skills={
            name.removeprefix(SKILL_LIST): tuple(filter(None, row))
            for name, row in values.items()
            if name.startswith(SKILL_LIST)
        },
        off=actions_off(values),
        names=names,
        image_seconds=values["image_timeout"],
        verify_seconds=values["verify_timeout"],
        planning_seconds=values["planning_timeout"],
        observe=numbers(values, "observe_pose", joints),
    )


def actions_off(values: Mapping[str, Any], known: Collection[str] = ()) -> frozenset[str]:
    """Refused actions. Where the known ones are given, these among them, and what the hand carries no camera for;
    raises ConfigError for an unknown one that no default names.
    """
    off = frozenset(values["actions_off"]) - {""}
    if not known:
        return off
    if wrong := min(off - {*known, *NEAR_PEOPLE}, default=""):
        raise ConfigError(f"executor_node: parameter actions_off: {UnknownNameError('action', wrong, known)}")
    return frozenset(known) & (off if values["hand_camera"] else off | NEEDS_EYE)


def point(values: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    """Three numbers of a parameter; raises ConfigError."""
    x, y, z = numbers(values, name, 3)
    return x, y, z


def numbers(values: Mapping[str, Any], name: str, count: int) -> tuple[float, ...]:
    """A parameter with a fixed count of finite numbers; raises ConfigError."""
    found = tuple(float(x) for x in values[name])
    if len(found) != count or not all(map(math.isfinite, found)):
        raise ConfigError(f"executor_node: parameter {name} must be {count} numbers, got {list(found)}")
    return found
