"""A thing as perception tells of it, to a world model in this process or, as DetectedObject.msg, in another one."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.geometry.joints import OrientedBox


@dataclass(frozen=True, eq=False)
class SeenObject:
    """A thing with a name, in the robot's base frame; metres.

    class_name, colour, shape, visible, inferred: as in DetectedObject.msg. position: centre of its bounding box;
    orientation: unit quaternion (x, y, z, w); size: extents along its own axes. parts: boxes that it consists of, none
    where it is one box or cylinder. below: name of what it rests on or in, "" for the ground, None where that is to be
    told from the heights. state: open, closed, on or off, where somebody sees that. lost: nobody knows where it is.
    """

    name: str
    class_name: str
    colour: str
    shape: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    size: tuple[float, float, float]
    visible: bool = True
    inferred: bool = False
    parts: tuple[OrientedBox, ...] = ()
    below: str | None = None
    state: str = ""
    lost: bool = False
