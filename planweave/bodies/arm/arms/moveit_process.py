"""MoveIt in a separate process; without ROS.

moveit_py holds Python's GIL while it plans, which would block every callback of its node, cancelling included (moveit2,
branch jazzy, moveit_py 2.12: `plan` has no gil_scoped_release, `execute` has). It therefore runs in a child: `python -m
planweave_ros.moveit_server`. Both sides write one JSON object per line; a request has an id, which its answer repeats.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from planweave.bodies.arm.failures import SkillFailureError
from planweave.core.base.failure import Code

SERVER = (sys.executable, "-m", "planweave_ros.moveit_server")
Answer = Callable[[dict[str, Any]], None]
_PIPE = 1 << 20  # bytes
_TICK = 0.05  # s between two looks whether the skill was cancelled


class MoveItProcess:
    """Starts the child on first use, and again after it ended.

    config: a folder like config/moveit. namespace: of MoveIt's node; robot: name or path of its
    description. patience: wall seconds until the child has loaded
    the robot's model.
    """

    def __init__(
        self,
        config: str,
        use_sim_time: bool = False,
        patience: float = 60.0,
        command: Sequence[str] = SERVER,
        namespace: str = "",
        robot: str = "",
    ):
        self._command = [
            *command,
            config,
            *(["--use-sim-time"] if use_sim_time else []),
            *(["--namespace", namespace] if namespace.strip("/") else []),
            *(["--robot", robot] if robot else []),
        ]
        self._patience, self._namespace = patience, namespace.rstrip("/")
        self._lock = threading.RLock()
        self._child: subprocess.Popen[bytes] | None = None
        self._ready = threading.Event()
        self._last_words = ""
        self._ended = True  # nothing comes from the child any more
        self._waiting: dict[int, Answer] = {}
        self._next = 1

    def request(self, message: dict[str, Any], seconds: float, check: Callable[[], None]) -> dict[str, Any]:
        """Send a request and wait for its answer; `check` raises when the skill is over.

        Raises SkillFailureError (CONTROL_FAILED) where the child ends, or does not answer in time: then it is killed.
        """
        answered = threading.Event()
        box: list[dict[str, Any]] = []

        def take(answer: dict[str, Any]) -> None:
            box.append(answer)
            answered.set()

        self._await_ready(check)
        self.send(message, take)
        end = time.monotonic() + seconds
        while not answered.wait(_TICK):
            check()
            if time.monotonic() > end:
                self.close()
                raise SkillFailureError(
                    Code.CONTROL_FAILED,
                    f"MoveIt did not answer within {seconds:g} s; its process was ended and will be started anew",
                )
        return box[0]

    def send(self, message: dict[str, Any], take: Answer) -> None:
        """Send a request; `take` is called with its answer from another thread, with `gone` where the child is not
        available.
        """
        with self._lock:
            number = self._next
            self._next += 1
            child = self._child
            working = self._ready.is_set() and not self._ended and not self._last_words
            if working and child is not None and child.stdin is not None:
                self._waiting[number] = take
                with contextlib.suppress(OSError):
                    child.stdin.write((json.dumps({"id": number, **message}) + "\n").encode())
                    child.stdin.flush()
                    return
                self._waiting.pop(number, None)
        take(self._gone())

    def stop(self) -> None:
        """Stop the current and all requested executions."""
        with self._lock:
            if self._child is not None and self._ready.is_set():
                self.send({"do": "stop"}, lambda answer: None)

    def start(self) -> None:
        """Start the child if it does not run; returns at once."""
        with self._lock:
            if not self._ended:
                return
            self.close()
            self._ready = threading.Event()
            self._last_words, self._ended = "", False
            reading, writing = os.pipe()
            self._child = subprocess.Popen(
                [*self._command, "--replies", str(writing)], stdin=subprocess.PIPE, pass_fds=[writing]
            )
            os.close(writing)
            if self._child.stdin is not None:  # a write must never wait for a child that plans
                fcntl.fcntl(self._child.stdin, fcntl.F_SETPIPE_SZ, _PIPE)
            threading.Thread(
                target=self._listen, args=(reading, self._child, self._ready), name="moveit answers", daemon=True
            ).start()

    def close(self) -> None:
        """Terminate the child."""
        with self._lock:
            child, self._child, self._ended = self._child, None, True
        if child is not None:
            child.kill()
            child.wait(5.0)
            if child.stdin is not None:
                with contextlib.suppress(OSError):
                    child.stdin.close()

    def _await_ready(self, check: Callable[[], None]) -> None:
        self.start()
        with self._lock:
            ready = self._ready
        end = time.monotonic() + self._patience
        while not ready.wait(_TICK):
            check()
            if time.monotonic() > end:
                self.close()
                raise SkillFailureError(
                    Code.CONTROL_FAILED,
                    f"MoveIt was not ready within {self._patience:g} s: does robot_state_publisher publish "
                    f"{self._namespace}/robot_description, and does someone publish {self._namespace}/joint_states?",
                )
        if self._ended or self._last_words:
            raise SkillFailureError(Code.CONTROL_FAILED, self._gone()["text"])

    def _listen(self, reading: int, child: subprocess.Popen[bytes], ready: threading.Event) -> None:
        with os.fdopen(reading, "r", errors="replace") as lines:
            for line in lines:
                try:
                    answer = json.loads(line)
                except ValueError:
                    continue
                if "error" in answer:
                    self._last_words = str(answer["error"])
                if "ready" in answer or "error" in answer:
                    ready.set()
                    continue
                with self._lock:
                    take = self._waiting.pop(int(answer.get("id", 0)), None)
                if take is not None:
                    take(answer)
        with self._lock:
            left = []
            if self._child is child or self._child is None:
                self._ended = True
                left = list(self._waiting.values())
                self._waiting.clear()
        ready.set()
        for take in left:
            take(self._gone())

    def _gone(self) -> dict[str, Any]:
        if not self._ready.is_set():
            return {"gone": True, "text": "MoveIt is still starting"}
        words = f": {self._last_words}" if self._last_words else " (its messages are in the node's log)"
        return {"gone": True, "text": f"MoveIt's process has ended{words}"}
