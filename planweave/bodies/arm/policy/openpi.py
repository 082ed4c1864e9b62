"""A client of openpi's policy server: msgpack with NumPy arrays over a websocket.

The server sends its metadata once, then answers each observation with a map that has the actions; a text is its error
(openpi, packages/openpi-client). What comes in is data: numbers of a declared shape, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import ClientConnection, connect

from planweave.bodies.arm.policy.contract import Contract
from planweave.core.base.errors import PlanweaveError

KEY = "PLANWEAVE_POLICY_KEY"
_OPENING = 5.0  # s of wall time for the connection, and for the server's greeting
_SLICE = 0.1  # a cancel is heard within this time while waiting, s of wall time
_LARGEST = 2**24  # of a reply, bytes


class PolicyError(PlanweaveError):
    """A policy's server gave no usable answer; code: unreachable, protocol, late, gone, server_error or actions."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class OpenpiClient:
    """One connection, opened by the first request and again after a failure. check: raises where waiting must end."""

    def __init__(self, contract: Contract, check: Callable[[], None]) -> None:
        self._contract, self.check = contract, check
        self._socket: ClientConnection | None = None
        self._answered = False

    def infer(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """The actions (chunk, width) for an observation; raises PolicyError, after which the connection is closed."""
        try:
            socket = self._socket or self._open()
            self._socket = socket
            socket.send(pack(observation))
            contract = self._contract
            seconds = contract.reply_seconds if self._answered else contract.first_reply_seconds
            actions = read_actions(contract, _decoded(self._receive(socket, seconds)))
            self._answered = True
            return actions
        except (WebSocketException, OSError, EOFError) as error:
            self.close()
            raise PolicyError("gone", f"the policy's server closed the connection: {_told(error)}") from None
        except BaseException:
            self.close()  # a late reply would be taken for the next one
            raise

    def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(Exception):
                socket.close()

    def _open(self) -> ClientConnection:
        server, opened = self._contract.server, Future[ClientConnection]()
        threading.Thread(target=_connect, args=(server, opened), name="policy", daemon=True).start()
        try:
            self._wait(opened)
            socket = opened.result()
        except InvalidHandshake as error:
            raise PolicyError("protocol", f"{server} is no policy server: {_told(error)}") from None
        except (WebSocketException, OSError, EOFError) as error:
            raise PolicyError(
                "unreachable",
                f"no policy server answers at {server} ({_told(error)}): is openpi's serve_policy.py running there?",
            ) from None
        self._socket = socket
        if not isinstance(_decoded(self._receive(socket, _OPENING)), dict):
            raise PolicyError("protocol", f"{server} greets with no metadata: it does not speak openpi's protocol")
        return socket

    def _wait(self, opened: Future[ClientConnection]) -> None:
        """Wait until the thread has opened the connection, or found none; what comes after an abort is closed."""
        try:
            while not wait([opened], _SLICE).done:
                self.check()
        except BaseException:
            if not opened.cancel():  # it came just now
                with contextlib.suppress(Exception):
                    opened.result().close()
            raise

    def _receive(self, socket: ClientConnection, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while True:
            self.check()
            left = end - time.monotonic()
            if left <= 0:
                raise PolicyError("late", f"the policy did not answer within {seconds:g} s")
            try:
                message = socket.recv(timeout=min(left, _SLICE))
            except TimeoutError:
                continue
            if isinstance(message, str):
                last = message.strip().splitlines()[-1:] or [""]
                raise PolicyError("server_error", f"the policy's server reports an error: {last[0][:200]}")
            return message


def _connect(server: str, opened: Future[ClientConnection]) -> None:
    """Open a connection; closes it where nobody waits for it any more."""
    key = os.environ.get(KEY, "")
    headers = {"Authorization": f"Api-Key {key}"} if key else None
    try:
        socket = connect(
            server, compression=None, max_size=_LARGEST, open_timeout=_OPENING, close_timeout=_SLICE,
            additional_headers=headers,
        )  # fmt: skip
    except Exception as error:
        if opened.set_running_or_notify_cancel():
            opened.set_exception(error)
        return
    if opened.set_running_or_notify_cancel():
        opened.set_result(socket)
    else:
        socket.close()


def pack(value: Any) -> bytes:
    """msgpack as openpi writes it: an array is a map of dtype, shape and data, with keys of bytes."""
    return msgspec.msgpack.encode(value, enc_hook=_array_to_map)


def _array_to_map(value: Any) -> dict[bytes, Any]:
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        return {b"__ndarray__": True, b"data": data.tobytes(), b"dtype": data.dtype.str, b"shape": data.shape}
    raise NotImplementedError(f"{type(value).__name__} cannot be sent to a policy")


def unpack(data: bytes) -> Any:
    """The value of a message; raises PolicyError where it is none, or an array in it is not what it says."""
    return _arrays(_decoded(data))


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise PolicyError("protocol", f"the policy's server does not send msgpack: {error}") from None


def _arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if b"__ndarray__" not in value:
        return {key: _arrays(each) for key, each in value.items()}
    try:
        data, shape = bytes(value[b"data"]), tuple(int(n) for n in value[b"shape"])
        dtype = np.dtype(str(value[b"dtype"]))
        if dtype.kind not in "fiub" or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(f"{len(data)} bytes are no array {shape} of {dtype}")
        return np.frombuffer(data, dtype).reshape(shape)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise PolicyError("protocol", f"the policy's server sends a malformed array: {error}") from None


def read_actions(contract: Contract, reply: Any) -> NDArray[np.float64]:
    """The rows of actions in a decoded reply, as declared; raises PolicyError."""
    key = contract.actions
    if not isinstance(reply, dict) or key not in reply:
        keys = ", ".join(sorted(map(str, reply))) if isinstance(reply, dict) else type(reply).__name__
        raise PolicyError("protocol", f"the policy's reply has no {key!r} (it has: {keys[:200]})")
    actions = _arrays(reply[key])
    if not isinstance(actions, np.ndarray) or actions.shape != (contract.chunk, contract.width):
        shape = getattr(actions, "shape", type(actions).__name__)
        raise PolicyError(
            "actions", f"the policy's actions are {shape}, its contract says ({contract.chunk}, {contract.width})"
        )
    if not np.isfinite(actions).all():
        raise PolicyError("actions", "the policy's actions have values that are no finite numbers")
    return actions.astype(np.float64)


def _told(error: BaseException) -> str:
    return str(error) or type(error).__name__
