"""LIBERO's simulator from Planweave's side: a process in the environment of `planweave.libero.environment`.

Positions in metres in LIBERO's world frame, angles in rad; see `planweave.libero.truth` for the symbolic world.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.core.base.errors import SceneError, SystemDownError
from planweave.libero.environment import python

SERVER = Path(__file__).with_name("server.py")
START = 120.0  # s of wall time for a process or a scene on a busy machine
FILM = 300.0  # s of wall time for the pictures of a video
STEP = 5.0  # s of wall time for an action of 1/20 s
_MOTIONS = ("step", "move")
_LONGEST_LINE = 20_000_000  # bytes
_LINGER = 2.0  # s that a process has to end by itself
_LAST = 4000  # bytes of standard error that an error shows


@dataclass(frozen=True)
class LiberoTask:
    """A task as it was loaded. name: suite/task/initial state; goal: LIBERO's literals; inits: its initial states;
    geometry: see `planweave.libero.geometry`.
    """

    name: str
    language: str
    goal: tuple[tuple[str, ...], ...]
    inits: int
    state: Mapping[str, Any]
    geometry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LiberoVerdict:
    """Verdicts of LIBERO's checker since the task was loaded: after each step whether the goal holds.

    first: after how many steps it held for the first time; holds: after the last one; fault: why a step could not be
    carried out or judged.
    """

    steps: int = 0
    first: int | None = None
    holds: bool = False
    fault: str = ""


@dataclass(frozen=True)
class Steps:
    """Result of actions. count: since the task was loaded; success: LIBERO's checker says that the goal holds."""

    count: int
    success: bool
    state: Mapping[str, Any]


@dataclass(frozen=True)
class Moved:
    """Result of a motion of the joints. count and success as in `Steps`; arm: as `LiberoSimulator.arm` gives it."""

    count: int
    success: bool
    arm: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Picture:
    """Image pair. rgb: (h, w, 3) uint8; depth: (h, w) float32, m on the optical axis; fovy: vertical, degrees.

    position: (3,) m; rotation: (3, 3), columns: to the right, up and against the view, in LIBERO's world frame.
    """

    camera: str
    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    fovy: float
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]


