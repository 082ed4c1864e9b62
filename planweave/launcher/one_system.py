"""One system per namespace of a ROS domain, and the domain in which a user's system runs.

A file locked by the process that started a system says so before discovery does, and names its domain. The kernel
releases the lock with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.launcher.domains import HIGHEST, VARIABLE, domain, is_named, participants, reserved
from planweave.launcher.environment import NETWORK, keep_to_this_machine
from planweave.launcher.namespace import checked, namespace

_GLANCE = 0.2  # s for which another process may hold a lock only to see whether somebody does


CHOOSE_ANOTHER = f"choose another namespace (--namespace arm2) or domain: {VARIABLE}=7 planweave …"
"""What to do beside ending the other system."""


class RunningError(PlanweaveError):
    """A system runs already where another was to be started, or several run where one is addressed."""

    code = "already_running"


@dataclass(frozen=True)
class Running:
    """A system of this user that is up, or is being started. lasting: it outlives the command that started it, which is
    `up` or ros2 launch, not `run`.
    """

    domain: int
    namespace: str = ""
    name: str = "a system"
    process: int = 0
    lasting: bool = True

    def __str__(self) -> str:
        inside = f", namespace {self.namespace}" if self.namespace else ""
        return f"{self.name} in ROS domain {self.domain}{inside} (process {self.process})"


def _folder() -> Path:
    """The same for all shells of a user, also those without XDG_RUNTIME_DIR."""
    usual = Path(f"/run/user/{os.getuid()}")
    return Path(os.environ.get("XDG_RUNTIME_DIR") or (usual if usual.is_dir() else tempfile.gettempdir()))


def _path(domain: int, namespace: str) -> Path:
    return _folder() / f"planweave-{os.getuid()}-domain-{domain}{namespace.replace('/', '.')}.lock"


def _opened(path: Path, create: bool = True) -> TextIO:
    """Open the lock file; the folder may be world-writable, so that symbolic links and files of other users are
    rejected. Raises ConfigError.
    """
    try:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ConfigError(f"the lock file {path} cannot be used ({error.strerror}); remove it") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_nlink != 1:
        os.close(descriptor)
        raise ConfigError(f"the lock file {path} is not a plain file of yours; remove it")
    return os.fdopen(descriptor, "r+", encoding="utf-8")


def _locked(lock: TextIO, kind: int, patience: float = 0.0) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)


def _held(path: Path, domain: int, namespace: str) -> Running | None:
    """The system that holds a lock file; None for none."""
    try:
        lock = _opened(path, create=False)
    except ConfigError:
        return None
    with lock:
        if _locked(lock, fcntl.LOCK_SH):
            return None
        try:
            told = json.loads(lock.read(4096))
            return Running(domain, namespace, str(told["name"])[:100], int(told["process"]), bool(told["lasting"]))
        except (ValueError, KeyError, TypeError):  # it has just been locked
            return Running(domain, namespace)


def running() -> list[Running]:
    """The systems of this user on this machine."""
    pattern = re.compile(rf"planweave-{os.getuid()}-domain-(\d+)((?:\.\w+)*)\.lock")
    found = []
    for path in sorted(_folder().glob(f"planweave-{os.getuid()}-domain-*.lock")):
        if parts := pattern.fullmatch(path.name):
            found.append(_held(path, int(parts[1]), parts[2].replace(".", "/")))
    return [one for one in found if one is not None]


def runs_here() -> Running | None:
    """The system of this user in this domain and namespace; None for none."""
    return _held(_path(domain(), namespace()), domain(), namespace())


@contextlib.contextmanager
def only_system(name: str, lasting: bool = True, inside: str | None = None) -> Iterator[None]:
    """Hold this domain and a namespace, by default that of this process; raises RunningError where another system of
    this user does.
    """
    inside = namespace() if inside is None else checked(inside)
    path = _path(domain(), inside)
    with _opened(path) as lock:
        if not _locked(lock, fcntl.LOCK_EX, _GLANCE):
            raise _refusal([_held(path, domain(), inside) or Running(domain(), inside)])
        lock.seek(0)
        lock.truncate()
        json.dump({"name": name, "process": os.getpid(), "lasting": lasting}, lock)
        lock.flush()
        yield


@contextlib.contextmanager
def own_domain(name: str, lasting: bool = False) -> Iterator[None]:
    """Hold a ROS domain in which nobody else is; this process and its children are in it meanwhile, and on this machine
    alone.

    The search begins with a number of this user, so that it is likely to be the same one next time. Raises
    PlanweaveError where none is free.
    """
    before = {name: os.environ.get(name) for name in (VARIABLE, *NETWORK)}
    try:
        for step in range(HIGHEST):
            tried = (7 * os.getuid() + 40 + step) % HIGHEST + 1  # never 0, where everybody else is
            if participants(tried) or any(one.domain == tried for one in running()):
                continue
            os.environ[VARIABLE] = str(tried)
            with contextlib.ExitStack() as stack:
                # Between this look and the first participant of ours others look, too.
                if not stack.enter_context(reserved(tried)) or participants(tried):
                    continue
                try:
                    stack.enter_context(only_system(name, lasting))
                except PlanweaveError:
                    continue
                keep_to_this_machine()
                yield
                return
        raise RunningError(f"all ROS domains from 1 to {HIGHEST} are in use; choose one: {VARIABLE}=7 planweave …")
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value


@contextlib.contextmanager
def held_domain(name: str, alone: bool, lasting: bool) -> Iterator[bool]:
    """Hold the domain in which a system is to be started; gives whether nobody else was in it.

    alone: whether the system needs nothing else in its domain; then it gets one of its own, unless it lasts and the
    user has named one. Raises RunningError where a command without ROS_DOMAIN_ID would then find two systems.
    """
    if lasting and not is_named() and (others := _lasting()):
        raise _refusal(others)
    if alone and not (lasting and is_named()):
        with own_domain(name, lasting):
            yield True
    else:
        with only_system(name, lasting):
            yield False


def domain_of_running(temporary: bool = True) -> int:
    """The domain of the system that this user's commands address: the one that the user has named, else that of the
    running system in this namespace, else 0.

    temporary: also of one that ends with the command that started it, where no other runs. Raises RunningError where
    several run.
    """
    if is_named():
        return domain()
    found = _lasting() or ([one for one in running() if one.namespace == namespace()] if temporary else [])
    if len(found) > 1:
        raise RunningError(
            f"{len(found)} systems run: {_listed(found)}; say which one: {VARIABLE}={found[0].domain} planweave …"
        )
    return found[0].domain if found else domain()


def join(temporary: bool = True) -> None:
    """Set the domain of the running system for this process and its children; see `domain_of_running`."""
    if found := domain_of_running(temporary):
        os.environ[VARIABLE] = str(found)


def elsewhere() -> str:
    """Other domains in which systems of this user run, as the end of a message; empty for none."""
    others = [one for one in running() if (one.domain, one.namespace) != (domain(), namespace())]
    return f". Not here, but running: {_listed(others)}" if others else ""


def _lasting() -> list[Running]:
    return [one for one in running() if one.lasting and one.namespace == namespace()]


def _listed(systems: list[Running]) -> str:
    return ", ".join(map(str, systems))


def _refusal(systems: list[Running]) -> RunningError:
    return RunningError(f"already running: {_listed(systems)}; end it first, or {CHOOSE_ANOTHER}")


def main() -> int:
    """Print the domain that `planweave` uses in this shell, for programs that are not Planweave's, as ros2."""
    try:
        print(domain_of_running())
    except PlanweaveError as error:
        print(f"planweave: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
