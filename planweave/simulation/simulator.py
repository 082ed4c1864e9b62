"""The simulated robot and table: steps physics, drives the arm as its controller says, moves the gripper, resets.

Without ROS and rendering.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planweave.robots import RobotDescription, load_robot
from planweave.robots.model import finger_joints
from planweave.simulation.intervention import Hands, Intervention
from planweave.simulation.mujoco_model import GRIPPER_ACTUATOR, fixture_parts, home_state, object_body, servos
from planweave.simulation.person import Person
from planweave.simulation.scene import Scene
from planweave.simulation.slips import Slips
from planweave.simulation.trajectory import TrajectoryError
from planweave.simulation.trajectory_controller import TrajectoryController
from planweave.simulation.vanishing import Vanishing

if TYPE_CHECKING:
    import mujoco

FINGER_SPEED = 0.05  # of each finger, m/s
GRIP_FORCE = 40.0  # of each finger where none is commanded, N
SETTLE_TIME = 1.0  # objects come to rest for this long after a scene is loaded, s
_FINGERS_AT_REST = 0.002  # m/s
_FINGERS_STILL_FOR = 0.05  # s
_AT_REST = 1e-4  # m/s and rad/s: nothing moves; resting contacts keep up to 5e-6
_MAX_SETTLING = 0.3  # a motion of the fingers counts as ended this long after its reference, s
_REACHED = 0.001  # m by which the opening may differ from the commanded one


Gripped = Callable[[bool | None], None]
"""Called when a movement of the fingers has ended: whether they are as far open as they shall be, else something holds
them; None where another movement has taken its place, or a reset.
"""


@dataclass(frozen=True)
class Snapshot:
    """A state to render. time: simulated, s; qpos as in MjData."""

    time: float
    qpos: np.ndarray


class Simulator:
    """A running simulation of one scene. Not thread-safe: the caller serializes all calls."""

    def __init__(self, model: mujoco.MjModel, scene: Scene, robot: RobotDescription | None = None):
        """robot: whose arm the model holds; by default the default one."""
        import mujoco

        self.model, self.scene = model, scene
        self.robot = robot = robot or load_robot()
        self._widest = robot.gripper.opening
        self._arm = np.array([model.joint(name).qposadr[0] for name in robot.joint_names])
        self._arm_dof = np.array([model.joint(name).dofadr[0] for name in robot.joint_names])
        self._fingers = np.array([model.joint(name).qposadr[0] for name in finger_joints(robot)])
        self._fingers_dof = np.array([model.joint(name).dofadr[0] for name in finger_joints(robot)])
        self._arm_ctrl = np.array([model.actuator(name).id for name in robot.joint_names])
        self._gripper = model.actuator(GRIPPER_ACTUATOR).id
        self._stiffness, damping, _ = np.array(servos(robot)).T
        self._lead = damping / self._stiffness
        self._inertia_in, self._inertia_out = np.zeros(model.nv), np.zeros(model.nv)
        self._slips, self._vanishing = Slips(model, scene, robot), Vanishing(model, scene)
        self._person = Person(model, scene, robot)
        self._hands = Hands(model)
        self._data = home_state(model, robot, scene)
        self._parts = fixture_parts(scene)
        self._fatal = [
            mujoco.mjtWarning.mjWARN_BADQPOS,
            mujoco.mjtWarning.mjWARN_BADQVEL,
            mujoco.mjtWarning.mjWARN_BADQACC,
        ]
        self.motions_ended = 0
        """Grows by one whenever a commanded motion of the arm or the gripper has come to rest."""
        self._finger_rest_at: float | None = None
        self._gripped: Gripped | None = None
        self.controller = TrajectoryController(robot, self.timestep, np.array(robot.home))
        """Of the arm."""
        self._idle()
        self._settle()
        self._data.time = 0.0
        self._start = self._data.qpos.copy()

    def reset(self) -> None:
        """Restore objects, arm (home), gripper (open) and faults. Time continues."""
        import mujoco

        time = self._data.time
        self._data = home_state(self.model, self.robot)
        self._data.qpos[:] = self._start
        self._data.time = time
        self._slips.reset()
        self._vanishing.reset()
        self._person.reset()
        self._hands.reset()
        self.model.actuator_forcerange[self._gripper] = (-2 * GRIP_FORCE, 2 * GRIP_FORCE)
        self._idle()
        mujoco.mj_forward(self.model, self._data)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._data.time)

    def go_on_from(self, time: float) -> None:
        """Set the simulated time (s) of a simulator that replaces another, so that time is monotonic."""
        self._data.time = time

    @property
    def timestep(self) -> float:
        """Time step of physics, s."""
        return float(self.model.opt.timestep)

    @property
    def unstable(self) -> bool:
        """Whether physics has become unstable since the last reset (MuJoCo then restarts from its own initial
        state).
        """
        return any(self._data.warning[kind].number for kind in self._fatal)

    @property
    def arm_moving(self) -> bool:
        """Whether a trajectory or a stop is in progress, settling included."""
        return self.controller.moving

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers move towards a commanded width, or press."""
        return self._finger_rest_at is not None

    @property
    def busy(self) -> bool:
        """Whether any commanded motion is in progress."""
        return self.arm_moving or self.gripper_moving

    @property
    def at_rest(self) -> bool:
        """Whether further steps would change nothing: no motion is commanded, nothing moves, nobody pulls at anything,
        and the fingers are where they shall be, so that nothing is between them that can creep out.
        """
        commanded = self._data.ctrl[self._gripper]
        if self.busy or np.abs(self._data.qpos[self._fingers] - commanded).max() > _REACHED / 2:
            return False
        return bool(np.abs(self._data.qvel).max() < _AT_REST) and not self._data.xfrc_applied.any()

    def fingerprint(self) -> bytes:
        """The whole state without its time; equal as long as neither a step nor a call has changed it."""
        import mujoco

        spec = mujoco.mjtState.mjSTATE_INTEGRATION.value & ~mujoco.mjtState.mjSTATE_TIME.value
        state = np.empty(mujoco.mj_stateSize(self.model, spec))
        mujoco.mj_getState(self.model, self._data, state, spec)
        return state.tobytes()

    def pass_time(self, seconds: float) -> None:
        """Advance time without physics; for a state at rest."""
        self._data.time += seconds

    def joint_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the arm's joints (rad, rad/s), then of the gripper's as its robot has them."""
        data, gripper = self._data, self.robot.gripper
        fingers, speeds = data.qpos[self._fingers], data.qvel[self._fingers_dof]
        if len(gripper.joints) == 1:
            fingers, speeds = fingers.mean(keepdims=True), speeds.mean(keepdims=True)
        scale = (gripper.open - gripper.closed) / (gripper.opening / 2)  # of a joint's travel to that of a finger
        return (
            np.concatenate([data.qpos[self._arm], gripper.closed + fingers * scale]),
            np.concatenate([data.qvel[self._arm_dof], speeds * scale]),
        )

    def efforts(self) -> np.ndarray:
        """Torques of the arm's joints, Nm, as sensors behind the gears measure them, with that of gravity; then forces
        of the gripper's, N.
        """
        data = self._data
        dof = self._arm_dof
        rotors = self.model.dof_armature[dof] * data.qacc[dof]
        arm = data.actuator_force[self._arm_ctrl] + data.qfrc_gravcomp[dof] - rotors
        fingers = np.full(len(self.robot.gripper.joints), data.actuator_force[self._gripper] / 2)
        return np.concatenate([arm, fingers])

    def snapshot(self) -> Snapshot:
        """A copy of the state for rendering."""
        return Snapshot(self.time, self._data.qpos.copy())

    def object_pose(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """True position (3,) of the centre of the bottom, m, and quaternion (4,) w, x, y, z, of
        scene.objects[index].
        """
        body = self._data.body(object_body(index))
        return body.xpos.copy(), body.xquat.copy()

    def fixture_joints(self) -> dict[str, float]:
        """True opening or turn of the fixtures' parts, by name (fixture_body), m or rad."""
        return {name: float(self._data.joint(name).qpos[0]) for name in self._parts}

    def check_gripper(self, width: float, force: float) -> None:
        """Raise TrajectoryError for an opening (m) or a force (N) that is not possible."""
        if not math.isfinite(width) or not -1e-4 <= width <= self._widest + 1e-4:
            raise TrajectoryError(f"the gripper cannot open to {width:.3f} m; possible are 0 to {self._widest} m")
        strongest = self.robot.gripper.peak_force
        if not math.isfinite(force) or force < 0 or force > strongest:
            raise TrajectoryError(f"the gripper cannot press with {force:.0f} N; possible are 1 to {strongest:.0f} N")

    def move_gripper(self, width: float, force: float = 0.0, done: Gripped | None = None) -> None:
        """Open or close to ``width`` (m) with at most ``force`` (N, 0: the default) per finger, in place of what the
        fingers do. done: called once, at its end, but not where it is stopped. Raises TrajectoryError as
        `check_gripper`.
        """
        self.check_gripper(width, force)
        self._end_grip(None)
        self._gripped = done
        force = max(force, 1.0) if force else GRIP_FORCE
        self.model.actuator_forcerange[self._gripper] = (-2 * force, 2 * force)
        actual = float(self._data.qpos[self._fingers].mean())
        setpoint = float(self._data.ctrl[self._gripper])
        self._finger_target = min(max(width / 2, 0.0), self._widest / 2)
        if self._finger_target > setpoint:
            # A closed grip presses with a setpoint inside the object; opening starts from where the fingers
            # are.
            self._data.ctrl[self._gripper] = setpoint = min(max(setpoint, actual), self._finger_target)
        self._finger_rest_at = math.inf

    def stop_gripper(self) -> None:
        """Hold the fingers at the current position of their motor."""
        self._gripped = None
        self._finger_target = float(self._data.ctrl[self._gripper])

    def intervene(self, what: Intervention, on_camera: Callable[[bool], None]) -> Intervention | None:
        """Execute an intervention, at once or at its moment; on_camera is then called with whether the camera publishes
        images.

        Returns a pending intervention whose moment did not come, which is dropped.
        """
        return self._hands.begin(self._data, what, on_camera)

    def step(self, count: int = 1) -> None:
        """Advance physics by ``count`` time steps."""
        import mujoco

        for _ in range(count):
            if self.controller.moving:
                self._drive_arm()
            if self._finger_rest_at is not None:
                self._drive_fingers()
                if self._vanishing.active:
                    self._vanishing.update(self._data, closing=self._closing)
            mujoco.mj_step(self.model, self._data)
            if self._hands.active:
                self._hands.update(self._data, pressing=self._pressing)
            if self._data.ctrl[self._gripper] < self._widest / 2:
                self._person.update(self._data)
                if self._slips.active:
                    self._slips.update(self._data, closing=self._closing)

    @property
    def _closing(self) -> bool:
        """Whether the fingers close, or press on an object between them."""
        return bool(self._finger_target < self._data.qpos[self._fingers].mean() + 1e-3)

    @property
    def _pressing(self) -> bool:
        """Whether the fingers are closing, or are held apart by an object between them."""
        return bool(self._finger_target < self._data.qpos[self._fingers].mean() - 1e-3)

    def _idle(self) -> None:
        self.controller.deactivate()
        self.controller = TrajectoryController(self.robot, self.timestep, np.array(self.robot.home))
        self._finger_target, self._finger_rest_at = self._widest / 2, None
        self._end_grip(None)

    def _end_grip(self, reached: bool | None) -> None:
        done, self._gripped = self._gripped, None
        if done is not None:
            done(reached)

    def _settle(self) -> None:
        """Let the objects come to rest; their small initial drop is not part of a task."""
        import mujoco

        for _ in range(int(SETTLE_TIME / self.timestep)):
            mujoco.mj_step(self.model, self._data)
        self._data.qvel[:] = 0

    def _drive_arm(self) -> None:
        """Set the drives' next targets. A servo with velocity damping lags by (damping / stiffness) * velocity unless
        the command leads by as much, and by the torque that accelerates the arm.
        """
        import mujoco

        wanted = self.controller.update(self._data.qpos[self._arm], self._data.qvel[self._arm_dof])
        if wanted is None:
            self.motions_ended += 1
            return
        self._inertia_in[self._arm_dof] = wanted.accelerations
        mujoco.mj_mulM(self.model, self._data, self._inertia_out, self._inertia_in)
        torque = self._inertia_out[self._arm_dof]
        self._data.ctrl[self._arm_ctrl] = wanted.positions + self._lead * wanted.velocities + torque / self._stiffness

    def _drive_fingers(self) -> None:
        """Advance the gripper's setpoint; done when the fingers stand still, at the target or pressing with
        full force.
        """
        setpoint = float(self._data.ctrl[self._gripper])
        most = FINGER_SPEED * self.timestep
        step = min(max(self._finger_target - setpoint, -most), most)
        self._data.ctrl[self._gripper] = setpoint + step
        limit = self.model.actuator_forcerange[self._gripper, 1]
        pressing = abs(self._data.actuator_force[self._gripper]) > 0.98 * limit
        still = np.abs(self._data.qvel[self._fingers_dof]).max() < _FINGERS_AT_REST
        if step and not (pressing and still):
            self._finger_rest_at = math.inf
            return
        if self._finger_rest_at == math.inf:
            self._finger_rest_at = self.time
        elapsed = self.time - (self._finger_rest_at or 0.0)
        if (elapsed > _FINGERS_STILL_FOR and still) or elapsed > _MAX_SETTLING:
            self._data.ctrl[self._gripper] = self._finger_target
            self._finger_rest_at = None
            self.motions_ended += 1
            self._end_grip(bool(abs(self._data.qpos[self._fingers].mean() - self._finger_target) < _REACHED / 2))
