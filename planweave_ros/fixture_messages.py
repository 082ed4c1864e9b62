"""Furniture, and things of parts, as messages and back; metres, in the frame of the message's header."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from planweave_interfaces.msg import DetectedObject, ObjectJoint, ObjectPart

from planweave.bodies.arm.poses import quaternion
from planweave.core.base.names import one_line
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.geometry.seen_object import SeenObject
from planweave_ros import conversions as convert

_LARGEST = 100.0  # m or rad; nothing that is seen here is larger
_KINDS, _STATES = ("slide", "hinge"), ("on", "off")


def fixture_to_msg(fixture: SeenFixture, number: int) -> DetectedObject:
    """A piece of furniture as a detected object with that id."""
    around = part_to_msg(fixture.bodies[0])
    return DetectedObject(
        id=number,
        name=fixture.name,
        class_name=fixture.class_name,
        shape="box",
        confidence=0.9,
        visible=fixture.visible,
        pose=around.pose,
        size=around.size,
        parts=[part_to_msg(box) for box in (*fixture.bodies, *fixture.shape)],
        joints=[_joint_to_msg(joint) for joint in fixture.joints],
    )


def fixture_from_msg(msg: DetectedObject, name: str) -> SeenFixture:
    """The furniture of a detected object, under a checked name; raises ValueError for numbers that cannot be."""
    if not msg.parts:
        raise ValueError("furniture has at least one part")
    around, *shape = map(part_from_msg, msg.parts)
    joints = tuple(map(_joint_from_msg, msg.joints))
    return SeenFixture(name, msg.class_name, (around,), joints, msg.visible, tuple(shape))


def seen_to_msg(
    seen: SeenObject, number: int, confidence: float, box: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> DetectedObject:
    """A thing as a detected object with that id; box: its outline in the image, pixels."""
    return DetectedObject(
        id=number,
        name=seen.name,
        class_name=seen.class_name,
        colour=seen.colour,
        shape=seen.shape,
        confidence=confidence,
        visible=seen.visible,
        inferred=seen.inferred,
        pose=convert.pose_to_msg(seen.position, seen.orientation),
        size=convert.size_to_msg(seen.size),
        box=box,
        parts=[part_to_msg(part) for part in seen.parts],
    )


def seen_from_msg(msg: DetectedObject, name: str) -> SeenObject:
    """The thing of a detected object, under a checked name; raises ValueError for numbers that cannot be."""
    pose = convert.position_from_msg(msg.pose), convert.orientation_from_msg(msg.pose)
    of = name, one_line(msg.class_name), one_line(msg.colour), one_line(msg.shape)
    parts = tuple(map(part_from_msg, msg.parts))
    return SeenObject(*of, *pose, convert.size_from_msg(msg.size), msg.visible, msg.inferred, parts)


def part_to_msg(box: OrientedBox) -> ObjectPart:
    x, y, z = (float(v) for v in box.centre)
    a, b, c = (float(v) for v in 2 * box.half)
    return ObjectPart(pose=convert.pose_to_msg((x, y, z), quaternion(box.axes)), size=convert.size_to_msg((a, b, c)))


def part_from_msg(msg: ObjectPart) -> OrientedBox:
    """A part as a box; raises ValueError for numbers that cannot be."""
    centre, half = np.array(convert.position_from_msg(msg.pose)), np.array(convert.size_from_msg(msg.size)) / 2
    turned = np.array(convert.orientation_from_msg(msg.pose))
    _check([*centre, *half, *turned])
    if abs(np.linalg.norm(turned) - 1.0) > 1e-2 or half.min() < 0.0:
        raise ValueError("a part has no valid orientation or size")
    return OrientedBox(centre, rotation_from_quaternion(*turned.tolist()), half)


def _joint_to_msg(joint: SeenJoint) -> ObjectJoint:
    return ObjectJoint(
        name=joint.name,
        kind=joint.kind,
        axis=Vector3(**dict(zip("xyz", joint.axis.tolist()))),
        anchor=Point(**dict(zip("xyz", map(float, joint.anchor)))),
        value=joint.value,
        most=joint.most,
        visible=joint.visible,
        state=joint.state,
        panel=part_to_msg(joint.panel),
        handle=[part_to_msg(joint.handle)] if joint.handle is not None else [],
        box=[part_to_msg(box) for box in joint.box],
        room=[part_to_msg(joint.room)] if joint.room is not None else [],
    )


def _joint_from_msg(msg: ObjectJoint) -> SeenJoint:
    axis, anchor = (np.array([v.x, v.y, v.z]) for v in (msg.axis, msg.anchor))
    _check([*axis, *anchor, msg.value, msg.most])
    if msg.kind not in _KINDS or abs(np.linalg.norm(axis) - 1.0) > 1e-2 or not msg.name.isidentifier():
        raise ValueError(f"a joint needs a name, a kind ({', '.join(_KINDS)}) and an axis of length 1")
    handle, room = (part_from_msg(some[0]) if some else None for some in (msg.handle, msg.room))
    return SeenJoint(
        msg.name,
        msg.kind,
        axis,
        anchor,
        msg.value,
        msg.most,
        part_from_msg(msg.panel),
        handle,
        msg.visible,
        tuple(map(part_from_msg, msg.box)),
        room,
        msg.state if msg.state in _STATES else "",
    )


def _check(numbers: list[Any]) -> None:
    if not all(math.isfinite(v) and abs(v) < _LARGEST for v in numbers):
        raise ValueError("a number is infinite, or far too large")
