"""Planweave as a policy: the instruction is a task, which its perception, planner and skills carry out step by step.

For embodiments with absolute joint positions and a gripper (0 closed to 1 open) as actions and as the state
`joint_pos`, and cameras whose depth (m) comes in `extra["depth"]`, with the names or paths of their camera files in
`extra["camera"]`; `extra["domain"]`, where there is one, names what is at hand: tabletop or kitchen. The task runs in a
thread that gets each observation and gives the next target. When it has ended, the arm holds.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from inspect_robots.embodiment import EmbodimentInfo
from inspect_robots.errors import PolicyError
from inspect_robots.policy import PolicyBase, PolicyConfig, PolicyInfo
from inspect_robots.scene import Scene
from inspect_robots.spaces import ActionSemantics, Box, ObservationSpace
from inspect_robots.types import Action, ActionChunk, Observation

import planweave as pw
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import AWAY, ArmState, Desired, Done, MotionResult
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.retries import read_retries
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits, Trajectory
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.workflow.ports import Look
from planweave.goals import RuleFile
from planweave.perception.calibration import Extrinsics, load_extrinsics
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics
from planweave.perception.perceiver import Perceiver
from planweave.perception.robot_filter import RobotState
from planweave.robots import RobotDescription, load_robot
from planweave.robots.camera_file import load_camera

_HZ = 20.0  # where the embodiment does not say
_THERE, _STILL = 0.01, 0.02  # rad and rad/s by which a motion has ended
_LATE = 3.0  # s after its end at which a motion has failed
_FINGERS_REST, _MOST = 0.002, 3.0  # m between two observations of resting fingers; s for a movement of theirs
_WAIT = 300.0  # s of wall time for the next observation, and for the next action
_LOOK = 60.0  # s of wall time to see where a thing was put
_FORCE = 20.0  # N


class PlanweavePolicy(PolicyBase):
    """camera: its name among the images; the others are looked at while the arm rests. robot: name of a description.
    method: of planning; model: as for pw.run; rules: file of rules in plain words (docs/rules.md), by default that of
    the nodes.
    """

    config = PolicyConfig()

    def __init__(
        self,
        camera: str = "overhead",
        robot: str = "fr3",
        method: str = "classical",
        model: str = "none",
        rules: str = "",
    ) -> None:
        self._rules = RuleFile(rules)
        self._rules.in_force()  # so that a wrong one is told before anything moves
        self._camera, self._robot, self._method, self._model = camera, load_robot(robot), method, model
        self._session: _Session | None = None
        self._hz = _HZ
        self.info = PolicyInfo(
            "planweave",
            Box((self._robot.count + 1,), semantics=ActionSemantics("joint_pos", gripper="continuous")),
            ObservationSpace(state_keys=frozenset({"joint_pos"})),
        )

    def bind(self, embodiment_info: EmbodimentInfo) -> None:
        """Take the rate of the embodiment."""
        self._hz = embodiment_info.control_hz or _HZ
        self.info = replace(self.info, action_space=embodiment_info.action_space)

    def reset(self, scene: Scene) -> None:
        """End the task before, and begin the next one with the next observation."""
        self.close()
        self._scene = scene

    def act(self, observation: Observation) -> ActionChunk:
        """The next target; raises PolicyError where the observation cannot be used."""
        if self._session is None:
            self._session = _Session(self, observation.instruction or self._scene.instruction, observation)
        return ActionChunk([Action(self._session.next(observation))], control_hz=self._hz)

    def transcript(self) -> Any:
        result = self._session.result if self._session is not None else None
        return None if result is None else {"state": result.state.name, "steps": str(result).splitlines()}

    def close(self) -> None:
        if self._session is not None:
            self._session.end()
            self._session = None


class _Session:
    """One task in a thread of its own. next() and the thread take turns."""

    def __init__(self, policy: PlanweavePolicy, sentence: str, first: Observation) -> None:
        self.robot, self.camera, self.hz, self.rules = policy._robot, policy._camera, policy._hz, policy._rules
        self.result: pw.Result | None = None
        self._inbox: queue.Queue[Observation | None] = queue.Queue()
        self._outbox: queue.Queue[np.ndarray] = queue.Queue()
        self._over, self._failed = threading.Event(), ""
        self._target = _joints(first, self.robot.count)
        if self.camera not in first.images or self.camera not in first.extra.get("depth", {}):
            raise PolicyError(f"Planweave needs the camera {self.camera!r} with depth in extra['depth']")
        self.newest = first
        self._thread = threading.Thread(
            target=self._run, args=(sentence, policy._method, policy._model), name="planweave", daemon=True
        )
        self._begun = False

    def next(self, observation: Observation) -> np.ndarray:
        if self._over.is_set():
            return self._target
        if not self._begun:
            self._begun = True
            self._thread.start()
        else:
            self._inbox.put(observation)
        end = time.monotonic() + _WAIT
        while time.monotonic() < end and not (self._over.is_set() and self._outbox.empty()):
            try:
                self._target = self._outbox.get(timeout=0.05)
                return self._target
            except queue.Empty:
                continue
        if self._failed or not self._over.is_set():
            raise PolicyError(f"Planweave: {self._failed or f'no action within {_WAIT:g} s'}")
        return self._target

    def exchange(self, target: np.ndarray) -> Observation:
        """Give a target, and wait for the observation after it; raises SkillFailureError where the trial is over."""
        if self._over.is_set():
            raise SkillFailureError(Code.CANCELED, "the trial is over")
        self._outbox.put(target)
        try:
            found = self._inbox.get(timeout=_WAIT)
        except queue.Empty:
            found = None
        if found is None:
            self._over.set()
            raise SkillFailureError(Code.CANCELED, "the trial is over")
        self.newest = found
        return found

    def end(self) -> None:
        self._over.set()
        self._inbox.put(None)
        if self._begun:
            self._thread.join(_WAIT)

    def _run(self, sentence: str, method: str, model: str) -> None:
        try:
            body = _body(self)
            self.result = pw.run(sentence, body=body, method=method, model=model, timeout=3600.0)
        except Exception as error:
            self._failed = f"{type(error).__name__}: {error}"
        finally:
            self._over.set()


class _Targets:
    """A `planweave.bodies.arm.arms.base.Follower` that gives a target a step."""

    away, off, grace, settle = AWAY, math.inf, math.inf, 0.0

    def __init__(self, period: float, hold: np.ndarray) -> None:
        self._period, self.hold = period, hold
        self._goals: list[np.ndarray] = []
        self._end, self._left, self._done = hold, 0, lambda outcome: None

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        """Follow a trajectory from the next step on."""
        times = np.arange(1, max(1, math.ceil(trajectory.duration / self._period)) + 1) * self._period
        columns = [np.interp(times, trajectory.times, column) for column in trajectory.positions.T]
        self._goals = list(np.stack(columns, axis=1))
        self._end, self._left, self._done = trajectory.end, round(_LATE / self._period), done

    def stop(self) -> str:
        """Hold the newest target."""
        self._goals = []
        return ""

    def step(self) -> np.ndarray:
        if self._goals:
            self.hold = self._goals.pop(0)
        return self.hold

    def stepped(self, state: ArmState) -> None:
        """Process the state after a step."""
        if self._goals:
            return
        error = float(np.abs(state.positions - self._end).max())
        done = self._done
        if error < _THERE and np.abs(state.velocities).max() < _STILL:
            done(MotionResult(Code.SUCCESS))
        elif self._left <= 0:
            done(MotionResult(Code.CONTROL_FAILED, f"a joint is {error:.3f} rad away {_LATE:g} s after its motion"))
        self._left -= 1


class _NormalizedGripper:
    """A `planweave.bodies.arm.arms.base.Gripper` of openings between 0 and 1."""

    grace, settle = math.inf, 0.0

    def __init__(self, widest: float, period: float) -> None:
        self._widest, self._period, self.share = widest, period, 1.0
        self._waited, self._before, self._done = 0.0, math.inf, lambda outcome: None

    def start(self, width: float, force: float, done: Done) -> None:
        """Move to an opening, m."""
        self.share = min(max(width / self._widest, 0.0), 1.0)
        self._waited, self._before, self._done = 0.0, math.inf, done

    def stop(self) -> None:
        """Does nothing: fingers stop at what they hold."""

    def stepped(self, state: ArmState) -> None:
        """Process the state after a step."""
        self._waited += self._period
        rests = self._waited > 0.5 and abs(state.width - self._before) < _FINGERS_REST
        self._before = state.width
        if rests or self._waited > _MOST:
            self._done(MotionResult(Code.SUCCESS))


@dataclass(frozen=True)
class _Camera:
    extrinsics: Extrinsics
    intrinsics: Intrinsics

    @classmethod
    def load(cls, file: str, robot: RobotDescription) -> _Camera:
        config = load_camera(file)
        intrinsics = Intrinsics.of_view(config.fovy, config.width, config.height)
        return cls(load_extrinsics(file, robot), intrinsics)


class _SteppedWorldModel(WorldModel):
    """Sees with each new picture that is taken while the arm rests. step: lets time pass."""

    step: Any = None

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Let time pass until there is a newer picture."""
        end = time.monotonic() + seconds
        while (seen := super().wait_for_detections(after, 0.0)) is None and time.monotonic() < end:
            self.step()
        return seen


