"""The two ports of planweave.ports over ROS: action and service clients of the planner node and of a body."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planweave_interfaces.action import ChooseAction, ExecuteAction, GeneratePlans, ProposeSteps, WritePlan
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import CheckCondition, GroundStep, InterpretGoal, LookFor
from rclpy.action import ActionClient
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future

from planweave.cancellation import Cancellation
from planweave.errors import GoalError, ModelError, ParseError, PlanweaveError, SystemDownError
from planweave.failure import Code
from planweave.ports import Check, Choice, Grounding, Interpretation, Outcome, Proposals, SampledPlans, Written
from planweave.world import Action, Literal, World
from planweave_ros import conversions as convert

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
#: A server answers only a client that it has discovered, which may take it so many seconds longer than the other way.
MUTUAL_DISCOVERY = 0.8
_STOP_SECONDS = 5.0  # how long a server may take to confirm a cancellation
_LOOK_SECONDS = 0.5  # how often is looked whether the servers are there


class _Caller:
    """Sends goals and requests from a thread that does not spin the node; every wait has a deadline."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation]):
        self._node, self._canceled = node, canceled
        self._group = ReentrantCallbackGroup()
        self._since: dict[Any, float | None] = {}  # client -> when its server was first seen; None: not there
        node.create_timer(_LOOK_SECONDS, self._look, callback_group=self._group)

    def action_client(self, kind: Any, name: str) -> ActionClient:
        """A client of an action server whose coming and going is watched."""
        client = ActionClient(self._node, kind, name, callback_group=self._group)
        self._since[client] = None
        return client

    def client(self, kind: Any, name: str) -> Any:
        """A client of a service whose coming and going is watched."""
        client = self._node.create_client(kind, name, callback_group=self._group)
        self._since[client] = None
        return client

    def _look(self) -> None:
        now = time.monotonic()
        for client, since in self._since.items():
            self._since[client] = (since or now) if _is_ready(client) else None

    def wait(self, future: Future, seconds: float, what: str, alive: Callable[[], bool]) -> Any:
        """The result of a future; None where the task is cancelled first; SystemDownError after the deadline."""
        ready = threading.Event()
        future.add_done_callback(lambda _: ready.set())
        canceled = self._canceled()
        deadline = time.monotonic() + seconds
        missing = 0
        with canceled.calling(ready.set):
            while not ready.wait(max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic()))):
                missing = 0 if alive() else missing + 1
                if missing >= 2:
                    raise SystemDownError(f"{what} has gone away; start it again and repeat the task")
                if time.monotonic() >= deadline:
                    raise SystemDownError(f"{what} did not answer in {seconds:g} s")
        return future.result() if future.done() else None

    def there(self, client: Any, seconds: float) -> bool:
        """Whether a server is there, or comes before a deadline; one that has just come is left time to discover us."""
        wait = client.wait_for_server if isinstance(client, ActionClient) else client.wait_for_service
        if not wait(timeout_sec=seconds):
            return False
        since = self._since[client] or time.monotonic()
        time.sleep(max(0.0, since + MUTUAL_DISCOVERY - time.monotonic()))
        return True

    def check_canceled(self) -> None:
        """Raise CanceledError where the running task was cancelled."""
        self._canceled().check()

    def run_goal(
        self, client: ActionClient, goal: Any, seconds: float, what: str,
        on_feedback: Callable[[Any], None] | None = None,
    ) -> Any:
        """Send a goal and wait for its result; cancelled on the server when the wait ends early."""
        if not self.there(client, min(seconds, 5.0)):
            raise SystemDownError(f"{what} is not running; start it, e.g. with: planweave up tabletop")
        listener = (lambda message: on_feedback(message.feedback)) if on_feedback else None
        alive = client.server_is_ready
        sent = client.send_goal_async(goal, feedback_callback=listener)
        try:
            handle = self.wait(sent, min(seconds, 10.0), what, alive)
        except SystemDownError:
            sent.add_done_callback(_cancel_late)
            raise
        if handle is None:
            sent.add_done_callback(_cancel_late)
            self._canceled().check()
        if not handle.accepted:
            raise SystemDownError(f"{what} rejected the goal; it may be busy with another one")
        result = handle.get_result_async()
        try:
            reply = self.wait(result, seconds, what, alive)
        except SystemDownError:
            handle.cancel_goal_async()
            raise
        if reply is None:  # the task was cancelled: stop the server, and wait until it has stopped
            handle.cancel_goal_async()
            stopped = threading.Event()
            result.add_done_callback(lambda _: stopped.set())
            if not stopped.wait(_STOP_SECONDS):
                raise SystemDownError(f"{what} did not confirm the cancellation in {_STOP_SECONDS:g} s")
            self._canceled().check()
        return reply.result


def _failure(reply: Any, error: PlanweaveError | None = None) -> PlanweaveError:
    """What a failed question raises, with what was asked: by default ParseError where the model did answer, else
    ModelError."""
    used = convert.usage_from_msg(reply.usage)
    answered = used.requests or getattr(reply, "unreadable", 0)
    error = error or (ParseError if answered else ModelError)(reply.message)
    error.usage = used if used.requests else None
    return error


