"""What every camera gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from planweave.core.errors import PlanweaveError
from planweave.perception.geometry import Intrinsics


class CameraError(PlanweaveError):
    """A camera or a recording that gives no images; the message says why and what to do."""


@dataclass(frozen=True)
class Frame:
    """One colour and depth pair. nanoseconds: time stamp; rgb (h, w, 3) uint8; depth (h, w) float32 metres, 0 where
    unknown, aligned to the colour image; frame_id of the optical frame (x right, y down, z along the view)."""

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
    """A source of frames; only the newest counts, but for recordings, of which every frame does."""

    @property
    def ended(self) -> bool:
        """Whether no frame will come any more: a recording that is over."""

    def take(self) -> Frame | None:
        """The newest frame not taken yet, or None. Raises FrameError where its images cannot be read."""

    def complaint(self, now: float) -> str:
        """What is wrong with the camera at time `now` (seconds, monotonic), "" where nothing is."""

    def close(self) -> None:
        """Let go of the device or file; no frames come afterwards."""
