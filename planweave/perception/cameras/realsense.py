"""RealSense cameras through pyrealsense2, in this process; and recordings of its viewer or recorder.

Colour is the reference: depth is aligned to it by the library (rs.align), so that intrinsics and pose are those of the
colour camera. Interface: librealsense 2.55 and newer, python bindings (wrappers/python in its repository).
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planweave.core.base.errors import ConfigError, MissingExtraError
from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.decoding import FrameError, clean_depth
from planweave.perception.geometry import Intrinsics

_FIRST = 10.0  # s for the first frame; a camera needs some seconds to start
_NEXT = 2.0  # s for a next one
_GLANCE = 200  # ms to wait at a time, so that closing is quick


@dataclass(frozen=True)
class Stream:
    """Camera and stream settings. serial: "" for any; width, height in pixels and fps for colour and depth alike."""

    serial: str = ""
    width: int = 640
    height: int = 480
    fps: int = 30


def load_library() -> Any:
    """The module pyrealsense2. Raises MissingExtraError or ConfigError that says what to install.

    It links to libusb-1.0, which the package libusb-package provides where the system lacks it: once loaded, it is
    found by name.
    """
    try:
        import pyrealsense2

        return pyrealsense2
    except ModuleNotFoundError:
        raise MissingExtraError("a RealSense camera or recording (pyrealsense2)", "realsense") from None
    except ImportError as error:
        if "libusb" not in str(error):
            raise ConfigError(f"pyrealsense2 is installed but cannot be loaded: {error}") from None
    try:
        import libusb_package

        ctypes.CDLL(str(libusb_package.get_library_path()))
        import pyrealsense2

        return pyrealsense2
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"pyrealsense2 needs libusb-1.0 ({error}): apt-get install libusb-1.0-0, or pip install libusb-package"
        ) from None


def device_frames(rs: Any, stream: Stream, frame_id: str, ended: threading.Event) -> Iterator[Frame | FrameError]:
    """Frames of a camera until `ended`; rs: pyrealsense2.

    Raises CameraError where the camera is missing, does not support the stream, or was unplugged.
    """
    there = _check_there(rs, stream)
    config = rs.config()
    if stream.serial:
        config.enable_device(stream.serial)
    size = (stream.width, stream.height)
    config.enable_stream(rs.stream.color, *size, rs.format.rgb8, stream.fps)
    config.enable_stream(rs.stream.depth, *size, rs.format.z16, stream.fps)
    pipeline = rs.pipeline()
    try:
        profile = pipeline.start(config)
    except RuntimeError as error:
        raise CameraError(
            f"the RealSense camera does not start with {stream.width} x {stream.height} at {stream.fps} fps ({error}); "
            f"it may not offer that, be in use by another program, or be on a slow USB port; plugged in: {there}"
        ) from None
    yield from _frames(rs, pipeline, profile, frame_id, ended, None)


def recorded_frames(rs: Any, path: Path, frame_id: str, ended: threading.Event) -> Iterator[Frame | FrameError]:
    """Every frame of a RealSense recording (.db3, or .bag of older versions), once; the library may lose the first."""
    pipeline, profile = open_file(rs, path)
    yield from _frames(rs, pipeline, profile, frame_id, ended, profile.get_device().as_playback())


def open_file(rs: Any, path: Path) -> tuple[Any, Any]:
    """A started pipeline that plays a recording once, and its profile. Raises CameraError where the file is not one, or
    lacks colour or depth.
    """
    config, pipeline = rs.config(), rs.pipeline()
    try:
        config.enable_device_from_file(str(path), repeat_playback=False)
        # Resolved first, so that it is told before the first frame that every frame waits to be taken; and since a
        # pipeline that is stopped as soon as it plays can end the process (librealsense 2.59: 1 of 360 times).
        profile = config.resolve(rs.pipeline_wrapper(pipeline))
        kinds = {stream.stream_type() for stream in profile.get_streams()}
        named = ((rs.stream.color, "colour"), (rs.stream.depth, "depth"))
        if missing := [name for kind, name in named if kind not in kinds]:
            raise CameraError(f"{path} holds no {' and no '.join(missing)} stream; record colour and depth")
        profile.get_device().as_playback().set_real_time(False)
        return pipeline, pipeline.start(config)
    except RuntimeError as error:
        raise CameraError(f"{path} cannot be played as a RealSense recording: {error}") from None


def _frames(
    rs: Any, pipeline: Any, profile: Any, frame_id: str, ended: threading.Event, playback: Any
) -> Iterator[Frame | FrameError]:
    """Frames of a started pipeline; stops it when closed."""
    try:
        scale = profile.get_device().first_depth_sensor().get_depth_scale()
        align = rs.align(rs.stream.color)
        heard, patience, last = time.monotonic(), _FIRST, -1
        while not ended.is_set():
            arrived, both = pipeline.try_wait_for_frames(_GLANCE)
            if not arrived:
                if playback is not None and playback.current_status() != rs.playback_status.playing:
                    return
                if playback is None and time.monotonic() - heard > patience:
                    raise CameraError(
                        f"no images for {patience:g} s from the RealSense camera: is it still plugged in, on a USB 3 "
                        "port, with a good cable? It is opened again as soon as it is back"
                    )
                continue
            heard, patience = time.monotonic(), _NEXT
            both = align.process(both)
            colour, depth = both.get_color_frame(), both.get_depth_frame()
            if colour and depth and colour.get_frame_number() != last and _are_one_moment(colour, depth):
                last = colour.get_frame_number()
                yield _frame(rs, colour, depth, scale, frame_id, _stamp(rs, colour, playback is not None))
    finally:
        with contextlib.suppress(RuntimeError):  # an unplugged camera cannot be stopped
            pipeline.stop()


def _frame(rs: Any, colour: Any, depth: Any, scale: float, frame_id: str, stamp: int) -> Frame | FrameError:
    camera = colour.profile.as_video_stream_profile().intrinsics
    k = (camera.fx, 0.0, camera.ppx, 0.0, camera.fy, camera.ppy, 0.0, 0.0, 1.0)
    # The library owns the memory of its frames, hence the copies.
    pixels, raw = np.array(colour.get_data()), np.asanyarray(depth.get_data())
    kind = colour.profile.format()
    if kind == rs.format.bgr8:
        pixels = np.ascontiguousarray(pixels[:, :, ::-1])
    elif kind != rs.format.rgb8:
        return FrameError(f"the colour stream has format {kind}; record it as RGB8 or BGR8")
    try:
        intrinsics = Intrinsics.from_matrix(k, camera.width, camera.height)
    except FrameError as error:
        return error
    metres = clean_depth(raw.astype(np.float32) * np.float32(scale))
    return Frame(stamp, frame_id, pixels, metres, intrinsics)


def _are_one_moment(colour: Any, depth: Any) -> bool:
    """Whether two frames were taken less than a period apart; the library also pairs each frame with the other's
    previous one.
    """
    return abs(colour.get_timestamp() - depth.get_timestamp()) < 750.0 / max(colour.get_profile().fps(), 1)  # ms


def _stamp(rs: Any, frame: Any, recorded: bool) -> int:
    """Nanoseconds.

    A live camera's own clock is unrelated to that of the joint states, so the time of arrival is used.
    """
    if not recorded and frame.frame_timestamp_domain == rs.timestamp_domain.hardware_clock:
        return time.time_ns()
    return round(frame.get_timestamp() * 1e6)


def _check_there(rs: Any, stream: Stream) -> str:
    """The connected cameras, in words; raises CameraError where the requested one is missing.

    Checked first, because a pipeline would wait many seconds for a missing one.
    """
    there = {
        device.get_info(rs.camera_info.serial_number): device.get_info(rs.camera_info.name)
        for device in rs.context().query_devices()
        if device.supports(rs.camera_info.serial_number)
    }
    listed = ", ".join(f"{name} with serial {serial}" for serial, name in there.items())
    if not there:
        raise CameraError(
            "no RealSense camera is plugged in; plug it into a USB 3 port, and install librealsense's udev rules if "
            "`lsusb` lists it. It is looked for again and again"
        )
    if stream.serial and stream.serial not in there:
        raise CameraError(f"no RealSense camera has serial {stream.serial}; plugged in: {listed}")
    return listed
