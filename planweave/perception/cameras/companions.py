"""Further cameras beside the first one: their frames of about the same moment, and why one is missing."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from planweave.perception.calibration import Extrinsics
from planweave.perception.cameras.frame import Camera, Frame
from planweave.perception.decoding import FrameError

KEPT = 4
"""Frames of a further camera among which that of a moment is looked for: the first camera's may come late."""
_TOGETHER = 0.1  # s that the stamps of two cameras' frames of one moment are apart, at most


@dataclass
class Companion:
    """A further camera: its name, where its frames come from, and its pose; its newest frames, the last one last."""

    name: str
    camera: Camera
    extrinsics: Extrinsics
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)

    def take(self) -> None:
        """Take what has come; raises FrameError."""
        while (frame := self.camera.take()) is not None:
            self.frames.append(frame)

    def at(self, stamp: float) -> Frame | None:
        """The frame of about a time stamp, s."""
        near = [frame for frame in self.frames if abs(frame.stamp - stamp) <= _TOGETHER]
        return min(near, key=lambda frame: abs(frame.stamp - stamp), default=None)


class Companions:
    """Takes frames of further cameras for each frame of the first one."""

    def __init__(self, cameras: Sequence[Companion] = (), patience: float = 1.0) -> None:
        """patience: wall seconds that frames of the same moment are waited for."""
        self.cameras, self._patience = tuple(cameras), patience
        self.arrived = threading.Event()
        """Set whenever a frame can be taken."""

    def at(self, stamp: float) -> tuple[list[tuple[Companion, Frame]], list[str]]:
        """Frames of about a time stamp (s), and what is wrong with the cameras that have none."""
        end = time.monotonic() + self._patience
        problems: dict[str, str] = {}
        while True:
            self.arrived.clear()
            for each in self.cameras:
                try:
                    each.take()
                except FrameError as error:
                    problems[each.name] = f"frame of the camera {each.name} left out: {error}"
            frames = [(each, each.at(stamp)) for each in self.cameras]
            missing = [each for each, frame in frames if frame is None]
            late = [each for each in missing if not each.frames or each.frames[-1].stamp < stamp]
            if not late or not self.arrived.wait(max(0.0, end - time.monotonic())):
                break
        found = [(each, frame) for each, frame in frames if frame is not None]
        text = "gives no image of the moment of the first camera's; what only it sees is remembered, and no news"
        return found, [problems.get(each.name, f"the camera {each.name} {text}") for each in missing]
