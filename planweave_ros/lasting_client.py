"""The client of a process that outlives systems."""

from __future__ import annotations

import threading
from typing import Any

from planweave.launcher.one_system import domain_of_running
from planweave_ros.client import Client


class LastingClient:
    """A client of whichever system of this user runs: made anew where that is in another ROS domain than before. For a
    process that outlives systems. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._domain = -1

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.__exit__()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            found = domain_of_running()
            if self._client is None or found != self._domain:
                self.__exit__()
                self._client, self._domain = Client(found), found
            return getattr(self._client, name)
