"""Sources of images for the commands that look once, and the picture that they write."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import ConfigError
from planweave.launcher.one_system import join

if TYPE_CHECKING:
    import numpy as np

    from planweave.perception.cameras.frame import Frame

FRAME = "camera_color_optical_frame"
TOPICS, REALSENSE = "topics", "realsense"


def add_source(parser: argparse.ArgumentParser, frames: int = 5) -> None:
    """The arguments that say where images come from. frames: how many are taken by default."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="topics (of a driver or simulation), realsense or realsense:SERIAL, or the path of a ROS bag, of a "
        "recording of RealSense, or of a folder of images",
    )
    parser.add_argument("--frames", type=int, default=frames, metavar="N", help=f"images to average ({frames})")
    parser.add_argument(
        "--at",
        type=_share,
        default=(0.5, 0.5),
        metavar="U,V",
        help="where in the image the table is, as shares of its width and height (0.5,0.5)",
    )
    for option, topic in (
        ("colour", "camera/color/image_raw"),
        ("depth", "camera/aligned_depth_to_color/image_raw"),
        ("info", "camera/color/camera_info"),
    ):
        parser.add_argument(f"--{option}", metavar="TOPIC", default=topic, help=f"of a driver or bag ({topic})")


def _share(text: str) -> tuple[float, float]:
    try:
        u, v = (float(part) for part in text.split(","))
    except ValueError:
        u = v = -1.0
    if not (0 <= u <= 1 and 0 <= v <= 1):
        raise argparse.ArgumentTypeError("give U,V, each from 0 to 1: 0.5,0.5 is the middle of the image")
    return u, v


def observer(name: str) -> Any:
    """A ROS node of this name, in the domain of the running system; raises ConfigError where ROS is missing."""
    from planweave.cli.main import prepare_ros

    join()
    prepare_ros()
    from planweave_ros.camera_topics import CameraObserver

    return CameraObserver(name)


@contextlib.contextmanager
def opened(options: argparse.Namespace) -> Iterator[tuple[Frame, Any]]:
    """A still frame, and the ROS node that looks, which is None for other sources than topics.

    Raises ConfigError, CameraError or MissingExtraError.
    """
    from planweave.perception.cameras import realsense, recording, steady_frame
    from planweave.perception.cameras.frame import CameraError
    from planweave.perception.cameras.ros_topics import COLOUR, DEPTH, INFO
    from planweave.perception.cameras.threaded import FrameSource
    from planweave.perception.decoding import FrameError

    if not 1 <= options.frames <= 100:
        raise ConfigError(f"--frames {options.frames}: give a number from 1 to 100")
    topics = {COLOUR: options.colour, DEPTH: options.depth, INFO: options.info}
    kind, _, serial = options.source.partition(":")
    with contextlib.ExitStack() as stack:
        node: Any = None
        if kind == TOPICS:
            node = stack.enter_context(observer(f"planweave_look_{os.getpid()}"))
            source: FrameSource = partial(node.frames, topics)
        elif kind == REALSENSE:
            source = partial(realsense.device_frames, realsense.load_library(), realsense.Stream(serial), FRAME)
        elif not Path(options.source).expanduser().exists():
            raise ConfigError(
                f"there is no {options.source!r}; give topics, realsense, realsense:SERIAL, or the path of a recording "
                "or of a folder of images"
            )
        else:
            source = recording(options.source, topics, FRAME)
        try:
            frame = steady_frame(source, options.frames)
        except FrameError as error:
            raise CameraError(f"{options.source}: {error}") from None
        yield frame, node


def write_picture(path: Path, rgb: np.ndarray) -> None:
    """Write an image; raises ConfigError where that fails."""
    import cv2

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        done, data = cv2.imencode(path.suffix or ".png", rgb[:, :, ::-1])
        path.write_bytes(data.tobytes() if done else b"")
    except (OSError, cv2.error) as error:
        raise ConfigError(f"{path} cannot be written: {error}") from None
