"""Fate of task, arm and gripper when a node dies: every node, killed at six moments of a task.

The system runs as under `planweave up`: a node that dies is started again. The judge is the simulator's truth.
"""

from __future__ import annotations

import argparse
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import PoseArray
from planweave_interfaces.action import RunTask
from planweave_interfaces.msg import TaskStatus, WorldState
from rclpy.node import Node
from rich.console import Console
from sensor_msgs.msg import JointState

from benchmarks.figures import Row, figure
from benchmarks.spun_node import spun_node, started_system, until
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Known, Literal
from planweave.core.workflow.task_status import TaskGoal, TaskState
from planweave.launcher import running_system
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import load_system
from planweave_ros import conversions as convert
from planweave_ros.client import Client
from planweave_ros.liveliness import TASKS, Presence
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.rclpy_compat import ThreadSafeActionClient

NODES = ("executor_node", "feedback_node", "planner_node", "perception_node", "simulation_node")
MOMENTS = {
    "idle": (),
    "planning": ("looking", "interpreting", "planning"),
    "approaching": ("acting: approaching",),
    "holding": ("acting: transferring",),
    "releasing": ("acting: opening",),
    "verifying": ("acting: verifying",),
}
_MOVING = ("approaching", "holding")  # moments in which the arm must be on its way
SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT}
IN_TIME = 5.0  # s for a task to end once its body, or who runs it, has died
SERVED = 90.0  # s for the system to be whole again and do another task
_SCENE = "blocks"
_CUBES = {"red_cube": 0, "blue_cube": 1}  # index in the scene
_TRAYS = {"left_tray": (0.58, 0.38), "right_tray": (0.58, -0.38)}
_IN_TRAY, _UP = 0.14, 0.06  # m: distance from a tray's middle; height of the bottom above which a thing is held


@dataclass
class Death:
    """One node's death. overrun: way of the joint that moved most after the signal, rad; ended, served: s after it."""

    node: str
    moment: str
    signal: str
    reached: bool = False
    state: str = "none"
    message: str = ""
    ended: float | None = None
    false_success: bool = False
    overrun: float = 0.0
    held: str = ""
    held_after: str = ""
    said_after: str = ""
    served: float | None = None
    tries: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def in_time(self) -> bool:
        """Whether nothing waits for what is dead: the task succeeded after all, or ended soon with a reason."""
        if self.moment == "idle" or self.state == TaskState.SUCCEEDED.name:
            return True
        return self.ended is not None and (self.ended <= IN_TIME or self.node in ("planner_node", "perception_node"))

    @property
    def good(self) -> bool:
        """Whether all went as it should."""
        return self.reached and self.in_time and not self.false_success and self.served is not None

    def row(self) -> Row:
        held = f", held {self.held or 'nothing'}, then {self.held_after or 'nothing'} ({self.said_after})"
        task = (
            ""
            if self.moment == "idle"
            else (f"{self.state.lower()} after {_seconds(self.ended)}{' FALSELY' if self.false_success else ''}, ")
        )
        value = (
            f"{task}arm {self.overrun:.2f} rad further{held}, next task done after {_seconds(self.served)} "
            f"in {self.tries}; {self.message}"
        )
        name = f"{self.node}, {self.moment}, SIG{self.signal.upper()}"
        goal = f"ended ≤ {IN_TIME:g} s with a reason, no false success, next served"
        more = {k: v for k, v in vars(self).items() if k not in ("node", "moment")}
        return figure(name, value, goal, self.good, **more)


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """All cases as rows; --task chooses some by node, moment and signal, e.g. executor_node/holding or idle/kill."""
    wanted = [
        (node, moment, number)
        for node in NODES
        for moment in MOMENTS
        for number in SIGNALS
        if not options.tasks or any({node, moment, number} >= set(word.split("/")) for word in options.tasks)
    ]
    rows = []
    with watched_system(console) as (watch, client, running):
        for node, moment, number in wanted:
            case = _case(watch, client, running, node, moment, number)
            rows.append(case.row())
            console.print(
                f"{'ok ' if case.good else 'BAD'} {rows[-1].figure}: {rows[-1].value}",
                markup=False,
                highlight=False,
            )
    good = sum(row.met is True for row in rows)
    return [*rows, figure("deaths survived", f"{good} of {len(rows)}", "all", good == len(rows))]


