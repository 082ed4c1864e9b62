"""The body of a running system as a body of the library: ``pw.run("…", body="ros")``, from a process of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import ConfigError, SystemDownError
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.launcher.environment import refuse_old_ros, ros_environment
from planweave.launcher.one_system import join

_ACTION_TIMEOUT = 180.0  # s of wall time for an action whose sender gives none


class Robot(WrappedBody):
    """Executes actions by /execute_action of the only body in a ROS namespace; a `StoppableBody` (core.workflow.ports).

    patience: seconds of wall time to wait for a body that reports its world. The namespace is that of
    PLANWEAVE_NAMESPACE. The body stops when this process dies. Raises ConfigError where ROS cannot be used in this
    process, and SystemDownError where no body runs, or where feedback_node runs a task, which commands the body, too.
    """

    def __init__(self, patience: float = 10.0) -> None:
        _prepare()
        from planweave_ros.body_client import RosBody
        from planweave_ros.calling import MUTUAL_DISCOVERY
        from planweave_ros.scenes import RunningTasks
        from planweave_ros.spin import executor_of, own_node, spun

        born = time.monotonic()
        self._ends = contextlib.ExitStack()
        with contextlib.ExitStack() as ends:
            node = ends.enter_context(own_node(f"planweave_robot_{os.getpid()}"))
            body = RosBody(node, Cancellation, _ACTION_TIMEOUT, patience)
            super().__init__(body)
            ends.callback(body.destroy)
            tasks = RunningTasks(node)
            ends.enter_context(spun(executor_of(node, threads=4)))
            body.await_ready()
            time.sleep(max(0.0, born + MUTUAL_DISCOVERY - time.monotonic()))
            if problem := tasks.problem():
                raise SystemDownError(f"the body is in use: {problem}")
            self._ends = ends.pop_all()

    def close(self) -> None:
        self._ends.close()


def _prepare() -> None:
    """Set the environment up for ROS in this process, which the dynamic loader has read already."""
    refuse_old_ros(os.environ)
    join()
    environment = ros_environment(os.environ, Path(sys.prefix))
    if environment.get("LD_LIBRARY_PATH") != os.environ.get("LD_LIBRARY_PATH"):
        raise ConfigError(
            f"ROS 2 needs variables that are set before Python starts; in this shell run  . {sys.prefix}/planweave.sh  "
            "and start the program again"
        )
    os.environ.update(environment)
    try:
        import planweave_ros.body_client  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"ROS 2 or Planweave's interfaces cannot be imported ({error}). In a clone run `make setup` and source "
            ".venv/planweave.sh; in a ROS 2 workspace build with `colcon build` and source install/setup.bash"
        ) from None
