"""The overhead RGB-D camera: calibration, offscreen rendering, and the noise model of the depth sensor.

A GL context belongs to the thread that created it: create, use and close an OverheadCamera in one thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import read_yaml
from planweave.simulation.offscreen import OffscreenView

if TYPE_CHECKING:
    import mujoco

_CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)  # a pixel and its four neighbours


@dataclass(frozen=True)
class CameraConfig:
    """A camera's calibration, as in ``config/cameras/<name>.yaml``.

    position (m) and quaternion (x, y, z, w): pose of the optical frame (x right, y down, z along the view) in
    the robot's base frame, or in that of the link that carries the camera, its parent. width, height in pixels; fovy:
    vertical field of view, degrees.
    """

    frame_id: str
    width: int
    height: int
    fovy: float
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]
    parent: str = ""

    @property
    def intrinsics(self) -> tuple[float, float, float, float]:
        """fx, fy, cx, cy in pixels; the centre of the top left pixel is (0, 0)."""
        focal = self.height / 2 / math.tan(math.radians(self.fovy) / 2)
        return focal, focal, (self.width - 1) / 2, (self.height - 1) / 2

    @property
    def mujoco_quaternion(self) -> tuple[float, float, float, float]:
        """The same orientation as MuJoCo's camera quaternion (w, x, y, z): MuJoCo's cameras look along -z with y up, a
        rotation of 180 degrees about x.
        """
        x, y, z, w = self.quaternion
        return -x, w, z, -y


def load_camera(name: str = "overhead") -> CameraConfig:
    """Read ``config/cameras/<name>.yaml``, or the file of that path; raises ConfigError that names the file and the
    key.
    """
    path = find_config("cameras", name)
    raw = read_yaml(path)
    names = {field.name for field in fields(CameraConfig)} - {"parent"}
    if not isinstance(raw, dict) or set(raw) - {"parent"} != names:
        found = sorted(raw) if isinstance(raw, dict) else raw
        raise ConfigError(f"{path}: needs the keys {', '.join(sorted(names))}, and may have parent; found {found}")
    try:
        x, y, z = _floats(raw, "position", 3)
        qx, qy, qz, qw = _floats(raw, "quaternion", 4)
        config = CameraConfig(
            frame_id=str(raw["frame_id"]),
            width=int(raw["width"]),
            height=int(raw["height"]),
            fovy=float(raw["fovy"]),
            position=(x, y, z),
            quaternion=(qx, qy, qz, qw),
            parent=str(raw.get("parent", "")),
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not (16 <= config.width <= 1280 and 16 <= config.height <= 960 and 5 <= config.fovy <= 150):
        raise ConfigError(f"{path}: width must be 16 to 1280, height 16 to 960 pixels, fovy 5 to 150 degrees")
    if abs(math.hypot(*config.quaternion) - 1) > 1e-3:
        raise ConfigError(f"{path}: quaternion {list(config.quaternion)} does not have length 1 (order x, y, z, w)")
    return config


def _floats(raw: dict[str, Any], key: str, count: int) -> tuple[float, ...]:
    if not isinstance(raw[key], list) or len(raw[key]) != count:
        raise ValueError(f"{key} must be {count} numbers, not {raw[key]!r}")
    return tuple(float(v) for v in raw[key])


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
