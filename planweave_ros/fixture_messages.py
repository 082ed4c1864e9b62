"""Furniture, and things of parts, as messages and back; metres, in the frame of the message's header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Quaternion, Vector3
from planweave_interfaces.msg import DetectedObject, ObjectJoint, ObjectPart

from planweave.core.base.names import one_line
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.geometry.rotations import quaternion_from_rotation, rotation_from_quaternion
from planweave.geometry.seen_object import SeenObject
from planweave_ros import conversions as convert

_LARGEST = 100.0  # m or rad; nothing that is seen here is larger
_KINDS, _STATES = ("slide", "hinge"), ("on", "off")


def fixture_to_msg(fixture: SeenFixture, number: int) -> DetectedObject:
    """A piece of furniture as a detected object with that id."""
    parts = parts_to_msg((*fixture.bodies, *fixture.shape))
    return DetectedObject(
        id=number,
        name=fixture.name,
        class_name=fixture.class_name,
        shape="box",
        confidence=0.9,
        visible=fixture.visible,
        pose=parts[0].pose,
        size=parts[0].size,
        parts=parts,
        joints=[_joint_to_msg(joint) for joint in fixture.joints],
    )


def is_furniture(msg: DetectedObject) -> bool:
    """Whether a detected object has joints, or parts the first of which is the box around them all, as `fixture_to_msg`
    tells furniture.
    """
    whole = msg.parts[0] if len(msg.parts) > 1 else None
    return bool(msg.joints) or (whole is not None and (whole.pose, whole.size) == (msg.pose, msg.size))


def fixture_from_msg(msg: DetectedObject, name: str) -> SeenFixture:
    """The furniture of a detected object, under a checked name; raises ValueError for numbers that cannot be."""
    if not msg.parts:
        raise ValueError("furniture has at least one part")
    around, *shape = parts_from_msg(msg.parts)
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
        parts=parts_to_msg(seen.parts),
    )


def seen_from_msg(msg: DetectedObject, name: str) -> SeenObject:
    """The thing of a detected object, under a checked name; raises ValueError for numbers that cannot be."""
    pose = convert.position_from_msg(msg.pose), convert.orientation_from_msg(msg.pose)
    of = name, one_line(msg.class_name), one_line(msg.colour), one_line(msg.shape)
    parts = parts_from_msg(msg.parts)
    return SeenObject(*of, *pose, convert.size_from_msg(msg.size), msg.visible, msg.inferred, parts)


def parts_to_msg(boxes: Sequence[OrientedBox]) -> list[ObjectPart]:
    """Boxes as parts; those of the same axes have one orientation, as things of hundreds of boxes are told often."""
    turned, parts = dict[int, Quaternion](), list[ObjectPart]()
    for box in boxes:
        if id(box.axes) not in turned:
            turned[id(box.axes)] = Quaternion(**dict(zip("xyzw", quaternion_from_rotation(box.axes))))
        part = ObjectPart()  # makes all of its fields, whatever it is given
        place, size = part.pose.position, part.size
        place.x, place.y, place.z = box.centre.tolist()
        size.x, size.y, size.z = (2 * box.half).tolist()
        part.pose.orientation = turned[id(box.axes)]
        parts.append(part)
    return parts


def parts_from_msg(msgs: Sequence[ObjectPart]) -> tuple[OrientedBox, ...]:
    """Parts as boxes, with the same axes where they are turned alike; raises ValueError for numbers that cannot be."""
    poses = [(msg.pose.position, msg.pose.orientation, msg.size) for msg in msgs]
    numbers = np.array([(p.x, p.y, p.z, s.x, s.y, s.z, q.x, q.y, q.z, q.w) for p, q, s in poses]).reshape(-1, 10)
    centres, halves, turned = numbers[:, :3], numbers[:, 3:6] / 2, numbers[:, 6:]
    _check(numbers)
    if (np.abs(np.linalg.norm(turned, axis=1) - 1.0) > 1e-2).any() or (halves < 0.0).any():
        raise ValueError("a part has no valid orientation or size")
    keys = list(map(tuple, turned.tolist()))
    axes = {key: rotation_from_quaternion(*key) for key in set(keys)}
    return tuple(OrientedBox(centre, axes[key], half) for centre, key, half in zip(centres, keys, halves))


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
        panel=parts_to_msg([joint.panel])[0],
        handle=parts_to_msg([joint.handle] if joint.handle is not None else []),
        box=parts_to_msg(joint.box),
        room=parts_to_msg([joint.room] if joint.room is not None else []),
    )


def _joint_from_msg(msg: ObjectJoint) -> SeenJoint:
    axis, anchor = (np.array([v.x, v.y, v.z]) for v in (msg.axis, msg.anchor))
    _check([*axis, *anchor, msg.value, msg.most])
    if msg.kind not in _KINDS or abs(np.linalg.norm(axis) - 1.0) > 1e-2 or not msg.name.isidentifier():
        raise ValueError(f"a joint needs a name, a kind ({', '.join(_KINDS)}) and an axis of length 1")
    panel, *others = parts_from_msg([msg.panel, *msg.handle[:1], *msg.room[:1]])
    handle = others.pop(0) if msg.handle else None
    return SeenJoint(
        msg.name,
        msg.kind,
        axis,
        anchor,
        msg.value,
        msg.most,
        panel,
        handle,
        msg.visible,
        parts_from_msg(msg.box),
        others[0] if others else None,
        msg.state if msg.state in _STATES else "",
    )


def _check(numbers: Any) -> None:
    if not (np.abs(numbers) < _LARGEST).all():  # neither is what is no number
        raise ValueError("a number is infinite, or far too large")
