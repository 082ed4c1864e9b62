"""The launch files of the real robot and of Gazebo, and the files that they hand to other packages."""

import math
import os
import runpy
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from codes import raises_code
from doubles import launch_api

from planweave.core.base.paths import config_dir
from planweave.launcher.environment import TOO_OLD
from planweave.launcher.one_system import running
from planweave.launcher.systems import load_system, parameters_of
from planweave.robots import load_robot
from planweave.robots.model import robot_spec
from planweave_ros import launch_files

FR3 = load_robot()

ROOT = Path(__file__).resolve().parents[2]
CONFIG = config_dir()
FACTS = yaml.safe_load(Path(launch_api.__file__).with_name("launch_facts.yaml").read_text())


@pytest.fixture
def launch(monkeypatch):
    """launch(name, **arguments) -> what the launch file starts with these arguments."""
    for module, content in launch_api.modules().items():
        monkeypatch.setitem(sys.modules, module, content)

    def run(name, **given):
        entities = runpy.run_path(str(ROOT / "launch" / f"{name}.launch.py"))["generate_launch_description"]().entities
        values, seen = dict(given), []
        nodes, included, environment, holding = [], {}, {}, None
        for entity in entities:
            if isinstance(entity, launch_api.DeclareLaunchArgument):
                seen.append(entity.name)
                if entity.name not in values:
                    assert entity.default_value is not None, f"{entity.name} must be given"
                    values[entity.name] = launch_api.text(entity.default_value, values)
                assert not entity.choices or values[entity.name] in entity.choices
            elif isinstance(entity, launch_api.IncludeLaunchDescription):
                if entity.condition is None or entity.condition.holds(values):
                    path = launch_api.text(entity.source.path, values)
                    package, file = path.removeprefix("/share/").split("/launch/")
                    included[f"{package}/{file}"] = {
                        key: launch_api.text(value, values) for key, value in entity.arguments.items()
                    }
            elif isinstance(entity, (launch_api.AppendEnvironmentVariable, launch_api.SetEnvironmentVariable)):
                environment[entity.name] = launch_api.text(entity.value, values)
            elif isinstance(entity, launch_api.OpaqueFunction):
                held = entity.condition is None or entity.condition.holds(values)
                holding = entity.function if held else None
            elif isinstance(entity, launch_api.RegisterEventHandler):
                nodes.extend(entity.event_handler.on_exit)
                assert entity.event_handler.target_action in nodes
            elif entity.condition is None or entity.condition.holds(values):
                nodes.append(entity)
        assert not set(given) - set(seen), "an argument that nobody declares"
        return types.SimpleNamespace(
            nodes=nodes, included=included, values=values, environment=environment, hold=holding
        )

    return run


def ours(started, name):
    """The parameters that launch sets of one of our nodes."""
    (node,) = [n for n in started.nodes if n.package == "planweave" and n.executable == name]
    return {key: launch_api.text(value.value, started.values) for key, value in node.parameters[-1].items()}


def spawned(started):
    (node,) = [n for n in started.nodes if n.executable == "spawner"]
    return node.arguments


def test_the_real_robot(launch):
    started = launch("franka", robot_ip="172.16.0.2")
    bringup = started.included["franka_bringup/franka.launch.py"]
    assert bringup["robot_ip"] == "172.16.0.2" and bringup["robot_type"] == "fr3" and bringup["load_gripper"] == "true"
    assert Path(bringup["controllers_yaml"]) == CONFIG / "franka" / "controllers.yaml"
    assert started.included["realsense2_camera/rs_launch.py"]["align_depth.enable"] == "true"
    assert spawned(started)[:2] == ["fr3_arm_controller", "--inactive"], "no motion before the thresholds are set"
    assert {key: ours(started, "executor_node")[key] for key in ("gripper", "robot")} == {
        "gripper": "franka",
        "robot": "fr3",
    }
    for name in ("feedback_node", "executor_node"):
        assert ours(started, name)["require_approval"] == "true"


