"""The kitchen by what cameras see: tasks in random arrangements, and honesty while people's hands interfere.

The system kitchen runs as its processes, without a language model. What a task reports is held against the simulator's
true poses and joints at its end: a false success must never be.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from geometry_msgs.msg import Point
from planweave_interfaces.msg import DetectedObjects
from planweave_interfaces.srv import Intervene
from rich.console import Console
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import planweave as pw
from benchmarks.figures import Row, figure
from benchmarks.honesty import Judged, Judgement, Report, judged, outcome_row
from benchmarks.kitchen_cases import HONESTY, TASKS, Act, KitchenCase
from benchmarks.kitchen_here import play_here
from benchmarks.spun_node import spun_node, wait_until
from planweave.bench.kitchen_tasks import part_name, within
from planweave.cli.run import started
from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.simulation.scene import Scene, load_scene
from planweave_ros.client import Client, TaskResult
from planweave_ros.tabletop_runs import Truth

PATIENCE = 240.0  # wall seconds for one task; for whatever else is waited for, a fourth of it
_SET = 4  # frames that together show all of the scene


class KitchenStage:
    """The running system, people's hands, and the truth."""

    def __init__(self, client: Client, node: Any, folder: Path) -> None:
        self._client, self._folder, self._truth = client, folder, Truth(node)
        self._intervene = node.create_client(Intervene, "simulation/intervene")
        self._forget = node.create_client(Trigger, "perception/forget")
        self._parts: dict[str, float] = {}
        self._seen: list[set[str]] = []
        self._scene: Scene | None = None
        node.create_subscription(JointState, "simulation/furniture_states", self._on_parts, 10)
        node.create_subscription(DetectedObjects, "perception/detected_objects", self._on_objects, 10)

    def _on_parts(self, message: JointState) -> None:
        self._parts = {part_name(name): value for name, value in zip(message.name, message.position)}

    def _on_objects(self, message: DetectedObjects) -> None:
        self._seen = [*self._seen[-_SET:], {o.class_name for o in message.objects if o.visible}]

    def play(self, case: KitchenCase, seed: int | None = None) -> Judgement:
        """One case from its scene to the verdict; seed: of a random arrangement, None for that of the scene."""
        return judged(case.named(seed), case.blind, partial(self._run, case, seed))

    def _run(self, case: KitchenCase, seed: int | None) -> Report:
        self._set(case, seed)
        for act in case.before:
            self._do(act)
        came, failed = [True], list[PlanweaveError]()
        ended = threading.Event()
        person = threading.Thread(target=self._interfere, args=(case.during, ended, came, failed), daemon=True)
        person.start()
        try:
            result = self._client.run_task(case.sentence, method="classical", timeout=PATIENCE)
        finally:
            ended.set()
            person.join(PATIENCE / 4)
        if failed:
            raise failed[0]
        return report(result, self._missing(case), came[0])

    def _set(self, case: KitchenCase, seed: int | None) -> None:
        """Load the scene, and wait until the cameras see its furniture and what the case is about."""
        path = self._folder / "scene.yaml"
        path.write_text(case.scene(seed))
        self._scene = load_scene(str(path))
        self._client.load_scene(str(path))
        self._ask(self._forget, Trigger.Request())
        self._seen = []
        wanted = {fixture.kind for fixture in self._scene.fixtures} | case.things
        try:
            wait_until(lambda: len(self._seen) > _SET and not self._unseen(wanted), PATIENCE / 4, "all to be seen")
        except PlanweaveError:
            raise PlanweaveError(f"the cameras do not see {', '.join(sorted(self._unseen(wanted)))}") from None

    def _unseen(self, wanted: set[str]) -> set[str]:
        """Classes of which nothing was visible in the newest frames."""
        return wanted - set().union(*self._seen)

    def _interfere(
        self, acts: Sequence[Act], ended: threading.Event, came: list[bool], failed: list[PlanweaveError]
    ) -> None:
        """Do the acts of a case, one after the other, each at its moment; the last that waits for a moment is left to
        the simulation.
        """
        try:
            for act in acts:
                while act.once is not None and not within(self._parts.get(act.once[0]), act.once[1]):
                    if ended.wait(0.02):
                        came[0] = False
                        return
                ended.wait(act.after)
                self._do(act)
            if any(act.when for act in acts):
                ended.wait()
                said = self._ask(self._intervene, Intervene.Request(camera=[True]))
                came[0] = "never came" not in said
        except PlanweaveError as error:
            failed.append(error)

    def _do(self, act: Act) -> None:
        assert self._scene is not None
        kinds = [o.kind for o in self._scene.objects]
        request = Intervene.Request(when=act.when, watch=kinds.index(act.watch))
        request.objects = [kinds.index(name) for name in act.objects]
        request.places = [Point(x=x, y=y, z=z) for x, y, z in act.places(self._scene).values()]
        request.joints, request.values = list(act.parts), list(act.parts.values())
        request.camera = [] if act.camera is None else [act.camera]
        self._ask(self._intervene, request)

    def _ask(self, service: Any, request: Any) -> str:
        wait_until(service.service_is_ready, PATIENCE / 4, service.srv_name)
        future = service.call_async(request)
        wait_until(future.done, PATIENCE / 4, service.srv_name)
        if not future.result().success:
            raise PlanweaveError(f"{service.srv_name}: {future.result().message}")
        return str(future.result().message)

    def _missing(self, case: KitchenCase) -> list[str]:
        """What the sentence asks for and is not true in the simulator."""
        assert self._scene is not None
        bodies = self._truth.bodies(self._scene, seconds=PATIENCE / 4)
        return case.missing(self._scene, self._parts, bodies)


