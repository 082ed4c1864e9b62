"""Segmentation of real RGB-D frames: overlap and boundary against labels by hand, sameness under noise and size, time.

FOLDER has mOSD's scenes below it (`learn*.pcd` and `test*.pcd` of PointCloudLibrary/data, segmentation/mOSD: 640 x 480,
Kinect v1, with labels). Learn scenes are for tuning; `--task test` measures the others. Nothing of them belongs to this
repository. mOSD's camera poses are not known: the plane through the pixels labelled as table gives them.

A file boxes.json in FOLDER adds a row for frames with boxes drawn by eye. It has, by the path of each colour image in
FOLDER: depth (the path of a .npy, or of a .png in mm), intrinsics (fx, fy, cx, cy), pose (4 x 4, from the camera to a
frame with the table at z = 0) and boxes (left, top, right, bottom in pixels).
"""

from __future__ import annotations

import argparse
import json
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.figures import Row, figure
from planweave.core.base.errors import ConfigError
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.segmentation import find_segments

LOW, HIGH = (-0.45, -1.5, -0.1), (2.5, 1.5, 0.6)  # m around the middle of the table
OUTPUT = Path("out/benchmarks/real_frames")
_OBJECT = 20  # labels from here on are objects, of which the last digit tells the part
_TABLE = 10  # labels 1 to 9 are the table
_BOUND = 0.003  # of the diagonal, by which boundaries may differ (Dave et al. 2019)
_COVERED, _SAME = 0.75, 0.5  # F from which an object is well found, intersection over union of one region in two frames
_NOISE, _GREY, _COPIES = 1e-3, 3, 3  # m at 1 m, grey levels, copies
_SIZES = (320, 1280, 1920)
_SHOWN = 10  # overlays that are written


@dataclass(frozen=True, eq=False)
class LabelledFrame:
    """A view with its labels (h, w), 0 where there is no object."""

    name: str
    view: DepthView
    labels: np.ndarray


def decompressed(data: bytes, length: int) -> bytes:
    """Bytes of LibLZF's format; raises ValueError where they are not so many."""
    out, i = bytearray(), 0
    while i < len(data):
        control = data[i]
        i += 1
        if control < 32:
            out += data[i : i + control + 1]
            i += control + 1
            continue
        size = control >> 5
        if size == 7:
            size += data[i]
            i += 1
        start = len(out) - ((control & 31) << 8) - data[i] - 1
        i += 1
        size += 2
        if start < 0:
            raise ValueError("a reference before the beginning")
        while size > 0:  # a reference may run into what it writes
            piece = out[start : start + size]
            out += piece
            start, size = start + len(piece), size - len(piece)
    if len(out) != length:
        raise ValueError(f"{len(out)} bytes instead of {length}")
    return bytes(out)