def test_fake_hardware_and_own_camera(launch):
    started = launch("franka", robot_ip="none", use_fake_hardware="true", realsense="none", arm="moveit")
    bringup = started.included["franka_bringup/franka.launch.py"]
    assert bringup["use_fake_hardware"] == "true"
    assert Path(bringup["controllers_yaml"]) == CONFIG / "franka" / "controllers_fake.yaml"
    assert list(started.included) == ["franka_bringup/franka.launch.py"]
    executor = ours(started, "executor_node")
    assert (executor["gripper"], executor["arm"], executor["robot"]) == ("none", "moveit", "fake")
    assert spawned(started)[:2] == ["fr3_arm_controller", "--controller-manager-timeout"]


def test_the_robots_address_must_be_given(launch):
    with pytest.raises(AssertionError) as refused:  # of the double
        launch("franka")
    assert "robot_ip" in str(refused.value)


def test_gazebo(launch):
    started = launch("gazebo", gui="false")
    gazebo = started.included["ros_gz_sim/gz_sim.launch.py"]
    assert gazebo["gz_args"] == f"-r -s {CONFIG / 'gazebo' / 'table.sdf'}"
    assert launch("gazebo").included["ros_gz_sim/gz_sim.launch.py"]["gz_args"].startswith("-r /")
    assert started.environment["GZ_SIM_RESOURCE_PATH"] == "/share/franka_description/.."
    controllers = [word for word in spawned(started) if word.endswith(("controller", "broadcaster"))]
    assert controllers == ["joint_state_broadcaster", "fr3_arm_controller", "fr3_gripper_controller"]
    state = next(n for n in started.nodes if n.executable == "robot_state_publisher").parameters[0]
    xacro = launch_api.text(state["robot_description"].value, started.values)
    assert xacro.startswith("xacro ") and state["use_sim_time"] is True
    _, model, controllers, namespace = xacro.split()
    assert Path(model).is_file() and Path(controllers.removeprefix("controllers:=")).is_file()
    assert namespace == "namespace:="


@pytest.mark.parametrize(
    ("given", "closed"),
    [({}, True), ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, False), ({"ROS_STATIC_PEERS": "10.0.0.2"}, True)],
)
def test_launched_nodes_talk_on_this_machine_only_unless_told_otherwise(launch, monkeypatch, given, closed):
    for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "FASTDDS_DEFAULT_PROFILES_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    environment = launch("tabletop").environment
    profile = environment.get("FASTDDS_DEFAULT_PROFILES_FILE", "")
    scope = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE")
    assert (scope == "LOCALHOST" or (scope == "SYSTEM_DEFAULT" and profile.endswith("fastdds.xml"))) is closed


@pytest.mark.parametrize("name", ["franka", "gazebo", "tabletop", "household"])
def test_every_launch_file_has_the_arguments_that_ros_people_expect(launch, tmp_path, name):
    own = tmp_path / "own.yaml"
    robot = {"robot_ip": "a"} if name == "franka" else {}
    plain, told = (
        launch(name, **robot),
        launch(name, **robot, namespace="arm1", use_sim_time="true", params_file=str(own), log_level="debug"),
    )
    for node in (n for n in told.nodes if n.package == "planweave"):
        assert launch_api.text(node.namespace, told.values) == "arm1"
        assert [launch_api.text(word, told.values) for word in node.ros_arguments] == ["--log-level", "debug"]
        *files, last, options = node.parameters
        assert launch_api.text(last, told.values) == str(own)
        assert launch_api.text(last, plain.values) == files[-1], "nothing else where none is given"
        assert launch_api.text(options["use_sim_time"].value, told.values) == "true"
        assert launch_api.text(options["use_sim_time"].value, plain.values) == ("true" if name == "gazebo" else "false")
    for node in told.nodes:
        assert launch_api.text(node.namespace, told.values) == "arm1", "nothing is left in the root"
    if name == "franka":
        assert told.included["franka_bringup/franka.launch.py"]["namespace"] == "arm1"
        assert told.included["realsense2_camera/rs_launch.py"]["camera_namespace"] == "arm1"


