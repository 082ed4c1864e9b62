"""The thread that owns a Simulator: runs it as fast as possible during a motion, else in real time.

At rest only the clock advances, and physics is not stepped.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

from planweave.core.base.errors import SystemDownError
from planweave.simulation.simulator import Simulator

T = TypeVar("T")

_CHUNK = 0.01  # simulated time between two looks at commands and clock, s
_REST = 0.3  # simulated time without movement after which physics is not stepped, s
_MAX_BEHIND = 0.25  # simulated time that is made up for after a delay, s


class Runner:
    """Steps a simulator in its own thread; all access to the simulator runs in that thread.

    on_state(simulator, motion_ended): called in that thread every ``1 / state_rate`` seconds of wall time, every ``1 /
    rest_rate`` at rest, and, with True, right after a commanded motion has ended. on_chunk(simulator): called after
    every 10 ms of simulated time in which physics was stepped; must be fast. on_error(text): physics became unstable
    and was reset.
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        real_time_factor: float = 0.0,
        state_rate: float = 50.0,
        rest_rate: float = 10.0,
        on_state: Callable[[Simulator, bool], None],
        on_chunk: Callable[[Simulator], None] = lambda _: None,
        on_error: Callable[[str], None] = lambda _: None,
    ):
        """real_time_factor 0: as fast as possible during a motion, else 1."""
        self._simulator, self._factor, self._period = simulator, real_time_factor, 1.0 / state_rate
        self._rest_period = max(1.0 / rest_rate, self._period)
        self._resting = False
        self._on_state, self._on_chunk, self._on_error = on_state, on_chunk, on_error
        self._commands: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="physics", daemon=True)

    def start(self) -> None:
        """Start stepping."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; returns when it has ended."""
        self._ended.set()
        self._commands.put((lambda: None, Future()))
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    def call(self, function: Callable[[Simulator], T], timeout: float = 5.0) -> T:
        """Run ``function(simulator)`` in the physics thread between two steps; returns its result or raises its
        exception.
        """
        future: Future[T] = Future()
        self._commands.put((lambda: function(self._simulator), future))
        try:
            return future.result(timeout)
        except FutureTimeout:
            raise SystemDownError(f"the physics thread did not answer in {timeout:g} s") from None
        except CancelledError:
            raise SystemDownError("the simulation ends") from None

    @property
    def resting(self) -> bool:
        """Whether physics is paused because everything is at rest. Any change of the state resumes it."""
        return self._resting

    def replace(self, simulator: Simulator) -> None:
        """Continue with another simulator, at the current simulated time of the present one."""

        def put(before: Simulator) -> None:
            simulator.go_on_from(before.time)
            self._simulator = simulator

        self.call(put)

    def _run(self) -> None:
        wall, simulated = time.monotonic(), self._simulator.time
        published, ended = 0.0, self._simulator.motions_ended
        current, rested = self._simulator, 0.0
        while not self._ended.is_set():
            self._serve()
            simulator = self._simulator
            if rested > _REST and simulator is current:
                self._rest(simulator)
                wall, simulated, published, rested = time.monotonic(), simulator.time, 0.0, 0.0
                continue
            if simulator is not current:
                current, ended, published, rested = simulator, simulator.motions_ended, 0.0, 0.0
                wall, simulated = time.monotonic(), simulator.time
            factor = self._factor or (0.0 if simulator.busy else 1.0)
            now = time.monotonic()
            if factor == 0.0:
                wall, simulated = now, simulator.time
            elif simulator.time - simulated > factor * (now - wall):
                if now - published >= self._period:
                    published = now
                    self._on_state(simulator, False)
                ahead = (simulator.time - simulated) / factor - (now - wall)
                self._serve(min(ahead, max(self._period - (now - published), 0.001)))
                continue
            elif factor * (now - wall) - (simulator.time - simulated) > _MAX_BEHIND:
                wall, simulated = now, simulator.time
            rested = rested + _CHUNK if simulator.at_rest else 0.0
            if self._advance(simulator) or simulator.motions_ended != ended:
                ended, published = simulator.motions_ended, now
                self._on_state(simulator, True)
            elif now - published >= self._period:
                published = now
                self._on_state(simulator, False)
        while not self._commands.empty():
            self._commands.get()[1].cancel()

    def _rest(self, simulator: Simulator) -> None:
        """Let time pass until a command, or any other change of the state."""
        state, factor, then = simulator.fingerprint(), self._factor or 1.0, time.monotonic()
        due = then
        self._resting = True
        try:
            while not self._ended.is_set():
                now = time.monotonic()
                simulator.pass_time(factor * (now - then))
                then = now
                if now >= due:
                    due = now + self._rest_period
                    self._on_state(simulator, False)
                self._serve(due - now)
                if self._simulator is not simulator or simulator.busy or simulator.fingerprint() != state:
                    return
        finally:
            self._resting = False

    def _advance(self, simulator: Simulator) -> bool:
        """Step 10 ms of physics, or less where a motion ends; returns whether one ended."""
        before = simulator.motions_ended
        for _ in range(max(1, round(_CHUNK / simulator.timestep))):
            simulator.step()
            if simulator.motions_ended != before:
                break
        if simulator.unstable:
            simulator.reset()
            self._on_error("physics became unstable and the scene was reset; objects may be pressed into each other")
        self._on_chunk(simulator)
        return simulator.motions_ended != before

    def _serve(self, patience: float = 0.0) -> None:
        """Run the pending calls; wait up to ``patience`` seconds for one."""
        try:
            command, future = self._commands.get(patience > 0, patience or None)
        except queue.Empty:
            return
        while True:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(command())
                except BaseException as error:
                    future.set_exception(error)
            try:
                command, future = self._commands.get_nowait()
            except queue.Empty:
                return
