"""Find where a fixed camera is, from the table that it sees, and write the camera file for perception_node.

The table gives height, roll and pitch. The rest comes from marks that lie on it, at places in the robot's base frame
(metres from the centre of its base, x forward, y to its left): an ArUco tag, or cubes of equal sides. `--cube hand`
takes a cube's place from the robot: guide the hand, close it on the cube, open it and drive the arm out of view.

The picture shows the base frame's grid on the table: check that its lines run where the robot's axes do.

examples:
  planweave calibrate table realsense --tag 0.45,0.0 --tag-size 0.08
  planweave calibrate table topics --cube 0.50,0.10 --cube 0.40,-0.25
  planweave calibrate table my_bag --cube 0.50,0.10 --up=-x --out side_camera.yaml
  planweave calibrate table topics --cube hand
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.cli.camera_source import add_source, observer, opened, write_picture
from planweave.core.base.errors import ConfigError

if TYPE_CHECKING:
    from planweave.perception.cameras.frame import Frame
    from planweave.perception.table_calibration import Calibration

NEEDS_ROS = False  # only for SOURCE topics, and for the hand
_HAND = "hand"
_FRAMES = 15
_JOINTS = 5.0  # s for joint states to come


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("table",), help="by the table that it sees")
    add_source(parser, _FRAMES)
    marks = parser.add_mutually_exclusive_group(required=True)
    marks.add_argument(
        "--tag", type=_place, metavar="X,Y[,YAW]",
        help="centre of an ArUco tag, m, and the direction from its left to its right, degrees (default: 0, along x)",
    )  # fmt: skip
    marks.add_argument(
        "--cube", type=_cube, action="append", metavar="X,Y[,YAW]|hand",
        help="centre of a cube, m, and for one alone the turn of its sides, degrees; once for each cube",
    )  # fmt: skip
    parser.add_argument("--tag-size", type=float, metavar="M", help="side of the tag's black square, metres")
    parser.add_argument("--tag-id", type=int, metavar="N", help="its number, where several tags are in view")
    parser.add_argument("--tag-family", default="4x4_50", metavar="NAME", help="of ArUco (4x4_50)")
    parser.add_argument(
        "--up", choices=("+x", "+y", "-x", "-y"), default="+x",
        help="with cubes: about where the top of the image points in the base frame (default: +x)",
    )  # fmt: skip
    parser.add_argument("--robot", metavar="NAME", help="robot whose base frame it is")
    parser.add_argument(
        "--out", type=Path, default=Path("table_camera.yaml"), metavar="FILE",
        help="camera file; the picture is written beside it (default: table_camera.yaml)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; raises ConfigError, CameraError or CalibrationError."""
    from planweave.perception.cameras.frame import CameraError
    from planweave.perception.decoding import FrameError
    from planweave.perception.table_calibration import Tag, by_cubes, by_tag, draw_grid, level
    from planweave.robots import DEFAULT, load_robot

    robot = load_robot(options.robot or DEFAULT)
    if options.tag is not None and not (options.tag_size and 0.005 <= options.tag_size <= 1.0):
        raise ConfigError("give --tag-size, the side of the tag's black square in metres, from 0.005 to 1")
    cubes = list(options.cube or ())
    if _HAND in cubes and (len(cubes) > 1 or options.json or not sys.stdin.isatty()):
        raise ConfigError("--cube hand is for one cube and a person at a terminal; else give its place: --cube X,Y")
    if _HAND in cubes:
        cubes = [_by_hand(robot)]
    with opened(options) as (frame, _):
        pass
    try:
        levelled = level(frame, options.at)
        if options.tag is not None:
            x, y, yaw = options.tag
            tag = Tag(x, y, yaw, options.tag_size, options.tag_family, options.tag_id)
            found = by_tag(frame, tag, levelled)
        else:
            found = by_cubes(frame, [(x, y) for x, y, _ in cubes], levelled, options.up, cubes[0][2])
    except FrameError as error:
        raise CameraError(f"{options.source}: {error}") from None
    picture = options.out.with_suffix(".png")
    write_picture(picture, draw_grid(frame, found.camera_to_base, found.marks))
    _write(options.out, frame, found, robot.base, options.source.partition("realsense:")[2])
    if options.json:
        print(json.dumps({"success": True, **_result(frame, found), "file": str(options.out), "picture": str(picture)}))
        return 0
    x, y, z = found.camera_to_base.translation
    print(
        f"the camera is {z:.3f} m above the table, at x {x:.3f}, y {y:.3f}, and looks {math.degrees(found.tilt):.1f} "
        f"degrees away from straight down; the marks fit to {1000 * found.residual:.1f} mm"
    )
    print(f"picture: {picture} (do the grid's lines run where the robot's axes do?)")
    print(f"camera file: {options.out}; use it: camera: {options.out.absolute()} in config/perception.yaml")
    return 0


def _by_hand(robot: Any) -> tuple[float, float, float]:
    """Place and turn of the cube that the hand is closed on, as a person says."""
    from planweave.perception.robot_filter import hand_pose

    with observer("planweave_calibrate") as node:
        input("Close the hand on the cube where it stands, then press Enter. ")
        state = node.robot(robot, _JOINTS)
    if state is None:
        raise ConfigError(
            f"no joint states of {robot.name} in {_JOINTS:g} s: is the robot's driver running, in this ROS domain?"
        )
    hand = hand_pose(state)
    x, y = (float(v) for v in hand.position[:2])
    print(f"the hand is at x {x:.3f}, y {y:.3f}")
    input("Open the hand and drive the arm out of the camera's view, then press Enter. ")
    return x, y, math.atan2(hand.rotation[1, 1], hand.rotation[0, 1])


def _result(frame: Frame, found: Calibration) -> dict[str, Any]:
    import numpy as np

    pose = found.camera_to_base
    matrix = np.vstack((np.column_stack((pose.rotation, pose.translation)), (0.0, 0.0, 0.0, 1.0)))
    return {"frame_id": frame.frame_id, "matrix": matrix.round(6).tolist(), "residual": round(found.residual, 5)}


def _write(path: Path, frame: Frame, found: Calibration, base: str, serial: str) -> None:
    result, k = _result(frame, found), frame.intrinsics
    lines = [
        f"# Written by planweave calibrate table: the marks fit to {1000 * found.residual:.1f} mm.",
        f"frame_id: {json.dumps(result['frame_id'])}",
        f"parent: {base}",
        "matrix:  # takes points of the camera's optical frame to the parent, metres",
        *(f"  - [{', '.join(f'{value:.6f}' for value in row)}]" for row in result["matrix"]),
        f"width: {k.width}  # of the images, pixels; these three are for the simulation",
        f"height: {k.height}",
        f"fovy: {math.degrees(2 * math.atan(k.height / 2 / k.fy)):.2f}  # vertical field of view, degrees",
        *([f"serial: {json.dumps(serial)}"] if serial else []),
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def _place(text: str) -> tuple[float, float, float]:
    """X,Y[,YAW in degrees] as metres and radians."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(map(math.isfinite, numbers)) or max(map(abs, numbers[:2])) > 5.0:
        raise argparse.ArgumentTypeError("give X,Y or X,Y,YAW: metres (below 5) and degrees")
    x, y, *yaw = numbers
    return x, y, math.radians(yaw[0]) if yaw else 0.0


def _cube(text: str) -> tuple[float, float, float] | str:
    return text if text == _HAND else _place(text)
