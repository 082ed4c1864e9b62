"""A camera on ROS topics: synchronizes colour, depth and camera info by stamp. The subscriptions are in node.py."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from planweave.perception.cameras.frame import Frame
from planweave.perception.decoding import (
    FrameError,
    decode_colour,
    decode_compressed_colour,
    decode_compressed_depth,
    decode_depth,
)
from planweave.perception.geometry import Intrinsics

COLOUR, DEPTH, INFO = "colour", "depth", "camera info"
_KEPT = 12  # stamps waited on at a time
_COMPRESSED = ("/compressed", "/compressedDepth")  # endings of topics, as image_transport makes them
Message: TypeAlias = Any
"""sensor_msgs' Image, CompressedImage or CameraInfo, of a node or from a bag."""


def colour_of(message: Message) -> np.ndarray:
    """RGB (height, width, 3) uint8 of an image, compressed or not; raises FrameError."""
    data = memoryview(message.data)
    if hasattr(message, "format"):
        return decode_compressed_colour(data, message.format)
    return decode_colour(data, message.height, message.width, message.encoding, message.step)


def depth_of(message: Message) -> np.ndarray:
    """Metres (height, width) float32 of an image, compressed or not; raises FrameError."""
    data = memoryview(message.data)
    if hasattr(message, "format"):
        return decode_compressed_depth(data, message.format)
    form = message.encoding, message.step, bool(message.is_bigendian)
    return decode_depth(data, message.height, message.width, *form)


def is_compressed(topic: str) -> bool:
    """Whether images come compressed on a topic, by its name as image_transport makes it."""
    return topic.endswith(_COMPRESSED)


def compressed_instead(topics: Mapping[str, str], there: Callable[[str], object]) -> str:
    """Remedy where images are there compressed alone, to follow an error message; else empty. there: whether a
    topic is there.
    """
    found = [
        f"topics.{what}: {topics[what]}{ending}"
        for what in (COLOUR, DEPTH)
        for ending in _COMPRESSED
        if not there(topics[what]) and there(f"{topics[what]}{ending}")
    ]
    return f"; compressed images are there: set {', '.join(found)}" if found else ""


def _is_pair(parts: dict[str, Message]) -> bool:
    return COLOUR in parts and DEPTH in parts


@dataclass(frozen=True)
class _Set:
    """Messages of one image. stamp, first: the newest and the first one of which it is known, ns."""

    stamp: int
    first: int
    parts: dict[str, Message]


