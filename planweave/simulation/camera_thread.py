"""The thread that owns the cameras' GL contexts. It renders copies of states, newest first, without blocking
physics.

An unchanged state is rendered a few times, each with its own noise; after that the last image is republished with a new
stamp, which is correct, since the state is the simulator's own. Now and then it is rendered once more, lest what one
image happens to show ill is all that is ever seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.simulation.camera import OverheadCamera, RgbdFrame
from planweave.simulation.offscreen import free_contexts
from planweave.simulation.simulator import Snapshot

if TYPE_CHECKING:
    import mujoco

START_TIMEOUT = 30.0  # s
_ONCE_MORE = 2.5, 5.0, 10.0, 20.0, 40.0, 60.0  # s until a state at rest is rendered again, one pause after the other
LOOKS = 12  # images of one state with noise of their own, so that what tracks objects can settle


class CameraThread:
    """Renders on request; a newer request replaces a pending one."""

    def __init__(
        self,
        make: Callable[[mujoco.MjModel], Sequence[OverheadCamera]],
        on_frames: Callable[[Sequence[RgbdFrame]], None],
        on_error: Callable[[str], None],
    ):
        """make: creates the cameras of a model, in the thread. on_frames (an image of each, of one state) and on_error
        are called in the thread.
        """
        self._make, self._on_frames, self._on_error = make, on_frames, on_error
        self._wake = threading.Condition()
        self._model: tuple[mujoco.MjModel, Future[None]] | None = None
        self._current: mujoco.MjModel | None = None
        self._request: Snapshot | None = None
        self._still: Sequence[RgbdFrame] = ()  # the newest images, and the state that they show
        self._shown: np.ndarray | None = None
        self._looks = 0  # images rendered of that state
        self._rendered = 0.0  # time.monotonic() of the last one
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="camera", daemon=True)
        self._thread.start()

    def use(self, model: mujoco.MjModel) -> None:
        """Render this model from now on and drop a pending request.

        Raises ConfigError where rendering is not possible.
        """
        done: Future[None] = Future()
        with self._wake:
            self._model, self._request, self._current = (model, done), None, model
            self._wake.notify()
        try:
            done.result(START_TIMEOUT)
        except FutureTimeout:
            raise ConfigError(
                f"the camera did not start in {START_TIMEOUT:g} s: OpenGL hangs; try MUJOCO_GL=osmesa"
            ) from None

    def request(self, model: mujoco.MjModel, snapshot: Snapshot) -> None:
        """Render this state as soon as the thread is free; states of a model that is not in use are ignored."""
        with self._wake:
            if model is self._current:
                self._request = snapshot
                self._wake.notify()

    def look_anew(self) -> None:
        """Render again, with new noise, also a state rendered often enough."""
        self._looks = 0

    @property
    def settled(self) -> bool:
        """Whether the state of the last image was rendered often enough that its image is republished."""
        return self._looks >= LOOKS

    def close(self) -> None:
        """Stop the thread and free its GL context."""
        with self._wake:
            self._ended = True
            self._wake.notify()
        self._thread.join(5.0)

    def _run(self) -> None:
        cameras: Sequence[OverheadCamera] = ()
        try:
            while True:
                with self._wake:
                    self._wake.wait_for(lambda: self._ended or self._model or self._request)
                    if self._ended:
                        return
                    change, self._model = self._model, None
                    request, self._request = self._request, None
                if change is not None:
                    cameras = self._change(cameras, *change)
                elif request is not None and cameras:
                    try:
                        self._on_frames(self._images(cameras, request))
                    except Exception as error:
                        self._on_error(f"the cameras failed: {error}")
        finally:
            for camera in cameras:
                camera.close()
            free_contexts()

    def _images(self, cameras: Sequence[OverheadCamera], state: Snapshot) -> Sequence[RgbdFrame]:
        """Images of a state; the last ones with a new stamp where they show the same and it was rendered often
        enough.
        """
        if self._shown is None or not np.array_equal(self._shown, state.qpos):
            self._looks, self._shown = 0, state.qpos
        elif self._looks >= LOOKS and self._still and time.monotonic() < self._rendered + self._pause():
            return [replace(still, time=state.time) for still in self._still]
        self._still = [camera.render(state.time, state.qpos) for camera in cameras]
        self._looks, self._rendered = self._looks + 1, time.monotonic()
        return self._still

    def _pause(self) -> float:
        """Seconds after which a state that was rendered often enough is rendered once more."""
        return _ONCE_MORE[min(self._looks - LOOKS, len(_ONCE_MORE) - 1)]

    def _change(
        self, cameras: Sequence[OverheadCamera], model: mujoco.MjModel, done: Future[None]
    ) -> Sequence[OverheadCamera]:
        self._shown, self._still, self._looks = None, (), 0
        for camera in cameras:
            camera.close()
        try:
            cameras = self._make(model)
        except Exception as error:
            done.set_exception(error)
            return ()
        done.set_result(None)
        return cameras