def read_scene(path: Path) -> LabelledFrame:
    """A scene of mOSD; raises ConfigError where the file is another."""
    raw = path.read_bytes()
    head, found, body = raw.partition(b"DATA binary_compressed\n")
    rows = dict(line.split(" ", 1) for line in head.decode("ascii", "replace").splitlines() if " " in line)
    if not found or rows.get("FIELDS") != "label x y z rgba":
        raise ConfigError(f"{path}: not a scene of mOSD (binary_compressed, fields label x y z rgba)")
    packed, size = struct.unpack("<II", body[:8])
    width, height = int(rows["WIDTH"]), int(rows["HEIGHT"])
    try:
        data = decompressed(body[8 : 8 + packed], size)
        label, x, y, z, rgba = (
            np.frombuffer(data, kind, width * height, k * 4 * width * height)
            for k, kind in enumerate(("<u4", "<f4", "<f4", "<f4", "<u4"))
        )
    except (ValueError, IndexError) as error:
        raise ConfigError(f"{path}: damaged: {error}") from error
    i = Intrinsics(525.0, 525.0, 319.5, 239.5, 640, 480)
    where = np.arange(width * height)
    known = np.isfinite(z)
    if (width, height) != (i.width, i.height):
        u, v = np.rint(x / z * i.fx + i.cx), np.rint(y / z * i.fy + i.cy)
        known &= (u >= 0) & (u < i.width) & (v >= 0) & (v < i.height)
        where = np.where(known, v * i.width + u, 0).astype(int)
    images = []
    for values in (label, z, rgba):
        image = np.zeros(i.width * i.height, values.dtype)
        image[where[known]] = values[known]
        images.append(image.reshape(i.height, i.width))
    labels, depth, packed_rgb = images
    rgb = np.stack([(packed_rgb >> k) & 255 for k in (16, 8, 0)], axis=-1).astype(np.uint8)
    view = DepthView("camera", rgb, depth, i, Pose(np.eye(3), np.zeros(3)))
    pose = table_pose(view.points[(depth > 0) & (labels > 0) & (labels < _TABLE)])
    objects = np.where((labels >= _OBJECT) & (depth > 0), labels // 10, 0).astype(int)
    return LabelledFrame(path.stem, replace(view, camera_to_frame=pose), objects)


def table_pose(points: np.ndarray) -> Pose:
    """Pose of the camera over a table with these points (n, 3) in the camera: z up, x along the view."""
    points = points[:: max(1, len(points) // 20_000)].astype(float)
    for _ in range(4):
        middle = points.mean(axis=0)
        up = np.linalg.svd(points - middle, full_matrices=False)[2][2]
        away = np.abs((points - middle) @ up)
        points = points[away < max(2.5 * float(np.median(away)), 1e-3)]
    up = -up if up @ middle > 0 else up
    along = np.array((0.0, 0.0, 1.0)) - up * up[2]
    along /= np.linalg.norm(along)
    turn = np.stack((along, np.cross(up, along), up))
    return Pose(turn, -turn @ middle)


def segmented(view: DepthView) -> tuple[np.ndarray, float]:
    """Numbers of the segments (h, w), 0 for none, and processor time in seconds."""
    start = time.process_time()
    found = find_segments([view], LOW, HIGH).segments
    taken = time.process_time() - start
    labels = np.zeros(view.depth.shape, int)
    for number, segment in enumerate(found, 1):
        labels[segment.masks[view.name]] = number
    return labels, taken


def _masks(labels: np.ndarray) -> list[np.ndarray]:
    return [labels == k for k in np.unique(labels) if k > 0]


def _edge(mask: np.ndarray) -> np.ndarray:
    return mask & ~cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)


def scores(found: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Overlap F, boundary F and share of objects with F above 0.75, as Xie et al. define them: Unseen Object Instance
    Segmentation for Robotic Environments, T-RO 2021, section VI.
    """
    from scipy.optimize import linear_sum_assignment

    ours, theirs = _masks(found), _masks(truth)
    both = np.array([[(a & b).sum() for b in ours] for a in theirs], float).reshape(len(theirs), len(ours))
    sizes = [np.array([m.sum() for m in masks], float) for masks in (theirs, ours)]
    f = 2 * both / np.maximum(sizes[0][:, None] + sizes[1], 1)
    rows, columns = linear_sum_assignment(-f)
    reach = int(np.ceil(_BOUND * np.hypot(*truth.shape)))
    around = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    edges = [[_edge(m) for m in masks] for masks in (theirs, ours)]
    wide = [[cv2.dilate(e.astype(np.uint8), around) > 0 for e in each] for each in edges]
    hits = [
        sum(int((edges[k][a if k == 0 else b] & wide[1 - k][b if k == 0 else a]).sum()) for a, b in zip(rows, columns))
        for k in (0, 1)
    ]
    lengths = [sum(int(e.sum()) for e in each) for each in edges]
    return {
        "overlap": 2 * float(both[rows, columns].sum()) / max(float(sizes[0].sum() + sizes[1].sum()), 1.0),
        "boundary": _f(hits[1] / max(lengths[1], 1), hits[0] / max(lengths[0], 1)),
        "well": float((f[rows, columns] > _COVERED).sum() / len(theirs)),
    }


def _f(precision: float, recall: float) -> float:
    return 2 * precision * recall / max(precision + recall, 1e-9)


def changed(one: np.ndarray, two: np.ndarray) -> tuple[int, int]:
    """Number of segments of one frame without their like in another frame of the same scene, and of all segments."""
    ours, theirs = _masks(one), _masks(two)
    alike = [max(((a & b).sum() / (a | b).sum() for b in theirs), default=0.0) > _SAME for a in ours]
    return len(alike) - sum(alike), len(alike)


def noisy(view: DepthView, rng: np.random.Generator) -> DepthView:
    """The view with noise of depth that grows with distance^2, and of colour."""
    noise = (_NOISE * view.depth**2 * rng.normal(size=view.depth.shape)).astype(np.float32)
    rgb = view.rgb.astype(int) + rng.integers(-_GREY, _GREY + 1, view.rgb.shape)
    return replace(view, depth=view.depth + noise, rgb=np.clip(rgb, 0, 255).astype(np.uint8))


def resized(frame: LabelledFrame, width: int) -> LabelledFrame:
    """The frame by a camera of another resolution."""
    i, factor = frame.view.intrinsics, width / frame.view.intrinsics.width
    size = width, round(i.height * factor)
    rows = np.minimum(((np.arange(size[1]) + 0.5) / factor).astype(int), i.height - 1)
    columns = np.minimum(((np.arange(size[0]) + 0.5) / factor).astype(int), i.width - 1)
    pick = np.ix_(rows, columns)
    scaled = Intrinsics(i.fx * factor, i.fy * factor, (i.cx + 0.5) * factor - 0.5, (i.cy + 0.5) * factor - 0.5, *size)
    view = replace(frame.view, rgb=frame.view.rgb[pick], depth=frame.view.depth[pick], intrinsics=scaled)
    return LabelledFrame(frame.name, view, frame.labels[pick])


def frames(folder: Path, kind: str) -> Iterator[LabelledFrame]:
    """The scenes of a kind, in their order; raises ConfigError where there are none."""
    paths = sorted(
        (p for p in folder.rglob(f"{kind}*.pcd") if p.stat().st_size), key=lambda p: int(p.stem[len(kind) :])
    )
    if not paths:
        raise ConfigError(f"{folder}: no scenes {kind}0.pcd, {kind}1.pcd, … of mOSD below it")
    for path in sorted(paths, key=lambda p: int(p.stem[len(kind) :])):
        yield read_scene(path)


def boxed(folder: Path) -> Iterator[tuple[str, DepthView, np.ndarray]]:
    """Name, view and boxes (n, 4) of the frames of a folder's boxes.json, none without it; raises ConfigError."""
    file = folder / "boxes.json"
    try:
        for name, row in json.loads(file.read_text(encoding="utf-8")).items() if file.is_file() else ():
            path, pose, (fx, fy, cx, cy) = folder / row["depth"], np.array(row["pose"], float), row["intrinsics"]
            read = np.load(path).squeeze() if path.suffix == ".npy" else np.asarray(cv2.imread(str(path), -1)) / 1000.0
            depth, rgb = np.asarray(read, np.float32), np.asarray(cv2.imread(str(folder / name)))[..., ::-1]
            of = Intrinsics(fx, fy, cx, cy, depth.shape[1], depth.shape[0]), Pose(pose[:3, :3], pose[:3, 3])
            view = DepthView("camera", rgb, depth, *of)
            yield name, view, np.array(row["boxes"], float).reshape(-1, 4)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ConfigError(f"{file}: {error!r}; see the head of benchmarks/real_frames.py") from error


def boxes_found(labels: np.ndarray, boxes: np.ndarray) -> int:
    """Number of boxes that have a segment whose own box is like them."""
    found = [cv2.boundingRect(mask.astype(np.uint8)) for mask in _masks(labels)]
    ours = np.array([(x, y, x + w, y + h) for x, y, w, h in found], float).reshape(-1, 1, 4)
    low, high = np.maximum(ours[..., :2], boxes[:, :2]), np.minimum(ours[..., 2:], boxes[:, 2:])
    both = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [(b[..., 2:] - b[..., :2]).prod(axis=-1) for b in (ours, boxes)]
    return int((both > _SAME * (areas[0] + areas[1] - both)).any(axis=0).sum())


def overlay(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The picture with its segments outlined and tinted, BGR."""
    picture, rng = rgb[..., ::-1].copy(), np.random.default_rng(3)
    for mask in _masks(labels):
        colour = rng.integers(60, 255, 3)
        picture[mask] = (0.6 * picture[mask] + 0.4 * colour).astype(np.uint8)
        outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, outlines, -1, tuple(int(c) for c in colour), 2)
    return np.asarray(picture)


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """Figures of the scenes in the folder; overlays of some go to out/benchmarks/real_frames."""
    if len(options.folders) != 1:
        raise ConfigError("real_frames needs one folder with mOSD's scenes, and has " + str(len(options.folders)))
    kind = "test" if options.tasks and "test" in options.tasks else "learn"
    OUTPUT.mkdir(parents=True, exist_ok=True)
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    rows, times, differ, regions = [], [], 0, 0
    sizes: dict[int, list[float]] = {width: [] for width in _SIZES}
    rng = np.random.default_rng(options.seed)
    try:
        for count, frame in enumerate(frames(Path(options.folders[0]), kind)):
            labels, taken = segmented(frame.view)
            rows.append(scores(labels, frame.labels))
            times.append(taken)
            console.print(f"{frame.name}: " + ", ".join(f"{name} {100 * v:.0f}" for name, v in rows[-1].items()))
            if count < _SHOWN:
                cv2.imwrite(str(OUTPUT / f"{frame.name}.png"), overlay(frame.view.rgb, labels))
            if count % 5 == 0:
                copies = [segmented(noisy(frame.view, rng))[0] for _ in range(_COPIES)]
                for one, two in ((a, b) for a in copies for b in copies if a is not b):
                    new, all_ = changed(one, two)
                    differ, regions = differ + new, regions + all_
                for width in _SIZES:
                    other = resized(frame, width)
                    score = scores(segmented(other.view)[0], other.labels)["overlap"]
                    sizes[width].append(score - rows[-1]["overlap"])
        drawn = [
            (boxes_found(segmented(view)[0], boxes), len(boxes)) for _, view, boxes in boxed(Path(options.folders[0]))
        ]
    finally:
        cv2.setNumThreads(threads)
    overlap, boundary, well = (100 * float(np.mean([row[k] for row in rows])) for k in ("overlap", "boundary", "well"))
    noise, spent = 100 * differ / max(regions, 1), 1e3 * float(np.median(times))
    worst = 100 * max((abs(float(np.mean(v))) for v in sizes.values()), default=0.0)
    return [
        figure(f"overlap F of {len(rows)} scenes ({kind})", f"{overlap:.1f}", ">= 92", overlap >= 92),
        figure("boundary F", f"{boundary:.1f}", ">= 84", boundary >= 84),
        figure("objects with F above 0.75, %", f"{well:.1f}", ">= 90", well >= 90),
        figure("processor time of a frame, ms (median)", f"{spent:.1f}", "<= 80", spent <= 80),
        figure("regions that differ between noisy copies, %", f"{noise:.1f}", "<= 5", noise <= 5),
        figure("overlap F at other sizes, difference", f"{worst:.1f}", "<= 5", worst <= 5),
        *_of_boxes(drawn),
    ]


def _of_boxes(found: list[tuple[int, int]]) -> list[Row]:
    """The row of the frames with boxes, where there are some."""
    ours, all_ = (sum(row[k] for row in found) for k in (0, 1))
    goal = 66 / 83
    return (
        [figure(f"boxes drawn by eye found, of {all_}", str(ours), f">= {goal:.1%}", ours >= goal * all_)]
        if found
        else []
    )
