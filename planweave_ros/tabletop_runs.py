"""Runs of tabletop tasks on the running system: actions over DDS, evaluated on the simulator's true poses."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from rich.console import Console

from planweave.bench.tabletop_checks import ObjectPose
from planweave.bench.tabletop_tasks import TabletopTask, check, scene_bodies
from planweave.bench.tabletop_variants import Variant, variant
from planweave.bodies.arm.waiting import until
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import NoModelError, NotSeenError, PlanweaveError, SystemDownError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Outcome
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.launcher.one_system import own_domain
from planweave.launcher.running_system import RunningSystem, log_folder
from planweave.launcher.systems import load_system
from planweave.methods import METHODS
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.simulation.scene import Scene, load_scene
from planweave_ros.body_client import RosBody
from planweave_ros.client import Client
from planweave_ros.conversions import orientation_from_msg, position_from_msg, time_from_msg
from planweave_ros.spin import executor_of, own_node, spun

NODES = ("simulation_node", "perception_node", "executor_node")
SEEN = 15.0  # wall seconds until the camera has seen a new scene


@contextmanager
def running_parts(console: Console, **executor: str) -> Iterator[tuple[Client, RosBody, Node]]:
    """Simulation, perception and executor as processes, without planner and feedback; parameters of the executor.

    Gives a console client, the body as feedback_node sees it, and a node that is spun in a thread.
    """
    whole = load_system("tabletop")
    system = replace(whole, nodes=tuple(n for n in whole.nodes if n.name in NODES))
    with (
        own_domain("bench"),
        Client() as client,
        RunningSystem(system, log_folder("bench"), {"executor_node": executor}) as running,
    ):
        console.print(f"starting {', '.join(NODES)}; logs: {running.logs}")
        running.wait_ready(client)
        with _body() as (body, node):
            yield client, body, node


@contextmanager
def _body() -> Iterator[tuple[RosBody, Node]]:
    """The body as feedback_node sees it, on a node spun in a thread."""
    nobody = Cancellation()
    with own_node("planweave_bench") as node:
        body = RosBody(node, lambda: nobody, timeout=60.0, world_timeout=20.0)
        with spun(executor_of(node)):
            yield body, node


class Truth:
    def __init__(self, node: Any):
        self._condition = threading.Condition()
        self._newest: PoseArray | None = None
        node.create_subscription(PoseArray, "simulation/object_poses", self._heard, 10)

    def _heard(self, message: PoseArray) -> None:
        with self._condition:
            self._newest = message
            self._condition.notify_all()

    def bodies(self, scene: Scene, held: str = "", seconds: float = 5.0) -> list[ObjectPose]:
        """Poses of the objects of the loaded scene, from the next message."""
        with self._condition:
            before = self._stamp
            if not self._condition.wait_for(lambda: self._stamp > before, seconds):
                raise SystemDownError(f"no true poses on /simulation/object_poses for {seconds:g} s")
            assert self._newest is not None
            poses = [(position_from_msg(pose), orientation_from_msg(pose)) for pose in self._newest.poses]
        return scene_bodies(scene, poses, held)

    @property
    def _stamp(self) -> float:
        return time_from_msg(self._newest.header.stamp) if self._newest else -1.0


@dataclass
class TabletopRun:
    """Result of one run. lacking: violations of the checker on true poses; seconds: of wall time and of robot time."""

    task: str
    seed: int
    lacking: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # codes of failed actions
    messages: list[str] = field(default_factory=list)
    actions: int = 0
    replans: int = 0
    slips: int = 0
    vanishings: int = 0
    wall: float = 0.0
    motion: float = 0.0
    planning: float = 0.0

    @property
    def success(self) -> bool:
        return not self.lacking


class CountingBody(WrappedBody):
    """A body as a port, whose actions are counted in a run."""

    def __init__(self, body: RosBody, run: TabletopRun):
        super().__init__(body)
        self._run = run

    def execute(self, action: Action, **options: Any) -> Outcome:
        outcome = super().execute(action, **options)
        run = self._run
        run.actions += 1
        run.motion += outcome.motion_seconds
        run.planning += outcome.planning_seconds
        if outcome.code is not Code.SUCCESS:
            run.failures.append(outcome.code.name)
            run.messages.append(f"{action}: {outcome.message}")
        return outcome


@dataclass
class RunningStage:
    """The running system and the tools to run tasks on it; folder: for scene files."""

    client: Client
    body: RosBody
    truth: Truth
    folder: Path
    workspace: str = ""

    def set_up(self, task: TabletopTask, changed: Variant) -> Scene:
        """Load a scene and wait until the camera has seen all of it; raises NotSeenError where it has not."""
        path = self.folder / f"{task.id}.yaml"
        path.write_text(changed.text, encoding="utf-8")
        if self.workspace != task.workspace:
            self.client.set_parameter("executor_node", "workspace", task.workspace)
            self.workspace = task.workspace
        self.client.load_scene(str(path))
        scene = load_scene(str(path))
        wanted = dict(zip(changed.names, scene_bodies(scene)))

        def seen() -> bool:
            places = {o.name: o.position for o in self.body.observe().objects}
            return all(
                (place := places.get(name)) is not None and math.dist(place[:2], body.position[:2]) < 0.03
                for name, body in wanted.items()
            )

        if not until(seen, SEEN, 0.02):
            known = self.body.observe().by_name
            raise NotSeenError(
                f"{task.id}: the camera has not seen {', '.join(n for n in wanted if n not in known) or 'all'} "
                f"where it stands after {SEEN:g} s; it sees {', '.join(sorted(known))}"
            )
        return scene

    def run(
        self, task: TabletopTask, seed: int, *, recover: bool = False, slip: float = 0.0, vanish: float = 0.0
    ) -> TabletopRun:
        """One run: the reference plan; with `recover` by the classical planner, which plans again after a failure."""
        changed = variant(task, seed, slip, vanish)
        run = TabletopRun(task.id, seed, slips=changed.slips, vanishings=changed.vanishings)
        try:
            scene = self.set_up(task, changed)
        except PlanweaveError as error:
            run.lacking, run.failures, run.messages = [str(error)], ["NOT_SEEN"], [str(error)]
            return run
        start = self.truth.bodies(scene)
        begun = time.monotonic()
        if recover:
            self._recover(task, run)
        else:
            body = CountingBody(self.body, run)
            for action in task.reference:
                if not body.execute(action).ok:
                    break
        run.wall = time.monotonic() - begun
        world = self.body.observe()
        held = next((f.args[0] for f in world.facts if f.predicate == "holding"), "")
        run.lacking = check(task, self.truth.bodies(scene, held), start)
        return run

    def _recover(self, task: TabletopTask, run: TabletopRun) -> None:
        """Plan and act to the goal with the classical planner."""
        nobody: Any = _NoPlanner()
        journal, domain = Journal(), Domain.load("tabletop")
        episode = Episode("", task.sentence, task.goal, domain, nobody, CountingBody(self.body, run), journal)
        try:
            METHODS["classical"]().run(episode)
        except PlanweaveError as error:
            run.messages.append(str(error))
        run.replans = max(0, len(journal.events("classical_plan")) - 1)


class _NoPlanner:
    """The classical method makes no requests."""

    def __getattr__(self, name: str) -> Any:
        raise NoModelError(f"the classical method asked a language model ({name})")
