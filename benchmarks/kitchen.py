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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from geometry_msgs.msg import Point
from planweave_interfaces.msg import DetectedObjects
from planweave_interfaces.srv import Intervene
from rich.console import Console
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from benchmarks.figures import Row, figure
from benchmarks.honesty import Judged, Judgement, Report, judged, outcome_row
from benchmarks.honesty_cases import AWAY, Spot
from benchmarks.spun_node import spun_node, wait_until
from planweave.bench import kitchen_tasks
from planweave.bench.kitchen_tasks import (
    BOTTOM,
    CLOSED,
    DOOR,
    KNOB,
    MUG_AWAY,
    OFF,
    ON,
    OPEN,
    SHUT,
    SWUNG,
    TOP,
    KitchenTask,
    part_name,
    within,
)
from planweave.cli.run import started
from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.simulation.scene import Scene, load_scene
from planweave_ros.client import Client
from planweave_ros.tabletop_runs import Truth

COUNTER: Spot = (0.38, -0.16, 0.0)
BEFORE_DOOR: Spot = (0.53, -0.30, 0.0)


@dataclass(frozen=True)
class Act:
    """What a person does: moves objects and parts of furniture, or covers the cameras. when: a moment of the robot's
    handling of `watch` (see Intervene.srv); "" at once. once: not before this part is so far open, in the truth.
    """

    when: str = ""
    watch: str = "mug"
    objects: Mapping[str, Spot] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    camera: bool | None = None
    once: tuple[str, tuple[float, float]] | None = None


@dataclass(frozen=True)
class KitchenCase(KitchenTask):
    """A task with a person's hands. before: acts before it; during: acts meanwhile. blind: nothing could show the goal
    at the end.
    """

    before: tuple[Act, ...] = ()
    during: tuple[Act, ...] = ()
    blind: bool = False

    @property
    def things(self) -> set[str]:
        """Kinds of the things that it is about."""
        handled = {
            name for act in (*self.before, *self.during) for name in (*act.objects, *([act.watch] * bool(act.when)))
        }
        return {*self.inside, *self.on, *self.on.values(), *handled}


TASKS = tuple(KitchenCase(**vars(task)) for task in kitchen_tasks.TASKS)

_JUST_SHUT = (-0.01, 0.004)  # m that a drawer is out which has just been shut


def _mug(name: str, *during: Act, blind: bool = False) -> KitchenCase:
    """The mug is put away into the top drawer."""
    return KitchenCase(name, MUG_AWAY, {TOP: SHUT}, {"mug": TOP}, during=during, blind=blind)


def _behind(name: str, *during: Act) -> KitchenCase:
    """The mug is put away behind the cupboard's door."""
    sentence = "put the mug in the cupboard and close it"
    return KitchenCase(name, sentence, {DOOR: CLOSED}, {"mug": DOOR}, during=during)


def _open(name: str, *during: Act, blind: bool = False) -> KitchenCase:
    return KitchenCase(name, "open the top drawer", {TOP: OPEN}, during=during, blind=blind)


HONESTY = (
    _mug("plain"),
    KitchenCase("open_already", "open the top drawer", {TOP: OPEN}, open_at_first={TOP: 0.15}),
    KitchenCase("ajar", "close the top drawer", {TOP: SHUT}, open_at_first={TOP: 0.04}),
    _mug("drawer_shut_at_lift", Act("lift", parts={TOP: 0.0})),
    KitchenCase(
        "drawer_shut_at_carry",
        "put the mug in the top drawer",
        inside={"mug": TOP},
        open_at_first={TOP: 0.16},
        during=(Act("carry", parts={TOP: 0.0}),),
    ),
    _open("drawer_shut_when_open", Act(parts={TOP: 0.0}, once=(TOP, OPEN))),
    KitchenCase(
        "drawer_opened_when_shut",
        "close the top drawer",
        {TOP: SHUT},
        open_at_first={TOP: 0.15},
        during=(Act(parts={TOP: 0.12}, once=(TOP, _JUST_SHUT)),),
    ),
    _mug("mug_taken_at_approach", Act("approach", objects={"mug": AWAY})),
    _mug("mug_taken_at_carry", Act("carry", objects={"mug": AWAY})),
    _mug("mug_moved_at_approach", Act("approach", objects={"mug": COUNTER})),
    _mug("mug_taken_out_at_retreat", Act("retreat", objects={"mug": COUNTER})),
    _mug("mug_taken_out_of_the_closed_drawer", Act(objects={"mug": COUNTER}, once=(TOP, _JUST_SHUT))),
    _mug("cameras_covered_at_retreat", Act("retreat", camera=False), blind=True),
    _open("cameras_covered_when_open", Act(camera=False, once=(TOP, OPEN)), blind=True),
    KitchenCase(
        "other_drawer_opened",
        "open the top drawer",
        {TOP: OPEN, BOTTOM: (-0.01, 1.0)},
        during=(Act(parts={BOTTOM: 0.12}, once=(TOP, (0.03, 1.0))),),
    ),
    KitchenCase(
        "door_shut_when_open", "open the cupboard", {DOOR: SWUNG}, during=(Act(parts={DOOR: 0.0}, once=(DOOR, SWUNG)),)
    ),
    KitchenCase("drawer_locked", "open the top drawer", {TOP: OPEN}, locked=(TOP,)),
    KitchenCase("door_locked", "open the cupboard", {DOOR: SWUNG}, locked=(DOOR,)),
    KitchenCase("door_blocked", "open the cupboard", {DOOR: SWUNG}, before=(Act(objects={"can": BEFORE_DOOR}),)),
    _behind("mug_taken_out_of_the_cupboard", Act("retreat", objects={"mug": COUNTER})),
    _behind("mug_taken_away_from_the_cupboard", Act("retreat", objects={"mug": AWAY})),
    KitchenCase("stove_turned_on", "turn off the stove", {KNOB: OFF}, before=(Act(parts={KNOB: 1.2}),)),
    KitchenCase("stove_off_already", "turn off the stove", {KNOB: OFF}),
    KitchenCase(
        "stove_turned_off_when_on", "turn on the stove", {KNOB: ON}, during=(Act(parts={KNOB: 0.0}, once=(KNOB, ON)),)
    ),
)


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
        name = case.id if seed is None else f"{case.id}/{seed}"
        return judged(name, case.blind, partial(self._run, case, seed))

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
        missing = self._missing(case)
        if failed:
            raise failed[0]
        return result.success, not missing, came[0], result.message + "".join(f"; truly not {m}" for m in missing)

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
        request.places = [Point(x=x, y=y, z=z) for x, y, z in act.objects.values()]
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


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    known = [case.id for case in (*TASKS, *HONESTY)]
    for name in options.tasks:
        if name not in known:
            raise UnknownNameError("kitchen case", name, known)
    tasks, honesty = ([c for c in cases if not options.tasks or c.id in options.tasks] for cases in (TASKS, HONESTY))
    played: dict[str, list[Judgement]] = {"tasks": [], "honesty": []}
    with running_kitchen(console) as stage:
        for kind, cases in (
            ("tasks", [(case, seed) for seed in range(options.seeds) for case in tasks]),
            ("honesty", [(case, None) for case in honesty * options.repeat]),
        ):
            for case, seed in cases:
                one = stage.play(case, seed)
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
