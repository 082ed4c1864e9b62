"""Running a node as a process: spin until a signal arrives, stop its work while ROS still works, then clean up."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.base.memory import give_back_memory, use_one_heap
from planweave.launcher.environment import refuse_old_ros
from planweave.launcher.namespace import namespace
from planweave.launcher.parameter_files import NODES
from planweave_ros.guarded import GuardedNode, log_fault
from planweave_ros.rclpy_compat import RCLError, await_callbacks

NodeT = TypeVar("NodeT", bound=Node)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_IMPATIENT = 1.0  # a second signal this many seconds after the first ends the process at once
_LEAVE = 2.0  # seconds for callbacks to return once all is cleaned up; then the process ends without them


def share_python_fairly() -> None:
    """Reduce the thread switch interval to half a millisecond from five.

    Physics and motion planning call into C for microseconds at a time; after each call they would wait the whole
    interval for a thread that runs callbacks.
    """
    sys.setswitchinterval(0.0005)


class _Signals:
    """SIGINT and SIGTERM as an event for the main thread.

    rclpy's own handlers close the context first, after which nothing can be published, not even what stops an arm.
    Python's handlers run between two instructions of the main thread only, which may be inside C for long: the
    interpreter therefore writes the signal into a pipe.
    """

    def __init__(self) -> None:
        self._first = 0.0
        self._out, self._in = os.pipe()
        os.set_blocking(self._in, False)
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, self._came)

    def _came(self, number: int, _: object) -> None:
        if not self._first:
            self._first = time.monotonic()
        elif time.monotonic() - self._first > _IMPATIENT:
            os._exit(128 + number)

    @property
    def came(self) -> bool:
        return bool(self._first)

    def wait(self) -> None:
        """Wait for a signal, or for `wake`."""
        os.read(self._out, 1)

    def wake(self) -> None:
        os.write(self._in, b"\0")


@contextlib.contextmanager
def own_node(name: str, domain_id: int | None = None, **options: Any) -> Iterator[Node]:
    """A node of a program that is no node itself: in a context of its own, which leaves signals alone, and in this
    process's namespace. domain_id: the ROS domain, by default that of this process; options: of `rclpy.create_node`.
    """
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
    try:
        inside = namespace() or None
        node = rclpy.create_node(name, namespace=inside, context=context, start_parameter_services=False, **options)
        try:
            yield node
        finally:
            node.destroy_node()
    finally:
        context.try_shutdown()


def executor_of(node: Node, threads: int = 1) -> Executor:
    executor: Executor = SingleThreadedExecutor(context=node.context)
    if threads > 1:
        executor = MultiThreadedExecutor(num_threads=threads, context=node.context)
    executor.add_node(node)
    return executor


@contextlib.contextmanager
def spun(executor: Executor, seconds: float = _LEAVE) -> Iterator[threading.Thread]:
    """An executor that spins in its own thread within the block.

    It is shut down once the thread has ended, which may take some seconds: shut down while spinning, it would end the
    thread with InvalidHandle. Entities that another thread destroys meanwhile do not end it; of an action server rcl
    itself says that its pointer is invalid.
    """
    ended: Future = Future()

    def spin() -> None:
        while True:
            try:
                executor.spin_until_future_complete(ended)
                return
            except InvalidHandle:
                continue
            except RCLError as error:
                if "invalid" not in str(error):
                    raise

    thread = threading.Thread(target=spin, name="spin", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        ended.set_result(None)
        thread.join(seconds)
        await_callbacks(executor, seconds)
        executor.shutdown(timeout_sec=seconds)


class _Spinning:
    """An executor that spins one node in its own thread. on_end is called should it end by an error."""

    def __init__(self, node: Node, threads: int, on_end: Callable[[], None]):
        self.error: BaseException | None = None
        self._executor = MultiThreadedExecutor(num_threads=threads)
        self._executor.add_node(node)
        self._ended: Future = Future()
        self._node, self._on_end = node, on_end
        self._thread = threading.Thread(target=self._spin, name="spin", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        """Spin; exceptions outside of a GuardedNode's callbacks, as in rclpy's own handling of an action's messages,
        are logged.
        """
        try:
            while not self._ended.done():
                try:
                    self._executor.spin_until_future_complete(self._ended)
                except ExternalShutdownException:
                    return
                except Exception as error:
                    if not rclpy.ok():
                        raise
                    log_fault(self._node, "a message", error)
        except BaseException as error:
            self.error = error
        finally:
            self._on_end()

    def end(self) -> None:
        self._ended.set_result(None)
        self._thread.join(_LEAVE)
        await_callbacks(self._executor, _LEAVE)
        Executor.shutdown(self._executor, timeout_sec=_LEAVE)  # MultiThreadedExecutor's own waits without a deadline


def run_node(
    make: Callable[[], NodeT],
    args: Sequence[str] | None = None,
    threads: int = 4,
    stop: Callable[[NodeT], None] = lambda node: None,
) -> int:
    """Initialise ROS, create the node, spin it until SIGINT, SIGTERM or its lifecycle's shutdown, and clean up; returns
    the exit code.

    stop(node) is called first, while the node is still spun and can publish and cancel: it stops all motion and must
    return within seconds. A PlanweaveError during construction is a user error: one line on stderr and exit code 2. A
    process that was suspended for so long that its peers have dropped it, or that says why it `ends_because`, ends with
    os.EX_TEMPFAIL (75): nothing is wrong with it, and it is to be restarted.
    """
    try:
        refuse_old_ros(os.environ)
    except PlanweaveError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    use_one_heap()
    signals = _Signals()
    share_python_fairly()
    rclpy.init(args=list(args) if args is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    node: NodeT | None = None
    spinning: _Spinning | None = None
    stood: list[float] = []
    reason = ""

    def end_after_standstill(seconds: float) -> None:
        stood.append(seconds)
        signals.wake()

    try:
        node = make()
        if isinstance(node, GuardedNode):
            node.finalized = signals.wake
        if not signals.came:
            with logging_of(node):
                Standstill(end_after_standstill)  # before anything runs that could show that the node is there
                spinning = _Spinning(node, threads, signals.wake)
                signals.wait()
                if stood:
                    node.get_logger().error(
                        f"this process stood still for {stood[0]:.0f} s (stopped, or its machine frozen), so the other "
                        "nodes have given it up; it ends, to be started again"
                    )
                reason = getattr(node, "ends_because", "")
                if reason:
                    node.get_logger().error(f"{reason}; it ends, to be started again")
                stop(node)
                refused = getattr(node, "refused", "")
                if refused:
                    raise ConfigError(refused)
    except PlanweaveError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    finally:
        if spinning is not None:
            spinning.end()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    if spinning is not None and spinning.error is not None:
        raise spinning.error
    code = os.EX_TEMPFAIL if stood or reason else 0
    _leave_in_time(code)
    return code


def _leave_in_time(code: int) -> None:
    """Exit even where a callback does not return: the interpreter would wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    last = threading.Timer(_LEAVE, os._exit, (code,))
    last.daemon = True
    last.start()