@contextlib.contextmanager
def running_kitchen(console: Console) -> Iterator[KitchenStage]:
    """The system kitchen as processes, without a language model."""
    values = {"planner_node.client": "none"}
    with (
        tempfile.TemporaryDirectory() as folder,
        started("kitchen", values, console) as (client, _),
        spun_node("planweave_kitchen") as node,
    ):
        yield KitchenStage(client, node, Path(folder))


def report(result: pw.Result | TaskResult, missing: Sequence[str], came: bool) -> Report:
    """Report of a task: what it said, what of its goal is not so, and whether the person's moment came."""
    return result.success, not missing, came, result.message + "".join(f"; truly not {m}" for m in missing)


Play = Callable[[KitchenCase, int | None], Judgement]


@contextlib.contextmanager
def playing(options: argparse.Namespace, console: Console) -> Iterator[Play]:
    """A case as it is played, at a seed of a random arrangement, None for that of the scene."""
    if not options.here:
        with running_kitchen(console) as stage:
            yield stage.play
        return

    def play(case: KitchenCase, seed: int | None) -> Judgement:
        return judged(case.named(seed), case.blind, lambda: report(*play_here(case, seed)))

    yield play


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    known = [case.id for case in (*TASKS, *HONESTY)]
    for name in options.tasks:
        if name not in known:
            raise UnknownNameError("kitchen case", name, known)
    tasks, honesty = ([c for c in cases if not options.tasks or c.id in options.tasks] for cases in (TASKS, HONESTY))
    seeds = [*range(options.seed, options.seed + options.seeds)]
    played: dict[str, list[Judgement]] = {"tasks": [], "honesty": []}
    with playing(options, console) as play:
        for kind, cases in (
            ("tasks", [(case, seed) for seed in seeds for case in tasks]),
            (
                "honesty",
                [(case, seed) for seed in (seeds if options.hands else [None] * options.repeat) for case in honesty],
            ),
        ):
            for case, seed in cases:
                one = play(case, seed)
                played[kind].append(one)
                console.print(
                    f"{one.case}: {one.outcome.value} ({one.seconds:.0f} s) {one.message[:300]}", highlight=False
                )
    return [row for kind, those in played.items() if those for row in _rows(kind, those)]


def _rows(kind: str, played: Sequence[Judgement]) -> list[Row]:
    rows = [outcome_row(f"kitchen, {kind}: false successes", played, Judged.FALSE_SUCCESS, never=True)]
    if kind == "tasks":
        goal = math.ceil(0.95 * len(played))
        missed = [f"{p.case}: {p.message[:120]}" for p in played if p.outcome is not Judged.RIGHT_SUCCESS]
        reached = len(played) - len(missed)
        value = f"{reached} of {len(played)}"
        rows.append(figure("kitchen, tasks: reached", value, f"≥ {goal}", reached >= goal, cases=missed))
    others = (Judged.RIGHT_SUCCESS, Judged.RIGHT_NO, Judged.FALSE_FAILURE, Judged.NOT_PLAYED)
    return rows + [outcome_row(f"kitchen, {kind}: {outcome.value}", played, outcome) for outcome in others]
