"""Running a node as a process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

from planweave.errors import PlanweaveError


def share_python_fairly() -> None:
    """Let threads take turns every half millisecond instead of every five.

    Physics and motion planning call into C for microseconds at a time; each time they come back they would wait the
    whole interval for a thread that runs callbacks.
    """
    sys.setswitchinterval(0.0005)


def run_node(make: Callable[[], Node], args: Sequence[str] | None = None, threads: int = 4) -> int:
    """Initialise ROS, make the node, spin it until SIGINT or SIGTERM, and clean up; returns the exit code.

    A PlanweaveError while the node is made is a user's mistake: one line on stderr and exit code 2.
    """
    # rclpy's own handlers of SIGINT and SIGTERM stay: Python's would not run while the executor waits for events.
    share_python_fairly()
    rclpy.init(args=list(args) if args is not None else None)
    node = None
    try:
        node = make()
        executor = MultiThreadedExecutor(num_threads=threads)
        executor.add_node(node)
        executor.spin()
    except PlanweaveError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():      # else ROS was shut down between two looks at it, which the executor reports as an error
            raise
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
