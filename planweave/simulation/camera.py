"""Simulated RGB-D cameras: offscreen rendering, and the noise model of the depth sensor.

A GL context belongs to the thread that created it: create, use and close an OverheadCamera in one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planweave.robots.camera_file import CameraConfig
from planweave.simulation.offscreen import OffscreenView

if TYPE_CHECKING:
    import mujoco

_CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)  # a pixel and its four neighbours


def mujoco_quaternion(camera: CameraConfig) -> tuple[float, float, float, float]:
    """A camera's orientation as MuJoCo has it (w, x, y, z): its cameras look along -z with y up, a rotation of 180
    degrees about x.
    """
    x, y, z, w = camera.quaternion
    return -x, w, z, -y


@dataclass(frozen=True)
class DepthNoise:
    """Noise model of a stereo depth camera.

    sigma: standard deviation at 1 m, growing with the square of the distance, m (Nguyen, Izadi and Lovell 2012 find
    this growth for depth cameras). edge: share of pixels at depth discontinuities that are lost or lie between both
    surfaces. holes: share of all pixels without depth, in small blots. nearest: m from the camera up to which nothing
    has depth (RealSense D435 at 640 x 480, by its data sheet).
    """

    sigma: float = 0.002
    edge: float = 0.4
    holes: float = 0.002
    nearest: float = 0.175

    def apply(self, depth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Depth (h, w) in m -> noisy depth (h, w) float32 in m, 0 where it is missing."""
        import cv2

        noisy = depth.astype(np.float32, copy=True)
        if self.sigma > 0:
            noisy += rng.standard_normal(depth.shape, dtype=np.float32) * np.float32(self.sigma) * depth**2
        if self.edge > 0:
            low, high = cv2.erode(depth, _CROSS), cv2.dilate(depth, _CROSS)
            rows, columns = np.nonzero(high - low > 0.012)
            hit = rng.random(len(rows)) < self.edge
            rows, columns = rows[hit], columns[hit]
            between = rng.random(len(rows))
            flying = low[rows, columns] + (high - low)[rows, columns] * between
            noisy[rows, columns] = np.where(rng.random(len(rows)) < 0.5, flying, 0.0)
        if self.holes > 0:
            height, width = depth.shape
            count = rng.poisson(self.holes * depth.size / 9)
            rows, columns = rng.integers(1, height - 1, count), rng.integers(1, width - 1, count)
            for row, column in np.ndindex(3, 3):
                noisy[rows + row - 1, columns + column - 1] = 0.0
        noisy[depth < self.nearest] = 0.0
        return noisy


@dataclass(frozen=True)
class RgbdFrame:
    """One image pair. rgb: (h, w, 3) uint8; depth: (h, w) float32, m along the optical axis, 0 = none;
    time: simulated, s.
    """

    time: float
    rgb: np.ndarray
    depth: np.ndarray


class OverheadCamera:
    """Renders the view of the overhead camera."""

    def __init__(
        self,
        model: mujoco.MjModel,
        config: CameraConfig,
        noise: DepthNoise | None = None,
        *,
        seed: int = 0,
        shadows: bool = False,
        name: str = "overhead",
    ):
        """noise None: exact depth. shadows double the rendering time. Raises ConfigError where GL is missing."""
        self._noise = noise
        self._rng = np.random.default_rng(seed)
        self._view = OffscreenView(model, name, config.width, config.height, shadows=shadows)

    def render(self, time: float, qpos: np.ndarray) -> RgbdFrame:
        """Image pair at the joint positions ``qpos`` (as in MjData)."""
        rgb, depth = self._view.render(qpos, depth=True)
        assert depth is not None
        if self._noise is not None:
            depth = self._noise.apply(depth, self._rng)
        return RgbdFrame(time, rgb, depth)

    def close(self) -> None:
        """Free the view; call in the thread that created it."""
        self._view.close()