class LiberoSimulator:
    """A simulator process; ended by `close`, or as a context manager. Calls of several threads wait for one another.

    command: starts the process, by default the server in LIBERO's own environment. Raises NotInstalledError. All
    methods raise SystemDownError where the process has died, or answers too late or unreadably (then it is ended), and
    SceneError with LIBERO's own words where it refuses. verdict: of LIBERO's checker so far.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command or [str(python()), "-u", str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={"MUJOCO_GL": "egl", **os.environ, "PYTHONPATH": ""},
        )
        self._buffer, self._lock = bytearray(), threading.Lock()
        self.verdict = LiberoVerdict()

    def __enter__(self) -> LiberoSimulator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def processor_seconds(self) -> float:
        """Processor time, user and system, that the process has used so far; 0 where the machine does not tell it."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, in proc(5)
        except (OSError, ValueError, IndexError):
            return 0.0

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has died
                self._process.stdin.close()
        self._end(_LINGER)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _end(self, seconds: float = 0.0) -> None:
        """Wait so long for the process to end by itself, then kill it; it is not alive afterwards."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def suites(self) -> Mapping[str, int]:
        """Names of the suites whose resources are there, with their numbers of tasks."""
        found: Mapping[str, int] = self._ask({"do": "suites"}, START)["suites"]
        return found

    def load(self, name: str, joints: bool = False) -> LiberoTask:
        """Load suite/task/initial state, e.g. libero_goal/3/0, and let things come to rest; seconds.

        joints: the arm is moved by `move`, with robosuite's controller of joint positions; else by `step`.
        """
        parts = name.split("/")
        if len(parts) not in (2, 3) or not all(p.isdigit() for p in parts[1:]):
            raise SceneError(f"{name!r} is no task of LIBERO; write suite/task/initial state, e.g. libero_goal/3/0")
        suite, task, init = parts[0], int(parts[1]), int(parts[2]) if len(parts) == 3 else 0
        found = self._ask({"do": "load", "suite": suite, "task": task, "init": init, "joints": joints}, START)
        self.verdict = LiberoVerdict()
        goal = tuple(tuple(row) for row in found["goal"])
        name = f"{suite}/{task}/{init}"
        return LiberoTask(name, found["language"], goal, found["inits"], found["state"], found["geometry"])

    def state(self) -> Mapping[str, Any]:
        """The true state for `planweave.libero.truth`; also `joints` (7, rad), `gripper` (2, m), `base` (m)."""
        found: Mapping[str, Any] = self._ask({"do": "state"}, STEP)["state"]
        return found

    def step(self, actions: Iterable[Sequence[float]]) -> Steps:
        """Carry out actions of LIBERO's controller OSC_POSE (20 Hz, 7 numbers from -1 to 1 each), to the first after
        which the goal holds.
        """
        rows = [[float(x) for x in action] for action in actions]
        if not all(len(row) == 7 and all(-1.0 <= x <= 1.0 for x in row) for row in rows):
            raise SceneError("an action of LIBERO is seven numbers from -1 to 1")
        found = self._ask({"do": "step", "actions": rows}, START + STEP * len(rows))
        return Steps(found["steps"], found["success"], found["state"])

    def move(self, goals: Iterable[Sequence[float]]) -> Moved:
        """Have the joints at each goal after 1/20 s: seven positions (rad) and the gripper, -1 opening, 1 closing, 0
        neither. LIBERO's checker is asked after each; `success` is its last answer.
        """
        rows = [[float(x) for x in goal] for goal in goals]
        if not rows or not all(len(row) == 8 and all(-7.0 <= x <= 7.0 for x in row) for row in rows):
            raise SceneError("a goal of the joints is seven angles in rad and one number for the gripper")
        found = self._ask({"do": "move", "goals": rows}, START + STEP * len(rows))
        return Moved(found["steps"], found["success"], found["arm"])

    def arm(self) -> Mapping[str, Any]:
        """`joints` (7, rad), `velocities` (7, rad/s), `gripper` (2 fingers, m), `speed` (theirs, m/s) as measured."""
        found: Mapping[str, Any] = self._ask({"do": "arm"}, STEP)["arm"]
        return found

    def capture(self, camera: str = "agentview", width: int = 256, height: int = 256) -> Picture:
        """A picture, its depth, and where its camera is."""
        found = self._ask({"do": "render", "camera": camera, "width": width, "height": height}, START)
        data, pixels, place = found["data"], width * height, found["camera"]
        rgb: NDArray[np.uint8] = np.frombuffer(data, np.uint8, pixels * 3).reshape(height, width, 3)
        depth: NDArray[np.float32] = np.frombuffer(data, np.float32, pixels, pixels * 3).reshape(height, width)
        turn = np.asarray(place["mat"], float).reshape(3, 3)
        return Picture(camera, rgb, depth, float(place["fovy"]), np.asarray(place["pos"], float), turn)

    def film(self, camera: str, width: int, height: int, most: int) -> list[NDArray[np.uint8]]:
        """Pictures (height x width x 3, RGB) of the task so far at even distances, at most this many."""
        found = self._ask({"do": "film", "camera": camera, "width": width, "height": height, "most": most}, FILM)
        pictures = np.frombuffer(found["data"], np.uint8).reshape(-1, height, width, 3)
        return list(pictures)

    def _ask(self, command: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        with self._lock:
            return self._asked(command, seconds)

    def _asked(self, command: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._read_line(deadline))
            if "bytes" in answer:
                answer["data"] = self._read(int(answer["bytes"]), deadline)
        except (OSError, ValueError) as error:
            self._end(_LINGER if isinstance(error, OSError) else 0.0)
            raise SystemDownError(self._died(f"answered nothing that can be read ({error})")) from None
        if "error" in answer:
            refusal = f"LIBERO refuses {command['do']}: {answer['error']}"
            if command["do"] in _MOTIONS:
                self.verdict = replace(self.verdict, fault=refusal)
            raise SceneError(refusal)
        if "success" in answer:
            self.verdict = LiberoVerdict(int(answer["steps"]), answer.get("first"), bool(answer["success"]))
        return answer

    def _read_line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            if len(self._buffer) > _LONGEST_LINE:
                raise ValueError("the line is too long")
            self._fill(deadline)
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _read(self, count: int, deadline: float) -> bytes:
        while len(self._buffer) < count:
            self._fill(deadline)
        data, self._buffer = bytes(self._buffer[:count]), self._buffer[count:]
        return data

    def _fill(self, deadline: float) -> None:
        """Read what there is; raises SystemDownError at the deadline, OSError at the end of the stream."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                self._end()
                raise SystemDownError(self._died("did not answer in time and was ended"))
        chunk = os.read(self._process.stdout.fileno(), 1 << 20)
        if not chunk:
            raise OSError("it has died")
        self._buffer += chunk

    def _died(self, what: str) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _LAST))
        last = self._errors.read().decode("utf-8", "replace").strip()
        return f"LIBERO's simulator {what}" + (f"; its last words:\n{last}" if last else "")
