"""Client of VirtualHome in Unity: wire format, timeouts, and failure reasons.

Unity handles one request at a time, ``POST /`` with ``{"id", "action", "intParams", "stringParams"}``, and answers
``{"id", "success", "message", "value", "message_list"}``. It continues a request that its client has abandoned, so that
the next one may find it busy.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from planweave.bodies.home.graph import Graph, read_graph
from planweave.core.base.errors import ActionFailureError, ConfigError, SceneError
from planweave.core.base.failure import Code

_PAUSE = 0.25  # s between attempts while Unity is busy
_CHARACTER = "Chars/Male2"
_LARGEST = 64 * 1024 * 1024  # bytes of one reply


class UnityError(ActionFailureError):
    """Unity cannot be used; the message says why and what to do."""

    def __init__(self, message: str, code: Code = Code.CONTROL_FAILED):
        super().__init__(message, code)


@dataclass(frozen=True)
class UnityReply:
    success: bool
    message: str


class UnityClient:
    """Client of one Unity process. url such as ``http://127.0.0.1:8080``; timeout: seconds per request.

    stopped: polled while waiting; true ends the wait with a UnityError of the code CANCELED.
    """

    def __init__(self, url: str, timeout: float = 60.0):
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ConfigError(f"unity url {url!r}: expected the form http://127.0.0.1:8080")
        self.url, self._host, self._port = url, parts.hostname, parts.port or 8080
        self._timeout = timeout
        self._ids = itertools.count()

    def post(
        self,
        action: str,
        ints: Sequence[int] = (),
        strings: Sequence[str] = (),
        timeout: float = 0.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> UnityReply:
        """Send one request; waits while Unity is busy with an earlier one.

        Raises UnityError, at the latest at the deadline.
        """
        seconds = timeout or self._timeout
        deadline = time.monotonic() + seconds
        body: dict[str, Any] = {"id": f"{time.time()}.{next(self._ids)}", "action": action}
        if ints:
            body["intParams"] = list(ints)
        if strings:
            body["stringParams"] = list(strings)
        payload = json.dumps(body).encode()
        while True:
            if stopped():
                raise self._cancelled(action)
            status, text = self._exchange(action, payload, deadline, seconds, stopped)
            if status != 429:
                return self._reply(action, status, text)
            if time.monotonic() + _PAUSE >= deadline:
                raise UnityError(
                    f"Unity at {self.url} is still busy with an earlier request after {seconds:g} s (429 Busy); "
                    "give it time, or restart it",
                    Code.TIMEOUT,
                )
            time.sleep(_PAUSE)

    @staticmethod
    def _cancelled(action: str) -> UnityError:
        return UnityError(f"cancelled while Unity was asked to {action}; it may still be working on it", Code.CANCELED)

    def _exchange(
        self, action: str, payload: bytes, deadline: float, seconds: float, stopped: Callable[[], bool]
    ) -> tuple[int, str]:
        """Send and receive within the deadline, also from a server that sends single bytes slowly."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=max(0.05, deadline - time.monotonic()))
        answer: Future[tuple[int, bytes]] = Future()
        try:
            connection.connect()
            sock = connection.sock
            threading.Thread(target=_answer, args=(connection, payload, answer), name="unity", daemon=True).start()
            try:
                while not wait([answer], 0.1).done:
                    if stopped():
                        raise self._cancelled(action)
                    if time.monotonic() >= deadline:
                        raise TimeoutError
            finally:
                with contextlib.suppress(OSError):  # ends the thread
                    sock.shutdown(socket.SHUT_RDWR)
            status, raw = answer.result()
            if len(raw) > _LARGEST:
                raise UnityError(f"Unity at {self.url} sent more than {_LARGEST >> 20} MiB in answer to {action}")
            return status, raw.decode("utf-8", "replace")
        except (http.client.HTTPException, ValueError) as error:
            when = (
                "without an answer"
                if isinstance(error, http.client.RemoteDisconnected)
                else "in the middle of its answer"
            )
            raise UnityError(
                f"Unity at {self.url} closed the connection {when} to {action!r} ({type(error).__name__}); it may "
                "have crashed: look at its window or log, and restart it"
            ) from None
        except TimeoutError:
            raise UnityError(
                f"Unity at {self.url} did not answer {action!r} in {seconds:g} s; it may still be working on it: wait, "
                "look whether its window reacts, or restart it",
                Code.TIMEOUT,
            ) from None
        except ConnectionRefusedError:
            raise UnityError(
                f"nothing listens at {self.url}: start VirtualHome's Unity program with -http-port={self._port}, "
                "or use the built-in simulator (parameter backend: simulator)"
            ) from None
        except OSError as error:
            raise UnityError(
                f"the connection to Unity at {self.url} broke during {action!r}: {error}; has it crashed?"
            ) from None
        finally:
            connection.close()

    def _reply(self, action: str, status: int, text: str) -> UnityReply:
        if status == 408:
            raise UnityError(
                f"Unity gave up on {action!r} itself (408 Timeout); restart it if that stays so", Code.TIMEOUT
            )
        if status != 200:
            told = text.strip()[:200] or "nothing"
            raise UnityError(f"Unity at {self.url} answered {action!r} with HTTP {status}: {told}")
        try:
            data = json.loads(text)
            success, message = bool(data["success"]), data.get("message", "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UnityError(
                f"what listens at {self.url} does not answer as VirtualHome does ({text.strip()[:80]!r}); "
                "is it another program's port?"
            ) from None
        return UnityReply(success, message if isinstance(message, str) else json.dumps(message))

    def health(self, timeout: float = 5.0) -> None:
        """Check that Unity is reachable and idle; raises UnityError that says what is wrong."""
        reply = self.post("idle", timeout=timeout)
        if not reply.success:
            raise UnityError(f"Unity at {self.url} says that it is not ready: {reply.message[:200]}")

    def reset(self, environment: int = 0) -> None:
        """Load an environment and add a character."""
        self._must(self.post("clear"), "clear")
        self._must(self.post("environment", [environment]), f"load environment {environment}")
        place = {"character_resource": _CHARACTER, "initial_room": "", "position": None, "mode": "random"}
        self._must(self.post("add_character", strings=[json.dumps(place)]), f"add the character {_CHARACTER}")

    def graph(self) -> Graph:
        reply = self.post("environment_graph")
        self._must(reply, "give its graph")
        try:
            return read_graph(reply.message, "Unity's graph")
        except SceneError as error:
            raise UnityError(f"Unity gave a graph that cannot be used: {error}") from None

    def run_line(
        self, line: str, timeout: float = 0.0, animate: bool = True, stopped: Callable[[], bool] = lambda: False
    ) -> str:
        """Execute one script line with the first character; returns the reason of its failure, empty for success."""
        settings = {
            "randomize_execution": False,
            "random_seed": -1,
            "processing_time_limit": 10,
            "skip_execution": not animate,
            "find_solution": False,
            "output_folder": "Output/",
            "file_name_prefix": "script",
            "frame_rate": 5,
            "image_synthesis": [],
            "save_pose_data": False,
            "image_width": 640,
            "image_height": 480,
            "recording": False,
            "save_scene_states": False,
            "camera_mode": ["AUTO"],
            "time_scale": 1.0,
            "skip_animation": not animate,
        }
        reply = self.post("render_script", strings=[json.dumps(settings), line], timeout=timeout, stopped=stopped)
        return failure_of(reply)

    @staticmethod
    def _must(reply: UnityReply, what: str) -> None:
        if not reply.success:
            raise UnityError(f"Unity could not {what}: {failure_of(reply) or 'it gave no reason'}")


def failure_of(reply: UnityReply) -> str:
    """Why the first character's action failed, from a reply; empty for success.

    With several characters ``success`` is true if any of them succeeded, so that the message of each one takes
    precedence.
    """
    try:
        told = json.loads(reply.message)
    except ValueError:
        told = None
    if isinstance(told, dict) and "0" in told:
        own = told["0"]
        message = str(own.get("message", "")) if isinstance(own, dict) else str(own)
        return "" if message.strip() == "Success" else _tidy(message) or "Unity gave no reason"
    if reply.success:
        return ""
    return _tidy(reply.message) or "Unity gave no reason"


def _tidy(text: str) -> str:
    return " ".join(text.split())[:2000]


def _answer(connection: http.client.HTTPConnection, payload: bytes, answer: Future[tuple[int, bytes]]) -> None:
    """Send a request and receive its status and body; http.client waits anew for every line, so not past a deadline."""
    try:
        connection.request("POST", "/", payload, {"Content-Type": "application/json"})
        response = connection.getresponse()
        raw = response.read(_LARGEST + 1)
        if response.length and len(raw) <= _LARGEST:
            raise http.client.IncompleteRead(raw, response.length)
        answer.set_result((response.status, raw))
    except Exception as error:
        answer.set_exception(error)
