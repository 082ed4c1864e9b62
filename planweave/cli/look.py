"""Look at a table once: what is there, as a list and as a picture with outlines and names.

With --camera, the file that `planweave calibrate table` writes, places are in the robot's base frame. Without it they
are in the image's own: from the middle of the image, x to its top, y to its left, z up from the table.

examples:
  planweave look realsense
  planweave look topics --camera overhead
  planweave look my_bag --camera table_camera.yaml --out table.png
  planweave look folder_of_images --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.cli.camera_source import add_source, opened, write_picture

if TYPE_CHECKING:
    from planweave.perception.detection import Detection

NEEDS_ROS = False  # only for SOURCE topics
_ANYWHERE = (-2.0, 2.0, -2.0, 2.0)  # m: the table without a robot
_JOINTS = 1.0  # s in which the joint states of a robot in view come


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument("--camera", metavar="FILE", help="pose of the camera: a file, or a name under config/cameras")
    parser.add_argument("--detector", default="attributes", metavar="NAME", help="how things get their names")
    parser.add_argument("--names", default="", metavar="A,B", help="noun phrases for an open-vocabulary detector")
    parser.add_argument("--robot", metavar="NAME", help="robot that may be in view")
    parser.add_argument("--out", type=Path, default=Path("look.png"), metavar="FILE", help="picture (look.png)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; raises CameraError where the images cannot be used, ConfigError for other options."""
    from planweave.bodies.arm.waiting import until
    from planweave.core.base.errors import ConfigError
    from planweave.core.symbolic.domain import Domain
    from planweave.perception.calibration import Extrinsics, load_extrinsics
    from planweave.perception.cameras.frame import CameraError
    from planweave.perception.decoding import FrameError
    from planweave.perception.detectors import LateNamer, is_open_vocabulary, make_detector, models
    from planweave.perception.detectors.options import Options
    from planweave.perception.drawing import annotate
    from planweave.perception.geometry import Projector
    from planweave.perception.perceiver import NamedObject
    from planweave.perception.pipeline import Pipeline, PipelineLimits
    from planweave.perception.table_calibration import level
    from planweave.perception.vision_names import class_names
    from planweave.perception.vocabulary import Vocabulary
    from planweave.robots import DEFAULT, load_robot

    names = Vocabulary([name for name in map(str.strip, options.names.split(",")) if name]).names
    if is_open_vocabulary(options.detector) and not names:
        raise ConfigError(f"the detector {options.detector} is told what to look for: give --names, as in mug,red bowl")
    robot = load_robot(options.robot or DEFAULT)
    extrinsics = load_extrinsics(options.camera, robot) if options.camera else None
    told: list[str] = []

    def say(line: str) -> None:
        told.append(line)
        print(line, file=sys.stderr)

    model, domain = models().get(options.detector, ""), Domain.load()
    detector = make_detector(options.detector, model, say=say, classes=class_names(domain))
    with opened(options) as (frame, node):
        state = node.robot(robot, _JOINTS) if node is not None and extrinsics is not None else None
    try:
        if extrinsics is None:
            extrinsics = Extrinsics(frame.frame_id, level(frame, options.at))
        pipeline = Pipeline(extrinsics, PipelineLimits(table=_ANYWHERE), detector, domain)
        scene = pipeline.run(frame.rgb, frame.depth, frame.intrinsics, state, names=names)
        notes: list[str] = []
        if isinstance(detector, LateNamer):  # it says what kept it from naming
            if detector.waiting or detector.answered:  # `scene` is from before the answer
                print(f"waiting for names, up to {Options.timeout:g} s", file=sys.stderr)
                until(lambda: not detector.waiting, Options.timeout, 0.02)
                scene = pipeline.run(frame.rgb, frame.depth, frame.intrinsics, state, names=names)
            notes = [*told, *[f"not all names came within {Options.timeout:g} s"] * detector.waiting]
    except FrameError as error:
        raise CameraError(f"{options.source}: {error}") from None
    things = sorted(scene.detections, key=lambda thing: thing.position)
    named = [NamedObject(i, f"{i} {label(thing)}", thing, True) for i, thing in enumerate(things, 1)]
    projector = Projector(frame.intrinsics, scene.view.camera_to_frame)
    write_picture(options.out, annotate(frame.rgb, named, projector, [*scene.problems, *notes]))
    where = robot.base if options.camera else "image"
    if options.json:
        rows = {"objects": list(map(row, things)), "problems": [*scene.problems, *notes]}
        print(json.dumps({"success": True, "frame": where, **rows, "picture": str(options.out)}))
        return 0
    print_table(things, where)
    for problem in (*scene.problems, *notes):
        print(f"note: {problem}")
    print(f"picture: {options.out}")
    return 0


def label(thing: Detection) -> str:
    return " ".join(filter(None, (thing.colour, thing.class_name))).replace("_", " ")


def row(thing: Detection) -> dict[str, Any]:
    """An object for a program: metres and radians."""
    return {
        "class_name": thing.class_name,
        "colour": thing.colour,
        "shape": thing.shape,
        "confidence": round(thing.confidence, 2),
        "position": [round(v, 4) for v in thing.position],
        "yaw": round(thing.yaw, 3),
        "size": [round(v, 4) for v in thing.size],
        "cut": thing.cut,
    }


def print_table(things: Iterable[Detection], where: str) -> None:
    """The objects for people: centimetres."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"places in cm, frame {where}", title_justify="left")
    for column in ("", "what", "confidence", "x, y, z", "size"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for number, thing in enumerate(things, 1):
        place, size = (
            ", ".join(f"{100 * v:.1f}" for v in thing.position),
            " x ".join(f"{100 * v:.1f}" for v in thing.size),
        )
        name = f"{label(thing)}{' (partly out of view)' if thing.cut else ''}"
        table.add_row(str(number), name, f"{thing.confidence:.2f}", place, size)
    Console().print(table, markup=False)
