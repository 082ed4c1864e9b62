"""Further cameras beside the first one: their frames of about the same moment, and why one is missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from planweave.perception.calibration import Extrinsics
from planweave.perception.cameras.frame import Camera, Frame
from planweave.perception.decoding import FrameError

_TOGETHER = 0.1  # s that the stamps of two cameras' frames of one moment are apart, at most


@dataclass
class Companion:
    """A further camera: its name, where its frames come from, and its pose."""

    name: str
    camera: Camera
    extrinsics: Extrinsics
    newest: Frame | None = field(default=None, repr=False)


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
                    each.newest = each.camera.take() or each.newest
                except FrameError as error:
                    problems[each.name] = f"frame of the camera {each.name} left out: {error}"
            missing = [c for c in self.cameras if c.newest is None or abs(c.newest.stamp - stamp) > _TOGETHER]
            late = [c for c in missing if c.newest is None or c.newest.stamp < stamp]
            if not late or not self.arrived.wait(max(0.0, end - time.monotonic())):
                break
        found = [(each, each.newest) for each in self.cameras if each not in missing and each.newest is not None]
        text = "gives no image of the moment of the first camera's; what only it sees is remembered, and no news"
        return found, [problems.get(each.name, f"the camera {each.name} {text}") for each in missing]
