"""A recording of the running system as one MCAP file: messages as they were sent, with the definitions of their types.

What is recorded is listed in config/rosbag2/topics. The file is read by Foxglove, PlotJuggler, `ros2 bag` and
`planweave show`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcap.writer import Writer
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import config_dir
from planweave.simulation.video_files import RecordingError
from planweave_ros.calling import MUTUAL_DISCOVERY
from planweave_ros.spin import executor_of, own_node, spun

ABSOLUTE = ("/diagnostics", "/rosout")  # the same for all namespaces
_LOOK = 0.3  # s between two looks for new topics
_LAST = 0.5  # s for messages that are under way when a recording ends
_DEPTH = 100
_TYPE = re.compile(r"([a-z][a-z0-9_]*)/msg/([A-Za-z][A-Za-z0-9]*)\Z")
_FIELD = re.compile(r"\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[a-z]\w*", re.ASCII)
_RULE = "=" * 80  # between two definitions of a schema


def recorded_topics() -> list[str]:
    lines = (config_dir() / "rosbag2" / "topics").read_text(encoding="utf-8").split()
    return [name if name in ABSOLUTE else name.removeprefix("/") for name in lines]


class Recording:
    """Records until it is closed. Use as a context manager; raises ConfigError for a path that cannot be written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream = _opened(Path(path))
        self._writer = Writer(self._stream)
        self._writer.start("ros2", "planweave")
        self.fault = ""  # why it ended early
        self._ends = contextlib.ExitStack()
        self._node = self._ends.enter_context(own_node(f"planweave_recording_{os.getpid()}", enable_rosout=False))
        self._wanted = {self._node.resolve_topic_name(name) for name in recorded_topics()}
        self._schemas: dict[str, int] = {}
        self._received: Counter[str] = Counter()
        self._node.create_timer(_LOOK, self._look)

    def __enter__(self) -> Recording:
        self._ends.enter_context(spun(executor_of(self._node)))
        time.sleep(MUTUAL_DISCOVERY)  # what is sent at once would be missing
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(_LAST)
        self._ends.close()
        with contextlib.suppress(OSError):  # it is in `fault`
            self._writer.finish()
            self._stream.close()

    def _look(self) -> None:
        """Subscribe to those of the topics that have appeared."""
        for topic, types in self._node.get_topic_names_and_types():
            if topic in self._wanted and self._node.count_publishers(topic):
                self._wanted.discard(topic)
                try:
                    self._subscribe(topic, types[0])
                except RecordingError as error:
                    self._node.get_logger().warning(f"{topic} is not recorded: {error}")

    def _subscribe(self, topic: str, kind: str) -> None:
        schema = self._schemas.get(kind)
        if schema is None:
            schema = self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", definition(kind).encode())
        channel = self._writer.register_channel(topic, "cdr", schema)
        made, quality = _message_type(kind), self._quality(topic)
        self._node.create_subscription(made, topic, self._keeper(topic, channel), quality, raw=True)

    def _quality(self, topic: str) -> QoSProfile:
        """What every publisher of the topic offers: transient local and reliable where all are."""
        offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(topic)]
        transient_local = all(q.durability is DurabilityPolicy.TRANSIENT_LOCAL for q in offered)
        reliable = all(q.reliability is ReliabilityPolicy.RELIABLE for q in offered)
        return QoSProfile(
            depth=_DEPTH,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if transient_local else DurabilityPolicy.VOLATILE,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        )

    def received(self, topic: str) -> int:
        """Number of messages recorded of a topic (its full name)."""
        return self._received[topic]

    def _keeper(self, topic: str, channel: int) -> Callable[[bytes], None]:
        def keep(data: bytes) -> None:
            now = time.time_ns()
            try:
                if not self.fault:
                    self._writer.add_message(channel, log_time=now, data=bytes(data), publish_time=now)
                    self._received[topic] += 1
            except OSError as error:
                self.fault = f"the recording {self._path} ended early: {error.strerror}"
                self._node.get_logger().error(self.fault)

        return keep


def _opened(path: Path) -> Any:
    try:
        return path.open("xb")
    except FileExistsError:
        raise ConfigError(f"--record {path}: the file is there already; give another name, or remove it") from None
    except OSError as error:
        raise ConfigError(f"--record {path}: {error.strerror}") from None


def _message_type(kind: str) -> Any:
    package, name = _names(kind)
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        raise RecordingError(f"the type {kind} is not installed") from None


def definition(kind: str) -> str:
    """The definition of a message type (``package/msg/Name``) with those of all types in it, as MCAP's ros2msg schema.

    Raises RecordingError where a definition is not installed.
    """
    texts: dict[tuple[str, str], str] = {}
    wanted = [_names(kind)]
    while wanted:
        package, name = wanted.pop(0)
        if (package, name) not in texts:
            text = texts[package, name] = _text(package, name)
            wanted += _inner_types(package, text)
    (_, first), *rest = texts.items()
    return "\n".join([first, *(f"{_RULE}\nMSG: {package}/{name}\n{text}" for (package, name), text in rest)])


def _names(kind: str) -> tuple[str, str]:
    match = _TYPE.match(kind)
    if match is None:
        raise RecordingError(f"{kind[:100]!r} is not a message type")
    return match[1], match[2]


def _inner_types(package: str, text: str) -> list[tuple[str, str]]:
    """The message types of the fields of a definition; names of its own package may stand alone."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.split("#")[0])
        if match and (match[1][0].isupper() or "/" in match[1]):
            own, _, name = match[1].rpartition("/")
            found.append((own.partition("/")[0] or package, name))
    return found


def _text(package: str, name: str) -> str:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "share" / package / "msg" / f"{name}.msg"
        if prefix and path.is_file():
            return path.read_text(encoding="utf-8")
    raise RecordingError(f"the definition of {package}/msg/{name} is not below AMENT_PREFIX_PATH")
