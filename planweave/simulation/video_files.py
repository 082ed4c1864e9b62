"""Videos as files: .webm and .mp4 by OpenCV, .gif by Pillow. Frames are (h, w, 3), uint8, BGR."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.core.base.errors import PlanweaveError

if TYPE_CHECKING:
    from PIL import Image

_HOLD = 2.0  # s that the last picture stays
_LEAST_RATE = 8.0  # frames per second of a video that players show well
_COLOURS = 256  # of a GIF
_VIVID = 60  # difference between the largest and smallest channel above which a pixel is one of a coloured thing
_VIVID_WEIGHT = 8  # how often such pixels count for the palette: things are small, table and floor are large
_BAND = 34  # height of the caption, pixels
# By file name; browsers play all but mp4v. VP8 is written seven times as fast as VP9.
_CODECS = {".webm": ("VP80", "vp09"), ".mp4": ("vp09", "avc1", "mp4v")}
_GIF = ".gif"
SUFFIXES = (*_CODECS, _GIF)


class RecordingError(PlanweaveError):
    """A recording cannot be started or written; the message says why."""

    code = "recording"


def write_video(path: Path, frames: Sequence[np.ndarray], rate: float) -> None:
    """Write a video as its suffix says; rate: frames per second. Raises RecordingError or OSError."""
    (_write_gif if path.suffix == _GIF else _write_film)(path, frames, rate)


def video_bytes(suffix: str, frames: Sequence[np.ndarray], rate: float) -> bytes:
    """The contents of the file that `write_video` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"video{suffix}"
        write_video(path, frames, rate)
        return path.read_bytes()


def captioned(frame: Any, caption: str) -> Any:
    """The frame (BGR) with a line of text on a band below it, truncated to its width."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = frame.shape[:2]
    image = Image.new("RGB", (width, height + _BAND), "#1c2733")
    image.paste(Image.fromarray(frame[:, :, ::-1]))
    font = ImageFont.load_default(18)
    text = " ".join(caption.split())
    while text and font.getlength(f"“{text}”") > width - 24:
        text = text[:-2].rstrip() + "…"
    ImageDraw.Draw(image).text((width / 2, height + _BAND / 2), f"“{text}”", "white", font, anchor="mm")
    return np.asarray(image)[:, :, ::-1].copy()


def _write_film(path: Path, frames: Sequence[np.ndarray], rate: float) -> None:
    """rate: distinct frames per second; each is repeated to reach a rate that players support."""
    import cv2

    height, width = frames[0].shape[:2]
    times = math.ceil(_LEAST_RATE / rate)
    for codec in _CODECS[path.suffix]:
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), rate * times, (width, height))
        if writer.isOpened():
            for frame in frames:
                for _ in range(times):
                    writer.write(frame)
            for _ in range(round(_HOLD * rate * times)):
                writer.write(frames[-1])
            writer.release()
            return
        writer.release()
    raise RecordingError(
        f"this OpenCV has none of the video codecs {', '.join(_CODECS[path.suffix])}; write a .gif instead"
    )


def _write_gif(path: Path, frames: Sequence[np.ndarray], rate: float) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame[:, :, ::-1]) for frame in frames]
    width, height = pictures[0].size
    if width > 640:
        pictures = [p.resize((640, round(640 * height / width)), Image.Resampling.LANCZOS) for p in pictures]
    palette = _palette(pictures)
    pictures = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    shown = [round(1000 / rate)] * len(pictures)
    shown[-1] += round(1000 * _HOLD)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=shown, loop=0, optimize=False)


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    """Common palette of all frames; colours of small saturated objects get more weight, or a banana turns grey."""
    from PIL import Image

    some = pictures[:: max(1, len(pictures) // 8)]
    pixels = np.concatenate([np.asarray(p)[::2, ::2].reshape(-1, 3) for p in some])
    vivid = pixels[pixels.max(1).astype(int) - pixels.min(1) > _VIVID]
    weighted = np.concatenate([pixels, *[vivid] * _VIVID_WEIGHT])
    weighted = weighted[: len(weighted) // 256 * 256]
    return Image.fromarray(weighted.reshape(-1, 256, 3)).quantize(_COLOURS, method=Image.Quantize.MEDIANCUT)
