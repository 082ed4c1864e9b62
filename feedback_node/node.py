"""feedback_node: the server of tasks: queue, planning methods, approval, status and previews."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planweave_interfaces.msg import ActionTree, ApprovedStep, TaskStatus
from planweave_interfaces.srv import (
    AnswerQuestion,
    ApprovePlan,
    CancelTask,
    EditPlan,
    GetTask,
    ListTasks,
    PauseTask,
    RememberedAnswers,
    ResumeTask,
    SendFeedback,
    SubmitTask,
)
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from std_msgs.msg import String

from feedback_node.parameters import PARAMETERS
from planweave.bodies.arm.waiting import until
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.health import Level, Report
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.domain_files import domain_names
from planweave.core.workflow.task_status import TaskState
from planweave.goals import RuleFile
from planweave.methods import METHODS
from planweave.tasks.naming import names_in
from planweave.tasks.task_manager import Method, Task, TaskManager
from planweave.tasks.task_store import TaskStore
from planweave_ros import conversions as convert
from planweave_ros.body_client import RosBody, RosEyes
from planweave_ros.diagnostics import publish_diagnostics
from planweave_ros.lifecycle import ManagedNode
from planweave_ros.liveliness import TASKS, show_own_presence
from planweave_ros.parameters import Parameter
from planweave_ros.previews import Previews
from planweave_ros.qos import STATUSES, TRANSIENT_LOCAL
from planweave_ros.questions import RosPlanner
from planweave_ros.spin import run_node
from planweave_ros.task_actions import TaskActions

_LAST_RESULT = 5.0  # s of wall time for the running task to end where the node is deactivated
MAX_EXCHANGE_MESSAGE = 4_000_000
"""Characters of one message on /llm_exchanges; longer ones are not read."""


class FeedbackNode(ManagedNode):
    """While active, accepts tasks, runs the methods' loops, sends actions to the body, publishes status."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("feedback_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        """Open the files of tasks and rules, and serve tasks."""
        folder = Path(values["journal_folder"]) if values["journal_folder"] else None
        if folder and not folder.is_dir():
            raise ConfigError(f"feedback_node: journal_folder {folder} is not a folder; create it or leave it empty")
        self._settings, rules = values, RuleFile(values["rules"])
        in_force = rules.in_force()
        self.declare([Parameter("rules_in_force", "\n".join(in_force), "the rules of all domains; not to be set")])
        store = TaskStore(Path(values["tasks_file"])) if values["tasks_file"] else None
        if store is not None:
            self.on_release(store.close)
        self._gone, self._key = False, b""
        self._idle = Cancellation()
        self._telling = threading.Lock()  # one status after the other, so that none is older than the one before
        group = ReentrantCallbackGroup()
        self._status = self.create_publisher(TaskStatus, "task_status", STATUSES)
        self._tree = self.create_publisher(ActionTree, "action_tree", TRANSIENT_LOCAL)
        approved = self.create_publisher(ApprovedStep, "approved_step", TRANSIENT_LOCAL)
        in_order = MutuallyExclusiveCallbackGroup()  # else a record could have two exchanges the wrong way round
        self._exchanges = self.resolve_topic_name("llm_exchanges")
        self.create_subscription(String, "llm_exchanges", self._exchange, 100, callback_group=in_order)
        self._actions = TaskActions(self, lambda: self.manager, self.require_active, self._status_msg, self._changed)
        self._previews = Previews(self, self._actions.shown)
        planner = RosPlanner(self, self._cancellation, values["planner_timeout"])
        timeout, world_timeout = values["action_timeout"], values["body_silence"]
        body = RosBody(self, self._cancellation, timeout, world_timeout, _read_domain, lambda: self._key)
        eyes = RosEyes(self, self._cancellation, values["perception_timeout"])
        self.manager = TaskManager(
            planner,
            body,
            self._method,
            default_method=values["method"],
            fallback="" if values["fallback"] == "none" else values["fallback"],
            action_timeout=values["action_timeout"],
            max_queue=values["max_queue"],
            kept_tasks=values["kept_tasks"],
            journal_folder=folder,
            approval_timeout=values["approval_timeout"] if values["require_approval"] else 0.0,
            approved_alone=values["approved_alone"],
            approval_tolerance=values["approval_tolerance"],
            pause_timeout=values["pause_timeout"],
            answer_timeout=values["answer_timeout"],
            pass_while_asking=values["pass_while_asking"],
            observation_timeout=values["observation_timeout"],
            await_body=body.await_ready,
            look_for=lambda sentence: eyes.look_for(names_in(sentence)),
            on_change=self._changed,
            on_end=self._actions.ended,
            on_approved=lambda step: approved.publish(convert.approved_step_to_msg(step) if step else ApprovedStep()),
            namespace=self.get_namespace().rstrip("/"),
            load_domain=rules.load,
            store=store,
        )
        self.on_release(self._close)
        self.create_service(SubmitTask, "submit_task", self._submit, callback_group=group)
        self.create_service(CancelTask, "cancel_task", self._cancel, callback_group=group)
        self.create_service(PauseTask, "pause_task", self._pause, callback_group=group)
        self.create_service(ResumeTask, "resume_task", self._resume, callback_group=group)
        self.create_service(GetTask, "get_task", self._get, callback_group=group)
        self.create_service(ListTasks, "list_tasks", self._list, callback_group=group)
        self.create_service(SendFeedback, "send_feedback", self._feedback, callback_group=group)
        self.create_service(ApprovePlan, "approve_plan", self._approve, callback_group=group)
        self.create_service(EditPlan, "edit_plan", self._edit, callback_group=group)
        self.create_service(AnswerQuestion, "answer_question", self._answer, callback_group=group)
        self.create_service(RememberedAnswers, "remembered_answers", self._remembered, callback_group=group)
        publish_diagnostics(self, {"tasks": self._tasks_report})
        self._key = show_own_presence(self, TASKS)
        self._resumed = False
        for rule in in_force:
            self.get_logger().info(f"rule in force for {rule}")
        self.get_logger().info(f"ready for tasks; default method {values['method']}, fallback {values['fallback']}")

    def begin_work(self) -> None:
        """Take up the tasks that were kept, once."""
        if not self._resumed:
            self._resumed, ask = True, self._settings["after_restart"] == "ask"
            self.manager.take_up(self._settings["approval_timeout"] if ask else 0.0)

    def pause_work(self) -> None:
        """Cancel all tasks, and with them the current action; no other begins before the node is active again."""
        for task in self.manager.tasks():
            with contextlib.suppress(PlanweaveError):  # it has ended
                self.manager.cancel(task.status.task_id)
        if not until(lambda: self.manager.running is None, _LAST_RESULT):
            self.get_logger().error("deactivated, but the running task has not ended: see whether its body stands")

    def stop_work(self) -> None:
        """Cancel all tasks, and with them the current action.

        The node must be spun meanwhile, so that the cancellation reaches the body.
        """
        if self.configured:
            self.manager.close()

    def _close(self) -> None:
        """Cancel what runs, and tell nobody: the node goes, or is being cleaned up."""
        self._gone = True
        self.manager.close()

    def _method(self, name: str) -> Method:
        prefix = name + "."
        options = {k[len(prefix) :]: v for k, v in self._settings.items() if k.startswith(prefix)}
        method: Method = METHODS[name](**options)
        return method

    def _cancellation(self) -> Cancellation:
        """The flag of the running task, for the waits of the ports."""
        task = self.manager.running
        return task.canceled if task is not None else self._idle

    def _changed(self, task: Task) -> None:
        if self._gone:
            return
        with self._telling:
            msg = self._status_msg(task)
            self._status.publish(msg)
            self._previews.changed(task, convert.status_from_msg(msg))
            episode = task.episode
            if episode is not None and episode.tree is not None:
                tree = convert.tree_to_msg(episode.tree, msg.task_id)
                tree.header.stamp = msg.stamp
                self._tree.publish(tree)
            self._actions.changed(task, msg)

    def _tasks_report(self) -> Report:
        """The queue, the task that runs, and how the last one ended."""
        tasks, running = self.manager.tasks(), self.manager.running
        waiting = sum(task.status.state is TaskState.QUEUED for task in tasks)
        going_on = running.snapshot() if running else None
        last = next((task.status for task in reversed(tasks) if task.status.state.ended), None)
        values = {
            "waiting": waiting,
            "kept": len(tasks),
            "running": going_on.task_id if going_on else "",
            "last_ended": f"{last.task_id} {last.state.name}" if last else "",
        }
        if self.why_idle:
            return Report(Level.WARN, self.why_idle, values)
        if going_on is not None and going_on.state is TaskState.AWAITING_APPROVAL:
            return Report(Level.WARN, f"the plan of {going_on.task_id} waits for a person: planweave approve", values)
        if going_on is not None and going_on.state is TaskState.PAUSED:
            return Report(Level.WARN, f"{going_on.task_id} is {going_on.message}: planweave resume", values)
        asked = [
            f"{status.task_id} waits for a person's answer: {status.question.text} (planweave answer)"
            for task in tasks
            if (status := task.snapshot()).question is not None
        ]
        if asked:
            return Report(Level.WARN, "; ".join(asked), values)
        if waiting >= self._settings["max_queue"]:
            return Report(Level.WARN, f"the queue is full: {waiting} tasks wait", values)
        what = f"{going_on.task_id} runs: {going_on.phase}" if going_on else "no task runs"
        return Report(Level.OK, f"{what}; {waiting} wait", values)

    def _status_msg(self, task: Task) -> TaskStatus:
        msg = convert.status_to_msg(task.snapshot())
        msg.stamp = self.get_clock().now().to_msg()
        return msg

    def _exchange(self, msg: String) -> None:
        """Keep an exchange with the model in the record of its task; anybody may publish one, so it is bounded."""
        if len(msg.data) > MAX_EXCHANGE_MESSAGE:
            self.get_logger().warning(
                f"ignored {len(msg.data)} characters on {self._exchanges}; at most {MAX_EXCHANGE_MESSAGE} are kept",
                once=True,
            )
            return
        try:
            exchange = json.loads(msg.data)
            task_id = exchange.get("task_id", "")
            task = self.manager.get(task_id) if task_id and isinstance(task_id, str) else None
            if task is not None:
                task.journal.add("exchange", **exchange)
        except (ValueError, AttributeError, RecursionError) as error:
            self.get_logger().warning(
                f"ignored a malformed message on {self._exchanges} ({type(error).__name__})",
                once=True,
            )

    def _submit(self, request: SubmitTask.Request, response: SubmitTask.Response) -> SubmitTask.Response:
        self.require_active()
        task = self.manager.accept(convert.task_goal_from_msg(request.task), request.request_id)
        response.accepted, response.task_id = True, task.status.task_id
        response.message = f"queued as {task.status.task_id}"
        return response

    def _cancel(self, request: CancelTask.Request, response: CancelTask.Response) -> CancelTask.Response:
        task = self.manager.cancel(request.task_id)
        response.success, response.message = True, f"{task.status.task_id} is being cancelled"
        return response

    def _pause(self, request: PauseTask.Request, response: PauseTask.Response) -> PauseTask.Response:
        task = self.manager.pause(request.task_id, request.person, request.reason)
        response.success = True
        response.message = f"{task.status.task_id} is paused; planweave resume goes on, planweave cancel ends it"
        return response

    def _resume(self, request: ResumeTask.Request, response: ResumeTask.Response) -> ResumeTask.Response:
        task = self.manager.resume(request.task_id, request.person)
        response.success = True
        response.message = f"{task.status.task_id} goes on" + (f"; {task.pause.told}" if task.pause.told else "")
        return response

    def _feedback(self, request: SendFeedback.Request, response: SendFeedback.Response) -> SendFeedback.Response:
        task = self.manager.say(request.task_id, request.text)
        response.success, response.message = True, f"{task.status.task_id} has been told"
        return response

    def _approve(self, request: ApprovePlan.Request, response: ApprovePlan.Response) -> ApprovePlan.Response:
        task = self.manager.approve(
            request.task_id, request.plan_hash, request.approve, request.comment, request.approver
        )
        word = "approved" if request.approve else "not approved; the task is being cancelled"
        response.success, response.message = True, f"the plan of {task.status.task_id} is {word}"
        return response

    def _edit(self, request: EditPlan.Request, response: EditPlan.Response) -> EditPlan.Response:
        plan = [convert.action_from_msg(action) for action in request.actions]
        edited = self.manager.edit(request.task_id, request.plan_hash, plan, request.editor)
        response.success, response.plan_hash, response.check = True, edited.hash, edited.check
        response.message = f"the edited plan {edited.hash} passes the check and waits for approval"
        return response

    def _answer(self, request: AnswerQuestion.Request, response: AnswerQuestion.Response) -> AnswerQuestion.Response:
        chosen = self.manager.answer(request.task_id, request.question_id, request.choice, request.text, request.person)
        response.success, response.message = True, f"understood: {chosen}"
        return response

    def _remembered(
        self, request: RememberedAnswers.Request, response: RememberedAnswers.Response
    ) -> RememberedAnswers.Response:
        memory = self.manager.memory
        every = [entry.id for entry in memory.entries()]
        response.forgotten = memory.forget_known(every if request.forget_all else list(request.forget))
        response.answers = [convert.remembered_to_msg(entry) for entry in memory.entries()]
        response.success = True
        return response

    def _get(self, request: GetTask.Request, response: GetTask.Response) -> GetTask.Response:
        task = self.manager.get(request.task_id)
        if task is None:
            dropped = (
                f"it has ended and is no longer kept: only the last {self._settings['kept_tasks']} are (parameter "
                "kept_tasks); with journal_folder its record is in a file"
            )
            known = (t.status.task_id for t in self.manager.tasks(10))
            raise UnknownNameError(
                "task", request.task_id, known, dropped if self.manager.dropped(request.task_id) else ""
            )
        response.found = True
        response.status = self._status_msg(task)
        response.record = task.journal.to_json()
        return response

    def _list(self, request: ListTasks.Request, response: ListTasks.Response) -> ListTasks.Response:
        response.tasks = [self._status_msg(task) for task in self.manager.tasks(request.limit)]
        response.total = len(self.manager.tasks())
        return response


def _read_domain(name: str) -> None:
    """Read a domain by name (0.1 to 0.2 s of processor time) when its first world is heard, not in the first task."""
    if name in domain_names():
        with contextlib.suppress(PlanweaveError):  # a task will say so
            Domain.load(name)


def main() -> int:
    return run_node(FeedbackNode, stop=FeedbackNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
