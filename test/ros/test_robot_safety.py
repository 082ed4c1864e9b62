"""Nothing dangerous by accident: which robot this is, parameters that reach nobody, and stops that do."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from action_msgs.srv import CancelGoal
from codes import raises_code
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from doubles.environment import python_path
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import DetectedObjects, WorldState
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from ros_fixtures import simulated
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from executor_node import node as executor
from executor_node.node import ExecutorNode
from planweave.core.base.failure import Code
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.world import Action
from planweave.core.workflow.action_end import End
from planweave.launcher import parameter_files
from planweave.robots import load_robot
from planweave_ros import conversions as convert
from planweave_ros.action_port import ActionPort
from planweave_ros.arm_ports import ArmPorts, ControllerNames, HeardCommanders
from planweave_ros.deferred import DeferredActionServer
from planweave_ros.graph import missing, permissions_of, read_policies
from planweave_ros.stop_watch import StopWatch, enclave_of

FR3 = load_robot()

FILES = [config_dir() / "executor.yaml", config_dir() / "franka.yaml"]


@pytest.mark.parametrize(
    ("files", "rules", "words"),
    [
        ([], [], "nothing says which robot this is"),
        (FILES, ["-r", "__node:=left"], "/left was given parameters that are not for it"),
    ],
)
def test_a_robot_that_is_not_told_clearly_does_not_start(files, rules, words):
    given = [word for path in files for word in ("--params-file", str(path))]
    done = subprocess.run(
        [sys.executable, "-m", "executor_node.node", "--ros-args", *given, *rules],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert words in done.stderr and all(str(path) in done.stderr for path in files), done.stderr


@pytest.mark.parametrize("namespace", ["", "/arm1", "/lab/arm1"])
def test_ros_reads_entries_as_we_do(ros, tmp_path, namespace):
    """rcl's own reading of the names in parameter files, against planweave.launcher.parameter_files."""
    entries = ["executor_node", "/**/executor_node", "/**", "/*/executor_node", "/arm1/executor_node", "/**/left"]
    given = []
    for number, entry in enumerate(entries):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"{entry}:\n  ros__parameters: {{mark_{number}: 1}}\n")
        given += ["--params-file", str(path)]
    context = ros.Context()
    ros.init(args=["--ros-args", *given], context=context)
    node = ros.create_node(
        "executor_node",
        namespace=namespace or None,
        context=context,
        automatically_declare_parameters_from_overrides=True,
    )
    fits = [node.has_parameter(f"mark_{number}") for number in range(len(entries))]
    node.destroy_node()
    ros.shutdown(context=context)
    assert fits == [parameter_files.is_for(entry, f"{namespace}/executor_node") for entry in entries]


def test_a_real_controller_is_not_moved_with_the_speeds_of_the_simulation(make_node, spin_until):
    """robot: simulation, where ros2_control's controller is in the same ROS domain."""
    from std_srvs.srv import Trigger

    ports = ArmPorts(
        make_node("a_body"), ControllerNames("/fr3_arm_controller", "/fr3_gripper_controller", "/franka_gripper"), FR3
    )
    action, _ = ports.follow()

    def controller(name):
        return ActionServer(
            make_node(name), FollowJointTrajectory, "/fr3_arm_controller/follow_joint_trajectory", lambda handle: None
        )

    assert ports.absent() == "/fr3_arm_controller/follow_joint_trajectory"
    real = controller("fr3_arm_controller")
    spin_until(lambda: "/fr3_arm_controller controls the arm" in ports.wrong_controller(True), 10, "the controller")
    spin_until(lambda: not ports.absent() and not ports.wrong_controller(False), 10, "a real arm to have it")
    simulation = controller("simulation")
    simulation._node.create_service(Trigger, "/simulation/reset", lambda *_: None)
    both = "/fr3_arm_controller and /simulation both offer"
    spin_until(lambda: all(both in ports.wrong_controller(s) for s in (True, False)), 10, "two controllers to be told")
    real.destroy()
    spin_until(lambda: not ports.wrong_controller(True), 10, "the simulation's controller alone")
    simulation.destroy()


