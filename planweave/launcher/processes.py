"""Nodes as processes: start, monitoring, guaranteed termination."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from planweave.launcher.environment import ros_environment
from planweave.launcher.namespace import namespace

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Run in the child before exec: the kernel terminates it when the parent dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class NodeProcess:
    """One node running as `python -m <room>.node`; its output goes to a log file."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path):
        self.name, self.log, self._process = name, log, process

    @property
    def pid(self) -> int:
        """The process id, for tests that stop or kill it."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code; negative: ended by that signal; None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait(self, seconds: float) -> int | None:
        """The exit code once it ends, None where it still runs after ``seconds``."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        if self._process.poll() is None:
            self.signal(signal.SIGINT)

    def kill(self) -> None:
        """Send SIGKILL to the process group, including children that outlived the node."""
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def start_node(
    name: str,
    log: Path,
    *,
    parameter_files: Sequence[Path] = (),
    parameters: Mapping[str, object] | None = None,
    module: str = "",
    environment: Mapping[str, str] | None = None,
) -> NodeProcess:
    """Start a node and return at once; ``parameters`` take precedence over those of the files.

    name: folder of the node. The node gets the namespace of this process (namespace.py). ``module`` runs another module
    instead; ``environment`` extends this process's own. The kernel terminates the node with the thread that started it,
    so call this from a thread that persists. An existing log is appended to.
    """
    command = [sys.executable, "-m", module or f"{name}.node"]
    ros_arguments: list[str] = []
    for path in parameter_files:
        ros_arguments += ["--params-file", str(path)]
    for key, value in (parameters or {}).items():
        ros_arguments += ["-p", f"{key}:={json.dumps(value)}"]  # rcl reads YAML, of which JSON is a part
    if namespace():
        ros_arguments += ["-r", f"__ns:={namespace()}"]
    if ros_arguments:
        command += ["--ros-args", *ros_arguments]
    environment = {
        **ros_environment(os.environ, Path(sys.prefix)),
        "PYTHONUNBUFFERED": "1",
        **(environment or {}),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    return NodeProcess(name, process, log)


def stop_nodes(nodes: list[NodeProcess], patience: float = 5.0) -> list[str]:
    """Stop all nodes and their children; returns the names of those that had to be killed.

    Sends SIGINT, and SIGKILL to what still runs after ``patience`` seconds.
    """
    for node in nodes:
        node.interrupt()
    deadline = time.monotonic() + patience
    late = [node for node in nodes if node.wait(max(0.0, deadline - time.monotonic())) is None]
    for node in nodes:
        node.kill()
    for node in late:
        node.wait(5.0)
    return [node.name for node in late]
