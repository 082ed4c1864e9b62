"""Cameras read by a thread of this process: devices, which may be unplugged, and recordings, which end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.decoding import FrameError

_PATIENCE = 10.0  # s for the thread to end; a device driver can take some of them
_AT_ONCE = 0.5  # s: first pause before a device is opened again; doubles up to
_AT_LAST = 8.0

FrameSource = Callable[[threading.Event], Iterator[Frame | FrameError]]
"""Opens a camera and gives its frames until it ends or the event is set; a frame that cannot be read is given as the
error that says why. Raises CameraError where the camera cannot be opened or gives no more; cleans up when closed."""


class ThreadedCamera:
    """Reads a source in a thread. `arrived` is called, in that thread, when a frame is available."""

    def __init__(self, source: FrameSource, arrived: Callable[[], None], image_timeout: float):
        """image_timeout: seconds without frames after which `complaint` reports it."""
        self._source, self._arrived, self._image_timeout = source, arrived, image_timeout
        self._lock = threading.Condition()
        self._newest: Frame | FrameError | None = None
        self._trouble = ""
        self._heard = time.monotonic()
        self._over = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="camera", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether a recording is over and its last frame was taken."""
        with self._lock:
            return self._over and self._newest is None

    def take(self) -> Frame | None:
        """The newest frame not taken yet, or None; raises FrameError where it could not be decoded."""
        with self._lock:
            newest, self._newest = self._newest, None
            self._lock.notify_all()
        if isinstance(newest, FrameError):
            raise newest
        return newest

    def complaint(self, now: float) -> str:
        """Why no frames arrive at time `now`, "" where they do."""
        with self._lock:
            if self._trouble or self._over or now - self._heard <= self._image_timeout:
                return self._trouble
        return f"no images for {self._image_timeout:g} s"

    def close(self) -> None:
        """Stop the thread and close the source."""
        self._closed.set()
        with self._lock:
            self._lock.notify_all()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        raise NotImplementedError

    def _read(self) -> None:
        """Read frames from the source until it ends; raises CameraError."""
        frames = self._source(self._closed)
        try:
            for frame in frames:
                if not self._keep(frame) or self._closed.is_set():
                    return
        except CameraError:
            raise
        except Exception as error:  # of a driver or a file reader, whose exceptions are not ours
            raise CameraError(f"reading images failed: {type(error).__name__}: {error}") from error
        finally:
            close = getattr(frames, "close", None)
            if close is not None:
                close()

    def _keep(self, frame: Frame | FrameError) -> bool:
        """Store a frame for `take`; False where the camera was closed meanwhile."""
        with self._lock:
            self._newest, self._trouble, self._heard = frame, "", time.monotonic()
        self._arrived()
        return True

    def _fail(self, error: CameraError) -> None:
        with self._lock:
            self._trouble = str(error)


class LiveCamera(ThreadedCamera):
    """A device: reopened, with growing delays, when it is missing or stops. New frames replace old ones."""

    def __init__(self, source: FrameSource, arrived: Callable[[], None], image_timeout: float, pause: float = _AT_ONCE):
        """pause: seconds before the first retry."""
        self._pause = pause
        super().__init__(source, arrived, image_timeout)

    def _run(self) -> None:
        pause = self._pause
        while not self._closed.is_set():
            begun = time.monotonic()
            try:
                self._read()
            except CameraError as error:
                self._fail(error)
            if self._heard > begun:
                pause = self._pause
            self._closed.wait(pause)
            pause = min(2 * pause, _AT_LAST)


class PacedRecording(ThreadedCamera):
    """A recording: each frame waits until it is taken, and is played no earlier than recorded. Ends, or loops."""

    def __init__(self, source: FrameSource, arrived: Callable[[], None], image_timeout: float, loop: bool):
        self._loop = loop
        self._start: tuple[int, float] | None = None  # stamp (ns) and time of the first frame of this round
        super().__init__(source, arrived, image_timeout)

    def _run(self) -> None:
        try:
            again = True
            while again and not self._closed.is_set():
                self._start = None
                self._read()
                again = self._loop
        except CameraError as error:
            self._fail(error)  # reading it again would fail again
        finally:
            with self._lock:
                self._over = not self._trouble
            self._arrived()

    def _keep(self, frame: Frame | FrameError) -> bool:
        if isinstance(frame, Frame):
            first, begun = self._start = self._start or (frame.nanoseconds, time.monotonic())
            self._closed.wait(max(0.0, begun + (frame.nanoseconds - first) * 1e-9 - time.monotonic()))
        with self._lock:
            self._lock.wait_for(lambda: self._newest is None or self._closed.is_set())
        return not self._closed.is_set() and super()._keep(frame)
