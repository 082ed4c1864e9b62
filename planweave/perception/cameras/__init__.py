"""Cameras: sources of frames.

Each camera is one file here that yields Frame values; node.py selects and connects it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from planweave.core.errors import ConfigError
from planweave.perception.cameras import realsense, ros_bag
from planweave.perception.cameras.content import BAG, SQLITE, is_of_realsense, magic
from planweave.perception.cameras.frame import Camera
from planweave.perception.cameras.threaded import LiveCamera, Recording

SOURCES = ("topics", "realsense", "bag")


def open_realsense(stream: realsense.Stream, frame_id: str, arrived: Callable[[], None], silent_after: float) -> Camera:
    """A RealSense camera in this process; reconnects when it is unplugged and plugged in again.

    Arguments as in ThreadedCamera; frame_id: of the camera file. Raises MissingExtraError.
    """
    source = partial(realsense.device_frames, realsense.load_library(), stream, frame_id)
    return LiveCamera(source, arrived, silent_after)


def open_recording(name: str, loop: bool, topics: dict[str, str], frame_id: str, arrived: Callable[[], None]) -> Camera:
    """A recording: a ROS bag, or one of RealSense, as its content says.

    Raises ConfigError for other files, MissingExtraError where the library is missing.
    """
    path = Path(name).expanduser()
    if not name or not path.exists():
        found = f"there is no recording {name!r}" if name else "no recording is given"
        raise ConfigError(f"source bag: {found}; set the parameter bag.path")
    try:
        begins = magic(path)
    except OSError as error:
        raise ConfigError(f"source bag: {path}: {error.strerror}") from None
    if begins in (SQLITE, BAG) and is_of_realsense(path):
        source = partial(realsense.recorded_frames, realsense.load_library(), path, frame_id)
    elif begins or path.is_dir():
        source = partial(ros_bag.bag_frames, ros_bag.load_library(), path, topics)
    else:
        raise ConfigError(
            f"source bag: {path} is no recording by its content: expected a ROS 2 bag (folder, MCAP or SQLite), a ROS "
            "1 bag, or a recording of RealSense's viewer or recorder"
        )
    return Recording(source, arrived, math.inf, loop)
