"""virtualhome_node: the household body. Carries out actions in a VirtualHome home and publishes what is seen of it."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Sequence
from typing import Any

from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import LoadScene, Look
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CompressedImage
from std_srvs.srv import Trigger

from planweave.bodies.home.body import HomeSession
from planweave.bodies.home.home import Home, SimulatedHome, UnityHome
from planweave.bodies.home.simulator import Step
from planweave.bodies.home.unity import UnityClient
from planweave.core.errors import PlanweaveError
from planweave.core.failure import Code
from planweave.core.world import World
from planweave_ros import conversions as convert
from planweave_ros.deferred import RESULT_TIMEOUT
from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import Parameter, declare
from planweave_ros.presence import BODY, COMMANDER, Presence, show_presence
from planweave_ros.running_tasks import RunningTasks
from planweave_ros.spin import run_node

PARAMETERS = [
    Parameter("scene", "home_flat", "home: a name under config/scenes, or the path of a VirtualHome graph (JSON)"),
    Parameter("backend", "simulator", "what plays the home", choices=("simulator", "unity")),
    Parameter(
        "observe",
        "partial",
        "what of the home is told: what can be seen from the room, or everything",
        choices=("partial", "full"),
    ),
    Parameter(
        "names",
        "all",
        "things whose names are known: all from the start, or those seen so far",
        choices=("all", "seen"),
    ),
    Parameter("action_timeout", 60.0, "wall seconds for one action where its goal gives no time", 0.1, 3600.0),
    Parameter("action_seconds", 0.0, "wall seconds that an action takes in the simulator, to watch it", 0.0, 60.0),
    Parameter("picture_period", 0.5, "wall seconds between looks whether a new picture is due", 0.05, 60.0),
    Parameter("unity.url", "http://127.0.0.1:8080", "where Unity listens"),
    Parameter("unity.timeout", 60.0, "wall seconds for one request to Unity that is no action", 1.0, 600.0),
    Parameter("unity.environment", 0, "number of Unity's environment", 0, 1000),
    Parameter("unity.animate", True, "show the movements; without, the graph changes at once"),
]
_LAST_RESULT = 1.0  # s of wall time for a stopped action to report its end when the node is shut down
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class VirtualHomeNode(GuardedNode):
    """Executes one action at a time; publishes the world after each, and whenever the home was changed otherwise."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("virtualhome_node", parameter_overrides=list(parameter_overrides))
        values = declare(self, PARAMETERS)
        self._default_timeout: float = values["action_timeout"]
        home: Home
        if values["backend"] == "unity":
            client = UnityClient(values["unity.url"], values["unity.timeout"])
            home = UnityHome(client, values["unity.environment"], values["unity.animate"])
        else:
            home = SimulatedHome(values["scene"], values["action_seconds"])
        self.body = HomeSession(home, values["observe"] == "partial", values["names"], self._now)
        self._lock = threading.Lock()
        self._busy = ""
        self._pictured: tuple[int, int] | None = None  # revision and number of subscribers of the last picture
        self._gone = self._ending = False
        self._commander = Presence(self, COMMANDER)
        self._worlds = self.create_publisher(WorldState, "world_state", LATCHED)
        self._pictures = self.create_publisher(CompressedImage, "virtualhome/picture", LATCHED)
        group = ReentrantCallbackGroup()
        self._server = ActionServer(
            self,
            ExecuteAction,
            "execute_action",
            self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=group,
            result_timeout=RESULT_TIMEOUT,
        )
        self._tasks = RunningTasks(self)
        self.create_service(Look, "look", self._look, callback_group=group)
        self.create_service(Trigger, "virtualhome/reset", self._reset, callback_group=group)
        self.create_service(LoadScene, "virtualhome/load_scene", self._load_scene, callback_group=group)
        self.create_timer(values["picture_period"], self._draw, callback_group=MutuallyExclusiveCallbackGroup())
        world = self._publish()
        show_presence(self, BODY)
        self.get_logger().info(
            f"ready: {values['backend']}, {len(world.objects)} things told, the person is in "
            f"{next((f.args[0] for f in world.facts if f.predicate == 'agent_in'), 'no room')}"
        )

    def stop_work(self) -> None:
        """Let a running action end early; it reports its end while the node is still spun."""
        self._ending = True
        end = time.monotonic() + _LAST_RESULT
        while self._busy and time.monotonic() < end:
            time.sleep(0.01)

    def destroy_node(self) -> None:
        """Let a running action end early."""
        self._gone = self._ending = True
        super().destroy_node()

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _publish(self) -> World:
        world = self.body.observe()
        if not self._gone:
            self._worlds.publish(convert.world_to_msg(world))
        return world

    def _take(self, what: str) -> str:
        """Reserve the home for one operation; returns the current one where it is busy."""
        with self._lock:
            if not self._busy:
                self._busy = what
                return ""
            return self._busy

    def _execute(self, goal: ServerGoalHandle) -> ExecuteAction.Result:
        action = convert.action_from_msg(goal.request.action)
        seconds = float(goal.request.timeout) or self._default_timeout
        started = time.monotonic()
        if action is None:
            step = Step(Code.INVALID_ACTION, "the goal names no action, for example walk(fridge_10)")
        elif not seconds > 0:
            step = Step(Code.INVALID_ACTION, f"timeout must be above 0 s, got {seconds:g}")
        elif busy := self._take(str(action)):
            step = Step(Code.CONTROL_FAILED, f"busy with {busy}: one action at a time; wait for it, or cancel it")
        else:
            try:
                goal.publish_feedback(ExecuteAction.Feedback(phase="acting", progress=0.0))
                commanded = self._commander.there

                def stopped() -> bool:
                    return goal.is_cancel_requested or self._ending or (commanded and self._commander.lost)

                step = self.body.execute(action, seconds, stopped)
            except PlanweaveError as error:
                step = Step(Code.CONTROL_FAILED, str(error))
            finally:
                self._busy = ""
        result = ExecuteAction.Result(
            code=int(step.code),
            message=step.message,
            unmet=convert.literals_to_msg(step.unmet),
            motion_seconds=time.monotonic() - started,
        )
        world = self._publish()
        result.world = convert.world_to_msg(world)
        if step.code is Code.CANCELED and goal.is_cancel_requested:
            goal.canceled()
        elif step.ok:
            goal.succeed()
        else:
            goal.abort()
        return result

    def _change(self, what: str, change: Any, response: Any) -> Any:
        """Change the home while no task and no action runs."""
        if problem := self._tasks.problem():
            response.success, response.message = False, f"the home stays: {problem}"
            return response
        if busy := self._take(what):
            response.success, response.message = False, f"not now: busy with {busy}; cancel it first"
            return response
        try:
            change()
        except PlanweaveError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, f"{what} done"
        finally:
            self._busy = ""
        self._publish()
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._change("reset", self.body.reset, response)

    def _load_scene(self, request: LoadScene.Request, response: LoadScene.Response) -> LoadScene.Response:
        return self._change(f"load {request.scene}", lambda: self.body.load(request.scene), response)

    def _look(self, _: Look.Request, response: Look.Response) -> Look.Response:
        """Look around; at once, as the home changes at the end of an action only."""
        response.fresh, response.world = True, convert.world_to_msg(self.body.look())
        return response

    def _draw(self) -> None:
        """A picture where someone looks and something has changed, or where someone new looks."""
        watchers = self._pictures.get_subscription_count()
        key = self.body.home.simulator.revision, watchers
        if not watchers or key == self._pictured or self._busy:
            return
        self._pictured = key
        msg = CompressedImage(format="png", data=array("B", self.body.picture()))
        msg.header.stamp = self.get_clock().now().to_msg()
        msg.header.frame_id = "home"
        self._pictures.publish(msg)


def main() -> int:
    """Console script."""
    return run_node(VirtualHomeNode, stop=VirtualHomeNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
