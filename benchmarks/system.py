"""Figures of the tabletop system: pick-and-place, motion planning, perception, and our overhead over plain ROS."""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
import yaml
from planweave_interfaces.action import ExecuteAction
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rich.console import Console
from rich.progress import track

from benchmarks.figures import Row, figure
from benchmarks.perception_figures import measure
from benchmarks.spun_node import wait_until
from planweave.core.base.errors import PlanweaveError, SystemDownError
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Outcome
from planweave_ros.body_client import RosBody
from planweave_ros.client import Client
from planweave_ros.tabletop_runs import running_parts

COLOURS = ("red", "blue", "green", "yellow")
WITHIN = 0.01  # m: a placement farther off than this is not counted as one


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        targets = [(rng.uniform(0.34, 0.60), rng.uniform(-0.40, 0.40)) for _ in range(options.placements)]
        workspace = _workspace(Path(folder), targets)
        with running_parts(console, workspace=str(workspace)) as (client, body, _):
            placements = [
                _place(client, body, Path(folder), rng, index, target)
                for index, target in enumerate(track(targets, "pick-and-place", console=console))
            ]
            trips = _overhead(body, options.trips)
    console.print(f"perception on {options.scenes} random scenes …")
    seen = measure(options.scenes, options.seed).summary()
    return [*_placement_rows(placements), *_planning_rows(placements), *_perception_rows(seen), *_trip_rows(*trips)]


class Placement:
    """One pick-and-place: its outcomes, how far off it ended (m; None where it failed), and its wall time (s)."""

    def __init__(self, outcomes: Sequence[Outcome], error: float | None, seconds: float):
        self.outcomes, self.error, self.seconds = outcomes, error, seconds

    @property
    def planning(self) -> float:
        """Seconds of wall time for kinematics, motion planning and timing."""
        return sum(o.planning_seconds for o in self.outcomes)

    @property
    def motion(self) -> float:
        """Seconds of robot time in motion."""
        return sum(o.motion_seconds for o in self.outcomes)


def _workspace(folder: Path, targets: Sequence[tuple[float, float]]) -> Path:
    """A workspace with one spot for every placement."""
    places: dict[str, Any] = {"table": {"centre": [0.5, 0.0], "size": [0.8, 1.2]}}
    for index, (x, y) in enumerate(targets):
        places[f"spot_{index}"] = {"centre": [round(x, 4), round(y, 4)], "size": [0.08, 0.08], "narrow": True}
    path = folder / "bench.yaml"
    path.write_text(yaml.safe_dump(places))
    return path


def _place(
    client: Client, body: RosBody, folder: Path, rng: random.Random, index: int, target: tuple[float, float]
) -> Placement:
    """One cube at a random place is picked up and put down at a random spot."""
    colour = rng.choice(COLOURS)
    while True:
        x, y = rng.uniform(0.34, 0.60), rng.uniform(-0.40, 0.40)
        under_arm = x < 0.44 and abs(y) < 0.22  # the arm at home hides what is there from the camera
        if math.dist((x, y), target) > 0.15 and not under_arm:
            break
    cube = {
        "kind": "cube",
        "colour": colour,
        "position": [round(x, 4), round(y, 4)],
        "yaw": round(rng.uniform(-math.pi, math.pi), 3),
    }
    scene = folder / f"scene_{index}.yaml"
    scene.write_text(yaml.safe_dump({"description": "one cube", "objects": [cube]}))
    client.load_scene(str(scene))
    name = f"{colour}_cube"
    wait_until(lambda: _distance(body, name, (x, y)) < 0.03, 10.0, f"{name} to be seen at ({x:.2f}, {y:.2f})")
    begun = time.perf_counter()
    outcomes = []
    for action in (Action("grasp", (name,)), Action("place_at", (name, f"spot_{index}"))):
        outcomes.append(body.execute(action))
        if not outcomes[-1].ok:
            return Placement(outcomes, None, time.perf_counter() - begun)
    return Placement(outcomes, _distance(body, name, target), time.perf_counter() - begun)


def _distance(body: RosBody, name: str, place: tuple[float, float]) -> float:
    """Horizontal distance of an object, as the camera sees it, to a place (m)."""
    thing = body.observe().by_name.get(name)
    return math.dist(thing.position[:2], place) if thing is not None and thing.position else math.inf


