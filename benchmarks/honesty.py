"""Honesty: whether success means that the goal holds, while people's hands and a failing camera interfere.

First some cases in a home (`honesty_home`). Then the tabletop system runs as its processes, without a language model.
Each case sets the table, lets a person do something to it (simulation_node's /simulation/intervene) or stops
perception_node, and gives a goal. What the task reports is held against the simulator's true poses at its end. A false
success must never be; a false failure is a task that did not succeed though its goal held and nothing kept the camera
from showing it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from geometry_msgs.msg import Point
from planweave_interfaces.msg import DetectedObjects, WorldState
from planweave_interfaces.srv import Intervene, LoadScene
from rich.console import Console
from std_srvs.srv import Trigger

from benchmarks import honesty_home
from benchmarks.figures import Row, figure
from benchmarks.honesty_cases import CASES, Act, HonestyCase, Interference, Reload, Signal, Spot
from benchmarks.spun_node import spun_node, wait_until
from planweave.bench.tabletop_checks import RESTS, ObjectPose
from planweave.bench.tabletop_tasks import scene_names
from planweave.core.base.errors import PlanweaveError, SystemDownError, UnknownNameError
from planweave.core.symbolic.world import Literal, World
from planweave.launcher.running_system import NodeProcess, log_folder, start_node, stop_nodes
from planweave.launcher.systems import load_system
from planweave.simulation.scene import Scene, load_scene
from planweave_ros import conversions as convert
from planweave_ros.calling import MUTUAL_DISCOVERY
from planweave_ros.client import SETTLED_FRAMES, Client
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.tabletop_runs import Truth

PATIENCE = 90.0  # wall seconds for one task; for whatever else is waited for, a third of it


class Judged(str, Enum):
    """Report of a case against the truth."""

    RIGHT_SUCCESS = "right success"
    RIGHT_NO = "right no"
    FALSE_SUCCESS = "false success"
    FALSE_FAILURE = "false failure"
    NOT_PLAYED = "not played"  # what was to be done in it could not be, or its moment never came


@dataclass(frozen=True)
class Judgement:
    """End of a case. reported: whether the task said success; true: whether its goal held in the simulator then."""

    case: str
    outcome: Judged
    reported: bool
    true: bool
    message: str
    seconds: float


Report = tuple[bool, bool, bool, str]
"""Whether a task said success, whether its goal held then, whether all that was to be done was done; the message."""


def judged(case: str, blind: bool, play: Callable[[], Report]) -> Judgement:
    """A case and what came of it; blind: nothing could show the goal. A PlanweaveError of `play`: it was not played."""
    begun = time.monotonic()
    try:
        said, true, came, message = play()
    except PlanweaveError as error:
        return Judgement(case, Judged.NOT_PLAYED, False, False, str(error), time.monotonic() - begun)
    outcome = verdict(said, true, blind)
    if not came and outcome is not Judged.FALSE_SUCCESS:
        outcome = Judged.NOT_PLAYED
    return Judgement(case, outcome, said, true, message, time.monotonic() - begun)


class HonestyTable:
    """The running system, people's hands, and the truth."""

    def __init__(self, client: Client, node: Any, folder: Path, nodes: dict[str, NodeProcess], logs: Path):
        self.client, self._folder, self._nodes, self._logs = client, folder, nodes, logs
        self._truth = Truth(node)
        self._intervene = node.create_client(Intervene, "simulation/intervene")
        self._load = node.create_client(LoadScene, "simulation/load_scene")
        self._reset = node.create_client(Trigger, "simulation/reset")
        self._forget = node.create_client(Trigger, "perception/forget")
        self._world = World("")
        self._frames: deque[dict[str, Spot]] = deque(maxlen=SETTLED_FRAMES)  # what the camera saw last, and where
        self._kinds: list[tuple[str, str]] = []  # of the objects that are loaded
        node.create_subscription(WorldState, "world_state", self._heard, TRANSIENT_LOCAL)
        node.create_subscription(DetectedObjects, "perception/detected_objects", self._saw, 10)
        self._scene: Scene | None = None
        self._names: list[str] = []
        self._restarts = 0
        self._was_stopped = False  # since its start: then messages are at times lost for good (Fast DDS)

    def _heard(self, message: WorldState) -> None:
        self._world = convert.world_from_msg(message)

    def _saw(self, message: DetectedObjects) -> None:
        self._frames.append({o.name: convert.position_from_msg(o.pose) for o in message.objects})

    def play(self, case: HonestyCase) -> Judgement:
        try:
            return judged(case.id, case.blind, partial(self._run, case))
        finally:
            self._send("perception_node", signal.SIGCONT)

    def _run(self, case: HonestyCase) -> Report:
        self._set(case)
        for act in case.before:
            self._act(act)
        ended, came = threading.Event(), not case.during
        failed: list[PlanweaveError] = []

        def interfere() -> None:
            nonlocal came
            try:
                start = self._body(case.lifted).bottom
                while not ended.is_set():
                    if self._body(case.lifted).bottom > start + 0.02:
                        for act in case.during:
                            self._act(act)
                        came = True
                        return
            except PlanweaveError as error:
                failed.append(error)

        person = threading.Thread(target=interfere, daemon=True)
        if case.during:
            person.start()
        goal = [Literal.parse(part.strip()) for part in case.goal.split("&")]
        try:
            result = self.client.run_task("", method="classical", goal=goal, timeout=PATIENCE)
        finally:
            ended.set()
            if case.during:
                person.join(PATIENCE / 3)
        bodies = self._bodies()
        if failed:
            raise failed[0]
        waits = any(isinstance(act, Interference) and act.when for act in (*case.before, *case.during))
        if waits and "never came" in self._hand(Interference(camera=True)):
            came = False
        return result.success, all(holds(literal, bodies) for literal in goal), came, result.message

    def _set(self, case: HonestyCase) -> None:
        """Set the table, and wait until camera and world have all of it, under its names, where it stands."""
        if self._kinds != (kinds := [(o["kind"], o["colour"]) for o in case.table.values()]):
            path = self._folder / f"{case.id}.yaml"
            path.write_text(yaml.safe_dump({"description": case.id, "objects": list(case.table.values())}))
            self._answer(self._load, LoadScene.Request(scene=str(path)))
            self._scene, self._kinds = load_scene(str(path)), kinds
            self._names = scene_names(self._scene)
            if self._names != list(case.table):
                raise PlanweaveError(f"{case.id}: the camera will call them {self._names}, not {list(case.table)}")
        else:
            self._answer(self._reset, Trigger.Request())
            places = {name: (*o["position"], 0.0)[:3] for name, o in case.table.items()}
            self._hand(Interference(move=places, camera=True))
        try:
            self._see_anew(case, 10.0 if self._was_stopped else PATIENCE / 2)
        except SystemDownError:
            if not self._was_stopped:
                raise
            self._signal(Signal("perception_node", "restart"))
            self._see_anew(case, PATIENCE / 2)

    def _see_anew(self, case: HonestyCase, seconds: float) -> None:
        """Reset perception_node, and wait until it sees the table as it was set."""
        self._answer(self._forget, Trigger.Request(), repeat=True, seconds=seconds)
        self._frames.clear()
        try:
            wait_until(self._is_set, seconds, f"the camera to see the table of {case.id}")
        except SystemDownError as error:
            seen = [sorted(frame) for frame in list(self._frames)[-1:]]
            world = sorted(_places(self._world))
            raise SystemDownError(f"{error}; newest frame: {seen or 'none came'}, world: {world}") from None

    def _is_set(self) -> bool:
        self._revive()
        bodies = self._bodies()
        views = [*list(self._frames)[-SETTLED_FRAMES:], _places(self._world)]
        there = [name for name in self._names if bodies[name].bottom > -0.1]  # the others are not on the table yet
        return len(views) > SETTLED_FRAMES and all(
            name in view and math.dist(view[name], bodies[name].position) < 0.03 for view in views for name in there
        )

    def _act(self, act: Act) -> None:
        if isinstance(act, Interference):
            self._hand(act)
        elif isinstance(act, Signal):
            self._signal(act)
        elif isinstance(act, Reload):
            assert self._scene is not None
            with contextlib.suppress(PlanweaveError):  # refused while a task runs
                self._answer(self._load, LoadScene.Request(scene=str(self._scene.path)))
        else:
            time.sleep(act.seconds)

    def _hand(self, act: Interference) -> str:
        """Carry out an act, or wait for it; returns what the simulation says."""
        request = Intervene.Request(when=act.when, camera=[] if act.camera is None else [act.camera])
        request.watch = self._names.index(act.watch) if act.watch in self._names else 0
        request.objects = [self._names.index(name) for name in (*act.move, *act.exchange)]
        request.places = [Point(x=x, y=y, z=z) for x, y, z in act.move.values()]
        return self._answer(self._intervene, request)

    def _answer(self, service: Any, request: Any, repeat: bool = False, seconds: float = PATIENCE / 3) -> str:
        """What a service says; raises PlanweaveError where it refuses. repeat: it does no harm to ask it again, and a
        node that was stopped for long, which ends by itself, is started again for it.
        """
        asked: list[tuple[float, Any]] = []

        def is_answered() -> bool:
            if repeat:
                self._revive()
            if not asked or (repeat and time.monotonic() - asked[-1][0] > 2.0):  # a new node may not know us yet
                asked.append((time.monotonic(), service.call_async(request)))
            return any(future.done() for _, future in asked)

        wait_until(is_answered, seconds, service.srv_name)
        response = next(future for _, future in asked if future.done()).result()
        if not response.success:
            raise PlanweaveError(f"{service.srv_name}: {response.message}")
        return str(response.message)

    def _signal(self, act: Signal) -> None:
        process = self._nodes[act.node]
        if act.what == "stop":
            self._was_stopped = True
            self._send(act.node, signal.SIGSTOP)
        elif act.what == "continue":
            self._send(act.node, signal.SIGCONT)
        else:
            process.kill()
            process.wait(PATIENCE / 3)
            self._start(act.node)

    def _start(self, name: str) -> None:
        self._restarts += 1
        self._was_stopped = False
        self._nodes[name] = _start(name, self._logs / f"{name}-{self._restarts}.log")

    def _revive(self) -> None:
        """What ended by itself is started again, as `planweave up` does: a node that was stopped for long ends."""
        for name in [n for n, process in self._nodes.items() if process.returncode is not None]:
            self._start(name)

    def _send(self, node: str, number: signal.Signals) -> None:
        """A signal to a node, of which the system hears nothing."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._nodes[node].pid, number)

    def _bodies(self) -> dict[str, ObjectPose]:
        assert self._scene is not None
        return {b.name: b for b in self._truth.bodies(self._scene, seconds=PATIENCE / 3)}

    def _body(self, name: str) -> ObjectPose:
        return self._bodies()[name]


def holds(literal: Literal, bodies: Mapping[str, ObjectPose]) -> bool:
    """Whether in(item, container) or on(item, item) is true of where things are; of equal things any will do."""
    look = literal.args[0].rstrip("_0123456789")
    other = bodies[literal.args[1]]
    return any(
        _holds(literal.predicate, item, other) for name, item in bodies.items() if name.rstrip("_0123456789") == look
    )


def _holds(predicate: str, item: ObjectPose, other: ObjectPose) -> bool:
    if not other.covers(*item.position[:2]):
        return False
    if predicate == "in":
        return other.bottom - RESTS < item.bottom < other.top
    if predicate == "on":
        return abs(item.bottom - other.top) < RESTS
    raise PlanweaveError(f"the honesty cases know no truth of {predicate}; only of in and on")


def verdict(said: bool, true: bool, blind: bool) -> Judged:
    """Verdict on a report, said or not, against the truth; blind: nothing could show it."""
    if said:
        return Judged.RIGHT_SUCCESS if true else Judged.FALSE_SUCCESS
    return Judged.FALSE_FAILURE if true and not blind else Judged.RIGHT_NO


def _places(world: World) -> dict[str, Spot]:
    return {o.name: o.position for o in world.objects if o.position is not None}


@contextlib.contextmanager
def running_stage(logs: Path) -> Iterator[HonestyTable]:
    """The five nodes of the tabletop system as processes, without a language model."""
    nodes: dict[str, NodeProcess] = {}
    with tempfile.TemporaryDirectory() as folder, Client() as client, spun_node("planweave_honesty") as node:
        specs = load_system("tabletop").nodes
        try:
            for spec in specs:
                nodes[spec.name] = _start(spec.name, logs / f"{spec.name}.log")
            wait_until(lambda: not client.missing(specs), PATIENCE, "the system to be ready")
            time.sleep(2 * MUTUAL_DISCOVERY)  # nothing tells when the servers, too, have discovered these clients
            yield HonestyTable(client, node, Path(folder), nodes, logs)
        finally:
            stop_nodes(list(nodes.values()))


#: short waits for a camera that is silent: what they are about is what is said then
PARAMETERS: dict[str, dict[str, object]] = {
    "planner_node": {"client": "none"},
    "executor_node": {"image_timeout": 2.0},
    "feedback_node": {"observation_timeout": 10.0},
}


def _start(name: str, log: Path) -> NodeProcess:
    spec = next(n for n in load_system("tabletop").nodes if n.name == name)
    return start_node(name, log, parameter_files=spec.parameter_files, parameters=PARAMETERS.get(name))


# ---- figures -------------------------------------------------------------------------------------------------------


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """Count the cases of each outcome, as rows of figure, value, goal and whether it is met."""
    ids = [case.id for case in CASES] + [home.id for home in honesty_home.CASES]
    for name in options.tasks:
        if name not in ids:
            raise UnknownNameError("honesty case", name, ids)
    played: list[Judgement] = []

    def tell(one: Judgement) -> None:
        played.append(one)
        said = f"reported {'success' if one.reported else 'no'}, true: {'yes' if one.true else 'no'}"
        console.print(
            f"{one.case}: {one.outcome.value} ({said}; {one.seconds:.1f} s) {one.message[:160]}", highlight=False
        )

    for home in _chosen(honesty_home.CASES, options):
        tell(play_home(home))
    if cases := _chosen(CASES, options):
        logs = log_folder("honesty")
        console.print(f"{len(cases)} cases on a running tabletop system; logs: {logs}")
        with running_stage(logs) as stage:
            for case in cases:
                tell(stage.play(case))
    return _rows(played)


def _chosen(cases: Sequence[Any], options: argparse.Namespace) -> list[Any]:
    return [c for c in cases if not options.tasks or c.id in options.tasks] * options.repeat


def play_home(case: honesty_home.HomeCase) -> Judgement:
    def play() -> Report:
        result, true = honesty_home.play(case)
        return result.success, true, True, result.message

    return judged(case.id, False, play)


def outcome_row(name: str, played: Sequence[Judgement], outcome: Judged, never: bool = False) -> Row:
    """Count of the cases that had an outcome, and which these are. never: whether it is the goal that none has it."""
    ids = [p.case for p in played if p.outcome is outcome]
    return figure(name, f"{len(ids)} of {len(played)}", "0" * never, not ids if never else None, cases=ids)


def _rows(played: Sequence[Judgement]) -> list[Row]:
    never = (Judged.FALSE_SUCCESS, Judged.NOT_PLAYED)
    order = (Judged.FALSE_SUCCESS, Judged.FALSE_FAILURE, Judged.NOT_PLAYED, Judged.RIGHT_SUCCESS, Judged.RIGHT_NO)
    return [
        *(outcome_row(f"honesty: {outcome.value}", played, outcome, outcome in never) for outcome in order),
        figure("honesty: wall time of all cases", f"{sum(p.seconds for p in played):.0f} s"),
    ]
