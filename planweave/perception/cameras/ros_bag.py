"""Recorded ROS bags through the library rosbags, without ROS: of ROS 2 (folder, MCAP, SQLite) and of ROS 1."""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planweave.core.base.errors import MissingExtraError
from planweave.perception.cameras.content import ENDINGS, magic
from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.cameras.ros_topics import (
    COLOUR,
    DEPTH,
    INFO,
    RosTopicsCamera,
    compressed_instead,
)
from planweave.perception.decoding import FrameError

_IMAGE, _COMPRESSED, _INFO = (f"sensor_msgs/msg/{name}" for name in ("Image", "CompressedImage", "CameraInfo"))
_TYPES = {COLOUR: (_IMAGE, _COMPRESSED), DEPTH: (_IMAGE, _COMPRESSED), INFO: (_INFO,)}


def load_library() -> Any:
    """The modules rosbags.highlevel and rosbags.typesys; raises MissingExtraError."""
    try:
        from rosbags import highlevel, typesys
    except ImportError:
        raise MissingExtraError("a recorded ROS bag (rosbags)", "bag") from None
    return highlevel, typesys


def bag_frames(
    library: Any, path: Path, topics: dict[str, str], ended: threading.Event
) -> Iterator[Frame | FrameError]:
    """Every frame of a bag, once. topics: names by COLOUR, DEPTH and INFO. Raises CameraError."""
    highlevel, typesys = library
    pairs = RosTopicsCamera(topics, math.inf, 0.0)
    found = False
    try:
        # Bags of Humble and earlier hold no message definitions; those of sensor_msgs have not changed since.
        store = typesys.get_typestore(typesys.Stores.LATEST)
        with _named(path) as named, highlevel.AnyReader([named], default_typestore=store) as reader:
            kinds = _kinds(reader, path, topics)
            wanted = [c for c in reader.connections if c.topic in kinds]
            for connection, _, data in reader.messages(connections=wanted):
                if ended.is_set():
                    return
                message = reader.deserialize(data, connection.msgtype)
                stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
                if not pairs.add(kinds[connection.topic], stamp, message, 0.0):
                    continue
                found = True
                try:
                    frame = pairs.take()
                except FrameError as error:
                    yield error
                    continue
                if frame is not None:
                    yield frame
    except CameraError:
        raise
    except Exception as error:  # of the library, SQLite or the file system, depending on what is broken
        raise CameraError(f"{path} cannot be read as a ROS bag: {type(error).__name__}: {error}") from None
    if not found:
        raise CameraError(
            f"{path}: no colour and depth of one stamp with camera info; record depth aligned to colour, with equal "
            "stamps"
        )


def _kinds(reader: Any, path: Path, topics: dict[str, str]) -> dict[str, str]:
    """Message kind of each required topic; raises CameraError that lists the available topics."""
    there = {c.topic: c.msgtype for c in reader.connections}
    for what, topic in topics.items():
        if there.get(topic) not in _TYPES[what]:
            wrong = f"has {topic} as {there[topic]}" if topic in there else f"has no {topic}"
            listed = ", ".join(f"{name} ({kind})" for name, kind in sorted(there.items())) or "nothing"
            raise CameraError(
                f"{path} {wrong}, where {what} is looked for as {' or '.join(_TYPES[what])}; set the parameters "
                f"topics.*; it holds: {listed}{compressed_instead(topics, there.__contains__)}"
            )
    return {topic: what for what, topic in topics.items()}


@contextlib.contextmanager
def _named(path: Path) -> Iterator[Path]:
    """The file by a name with the ending that the library tells the format by."""
    ending = ENDINGS.get(magic(path), "")
    if path.is_dir() or path.suffix == ending:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"bag{ending}"
        link.symlink_to(path.absolute())
        yield link
