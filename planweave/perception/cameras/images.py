"""A folder of images as a camera: colour and depth files in pairs, and a file with the intrinsics.

What public data sets and most recorders write can be read: two folders (rgb and depth), or files such as
0001-colour.png and 0001-depth.png. Depth is 16-bit PNG, by default in millimetres, or NumPy's .npy in metres.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.core.base.yaml_files import read_yaml
from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.decoding import FrameError, clean_depth
from planweave.perception.geometry import Intrinsics

_DEPTH = re.compile(r"(?<![a-z])depth(?![a-z])", re.IGNORECASE)
_COLOUR = re.compile(r"(?<![a-z])(?:rgb|colou?r)(?![a-z])", re.IGNORECASE)
_IMAGES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"}
_PERIOD = 100_000_000  # ns between frames, whose files say nothing of time


def is_folder_of_images(path: Path) -> bool:
    """Whether depth images lie in a folder, or in a folder of it."""
    return path.is_dir() and any(_DEPTH.search(str(file.relative_to(path))) for file in _files(path))


def image_frames(path: Path, frame_id: str, ended: threading.Event) -> Iterator[Frame | FrameError]:
    """Every pair of images, in the order of their names. Raises CameraError, ConfigError for the intrinsics."""
    k, unit = _camera(path)
    for index, (colour, depth) in enumerate(_pairs(path)):
        if ended.is_set():
            return
        try:
            yield _frame(index * _PERIOD, frame_id, colour, depth, k, unit)
        except FrameError as error:
            yield error


def _frame(nanoseconds: int, frame_id: str, colour: Path, depth: Path, k: list[float], unit: float) -> Frame:
    bgr = cv2.imread(str(colour), cv2.IMREAD_COLOR)
    if bgr is None:
        raise FrameError(f"{colour} cannot be read as an image")
    metres = _metres(depth, unit)
    height, width = metres.shape
    if bgr.shape[:2] != (height, width):
        raise FrameError(
            f"sizes differ: {colour} is {bgr.shape[1]} x {bgr.shape[0]}, {depth} {width} x {height}; "
            "depth must be aligned to colour"
        )
    intrinsics = Intrinsics.from_matrix(k, width, height)
    return Frame(nanoseconds, frame_id, np.ascontiguousarray(bgr[:, :, ::-1]), metres, intrinsics)


def _metres(path: Path, unit: float) -> np.ndarray:
    try:
        if path.suffix == ".npy":
            return clean_depth(np.squeeze(np.load(path, allow_pickle=False)).astype(np.float32))
        raw = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    except (ValueError, OSError) as error:
        raise FrameError(f"{path}: {error}") from None
    if raw is None or raw.ndim != 2 or raw.dtype not in (np.uint16, np.float32):
        raise FrameError(f"{path} is no depth image: one channel of 16 bits (or 32-bit float metres) is expected")
    return clean_depth(raw if raw.dtype == np.float32 else raw.astype(np.float32) * np.float32(unit))


def _files(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in {*_IMAGES, ".npy"} and not file.name.startswith(".")
    )


def _pairs(folder: Path) -> list[tuple[Path, Path]]:
    """Colour and depth files of one name but for these words, else in the order of their names; raises CameraError."""
    names = {file: str(file.relative_to(folder)) for file in _files(folder)}
    depths = [file for file, name in names.items() if _DEPTH.search(name)]
    colours = [file for file, name in names.items() if file not in depths and file.suffix != ".npy"]
    colours = [file for file in colours if _COLOUR.search(names[file])] or colours
    by_key = {_key(names[file]): file for file in colours}
    pairs = [(by_key[key], file) for file in depths if (key := _key(names[file])) in by_key]
    if not pairs and len(colours) == len(depths):
        pairs = list(zip(colours, depths))
    if not pairs:
        raise CameraError(
            f"{folder} has {len(colours)} colour and {len(depths)} depth images that are no pairs; write each pair as "
            "NAME-colour.png and NAME-depth.png, or as rgb/NAME.png and depth/NAME.png"
        )
    return pairs


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _COLOUR.sub("", _DEPTH.sub("", str(Path(name).with_suffix("")))).lower())


def _camera(folder: Path) -> tuple[list[float], float]:
    """The nine numbers of K, and metres of one unit of depth; raises ConfigError."""
    files = sorted(file for ending in ("*.yaml", "*.yml", "*.json") for file in folder.glob(ending))
    for file in files:
        data = read_yaml(file)
        if isinstance(data, dict) and (k := _matrix(data)) is not None:
            unit = data.get("depth_scale", 0.001)
            if isinstance(unit, bool) or not isinstance(unit, (int, float)) or not 0 < unit < 1:
                raise ConfigError(f"{file}: depth_scale is {unit!r}; give metres of one unit, such as 0.001")
            return k, float(unit)
    raise ConfigError(
        f"{folder} has no file with the camera's intrinsics"
        f"{f' ({len(files)} others)' if files else ''}; write camera.yaml with fx, fy, cx, cy in pixels, "
        "and depth_scale (metres of one unit, 0.001 by default)"
    )


def _matrix(data: dict[str, Any]) -> list[float] | None:
    """K of a dictionary with fx, fy, cx, cy, with K, or of camera_info_manager's form; None for another one."""
    flat: Any = data.get("camera_matrix", data.get("K", data.get("k", data.get("intrinsic_matrix"))))
    flat = flat.get("data") if isinstance(flat, dict) else flat
    if isinstance(flat, list) and len(flat) == 3 and all(isinstance(row, list) for row in flat):
        flat = [value for row in flat for value in row]
    if flat is None and {"fx", "fy"} <= data.keys():
        centre = [data.get("cx", data.get("ppx")), data.get("cy", data.get("ppy"))]
        flat = [data["fx"], 0.0, centre[0], 0.0, data["fy"], centre[1], 0.0, 0.0, 1.0]
    if not isinstance(flat, list) or len(flat) != 9:
        return None
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in flat):
        return None
    return [float(v) for v in flat]