def _overhead(body: RosBody, trips: int) -> tuple[list[float], list[float], list[float]]:
    """Wall seconds of a plain action's round trip, of our executor's without its planning, and of a refused one.

    The arm is at home and is sent there again, so that nothing moves; plain and ours take turns.
    """
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.plain_server"])
    plain, ours, refused = [], [], []
    try:
        with _plain_client() as round_trip:
            body.execute(Action("return_to_base"))
            for _ in range(trips):
                plain.append(round_trip())
                begun = time.perf_counter()
                outcome = body.execute(Action("return_to_base"))
                ours.append(time.perf_counter() - begun - outcome.planning_seconds)
                begun = time.perf_counter()
                body.execute(Action("place_in", ("nothing", "nowhere")))
                refused.append(time.perf_counter() - begun)
    finally:
        process.terminate()
        process.wait(10)
    return plain, ours, refused


@contextmanager
def _plain_client() -> Iterator[Callable[[], float]]:
    """round_trip() -> seconds: goal, feedback and result of an action server that does nothing."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("planweave_bench_plain", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    client = ActionClient(node, ExecuteAction, "plain_action")
    if not client.wait_for_server(timeout_sec=20.0):
        raise SystemDownError("the plain action server of the benchmark did not start")

    def round_trip() -> float:
        begun = time.perf_counter()
        sent = client.send_goal_async(ExecuteAction.Goal())
        executor.spin_until_future_complete(sent, timeout_sec=10.0)
        result = sent.result().get_result_async()
        executor.spin_until_future_complete(result, timeout_sec=10.0)
        if not result.done():
            raise PlanweaveError("the plain action server did not answer in 10 s")
        return time.perf_counter() - begun

    try:
        yield round_trip
    finally:
        executor.shutdown(timeout_sec=2.0)
        node.destroy_node()
        context.try_shutdown()


def _p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)] if ordered else math.nan


def _placement_rows(placements: Sequence[Placement]) -> list[Row]:
    good = [p for p in placements if p.error is not None and p.error <= WITHIN]
    errors = [1000 * p.error for p in placements if p.error is not None]
    share = len(good) / len(placements)
    failures: dict[str, int] = {}
    for p in placements:
        code = p.outcomes[-1].code.name
        if code != "SUCCESS":
            failures[code] = failures.get(code, 0) + 1
    rows = [figure("pick-and-place: placed within 1 cm", f"{len(good)} of {len(placements)}", "≥ 98 %", share >= 0.98)]
    if failures:
        rows.append(figure("failures by code", ", ".join(f"{k} {v}" for k, v in sorted(failures.items()))))
    if errors:
        rows.append(
            figure("placement error, median and largest", f"{statistics.median(errors):.1f} mm, {max(errors):.1f} mm")
        )
        seconds = [p.seconds for p in good] or [math.nan]
        rows.append(
            figure(
                "wall time per pick-and-place, median and 95th percentile",
                f"{statistics.median(seconds):.2f} s, {_p95(seconds):.2f} s",
            )
        )
    return rows


def _planning_rows(placements: Sequence[Placement]) -> list[Row]:
    done = [p for p in placements if p.error is not None]
    if not done:
        return []
    planning = [1000 * p.planning for p in done]
    ratio = sum(p.planning for p in done) / sum(p.motion for p in done)
    vamp = "installed: its proposals are tried before OMPL" if importlib.util.find_spec("vamp") else "not installed"
    return [
        figure(
            "planning per pick-and-place, median and 95th percentile",
            f"{statistics.median(planning):.0f} ms, {_p95(planning):.0f} ms",
        ),
        figure("planning over robot's motion time", f"{100 * ratio:.2f} %", "≤ 1 %", ratio <= 0.01),
        figure("VAMP beside OMPL", vamp),
    ]


def _perception_rows(seen: dict[str, float]) -> list[Row]:
    return [
        figure(
            "perception: objects missed, invented, mistaken",
            f"{seen['missed']:.0f}, {seen['invented']:.0f}, {seen['mistaken']:.0f} of {seen['objects']:.0f}",
        ),
        figure(
            "perception: position error, median and 95th percentile",
            f"{seen['error_median_mm']:.2f} mm, {seen['error_p95_mm']:.2f} mm",
            "≤ 5 mm median",
            seen["error_median_mm"] <= 5,
        ),
        figure(
            "perception: time per 640×480 frame, median and 95th percentile",
            f"{seen['frame_median_ms']:.0f} ms, {seen['frame_p95_ms']:.0f} ms",
            "≤ 50 ms median",
            seen["frame_median_ms"] <= 50,
        ),
    ]


def _trip_rows(plain: list[float], ours: list[float], refused: list[float]) -> list[Row]:
    base, action, refusal = (1000 * statistics.median(v) for v in (plain, ours, refused))
    return [
        figure("plain action round trip, median", f"{base:.2f} ms"),
        figure(
            "executed action without planning and motion, over plain",
            f"{action:.2f} ms, {action / base:.2f}×",
            "≤ 2×",
            action / base <= 2,
        ),
        figure("refused action, over plain", f"{refusal:.2f} ms, {refusal / base:.2f}×"),
    ]
