"""A double of feedback_node and of the simulation's services, for tests of the console.

What a task does is chosen by its sentence: "succeed", "linger" (until the test lets it go on), "fail", "wait" (until
cancelled), "blind" (not confirmed), "vanish" (the process dies), "ask" (a question). A dry run ends with a plan.
As a program (python -m doubles.task_server) it runs until it is ended.
"""

import contextlib
import json
import os
import threading
import time

import rclpy
from planweave_interfaces.action import RunTask
from planweave_interfaces.msg import (
    Action,
    ActionNode,
    ActionTree,
    Literal,
    TaskPlan,
    TaskProgress,
    TaskReading,
    TaskStatus,
)
from planweave_interfaces.srv import CancelTask, GetTask, ListTasks, LoadScene, RecordVideo
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from sensor_msgs.msg import Image

from planweave_ros.guarded import GuardedNode
from planweave_ros.qos import TRANSIENT_LOCAL


class TaskServer(GuardedNode):
    """Takes tasks and remembers what was asked of it."""

    def __init__(self):
        super().__init__("feedback_node")
        group = ReentrantCallbackGroup()
        self.asked, self.statuses, self.events, self.newest = [], [], [], None
        self.canceled, self.go_on = False, threading.Event()
        self._tree = self.create_publisher(ActionTree, "/action_tree", TRANSIENT_LOCAL)
        self._image = self.create_publisher(Image, "/camera/color/image_raw", 10)
        self.create_timer(0.05, self._send_image)
        self._server = ActionServer(
            self, RunTask, "/run_task", self._run, cancel_callback=self._cancel_goal, callback_group=group
        )
        for kind, name, answer in [
            (CancelTask, "/cancel_task", self._cancel),
            (GetTask, "/get_task", self._get),
            (ListTasks, "/list_tasks", self._list),
            (LoadScene, "/simulation/load_scene", self._load),
            (RecordVideo, "/simulation/record", self._record),
        ]:
            self.create_service(kind, name, answer, callback_group=group)

    def destroy_node(self):
        self._server.destroy()
        super().destroy_node()

    def _run(self, goal):
        task = goal.request.task
        self.newest, sentence = task, task.sentence
        self.asked.append((sentence, task.method, len(task.goal)))
        status = TaskStatus(
            task_id=f"task-{len(self.asked)}",
            sentence=sentence,
            method="tree_planner",
            state=TaskStatus.RUNNING,
            phase="acting",
            reading=TaskReading(
                goal=[Literal(predicate="in", arguments=["red_cube", "left_tray"])],
                source="grammar",
                understood="the red cube goes into the left tray",
            ),
            progress=TaskProgress(action=Action(name="grasp", arguments=["red_cube"]), steps=1),
        )
        self.statuses.append(status)
        self._tree.publish(
            ActionTree(
                task_id=status.task_id,
                nodes=[
                    ActionNode(id=0, parent=-1, samples=3),
                    ActionNode(
                        id=1, parent=0, time_step=1, samples=3, status=ActionNode.DONE, action=status.progress.action
                    ),
                    ActionNode(id=2, parent=1, time_step=2, samples=3, status=ActionNode.DONE, end=True),
                ],
            )
        )
        goal.publish_feedback(RunTask.Feedback(status=status))
        if sentence == "vanish":
            os._exit(3)
        deadline = time.monotonic() + 30.0
        while sentence == "wait" and not goal.is_cancel_requested and time.monotonic() < deadline:
            time.sleep(0.01)
        if sentence == "linger":
            self.go_on.wait(30.0)
        status.progress.executed, status.progress.action = 1, Action()
        status.state = {
            "succeed": TaskStatus.SUCCEEDED,
            "linger": TaskStatus.SUCCEEDED,
            "wait": TaskStatus.CANCELED,
            "ask": TaskStatus.ANSWERED,
            "blind": TaskStatus.NOT_CONFIRMED,
        }.get(sentence, TaskStatus.FAILED)
        if sentence == "ask":
            status.reading = TaskReading(source="grammar", answer="I see the red cube.")
        if task.dry_run:
            status.state, status.dry_run, status.progress.executed, status.progress.steps = (
                TaskStatus.PLANNED,
                True,
                0,
                0,
            )
            status.plan = TaskPlan(
                actions=[Action(name="grasp", arguments=["red_cube"])],
                words=["pick up the red cube"],
                check="every step can be done and the goal holds",
            )
        {TaskStatus.FAILED: goal.abort, TaskStatus.NOT_CONFIRMED: goal.abort, TaskStatus.CANCELED: goal.canceled}.get(
            status.state, goal.succeed
        )()
        self.canceled = sentence == "wait"
        return RunTask.Result(
            success=status.state == TaskStatus.SUCCEEDED,
            message=f"it did {sentence}",
            status=status,
            record=json.dumps({"events": [{"event": "ended"}]}),
        )

    def _cancel_goal(self, _):
        return CancelResponse.ACCEPT

    def _cancel(self, request, response):
        response.success = request.task_id in ("", "task-1")
        response.message = f"cancelling {request.task_id}" if response.success else f"no task {request.task_id!r}"
        return response

    def _get(self, request, response):
        response.found = bool(self.statuses) and request.task_id in ("", self.statuses[-1].task_id)
        response.message = "" if response.found else f"no task {request.task_id!r} (known: none)"
        if response.found:
            response.status, response.record = self.statuses[-1], json.dumps({"events": self.events})
        return response

    def _list(self, request, response):
        response.tasks, response.total = self.statuses[-request.limit :], len(self.statuses)
        return response

    def _load(self, request, response):
        response.success = request.scene == "blocks"
        response.message = "" if response.success else f"unknown scene {request.scene!r} (known: blocks)"
        response.code = "" if response.success else "unknown_name"
        return response

    def _record(self, request, response):
        response.success, response.frames = True, 0 if request.start else 12
        return response

    def _send_image(self):
        rows = bytearray()
        for _ in range(2):
            rows += bytes([255, 0, 0, 0, 255, 0, 0, 0, 255]) + b"\0"  # a byte of padding at the end of each row
        self._image.publish(Image(height=2, width=3, step=10, encoding="rgb8", data=bytes(rows)))


def main():
    rclpy.init()
    node = TaskServer()
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(node)
    print("ready", flush=True)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()


if __name__ == "__main__":
    main()
