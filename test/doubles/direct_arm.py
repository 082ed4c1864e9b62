"""Doubles around the real simulator: an arm that steps it directly, and a camera that reads its truth (with noise)."""

import math
from dataclasses import dataclass

import numpy as np

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import Location, load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.geometry.upright_shape import yaw_of
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.scene import load_scene
from planweave.simulation.simulator import Simulator
from planweave.simulation.trajectory import Point
from planweave.simulation.trajectory_controller import SUCCESSFUL


class DirectArm:
    """An `planweave.bodies.arm.arms.base.Arm` on the simulator in this thread; no waiting, no ROS."""

    def __init__(self, simulator, feels=True):
        """feels: whether it reports its joints' torques."""
        self.simulator, self.feels = simulator, feels
        self.world = None
        self.sent = []
        self.begun = 0  # actions

    def state(self):
        q, v = self.simulator.joint_state()
        robot = self.simulator.robot
        n = robot.count
        width, efforts = robot.gripper.width(q[n:].tolist()), self.simulator.efforts()[:n] if self.feels else None
        state = ArmState(self.simulator.time, q[:n], v[:n], width, efforts=efforts)
        if self.world is not None:
            self.world.on_joints(state.positions)
        return state

    def begin(self, deadline):
        self.begun += 1

    def abort(self, code, message):
        """Nothing moves while nobody waits."""

    def check(self):
        self.simulator.step(25)  # who waits, checks

    def follow(self, trajectory, watch=None):
        self.sent.append(trajectory)
        points = [
            Point(float(t), q, v) for t, q, v in zip(trajectory.times, trajectory.positions, trajectory.velocities)
        ]
        ends = []
        self.simulator.controller.follow(self.simulator.robot.joint_names, points, done=ends.append)
        while self.simulator.arm_moving:
            self.simulator.step(10)
            if watch is not None:
                ended = watch(self.state())
                if ended is not None:
                    self.simulator.controller.cancel()
                    while self.simulator.arm_moving:
                        self.simulator.step()
                    raise SkillFailureError(ended.code, ended.message)
        if ends[0].code != SUCCESSFUL:
            raise SkillFailureError(Code.COLLISION, ends[0].text)

    def grip(self, width, force, wait=True):
        self.simulator.move_gripper(width, force)
        while wait and self.simulator.gripper_moving:
            self.simulator.step(10)
        return self.state().width


class Tabletop:
    """Simulator, planning and skills on one scene, in one thread."""

    def __init__(self, scene="blocks", noise=0.0, seed=0, settings=None, planning_scene=None, robot=None):
        robot = robot or load_robot()
        self.scene = load_scene(str(scene))
        self.simulator = Simulator(build_model(self.scene, load_camera(), robot=robot), self.scene, robot)
        self._rng, self._noise = np.random.default_rng(seed), noise
        self.arm = DirectArm(self.simulator)
        domain = Domain.load("tabletop")
        self.planning_scene = planning_scene or PlanningScene(robot=robot)
        kinematics = Kinematics(self.planning_scene.model, robot)
        settings = settings or SkillSettings(observe=robot.observe)
        limits = JointLimits.of(robot).scaled(settings.speed, settings.acceleration)
        safety = Safety(kinematics, limits)
        self.world = WorldModel(
            domain,
            load_workspace("tabletop"),
            kinematics,
            safety,
            actions_off=settings.off,
            look=lambda: self.world.on_detections(self.look(), self.simulator.time + 1e-3),
        )
        self.arm.world = self.world
        planner = MotionPlanner(self.planning_scene, kinematics)
        self.skills = Skills(
            self.arm,
            self.planning_scene,
            ApproachPlanner(self.planning_scene, kinematics, planner, seconds=30.0),
            safety,
            self.world,
            settings,
        )
        self.world.wait_for_detections(0.0, 0.0)

    def look(self):
        """All objects as things."""
        return true_things(self.scene, self.simulator, self.world.domain, self._rng, self._noise)


