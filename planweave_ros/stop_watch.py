"""Watchdog that stops the arm when executor_node no longer can: a separate process that cancels the controller's goals.

A FollowJointTrajectory goal runs to its end regardless of its sender, which ros2_control does not monitor. Therefore
executor_node starts `python -m planweave_ros.stop_watch SERVICE…` and writes to its standard input several times a
second whether it moves the arm. Where that ends (killed, crashed) or falls silent (stopped, hung) during a motion, all
goals are cancelled by these services (CancelGoal); at other times what moves is another client's. The watchdog ends
with executor_node, but ignores the signals that end it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import rclpy
from action_msgs.srv import CancelGoal
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from planweave_ros.action_port import CANCEL

BEAT = 0.1
"""Seconds between two signs of life."""
SILENCE = 1.0
"""Seconds without one after which the sender counts as gone."""
_UNREAD = 300  # signs of life, 30 s of them, more than it takes to start: with so many unread the watchdog hangs
_ANSWER = 1.0  # s for the controller to answer a cancel request, which is sent again until it does: one that has not
# discovered this process yet, or is busy, does not hear the first
_PERSISTENCE, _REMINDER = 600.0, 30.0  # s until it is given up, and between two lines in the log that say so
_IDLE, _MOVES, _FAREWELL = b".mq"


class StopWatch:
    """Starts the watchdog and sends it heartbeats.

    services: cancel services, fully qualified and after remapping (`planweave_ros.action_port.cancel_service`): the
    watchdog knows neither namespace nor rules. moves: whether the arm is moved by this process.
    """

    def __init__(self, services: Sequence[str], moves: Callable[[], bool] = lambda: True):
        self._moves, self._writing = moves, threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "planweave_ros.stop_watch", *services],
            stdin=subprocess.PIPE,
            env={**os.environ, **enclave_of(sys.argv)},
            start_new_session=True,
        )  # what ends this process group must not end it
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)  # where it hangs the pipe gets full
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="stop watch", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str:
        """The reason why the arm would not be stopped should this process die; else empty."""
        if self._process.poll() is None:
            if self._unread() <= _UNREAD:
                return ""
            return (
                f"the process that stops the arm should executor_node die (process {self._process.pid}) does not "
                "answer; start executor_node again"
            )
        return (
            f"the process that stops the arm should executor_node die has ended (exit code "
            f"{self._process.returncode}); start executor_node again"
        )

    def close(self) -> None:
        """Stop the watchdog; the arm is at rest already."""
        self._ended.set()
        self._thread.join(2 * BEAT + 1.0)
        self._write(lambda: _FAREWELL)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def beat(self) -> None:
        """Give a sign of life; at once where a motion is about to begin."""
        self._write(lambda: _MOVES if self._moves() else _IDLE)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT) and self._process.poll() is None:
            self.beat()

    def _unread(self) -> int:
        """The number of signs of life that the watchdog has not read."""
        if self._process.stdin is None or self._process.stdin.closed:
            return 0
        return int.from_bytes(fcntl.ioctl(self._process.stdin.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)

    def _write(self, sign: Callable[[], int]) -> None:
        if self._process.stdin is not None:
            with self._writing, contextlib.suppress(OSError, ValueError):
                os.write(self._process.stdin.fileno(), bytes([sign()]))


def enclave_of(arguments: Sequence[str]) -> dict[str, str]:
    """The environment that gives another process the SROS 2 enclave named among a node's arguments; empty without."""
    after = [value for option, value in pairwise(arguments) if option in ("-e", "--enclave")]
    return {"ROS_SECURITY_ENCLAVE_OVERRIDE": after[-1]} if after else {}


def main(services: Sequence[str]) -> int:
    """The process: watch standard input until it ends."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    quiet = Parameter("start_type_description_service", value=False)  # no enclave could name that service
    node = rclpy.create_node(f"stop_watch_{os.getpid()}", start_parameter_services=False, parameter_overrides=[quiet])
    clients = [node.create_client(CancelGoal, service) for service in services]
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    threading.Thread(target=executor.spin, daemon=True).start()

    names = ", ".join(service.removesuffix(CANCEL) for service in services)

    def stop(why: str) -> None:
        begun = said = time.monotonic()
        while time.monotonic() - begun < _PERSISTENCE:
            sent = [client.call_async(CancelGoal.Request()) for client in clients if client.service_is_ready()]
            end = time.monotonic() + _ANSWER
            while time.monotonic() < end and not (sent and all(future.done() for future in sent)):
                if not sent and any(client.service_is_ready() for client in clients):
                    break
                time.sleep(0.01)
            if sent and all(future.done() for future in sent):
                stopped = sum(len(future.result().goals_canceling) for future in sent)
                node.get_logger().error(f"executor_node {why}: {stopped} goals of {names} were cancelled")
                return
            if time.monotonic() - said > _REMINDER:
                said = time.monotonic()
                node.get_logger().error(f"executor_node {why}, and nobody answers on {names}: nothing is stopped yet")
        node.get_logger().error(f"executor_node {why}, and nobody answered on {names}: nothing was stopped")

    patience: float | None = None  # until the first sign of life
    moves = False
    while True:
        if not select.select([sys.stdin], [], [], patience)[0]:
            if moves:
                stop(f"has not been heard for {SILENCE:g} s")
            patience = None
            continue
        data = os.read(sys.stdin.fileno(), 4096)
        if not data and moves:
            stop("has died")
        if not data or _FAREWELL in data:
            return 0
        moves, patience = data[-1] == _MOVES, SILENCE


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # nothing is left to do, and the middleware's own end may wait
