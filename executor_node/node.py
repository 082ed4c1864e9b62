"""executor_node: the action server that executes skills with an arm, and the publisher of the world state."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from planweave_interfaces.msg import DetectedObjects
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from executor_node.arm_body import LATE, RosArmBody
from executor_node.parameters import COMMON
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.choose import make_arm, make_gripper, make_planner
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.arms.joints import JointStates
from planweave.bodies.arm.arms.moveit_process import MoveItProcess
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.input_checks import can_be, detections_fault, joint_state_fault
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.parameters import ROBOT_TYPE, parameters_of, skill_lists
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.preview import MotionPreview
from planweave.bodies.arm.robots import check_robot, is_real, kind_of
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.safety import Safety, safety_from
from planweave.bodies.arm.settings import SkillSettings, actions_off, numbers, settings_from
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.unseen_grip import UnseenGrip
from planweave.bodies.arm.waiting import until
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code
from planweave.core.base.health import Report, heard
from planweave.core.base.names import symbols
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.rules import highest
from planweave.geometry.joints import SeenFixture
from planweave.geometry.seen_object import SeenObject
from planweave.goals import RuleFile
from planweave.perception.calibration import eye_of
from planweave.robots import load_robot
from planweave_ros import conversions as convert
from planweave_ros.arm_ports import ArmPorts, ControllerNames
from planweave_ros.camera_pictures import Pictures
from planweave_ros.fixture_messages import fixture_from_msg, is_furniture, seen_from_msg
from planweave_ros.lifecycle import ManagedNode
from planweave_ros.motion_preview import MotionPreviewServer
from planweave_ros.only_one import Sources, second_body
from planweave_ros.recovery import Recovery, make_recovery
from planweave_ros.serve_body import BodyServer, WorldPublisher, keep_the_only_body, serve_body
from planweave_ros.spin import run_node
from planweave_ros.stop_watch import StopWatch

_DISCOVERY = 3.0  # s of wall time for controllers to be discovered
_LAST_RESULT = 1.0  # s of wall time for a stopped action to report its end when the node is shut down
_GOODBYE = 0.3  # s for that report to leave
_SHUT_DOWN = "executor_node was shut down; the arm was stopped"


class ExecutorNode(ManagedNode):
    """Executes one action at a time; publishes the world on every change.

    While inactive it neither observes nor moves.
    """

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("executor_node", COMMON, parameter_overrides)

    def read_parameters(self) -> dict[str, Any]:
        """Those of the robot and of the domain's actions among them."""
        values = super().read_parameters()
        self._robot = load_robot(values[ROBOT_TYPE.name])
        values.update(self.declare(parameters_of(self._robot)))
        self._domain = RuleFile(values["rules"]).load(values["domain"])
        return {**values, **self.declare(skill_lists(self._domain.actions))}

    def configure(self, values: dict[str, Any]) -> None:
        """Load the planning scene, connect the arm, and serve it as a body."""
        self._served: BodyServer | None = None  # once all else is made
        self._watch: StopWatch | None = None
        self._values, robot = values, self._robot
        check_robot(self.get_fully_qualified_name(), values["robot"], values["arm"], values["gripper"], robot)
        self._base_frame = str(values["base_frame"])
        self._scene = PlanningScene(values["robot_model"] or None, robot=robot)
        self._scene.ceiling = highest(self._domain.rules) or math.inf
        self._kinematics = Kinematics(self._scene.model, robot)
        safety, worlds = safety_from(values, self._kinematics), WorldPublisher(self)
        self._names = RosNames(
            self.resolve_topic_name("perception/detected_objects"),
            self.resolve_service_name("executor/recover"),
            self.resolve_service_name("executor/let_go"),
            robot.ros.look,
            kind_of(values["robot"], robot),
            self.resolve_topic_name(values["joint_state_topics"][-1]),
        )
        self._world = self._make_world(safety, worlds)
        self._ports = ArmPorts(
            self, ControllerNames(values["arm_controller"], values["gripper_controller"], values["hand"]), robot
        )
        self._moveit = self._make_moveit() if values["arm"] == "moveit" else None
        self._arm, self._make_skills = self._make_arm()
        self._stamp, self._felt = 0.0, -math.inf  # of the newest joint state: its stamp, and when it came (monotonic)
        self._sent = (0, 0)  # when the two newest joint states were sent, ns of system time
        self._joints = JointStates(robot)
        self._named = ""  # who else may command the arm's controller, as it was logged last
        self._sources, self._pictures = Sources(self), Pictures(self)
        self._unseen_grip = self._make_unseen_grip()
        self._observe()
        self._recovery = self._make_recovery() if is_real(values["robot"]) and robot.ros.driver else None
        self._body = self._make_body(safety)
        self.create_service(
            Trigger, "executor/let_go", self._on_let_go, callback_group=MutuallyExclusiveCallbackGroup()
        )
        keep_the_only_body(self, worlds, self.begun)
        if self._moveit is not None:
            self._moveit.start()
            self.on_release(self._moveit.close)
        # Nothing is refused from here on: the watch of a node that went would stop the arm, which may be another's.
        self._watch = StopWatch([self._ports.cancel_name], lambda: self._busy or self._arm.moves)
        self.on_release(self._watch.close)
        self.on_release(self._end)
        self._served = self._serve(worlds)
        self._preview_motions(self._served)

    def _make_world(self, safety: Safety, worlds: WorldPublisher) -> WorldModel:
        values = self._values
        return WorldModel(
            self._domain,
            load_workspace(values["workspace"]),
            self._kinematics,
            safety,
            worlds.publish,
            values["silence_timeout"],
            values["joint_state_timeout"],
            self._base_frame,
            actions_off(values, self._domain.actions),
        )

    def _make_moveit(self) -> MoveItProcess:
        """MoveIt's process, not started yet."""
        return MoveItProcess(
            self._values["moveit_config"] or str(config_dir() / "moveit"),
            self.get_parameter("use_sim_time").value,
            namespace=self.get_namespace(),
            robot=self.get_parameter(ROBOT_TYPE.name).value,
        )

    def _make_arm(self) -> tuple[ControlledArm, Callable[..., Skills]]:
        """The arm with its gripper, and what makes its skills of limits, world and settings."""
        values = self._values
        gripper = make_gripper(values["gripper"], self._ports, values["home_gripper"])
        joint_state_timeout = values["joint_state_timeout"]
        self._others = self._ports.others(values["arm"], lambda command: self._arm.intruded(command))
        arm = make_arm(
            values["arm"],
            gripper,
            self._ports,
            joint_state_timeout,
            self._moveit,
            self._names,
            self._robot,
            self._others,
        )
        planner = make_planner(self._scene, self._kinematics, arm.check, self._moveit, values["moveit_pipeline"])
        approaches = ApproachPlanner(self._scene, self._kinematics, planner, values["planning_timeout"])
        return arm, partial(Skills, arm, self._scene, approaches)

    def _make_unseen_grip(self) -> UnseenGrip:
        return UnseenGrip(
            self._arm,
            self._world,
            self._values["grip_force"],
            self._values["feel_grip"],
            lambda: until(lambda: not self._ports.absent(), _DISCOVERY),
            self.get_logger().warning,
            self._names.let_go,
            self._values["gripper"] != "none",
        )

    def _observe(self) -> None:
        """Subscribe to joint states and detections, and check whether they are overdue."""
        one_at_a_time = MutuallyExclusiveCallbackGroup()
        for topic in self._values["joint_state_topics"]:
            self.create_subscription(
                JointState, topic, partial(self._on_joint_states, topic), 10, callback_group=one_at_a_time
            )
        self.create_subscription(
            DetectedObjects,
            "perception/detected_objects",
            self._on_detections,
            10,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        self._overdue = self.create_timer(
            self._world.check_overdue(), self._check_overdue, callback_group=MutuallyExclusiveCallbackGroup()
        )

    def _check_overdue(self) -> None:
        self._overdue.timer_period_ns = round(self._world.check_overdue() * 1e9) + 1
        self._overdue.reset()

    def _make_recovery(self) -> Recovery:
        """Recovery of a real arm by its driver, and the service that starts it."""
        values = self._values
        recovery: Recovery = make_recovery(self._robot.ros.driver)(
            self,
            values["arm_controller"],
            numbers(values, "collision_torques", self._robot.count),
            numbers(values, "collision_forces", 6),
        )
        self.create_service(
            Trigger, "executor/recover", self._on_recover, callback_group=MutuallyExclusiveCallbackGroup()
        )
        return recovery

    def _make_body(self, safety: Safety) -> RosArmBody:
        return RosArmBody(
            self._domain,
            self._world,
            self._arm,
            self._make_skills(safety, self._world, self._settings(self._values)),
            self._unseen_grip,
            self._require_controllers,
            lambda: (self._sent[0], self._stamp),
            self._names,
            self.get_logger(),
            lambda: self._watch.beat() if self._watch is not None else None,
        )

    def _settings(self, values: dict[str, Any]) -> SkillSettings:
        """Those of skills by the parameters; raises ConfigError."""
        settings = settings_from(values, self._names, self._robot.count, self._domain, self._pictures)
        name = values["hand_camera"]
        return replace(settings, eye=eye_of(name, self._robot)) if name else settings

    def _serve(self, worlds: WorldPublisher) -> BodyServer:
        """Serve the body's contract from now on."""
        joint_state_timeout = self._values["joint_state_timeout"]
        return serve_body(
            self,
            self._body,
            name="the arm",
            timeout=self._values["action_timeout"],
            worlds=worlds,
            why_idle=lambda: self.why_idle,
            problem=lambda: second_body(self) or self._sources.problem or self._arm.still_moves,
            before_action=self._feel,
            part="arm",
            reports={
                "camera": self._camera_report,
                "joint states": lambda: heard("joint states", time.monotonic() - self._felt, joint_state_timeout),
            },
            hardware=self._robot.name,
            rules=self._values["rules"],
            heights=True,
            require_approval=self._values["require_approval"],
        )

    def _preview_motions(self, served: BodyServer) -> None:
        """Offer the motions of plans, planned by the same skills in a planning scene of their own."""
        values = self._values
        preview = MotionPreview(
            self._domain,
            self._scene.twin(),
            self._kinematics,
            lambda scene, check: make_planner(scene, self._kinematics, check, self._moveit, values["moveit_pipeline"]),
            values["planning_timeout"],
        )
        MotionPreviewServer(
            self, preview, self._world, self._arm.state, lambda: self._skills, served, lambda: self.why_idle
        )

    def pause_work(self) -> None:
        """Stop the arm; the running action ends with SAFETY_STOP."""
        self._stop("executor_node was deactivated; the arm was stopped")

    def stop_work(self) -> None:
        """Stop the arm, end the running action and accept no further goals. The node must be spun meanwhile."""
        if self._served is None or not self.configured:
            return
        self._served.refuse_actions(_SHUT_DOWN)
        if self.refused and not self._busy:
            return  # what moves is moved by the other body
        stopped = self._stop(_SHUT_DOWN)
        self._world.end()  # a look that waits would outlive the node, and keep it in the graph
        if stopped:
            time.sleep(_GOODBYE)

    def _stop(self, why: str) -> bool:
        """Stop the arm, wait until it is measured to rest, and end the running action; whether there was one."""
        busy = self._busy
        self._arm.abort(Code.SAFETY_STOP, why)
        problem = self._arm.wait_standing()
        if problem:
            self.get_logger().error(f"{why}. But {problem}")
        if busy and self._served is not None:
            self._served.wait_idle(_LAST_RESULT)
        return busy

    @property
    def _busy(self) -> bool:
        return self._served is not None and self._served.busy

    @property
    def _skills(self) -> Skills:
        return self._body.skills

    def _feel(self, given_up: Callable[[], bool]) -> None:
        """Feel whether the gripper holds something, before the first action."""
        if self.active:
            self._unseen_grip.wait(given_up)

    def _end(self) -> None:
        """Stop the arm at once; `stop_work` or `pause_work` comes before."""
        with contextlib.suppress(Exception):  # the context may be gone already
            self._arm.abort(Code.SAFETY_STOP, _SHUT_DOWN)
        self._world.end()

    # ---- in -----------------------------------------------------------------------------------------------------

    def _believes(self, what: str, topic: str, info: dict[str, Any]) -> bool:
        """Whether a message is from the trusted publisher; a second publisher stops the arm."""
        problem = self._sources.problem_with(what, topic, info)
        if problem and self._busy:
            self._arm.abort(Code.SAFETY_STOP, f"{problem}; the arm was stopped")
        return not problem

    def _on_joint_states(self, topic: str, msg: JointState, info: dict[str, Any]) -> None:
        # Arm and fingers may have a broadcaster each, on one topic.
        parts = [
            part
            for part, joints in (("arm", self._robot.joint_names), ("fingers", self._robot.gripper.joints))
            if not set(joints).isdisjoint(msg.name)
        ]
        if not all(self._believes(f"{topic} ({part})", topic, info) for part in parts):
            return
        fault = joint_state_fault(msg.name, msg.position, msg.velocity, msg.effort)
        if fault:
            self._left_out(f"joint states on {topic}", fault)
            return
        stamp = convert.time_from_msg(msg.header.stamp)
        state = self._joints.add(stamp, msg.name, msg.position, msg.velocity, msg.effort)
        if state is None:
            if "arm" in parts:
                self._left_out(f"joint states on {topic}", self._joints.problem)
            return
        if state.stamp < self._stamp - 1.0:
            self.get_logger().warning(
                f"the clock of {self.resolve_topic_name(topic)} went back: the simulation was restarted"
            )
            self._arm.abort(Code.CONTROL_FAILED, "the controller was restarted meanwhile")
            self._world.clock_restarted()
        self._stamp = state.stamp
        self._sent, self._felt = (self._sent[1], info["source_timestamp"]), time.monotonic()
        self._arm.on_state(state)
        self._world.on_joints(state.positions, state.width if state.fingers and not self._busy else None)
        if self.active and state.fingers:  # it may move the fingers
            self._unseen_grip.on_state(state)

    def _on_detections(self, msg: DetectedObjects, info: dict[str, Any]) -> None:
        if not self._believes("detections", "perception/detected_objects", info):
            return
        if msg.header.frame_id != self._base_frame:
            self._left_out("detections", f"in frame {msg.header.frame_id!r}, but must be in {self._base_frame!r}")
            return
        stamp = convert.time_from_msg(msg.header.stamp)
        fault = detections_fault(len(msg.objects), stamp, self._stamp)
        if fault:
            self._left_out("detections", fault)
            return
        things, furniture = dict[str, SeenObject](), dict[str, SeenFixture]()
        names = symbols(o.name for o in msg.objects)
        for detected in msg.objects:
            name = names.get(detected.name, "")
            numbers = convert.position_from_msg(detected.pose), convert.orientation_from_msg(detected.pose)
            if (
                not name
                or name in things
                or name in furniture
                or not can_be(*numbers, convert.size_from_msg(detected.size))
            ):
                self._left_out(
                    f"the detected object {detected.name[:100]!r}",
                    "its name is empty or not unique, or its pose or size is invalid",
                )
                continue
            try:
                if is_furniture(detected):
                    furniture[name] = fixture_from_msg(detected, name)
                else:
                    things[name] = seen_from_msg(detected, name)
            except ValueError as error:
                self._left_out(f"the detected object {name}", str(error))
        places = ((p.x, p.y, p.z) for p in msg.camera)
        camera = next((place for place in places if can_be(place, (), (1.0,))), None)
        self._world.on_seen(things.values(), furniture.values(), stamp, camera)

    def _left_out(self, what: str, why: str) -> None:
        self.get_logger().warning(f"{what}: left out ({why})", throttle_duration_sec=10.0)

    def change(self, new: dict[str, Any]) -> None:
        """Change places, speeds, forces and workspace while no action runs."""
        with self._beside_actions() as busy:
            if busy:
                raise ConfigError(f"the arm is busy with {busy}; set it after that")
            values = {**self._values, **new}
            safety, settings = safety_from(values, self._kinematics), self._settings(values)
            self._world.use_places(load_workspace(values["workspace"]))
            self._world.use_limits(safety)
            self._body.skills, self._values = self._make_skills(safety, self._world, settings), values

    @contextlib.contextmanager
    def _beside_actions(self) -> Iterator[str]:
        """Let no action begin meanwhile; gives what the arm is busy with."""
        if self._served is None:
            yield ""
        else:
            with self._served.lock:
                yield self._served.busy_with

    # ---- out ----------------------------------------------------------------------------------------------------

    def _camera_report(self) -> Report:
        world = self._world.world()
        return heard(
            "detections", time.time() - world.heard if world.heard else math.inf, 0.0 if world.silent else math.inf
        )

    def _on_recover(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Clear the robot's error, when nothing runs."""
        assert self._recovery is not None
        with self._served.reserved("the recovery") if self._served is not None else contextlib.nullcontext("") as busy:
            self._refuse_while(busy)
            response.success, response.message = self._recovery.run()
        return response

    def _on_let_go(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Open the gripper, when nothing runs; what it holds falls."""
        with self._beside_actions() as busy:
            if self.why_idle:
                raise SkillFailureError(Code.NOT_STARTED, f"nothing was moved: {self.why_idle}")
            self._refuse_while(busy)
            problem = self._unseen_grip.let_go()
        response.success, response.message = not problem, problem or "the gripper is open"
        return response

    @staticmethod
    def _refuse_while(busy: str) -> None:
        if busy:
            raise SkillFailureError(Code.NOT_STARTED, f"the arm is busy with {busy}; cancel that first")

    def _require_controllers(self) -> None:
        """Raise where a controller is missing, of the wrong kind, or cannot be activated."""
        problem = self._watch.problem if self._watch is not None else ""
        check = self._arm.check
        problem = problem or (self._recovery.prepare(check) if self._recovery is not None else "")
        advice = self._names.how_to_recover
        if problem:
            raise SkillFailureError(Code.CONTROL_FAILED, f"the arm is not ready: {problem}; {advice}")
        if not until(lambda: not self._ports.absent(), LATE, check=check):
            raise SkillFailureError(Code.CONTROL_FAILED, f"nobody offers {self._ports.absent()}: {advice}")
        wrong = partial(self._ports.wrong_controller, self._values["robot"] == "simulation")
        if not until(lambda: not wrong(), _DISCOVERY, check=check):
            raise SkillFailureError(Code.NOT_STARTED, f"{wrong()}; nothing was moved")
        named = self._others.named()
        if named and named != self._named:
            self.get_logger().warning(
                f"{named} may command the arm's controller, too: a command of theirs during a motion stops the arm"
            )
        self._named = named


def main() -> int:
    return run_node(ExecutorNode, threads=6, stop=ExecutorNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())
