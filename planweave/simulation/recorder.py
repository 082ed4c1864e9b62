"""Videos of an episode in side view. During a recording only states are stored; they are rendered when the machine is
idle.

A thread renders every 16th state, then every 8th, and so on: a coarse video is complete soon and is
refined as time permits; stopping a recording waits no longer than its time limit.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.simulation.mujoco_model import SIDE_CAMERA
from planweave.simulation.offscreen import OffscreenView, free_contexts
from planweave.simulation.simulator import Snapshot
from planweave.simulation.video_files import SUFFIXES, RecordingError, captioned, write_video

if TYPE_CHECKING:
    import mujoco

DEFAULT_RATE = 15.0  # states kept per second of simulated time
SPEED_UP = 1.5  # of the video over simulated time in motion
_SHORTEST = 4.0  # s of video, so that there is time to look
_COARSEST = 16
_STILL = 2e-4  # change of any position that counts as movement
_KEEP_STILL = 0.4  # simulated time of stillness that stays in the video, s


@dataclass(frozen=True)
class Video:
    """A written video. seconds: simulated time covered."""

    frames: int
    seconds: float
    files: tuple[Path, ...]


class VideoRecorder:
    """Stores states while recording and writes them as a video. Thread-safe."""

    def __init__(self, width: int = 800, height: int = 450, max_frames: int = 160, patience: float = 6.0):
        """patience: seconds that stopping may spend on rendering; where it is too short the video is coarser."""
        self._size, self._max_frames, self._patience = (width, height), max_frames, patience
        self._written: set[Path] = set()  # files of earlier recordings, which may be written again
        self._lock = threading.Condition()
        self._states: list[tuple[mujoco.MjModel, Snapshot]] = []
        self._images: dict[int, bytes] = {}
        self._recording = self._ended = False
        self._period, self._still_since = 1 / DEFAULT_RATE, math.inf
        self._thread: threading.Thread | None = None
        self._failure: str | None = None

    @property
    def recording(self) -> bool:
        """Whether a recording is in progress."""
        return self._recording

    def start(self, rate: float = 0.0) -> None:
        """Start a recording; rate: states per second of simulated time, 0 for the default. Raises RecordingError."""
        if not math.isfinite(rate) or rate < 0 or rate > 60:
            raise RecordingError(
                f"{rate:g} frames per second cannot be recorded; possible are 1 to 60, or 0 for {DEFAULT_RATE:g}"
            )
        with self._lock:
            self._states, self._images, self._failure = [], {}, None
            self._period, self._still_since = 1 / (rate or DEFAULT_RATE), math.inf
            self._recording = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._render, name="recorder", daemon=True)
                self._thread.start()

    def offer(self, model: mujoco.MjModel, snapshot: Snapshot) -> None:
        """Store the state if the next one is due and something moves. Cheap; called often."""
        if not self._recording:
            return
        with self._lock:
            if self._states:
                last_model, last = self._states[-1]
                if last_model is model:
                    if snapshot.time - last.time < self._period - 1e-6:
                        return
                    if np.abs(snapshot.qpos - last.qpos).max() < _STILL:
                        self._still_since = min(self._still_since, last.time)
                        if snapshot.time - self._still_since > _KEEP_STILL:
                            return
                    else:
                        self._still_since = math.inf
            self._states.append((model, snapshot))
            self._lock.notify_all()

    def due(self, now: float) -> bool:
        """Whether a state at simulated time ``now`` would be stored, to avoid needless copies."""
        return self._recording and (not self._states or now - self._states[-1][1].time >= self._period - 1e-6)

    def stop(self, path: str, last: tuple[mujoco.MjModel, Snapshot] | None = None, caption: str = "") -> Video:
        """End the recording and write it to ``path`` (.webm, .mp4 or .gif), with pictures of its first and last state.

        last: the current state, with which the video ends. caption: text below every frame. Raises RecordingError; the
        recording then continues.
        """
        target = _check_path(path)
        files = (target, *_pictures(target))
        for file in files:
            if os.path.lexists(file) and file not in self._written:
                raise RecordingError(
                    f"{file} is there already, and not of a recording of this node; remove it, or choose another name"
                )
        if not self._recording:
            raise RecordingError("nothing is being recorded; start a recording first (start: true)")
        with self._lock:
            self._recording = False
            if last is not None and not (self._states and self._states[-1][1].time >= last[1].time):
                self._states.append(last)
            states, images = self._states, self._images
        if not states:
            raise RecordingError("nothing was recorded: the simulation has not moved on since the recording began")
        indices = self._wait_for_frames(len(states))
        frames = [_decode(images[i]) for i in indices]
        seconds = states[-1][1].time - states[0][1].time
        rate = len(frames) / max(_SHORTEST, len(states) * self._period / SPEED_UP)
        _, before, after = files
        self._written.update(files)
        temporary = target.with_name(f".{target.stem}.part{target.suffix}")
        told = [captioned(frame, caption) for frame in frames] if caption else frames
        try:
            write_video(temporary, told, rate)
            os.replace(temporary, target)
            _write_png(before, frames[0])
            _write_png(after, frames[-1])
        except OSError as error:
            raise RecordingError(f"cannot write {target}: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            with self._lock:
                if self._states is states:
                    self._states, self._images = [], {}
        return Video(len(frames), seconds, (target, before, after))

    def close(self) -> None:
        """Discard everything and stop the thread."""
        with self._lock:
            self._ended, self._recording = True, False
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)

    def _wait_for_frames(self, count: int) -> list[int]:
        """Indices of the states in the video: as dense as the frame limit and the time limit allow."""
        deadline = time.monotonic() + self._patience
        finest = 1
        while count / finest > self._max_frames:
            finest *= 2
        hard = deadline + 60.0
        with self._lock:
            self._lock.notify_all()
            while True:
                if self._failure:
                    raise RecordingError(self._failure)
                stride = finest
                now = time.monotonic()
                while now > deadline and stride < _COARSEST and not self._complete(count, stride):
                    stride *= 2
                if self._complete(count, stride):
                    return _picked(count, stride)
                if now > hard or self._ended:
                    raise RecordingError(
                        f"rendering did not finish in {hard - deadline + self._patience:.0f} s; the machine is too busy"
                    )
                self._lock.wait(0.2)

    def _complete(self, count: int, stride: int) -> bool:
        return all(i in self._images for i in _picked(count, stride))

    def _next(self) -> int | None:
        """The state to render next: coarse ones first; the last one only once it is final."""
        count = len(self._states)
        for stride in (_COARSEST, 8, 4, 2, 1):
            if stride < _COARSEST and count / stride > self._max_frames:
                return None  # finer than any video of this length will be
            for i in _picked(count, stride) if not self._recording else range(0, count, stride):
                if i not in self._images:
                    return i
        return None

    def _render(self) -> None:
        """Thread function: renders missing states until none is left. As others wait for the interpreter while it runs,
        its priority must not be lower than theirs.
        """
        view: OffscreenView | None = None
        try:
            while True:
                with self._lock:
                    while (index := self._next()) is None and not self._ended:
                        self._lock.wait()
                    if self._ended or index is None:
                        return
                    (model, snapshot), images = self._states[index], self._images
                try:
                    if view is not None and view.model is not model:
                        view.close()
                        view = None
                    if view is None:
                        view = OffscreenView(model, SIDE_CAMERA, *self._size, shadows=True)
                    image = _encode(view.render(snapshot.qpos)[0])
                except Exception as error:
                    with self._lock:
                        self._failure, self._states, self._images = f"cannot render the video: {error}", [], {}
                        self._lock.notify_all()
                    continue
                with self._lock:
                    images[index] = image
                    self._lock.notify_all()
        finally:
            if view is not None:
                view.close()
            free_contexts()


def _picked(count: int, stride: int) -> list[int]:
    """Every stride-th state, and always the last one."""
    indices = list(range(0, count, stride))
    return indices if not count or indices[-1:] == [count - 1] else [*indices, count - 1]


def _pictures(target: Path) -> tuple[Path, Path]:
    """The pictures of the first and last state, beside the video."""
    return target.with_name(f"{target.stem}_before.png"), target.with_name(f"{target.stem}_after.png")


def _check_path(path: str) -> Path:
    if not 0 < len(path) <= 4000 or len(os.path.basename(path)) > 200 or "\0" in path:
        raise RecordingError(f"cannot write {path[:100]!r}: no file can have this name")
    target = Path(path).expanduser()
    if target.suffix not in SUFFIXES:
        raise RecordingError(f"cannot write {path!r}: the file name must end in .webm, .mp4 or .gif")
    if not target.parent.is_dir():
        raise RecordingError(f"cannot write {path!r}: there is no folder {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK):
        raise RecordingError(f"cannot write {path!r}: no permission to write into {target.parent}")
    return target


def _encode(image: np.ndarray) -> bytes:
    """Encode as JPEG: a minute of raw frames would not fit into memory."""
    import cv2

    encoded: Any = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])[1]
    return bytes(encoded.tobytes())


def _decode(data: bytes) -> np.ndarray:
    """(h, w, 3), BGR."""
    import cv2

    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR))


def _write_png(path: Path, frame: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(frame[:, :, ::-1]).save(path)