def test_an_old_ros_is_refused_with_the_reasons(launch, monkeypatch):
    from planweave.cli import doctor
    from planweave.launcher import environment
    from planweave_ros.spin import run_node

    monkeypatch.setenv("ROS_DISTRO", "humble")
    for start in (lambda: launch("tabletop"), environment.ensure):
        with raises_code(
            "configuration", "Humble", "ROS_AUTOMATIC_DISCOVERY_RANGE", "decelerate_on_cancel", "moveit_py"
        ):
            start()
    assert run_node(lambda: pytest.fail("a node was made")) == 2
    assert doctor.check_ros().state == "failed"
    assert runpy.run_path(str(ROOT / "tools" / "prepare.py"))["TOO_OLD"] == TOO_OLD
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    launch("tabletop")


def test_ros2_launch_holds_the_domain_so_that_a_second_system_is_refused_by_name(launch, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    started = launch("tabletop", namespace="arm1")
    with launch_files._reserved:
        started.hold(launch_api.LaunchContext(started.values))
        (one,) = running()
        assert (one.name, one.namespace, one.process, one.lasting) == ("tabletop", "/arm1", os.getpid(), True)
        with raises_code("already_running", "tabletop", "/arm1"):
            started.hold(launch_api.LaunchContext(started.values))
    assert launch("franka", robot_ip="10.0.0.2", nodes="false").hold is None, "planweave up franka comes"


@pytest.mark.parametrize("name", ["franka", "gazebo"])
def test_our_nodes_can_be_left_to_the_console(launch, name):
    given = {"robot_ip": "a"} if name == "franka" else {}
    alone = launch(name, nodes="false", **given)
    assert alone.included and not [node for node in alone.nodes if node.package == "planweave"]
    assert [node for node in launch(name, **given).nodes if node.package == "planweave"]


@pytest.mark.parametrize("name", ["franka", "gazebo"])
def test_other_packages_know_the_arguments_that_they_get(launch, name):
    started = launch(name, **({"robot_ip": "a"} if name == "franka" else {}))
    for file, given in started.included.items():
        assert set(given) <= set(FACTS["launch_arguments"][file]), file


# ---- parameter files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["franka", "gazebo"])
def test_what_goes_over_the_nodes_files_is_in_them(name):
    over = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    system = load_system(name)
    assert set(over) <= {f"/**/{node.name}" for node in system.nodes}
    for node in system.nodes:
        base = parameters_of(type(node)(node.name, node.parameter_files[:-1] or node.parameter_files))
        for key, value in (over.get(f"/**/{node.name}") or {"ros__parameters": {}})["ros__parameters"].items():
            if key in ("use_sim_time", "robot", "gripper"):  # of every node of ROS, and what only this file says
                continue
            assert key in base, f"{node.name} has no parameter {key}"
            assert type(value) is type(base[key]), f"{node.name}.{key}: {value!r}"
            assert value != base[key], f"{node.name}.{key} says what is so anyway"


def test_a_real_robot_is_slow_small_and_asks():
    simulated = parameters_of(load_system("tabletop").nodes[2])
    real = parameters_of(next(n for n in load_system("franka").nodes if n.name == "executor_node"))
    for name in ("speed", "approach_speed", "acceleration"):
        assert real[name] < simulated[name]
    assert all(r >= s for r, s in zip(real["workspace_low"], simulated["workspace_low"]))
    assert all(r <= s for r, s in zip(real["workspace_high"], simulated["workspace_high"]))
    assert "joint_states" not in FR3.ros.joint_state_topics, "joint_state_publisher repeats old states as new ones"
    for name in ("feedback_node", "executor_node"):  # the arm itself refuses, whoever sends an action
        assert parameters_of(next(n for n in load_system("franka").nodes if n.name == name))["require_approval"]
    assert load_system("franka").overrides({"require_approval": "false"}) == {
        "feedback_node": {"require_approval": False},
        "executor_node": {"require_approval": False},
    }


def flattened(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@pytest.mark.parametrize("path", ["franka/controllers.yaml", "franka/controllers_fake.yaml", "gazebo/controllers.yaml"])
def test_controllers_get_parameters_that_they_have(path):
    # "/**" stands twice or more at the top of a file, as ROS allows: each time for another node.
    tables = [yaml.safe_load(part) for part in f"\n{(CONFIG / path).read_text()}".split("\n/**:") if part.strip()]
    nodes = {}
    for table in tables:
        nodes.update(
            {name.removeprefix("/**/"): entry["ros__parameters"] for name, entry in (table or {}).items() if entry}
        )
    manager = nodes.pop("controller_manager")
    general = {name: entry for name, entry in manager.items() if not isinstance(entry, dict) or "type" not in entry}
    assert {key for key, _ in flattened(general)} <= set(FACTS["controller_manager_parameters"])
    kinds = {name: entry["type"] for name, entry in manager.items() if name not in general}
    assert set(kinds.values()) <= set(FACTS["controller_types"])
    if path == "franka/controllers.yaml":
        for name, value in FACTS["franka_bringup_controllers_yaml"].items():
            assert dict(flattened(general))[name] == value, f"{name} as in franka_bringup"
    assert {"fr3_arm_controller", "joint_state_broadcaster"} <= set(kinds)
    for name, parameters in nodes.items():
        if name not in kinds or kinds[name] not in FACTS["controller_parameters"]:
            continue
        known = set(FACTS["controller_parameters"][kinds[name]]) - set(FACTS["gone_in_lyrical"].get(kinds[name], []))
        for key, _ in flattened(parameters):
            general = ".".join("*" if part in FR3.joint_names else part for part in key.split("."))
            assert general in known, f"{path}: {name} has no parameter {key}"
    arm = nodes["fr3_arm_controller"]
    assert arm["joints"] == list(FR3.joint_names)
    if "gains" in arm:
        assert set(arm["gains"]) == set(FR3.joint_names) and arm["command_interfaces"] == ["effort"]
        for joint, gains in arm["gains"].items():  # what a contact may build up before the controller gives up, Nm
            assert arm["constraints"][joint]["trajectory"] * gains["p"] <= 25.0


# ---- models -------------------------------------------------------------------------------------------------------


def test_the_srdf_knows_the_arm():
    root = ET.parse(CONFIG / "moveit" / "fr3.srdf").getroot()
    (chain,) = root.findall("group[@name='fr3_arm']/chain")
    assert (chain.get("base_link"), chain.get("tip_link")) == ("fr3_link0", "fr3_link8")
    ready = {j.get("name"): float(j.get("value")) for j in root.findall("group_state[@name='ready']/joint")}
    assert ready == pytest.approx(dict(zip(FR3.joint_names, FR3.home)))
    links = {f"fr3_link{i}" for i in range(9)} | {"fr3_hand", "fr3_leftfinger", "fr3_rightfinger"}
    pairs = [frozenset((p.get("link1"), p.get("link2"))) for p in root.findall("disable_collisions")]
    assert all(len(pair) == 2 and pair <= links for pair in pairs) and len(set(pairs)) == len(pairs)
    for i in range(8):
        assert frozenset((f"fr3_link{i}", f"fr3_link{i + 1}")) in pairs
    assert frozenset(("fr3_hand", "fr3_link1")) not in pairs, "the hand can reach the shoulder"


def test_the_links_that_need_no_check_never_touch():
    """Pairs called Never, over random configurations of our own model, whose convex hulls are up to 1 cm too fat."""
    import mujoco
    import numpy as np

    root = ET.parse(CONFIG / "moveit" / "fr3.srdf").getroot()
    never = {frozenset((p.get("link1"), p.get("link2"))) for p in root.findall("disable_collisions[@reason='Never']")}
    model = robot_spec(FR3).compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    joints = [model.joint(name).qposadr[0] for name in FR3.joint_names]
    found = set()
    for _ in range(3000):
        data.qpos[joints] = rng.uniform(FR3.lower, FR3.upper)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        for pair, distance in zip(data.contact.geom, data.contact.dist):
            if distance < -0.01:
                found.add(frozenset(model.body(int(model.geom_bodyid[g])).name for g in pair))
    assert len(found) > 3, "the model does collide with itself"
    assert not found & never


def test_the_gazebo_robot_is_moved_by_its_controllers():
    root = ET.parse(CONFIG / "gazebo" / "fr3.urdf.xacro").getroot()
    xacro = "{http://www.ros.org/wiki/xacro}"
    control = root.find("ros2_control")
    moved = {j.get("name"): float(j.get("start")) for j in control.findall(f"{xacro}moved_joint")}
    assert {name: moved[name] for name in FR3.joint_names} == pytest.approx(dict(zip(FR3.joint_names, FR3.home)))
    assert FR3.gripper.joints[0] in moved
    assert [j.get("name") for j in control.findall("joint")] == [FR3.gripper.joints[1]], "it mimics the first"
    plugin = root.find("gazebo/plugin")
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    assert plugin.find("parameters").text == "$(arg controllers)"
    # As elements: in the file of parameters they would reach the plugin's node only where it is the first in Gazebo
    assert plugin.find("hold_joints").text == "true" and float(plugin.find("position_proportional_gain").text) > 0


def test_the_gazebo_world_has_its_camera_where_perception_thinks_it_is():
    world = ET.parse(CONFIG / "gazebo" / "table.sdf").getroot().find("world")
    plugins = {p.get("name") for p in world.findall("plugin")}
    assert {
        "gz::sim::systems::Physics",
        "gz::sim::systems::Sensors",
        "gz::sim::systems::UserCommands",
        "gz::sim::systems::SceneBroadcaster",
    } <= plugins
    camera = world.find("model[@name='camera']")
    x, y, z, roll, pitch, yaw = map(float, camera.find("pose").text.split())
    calibration = yaml.safe_load((CONFIG / "cameras" / "overhead.yaml").read_text())
    assert [x, y, z] == pytest.approx(calibration["position"])
    assert (roll, yaw) == (0.0, 0.0) and pitch == pytest.approx(math.pi / 2, abs=1e-5), "looks straight down"
    sensor = camera.find("link/sensor")
    assert sensor.get("type") == "rgbd_camera" and sensor.find("topic").text == "rgbd_camera"
    assert sensor.find("gz_frame_id").text == calibration["frame_id"]
    width, height = (int(sensor.find(f"camera/image/{side}").text) for side in ("width", "height"))
    assert (width, height) == (calibration["width"], calibration["height"])
    across = float(sensor.find("camera/horizontal_fov").text)
    upright = 2 * math.atan(math.tan(across / 2) * height / width)
    assert math.degrees(upright) == pytest.approx(calibration["fovy"], abs=1e-3)


def test_the_gazebo_camera_sees_its_optical_frame_as_calibrated():
    """Gazebo's camera looks along x with y to its left; the optical frame has z along the view and x to the right."""
    import numpy as np

    pitch = math.pi / 2
    to_world = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    optical = to_world @ np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    x, y, z, w = yaml.safe_load((CONFIG / "cameras" / "overhead.yaml").read_text())["quaternion"]
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    np.testing.assert_allclose(optical, rotation, atol=1e-6)


def test_everything_in_the_gazebo_world_stands_on_the_table():
    world = ET.parse(CONFIG / "gazebo" / "table.sdf").getroot().find("world")
    names = [model.get("name") for model in world.findall("model")]
    assert len(set(names)) == len(names)
    low_x, high_x, low_y, high_y = parameters_of(load_system("gazebo").nodes[0])["table"]
    for model in world.findall("model"):
        if model.find("static") is not None:
            continue
        x, y, z = map(float, model.find("pose").text.split()[:3])
        assert low_x < x < high_x and low_y < y < high_y, "in perception's view"
        height = model.find("link/collision/geometry")
        size = height.find("box/size")
        tall = float(size.text.split()[2]) if size is not None else float(height.find("cylinder/length").text)
        assert z == pytest.approx(0.0 if model.get("name") == "tray" else tall / 2)


def test_the_bridge_brings_what_perception_listens_to():
    rows = yaml.safe_load((CONFIG / "gazebo" / "bridge.yaml").read_text())
    topics = {row["ros_topic_name"]: row for row in rows}
    wanted = parameters_of(next(n for n in load_system("gazebo").nodes if n.name == "perception_node"))["topics"]
    assert set(wanted.values()) | {"/clock"} == set(topics), "relative to the namespace, but for the time"
    keys = {"ros_topic_name", "gz_topic_name", "ros_type_name", "gz_type_name", "direction"}
    assert all(set(row) == keys and row["direction"] == "GZ_TO_ROS" for row in rows)
    assert topics[wanted["depth"]]["gz_topic_name"] == "/rgbd_camera/depth_image"
