"""Images as they come from cameras: bytes to depth in metres and to RGB."""

from __future__ import annotations

import numpy as np

DEPTH_ENCODINGS = ("32FC1", "16UC1", "mono16")
COLOUR_ENCODINGS = ("rgb8", "bgr8", "rgba8", "bgra8", "mono8")
_BYTES = {"32FC1": 4, "16UC1": 2, "mono16": 2, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


class FrameError(ValueError):
    """A frame that cannot be used; the message says what is wrong with it and what to do."""


def _rows(data: bytes | memoryview | np.ndarray, height: int, width: int, step: int, encoding: str) -> np.ndarray:
    """The image's bytes (height, width * bytes per pixel), row padding removed; raises FrameError."""
    row = width * _BYTES[encoding]
    step = step or row
    if height < 1 or width < 1 or step < row or len(data) < step * (height - 1) + row:
        raise FrameError(
            f"the {encoding} image says {width} x {height}, {step} bytes a row, but holds {len(data)} bytes"
        )
    raw = np.frombuffer(data, dtype=np.uint8, count=step * (height - 1) + row)
    return np.lib.stride_tricks.as_strided(raw, (height, row), (step, 1), writeable=False)


def decode_depth(
    data: bytes | memoryview | np.ndarray,
    height: int,
    width: int,
    encoding: str,
    step: int = 0,
    bigendian: bool = False,
) -> np.ndarray:
    """Depth in metres, (height, width) float32, 0 where it is missing. 32FC1 is metres, 16UC1 millimetres."""
    if encoding not in DEPTH_ENCODINGS:
        raise FrameError(f"depth encoding {encoding!r} is not known; use one of {', '.join(DEPTH_ENCODINGS)}")
    rows = np.ascontiguousarray(_rows(data, height, width, step, encoding))
    order = ">" if bigendian else "<"
    if encoding == "32FC1":
        metres = rows.view(np.dtype(f"{order}f4")).astype(np.float32)
    else:
        metres = rows.view(np.dtype(f"{order}u2")).astype(np.float32) * np.float32(0.001)
    return clean_depth(metres)


def clean_depth(metres: np.ndarray) -> np.ndarray:
    """Depth with NaN, infinity, negative and far (> 20 m) values set to 0, float32."""
    with np.errstate(invalid="ignore"):
        good = (metres > 0) & (metres < 20.0)
    return np.where(good, metres, 0.0).astype(np.float32)


def decode_colour(
    data: bytes | memoryview | np.ndarray, height: int, width: int, encoding: str, step: int = 0
) -> np.ndarray:
    """Colour image as RGB (height, width, 3) uint8."""
    if encoding not in COLOUR_ENCODINGS:
        raise FrameError(f"colour encoding {encoding!r} is not known; use one of {', '.join(COLOUR_ENCODINGS)}")
    rows = np.ascontiguousarray(_rows(data, height, width, step, encoding))
    image = rows.reshape(height, width, _BYTES[encoding])
    if encoding == "mono8":
        return np.repeat(image, 3, axis=2)
    if encoding.startswith("bgr"):
        return np.ascontiguousarray(image[:, :, 2::-1])
    return np.ascontiguousarray(image[:, :, :3])
