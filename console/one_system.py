"""One system for each ROS domain of this machine: two would drive the same topics.

A lock file says that a system runs here even while discovery has not heard of it yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from planweave.errors import PlanweaveError


def _path() -> Path:
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return folder / f"planweave-{os.getuid()}-domain-{domain}.lock"


@contextlib.contextmanager
def only_system(name: str) -> Iterator[None]:
    """Hold this domain for a system; raises PlanweaveError where another one that we started holds it."""
    with _path().open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise PlanweaveError(
                f"a system runs already in this ROS domain ({lock.read().strip() or 'unknown'}); end it first, or "
                "choose another domain: ROS_DOMAIN_ID=7 planweave …") from None
        lock.truncate(0)
        lock.write(f"{name}, process {os.getpid()}\n")
        lock.flush()
        yield


def runs_here() -> bool:
    """Whether a system that we started holds this domain now."""
    try:
        with _path().open("a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except OSError:
        return True
