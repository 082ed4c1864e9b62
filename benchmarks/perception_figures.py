"""Accuracy of perception: random scenes of all kinds, rendered with sensor noise, against where things really are.

python -m benchmarks.perception_figures --scenes 50
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from doubles.table_view import TableView, table_view

from planweave.core.base.errors import SceneError
from planweave.perception.calibration import load_extrinsics
from planweave.perception.detection import Detection
from planweave.perception.pipeline import Pipeline
from planweave.simulation.camera import DepthNoise
from planweave.simulation.offscreen import choose_gl
from planweave.simulation.scene import Scene, SceneObject, TableTop
from planweave.simulation.shapes import KINDS

ITEMS = ("cube", "cylinder", "banana", "pear", "apple", "orange", "strawberry", "bottle")
RECEPTACLES = ("tray", "box", "bowl", "plate")
COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "pink", "brown", "aqua", "white", "gray", "black")
_FLOOR = {"tray": 0.006, "box": 0.006, "bowl": 0.006, "plate": 0.012}
REALISTIC = DepthNoise()
_NEAR = 0.035  # m: a detection this near to an object is of that object


@dataclass(frozen=True)
class Placed:
    """One object as it really is; hidden: under another one, so that it need not be seen."""

    kind: str
    colour: str
    position: tuple[float, float, float]
    hidden: bool = False


@dataclass
class Figures:
    """Counts over all scenes, and one line for every mistake.

    errors: horizontal, heights: vertical, by_kind: the horizontal ones of each kind, all in metres.
    """

    objects: int = 0
    missed: int = 0
    invented: int = 0
    mistaken: int = 0
    errors: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    by_kind: dict[str, list[float]] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        errors = np.array(self.errors or [math.nan])
        times = np.array(self.milliseconds or [math.nan])
        return {
            "objects": self.objects,
            "missed": self.missed,
            "invented": self.invented,
            "mistaken": self.mistaken,
            "error_median_mm": float(np.median(errors)) * 1e3,
            "error_p95_mm": float(np.percentile(errors, 95)) * 1e3,
            "error_max_mm": float(errors.max()) * 1e3,
            "height_error_median_mm": float(np.median(np.abs(self.heights or [math.nan]))) * 1e3,
            "frame_median_ms": float(np.median(times)),
            "frame_p95_ms": float(np.percentile(times, 95)),
        }


def random_scene(rng: np.random.Generator, items: int = 6, receptacles: int = 2) -> tuple[Scene, list[Placed]]:
    """Objects of random kinds and colours on the table, some in or on receptacles, some cubes on cubes."""
    placed: list[tuple[float, float, float]] = []
    objects: list[SceneObject] = []
    truth: list[Placed] = []
    homes: list[tuple[int, str]] = []

    def add(kind: str, colour: str, x: float, y: float, z: float) -> None:
        yaw = float(rng.uniform(-math.pi, math.pi))
        objects.append(SceneObject(kind, (x, y, z), colour, KINDS[kind].default, yaw, 1))
        truth.append(Placed(kind, colour, (x, y, z)))

    def spot(radius: float) -> tuple[float, float] | None:
        for _ in range(60):
            x, y = float(rng.uniform(0.24 + radius, 0.92 - radius)), float(rng.uniform(-0.62 + radius, 0.62 - radius))
            under_arm = x - radius < 0.44 and abs(y) - radius < 0.22
            if not under_arm and all(math.hypot(x - a, y - b) > radius + r + 0.012 for a, b, r in placed):
                placed.append((x, y, radius))
                return x, y
        return None

    for kind in rng.choice(RECEPTACLES, size=receptacles):
        place = spot(math.hypot(*KINDS[kind].footprint(KINDS[kind].default)) / 2 if kind in ("tray", "box") else 0.13)
        if place:
            # A thing of the table's own colour is no fair question to a camera.
            add(str(kind), str(rng.choice([c for c in COLOURS if c not in ("orange",)])), *place, 0.0)
            homes.append((len(objects) - 1, str(kind)))
    for kind in rng.choice(ITEMS, size=items):
        colour = _item_colour(rng, str(kind))
        choice = rng.random()
        if homes and choice < 0.3:
            index, home = homes.pop(int(rng.integers(len(homes))))
            if home == "bowl" and kind in ("banana", "cube"):
                continue
            if objects[index].colour == colour:
                continue
            x, y, _ = objects[index].position
            slack = 0.0 if home == "bowl" else 0.03
            x, y = x + float(rng.uniform(-slack, slack)), y + float(rng.uniform(-slack, slack))
            add(str(kind), colour, x, y, _FLOOR[home])
            continue
        place = spot(0.085 if kind == "banana" else 0.055)
        if not place:
            continue
        if kind == "cube" and choice > 0.8:
            below = str(rng.choice([c for c in COLOURS if c != colour]))
            add("cube", below, *place, 0.0)
            truth[-1] = Placed("cube", below, truth[-1].position, hidden=True)
            add("cube", colour, *place, KINDS["cube"].default[0])
        else:
            add(str(kind), colour, *place, 0.0)
    return Scene(Path("random.yaml"), "random things", TableTop(), tuple(objects)), truth


def _item_colour(rng: np.random.Generator, kind: str) -> str:
    if kind in ("cube", "cylinder"):
        return str(rng.choice(COLOURS))
    if kind == "bottle":
        return str(rng.choice(("green", "blue", "red", "brown", "purple")))
    return KINDS[kind].colour


def views(
    count: int,
    seed: int = 0,
    noise: DepthNoise | None = REALISTIC,
    items: int = 6,
    receptacles: int = 2,
    objects: int = 0,
) -> Iterator[tuple[TableView, list[Placed]]]:
    """Views of random scenes, each with the truth; of fewer things where there is no room, unless there must be so many
    objects.
    """
    choose_gl()
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        scene, truth = random_scene(rng, items, receptacles)
        if objects and len(truth) != objects:
            continue
        try:
            view = table_view(scene, noise, seed + made)
        except SceneError:
            continue
        yield view, truth
        made += 1


def compare(found: Sequence[Detection], truth: Sequence[Placed], figures: Figures, label: str = "") -> None:
    """Count what was missed, invented or mistaken, and the errors of what was found."""
    free = list(found)
    for real in truth:
        near = [d for d in free if math.dist(d.position[:2], real.position[:2]) < _NEAR]
        same = [d for d in near if d.class_name == real.kind] or near
        # Of things above each other the one at the right height.
        same.sort(key=lambda d: (abs(d.bottom - real.position[2]) > 0.02, math.dist(d.position[:2], real.position[:2])))
        if real.hidden and (not same or abs(same[0].bottom - real.position[2]) > 0.02):
            continue
        figures.objects += 1
        if not same:
            figures.missed += 1
            figures.mistakes.append(f"{label}: missed {real.colour} {real.kind} at {np.round(real.position, 3)}")
            continue
        best = same[0]
        free.remove(best)
        word_matters = not real.hidden and real.kind in ("cube", "cylinder", "bottle", *RECEPTACLES)
        if best.class_name != real.kind or (word_matters and best.colour != real.colour):
            figures.mistaken += 1
            figures.mistakes.append(
                f"{label}: {real.colour} {real.kind} at {np.round(real.position, 3)} "
                f"taken for {best.colour} {best.class_name}, "
                f"size {np.round(best.size, 3)}, rgb {np.round(best.rgb)}"
            )
        error = math.dist(best.position[:2], real.position[:2])
        figures.errors.append(error)
        figures.by_kind.setdefault(real.kind, []).append(error)
        figures.heights.append(best.bottom - real.position[2])
    figures.invented += len(free)
    for d in free:
        figures.mistakes.append(
            f"{label}: invented {d.colour} {d.class_name} at {np.round(d.position, 3)}, size {np.round(d.size, 3)}"
        )


def measure(scenes: int = 50, seed: int = 0, noise: DepthNoise | None = REALISTIC, **things: int) -> Figures:
    """Perception of single frames of random scenes on one thread: counts, position errors, processor time a frame.

    things: items, receptacles and objects of `views`.
    """
    pipeline = Pipeline(load_extrinsics())
    figures = Figures()
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        for i, (view, truth) in enumerate(views(scenes, seed, noise, **things)):
            start = time.thread_time()
            scene = pipeline.run(view.rgb, view.depth, view.intrinsics, view.robot)
            figures.milliseconds.append((time.thread_time() - start) * 1e3)
            compare(scene.detections, truth, figures, f"scene {i}")
    finally:
        cv2.setNumThreads(threads)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--items", type=int, default=6, help="things in a scene, beside receptacles (default: 6)")
    parser.add_argument("--receptacles", type=int, default=2, help="trays, boxes, bowls and plates (default: 2)")
    arguments = parser.parse_args()
    figures = measure(arguments.scenes, arguments.seed, items=arguments.items, receptacles=arguments.receptacles)
    for line in figures.mistakes:
        print(line)
    for kind, errors in sorted(figures.by_kind.items()):
        print(f"{kind:24} {np.median(errors) * 1e3:8.2f} mm median, {max(errors) * 1e3:.2f} worst of {len(errors)}")
    for name, value in figures.summary().items():
        print(f"{name:24} {value:8.2f}")


if __name__ == "__main__":
    main()
