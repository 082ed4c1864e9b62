"""The whole kitchen in one thread, without ROS: simulator, cameras, perception, arm and skills."""

import copy
from dataclasses import replace

import mujoco
import numpy as np

from doubles.direct_arm import DirectArm
from doubles.kitchen_cameras import NAMES, SeenKitchen
from planweave.bench.kitchen_tasks import part_name
from planweave.bench.tabletop_tasks import scene_bodies
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.contents import Contents
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.retries import read_retries
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import NEEDS_EYE, SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.confirmation import confirm
from planweave.core.workflow.ports import Look
from planweave.perception.calibration import eye_of
from planweave.perception.joint_history import JointHistory
from planweave.perception.pipeline import PipelineLimits
from planweave.simulation.trajectory_controller import TrajectoryController

_RETRIES = ["NO_GRASP 1 other_grasp", "GRASP_LOST 1 look_again", "PLANNING_FAILED 1 back_off", "COLLISION 1 back_off"]
_FRAME = 0.25  # s between two images
_STANDS = 0.01  # rad: joints that differ by less rest
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION.value


def _copied(known):
    """Attributes of a world, of which all but its collections and contents never change."""
    return {n: v.copy() if isinstance(v, Contents) else copy.copy(v) for n, v in known.items()}


class SeeingWorld(WorldModel):
    """A world model of which all that it knows can be kept."""

    def kept(self):
        """What is known now, by attribute."""
        given = (
            *("domain", "places", "_kinematics", "_safety", "on_change", "_builder", "_things_of"),
            *("_changed", "_look"),
        )
        return _copied({name: value for name, value in vars(self).items() if name not in given})


