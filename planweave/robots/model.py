"""A robot as a MuJoCo model: from an MJCF file, from the meshes that its description names, or made of its capsules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.robots.chain import quaternion, transform
from planweave.robots.description import RobotDescription

if TYPE_CHECKING:
    import mujoco

TCP_SITE = "tcp"
VISUAL_GROUP, COLLISION_GROUP = 2, 3
_PAD = (0.0088, 0.0072, 0.0091)  # half extents of a finger's pad along tool x, y and z, m
_GREY, _DARK = [0.62, 0.66, 0.70, 1.0], [0.25, 0.26, 0.28, 1.0]


def robot_spec(robot: RobotDescription, model_path: str | None = None) -> mujoco.MjSpec:
    """Arm and gripper as an editable MuJoCo model, without actuators and without gravity compensation.

    The base is at the origin of the world. Joints and bodies have the names of the description, the joints its limits;
    each finger slides from 0 (the pads meet) to half of the opening. A site ``tcp`` lies between the pads with z along
    the approach and y along the closing direction. Geoms of group 2 are seen, geoms of group 3 collide.

    model_path: an MJCF file of arm and gripper to use instead of what the description says.
    Raises ConfigError where meshes or a file are missing, or a file holds no such robot.
    """
    from planweave.robots import franka

    if model_path:
        spec = _spec_from_file(robot, Path(model_path))
    elif robot.model == franka.MESH_WHEEL:
        spec = franka.spec_from_wheel(robot)
    elif robot.model:
        spec = _spec_from_file(robot, robot.file.parent / robot.model)
    else:
        spec = _spec_from_capsules(robot)
    for joint in robot.joints:
        spec.joint(joint.name).range = list(joint.position)
    for name in finger_joints(robot):
        spec.joint(name).range = [0.0, robot.gripper.opening / 2]
    for body in spec.bodies:
        body.gravcomp = 0.0
    return spec


def finger_joints(robot: RobotDescription) -> tuple[str, str]:
    """Names of the joints along which the model's fingers slide."""
    first, second = robot.gripper.fingers
    joints = robot.gripper.joints
    return (joints[0], joints[1]) if len(joints) == 2 else (f"{first}_slide", f"{second}_slide")


def set_damping(joint: mujoco.MjsJoint, value: float) -> None:
    """Set a joint's damping, which is a list in newer versions of MuJoCo."""
    if hasattr(joint.damping, "__len__"):
        joint.damping[0] = value
    else:
        joint.damping = value


def pad_geoms(robot: RobotDescription) -> tuple[str, str]:
    """Names of the geoms of the finger pads; a user's own model may have none."""
    first, second = robot.gripper.fingers
    return f"{first}_pad", f"{second}_pad"


# ---- from a file --------------------------------------------------------------------------------------------------


def _spec_from_file(robot: RobotDescription, path: Path) -> mujoco.MjSpec:
    """A user's own model, its joints and bodies renamed to the description's."""
    import mujoco

    if not path.is_file():
        raise ConfigError(f"no robot model at {path}: give the path of an MJCF file of the arm with its gripper")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise ConfigError(f"{path}: not a model that MuJoCo can read: {error}") from error
    for element in [*spec.actuators, *spec.sensors, *spec.keys]:
        spec.delete(element)
    joints = (*robot.joint_names, *finger_joints(robot))
    for joint in spec.joints:
        joint.name = _ours(robot, joint.name, joints)
    for body in spec.bodies:
        body.name = _ours(robot, body.name, robot.links)
    for equality in spec.equalities:
        equality.name1, equality.name2 = (_ours(robot, n, joints) for n in (equality.name1, equality.name2))
    names = {joint.name for joint in spec.joints}
    missing = [name for name in joints if name not in names]
    hand = spec.body(robot.gripper.link)
    if missing or hand is None:
        wanted = ", ".join(name.removeprefix(robot.prefix) for name in joints)
        lacks = ", ".join(missing) or f"body called {robot.gripper.link.removeprefix(robot.prefix)}"
        raise ConfigError(
            f"{path}: not a {robot.title} with its gripper: no {lacks} (joints {wanted} are needed, with any prefix; "
            "in MuJoCo Menagerie use a model with a hand)"
        )
    if spec.site(TCP_SITE) is None:
        _add_tcp(robot, hand)
    return spec


def _ours(robot: RobotDescription, name: str, known: tuple[str, ...] | frozenset[str]) -> str:
    """The description's name for one in a model with another prefix, or as it is where it is none of the robot's."""
    bare = {other.removeprefix(robot.prefix): other for other in known}
    for short in sorted(bare, key=len, reverse=True):  # finger_joint1 before joint1
        if re.search(rf"(?:^|_){re.escape(short)}$", name) or name.replace("_", "").endswith(short.replace("_", "")):
            return bare[short]
    return name