def _is_ready(client: Any) -> bool:
    return bool(client.server_is_ready() if isinstance(client, ActionClient) else client.service_is_ready())


def _cancel_late(future: Future) -> None:
    handle = future.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()


class RosPlanner:
    """planweave.ports.Planner over the planner node's actions and services. timeout in seconds for each call."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float):
        caller = _Caller(node, canceled)
        self._caller, self._timeout = caller, timeout
        self._generate = caller.action_client(GeneratePlans, "/generate_plans")
        self._choose = caller.action_client(ChooseAction, "/choose_action")
        self._propose = caller.action_client(ProposeSteps, "/propose_steps")
        self._write = caller.action_client(WritePlan, "/write_plan")
        self._interpret = caller.client(InterpretGoal, "/interpret_goal")
        self._ground = caller.client(GroundStep, "/ground_step")
        self._check = caller.client(CheckCondition, "/check_condition")

    def _goal(self, client: ActionClient, goal: Any, name: str) -> Any:
        """The result of an action of the planner node; raises ParseError or ModelError where it failed."""
        result = self._caller.run_goal(client, goal, self._timeout, f"planner_node ({name})")
        if not result.success:
            raise _failure(result)
        return result

    def generate_plans(
        self, sentence: str, world: World, *, samples: int = 0, temperature: float = -1.0, top_p: float = 0.0,
        task_id: str = "", method: str = "tree_planner",
    ) -> SampledPlans:
        """See planweave.ports.Planner."""
        goal = GeneratePlans.Goal(
            method=method, task_id=task_id, sentence=sentence, world=convert.world_to_msg(world), samples=samples,
            temperature=float(temperature), top_p=float(top_p),
        )
        result = self._goal(self._generate, goal, "/generate_plans")
        return SampledPlans(
            tuple(convert.plan_from_msg(p) for p in result.plans), int(result.received), int(result.dropped),
            int(result.mended), convert.usage_from_msg(result.usage),
        )

    def choose_action(
        self, sentence: str, world: World, history: Sequence[Action], options: Sequence[Action | None], *,
        errors: Sequence[str] = (), samples: int = 0, temperature: float = -1.0, task_id: str = "",
    ) -> Choice:
        """See planweave.ports.Planner."""
        goal = ChooseAction.Goal(
            method="tree_planner", task_id=task_id, sentence=sentence, world=convert.world_to_msg(world),
            history=[convert.action_to_msg(a) for a in history], errors=list(errors),
            options=[convert.action_to_msg(o) for o in options], samples=samples, temperature=float(temperature),
        )
        return convert.choice_from_result(self._goal(self._choose, goal, "/choose_action"))

    def select_action(
        self, method: str, sentence: str, world: World, history: Sequence[Action], options: Sequence[Action], *,
        goal: Sequence[Literal] = (), errors: Sequence[str] = (), task_id: str = "",
    ) -> Choice:
        """See planweave.ports.Planner."""
        request = ChooseAction.Goal(
            method=method, task_id=task_id, sentence=sentence, world=convert.world_to_msg(world),
            history=[convert.action_to_msg(a) for a in history], errors=list(errors),
            options=[convert.action_to_msg(o) for o in options], goal=convert.literals_to_msg(goal), temperature=-1.0,
        )
        return convert.choice_from_result(self._goal(self._choose, request, "/choose_action"))

    def propose_steps(
        self, method: str, sentence: str, world: World, history: Sequence[Action], *, errors: Sequence[str] = (),
        samples: int = 0, task_id: str = "",
    ) -> Proposals:
        """See planweave.ports.Planner."""
        goal = ProposeSteps.Goal(
            method=method, task_id=task_id, sentence=sentence, world=convert.world_to_msg(world),
            history=[convert.action_to_msg(a) for a in history], errors=list(errors), samples=samples,
        )
        result = self._goal(self._propose, goal, "/propose_steps")
        candidates = tuple(convert.candidate_from_msg(c) for c in result.candidates)
        return Proposals(candidates, convert.usage_from_msg(result.usage))

    def write(
        self, method: str, sentence: str, world: World, *, history: Sequence[str] = (), errors: Sequence[str] = (),
        start: int = 0, options: Mapping[str, bool] | None = None, task_id: str = "",
    ) -> Written:
        """See planweave.ports.Planner."""
        goal = WritePlan.Goal(
            method=method, task_id=task_id, sentence=sentence, world=convert.world_to_msg(world),
            history=list(history), errors=list(errors), start=start,
            options=[f"{k}={'true' if v else 'false'}" for k, v in (options or {}).items()],
        )
        result = self._goal(self._write, goal, "/write_plan")
        return Written(tuple(result.lines), result.explanation, convert.usage_from_msg(result.usage))

    def ground_step(
        self, method: str, sentence: str, step: str, world: World, *, errors: Sequence[str] = (), task_id: str = "",
    ) -> Grounding:
        """See planweave.ports.Planner."""
        request = GroundStep.Request(
            method=method, task_id=task_id, sentence=sentence, step=step, world=convert.world_to_msg(world),
            errors=list(errors),
        )
        reply = self._call(self._ground, request, "/ground_step")
        if not reply.success:
            raise _failure(reply)
        return Grounding(convert.action_from_msg(reply.action), reply.message, convert.usage_from_msg(reply.usage))

    def check_condition(self, condition: str, world: World, *, task_id: str = "") -> Check:
        """See planweave.ports.Planner."""
        request = CheckCondition.Request(task_id=task_id, condition=condition, world=convert.world_to_msg(world))
        reply = self._call(self._check, request, "/check_condition")
        if not reply.success:
            raise _failure(reply)
        return Check(bool(reply.holds), reply.source, convert.usage_from_msg(reply.usage))

    def interpret_goal(self, sentence: str, world: World) -> Interpretation:
        """See planweave.ports.Planner."""
        request = InterpretGoal.Request(sentence=sentence, world=convert.world_to_msg(world))
        reply = self._call(self._interpret, request, "/interpret_goal")
        if not reply.success:
            raise _failure(reply, GoalError(reply.message))
        return Interpretation(
            convert.literals_from_msg(reply.goal), reply.source, convert.usage_from_msg(reply.usage)
        )

    def _call(self, client: Any, request: Any, name: str) -> Any:
        """The answer of a service of the planner node."""
        if not self._caller.there(client, 5.0):
            raise SystemDownError(f"planner_node ({name}) is not running; start it: planweave up tabletop")
        reply = self._caller.wait(
            client.call_async(request), self._timeout, f"planner_node ({name})", client.service_is_ready
        )
        if reply is None:
            self._caller.check_canceled()
        return reply


class RosBody:
    """planweave.ports.Body over ExecuteAction and WorldState, whichever body serves them.

    timeout: seconds an action may take where the caller sets none; silence: seconds to wait for a first world.
    """

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float, silence: float):
        caller = _Caller(node, canceled)
        self._caller, self._timeout, self._silence = caller, timeout, silence
        self._node = node
        self._execute = caller.action_client(ExecuteAction, "/execute_action")
        self._world: World | None = None
        self._result_time = 0  # when the last result came, nanoseconds of system time
        self._arrived = threading.Condition()
        one_by_one = MutuallyExclusiveCallbackGroup()  # else two threads may take two worlds in the wrong order
        node.create_subscription(WorldState, "/world_state", self._heard, LATCHED, callback_group=one_by_one)

    def _heard(self, msg: WorldState, info: dict[str, int]) -> None:
        """Keep a published world, unless it was sent before the last result and is older than the world in that."""
        world = convert.world_from_msg(msg)
        with self._arrived:
            late = info["source_timestamp"] < self._result_time
            if not (late and self._world is not None and world.revision < self._world.revision):
                self._world = world
            self._arrived.notify_all()

    def observe(self, revision: int = 0) -> World:
        """See planweave.ports.Body."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._world is not None and self._world.revision >= revision, self._silence)
            world = self._world
        if world is None or not self._node.count_publishers("/world_state"):
            raise SystemDownError(
                f"no body reports the world (nothing on /world_state in {self._silence:g} s): is executor_node "
                "running, and does perception see camera images? try: planweave doctor"
            )
        if world.revision < revision:
            raise SystemDownError(
                f"the task is to begin in world revision {revision}, but the body's newest is {world.revision} after "
                f"{self._silence:g} s; was the body restarted? look at /world_state anew and send the task again")
        return world

    def execute(
        self, action: Action, *, task_id: str = "", timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
    ) -> Outcome:
        """See planweave.ports.Body."""
        seconds = timeout or self._timeout
        goal = ExecuteAction.Goal(task_id=task_id, action=convert.action_to_msg(action), timeout=float(seconds))
        listener = (lambda f: on_phase(f.phase, f.progress)) if on_phase else None
        try:
            result = self._caller.run_goal(self._execute, goal, seconds + 5.0, "the body (/execute_action)", listener)
        except SystemDownError as error:
            world = self._world or World("")
            return Outcome(Code.CONTROL_FAILED, str(error), world)
        world = convert.world_from_msg(result.world)
        with self._arrived:
            self._world, self._result_time = world, time.time_ns()
        return Outcome(
            Code(result.code), result.message, world,
            convert.literals_from_msg(result.unmet), float(result.motion_seconds), float(result.planning_seconds),
        )


class RosEyes:
    """Tells perception_node what to look for, where its detector has to be told. timeout in seconds for each call."""

    def __init__(self, node: Node, canceled: Callable[[], Cancellation], timeout: float):
        self._caller, self._timeout = _Caller(node, canceled), timeout
        self._look = self._caller.client(LookFor, "/perception/look_for")

    def look_for(self, names: Sequence[str]) -> str:
        """Answers once the names were looked for; "" where nobody needs to be told, at once."""
        if not names or not self._look.service_is_ready():
            return ""
        reply = self._caller.wait(
            self._look.call_async(LookFor.Request(names=list(names))), self._timeout,
            "perception_node (/perception/look_for)", self._look.service_is_ready,
        )
        if reply is None:
            self._caller.check_canceled()
        return str(reply.message)