class _Body(ArmBody):
    world: _SteppedWorldModel

    def look(self, seconds: float) -> Look:
        """The world with a picture taken from now on."""
        stamp = self.world.wait_for_detections(self.arm.state().stamp, max(seconds, _LOOK))
        return Look(self.world.world(), stamp is not None, "" if stamp is not None else "no picture came")


def _body(session: _Session) -> ArmBody:
    robot, period = session.robot, 1.0 / session.hz
    name = str(session.newest.extra.get("domain", "tabletop"))
    domain, scene = session.rules.load(name), PlanningScene(robot=robot)
    kinematics = Kinematics(scene.model, robot)
    safety = Safety(kinematics, JointLimits.of(robot).scaled(0.4, 0.8))
    targets, fingers = _Targets(period, _state(session).positions), _NormalizedGripper(robot.gripper.opening, period)
    world = _SteppedWorldModel(
        domain, load_workspace(name), kinematics, safety, detection_timeout=math.inf, joint_state_timeout=math.inf
    )
    cameras = {each: _Camera.load(str(file), robot) for each, file in session.newest.extra["camera"].items()}
    main = cameras.pop(session.camera)
    perceiver = Perceiver(main.extrinsics, domain=domain)
    seen = [-math.inf]

    def sense() -> ArmState:
        state, newest = _state(session), session.newest
        world.on_joints(state.positions)
        stamp = newest.image_times.get(session.camera, newest.state_time)
        if stamp > seen[0] and state.still:
            seen[0] = stamp
            depths = newest.extra["depth"]
            hand = RobotState(tuple(state.positions.tolist()), state.width, stamp, robot)
            sides = [
                DepthView(
                    name, newest.images[name], depths[name], each.intrinsics, each.extrinsics.camera_to_base(hand)
                )
                for name, each in cameras.items()
            ]
            rgb, depth = newest.images[session.camera], depths[session.camera]
            found = perceiver.process(stamp, rgb, depth, main.intrinsics, hand, sides=sides)
            world.on_seen((each.seen() for each in found.objects), found.fixtures, stamp)
        return state

    def step() -> None:
        session.exchange(np.array([*targets.step(), fingers.share]))
        state = sense()
        arm.on_state(state)
        targets.stepped(state)
        fingers.stepped(state)

    arm = ControlledArm(targets, fingers, math.inf, robot, step=step)
    arm.on_state(sense())
    world.step = step
    while not world.things() or perceiver.deciding:  # two pictures make a thing
        step()
    settings = SkillSettings(
        domain=domain,
        observe=robot.observe,
        grip_force=_FORCE,
        verify_seconds=_LOOK,
        image_seconds=_LOOK,
        retries=read_retries(("NO_GRASP 1 other_grasp", "GRASP_LOST 1 look_again", "PLANNING_FAILED 1 back_off")),
        off=frozenset({"hand_over"}),
    )
    reaching = ApproachPlanner(scene, kinematics, MotionPlanner(scene, kinematics))
    return _Body(domain, world, arm, Skills(arm, scene, reaching, safety, world, settings))


def _joints(observation: Observation, count: int) -> np.ndarray:
    joints = np.asarray(observation.state.get("joint_pos", ()), dtype=float)
    if joints.shape != (count + 1,):
        raise PolicyError(f"Planweave needs the state joint_pos of {count} joints and the gripper, got {joints.shape}")
    return joints


def _state(session: _Session) -> ArmState:
    observation, count = session.newest, session.robot.count
    joints = _joints(observation, count)
    velocity = np.asarray(observation.state.get("joint_vel", np.zeros(count)), dtype=float)
    width = float(joints[count]) * session.robot.gripper.opening
    return ArmState(observation.state_time, joints[:count], velocity, width)