def _add_tcp(robot: RobotDescription, hand: mujoco.MjsBody) -> None:
    tool = robot.gripper.tool
    hand.add_site(name=TCP_SITE, pos=tool.xyz, quat=quaternion(tool.rpy), group=4)


# ---- from the description -----------------------------------------------------------------------------------------


def _spec_from_capsules(robot: RobotDescription) -> mujoco.MjSpec:
    """Links as capsules, fingers as boxes: enough for kinematics, collision checks and a plain simulation."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    body = spec.worldbody.add_body(name=robot.base)
    _add_capsules(robot, body)
    for joint in robot.joints:
        body = body.add_body(name=joint.link, pos=joint.xyz, quat=quaternion(joint.rpy))
        body.add_joint(name=joint.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1], limited=True)
        _add_capsules(robot, body)
    body = body.add_body(name=robot.flange.link, pos=robot.flange.xyz, quat=quaternion(robot.flange.rpy))
    hand = body.add_body(name=robot.gripper.link, pos=robot.gripper.xyz, quat=quaternion(robot.gripper.rpy))
    _add_capsules(robot, hand)
    _add_tcp(robot, hand)
    for side, name, joint_name in zip((1.0, -1.0), robot.gripper.fingers, finger_joints(robot)):
        _add_finger(robot, hand, side, name, joint_name)
    first, second = finger_joints(robot)
    equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=first, name2=second)
    equality.data[:5] = [0, 1, 0, 0, 0]
    # MuJoCo lets links that share a joint pass through each other, unless one of them stands still with the world.
    spec.add_exclude(bodyname1=robot.base, bodyname2=robot.joints[0].link)
    return spec


def _add_capsules(robot: RobotDescription, body: mujoco.MjsBody) -> None:
    import mujoco

    capsules = [capsule for capsule in robot.capsules if capsule.link == body.name]
    if not capsules and any(joint.link == body.name for joint in robot.joints):
        raise ConfigError(
            f"{robot.file}: capsules has none for {body.name}, and without a model each moving link needs one"
        )
    for index, capsule in enumerate(capsules):
        short = np.linalg.norm(np.subtract(capsule.end, capsule.start)) < 1e-6
        where = {"pos": capsule.start} if short else {"fromto": [*capsule.start, *capsule.end]}
        kind = mujoco.mjtGeom.mjGEOM_SPHERE if short else mujoco.mjtGeom.mjGEOM_CAPSULE
        names = f"{body.name}_visual{index}", f"{body.name}_collision{index}"
        _add_geoms(body, names, 700.0, type=kind, size=[capsule.radius, 0, 0], rgba=_GREY, **where)


def _add_geoms(body: mujoco.MjsBody, names: tuple[str, str], density: float, **shape: Any) -> None:
    """Add a shape twice: to be seen, and to collide."""
    for name, group in zip(names, (VISUAL_GROUP, COLLISION_GROUP)):
        solid = group == COLLISION_GROUP
        body.add_geom(
            name=name, group=group, contype=int(solid), conaffinity=int(solid), density=density * solid, **shape
        )


def _add_finger(robot: RobotDescription, hand: mujoco.MjsBody, side: float, name: str, joint_name: str) -> None:
    """A finger that slides along the tool's y: its pad at the tool, its root up to the hand."""
    import mujoco

    gripper = robot.gripper
    tool = transform(gripper.tool.xyz, gripper.tool.rpy)
    thickness, across = gripper.finger_size
    body = hand.add_body(name=name, pos=gripper.tool.xyz, quat=quaternion(gripper.tool.rpy))
    joint = body.add_joint(name=joint_name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0.0, side, 0.0], limited=True)
    set_damping(joint, 10.0)
    length = float(np.linalg.norm(tool[:3, 3]))  # of the tool from the hand
    pad = (_PAD[0], thickness / 2, _PAD[2])
    root = (across, thickness / 2, max(0.005, (length / 2 + gripper.tip) / 2 - _PAD[2]))
    middle = gripper.tip - 2 * _PAD[2] - root[2]
    for part, half, height in (("pad", pad, gripper.tip - _PAD[2]), ("root", root, middle)):
        names, at = (f"{name}_{part}_visual", f"{name}_{part}"), [0.0, side * half[1], height]
        _add_geoms(body, names, 1500.0, type=mujoco.mjtGeom.mjGEOM_BOX, pos=at, size=half, rgba=_DARK)