LONG = 10.0
"""Seconds; half of the lease, since on a busy machine the last sign of life may have been sent seconds before."""
_TICK = 0.5
_LITTLE, _REST = 0.1, 4.0  # share of a core that is no work, and s without work after which memory is given back,
_WORK = 1.0  # thoroughly after so many s of processor time


def stood_still(passed: float, used: float) -> bool:
    """Return whether a process was suspended, from its processor time and the elapsed time in seconds.

    One whose interpreter is busy in C for long uses processor time.
    """
    return passed > LONG and used < 0.1 * passed


class Standstill:
    """Monitors in its own thread until the first long suspension of the process: SIGSTOP, a debugger, a frozen
    container. on_standstill(seconds) is called once. When a process rests after work, its memory is given back.

    Peers drop a DDS participant that is silent for its lease of 20 s. One that continues after that is not always
    matched with them again: its timers run, but no message and no request reaches it. It ends, to be restarted.
    """

    def __init__(self, on_standstill: Callable[[float], None]):
        self._on_standstill = on_standstill
        begin = time.monotonic(), time.process_time()  # read here: the thread may begin late
        threading.Thread(target=self._watch, args=begin, name="standstill", daemon=True).start()

    def _watch(self, time_before: float, used_before: float) -> None:
        rests_since, worked, given_back = time_before, True, -_WORK
        while True:
            time.sleep(_TICK)
            now, used = time.monotonic(), time.process_time()
            if stood_still(now - time_before, used - used_before):
                self._on_standstill(now - time_before)
                return
            if used - used_before > _LITTLE * (now - time_before):
                rests_since, worked = now, True
            elif worked and now - rests_since > _REST:
                thorough = used - given_back > _WORK
                give_back_memory(thorough)
                worked, used = False, time.process_time()
                given_back = used if thorough else given_back
            time_before, used_before = now, used


OURS = ("planweave", "planweave_ros", *NODES)
"""Packages whose records count from INFO on; those of all others from WARNING on."""


class RosHandler(logging.Handler):
    """Writes records to a node's log as `logger name: message`, until the node's context has ended."""

    def __init__(self, node: Node):
        super().__init__()
        self._node = node
        self.addFilter(_counts)

    def emit(self, record: logging.LogRecord) -> None:
        """One record; rclpy wants one place in the source for each severity."""
        if not self._node.context.ok():
            return
        try:
            logger, text = self._node.get_logger(), f"{record.name}: {self.format(record)}"
            if record.levelno >= logging.ERROR:
                logger.error(text)
            elif record.levelno >= logging.WARNING:
                logger.warning(text)
            else:
                logger.info(text)
        except Exception:
            self.handleError(record)


def _counts(record: logging.LogRecord) -> bool:
    least = logging.INFO if record.name.partition(".")[0] in OURS else logging.WARNING
    return record.levelno >= least


@contextmanager
def logging_of(node: Node) -> Iterator[None]:
    """Within the block, Python's logging goes to this node's log."""
    root, handler = logging.getLogger(), RosHandler(node)
    ours = {name: logging.getLogger(name) for name in OURS}
    before = {name: logger.level for name, logger in ours.items()}
    root.addHandler(handler)
    for logger in ours.values():
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        for name, logger in ours.items():
            logger.setLevel(before[name])
