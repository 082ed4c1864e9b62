"""Services by which people change what a body stands in: PREFIX/reset and PREFIX/load_scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planweave_interfaces.srv import LoadScene
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from planweave.core.base.errors import PlanweaveError
from planweave_ros.running_tasks import RunningTasks
from planweave_ros.serve_body import BodyServer


class SceneServices:
    """Serves them from now on; a scene changes only while no task and no action runs.

    name: what stays in messages. reset and load return what was done, "" for a plain answer, and raise PlanweaveError.
    served: the body's server, which may come later.
    """

    def __init__(
        self,
        node: Node,
        prefix: str,
        name: Callable[[], str],
        served: Callable[[], BodyServer],
        reset: Callable[[], str],
        load: Callable[[str], str],
    ) -> None:
        self._name, self._served = name, served
        self._tasks = RunningTasks(node)
        group = ReentrantCallbackGroup()
        node.create_service(
            Trigger,
            f"{prefix}/reset",
            lambda _, response: self._change("reset", reset, response),
            callback_group=group,
        )
        node.create_service(
            LoadScene,
            f"{prefix}/load_scene",
            lambda request, response: self._change(f"load {request.scene}", lambda: load(request.scene), response),
            callback_group=group,
        )

    def _change(self, what: str, change: Callable[[], str], response: Any) -> Any:
        if problem := self._tasks.problem():
            response.success, response.message = False, f"{self._name()} stays: {problem}"
            return response
        with self._served().reserved(what) as busy:
            if busy:
                response.success, response.message = False, f"not now: busy with {busy}; cancel it first"
                return response
            try:
                done = change()
            except PlanweaveError as error:
                response.success, response.message = False, str(error)
            else:
                response.success, response.message = True, done or f"{what} done"
        self._served().publish()
        return response
