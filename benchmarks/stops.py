"""Stopping time and distance of the arm, for every way to stop it; in real time."""

from __future__ import annotations

import argparse
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rich.console import Console
from trajectory_msgs.msg import JointTrajectory

from benchmarks.figures import Row, figure
from benchmarks.kills import Watch, make_fresh, reaches, watched_system
from benchmarks.spun_node import until
from planweave.core.base.errors import PlanweaveError
from planweave.launcher.running_system import RunningSystem
from planweave.robots import load_robot
from planweave_ros.action_port import CANCEL
from planweave_ros.client import Client
from planweave_ros.controllers import joint_trajectory
from planweave_ros.liveliness import BODY, Presence

STANDS = 0.02  # rad/s: no joint is faster
SOON = 2.0  # s of wall time to standstill
_MOVES = 0.3  # rad/s: the fastest joint when it is told
_ASIDE, _ASIDE_IN = 1.0, 2.0  # rad of the first joint, and s, of the trajectory that an outside publisher sends


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    rows = []
    with watched_system(console, {"simulation_node.real_time_factor": "1.0"}) as (watch, client, running):
        body, change = Presence(watch.node, BODY), watch.node.create_client(ChangeState, "executor_node/change_state")
        for name, stop in _ways(watch, change, client, running).items():
            found = [_stopped(watch, body, change, client, running, stop) for _ in range(options.repeat)]
            rows.append(_row(name, found))
            console.print(f"{name}: {rows[-1].value}", markup=False, highlight=False)
    return rows


def _ways(watch: Watch, change: Any, client: Client, running: RunningSystem) -> dict[str, Callable[[], object]]:
    node, robot = watch.node, load_robot()
    outside = node.create_publisher(JointTrajectory, f"{robot.ros.arm_controller}/joint_trajectory", 10)

    def intrude() -> None:
        goal = [watch.positions[0] + _ASIDE, *watch.positions[1:]]
        outside.publish(joint_trajectory(robot.joint_names, [_ASIDE_IN], [goal], [[0.0] * len(goal)]))

    cancel = node.create_client(CancelGoal, f"execute_action{CANCEL}")
    return {
        "the task is cancelled (planweave cancel, CancelTask)": client.cancel,
        "every goal of execute_action is cancelled (CancelGoal)": lambda: cancel.call_async(CancelGoal.Request()),
        "executor_node is deactivated (lifecycle)": lambda: change.call_async(_to(Transition.TRANSITION_DEACTIVATE)),
        "another node publishes a trajectory to the arm's controller": intrude,
        "executor_node: SIGINT": lambda: running.signal("executor_node", signal.SIGINT),
        "executor_node: SIGTERM": lambda: running.signal("executor_node", signal.SIGTERM),
        "executor_node: SIGKILL": lambda: running.signal("executor_node", signal.SIGKILL),
        "feedback_node: SIGINT": lambda: running.signal("feedback_node", signal.SIGINT),
        "feedback_node: SIGKILL": lambda: running.signal("feedback_node", signal.SIGKILL),
    }


def _to(transition: int) -> ChangeState.Request:
    return ChangeState.Request(transition=Transition(id=transition))


def _stopped(
    watch: Watch, body: Presence, change: Any, client: Client, running: RunningSystem, stop: Callable[[], object]
) -> tuple[float, float, float] | None:
    """Speed when it is told (rad/s), then seconds and way (rad) to standstill; None where it never stood.

    Raises PlanweaveError where no task came so far that the arm moved.
    """

    def revive() -> None:
        running.revive(lambda line: None)

    for _ in range(5):
        until(lambda: body.there and watch.tasks.there, 60.0, revive)
        if change.service_is_ready():  # refused where it is active
            change.call_async(_to(Transition.TRANSITION_ACTIVATE))
        if not make_fresh(watch, client, revive):
            continue
        watch.phase = ""
        result = watch.send("red_cube", "left_tray")
        moving = result is not None and reaches(watch, result, "approaching")
        if moving and until(lambda: watch.speed > _MOVES, 10.0):
            break
    else:
        raise PlanweaveError("five tasks came to no motion of the arm")
    speed, way, begun = watch.speed, list(watch.way), time.monotonic()
    stop()
    if not until(lambda: watch.speed < STANDS, 20.0, revive):
        return None
    seconds = time.monotonic() - begun
    moved = max(b - a for a, b in zip(way, watch.way))
    until(lambda: False, 0.5, revive)
    return speed, seconds, moved


def _row(name: str, times: list[tuple[float, float, float] | None]) -> Row:
    found, goal = [each for each in times if each is not None], f"stands within {SOON:g} s"
    if not found:
        return figure(name, "never stood", goal, not times)
    speed, seconds, moved = (statistics.median(column) for column in zip(*found))
    worst = max(s for _, s, _ in found)
    value = (
        f"stands after {seconds:.2f} s ({worst:.2f} s at most), {moved:.2f} rad further, "
        f"from {speed:.2f} rad/s; {len(found)} of {len(times)} times"
    )
    return figure(name, value, goal, len(found) == len(times) and worst <= SOON)
