"""The interface of all cameras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from planweave.core.base.errors import PlanweaveError
from planweave.perception.geometry import Intrinsics


class CameraError(PlanweaveError):
    """A camera or a recording that delivers no images to a command that reads it itself; the message says why and what
    to do.
    """

    code = "camera"


@dataclass(frozen=True)
class Frame:
    """One pair of colour and depth images.

    nanoseconds: time stamp; rgb (h, w, 3) uint8; depth (h, w) float32 metres, 0 where unknown, registered to the colour
    image; frame_id of the optical frame (x right, y down, z along the view).
    """

    nanoseconds: int
    frame_id: str
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics

    @property
    def stamp(self) -> float:
        """The time stamp in seconds."""
        return self.nanoseconds * 1e-9


class Camera(Protocol):
    """A source of frames. Only the newest frame is kept, except for recordings, whose frames are all delivered."""

    @property
    def ended(self) -> bool:
        """Whether a recording is over, so that no further frame will arrive."""

    def take(self) -> Frame | None:
        """The newest frame not taken yet, or None. Raises FrameError where its images cannot be decoded."""

    def complaint(self, now: float) -> str:
        """Error message of the camera at time `now` (seconds, monotonic), "" where it works."""

    def close(self) -> None:
        """Release the device or file; no frames arrive afterwards."""
