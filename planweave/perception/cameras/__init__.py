"""Cameras: sources of frames.

Each camera is one file here that yields Frame values; node.py selects and connects it.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.perception.cameras import images, realsense, ros_bag
from planweave.perception.cameras.content import BAG, SQLITE, is_of_realsense, magic
from planweave.perception.cameras.frame import Camera, CameraError, Frame
from planweave.perception.cameras.threaded import FrameSource, LiveCamera, PacedRecording
from planweave.perception.decoding import FrameError

SOURCES = ("topics", "realsense", "bag")


def open_realsense(
    stream: realsense.Stream, frame_id: str, arrived: Callable[[], None], image_timeout: float
) -> Camera:
    """A RealSense camera in this process; reconnects when it is unplugged and plugged in again.

    Arguments as in ThreadedCamera; frame_id: of the camera file. Raises MissingExtraError.
    """
    source = partial(realsense.device_frames, realsense.load_library(), stream, frame_id)
    return LiveCamera(source, arrived, image_timeout)


def open_recording(name: str, loop: bool, topics: dict[str, str], frame_id: str, arrived: Callable[[], None]) -> Camera:
    """A recording as a camera, played as it was recorded; arguments and errors as of `recording`."""
    try:
        source = recording(name, topics, frame_id)
    except ConfigError as error:
        raise ConfigError(f"source bag: {error}; set the parameter bag.path") from None
    return PacedRecording(source, arrived, math.inf, loop)


def recording(name: str, topics: dict[str, str], frame_id: str) -> FrameSource:
    """The frames of a recording: a ROS bag, one of RealSense, or a folder of images, as its content says.

    topics: of a bag, by COLOUR, DEPTH and INFO. frame_id: of the camera file, for images that have none. Raises
    ConfigError for other files, MissingExtraError where the library is missing.
    """
    path = Path(name).expanduser()
    if not name or not path.exists():
        raise ConfigError(f"there is no recording {name!r}" if name else "no recording is given")
    try:
        begins = magic(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if begins in (SQLITE, BAG) and is_of_realsense(path):
        return partial(realsense.recorded_frames, realsense.load_library(), path, frame_id)
    if images.is_folder_of_images(path):
        return partial(images.image_frames, path, frame_id)
    if begins or path.is_dir():
        return partial(ros_bag.bag_frames, ros_bag.load_library(), path, topics)
    raise ConfigError(
        f"{path} is no recording by its content: expected a ROS 2 bag (folder, MCAP or SQLite), a ROS "
        "1 bag, a recording of RealSense's viewer or recorder, or a folder of colour and depth images"
    )


def steady_frame(source: FrameSource, count: int) -> Frame:
    """One frame out of the first ``count`` of a still scene: the newest colours, and the median of each pixel's depth.

    Raises CameraError, or FrameError where none of the frames can be used.
    """
    frames: list[Frame] = []
    failure: FrameError | None = None
    for frame in source(threading.Event()):  # closed when it is left
        if isinstance(frame, FrameError):
            failure = frame
        elif not frames or frame.depth.shape == frames[0].depth.shape:
            frames.append(frame)
        if len(frames) == count:
            break
    if not frames:
        raise failure or CameraError("no images from the camera or the recording")
    depth = np.stack([frame.depth for frame in frames])
    depth[depth <= 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of pixels that no frame has a depth of
        return replace(frames[-1], depth=np.nan_to_num(np.nanmedian(depth, axis=0)).astype(np.float32))
