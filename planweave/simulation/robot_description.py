"""The simulated robot as a URDF and as a tree of frames, generated from its MuJoCo model.

Link and joint names are those of the robot's description. Shapes are bounding boxes or cylinders of the visible
meshes: mesh files would be missing on another machine with the viewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from planweave.robots import RobotDescription, load_robot
from planweave.robots.model import COLLISION_GROUP, TCP_SITE

if TYPE_CHECKING:
    import mujoco

Array = NDArray[np.float64]
_FINGER_SPEED = 0.1  # m/s
_LONG = 1.3  # a mesh of an arm's link so many times as long as wide is shown as a cylinder


@dataclass(frozen=True)
class Shape:
    """Visual shape of a link: half extents (m) of a box, or of a cylinder along its z; its pose in the link."""

    cylinder: bool
    half: tuple[float, float, float]
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]
    rgba: tuple[float, float, float, float]


@dataclass(frozen=True)
class RobotLink:
    """A frame relative to its parent, at joint position 0; position in m, quaternion as x, y, z, w.

    kind: revolute, prismatic or fixed; axis in the link's frame; lower and upper in rad or m.
    """

    name: str
    parent: str
    joint: str
    kind: str
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    lower: float = 0.0
    upper: float = 0.0
    shapes: tuple[Shape, ...] = ()

    def transform(self, value: float = 0.0) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
        """Position (m) and quaternion (x, y, z, w) in the parent's frame for a joint position (rad or m)."""
        import mujoco

        own, turn, turned, way = np.roll(self.quaternion, 1), np.zeros(4), np.zeros(4), np.zeros(3)
        if self.kind == "revolute":
            mujoco.mju_axisAngle2Quat(turn, np.array(self.axis), value)
            mujoco.mju_mulQuat(turned, own, turn)
            return self.position, _quaternion(turned)
        mujoco.mju_rotVecQuat(way, value * np.array(self.axis), own)
        return _vector(self.position + way), self.quaternion


def links_of(model: mujoco.MjModel, robot: RobotDescription | None = None) -> tuple[RobotLink, ...]:
    """All links of the robot in a model, parents first; the first is the base, whose parent is empty."""
    import mujoco

    robot = robot or load_robot()
    flange, base_frame = robot.flange, robot.base
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): "revolute", int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic"}
    base = model.body(base_frame).id
    links = [RobotLink(base_frame, "", "", "fixed", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), shapes=_shapes(model, base))]
    names = {base: base_frame}
    for body in range(base + 1, model.nbody):
        parent = int(model.body_parentid[body])
        if parent not in names:
            continue
        name = names[body] = model.body(body).name or f"{robot.prefix}body{body}"
        placed = _vector(model.body_pos[body]), _quaternion(model.body_quat[body])
        fixed = flange.joint if flange.joint and name == flange.link else f"{name}_joint"
        link = RobotLink(name, names[parent], fixed, "fixed", *placed, shapes=_shapes(model, body))
        if model.body_jntnum[body]:
            joint = model.joint(int(model.body_jntadr[body]))
            lower, upper = (float(v) for v in joint.range)
            kind, axis = kinds[int(joint.type[0])], _vector(joint.axis)
            link = replace(link, joint=joint.name, kind=kind, axis=axis, lower=lower, upper=upper)
        links.append(link)
    site, tool = model.site(TCP_SITE), robot.gripper.tool.frame
    placed = _vector(site.pos), _quaternion(site.quat)
    links.append(RobotLink(tool, names[int(site.bodyid[0])], f"{tool}_joint", "fixed", *placed))
    return tuple(links)


