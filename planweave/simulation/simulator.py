"""The simulated robot and table: steps physics, follows joint trajectories, moves the gripper, resets.

Without ROS and rendering.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planweave.robots import RobotDescription, load_robot
from planweave.robots.model import finger_joints
from planweave.simulation.intervention import Hands, Intervention
from planweave.simulation.mujoco_model import GRIPPER_ACTUATOR, home_state, object_body, servos
from planweave.simulation.person import Person
from planweave.simulation.scene import Scene
from planweave.simulation.slips import Slips
from planweave.simulation.trajectory import Point, Reference, TrajectoryError, interpolate, stop
from planweave.simulation.vanishing import Vanishing

if TYPE_CHECKING:
    import mujoco

FINGER_SPEED = 0.05  # of each finger, m/s
GRIP_FORCE = 40.0  # of each finger where none is commanded, N
SETTLE_TIME = 1.0  # objects come to rest for this long after a scene is loaded, s
_ARM_AT_REST = (0.005, 0.02)  # position error, rad, and velocity, rad/s
_FINGERS_AT_REST = 0.002  # m/s
_FINGERS_STILL_FOR = 0.05  # s
_AT_REST = 1e-4  # m/s and rad/s: nothing moves; resting contacts keep up to 5e-6
_MAX_SETTLING = 0.3  # a motion counts as ended this long after its reference, s


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
        self._hands = Hands(model, scene)
        self._data = home_state(model, robot)
        self._fatal = [
            mujoco.mjtWarning.mjWARN_BADQPOS,
            mujoco.mjtWarning.mjWARN_BADQVEL,
            mujoco.mjtWarning.mjWARN_BADQACC,
        ]
        self.motions_ended = 0
        """Grows by one whenever a commanded motion of the arm or the gripper has come to rest."""
        self._finger_rest_at: float | None = None
        self._reference: Reference | None = None
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
        """Of physics, s."""
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
        return self._reference is not None

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
        """Whether further steps would change nothing: no motion is commanded, nothing moves, and the hand is open, so
        that nothing can creep out of it and nobody pulls at it.
        """
        if self.busy or self._data.ctrl[self._gripper] < self._widest / 2:
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

    def snapshot(self) -> Snapshot:
        """A copy of the state for rendering."""
        return Snapshot(self.time, self._data.qpos.copy())

    def object_pose(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """True position (3,) of the centre of the bottom, m, and quaternion (4,) w, x, y, z, of
        scene.objects[index].
        """
        body = self._data.body(object_body(index))
        return body.xpos.copy(), body.xquat.copy()

    def follow(self, joints: Sequence[str], points: Sequence[Point], delay: float = 0.0) -> None:
        """Follow a trajectory, ``delay`` seconds from now; it replaces a running one. No points: stop and hold.

        Raises TrajectoryError where it cannot be followed; a running trajectory then continues.
        """
        if not points:
            self.stop()
            return
        if not math.isfinite(delay) or delay > 60:
            raise TrajectoryError(f"the trajectory begins {delay:.0f} s from now; at most 60 s are allowed")
        position, velocity = self._commanded()
        waiting = Reference(np.zeros((0, self.robot.count)), np.zeros((0, self.robot.count)))
        if delay > 0:
            waiting = stop(position, velocity, self.timestep, self.robot)
            rest = max(0, round(delay / self.timestep) - len(waiting.positions))
            waiting = Reference(
                np.vstack([waiting.positions, np.tile(waiting.positions[-1], (rest, 1))]),
                np.vstack([waiting.velocities, np.zeros((rest, self.robot.count))]),
            )
            position, velocity = waiting.positions[-1], np.zeros(self.robot.count)
        after = interpolate(joints, points, position, velocity, self.timestep, self.robot)
        self._begin(
            Reference(
                np.vstack([waiting.positions, after.positions]), np.vstack([waiting.velocities, after.velocities])
            )
        )

    def stop(self) -> None:
        """Bring the arm to rest within 100 ms with bounded deceleration, and hold it there."""
        if self.arm_moving:
            position, velocity = self._commanded()
            self._begin(stop(position, velocity, self.timestep, self.robot))

    def move_gripper(self, width: float, force: float = 0.0, duration: float = 0.0) -> None:
        """Open or close to ``width`` (m) with at most ``force`` (N, 0: the default) per finger.

        duration (s) slows the motion down, at most to FINGER_SPEED otherwise. Raises TrajectoryError for an invalid
        width.
        """
        if not math.isfinite(width) or not -1e-4 <= width <= self._widest + 1e-4:
            raise TrajectoryError(f"the gripper cannot open to {width:.3f} m; possible are 0 to {self._widest} m")
        strongest = self.robot.gripper.peak_force
        if not math.isfinite(force) or force < 0 or force > strongest:
            raise TrajectoryError(f"the gripper cannot press with {force:.0f} N; possible are 1 to {strongest:.0f} N")
        force = max(force, 1.0) if force else GRIP_FORCE
        self.model.actuator_forcerange[self._gripper] = (-2 * force, 2 * force)
        actual = float(self._data.qpos[self._fingers].mean())
        setpoint = float(self._data.ctrl[self._gripper])
        self._finger_target = min(max(width / 2, 0.0), self._widest / 2)
        if self._finger_target > setpoint:
            # A closed grip presses with a setpoint inside the object; opening starts from where the fingers
            # are.
            self._data.ctrl[self._gripper] = setpoint = min(max(setpoint, actual), self._finger_target)
        way = abs(self._finger_target - setpoint)
        speed = min(FINGER_SPEED, way / duration) if duration > 0 else FINGER_SPEED
        self._finger_step = max(speed, 1e-3) * self.timestep
        self._finger_rest_at = math.inf

    def stop_gripper(self) -> None:
        """Hold the fingers at the current position of their motor."""
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
            if self._reference is not None:
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
        self._reference = None
        self._controls = self._accelerations = np.zeros((0, self.robot.count))
        self._index = 0
        self._hold, self._hold_velocity = np.array(self.robot.home), np.zeros(self.robot.count)
        self._finger_target = self._widest / 2
        self._finger_step = 0.0
        self._finger_rest_at = None

    def _settle(self) -> None:
        """Let the objects come to rest; their small initial drop is not part of a task."""
        import mujoco

        for _ in range(int(SETTLE_TIME / self.timestep)):
            mujoco.mj_step(self.model, self._data)
        self._data.qvel[:] = 0

    def _commanded(self) -> tuple[np.ndarray, np.ndarray]:
        """Current position and velocity of the reference."""
        if self._reference is None:
            return self._hold.copy(), np.zeros(self.robot.count)
        index = min(max(self._index - 1, 0), len(self._reference.positions) - 1)
        if self._index == 0:
            return self._hold.copy(), self._hold_velocity.copy()
        return self._reference.positions[index], self._reference.velocities[index]

    def _begin(self, reference: Reference) -> None:
        self._hold, self._hold_velocity = self._commanded()
        self._reference, self._index = reference, 0
        # A servo with velocity damping lags by (damping / stiffness) * velocity unless the command leads by
        # as much.
        self._controls = reference.positions + self._lead * reference.velocities
        before = np.vstack([self._hold_velocity, reference.velocities[:-1]])
        self._accelerations = (reference.velocities - before) / self.timestep

    def _drive_arm(self) -> None:
        import mujoco

        assert self._reference is not None
        if self._index < len(self._controls):
            self._inertia_in[self._arm_dof] = self._accelerations[self._index]
            mujoco.mj_mulM(self.model, self._data, self._inertia_out, self._inertia_in)
            torque = self._inertia_out[self._arm_dof]
            self._data.ctrl[self._arm_ctrl] = self._controls[self._index] + torque / self._stiffness
            self._index += 1
            return
        end = self._reference.positions[-1]
        self._data.ctrl[self._arm_ctrl] = end  # the torque of the last deceleration is not held
        late = (self._index - len(self._controls)) * self.timestep
        self._index += 1
        error = np.abs(self._data.qpos[self._arm] - end).max()
        speed = np.abs(self._data.qvel[self._arm_dof]).max()
        if (error < _ARM_AT_REST[0] and speed < _ARM_AT_REST[1]) or late > _MAX_SETTLING:
            self._hold, self._reference = end, None
            self.motions_ended += 1

    def _drive_fingers(self) -> None:
        """Advance the gripper's setpoint; done when the fingers stand still, at the target or pressing with
        full force.
        """
        setpoint = float(self._data.ctrl[self._gripper])
        step = min(max(self._finger_target - setpoint, -self._finger_step), self._finger_step)
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
