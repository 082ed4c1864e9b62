"""A camera on ROS topics: synchronizes colour, depth and camera info by stamp. The subscriptions are in node.py."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from planweave.perception.cameras.frame import Frame
from planweave.perception.decoding import FrameError, decode_colour, decode_depth
from planweave.perception.geometry import Intrinsics

COLOUR, DEPTH, INFO = "colour", "depth", "camera info"
_KEPT = 12  # stamps waited on at a time


@dataclass(frozen=True)
class RawImage:
    """Fields used of an image message. step: bytes per row."""

    frame_id: str
    height: int
    width: int
    encoding: str
    step: int
    data: bytes | memoryview
    bigendian: bool = False


@dataclass(frozen=True)
class RawInfo:
    """Fields used of a camera info message: K row-major, size in pixels."""

    k: tuple[float, ...]
    height: int
    width: int


class RosTopicsCamera:
    """Keeps the newest complete set of messages. Thread-safe: `add` is called from callbacks and is cheap."""

    def __init__(self, topics: dict[str, str], silent_after: float, started: float):
        """topics: names for messages by COLOUR, DEPTH and INFO. silent_after, started: seconds, monotonic."""
        self._topics, self._silent_after = topics, silent_after
        self._lock = threading.Lock()
        self._waiting: dict[int, dict[str, RawImage | RawInfo]] = {}
        self._ready: tuple[int, dict[str, RawImage | RawInfo]] | None = None
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

    def add(self, what: str, stamp: int, value: RawImage | RawInfo, now: float) -> bool:
        """Add one message of COLOUR, DEPTH or INFO with its stamp in nanoseconds; True when a set is complete."""
        with self._lock:
            self._heard[what], self._ever[what] = now, True
            parts = self._waiting.setdefault(stamp, {})
            parts[what] = value
            if len(parts) < 3:
                while len(self._waiting) > _KEPT:
                    del self._waiting[next(iter(self._waiting))]
                return False
            del self._waiting[stamp]
            if stamp in self._same:
                return False  # came late, and was told of
            # Sets of older stamps cannot be wanted any more.
            for old in [s for s in self._waiting if s < stamp]:
                del self._waiting[old]
            self._ready, self._paired = (stamp, parts), now
            return True

    def add_still(self, stamp: int, of: int, now: float) -> bool:
        """Add the notice that at `stamp` the camera would publish the image stamped `of` unchanged; True where that one
        is known.
        """
        with self._lock:
            known = of in self._same and self._ready is None
            if known:
                self._still, self._paired, self._same = stamp, now, (self._same[0], of, stamp)
                self._heard = dict.fromkeys(self._heard, now)
            return known

    def take(self) -> Frame | None:
        """The newest complete set not taken yet; raises FrameError where its images cannot be decoded."""
        with self._lock:
            ready, self._ready = self._ready, None
            still, self._still = self._still, None
            last = self._last
        if ready is None:
            return None if still is None or last is None else replace(last, nanoseconds=still)
        frame = self._frame(*ready)
        with self._lock:
            self._last, self._same = frame, (frame.nanoseconds,)
        return frame

    def _frame(self, stamp: int, parts: dict[str, RawImage | RawInfo]) -> Frame:
        colour, depth, info = parts[COLOUR], parts[DEPTH], parts[INFO]
        assert isinstance(colour, RawImage) and isinstance(depth, RawImage) and isinstance(info, RawInfo)
        if (colour.height, colour.width) != (depth.height, depth.width) or (info.height, info.width) != (
            colour.height,
            colour.width,
        ):
            raise FrameError(
                f"sizes differ: colour {colour.width} x {colour.height}, depth {depth.width} x {depth.height}, "
                "camera info "
                f"{info.width} x {info.height}; all three must agree (publish depth aligned to colour)"
            )
        try:
            intrinsics = Intrinsics.from_matrix(info.k, info.width, info.height)
        except ValueError as error:
            raise FrameError(str(error)) from None
        return Frame(
            stamp,
            colour.frame_id,
            decode_colour(colour.data, colour.height, colour.width, colour.encoding, colour.step),
            decode_depth(depth.data, depth.height, depth.width, depth.encoding, depth.step, depth.bigendian),
            intrinsics,
        )

    def complaint(self, now: float) -> str:
        """The missing messages at time `now`, with their topic; "" where none is missing."""
        with self._lock:
            silent = [what for what, at in self._heard.items() if now - at > self._silent_after]
            unpaired = not silent and now - self._paired > self._silent_after
            ever = dict(self._ever)
        if len(silent) == 3:
            return (
                f"the camera is silent: nothing for {self._silent_after:g} s on {self._topics[COLOUR]} "
                "(and depth and info); "
                "is the camera driver or the simulation running, in the same ROS_DOMAIN_ID?"
            )
        if silent:
            listed = ", ".join(f"{what} on {self._topics[what]}{'' if ever[what] else ' (never)'}" for what in silent)
            return f"the camera gives no {listed} for {self._silent_after:g} s; check that this stream is switched on"
        if unpaired:
            return (
                "colour, depth and camera info arrive, but never with one stamp; "
                "publish depth aligned to colour with equal stamps"
            )
        return ""