def urdf(links: tuple[RobotLink, ...], description: RobotDescription | None = None) -> str:
    """The robot as a URDF."""
    description = description or load_robot()
    limits = {joint.name: (joint.effort, joint.velocity) for joint in description.joints}
    robot = ElementTree.Element("robot", name=description.name)
    for link in links:
        element = ElementTree.SubElement(robot, "link", name=link.name)
        for number, shape in enumerate(link.shapes):
            _add_visual(element, f"{link.name}_{number}", shape)
    for link in links[1:]:
        joint = ElementTree.SubElement(robot, "joint", name=link.joint, type=link.kind)
        ElementTree.SubElement(joint, "parent", link=link.parent)
        ElementTree.SubElement(joint, "child", link=link.name)
        ElementTree.SubElement(joint, "origin", xyz=_text(link.position), rpy=_text(_rpy(link.quaternion)))
        if link.kind != "fixed":
            ElementTree.SubElement(joint, "axis", xyz=_text(link.axis))
            effort, velocity = limits.get(link.joint, (description.gripper.force, _FINGER_SPEED))
            range_ = {"lower": f"{link.lower:.9g}", "upper": f"{link.upper:.9g}"}
            ElementTree.SubElement(joint, "limit", range_, effort=f"{effort:g}", velocity=f"{velocity:g}")
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode", xml_declaration=True) + "\n"


def _add_visual(link: ElementTree.Element, name: str, shape: Shape) -> None:
    visual = ElementTree.SubElement(link, "visual", name=name)
    ElementTree.SubElement(visual, "origin", xyz=_text(shape.position), rpy=_text(_rpy(shape.quaternion)))
    geometry = ElementTree.SubElement(visual, "geometry")
    x, y, z = shape.half
    if shape.cylinder:
        ElementTree.SubElement(geometry, "cylinder", radius=f"{(x + y) / 2:.6g}", length=f"{2 * z:.6g}")
    else:
        ElementTree.SubElement(geometry, "box", size=_text((2 * x, 2 * y, 2 * z)))
    material = ElementTree.SubElement(visual, "material", name=name)
    ElementTree.SubElement(material, "color", rgba=_text(shape.rgba))


def _shapes(model: mujoco.MjModel, body: int) -> tuple[Shape, ...]:
    """A box or cylinder for every visible geom of a body."""
    import mujoco

    found = []
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        if model.geom_group[geom] == COLLISION_GROUP:
            continue
        flat = np.zeros(9)
        mujoco.mju_quat2Mat(flat, model.geom_quat[geom])
        rotation, (middle, size) = flat.reshape(3, 3), model.geom_aabb[geom].reshape(2, 3)
        position, kind = model.geom_pos[geom] + rotation @ middle, int(model.geom_type[geom])
        cylinder = kind in (mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE)
        if kind == mujoco.mjtGeom.mjGEOM_MESH:
            order = np.argsort(size)  # the longest side becomes z
            cylinder = bool("link" in model.body(body).name and size[order[2]] > _LONG * size[order[1]])
            axes = np.eye(3)[:, order]
            if np.linalg.det(axes) < 0:
                axes[:, 0] = -axes[:, 0]
            rotation, size = rotation @ axes, size[order]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, rotation.ravel())
        material = int(model.geom_matid[geom])
        r, g, b, a = (float(c) for c in (model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]))
        found.append(Shape(cylinder, _vector(size), _vector(position), _quaternion(quaternion), (r, g, b, a)))
    return tuple(found)


def _vector(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def _quaternion(values: Array) -> tuple[float, float, float, float]:
    """x, y, z, w from MuJoCo's w, x, y, z."""
    w, x, y, z = (float(v) for v in values)
    return x, y, z, w


def _rpy(quaternion: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """Roll, pitch and yaw about the fixed axes x, y and z, rad."""
    x, y, z, w = quaternion
    pitch = 2 * (w * y - z * x)
    if abs(pitch) > 1 - 1e-9:  # only the sum or the difference of roll and yaw counts
        return 0.0, math.copysign(math.pi / 2, pitch), math.copysign(2 * math.atan2(x, w), -pitch)
    return (
        math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        math.asin(pitch),
        math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )


def _text(values: tuple[float, ...]) -> str:
    return " ".join(f"{v:.9g}" for v in values)
