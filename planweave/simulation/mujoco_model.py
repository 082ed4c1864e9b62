"""MuJoCo model of a scene: table, light, robot with its actuators, camera and objects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planweave.core.base.errors import ConfigError, SceneError
from planweave.robots import RobotDescription, load_robot
from planweave.robots.camera_file import CameraConfig
from planweave.robots.meshes import simplified_spec
from planweave.robots.model import finger_joints, pad_geoms
from planweave.simulation.camera import mujoco_quaternion
from planweave.simulation.fixtures import FIXTURES
from planweave.simulation.scene import Scene, SceneObject, Slip
from planweave.simulation.shapes import KINDS, Kind, add_shape

if TYPE_CHECKING:
    import mujoco

TIMESTEP = 0.002
GRIPPER_STIFFNESS, GRIPPER_DAMPING = 4000.0, 100.0  # N/m and N s/m at one finger
GRIPPER_ACTUATOR = "gripper"
OVERHEAD_CAMERA, SIDE_CAMERA = "overhead", "side"
_OPPOSITE = (1.62, -1.15, 0.98), (0.36, 0.0, 0.22)  # eye and target of the camera of videos, m
_BESIDE = (0.08, -1.42, 1.2), (0.46, 0.06, 0.18)
_OVERLAP = 0.002  # depth at which two objects count as overlapping, m
_PLAY = 1e-4  # m or rad of a part that is locked
_PAD_SOLREF, _PAD_SOLIMP = [0.004, 1.0], [0.95, 0.99, 0.001, 0.5, 2.0]
_MAX_IMAGE = (1280, 960)
_LEGS = 0.72  # height of the table, m


def camera_name(index: int) -> str:
    """Name in the model of one of the cameras that see the table."""
    return f"{OVERHEAD_CAMERA}_{index}" if index else OVERHEAD_CAMERA


def build_model(
    scene: Scene,
    cameras: CameraConfig | Sequence[CameraConfig],
    model_path: str | None = None,
    robot: RobotDescription | None = None,
) -> mujoco.MjModel:
    """Compile a scene. Objects are bodies ``object_<index>`` with a free joint, origin at the centre of their bottom.

    robot: by default the default one; model_path: an MJCF of arm and hand instead of the robot's. Raises
    SceneError where objects overlap each other or the robot; ConfigError where the robot's model is missing, or has no
    link that shall carry a camera.
    """

    robot = robot or load_robot()
    spec = simplified_spec(robot, model_path)
    spec.modelname = scene.name
    for body in spec.bodies:
        body.gravcomp = 1.0
    _set_options(spec)
    _add_room(spec, scene)
    _add_actuators(spec, robot)
    _add_cameras(spec, [cameras] if isinstance(cameras, CameraConfig) else cameras, bool(scene.fixtures))
    for name in pad_geoms(robot):
        pad = spec.geom(name)
        if pad is not None:
            # Rubber: its own friction and a stiff contact hold whatever the object is made of.
            pad.friction, pad.condim, pad.priority = [1.5, 0.02, 0.001], 4, 1
            pad.solref, pad.solimp = _PAD_SOLREF, _PAD_SOLIMP
    for index, entry in enumerate(scene.objects):
        _add_body(spec, object_body(index), entry, KINDS).add_freejoint(name=object_body(index))
    for index, fixture in enumerate(scene.fixtures):
        _add_body(spec, fixture_body(index), fixture, FIXTURES)
    _add_slips(spec, scene, robot)
    _add_noise(spec, scene)
    model = spec.compile()
    for index, fixture in enumerate(scene.fixtures):
        for part in fixture.locked:
            joint, value = model.joint(fixture_body(index, part)), dict(fixture.joints).get(part, 0.0)
            joint.range = value, min(value + _PLAY, joint.range[1])
    _refuse_overlaps(model, scene, robot)
    return model


def _add_body(spec: mujoco.MjSpec, name: str, entry: SceneObject, kinds: Mapping[str, Kind]) -> mujoco.MjsBody:
    turned = [math.cos(entry.yaw / 2), 0, 0, math.sin(entry.yaw / 2)]
    body = spec.worldbody.add_body(name=name, pos=list(entry.position), quat=turned)
    add_shape(spec, body, kinds[entry.kind], entry.size, entry.colour)
    return body


def object_body(index: int) -> str:
    """Name of the body and of the free joint of scene.objects[index]."""
    return f"object_{index}"


def put_object(data: mujoco.MjData, index: int, place: Iterable[float], quaternion: Iterable[float]) -> None:
    """Move scene.objects[index], at rest, to a place (m) and an orientation (w, x, y, z)."""
    joint = data.joint(object_body(index))
    joint.qpos[:], joint.qvel[:] = (*place, *quaternion), 0.0


def off_table(index: int, behind: float = 1.2) -> tuple[float, float, float]:
    """Position of scene.objects[index] once it is taken off the table: on the floor behind the robot, m."""
    return -behind, 0.4 * index, -_LEGS + 0.005


def fixture_body(index: int, part: str = "") -> str:
    """Name of the body of scene.fixtures[index], or of the body and the joint of one of its parts."""
    return "_".join(filter(None, (f"fixture_{index}", part)))


def fixture_parts(scene: Scene) -> list[str]:
    """Names of the joints of all fixtures' parts, in the scene's order."""
    return [fixture_body(i, part) for i, f in enumerate(scene.fixtures) for part in FIXTURES[f.kind].parts]


def home_state(
    model: mujoco.MjModel, robot: RobotDescription | None = None, scene: Scene | None = None
) -> mujoco.MjData:
    """Initial state: objects as in the scene file, arm at home, gripper open. robot: as for `build_model`; scene: whose
    fixtures are open or turned as the file says, else all are closed.
    """
    import mujoco

    robot = robot or load_robot()
    opening = robot.gripper.opening
    data = mujoco.MjData(model)
    for name, value in zip(robot.joint_names, robot.home):
        data.joint(name).qpos[0] = value
        data.actuator(name).ctrl[0] = value
    for name in finger_joints(robot):
        data.joint(name).qpos[0] = opening / 2
    data.actuator(GRIPPER_ACTUATOR).ctrl[0] = opening / 2
    if scene is not None:
        _set_parts(model, data, scene)
    mujoco.mj_forward(model, data)
    return data


def _set_parts(model: mujoco.MjModel, data: mujoco.MjData, scene: Scene) -> None:
    for index, fixture in enumerate(scene.fixtures):
        for part, value in fixture.joints:
            name = fixture_body(index, part)
            most = float(model.joint(name).range[1])
            if value > most:
                raise SceneError(
                    f"{scene.where('fixtures', index)}: {part} goes from 0 to {most:.3g}, not to {value:g}"
                )
            data.joint(name).qpos[0] = value


def _set_options(spec: mujoco.MjSpec) -> None:
    import mujoco

    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    if hasattr(mujoco.mjtEnableBit, "mjENBL_MULTICCD"):  # MuJoCo 3: else meshes would rest on one point
        spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_MULTICCD
    spec.option.impratio = 10.0  # friction stiffer than the normal force: held objects do not creep
    spec.visual.global_.offwidth, spec.visual.global_.offheight = _MAX_IMAGE
    spec.visual.quality.shadowsize = 2048
    spec.visual.headlight.ambient = [0.40, 0.40, 0.40]
    spec.visual.headlight.diffuse = [0.18, 0.18, 0.18]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.visual.map.znear, spec.visual.map.zfar = 0.02, 12.0
    spec.stat.extent, spec.stat.center = 1.0, [0.4, 0.0, 0.2]


def _add_room(spec: mujoco.MjSpec, scene: Scene) -> None:
    import mujoco

    box, world = mujoco.mjtGeom.mjGEOM_BOX, spec.worldbody
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.83, 0.88, 0.93],
        rgb2=[0.52, 0.59, 0.67],
        width=64,
        height=384,
    )
    _add_wood(spec)
    spec.add_material(name="matt", rgba=[1, 1, 1, 1], specular=0.15, shininess=0.2)
    spec.add_material(name="floor", rgba=[0.60, 0.63, 0.67, 1], specular=0.1, shininess=0.1, reflectance=0.06)
    spec.add_material(name="leg", rgba=[0.30, 0.31, 0.33, 1], specular=0.3, shininess=0.4)
    thick, height = 0.036, _LEGS
    (sx, sy), (cx, cy) = scene.table.size, scene.table.centre
    world.add_geom(
        name="table",
        type=box,
        pos=[cx, cy, -thick / 2],
        size=[sx / 2, sy / 2, thick / 2],
        material="wood",
        friction=[0.9, 0.01, 0.0005],
        condim=4,
    )
    for x in (-1, 1):
        for y in (-1, 1):
            world.add_geom(
                type=box,
                pos=[cx + x * (sx / 2 - 0.06), cy + y * (sy / 2 - 0.06), -(height + thick) / 2],
                size=[0.03, 0.03, (height - thick) / 2],
                material="leg",
                contype=0,
                conaffinity=0,
            )
    world.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[0, 0, -height],
        size=[6, 6, 0.1],
        material="floor",
        friction=[0.9, 0.01, 0.0005],
        condim=4,
    )
    world.add_light(
        name="key",
        type=mujoco.mjtLightType.mjLIGHT_SPOT,
        pos=[0.9, -1.3, 2.6],
        dir=[-0.22, 0.5, -1.0],
        castshadow=True,
        diffuse=[0.42, 0.41, 0.395],
        specular=[0.15, 0.15, 0.15],
        cutoff=60,
        exponent=1,
    )
    world.add_light(
        name="fill",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 1, 3],
        dir=[0.15, -0.3, -1.0],
        castshadow=False,
        diffuse=[0.20, 0.21, 0.225],
        specular=[0.0, 0.0, 0.0],
    )


def _add_wood(spec: mujoco.MjSpec) -> None:
    """A wood texture: fine grain along y, planks along x."""
    import mujoco

    rng = np.random.default_rng(7)
    size = 512
    grain = np.cumsum(rng.normal(size=size))
    grain -= np.linspace(grain[0], grain[-1], size)
    rows = np.arange(size)[:, None]
    waves = 3.0 * np.sin(2 * np.pi * (rows / size + rng.uniform(0, 1, size)[None, :] * 0.02))
    shade = 0.45 * grain[None, :] + waves + rng.normal(scale=0.5, size=(size, size))
    planks = np.repeat(rng.normal(scale=3.0, size=8), size // 8)
    shade += planks[None, :]
    shade[:, :: size // 8] -= 14.0
    image = np.clip(np.array([212.0, 198.0, 178.0])[None, None, :] + shade[:, :, None], 0, 255).astype(np.uint8)
    texture = spec.add_texture(name="wood", type=mujoco.mjtTexture.mjTEXTURE_2D, width=size, height=size, nchannel=3)
    texture.data = image.tobytes()
    material = spec.add_material(
        name="wood", rgba=[1, 1, 1, 1], specular=0.1, shininess=0.2, texuniform=True, texrepeat=[1, 1]
    )
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "wood"


def servos(robot: RobotDescription) -> list[tuple[float, ...]]:
    """Actuator parameters of the arm: stiffness (Nm/rad), damping (Nm s/rad) and rotor inertia (kg m^2) for each joint.

    The inertia is that of motors and gears, seen at the joints. Without it the servo's damping outweighs the wrist's
    inertia, and the contact solver, which does not see implicit damping, lets held objects creep with every
    acceleration of the hand.
    """
    return [
        joint.servo or (50.0 * joint.effort, 2.0 * joint.effort, max(0.1, joint.effort / 300)) for joint in robot.joints
    ]


def _add_actuators(spec: mujoco.MjSpec, robot: RobotDescription) -> None:
    import mujoco

    for joint, (kp, kd, inertia) in zip(robot.joints, servos(robot)):
        name, limit = joint.name, joint.effort
        spec.joint(name).armature = inertia
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = kp
        actuator.biasprm[:3] = [0, -kp, -kd]
        actuator.forcelimited, actuator.forcerange = True, [-limit, limit]
    tendon = spec.add_tendon(name="fingers")
    for name in finger_joints(robot):
        tendon.wrap_joint(name, 0.5)
    gripper = spec.add_actuator(name=GRIPPER_ACTUATOR, target="fingers", trntype=mujoco.mjtTrn.mjTRN_TENDON)
    gripper.gaintype, gripper.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    # The tendon is the mean of both fingers, so each finger feels half of the actuator's force.
    gripper.gainprm[0] = 2 * GRIPPER_STIFFNESS
    gripper.biasprm[:3] = [0, -2 * GRIPPER_STIFFNESS, -2 * GRIPPER_DAMPING]
    gripper.forcelimited, gripper.forcerange = True, [-robot.gripper.peak_force, robot.gripper.peak_force]


def _add_cameras(spec: mujoco.MjSpec, cameras: Sequence[CameraConfig], furnished: bool) -> None:
    """The cameras, and that of videos: opposite the robot, or beside it where fronts of furniture face it."""
    for k, camera in enumerate(cameras):
        link = spec.body(camera.parent) if camera.parent else spec.worldbody
        if link is None:
            links = ", ".join(body.name for body in spec.bodies[1:])
            raise ConfigError(f"camera {camera.frame_id}: the robot has no link {camera.parent!r}; it has {links}")
        link.add_camera(name=camera_name(k), pos=camera.position, quat=mujoco_quaternion(camera), fovy=camera.fovy)
    eye, target = np.array(_BESIDE if furnished else _OPPOSITE)
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross([0, 0, 1.0], back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    spec.worldbody.add_camera(name=SIDE_CAMERA, pos=eye, xyaxes=[*right, *up], fovy=37)


def _add_slips(spec: mujoco.MjSpec, scene: Scene, robot: RobotDescription) -> None:
    """Give the fingers separate contact pairs with an object of a slip fault, so that only their friction changes."""
    for slip in (fault for fault in scene.faults if isinstance(fault, Slip)):
        body = spec.body(object_body(slip.object))
        for side, pad in zip(("left", "right"), pad_geoms(robot)):
            if spec.geom(pad) is None:
                where = scene.where("objects", slip.object)
                raise SceneError(f"{where}: a slip fault needs the default robot model's finger pads")
            for geom in body.geoms:
                if geom.contype:
                    spec.add_pair(
                        name=f"slip_{slip.object}_{side}_{geom.name}",
                        geomname1=pad,
                        geomname2=geom.name,
                        condim=4,
                        solref=_PAD_SOLREF,
                        solimp=_PAD_SOLIMP,
                        friction=[1.5, 1.5, 0.02, 0.001, 0.001],
                    )


def _add_noise(spec: mujoco.MjSpec, scene: Scene) -> None:
    """Vary mass and friction of every object."""
    noise = scene.noise
    rng = np.random.default_rng(noise.seed)
    for index in range(len(scene.objects)):
        mass, friction = 1 + rng.uniform(-1, 1, 2) * (noise.mass, noise.friction)
        for geom in spec.body(object_body(index)).geoms:
            geom.mass *= mass
            geom.friction *= friction


def _refuse_overlaps(model: mujoco.MjModel, scene: Scene, robot: RobotDescription) -> None:
    data = home_state(model, robot, scene)
    ours = {model.body(object_body(i)).id: ("objects", i, entry) for i, entry in enumerate(scene.objects)}
    ours |= {model.body(fixture_body(i)).id: ("fixtures", i, entry) for i, entry in enumerate(scene.fixtures)}
    for contact in data.contact:
        if contact.dist > -_OVERLAP:
            continue
        roots = (int(model.body_rootid[model.geom_bodyid[g]]) for g in contact.geom)
        a, b = sorted(roots)
        if b not in ours or a == b:
            continue
        deep = -contact.dist * 1000
        if a in ours:
            table, index, entry = ours[a]
            problem = f"overlaps {table}[{index}] (line {entry.line}) by {deep:.0f} mm"
            remedy = "move one of them, or give the upper one a height: position: [x, y, height of its bottom]"
        elif a > 0:
            problem = f"overlaps the robot by {deep:.0f} mm"
            remedy = "the robot stands at x = 0, y = 0; move the object away from it"
        else:
            problem, remedy = f"is sunk into the table by {deep:.0f} mm", "give it a greater height"
        raise SceneError(f"{scene.where(*ours[b][:2])}: {problem}; {remedy}")
