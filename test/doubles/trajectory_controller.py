"""ros2_control's joint_trajectory_controller on an arm with perfect drives, as a port: what it does with goals,
trajectories of its topic, cancels, deactivation and errors of the hardware; its time is as fast as its reader is.
"""

import queue
import threading
import time
import types

import numpy as np

from planweave.bodies.arm.arms.base import ArmState
from planweave.core.workflow.action_end import ActionEnd, End
from planweave.robots import load_robot

FR3 = load_robot()
TICK = 0.02  # s of its time between two states
PATH_TOLERANCE, GOAL_TOLERANCE = 0.04, 0.015  # rad, as in config/franka/controllers.yaml
#: How a goal ends whose place another takes: ros2_controllers since 4.41 (Jazzy) and 5.16 (Kilted), and before
PREEMPTED = End.ABORTED, -1, "Current goal preempted by new incoming action."
PREEMPTED_BEFORE = End.CANCELED, -1, "Current goal cancelled due to new incoming action."


class TrajectoryController:
    """A `planweave.bodies.arm.arms.base.GoalPort` for goals that are trajectories (times, positions), and an
    OtherCommanders. on_state is called at every tick.

    scaling: of its speed; blocked: joints that do not move; tolerances: whether it aborts where they are left, and
    succeeds only within them; as it comes, it has none. begins_after: s from when a trajectory came; lag: ticks by
    which the states that are read are older than its feedback.
    """

    action = "/fr3_arm_controller/follow_joint_trajectory"

    def __init__(self, on_state):
        self.q = np.array(FR3.home)
        self.goals, self.canceled, self.foreign_goals, self.travelled = [], 0, [], 0.0
        self.scaling, self.blocked, self.tolerances, self.feedback = 1.0, [], True, True
        self.fingers, self.width, self.publishes, self.active = True, 0.08, True, True
        self.preempted = PREEMPTED
        self.ends = []  # of goals
        self.begins_after, self.lag, self._states = 0.0, 0, []
        self.names, self.at = "", {}  # at: seconds after the start of a motion -> what happens then
        self._on_state, self._requests = on_state, queue.SimpleQueue()
        self._wanted, self._trajectory, self._since, self._goal = self.q.copy(), None, 0.0, None
        self._stamp, self._end = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._tick()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join(30.0)

    # ---- GoalPort, OtherCommanders

    def send(self, goal, done, feedback=None):
        self.goals.append(goal)
        self._requests.put(lambda: self._accept(goal, done, feedback))

    def cancel(self):
        self.canceled += 1
        self._requests.put(self._cancel)
        return ""

    def named(self):
        return self.names

    def moving(self):
        return "a goal of another client is carried out" if self.foreign_goals else ""

    # ---- what others do

    def publish(self, trajectory):
        """A trajectory on its topic takes the place of the one that is followed; the goal stays."""
        self._follow(trajectory)

    def preempt(self, trajectory):
        """A goal of another client."""
        self._finish(*self.preempted)
        self.foreign_goals.append(trajectory)
        self._follow(trajectory)

    def deactivate(self):
        self.active = False
        self._hold()
        self._finish(End.ABORTED, -1, "Current goal cancelled during deactivate transition.")

    def fail_hardware(self):
        """What a reflex is: the hardware ends, and with it all controllers, the broadcaster of joint states among
        them.
        """
        self.deactivate()
        self.publishes = False

    # ---- in its own thread

    def _accept(self, goal, done, feedback):
        if not self.active:
            done(ActionEnd(End.REJECTED, self.action))
            return
        self._finish(*self.preempted)
        self._goal = done, feedback
        self._follow(goal)

    def _cancel(self):
        if self._goal is not None or self.foreign_goals:
            self._hold()
        self.foreign_goals.clear()
        self._finish(End.CANCELED, 0, "")

    def _follow(self, trajectory):
        self._trajectory, self._since = trajectory, -self.begins_after

    def _hold(self):
        self._trajectory, self._wanted = None, self.q.copy()

    def _finish(self, end, number, said):
        goal, self._goal = self._goal, None
        if goal is not None:
            self.ends.append(end)
            goal[0](ActionEnd(end, self.action, types.SimpleNamespace(error_code=number, error_string=said)))

    def _run(self):
        while not self._end.is_set():
            self._tick()
            time.sleep(0.0005)

    def _tick(self):
        while not self._requests.empty():
            self._requests.get()()
        self._stamp += TICK
        before = self.q.copy()
        if self._trajectory is not None:
            self._since += TICK * self.scaling
            for moment in [m for m in self.at if self._since >= m]:
                self.at.pop(moment)()
        if self._trajectory is not None:
            times, rows = self._trajectory.times, self._trajectory.positions
            self._wanted = np.array([np.interp(self._since, times, column) for column in rows.T])
        free = [i for i in range(len(self.q)) if i not in self.blocked]
        self.q[free] = self._wanted[free]
        if self._trajectory is not None:
            self._check(self._since - float(self._trajectory.times[-1]))
        if self._goal is not None and self.feedback and self._goal[1] is not None:
            self._goal[1](
                types.SimpleNamespace(
                    joint_names=list(reversed(FR3.joint_names)),
                    desired=types.SimpleNamespace(positions=list(reversed(self._wanted))),
                )
            )
        self.travelled += float(np.abs(self.q - before).max())
        if self.publishes:
            velocities = (self.q - before) / TICK
            self._states.append(ArmState(self._stamp, self.q.copy(), velocities, self.width, 0.0, self.fingers))
            del self._states[: -1 - self.lag]
            self._on_state(self._states[0])

    def _check(self, late):
        error = float(np.abs(self.q - self._wanted).max())
        if self.tolerances and error > PATH_TOLERANCE:
            self._hold()
            self._finish(End.ABORTED, -4, "Aborted due to path tolerance violation")
        elif late >= 0 and (error < GOAL_TOLERANCE or not self.tolerances):
            self._trajectory = None  # its last point is held, wherever the arm is
            self._finish(End.SUCCEEDED, 0, "")