class Watch:
    """Hears joints, truth, tasks and worlds, and sends tasks."""

    def __init__(self, node: Node):
        self.node = node
        self.run = ThreadSafeActionClient(node, RunTask, "run_task")
        self.tasks = Presence(node, TASKS)
        self.phase, self.positions = "", [0.0] * 7
        self.way = [0.0] * 7
        self.truth: list[tuple[float, float, float]] = []
        self.facts: set[str] = set()
        self.ready = False  # whether the world is told with all cubes and trays in view
        self.speed, self.truth_at = 0.0, 0.0
        self.changed = threading.Condition()
        node.create_subscription(JointState, "joint_states", self._joints, 50)
        node.create_subscription(PoseArray, "simulation/object_poses", self._truth, 10)
        node.create_subscription(TaskStatus, "task_status", self._status, 50)
        node.create_subscription(WorldState, "world_state", self._world, TRANSIENT_LOCAL)

    def _joints(self, msg: JointState) -> None:
        new = list(msg.position[:7])
        self.way = [w + abs(a - b) for w, a, b in zip(self.way, new, self.positions)]
        self.positions, self.speed = new, max(abs(v) for v in msg.velocity[:7])

    def _truth(self, msg: PoseArray) -> None:
        self.truth = [(p.position.x, p.position.y, p.position.z) for p in msg.poses]
        self.truth_at = time.monotonic()

    def _status(self, msg: TaskStatus) -> None:
        with self.changed:
            self.phase = msg.phase
            self.changed.notify_all()

    def _world(self, msg: WorldState) -> None:
        world = convert.world_from_msg(msg)
        self.facts = {str(f) for f in world.facts}
        known = {thing.name for thing in world.objects if thing.known is Known.SEEN}
        self.ready = not world.silent and known >= {*_CUBES, *_TRAYS}

    def held(self) -> str:
        """The cube that is off the table, in truth."""
        return next((name for name, i in _CUBES.items() if i < len(self.truth) and self.truth[i][2] > _UP), "")

    def said(self) -> str:
        """The hand's state, as the body reports it."""
        return ", ".join(sorted(f for f in self.facts if f.startswith(("hand_empty", "holding")))) or "neither"

    def inside(self, cube: str, tray: str) -> bool:
        index = _CUBES[cube]
        return index < len(self.truth) and math.dist(self.truth[index][:2], _TRAYS[tray]) < _IN_TRAY

    def send(self, cube: str, tray: str) -> Any:
        """Send a task; the future of its result, None where nobody takes it."""
        asked = TaskGoal(f"put the {cube} in the {tray}", "classical", (Literal("in", (cube, tray)),))
        sent = self.run.send_goal_async(RunTask.Goal(task=convert.task_goal_to_msg(asked)))
        if not until(sent.done, 5.0) or not sent.result().accepted:
            return None
        return sent.result().get_result_async()


@contextmanager
def watched_system(
    console: Console, more: Mapping[str, str] | None = None
) -> Iterator[tuple[Watch, Client, RunningSystem]]:
    """The tabletop system with what watches it; more: parameters beside its own."""
    system = load_system("tabletop")
    overrides = system.overrides({"scene": _SCENE, "planner_node.client": "none", **(more or {})})
    running_system.STEADY = 1.0  # all deaths are ours: none makes a node be given up
    with started_system(system, console, overrides) as (client, running), spun_node("planweave_bench") as node:
        yield Watch(node), client, running


def _case(watch: Watch, client: Client, running: RunningSystem, node: str, moment: str, number: str) -> Death:
    case = Death(node, moment, number)

    def revive() -> None:
        running.revive(lambda line: None)

    if not make_fresh(watch, client, revive):
        case.message = "the system did not come to rest before"
        return case
    watch.phase = ""
    result = None if moment == "idle" else watch.send("red_cube", "left_tray")
    case.reached = moment == "idle" or (result is not None and reaches(watch, result, moment))
    case.held = watch.held()
    departures, way = watch.tasks.departures, list(watch.way)
    running.signal(node, SIGNALS[number])
    begun = time.monotonic()
    if result is not None:
        until(lambda: result.done() or watch.tasks.departures != departures, 60.0, revive)
        case.ended = time.monotonic() - begun
        if result.done():
            answer = result.result().result
            case.state, case.message = TaskState(answer.status.state).name, answer.message
        else:
            case.state, case.message = "LOST", "feedback_node has gone"
    until(lambda: watch.speed < 0.02 and time.monotonic() - begun > 1.5, 30.0, revive)
    case.overrun = max(b - a for a, b in zip(way, watch.way))
    until(lambda: time.monotonic() - watch.truth_at < 0.5, 30.0, revive)
    case.false_success = case.state == TaskState.SUCCEEDED.name and not watch.inside("red_cube", "left_tray")
    until(lambda: False, 3.0, revive)
    case.held_after = watch.held()
    case.said_after = watch.said()
    while time.monotonic() - begun < SERVED and case.served is None:
        case.tries += 1
        next_one = watch.send("blue_cube", "right_tray")
        if next_one is not None and until(next_one.done, 60.0, revive):
            answer = next_one.result().result
            if answer.success and watch.inside("blue_cube", "right_tray"):
                case.served = time.monotonic() - begun
            elif answer.success:
                case.false_success = True
            else:
                case.notes.append(answer.message)
                until(lambda: False, 0.5, revive)
        revive()
    return case


def make_fresh(watch: Watch, client: Client, revive: Callable[[], None]) -> bool:
    """The scene as at the beginning, nothing held, and known to be so."""

    def fresh() -> bool:
        try:
            client.load_scene(_SCENE)
        except PlanweaveError:
            return False
        return until(
            lambda: {"hand_empty()", "at_base()"} <= watch.facts and watch.ready and not watch.held(), 20.0, revive
        )

    return until(fresh, 90.0, revive)


def reaches(watch: Watch, result: Any, moment: str) -> bool:
    """Wait for a moment of the task; False where it ended before."""
    deadline = time.monotonic() + 30.0
    with watch.changed:
        while not watch.phase.startswith(MOMENTS[moment]) or (moment in _MOVING and watch.speed < 0.1):
            if result.done() or time.monotonic() > deadline:
                return False
            watch.changed.wait(0.02)
    return True


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"