def test_a_stop_follows_a_remapped_controller(ros, spin_until):
    """The rule names the action only, as people write it; both goal and cancel go to the other name."""
    context = ros.Context()
    ros.init(args=["--ros-args", "-r", "/arm_controller/follow:=/my_controller/follow"], context=context)
    node = ros.create_node("remapped", context=context)
    running = threading.Event()

    def work(handle):
        running.set()
        spin_until(lambda: handle.is_cancel_requested, 10, "the cancel request")
        handle.canceled()
        return ExecuteAction.Result()

    server = ActionServer(
        node,
        ExecuteAction,
        "/my_controller/follow",
        work,
        callback_group=ReentrantCallbackGroup(),
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    port = ActionPort(node, ExecuteAction, "/arm_controller/follow")
    executor = MultiThreadedExecutor(num_threads=4, context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        spin_until(
            lambda: port._client.server_is_ready() and port._canceler._client.service_is_ready(), 10, "the server"
        )
        ends = []
        port.send(ExecuteAction.Goal(), ends.append)
        assert running.wait(60.0)
        assert port.cancel() == ""
        spin_until(lambda: ends, 10, "the goal to end")
        assert ends[0].end is End.CANCELED
        server.destroy()
        spin_until(lambda: not port._canceler._client.service_is_ready(), 30, "the controller to be gone")
        assert port.cancel() == "nobody offers /my_controller/follow, so the stop was not delivered"
    finally:
        executor.shutdown(timeout_sec=30.0)
        thread.join(60.0)
        node.destroy_node()
        ros.shutdown(context=context)


def test_a_sender_that_is_killed_or_stands_still_leaves_no_arm_moving(make_node, spin_until):
    """A process that sent a goal is stopped (SIGSTOP), another killed: the goal of each is cancelled by its watch.

    The second is in a namespace, and rules send each service of its action elsewhere.
    """
    canceled, node = [], make_node("controllers")

    def serve(action):
        def work(handle):
            spin_until(lambda: handle.is_cancel_requested, 60, "the cancel request")
            handle.canceled()
            canceled.append(action)
            return ExecuteAction.Result()

        return ActionServer(
            node,
            ExecuteAction,
            action,
            work,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    actions = ["/one/follow", "/two/follow"]
    servers = [serve(action) for action in actions]
    environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parent.parent)}
    rules = [
        f"arm/follow/_action/{name}:=follow/_action/{name}"
        for name in ("send_goal", "get_result", "cancel_goal", "feedback", "status")
    ]
    elsewhere = ["arm/follow", "--ros-args", "-r", "__ns:=/two", *(word for rule in rules for word in ("-r", rule))]
    senders = [
        subprocess.Popen(
            [sys.executable, "-m", "doubles.watched_process", *words],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for words in ([actions[0]], elsewhere)
    ]
    try:
        watches = [int(sender.stdout.readline().split()[1]) for sender in senders]
        senders[0].send_signal(signal.SIGSTOP)
        spin_until(lambda: canceled == ["/one/follow"], 20, "the goal of the one that stands still to be cancelled")
        senders[1].kill()
        spin_until(lambda: canceled == actions, 20, "the goal of the one that was killed to be cancelled")
        spin_until(lambda: ended(watches[1]), 20, "the watch to end")
        senders[0].send_signal(signal.SIGCONT)
        os.kill(watches[0], signal.SIGKILL)
        assert "the process that stops the arm should executor_node die has ended" in senders[0].stdout.readline()
    finally:
        for sender in senders:
            sender.kill()
            sender.wait(30)
            sender.stdout.close()
        for server in servers:
            server.destroy()


@pytest.mark.parametrize(("signs", "asked"), [(b".m", True), (b"m.", False)])
def test_the_watch_stops_only_what_executor_node_moved_when_it_died(make_node, spin_until, signs, asked):
    """Else the death of an idle executor_node would stop the arm under whoever moves it."""
    controller, requests = make_node("controller"), []
    controller.create_service(
        CancelGoal, "/one/follow/_action/cancel_goal", lambda request, answer: requests.append(request) or answer
    )
    watch = subprocess.Popen(
        [sys.executable, "-m", "planweave_ros.stop_watch", "/one/follow/_action/cancel_goal"], stdin=subprocess.PIPE
    )
    try:
        watch.stdin.write(signs)
        watch.stdin.close()
        assert watch.wait(60.0) == 0
        assert bool(requests) is asked
    finally:
        watch.kill()


def test_a_watch_that_hangs_is_a_problem_and_holds_nobody_up(spin_until):
    watch = StopWatch(["/one/follow/_action/cancel_goal"])
    try:
        assert watch.problem == ""
        watch._process.send_signal(signal.SIGSTOP)
        beats = threading.Thread(target=lambda: [watch.beat() for _ in range(70_000)], daemon=True)  # > a pipe takes
        beats.start()
        beats.join(60.0)
        assert not beats.is_alive() and "does not answer" in watch.problem
        watch._process.send_signal(signal.SIGCONT)
        spin_until(lambda: watch.problem == "", 20, "it to go on")
    finally:
        watch._process.kill()
        watch.close()
        watch._process.wait(60)


def test_who_else_commands_the_arm_is_named_and_heard(make_node, spin_until):
    """Another publisher on the controller's topic, another client of its action, and not this node's own."""
    controller, running, ended = make_node("controller"), [], threading.Event()

    def work(handle):
        running.append(handle)
        assert ended.wait(60.0)
        handle.abort()
        return ExecuteAction.Result()

    server = ActionServer(
        controller,
        ExecuteAction,
        "/arm/follow",
        work,
        callback_group=ReentrantCallbackGroup(),
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    node, heard = make_node("a_body"), []
    port = ActionPort(node, ExecuteAction, "/arm/follow")
    others = HeardCommanders(node, "/arm/joint_trajectory", "/arm/follow", port.sent, heard.append)
    spin_until(lambda: port.there, 20, "the controller")
    try:
        assert others.named() == "" and others.moving() == ""
        port.send(ExecuteAction.Goal(), lambda end: None)
        spin_until(lambda: running, 20, "the own goal")
        teleop = make_node("teleop")
        publisher = teleop.create_publisher(JointTrajectory, "/arm/joint_trajectory", 10)
        client = ActionPort(make_node("other_client"), ExecuteAction, "/arm/follow")
        spin_until(lambda: others.named() == "/other_client, /teleop", 20, "both names")
        spin_until(lambda: publisher.get_subscription_count(), 20, "a listener")
        publisher.publish(JointTrajectory())
        spin_until(lambda: heard, 20, "the trajectory")
        assert heard == ["/teleop published a trajectory on /arm/joint_trajectory"] and others.moving() == ""
        spin_until(lambda: client.there, 20, "the controller")
        client.send(ExecuteAction.Goal(), lambda end: None)
        spin_until(lambda: len(heard) == 2, 20, "the goal")
        assert "/other_client" in heard[1] and "/other_client" in others.moving()
        ended.set()
        spin_until(lambda: others.moving() == "", 20, "its end")
    finally:
        ended.set()
        server.destroy()


def test_the_policies_of_executor_node_allow_what_its_watch_uses(make_node, spin_until):
    """The watch runs in executor_node's enclave. Its only client is that of a service of an action."""
    observer = make_node("observer")
    watch = StopWatch([f"/{FR3.ros.arm_controller}/follow_joint_trajectory/_action/cancel_goal"])
    name = f"stop_watch_{watch._process.pid}"

    def uses():
        if name in observer.get_node_names():
            called = [found for found, _ in observer.get_client_names_and_types_by_node(name, "/")]
            used = permissions_of(observer, name)
            return called and used["topics", "publish"] and (called, used)

    try:
        called, used = spin_until(uses, 20, "the publishers and the client of the watch")
    finally:
        watch.close()
        watch._process.wait(60)
    assert not used["services", "reply"], "their names hold the process id, which no policy knows"
    used["actions", "call"] |= {service.strip("/").removesuffix("/_action/cancel_goal") for service in called}
    allowed = read_policies((config_dir() / "sros2" / "policies.xml").read_text())["executor_node"]
    assert used["actions", "call"] and not missing(used, allowed)


def test_a_body_that_is_refused_starts_no_watch_that_would_stop_the_arm_of_the_other(make_node, monkeypatch):
    """Its watch would take it for dead and cancel what the other one's controller works on."""
    started = []
    monkeypatch.setattr(executor, "ArmPorts", lambda *_: SimpleNamespace(cancel_name="/cancel", others=lambda *_: None))
    monkeypatch.setattr(executor, "make_gripper", lambda *_: None)
    monkeypatch.setattr(executor, "make_arm", lambda *_: SimpleNamespace(check=None, robot=FR3))
    monkeypatch.setattr(executor, "StopWatch", started.append)
    monkeypatch.setattr(executor, "make_recovery", lambda driver: lambda *_: None)
    real = {"robot": "fr3", "arm": "follow", "gripper": "franka"}
    with raises_code("configuration", "collision_torques", "7"):
        executor.ExecutorNode(simulated("executor_node", **real, collision_torques=[1.0]))
    make_node("another").create_publisher(WorldState, "world_state", 1)
    with raises_code("configuration", "another", "/world_state"):
        executor.ExecutorNode(simulated("executor_node", **real))
    assert not started


def ended(pid):
    """Whether a process has ended, though nobody may have waited for it."""
    path = Path(f"/proc/{pid}/stat")
    return not path.exists() or path.read_text().rpartition(")")[2].split()[0] == "Z"


def test_joint_states_that_jump_or_stop_end_an_action_with_the_reason(make_node, spin_until):
    """A scripted arm on real topics: its states leave where the body's trajectory has not told it to go, then end."""
    from std_srvs.srv import Trigger

    make_node(ExecutorNode, simulated("executor_node"))
    client = make_node("an_arm")
    joints = client.create_publisher(JointState, "/joint_states", 10)
    eyes = client.create_publisher(DetectedObjects, "/perception/detected_objects", 10)
    commands, going = [], threading.Event()
    arm, hand = "/fr3_arm_controller/follow_joint_trajectory", "/fr3_gripper_controller/gripper_cmd"
    servers = [
        DeferredActionServer(client, FollowJointTrajectory, arm, commands.append),
        DeferredActionServer(client, ParallelGripperCommand, hand, lambda goal: None),
    ]
    client.create_service(Trigger, "/simulation/reset", lambda *_: None)
    at, stamp = [*FR3.home], [1.0]
    at[1] += 0.3
    going.set()

    def tick():
        if not going.is_set():
            return
        stamp[0] += 0.02
        state = JointState(name=[*FR3.joint_names, *FR3.gripper.joints], position=[*at, 0.04, 0.04], velocity=[0.0] * 9)
        state.header.stamp = convert.time_to_msg(stamp[0])
        joints.publish(state)
        seen = DetectedObjects()
        seen.header.frame_id, seen.header.stamp = FR3.base, state.header.stamp
        eyes.publish(seen)

    client.create_timer(0.02, tick)
    action = make_node.action_client(client, ExecuteAction, "/execute_action")
    assert action.wait_for_server(timeout_sec=60.0)

    def fails(fault):
        commands.clear()
        sent = action.send_goal_async(
            ExecuteAction.Goal(action=convert.action_to_msg(Action.parse("return_to_base()")), timeout=60.0)
        )
        spin_until(sent.done, 20, "the goal to be accepted")
        result = sent.result().get_result_async()
        spin_until(lambda: commands or result.done(), 30, "a trajectory")
        assert commands, result.result().result.message
        fault()
        spin_until(result.done, 30, "the end")
        return result.result().result

    def jump():
        at[1] += 0.6

    found = fails(jump)
    assert found.code == Code.SAFETY_STOP and "fr3_joint2 by 0.600 rad" in found.message
    spin_until(commands[-1].cancel_asked.is_set, 10, "the motion to be cancelled")
    found = fails(going.clear)
    assert found.code == Code.SAFETY_STOP and " 3 s" in found.message
    for server in servers:
        server.destroy()


@pytest.mark.parametrize(
    ("arguments", "enclave"),
    [
        (
            ["node", "--ros-args", "--enclave", "/planweave/executor_node", "-r", "__ns:=/arm1"],
            "/planweave/executor_node",
        ),
        (["node", "--ros-args", "-r", "__ns:=/arm1"], None),
    ],
)
def test_the_process_that_stops_the_arm_has_the_nodes_enclave(arguments, enclave):
    assert enclave_of(arguments).get("ROS_SECURITY_ENCLAVE_OVERRIDE") == enclave


def test_an_action_that_is_not_there_cannot_be_refused(ros):
    with raises_code("configuration", "actions_off", "'handover'", "'hand_over'"):
        ExecutorNode(simulated("executor_node", actions_off=["handover"]))


def test_a_body_in_a_namespace_tells_people_the_names_that_are_there(ros, monkeypatch):
    begin = Node.__init__
    monkeypatch.setattr(Node, "__init__", lambda self, name, **more: begin(self, name, namespace="/left", **more))
    node = ExecutorNode(simulated("executor_node", actions_off=["hand_over"]))
    try:
        assert node._names.recover == "/left/executor/recover" and node._names.kind == "simulation"
        assert node._unseen_grip._let_go == node._names.let_go == "/left/executor/let_go"
        settings = node._skills.context.settings
        assert settings.names.detections == "/left/perception/detected_objects" and settings.names is node._names
        assert node._world.world().actions_off == {"hand_over"}
        assert node._on_set([]).successful and node._skills.context.settings.names is node._names
    finally:
        node.stop_work()
        node.destroy_node()


def test_waiting_for_controllers_that_are_not_there_ends_with_the_action(ros, monkeypatch):
    monkeypatch.setattr(executor, "LATE", 600.0)
    node = executor.ExecutorNode(simulated("executor_node"))
    try:
        node._arm.begin(float("inf"))
        threading.Timer(0.2, node._arm.abort, (Code.CANCELED, "enough")).start()
        with raises_code("canceled"):
            node._require_controllers()
    finally:
        node.stop_work()
        node.destroy_node()
