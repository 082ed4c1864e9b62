"""Format and origin of a recording, by its content."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from pathlib import Path

MCAP, SQLITE, BAG = b"\x89MCAP0\r\n", b"SQLite format 3\0", b"#ROSBAG V2.0\n"
"""First bytes of a ROS 2 bag in MCAP, of one in SQLite, and of a ROS 1 bag. RealSense writes the latter two."""
ENDINGS = {MCAP: ".mcap", SQLITE: ".db3", BAG: ".bag"}
_REALSENSE = "/device_0/"  # begins the topics of librealsense's recorder (ros_topic.h)
_LONGEST = 20_000_000  # bytes of the list of topics at the end of a ROS 1 bag


def magic(path: Path) -> bytes:
    """Which of these a file begins with; empty for none, and for a folder."""
    if path.is_dir():
        return b""
    with path.open("rb") as file:
        first = file.read(16)
    return next((found for found in ENDINGS if first.startswith(found)), b"")


def is_of_realsense(path: Path) -> bool:
    """Whether a file in SQLite or of ROS 1 was written by RealSense's viewer or recorder, by the topics in it.

    A file that is broken is not: reading it says how.
    """
    try:
        return _sqlite_has(path) if magic(path) == SQLITE else _bag_has(path)
    except (sqlite3.Error, struct.error, ValueError, OSError):
        return False


def _sqlite_has(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as bag:
        found = bag.execute("SELECT 1 FROM topics WHERE name LIKE ? LIMIT 1", (f"{_REALSENSE}%",)).fetchone()
    return found is not None


def _bag_has(path: Path) -> bool:
    """By the connections at the end, where the header points (http://wiki.ros.org/Bags/Format/2.0)."""
    with path.open("rb") as file:
        file.seek(len(BAG))
        header = file.read(struct.unpack("<I", file.read(4))[0])
        place = header.index(b"index_pos=") + len(b"index_pos=")
        file.seek(struct.unpack_from("<Q", header, place)[0])
        return f"topic={_REALSENSE}".encode() in file.read(_LONGEST)
