"""Time until the arm stands after a pause, in the robot's own time; whether it keeps its object, and goes on."""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import dataclass

from action_msgs.msg import GoalStatus, GoalStatusArray
from rich.console import Console
from sensor_msgs.msg import JointState

from benchmarks.figures import Row, figure
from benchmarks.kills import MOMENTS, Watch, reaches, watched_system
from benchmarks.spun_node import until
from benchmarks.stops import STANDS
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.robots import load_robot
from planweave_ros import conversions as convert
from planweave_ros.client import Client
from planweave_ros.qos import TRANSIENT_LOCAL

SOON = 0.25  # s of the robot's time to standstill
_MOVES = 0.3  # rad/s: the fastest joint when the task is paused
_RESTS = 0.2  # s of the robot's time for which it must stand: where it swings back, it is at rest for a moment before
_PAUSED = 1.0  # s of wall time for which it stays paused
_HELD = 0.005  # m by which a held thing may seem to move
_KEPT = 400  # joint states
_SEEN = 60.0  # s of wall time in which the table is seen
_CANCELED = (GoalStatus.STATUS_CANCELING, GoalStatus.STATUS_CANCELED)
_CUBE, _TRAYS = "red_cube", ("left_tray", "right_tray")  # to the one that it is not in


@dataclass(frozen=True)
class Paused:
    """One pause. speed: of the fastest joint when the stop came, rad/s; sent: wall time from the call until the arm was
    commanded to stop, s; stood: the robot's time from there to standstill, s, with all that messages and this process
    were late; braked: the part of it in which the arm slowed down, s; slipped: way of the held thing while paused, m,
    None where none was held; done: whether the goal held in the simulator after the task was resumed.
    """

    speed: float
    sent: float
    stood: float
    braked: float
    slipped: float | None
    done: bool


class _Task:
    def __init__(self, client: Client, tray: str) -> None:
        self._client, self.tray = client, tray
        self.id = client.submit("", method="classical", goal=[Literal("in", (_CUBE, tray))])

    def done(self) -> bool:
        return self.status().state.ended

    def status(self) -> TaskStatus:
        return self._client.task(self.id)[0]


class _Stops:
    """Stamps of joint states, and when the arm was commanded to stop."""

    def __init__(self, watch: Watch) -> None:
        self.states: list[tuple[float, float]] = []  # stamp (s) and speed of the fastest joint (rad/s)
        self.commanded: tuple[float, float, float] | None = None  # wall time, stamp and speed
        controller = load_robot().ros.arm_controller
        watch.node.create_subscription(JointState, "joint_states", self._joints, 100)
        watch.node.create_subscription(
            GoalStatusArray, f"{controller}/follow_joint_trajectory/_action/status", self._status, TRANSIENT_LOCAL
        )

    def _joints(self, msg: JointState) -> None:
        self.states.append((convert.time_from_msg(msg.header.stamp), max(abs(v) for v in msg.velocity[:7])))
        del self.states[:-_KEPT]

    def _status(self, msg: GoalStatusArray) -> None:
        ended = [each.status for each in sorted(msg.status_list, key=_accepted)][-1:]
        if ended and ended[0] in _CANCELED and self.commanded is None and self.states:
            self.commanded = time.monotonic(), *self.states[-1]

    def stood(self) -> tuple[float, float] | None:
        """The robot's time from the command, and from the begin of braking, to the first state at rest, s."""
        if self.commanded is None:
            return None
        states, begun = list(self.states), self.commanded[1]
        moving = [i for i, (at, speed) in enumerate(states) if at < begun or speed >= STANDS]
        rest = moving[-1] + 1 if moving else 0
        if rest >= len(states) or states[-1][0] - states[rest][0] < _RESTS:
            return None
        first = next(i for i, (at, _) in enumerate(states) if at >= begun)
        while first < rest and states[first][1] <= states[first + 1][1]:  # it has not begun to brake
            first += 1
        return states[rest][0] - begun, states[rest][0] - states[first][0]


def _accepted(status: GoalStatus) -> float:
    return convert.time_from_msg(status.goal_info.stamp)


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    found: list[Paused] = []
    with watched_system(console, {"simulation_node.real_time_factor": "1.0"}) as (watch, client, running):
        stops = _Stops(watch)
        for moment in ("approaching", "holding"):
            for _ in range(options.repeat):
                found.append(_paused(watch, stops, client, moment))
                console.print(f"{moment}: {found[-1]}", markup=False, highlight=False)
    return _rows(found)


def _paused(watch: Watch, stops: _Stops, client: Client, moment: str) -> Paused:
    """Pause a task at a moment, and resume it; raises PlanweaveError where it came to no motion."""
    for _ in range(5):
        until(lambda: watch.ready, _SEEN)
        watch.phase = ""
        task = _Task(client, _TRAYS[watch.inside(_CUBE, _TRAYS[0])])
        if reaches(watch, task, moment) and until(lambda: watch.speed > _MOVES, 5.0):
            return _measured(watch, stops, client, task)
        until(task.done, 60.0)
    raise PlanweaveError(f"five tasks came to no motion in which they are {moment} ({', '.join(MOMENTS[moment])})")


def _measured(watch: Watch, stops: _Stops, client: Client, task: _Task) -> Paused:
    stops.commanded = None
    begun = time.monotonic()
    client.pause(task.id)
    if not until(lambda: stops.stood() is not None, 10.0):
        raise PlanweaveError("the arm was not seen to stand within 10 s of a pause")
    assert stops.commanded is not None
    (at, _, speed), stood = stops.commanded, stops.stood()
    assert stood is not None
    until(lambda: False, 0.2)
    cube, before = watch.held(), list(watch.truth)
    until(lambda: False, _PAUSED)
    slipped = max(math.dist(a, b) for a, b in zip(before, watch.truth)) if cube else None
    client.resume(task.id)
    until(task.done, 90.0)
    done = task.status().state is TaskState.SUCCEEDED and watch.inside(_CUBE, task.tray)
    return Paused(speed, at - begun, *stood, slipped, done)


def _rows(found: list[Paused]) -> list[Row]:
    stood, braked, sent = [p.stood for p in found], [p.braked for p in found], [p.sent for p in found]
    held = [p.slipped for p in found if p.slipped is not None]
    kept, done = sum(way < _HELD for way in held), sum(p.done for p in found)
    speeds = [p.speed for p in found]
    return [
        figure(
            "a pause: from the begin of braking to standstill, in the robot's time",
            f"{_told(braked)}, {max(braked) / SOON:.2f} of the limit, from {min(speeds):.2f} to "
            f"{max(speeds):.2f} rad/s; {len(found)} times",
            f"≤ {1000 * SOON:.0f} ms",
            max(braked) <= SOON,
        ),
        figure(
            "from the body's command to stop to standstill, in the robot's time, with the messages' way",
            _told(stood),
            "told",
        ),
        figure("planweave pause: from its call to that stop, wall time", _told(sent), "told"),
        figure(
            "what is held stays where it is",
            f"{kept} of {len(held)} times; {1000 * max(held, default=0.0):.1f} mm at most",
            "always",
            kept == len(held) > 0,
        ),
        figure("resumed, the goal holds in the simulator", f"{done} of {len(found)}", "always", done == len(found)),
    ]


def _told(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.0f} ms ({1000 * max(seconds):.0f} ms at most)"