class RosTopicsCamera:
    """Keeps the newest colour and depth of one stamp, with the camera info of that stamp; where it has other stamps, or
    came once, the newest one. Thread-safe: `add` is called from callbacks and is cheap.
    """

    def __init__(self, topics: dict[str, str], image_timeout: float, started: float, kept: int = 1):
        """topics: names for messages by COLOUR, DEPTH and INFO. image_timeout, started: seconds, monotonic. kept: sets
        that wait to be taken; the oldest is given first.
        """
        self._topics, self._image_timeout = topics, image_timeout
        self._lock = threading.Lock()
        self._waiting: dict[int, dict[str, Message]] = {}
        self._info: Message = None  # the newest
        self._in_step = True  # whether camera info has the stamps of the images
        self._without: int | None = None  # stamp of the newest set, where it had no camera info of its own
        self._ready: deque[_Set] = deque(maxlen=kept)
        self._heard = dict.fromkeys((COLOUR, DEPTH, INFO), started)
        self._ever = dict.fromkeys(self._heard, False)
        self._paired = started
        self._last: Frame | None = None  # the newest frame taken
        self._same: tuple[int, ...] = ()  # stamps at which the camera gave it, or would have: first, last ones
        self._still: int | None = None  # the newest of these, where it is not taken yet

    @property
    def ended(self) -> bool:
        """Always False: topics may resume at any time."""
        return False

    def close(self) -> None:
        """Does nothing; the subscriptions belong to the node."""

    def add(self, what: str, stamp: int, value: Message, now: float) -> bool:
        """Add one message of COLOUR, DEPTH or INFO with its stamp in nanoseconds; True when a set is complete."""
        with self._lock:
            self._heard[what], self._ever[what] = now, True
            if what == INFO:
                self._info, self._in_step = value, self._in_step or stamp == self._without
            parts = self._waiting.setdefault(stamp, {})
            parts[what] = value
            if not _is_pair(parts) or not (INFO in parts or self._does_without(stamp)):
                while len(self._waiting) > _KEPT:
                    del self._waiting[next(iter(self._waiting))]
                return False
            del self._waiting[stamp]
            if stamp in self._same:
                return False  # came late, and was told of
            # Sets of older stamps cannot be wanted any more.
            for old in [s for s in self._waiting if s < stamp]:
                del self._waiting[old]
            self._without = None if INFO in parts else stamp
            self._ready.append(_Set(stamp, stamp, {INFO: self._info, **parts}))
            self._paired = now
            return True

    def _does_without(self, stamp: int) -> bool:
        """Whether a pair does not wait for the camera info of its stamp: none came for an older one either.

        Requires the lock.
        """
        self._in_step = self._in_step and not any(s < stamp and _is_pair(parts) for s, parts in self._waiting.items())
        return self._info is not None and not self._in_step

    def add_still(self, stamp: int, of: int, now: float) -> bool:
        """Add the notice that at `stamp` the camera would publish the image stamped `of` unchanged; True where that one
        is known.
        """
        with self._lock:
            waiting = self._ready[-1] if self._ready else None
            if waiting is None:
                known = of in self._same
            else:  # where one set is kept, that image itself comes first
                known = self._ready.maxlen != 1 and of in (waiting.first, waiting.stamp)
            if known and waiting is not None:
                self._ready.append(replace(waiting, stamp=stamp))
            elif known:
                self._still, self._same = stamp, (self._same[0], of, stamp)
            if known:
                self._paired, self._heard = now, dict.fromkeys(self._heard, now)
            return known

    def take(self) -> Frame | None:
        """The oldest complete set that waits to be taken; raises FrameError where its images cannot be decoded."""
        with self._lock:
            ready = self._ready.popleft() if self._ready else None
            still, self._still = self._still, None
            last = self._last
        if ready is None:
            return None if still is None or last is None else replace(last, nanoseconds=still)
        frame = self._frame(ready.stamp, ready.parts)
        with self._lock:
            self._last, self._same = frame, (ready.first, ready.stamp)
        return frame

    def _frame(self, stamp: int, parts: dict[str, Message]) -> Frame:
        info, rgb, metres = parts[INFO], colour_of(parts[COLOUR]), depth_of(parts[DEPTH])
        sizes = [(array.shape[1], array.shape[0]) for array in (rgb, metres)] + [(info.width, info.height)]
        if len(set(sizes)) > 1:
            listed = ", ".join(f"{what} {w} x {h}" for what, (w, h) in zip((COLOUR, DEPTH, INFO), sizes))
            raise FrameError(f"sizes differ: {listed}; all three must agree (publish depth aligned to colour)")
        k = info.k if hasattr(info, "k") else info.K  # as ROS 1 has it
        intrinsics = Intrinsics.from_matrix([float(v) for v in k], info.width, info.height)
        return Frame(stamp, parts[COLOUR].header.frame_id, rgb, metres, intrinsics)

    def complaint(self, now: float) -> str:
        """The missing messages at time `now`, with their topic; "" where none is missing."""
        with self._lock:
            missing = [what for what, at in self._heard.items() if now - at > self._image_timeout]
            if len(missing) < 3 and self._info is not None:  # which need not be repeated
                missing = [what for what in missing if what != INFO]
            unpaired = not missing and now - self._paired > self._image_timeout
            ever = dict(self._ever)
        if len(missing) == 3:
            return (
                f"no images for {self._image_timeout:g} s on {self._topics[COLOUR]} "
                "(and depth and info); "
                "is the camera driver or the simulation running, in the same ROS_DOMAIN_ID?"
            )
        if missing:
            listed = ", ".join(f"{what} on {self._topics[what]}{'' if ever[what] else ' (never)'}" for what in missing)
            return f"the camera gives no {listed} for {self._image_timeout:g} s; check that this stream is switched on"
        if unpaired:
            return (
                f"colour and depth arrive, but never with one stamp{self._apart()}; publish depth aligned to colour "
                "with equal stamps"
            )
        return ""

    def _apart(self) -> str:
        """How far the nearest stamps of colour and depth are apart, in words."""
        with self._lock:
            stamps = [[s for s, parts in self._waiting.items() if what in parts] for what in (COLOUR, DEPTH)]
        apart = [abs(a - b) for a in stamps[0] for b in stamps[1]]
        return f" (the nearest are {min(apart) * 1e-6:.3g} ms apart)" if apart else ""
