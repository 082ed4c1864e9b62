"""Recordings as a RealSense camera and a ROS 2 bag would give them, made from images that a test has."""

import contextlib
import gc
import struct
import threading
from pathlib import Path

import cv2
import numpy as np

CAMERA_FRAME = "camera_color_optical_frame"
DEPTH_UNIT = 0.00025  # m, unlike the millimetre that most cameras use, so that mixing them up shows


def record_realsense(rs, path, frames, intrinsics, *, fps=30, begin=1000.0, streams=("depth", "colour")):
    """Record frames, pairs of rgb (h, w, 3) uint8 and depth (h, w) metres, with a software device of pyrealsense2.

    begin: time stamp of the first frame, seconds. The camera's depth and colour have one viewpoint.
    """
    device = rs.software_device()
    device.register_info(rs.camera_info.name, "camera double")
    device.register_info(rs.camera_info.serial_number, "0042")
    wanted = {"depth": (rs.stream.depth, rs.format.z16, 2, 1), "colour": (rs.stream.color, rs.format.rgb8, 3, 2)}
    sensors, profiles = {}, {}
    for name in streams:
        kind, form, size, uid = wanted[name]
        sensors[name] = device.add_sensor(f"{name} sensor")
        profiles[name] = sensors[name].add_video_stream(_stream(rs, kind, form, size, uid, fps, intrinsics))
    if "depth" in sensors:
        sensors["depth"].add_read_only_option(rs.option.depth_units, DEPTH_UNIT)
    if len(profiles) == 2:
        same = rs.extrinsics()
        same.rotation, same.translation = [1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0]
        profiles["depth"].register_extrinsics_to(profiles["colour"], same)
        profiles["colour"].register_extrinsics_to(profiles["depth"], same)
    device.create_matcher(rs.matchers.default)
    recorder = rs.recorder(str(path), device)
    arrived = threading.Semaphore(0)
    recorded = recorder.query_sensors()
    for sensor in recorded:
        sensor.open(sensor.get_stream_profiles()[0])
        sensor.start(lambda _: arrived.release())
    for number, (rgb, depth) in enumerate(frames):
        pixels = {"colour": rgb, "depth": np.round(depth / DEPTH_UNIT).astype(np.uint16)}
        for name in streams:
            array = np.ascontiguousarray(pixels[name])
            frame = rs.software_video_frame()
            frame.pixels, frame.stride, frame.bpp = array, array.strides[0], wanted[name][2]
            frame.timestamp, frame.domain = begin * 1e3 + number * 1e3 / fps, rs.timestamp_domain.system_time
            frame.frame_number, frame.profile = number + 1, profiles[name].as_video_stream_profile()
            sensors[name].on_video_frame(frame)
            assert arrived.acquire(timeout=10.0), "the recorder took no frame"
    for sensor in recorded:
        sensor.stop()
        sensor.close()
    del recorder, recorded, sensor
    gc.collect()  # the file is written when the recorder is gone


def _stream(rs, kind, form, size, uid, fps, intrinsics):
    stream = rs.video_stream()
    stream.type, stream.fmt, stream.index, stream.uid, stream.bpp = kind, form, 0, uid, size
    stream.width, stream.height, stream.fps = intrinsics.width, intrinsics.height, fps
    model = rs.intrinsics()
    model.width, model.height = intrinsics.width, intrinsics.height
    model.model, model.coeffs = rs.distortion.none, [0.0] * 5
    model.fx, model.fy, model.ppx, model.ppy = intrinsics.fx, intrinsics.fy, intrinsics.cx, intrinsics.cy
    stream.intrinsics = model
    return stream


def record_bag(
    path,
    frames,
    intrinsics,
    topics,
    *,
    begin=1000,
    late_depth=0,
    storage="SQLITE3",
    frame_id=CAMERA_FRAME,
    compressed=False,
):
    """Write frames as a ROS 2 bag (a folder) through rosbags; begin: seconds of the first; late_depth: nanoseconds by
    which depth has another stamp. topics: names of colour, depth and camera info; an empty one is left out. storage:
    SQLITE3 or MCAP. compressed: as PNG, depth as compressedDepth."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    writer = Writer(Path(path), version=9, storage_plugin=StoragePlugin[storage])
    _write(writer, store, store.serialize_cdr, frames, intrinsics, topics, begin, late_depth, frame_id, compressed)


def record_ros1_bag(path, frames, intrinsics, topics):
    """The same as a bag of ROS 1, which is a file."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    _write(Writer(Path(path)), store, store.serialize_ros1, frames, intrinsics, topics, 1000, 0, CAMERA_FRAME, False)


def _write(writer, store, serialize, frames, intrinsics, topics, begin, late_depth, frame_id, compressed):
    types = store.types
    info, roi = (types[f"sensor_msgs/msg/{n}"] for n in ("CameraInfo", "RegionOfInterest"))
    image = types["sensor_msgs/msg/CompressedImage" if compressed else "sensor_msgs/msg/Image"]
    header, time = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    k = np.array([intrinsics.fx, 0, intrinsics.cx, 0, intrinsics.fy, intrinsics.cy, 0, 0, 1], dtype=float)
    with contextlib.ExitStack() as stack:
        bag = stack.enter_context(writer)
        links = [
            bag.add_connection(topic, kind.__msgtype__, typestore=store) if topic else None
            for topic, kind in zip(topics, (image, image, info))
        ]
        for number, (rgb, depth) in enumerate(frames):
            stamp = begin * 1_000_000_000 + number * 33_000_000

            def head(nanoseconds):
                more = {"seq": 0} if "seq" in header.__dataclass_fields__ else {}
                return header(
                    stamp=time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9), frame_id=frame_id, **more
                )

            def picture(array, encoding, nanoseconds):
                array = np.ascontiguousarray(array)
                if compressed:
                    form, data = png(array, encoding)
                    return image(head(nanoseconds), form, data)
                return image(
                    head(nanoseconds),
                    array.shape[0],
                    array.shape[1],
                    encoding,
                    0,
                    array.strides[0],
                    array.view(np.uint8).ravel(),
                )

            messages = (
                picture(rgb, "rgb8", stamp),
                picture(np.round(depth * 1000).astype(np.uint16), "16UC1", stamp + late_depth),
                info(
                    head(stamp),
                    intrinsics.height,
                    intrinsics.width,
                    "plumb_bob",
                    np.zeros(5),
                    k,
                    np.eye(3).ravel(),
                    np.zeros(12),
                    0,
                    0,
                    roi(0, 0, 0, 0, False),
                ),
            )
            for link, message in zip(links, messages):
                if link is not None:
                    bag.write(link, stamp, serialize(message, link.msgtype))


def png(array, encoding):
    """Format and data of an image as image_transport_plugins compress it: rgb8 by `compressed`, depth by
    `compressedDepth`, 32FC1 with their quantisation."""
    if encoding == "rgb8":
        return "rgb8; png compressed bgr8", cv2.imencode(".png", array[:, :, ::-1])[1]
    quantisation = (0.0, 0.0)
    if encoding == "32FC1":
        quantisation = 100.0 * 101.0, 100.0 - 100.0 * 101.0 / 10.0  # of depth_quantization 100 and depth_max 10
        inverse = quantisation[0] / np.maximum(array, 1e-9) + quantisation[1]
        array = np.where(array > 0, inverse, 0).astype(np.uint16)
    head = np.frombuffer(struct.pack("<iff", 0, *quantisation), np.uint8)
    return f"{encoding}; compressedDepth png", np.concatenate([head, cv2.imencode(".png", array)[1].ravel()])