def names_of(scene):
    """A name for each object of a scene; the second of a kind gets a number."""
    names = []
    for thing in scene.objects:
        name = f"{thing.colour}_{thing.kind}" if thing.kind in ("cube", "cylinder", "bottle") else thing.kind
        count = sum(n == name or n.startswith(f"{name}_") for n in names)
        names.append(f"{name}_{count + 1}" if count else name)
    return names


def true_things(scene, simulator, domain, rng=None, noise=0.0):
    """All objects of a scene where the simulator has them, with Gaussian noise of the position (m)."""
    found = []
    for index, (name, thing) in enumerate(zip(names_of(scene), scene.objects)):
        position, (w, x, y, z) = simulator.object_pose(index)
        size = [*thing.size]
        if len(size) == 1:
            size = [size[0]] * 3 if thing.kind == "cube" else fruit_size(thing.kind, size[0])
        elif len(size) == 2:
            size = [size[0], size[0], size[1]]
        rotation = np.array(rotation_of(w, x, y, z))
        centre = position + rotation @ [0, 0, size[2] / 2]
        extent = np.abs(rotation) @ size if thing.kind != "cube" and abs(rotation[2, 2]) < 0.7 else size
        if noise:
            centre = centre + rng.normal(0, noise, 3)
        kind = domain.type_of_class(thing.kind)
        shape = "hollow" if kind == "container" else "cylinder" if thing.kind in ("cylinder", "bottle") else "box"
        pose = tuple(float(c) for c in centre), tuple(float(s) for s in extent), yaw_of((x, y, z, w))
        found.append(
            Thing(
                name,
                kind,
                thing.kind,
                *pose,
                thing.colour,
                shape,
                visible=bool(centre[2] > -0.1),
                round_class=domain.is_round_class(thing.kind),
            )
        )
    return found


def fruit_size(kind, size):
    """Extents of the fruit shapes, m."""
    return {
        "apple": [size, size, 0.86 * size],
        "orange": [size, size, 0.94 * size],
        "banana": [1.02 * size, 0.37 * size, 0.23 * size],
        "pear": [size, 0.69 * size, 0.64 * size],
        "strawberry": [1.1 * size, 0.84 * size, 0.68 * size],
    }[kind]


def rotation_of(w, x, y, z):
    """Rotation matrix of a quaternion."""
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


@dataclass(frozen=True)
class Placement:
    """One pick and place: error of the place (m), wall time of planning, simulated time of motion (s), failure text."""

    error: float
    planning_seconds: float
    motion_seconds: float
    failure: str = ""


def random_placement(folder, seed, noise=0.001, planning_scene=None):
    """Six cubes at random; the red one is taken and put down at a random free place."""
    rng = np.random.default_rng(seed)
    points = []
    while len(points) < 7:
        x, y = rng.uniform(0.32, 0.68), rng.uniform(-0.42, 0.42)
        if math.hypot(x, y) < 0.74 and all(math.dist((x, y), other) > 0.11 for other in points):
            points.append((x, y))
    target, *cubes = points
    rows = [
        f"  - {{kind: cube, colour: {colour}, position: [{x:.4f}, {y:.4f}], yaw: {rng.uniform(0, 1.57):.3f}}}"
        for colour, (x, y) in zip(("red", "blue", "green", "yellow", "purple", "orange"), cubes)
    ]
    path = folder / "random.yaml"
    path.write_text("\n".join(["description: random cubes", "objects:", *rows]) + "\n")
    table = Tabletop(path, noise=noise, seed=seed, planning_scene=planning_scene)
    table.world.places = (*table.world.places, Location("target", target, (0.03, 0.03), True))
    planning = motion = 0.0
    mover = table.skills.mover
    for action in (Action("grasp", ("red_cube",)), Action("place_at", ("red_cube", "target"))):
        try:
            table.skills.run(action)
        except SkillFailureError as failure:
            return Placement(math.inf, planning, motion, failure.message)
        planning, motion = planning + mover.planning_seconds, motion + mover.motion_seconds
    position, _ = table.simulator.object_pose(0)
    return Placement(math.dist(position[:2], target), planning, motion)