class SeeingKitchen(SeenKitchen):
    """The kitchen with its arm. `check` says what the look at a task's end makes of a goal."""

    def __init__(self, fixtures=None, moving_images=0.5, cameras=NAMES, **settings):
        """moving_images: s between images while the arm moves, 0 for none: they cost time."""
        super().__init__(fixtures, cameras)
        self.perceiver.pipeline.settings = PipelineLimits(glowing_burners=True)  # as config/kitchen.yaml has it
        robot, self._moving_images = self.simulator.robot, moving_images
        self.data.qpos[:] = self.simulator._start
        self._joints, self._image_at, self._result = JointHistory(4000, robot=robot), -1.0, None
        self.arm, self.domain = _WatchedArm(self), Domain.load("kitchen")
        scene = PlanningScene(robot=robot)
        kinematics = Kinematics(scene.model, robot)
        given = {"retries": read_retries(_RETRIES), "observe": robot.observe, "planning_seconds": 5.0}
        eye = eye_of("wrist", robot) if "wrist" in cameras else None
        settings = SkillSettings(domain=self.domain, eye=eye, **{**given, **settings})
        limits = JointLimits.of(robot).scaled(settings.speed, settings.acceleration)
        safety = Safety(kinematics, limits)
        off = NEEDS_EYE if eye is None else frozenset()
        self.world = SeeingWorld(
            self.domain, load_workspace("kitchen"), kinematics, safety, look=self.see, actions_off=off
        )
        self.arm.world = self.world
        reaching = ApproachPlanner(scene, kinematics, MotionPlanner(scene, kinematics), 5.0)
        self.skills = Skills(self.arm, scene, reaching, safety, self.world, settings)
        self.body = ArmBody(self.domain, self.world, self.arm, self.skills)
        self.begun, self.meanwhile = 0.0, lambda: None  # called before each look: what a person does

    def start_over(self):
        """All as it was at first, with the arm out of the way, and nothing known."""
        simulator = self.simulator
        simulator.reset()
        self.data = simulator._data
        self.data.qpos[simulator._arm] = self.data.ctrl[simulator._arm_ctrl] = simulator.robot.observe
        robot = simulator.robot
        simulator.controller = TrajectoryController(robot, simulator.timestep, np.array(robot.observe))
        self._joints = JointHistory(4000, robot=simulator.robot)
        self.perceiver.forget()
        self.world.clock_restarted()

    def kept(self):
        """The simulator's state, and all that perception and the world know now."""
        state = np.empty(mujoco.mj_stateSize(self.simulator.model, _STATE))
        mujoco.mj_getState(self.simulator.model, self.data, state, _STATE)
        return state, copy.deepcopy(self.perceiver), self._looks, self.world.kept()

    def go_back(self, kept):
        """All as it was when that was kept."""
        self.start_over()
        state, perceiver, self._looks, known = kept
        self.perceiver = copy.deepcopy(perceiver)
        mujoco.mj_setState(self.simulator.model, self.data, state, _STATE)
        mujoco.mj_forward(self.simulator.model, self.data)
        vars(self.world).update(_copied(known))
        self.felt()

    def hand_over(self, name, place):
        """Have perception and the arm believe that the hand has let a thing go at a place, m: of its lower side."""
        track = next(t for t in self.perceiver.tracker.tracks if t.name == name)
        thing = next(t for t in self.world.things() if t.name == name)
        at = (*place[:2], place[2] + track.last.size[2] / 2)
        track.last, track.carried = replace(track.last, position=at), True
        self.world.grasped(Held(thing, np.eye(4), 0.05))
        self.world.released(replace(thing, position=(*place[:2], place[2] + thing.size[2] / 2)))

    def felt(self):
        """The arm's joints now, as perception hears of them."""
        robot = self.simulator.robot
        positions, _ = self.simulator.joint_state()
        self._joints.add(
            self.simulator.time, dict(zip([*robot.joint_names, *robot.gripper.joints], positions.tolist()))
        )
        return positions

    def see(self, times=1):
        """Wait for images, and tell the world what they show."""
        for _ in range(times):
            self.simulator.step(max(1, round(_FRAME / self.simulator.timestep)))
            self.felt()
            self.image()
        return self._result

    def image(self):
        """Look now."""
        self.meanwhile()
        now = self.simulator.time
        state, qpos = self._joints.at(now), self.simulator.snapshot().qpos
        way = self._joints.between(self.perceiver.stamp, now)
        newest = [s for s in way if s.stamp > now - 0.1]
        moves = any(max(abs(a - b) for a, b in zip(s.joints, state.joints)) > _STANDS for s in newest)
        self._image_at, self._looks = now, self._looks + 1
        views = [self._view(name, now, qpos, state) for name in (self._eyes if not moves else ["overhead"])]
        above, *sides = views
        of = above.rgb, above.depth, above.intrinsics, state, way, None if moves else sides
        result = self._result = self.perceiver.process(now, *of)
        camera = tuple(result.projector.camera_to_frame.translation.tolist())
        self.world.on_seen((o.seen() for o in result.objects), result.fixtures, now, camera)

    def moving(self):
        """While the arm moves."""
        self.felt()
        if 0 < self._moving_images < self.simulator.time - self._image_at:
            self.image()

    def run(self, action):
        """What comes of an action."""
        return self.body.execute(action, timeout=1e6)

    def missing(self, task):
        """What a task of the bench asks for and is not so in the simulator."""
        scene = self.simulator.scene
        poses = [self.simulator.object_pose(index) for index in range(len(scene.objects))]
        bodies = scene_bodies(scene, [(place, (x, y, z, w)) for place, (w, x, y, z) in poses])
        parts = {part_name(name): value for name, value in self.simulator.fixture_joints().items()}
        return task.missing(scene, parts, bodies)

    def check(self, *goal, times=3):
        """What the look at a task's end makes of facts, "in mug cupboard"."""
        self.see(times)
        literals = [Literal(name, tuple(args)) for name, *args in map(str.split, goal)]
        return confirm(Look(self.world.world(), True), literals, self.begun)


class _WatchedArm(DirectArm):
    """An arm of which joint states and images are taken while it moves."""

    def __init__(self, kitchen):
        super().__init__(kitchen.simulator)
        self._kitchen = kitchen

    def state(self):
        self._kitchen.felt()
        return super().state()

    def follow(self, trajectory, watch=None):
        def watched(state):
            self._kitchen.moving()
            return watch(state) if watch is not None else None

        super().follow(trajectory, watched)

    def grip(self, width, force, wait=True):
        self.simulator.move_gripper(width, force)
        while wait and self.simulator.gripper_moving:
            self.simulator.step(10)
            self._kitchen.felt()
        return self.state().width
