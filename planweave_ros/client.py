"""ROS client of the console: tasks, system state, scenes, recordings and camera images through the public
interfaces.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from numpy.typing import NDArray
from planweave_interfaces.action import RunTask
from planweave_interfaces.msg import ActionTree, DetectedObjects, WorldState
from planweave_interfaces.srv import (
    GetTask,
    InterpretGoal,
    ListTasks,
    LoadScene,
    RecordVideo,
    SubmitTask,
)
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from planweave.core.base.errors import (
    CanceledError,
    GoalError,
    NotStoppedError,
    PlanweaveError,
    SystemDownError,
    refused,
)
from planweave.core.symbolic.world import Literal, World
from planweave.core.trees.action_tree import Status, TreeRow
from planweave.core.workflow.reading import Reading
from planweave.core.workflow.task_status import TaskGoal, TaskState, TaskStatus
from planweave.launcher.domains import domain, is_empty, is_this_machine
from planweave.launcher.one_system import elsewhere
from planweave.launcher.systems import NodeSpec
from planweave_ros import conversions as convert
from planweave_ros.calling import MUTUAL_DISCOVERY, is_done
from planweave_ros.liveliness import TASKS, Presence
from planweave_ros.only_one import everybody_is_known
from planweave_ros.pictures import rgb_from_msg
from planweave_ros.qos import IMAGES, REQUESTS, TRANSIENT_LOCAL
from planweave_ros.rclpy_compat import ThreadSafeActionClient
from planweave_ros.spin import executor_of, own_node, spun
from planweave_ros.task_calls import TASK_SERVICES, TaskCalls

_SETTLED = 0.5  # seconds for which everybody must have been known
VANISHED = 10.0  # seconds without an answer of feedback_node after which a running task counts as lost


@dataclass(frozen=True)
class TaskResult:
    """The end of a task; record: the events recorded by feedback_node; rows: the action tree."""

    success: bool
    message: str
    status: TaskStatus
    record: dict[str, Any] = field(default_factory=dict)
    rows: tuple[TreeRow, ...] = ()


SERVICES = {
    "list_tasks": ListTasks,
    "submit_task": SubmitTask,
    "interpret_goal": InterpretGoal,
    "get_task": GetTask,
    **TASK_SERVICES,
    "simulation/load_scene": LoadScene,
    "virtualhome/load_scene": LoadScene,
    "libero/load_scene": LoadScene,
    "simulation/record": RecordVideo,
    "perception/forget": Trigger,
}
#: Calls that do no harm when they are made twice; they are repeated where no answer comes.
REPEATABLE = {"list_tasks", "submit_task", "get_task", "cancel_task", "perception/forget"}
SETTLED_FRAMES = 5  # camera frames that must agree after a scene was loaded


class _FeedbackLostError(SystemDownError):
    """The task server does not answer, so that the task cannot be cancelled."""


class Client(TaskCalls):
    """A ROS node of the console, spun in its own thread. Use as a context manager."""

    def __init__(self, domain_id: int | None = None) -> None:
        """domain_id: the ROS domain; by default that of this process."""
        self._born = time.monotonic()
        self._domain = domain() if domain_id is None else domain_id
        self._first = is_empty(self._domain)  # before this one joins
        self._ends = contextlib.ExitStack()
        self._node = self._ends.enter_context(own_node(f"planweave_console_{os.getpid()}", self._domain))
        self._rows: dict[str, tuple[TreeRow, ...]] = {}
        self._paused = False  # whether the task that is run is paused
        self._revision = 0  # of the world that followed the last change of scene
        self._on_tree: Callable[[str, tuple[TreeRow, ...]], None] = lambda task_id, rows: None
        self._node.create_subscription(ActionTree, "action_tree", self._tree, TRANSIENT_LOCAL)
        self._run_task = ThreadSafeActionClient(self._node, RunTask, "run_task")
        self._ends.callback(self._run_task.destroy)
        # Made now and kept: a server does not answer a client that it has not discovered yet.
        self._services = {
            name: self._node.create_client(kind, name, qos_profile=REQUESTS) for name, kind in SERVICES.items()
        }
        self._server = Presence(self._node, TASKS)
        # An action client made on a node that is spun already may be used by the executor before it is complete.
        self._executor = executor_of(self._node)
        self._thread = self._ends.enter_context(spun(self._executor))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _name(self, service: str) -> str:
        return self._node.resolve_service_name(service)

    def _drop(self, subscription: Any) -> None:
        """Destroy a subscription in the spinning thread.

        Destroyed by another thread while the executor waits for it, it would end that thread with rclpy's
        InvalidHandle.
        """
        self._executor.create_task(self._node.destroy_subscription, subscription)

    @contextlib.contextmanager
    def _heard(
        self, kind: Any, topic: str, qos: QoSProfile, wanted: Callable[[Any], bool] = lambda message: True
    ) -> Iterator[tuple[list[Any], threading.Event]]:
        """Within the block, a list of the messages on a topic that are wanted, and whether one has come."""
        found: list[Any] = []
        there = threading.Event()

        def take(message: Any) -> None:
            if wanted(message):
                found.append(message)
                there.set()

        subscription = self._node.create_subscription(kind, topic, take, qos)
        try:
            yield found, there
        finally:
            self._drop(subscription)

    # What is there

    def is_up(self, patience: float = 0.0) -> bool:
        """Return whether a system that accepts tasks runs; waits up to ``patience`` seconds for its discovery."""
        return bool(self._run_task.wait_for_server(timeout_sec=patience))

    def search(self, patience: float) -> bool | None:
        """Return whether a system that accepts tasks runs; None where after ``patience`` seconds that is not known.

        The answer is no as soon as all participants of this machine, counted by their ports, are discovered with their
        nodes, where no other machine can be; else after ``patience`` seconds.
        """
        begun, known = time.monotonic(), 0.0
        while not self._run_task.server_is_ready():
            now = time.monotonic()
            if self._first or (known and now - known > _SETTLED):
                return False
            if now - begun > patience:
                return None if is_this_machine(os.environ) else False
            known = (known or now) if everybody_is_known(self._node, self._domain) else 0.0
            time.sleep(0.05)
        return True

    def present(self, nodes: Iterable[NodeSpec]) -> list[str]:
        """Discovered interfaces of these nodes: their names, services, actions and topics."""
        specs = list(nodes)
        names, missing = self.nodes(0.0), self.missing(specs)
        found = [spec.name for spec in specs if spec.name in names]
        for spec in specs:
            absent = missing.get(spec.name, ())
            found += [n for n in (*spec.services, *spec.actions, *spec.topics) if n not in absent]
        return found

    def missing(self, nodes: Iterable[NodeSpec]) -> dict[str, list[str]]:
        """Interfaces not discovered yet, by node: names of services, actions and topics."""
        result: dict[str, list[str]] = {}
        for node in nodes:
            # Servers are counted: a list of names would also have those that somebody only calls.
            absent = [name for name in node.services if not self._node.count_services(name)]
            absent += [name for name in node.actions if not self._node.count_services(f"{name}/_action/send_goal")]
            absent += [name for name in node.topics if not self._node.count_publishers(name)]
            if absent:
                result[node.name] = absent
        return result

    def nodes(self, patience: float = 0.5, wanted: Collection[str] = ()) -> list[str]:
        """Names of the nodes in our namespace, without this one and hidden ones (those that begin with _, as ros2cli's
        daemon). Waits until no further one has been discovered for ``patience`` seconds, and for those that are wanted,
        at most six times as long.
        """
        own, namespace_ = self._node.get_name(), self._node.get_namespace()
        found: list[str] = []
        start = since = time.monotonic()
        while True:
            known = sorted(
                name
                for name, there in self._node.get_node_names_and_namespaces()
                if there == namespace_ and name != own and not name.startswith("_")
            )
            now = time.monotonic()
            if known != found:
                found, since = known, now
            settled = now - since >= patience and set(wanted) <= set(found)
            if settled or now - start >= 6 * patience:
                return found
            time.sleep(min(0.05, patience / 4))

    # Tasks

    def run_task(
        self,
        sentence: str,
        *,
        method: str = "",
        goal: Sequence[Literal] = (),
        before: Sequence[Sequence[Literal]] = (),
        keep: Sequence[Literal] = (),
        timeout: float = 600.0,
        dry_run: bool = False,
        on_status: Callable[[TaskStatus], None] = lambda status: None,
        on_tree: Callable[[str, tuple[TreeRow, ...]], None] = lambda task_id, rows: None,
        on_sight: Callable[[bool, float], None] = lambda silent, heard: None,
        watch: Callable[[], None] = lambda: None,
    ) -> TaskResult:
        """Run a task to its end. It is cancelled on an interrupt or after ``timeout`` seconds.

        ``watch`` is called ten times a second and may raise. Raises SystemDownError where the task server is missing
        or disappears, CanceledError where the task does not end in time, NotStoppedError where not even then. A dry run
        moves nothing. ``on_sight`` is called with whether the body's observations have stopped, and when (system time,
        s) the newest one arrived.
        """
        if not self.is_up(5.0):
            raise SystemDownError(
                f"no system takes tasks here ({self._name('run_task')} is not there); start one: planweave up tabletop"
                f"{elsewhere()}"
            )
        self._on_tree, self._paused = on_tree, False

        def told(status: TaskStatus) -> None:
            self._paused = status.state is TaskState.PAUSED
            on_status(status)

        # An answer to this, which can be asked again, says that feedback_node has discovered this node's clients in the
        # order in which they were made, and so that of /run_task, too, whose answer would be lost else.
        self._call("list_tasks", ListTasks.Request(limit=1), "feedback_node")
        asked = TaskGoal(sentence, method, tuple(goal), tuple(map(tuple, before)), tuple(keep), self._revision, dry_run)
        sent = self._run_task.send_goal_async(
            RunTask.Goal(task=convert.task_goal_to_msg(asked)),
            feedback_callback=lambda message: told(convert.status_from_msg(message.feedback.status)),
        )
        try:
            handle = self._result(sent, 30.0, f"feedback_node ({self._name('run_task')})")
            if not handle.accepted:
                raise SystemDownError("feedback_node rejected the task without a reason")
            response = self._follow(handle.get_result_async(), timeout, watch, on_sight)
        except _FeedbackLostError:
            raise
        except BaseException as error:
            ended = self._cancel_sent(sent)
            if isinstance(error, CanceledError) and not ended:
                raise NotStoppedError(f"{error}, but has not ended since: planweave status") from None
            raise
        return self._task_result(response)

    def _follow(
        self,
        future: Future,
        timeout: float,
        watch: Callable[[], None],
        on_sight: Callable[[bool, float], None],
    ) -> Any:
        """The task's result once it has ended; raises CanceledError where it does not end in time."""
        worlds = self._node.create_subscription(
            WorldState, "world_state", lambda w: on_sight(w.silent, convert.time_from_msg(w.heard)), TRANSIENT_LOCAL
        )
        try:
            response = self._wait_for_end(future, timeout, watch)
        finally:
            self._drop(worlds)
        if response is None:
            raise CanceledError(f"the task did not end in {timeout:g} s and was cancelled; --timeout gives it more")
        return response

    def _task_result(self, response: Any) -> TaskResult:
        result = response.result
        status = convert.status_from_msg(result.status)
        success = bool(result.success) and response.status == GoalStatus.STATUS_SUCCEEDED
        rows = self._rows.get(status.task_id, ())
        return TaskResult(success, result.message, status, _load(result.record), rows)

    def _wait_for_end(self, future: Future, timeout: float, watch: Callable[[], None]) -> Any:
        """The result, or None at the deadline, which waits while the task is paused."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + timeout
        # A process that was killed stays in the graph for a while, so it is asked whether it lives.
        asker = self._services["list_tasks"]
        answer: Future | None = None
        seen, departures = time.monotonic(), self._server.departures
        before = seen
        while not done.wait(0.1):
            watch()
            now = time.monotonic()
            deadline, before = deadline + (now - before if self._paused else 0.0), now
            if self._server.departures != departures and not done.wait(1.0):
                raise _FeedbackLostError("feedback_node ended while it ran the task; its log says why")
            if answer is None or answer.done():
                seen = now
                answer = asker.call_async(ListTasks.Request(limit=1))
            elif now - seen > VANISHED:
                raise _FeedbackLostError(
                    f"feedback_node has not answered for {VANISHED:g} s while it ran the task; its log says why"
                )
            if now > deadline:
                return None
        return future.result()

    def _cancel_sent(self, sent: Future) -> bool:
        """Cancel the task that ``sent`` requested and give the body up to five seconds to stop; whether it has ended.

        If interrupted before the response, the task may still run, so that it is cancelled once the response arrives.
        The request is repeated, since a server that has not discovered this client loses it.
        """
        if not is_done(sent, 5.0) or sent.exception() is not None or not sent.result().accepted:
            return False
        handle = sent.result()
        result = handle.get_result_async()
        for _ in range(5):
            handle.cancel_goal_async()
            if is_done(result, 1.0):
                return True
        return False

    def _tree(self, message: ActionTree) -> None:
        rows = self._rows[message.task_id] = tree_rows(message)
        self._on_tree(message.task_id, rows)

    def submit(
        self,
        sentence: str,
        *,
        method: str = "",
        goal: Sequence[Literal] = (),
        before: Sequence[Sequence[Literal]] = (),
        keep: Sequence[Literal] = (),
        dry_run: bool = False,
    ) -> str:
        """Queue a task (`TaskGoal`) and return its id at once; raises PlanweaveError where it is not accepted."""
        asked = TaskGoal(sentence, method, tuple(goal), tuple(map(tuple, before)), tuple(keep), self._revision, dry_run)
        request_id = str(uuid.uuid4())  # it may be repeated
        request = SubmitTask.Request(task=convert.task_goal_to_msg(asked), request_id=request_id)
        response = self._call("submit_task", request, "feedback_node")
        if not response.accepted:
            raise refused(GoalError, response.message, response.code)
        return str(response.task_id)

    def interpret_goal(self, sentence: str, world: World, timeout: float = 60.0) -> Reading:
        """Read a sentence as goal literals over a world, or answer it; raises GoalError, which says what is unclear."""
        from planweave_ros.questions import QUESTIONS  # of all methods: only who asks waits for their import

        question = next(row for row in QUESTIONS if row.name == "interpret_goal")
        request = question.request(sentence, world, task_id=f"reading-{uuid.uuid4()}")  # a budget of its own
        response = self._call("interpret_goal", request, "planner_node", timeout)
        answer: Reading = question.answer(response)
        return answer

    def tasks(self, limit: int = 0) -> list[TaskStatus]:
        """Available tasks, oldest first; only the newest ``limit`` of them where it is not 0."""
        return self.tasks_and_total(limit)[0]

    def tasks_and_total(self, limit: int = 0) -> tuple[list[TaskStatus], int]:
        """The same, and the number of available tasks."""
        response = self._call("list_tasks", ListTasks.Request(limit=limit), "feedback_node")
        return [convert.status_from_msg(status) for status in response.tasks], int(response.total)

    def task(self, task_id: str = "") -> tuple[TaskStatus, dict[str, Any]]:
        """One task with its record; the newest where no id is given."""
        response = self._call("get_task", GetTask.Request(task_id=task_id), "feedback_node")
        if not response.found:
            raise refused(PlanweaveError, response.message, response.code)
        return convert.status_from_msg(response.status), _load(response.record)

    # The simulation

    def load_scene(self, scene: str) -> None:
        """Load another scene, home or task of LIBERO, whatever runs; raises PlanweaveError with the node's reason."""
        request = LoadScene.Request(scene=scene)
        deadline = time.monotonic() + 5.0  # for discovery
        loaders = [name for name in SERVICES if name.endswith("/load_scene")]
        while not (there := [n for n in loaders if self._services[n].service_is_ready()]):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        service = there[0] if there else "simulation/load_scene"
        node = f"{service.partition('/')[0]}_node"
        response = self._call(service, request, node, 120.0)
        if not response.success:
            raise refused(PlanweaveError, response.message, response.code)
        if node != "simulation_node":
            now = self.world(2.0)  # the next task starts from it at the earliest
            self._revision = self._revision if now is None else now.revision
        if self._node.count_services("perception/forget"):
            self._call("perception/forget", Trigger.Request(), "perception_node")
        self._wait_until_seen(8.0)

    def _call_parameters(self, node: str, kind: Any, service: str, request: Any) -> Any:
        name = f"{node}/{service}"
        if name not in self._services:
            self._services[name] = self._node.create_client(kind, name)
        return self._call(name, request, node)

    def parameter(self, node: str, name: str) -> str:
        """The value of a node's text parameter, empty where it has none of this name."""
        request = GetParameters.Request(names=[name])
        found = self._call_parameters(node, GetParameters, "get_parameters", request).values
        return str(found[0].string_value) if found else ""

    def rules(self, domain: str = "") -> list[str]:
        """The sentences of the rules in force, of a domain or ("domain: sentence") of all."""
        every = self.parameter("feedback_node", "rules_in_force").splitlines()
        return [line.removeprefix(f"{domain}: ") for line in every if line.startswith(f"{domain}: ") or not domain]

    def set_parameter(self, node: str, name: str, value: str) -> None:
        """Set a changeable text parameter of a node; raises PlanweaveError with the node's reason."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        answer = self._call_parameters(node, SetParameters, "set_parameters", request).results[0]
        if not answer.successful:
            raise refused(PlanweaveError, f"{node} does not take {name}={value!r}: {answer.reason}", "configuration")

    def world(self, patience: float = 5.0) -> World | None:
        """The world published last; None where none arrives within ``patience`` seconds."""
        with self._heard(WorldState, "world_state", TRANSIENT_LOCAL) as (heard, there):
            there.wait(patience)
        return convert.world_from_msg(heard[-1]) if heard else None

    def _wait_until_seen(self, patience: float) -> None:
        """Wait until perception, after a reset, has found the objects and the world includes them.

        The criterion is the same names in five camera frames, and in the world. Gives up, without an error, after
        ``patience`` seconds.
        """
        if not self._node.count_publishers("perception/detected_objects"):
            return
        settled = threading.Event()
        frames: list[frozenset[str]] = []
        known: frozenset[str] = frozenset()
        revision = 0

        def look() -> None:
            if len(frames) >= SETTLED_FRAMES and known == frames[-1]:
                settled.set()

        def detected(message: DetectedObjects) -> None:
            names = frozenset(thing.name for thing in message.objects)
            if frames and names != frames[-1]:
                frames.clear()
            frames.append(names)
            look()

        def world(message: WorldState) -> None:
            nonlocal known, revision
            revision = int(message.revision)
            known = frozenset(thing.name for thing in message.objects if thing.type != "location")
            look()

        subscriptions = [
            self._node.create_subscription(DetectedObjects, "perception/detected_objects", detected, 10),
            self._node.create_subscription(WorldState, "world_state", world, TRANSIENT_LOCAL),
        ]
        settled.wait(patience)
        for subscription in subscriptions:
            self._drop(subscription)
        self._revision = revision

    def start_recording(self) -> None:
        self._record(RecordVideo.Request(start=True))

    def stop_recording(self, path: str, timeout: float = 600.0) -> int:
        """Write the recording to ``path`` (.webm, .mp4 or .gif), replacing an earlier one; returns the number of
        frames.
        """
        video = Path(path)  # the node writes over no file that is not its own: anybody can ask it to
        if video.suffix in (".webm", ".mp4", ".gif"):
            for file in (video, *(video.with_name(f"{video.stem}_{when}.png") for when in ("before", "after"))):
                file.unlink(missing_ok=True)
        return self._record(RecordVideo.Request(start=False, path=path), timeout)

    def _record(self, request: Any, timeout: float = 30.0) -> int:
        response = self._call("simulation/record", request, "simulation_node", timeout)
        if not response.success:
            raise refused(PlanweaveError, response.message, response.code)
        return int(response.frames)

    def picture(self, topic: str = "camera/color/image_raw", timeout: float = 10.0) -> NDArray[np.uint8]:
        """The next colour image, (height, width, 3) uint8 RGB."""
        with self._heard(Image, topic, IMAGES) as (got, there):
            if not there.wait(timeout):
                raise SystemDownError(f"no images on {topic} for {timeout:g} s")
        return rgb_from_msg(got[0])

    # Waiting

    def _call(self, name: str, request: Any, who: str, timeout: float = 30.0) -> Any:
        client = self._services[name]
        if not client.wait_for_service(timeout_sec=5.0):
            raise SystemDownError(
                f"{name} is not there: {who} does not run; start a system: planweave up tabletop{elsewhere()}"
            )
        if name not in REPEATABLE:
            self._wait_discovered()
            return self._result(client.call_async(request), timeout, f"{who} ({name})")
        deadline, asked = time.monotonic() + timeout, list[Future]()
        while True:  # the first answers may get lost, see MUTUAL_DISCOVERY; or come only after another was asked for
            asked.append(client.call_async(request))
            is_done(asked[-1], min(1.0 * len(asked), deadline - time.monotonic()))
            answered = next((future for future in asked if future.done()), None)
            if answered is not None:
                return answered.result()
            if time.monotonic() >= deadline:
                raise SystemDownError(f"{who} ({name}) did not answer in {timeout:g} s")

    def _wait_discovered(self) -> None:
        """Wait for mutual discovery: a server answers only clients it has discovered, which may take longer than vice
        versa.
        """
        time.sleep(max(0.0, self._born + MUTUAL_DISCOVERY - time.monotonic()))

    def _result(self, future: Future, timeout: float, who: str) -> Any:
        if not is_done(future, timeout):
            raise SystemDownError(f"{who} did not answer in {timeout:g} s")
        return future.result()


def tree_rows(message: ActionTree) -> tuple[TreeRow, ...]:
    rows = []
    for node in message.nodes:
        action = convert.action_from_msg(node.action)
        text = str(action) if action else "[END]" if node.end else ""
        rows.append(TreeRow(node.id, node.parent, text, node.time_step, node.samples, Status(node.status)))
    return tuple(rows)


def _load(record: str) -> dict[str, Any]:
    """A record as a table; empty where there is none."""
    try:
        value = json.loads(record) if record else {}
    except ValueError:
        value = {"unreadable": record[:2000]}
    return value if isinstance(value, dict) else {"record": value}
