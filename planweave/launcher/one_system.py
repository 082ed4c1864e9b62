"""One system per namespace of a ROS domain on this machine: two would publish on the same topics.

A lock file covers the time before discovery has found a running system.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from planweave.core.errors import PlanweaveError
from planweave.launcher.namespace import namespace


def _path() -> Path:
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return folder / f"planweave-{os.getuid()}-domain-{domain}{namespace().replace('/', '.')}.lock"


def _in_namespace() -> str:
    return f" and the namespace {namespace()}" if namespace() else ""


def _opened() -> TextIO:
    """Open or create the lock file; the folder may be world-writable, so that symbolic links and files of other users
    are rejected. Raises PlanweaveError.
    """
    path = _path()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PlanweaveError(f"the lock file {path} cannot be used ({error.strerror}); remove it") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_nlink != 1:
        os.close(descriptor)
        raise PlanweaveError(f"the lock file {path} is not a plain file of yours; remove it")
    return os.fdopen(descriptor, "r+", encoding="utf-8")


@contextlib.contextmanager
def only_system(name: str) -> Iterator[None]:
    """Hold the lock of this domain; raises PlanweaveError where another system of ours holds it."""
    with _opened() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise PlanweaveError(
                f"a system runs already in this ROS domain{_in_namespace()} ({lock.read().strip() or 'unknown'}); end "
                "it first, or choose another namespace (--namespace arm2) or domain: ROS_DOMAIN_ID=7 planweave …"
            ) from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"{name}, process {os.getpid()}\n")
        lock.flush()
        yield


def runs_here() -> bool:
    """Whether a system of ours holds the lock of this domain."""
    with _opened() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
