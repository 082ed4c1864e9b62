"""Recordings of a running system (--record FILE.mcap): made while a verb runs, and told as text."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, MissingExtraError
from planweave.core.base.names import one_line
from planweave.core.workflow.task_status import TaskState

SUFFIX = ".mcap"


def add_record_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record", metavar=f"FILE{SUFFIX}", help="record the topics of config/rosbag2/topics; planweave show reads it"
    )


def check_record(path: str | None) -> None:
    """Check --record before anything is started; raises MissingExtraError or ConfigError."""
    if not path:
        return
    _need_mcap("--record")
    if not path.endswith(SUFFIX):
        raise ConfigError(f"--record {path}: give a file that ends in {SUFFIX}")
    if Path(path).exists():
        raise ConfigError(f"--record {path}: the file is there already; give another name, or remove it")
    if not Path(path).parent.is_dir():
        raise ConfigError(f"--record {path}: there is no folder {Path(path).parent}")


@contextlib.contextmanager
def recorded(path: str | None) -> Iterator[None]:
    """Record the running system into a file that `check_record` accepts; nothing without a path."""
    if not path:
        yield
        return
    from planweave_ros.recording import Recording

    with Recording(path) as recording:
        yield
    if recording.fault:
        print(recording.fault, file=sys.stderr)


def recording_lines(path: Path) -> list[str]:
    """Summary of a recording: its time, topics, and how each task ended; raises ConfigError for any other file."""
    _need_mcap("planweave show of a recording")
    from mcap.exceptions import McapError
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    try:
        with path.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            summary = reader.get_summary()
            if summary is None or summary.statistics is None:
                raise ConfigError(f"{path} has no summary: the recording was not ended properly")
            return [*_contents(path, summary), *_tasks(reader, summary)]
    except (OSError, McapError, EOFError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as a recording: {error or type(error).__name__}") from None


def _need_mcap(what: str) -> None:
    if not all(importlib.util.find_spec(name) for name in ("mcap", "mcap_ros2")):
        raise MissingExtraError(what, "bag")


def _contents(path: Path, summary: Any) -> list[str]:
    counts, found = summary.statistics.channel_message_counts, summary.statistics
    begin = datetime.datetime.fromtimestamp(found.message_start_time / 1e9).isoformat(" ", "seconds")
    seconds = (found.message_end_time - found.message_start_time) / 1e9
    lines = [f"{path}: {found.message_count} messages in {seconds:.1f} s from {begin}"]
    for channel in sorted(summary.channels.values(), key=lambda c: c.topic):
        kind = summary.schemas[channel.schema_id].name
        lines.append(f"  {counts.get(channel.id, 0):7d}  {one_line(channel.topic)}  {one_line(kind)}")
    return lines


def _tasks(reader: Any, summary: Any) -> list[str]:
    topics = [c.topic for c in summary.channels.values() if c.topic.rpartition("/")[2] == "task_status"]
    last: dict[str, Any] = {}
    for _, _, _, status in reader.iter_decoded_messages(topics=topics) if topics else ():
        last[status.task_id] = status
    return [
        f"task {one_line(name)} [{one_line(status.method)}] {_state(status.state)}: "
        f"{one_line(status.sentence, 500) or '(goal given)'}: {one_line(status.message, 500)}"
        for name, status in last.items()
    ]


def _state(number: int) -> str:
    return TaskState(number).word if number in list(TaskState) else f"state {number}"
