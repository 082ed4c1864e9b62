"""Images as they come from cameras: bytes to depth in metres and to RGB."""

from __future__ import annotations

import struct

import cv2
import numpy as np

from planweave.core.base.errors import PlanweaveError

DEPTH_ENCODINGS = ("32FC1", "16UC1", "mono16")
COLOUR_ENCODINGS = ("rgb8", "bgr8", "rgba8", "bgra8", "mono8")
_NEAREST, _FARTHEST = 0.02, 20.0  # m
_BYTES = {"32FC1": 4, "16UC1": 2, "mono16": 2, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


class FrameError(PlanweaveError, ValueError):
    """A frame that cannot be used; the message says what is wrong with it and what to do."""

    code = "frame"


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
        metres = rows.view(np.dtype(f"{order}f4")).astype(np.float32, copy=False)
    else:
        metres = rows.view(np.dtype(f"{order}u2")).astype(np.float32) * np.float32(0.001)
    return clean_depth(metres)


def clean_depth(metres: np.ndarray) -> np.ndarray:
    """Depth with NaN, infinity, negative and far (> 20 m) values set to 0, float32; raises FrameError where its median
    tells that the unit is another one.
    """
    with np.errstate(invalid="ignore"):
        good = (metres > 0) & (metres < _FARTHEST)
        sample = metres[::7, ::7]  # odd, as some drivers leave every second row or column empty
        sample = sample[(sample > 0) & np.isfinite(sample)]
    median = float(np.median(sample)) if sample.size else 1.0
    if not _NEAREST < median < _FARTHEST:
        raise FrameError(
            f"the median depth is {median:g} m, which no camera over a table sees: depth is in other units. 32FC1 is "
            "metres, 16UC1 millimetres; for a folder of images set depth_scale, metres of one unit"
        )
    return np.where(good, metres, 0.0).astype(np.float32, copy=False)


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


def decode_compressed_colour(data: bytes | memoryview | np.ndarray, form: str) -> np.ndarray:
    """A compressed colour image (JPEG, PNG, WebP) as RGB (height, width, 3) uint8. form: the message's `format`."""
    image = _uncompressed(data, form, cv2.IMREAD_COLOR)
    if image.dtype != np.uint8 or image.ndim != 3:
        raise FrameError(f"the compressed colour image ({form}) has no 8 bits a channel")
    return np.ascontiguousarray(image[:, :, ::-1])


def decode_compressed_depth(data: bytes | memoryview | np.ndarray, form: str) -> np.ndarray:
    """A compressed depth image in metres, as of `decode_depth`. form: the message's `format`.

    As image_transport_plugins write it: "16UC1; png compressed" holds millimetres; "16UC1; compressedDepth png" has a
    header of 12 bytes before them; "32FC1; compressedDepth png" has the quantised inverse depth after that header
    (compressed_depth_image_transport, codec.cpp).
    """
    if "compressedDepth" not in form:
        if "jpeg" in form or "jpg" in form:
            raise FrameError(f"depth is compressed as {form!r}, which loses it; use compressedDepth or PNG")
        return decode_depth(*_sixteen_bits(data, form))
    if len(data) < _DEPTH_HEADER.size:
        raise FrameError(f"the compressed depth image ({form}) has {len(data)} bytes")
    raw, height, width, encoding = _sixteen_bits(data[_DEPTH_HEADER.size :], form)
    if not form.startswith("32FC1"):
        return decode_depth(raw, height, width, encoding)
    _, quantisation, offset = _DEPTH_HEADER.unpack(bytes(data[: _DEPTH_HEADER.size]))
    values = raw.view(np.uint16).reshape(height, width).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        return clean_depth(np.where(values > 0, np.float32(quantisation) / (values - np.float32(offset)), 0.0))


_DEPTH_HEADER = struct.Struct("<iff")  # of compressedDepth: an enumeration, and the two parameters of its quantisation


def _sixteen_bits(data: bytes | memoryview | np.ndarray, form: str) -> tuple[np.ndarray, int, int, str]:
    """Arguments of `decode_depth`; raises FrameError."""
    image = _uncompressed(data, form, cv2.IMREAD_UNCHANGED)
    if image.dtype != np.uint16 or image.ndim != 2:
        raise FrameError(f"the compressed depth image ({form}) has no 16 bits a pixel in one channel")
    native = image.astype("<u2")
    return native.reshape(-1).view(np.uint8), image.shape[0], image.shape[1], "16UC1"


def _uncompressed(data: bytes | memoryview | np.ndarray, form: str, flags: int) -> np.ndarray:
    """Decode with OpenCV; raises FrameError."""
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except (cv2.error, ValueError):
        image = None
    if image is None:
        raise FrameError(
            f"the compressed image ({form}, {len(data)} bytes) cannot be decoded; JPEG and PNG are, and "
            "compressedDepth with PNG. Else: ros2 run image_transport republish"
        )
    return np.asarray(image)
