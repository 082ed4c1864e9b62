"""The one description of systems, and the two ways to start from it."""

import re
import runpy
import shutil
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from codes import raises_code
from doubles import launch_api

from planweave.core.base.parameter import Parameter
from planweave.core.base.paths import config_dir
from planweave.launcher.systems import PAGE, load_system, parameters_of, system_names, systems_of, with_page

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = sorted(system_names())


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A small config folder that a test can break, and nodes that have parameters."""
    pace, hue = Parameter("pace", 1.0, "how fast", 0.0, 9.0), Parameter("colour.hue", 0, "hue")
    for name, rows in (("a_node", [pace, hue]), ("b_node", [])):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setitem(sys.modules, f"{name}.parameters", types.SimpleNamespace(PARAMETERS=rows))
    (tmp_path / "systems.yaml").write_text(
        "nodes:\n  a_node: {services: [/a/go], topics: [/a/out]}\n  b_node: {}\n"
        "options: {speed: a_node.pace}\n"
        "systems:\n  small:\n    description: two nodes\n    nodes: [a_node, b_node]\n    files: [more.yaml]\n"
        "    options: [speed, use_sim_time]\n"
    )
    (tmp_path / "a.yaml").write_text("a_node:\n  ros__parameters:\n    pace: 1.5\n")
    (tmp_path / "b.yaml").write_text("b_node:\n  ros__parameters: {}\n")
    (tmp_path / "more.yaml").write_text("b_node:\n  ros__parameters: {}\n")
    return tmp_path


def test_a_system_is_read_with_defaults_from_the_parameter_files(config):
    system = load_system("small", config)
    assert [node.name for node in system.nodes] == ["a_node", "b_node"]
    assert system.nodes[0].parameter_files == (config / "a.yaml",)
    assert system.nodes[0].services == ("/a/go",)
    assert system.nodes[0].actions == ()
    assert system.options[0].default == 1.5 and system.options[0].description == "how fast"
    assert system.options[1].nodes == ("a_node", "b_node") and system.options[1].default is False
    assert system.overrides({"speed": "2"}) == {"a_node": {"pace": 2.0}}
    with raises_code("configuration", "pace=fast of a_node", "float"):
        system.overrides({"speed": "fast"})
    with raises_code("configuration", "pace=10.0 of a_node", "0 to 9"):
        system.overrides({"speed": "10"})


def test_a_later_parameter_file_counts_over_those_before(config):
    (config / "a.yaml").write_text("a_node:\n  ros__parameters:\n    pace: 1.5\n    colour: {hue: 3, tone: 4}\n")
    (config / "more.yaml").write_text("a_node:\n  ros__parameters:\n    colour: {hue: 7}\n")
    system = load_system("small", config)
    assert system.nodes[0].parameter_files == (config / "a.yaml", config / "more.yaml")
    assert parameters_of(system.nodes[0]) == {"pace": 1.5, "colour": {"hue": 7, "tone": 4}}
    assert system.overrides({"a_node.colour.hue": "9", "speed": "2"}) == {"a_node": {"colour.hue": 9, "pace": 2.0}}
    (config / "more.yaml").write_text("a_node:\n  ros__parameters:\n    pace: 0.5\n")
    assert load_system("small", config).options[0].default == 0.5


def test_a_file_of_ones_own_counts_over_those_of_the_system(config, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("/**/a_node:\n  ros__parameters:\n    pace: 0.25\n")
    system = load_system("small", config).with_file(str(own))
    assert parameters_of(system.nodes[0]) == {"pace": 0.25}
    assert all(node.parameter_files[-1] == own for node in system.nodes)
    own.write_text("/arm1/a_node:\n  ros__parameters:\n    pace: 0.25\n")
    with raises_code("configuration", "own.yaml", "/arm1/a_node", "/**/a_node"):
        load_system("small", config).with_file(str(own))


def test_unknown_system_and_option_name_the_known_ones(config):
    with raises_code("unknown_name", "smal'", "'small'"):
        load_system("smal", config)
    with raises_code("unknown_option", "sped", "speed", "NODE.PARAMETER=VALUE", "a_node"):
        load_system("small", config).overrides({"sped": "2"})


def test_any_parameter_of_a_node_can_be_set(config):
    system = load_system("small", config)
    assert system.overrides({"a_node.pace": "3"}) == {"a_node": {"pace": 3.0}}
    with raises_code("unknown_name", "parameter of a_node 'peace'", "'pace'"):
        system.overrides({"a_node.peace": "3"})
    with raises_code("unknown_option", "c_node"):
        system.overrides({"c_node.pace": "3"})


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_told_by_the_nodes_that_run(name):
    nodes = [node.name for node in load_system(name).nodes]
    assert name in systems_of([*nodes, "planweave_console_7", "rviz"])
    assert name not in systems_of(nodes[1:]) and name not in systems_of([*nodes[1:], "rviz"])
    for other in {"tabletop", "household"} - {name}:
        same = {node.name for node in load_system(other).nodes} == set(nodes)  # they differ in parameters only
        assert (other in systems_of(nodes)) == same


@pytest.mark.parametrize(
    ("file", "text", "data"),
    [
        ("systems.yaml", "small: [", "systems.yaml:1: "),
        ("systems.yaml", "{nodes: {}, options: {}, systems: {small: {nodes: {}}}}", "'description'"),
        ("systems.yaml", "- small", "nodes, options and systems"),
        ("a.yaml", "b_node: {ros__parameters: {}}", ("a.yaml", "/**/a_node")),
        ("a.yaml", None, "a.yaml"),
    ],
)
def test_errors_name_the_file(config, file, text, data):
    (config / file).unlink() if text is None else (config / file).write_text(text)
    with raises_code("configuration", data):
        assert load_system("small", config).options


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_shipped_system_is_complete(name):
    """Parameter files exist, hold the node's own key, and the rooms are there."""
    system = load_system(name)
    for node in system.nodes:
        for path in node.parameter_files:  # whatever the namespace
            assert f"/**/{node.name}" in yaml.safe_load(path.read_text()), path
        assert all(path.is_file() for path in node.parameter_files)
        assert (ROOT / node.name / "node.py").is_file()
        assert node.services or node.actions or node.topics, f"nothing says when {node.name} is ready"


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_launch_file_starts_the_same_nodes_from_the_same_files(name, monkeypatch):
    for module, content in launch_api.modules().items():
        monkeypatch.setitem(__import__("sys").modules, module, content)
    description = runpy.run_path(str(ROOT / "launch" / f"{name}.launch.py"))["generate_launch_description"]()
    system = with_page(load_system(name))
    nodes = [entity for entity in description.entities if isinstance(entity, launch_api.Node)]
    nodes = [node for node in nodes if node.package == "planweave"]
    assert [node.executable for node in nodes] == [spec.name for spec in system.nodes]
    for node, spec in zip(nodes, system.nodes, strict=True):
        assert node.parameters[: len(spec.parameter_files)] == [str(path) for path in spec.parameter_files]
    arguments = {e.name: e for e in description.entities if isinstance(e, launch_api.DeclareLaunchArgument)}
    for option in system.options:
        default = arguments[option.name].default_value
        # A bool must be written as launch and YAML read it.
        written = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
        assert default == written or isinstance(default, launch_api.Substitution)
        for name in option.nodes:
            given = nodes[[spec.name for spec in system.nodes].index(name)].parameters[-1][option.parameter]
            assert given.value.variable_name == option.name
            assert given.value_type is type(option.default)
    assert nodes[-1].executable == PAGE and nodes[-1].condition.predicate.variable_name == "web"
    assert arguments["web"].default_value == "false"
    assert all(node.respawn is True and node.respawn_delay > 0 for node in nodes)
    for code, ends_all in ((-9, False), (0, False), (1, False), (2, True)):  # 2: its configuration is wrong
        ended = types.SimpleNamespace(process_name="node-1", returncode=code)
        assert [isinstance(a, launch_api.Shutdown) for a in nodes[0].on_exit(ended, None)] == [True] * ends_all


@pytest.mark.skipif(not launch_api.is_installed(), reason="launch_ros is not installed")
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_launch_file_loads_with_the_real_launch_ros(name):
    from launch import LaunchDescription

    description = runpy.run_path(str(ROOT / "launch" / f"{name}.launch.py"))["generate_launch_description"]()
    assert isinstance(description, LaunchDescription)


def test_a_copied_config_folder_works_alike(tmp_path):
    shutil.copytree(config_dir(), tmp_path / "config")
    for name in SYSTEMS:
        copied = load_system(name, tmp_path / "config")
        assert [node.name for node in copied.nodes] == [node.name for node in load_system(name).nodes]


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("actions_off=[]", [""]),
        ("actions_off=", [""]),
        ('actions_off=[""]', [""]),
        ("actions_off=['hand_over', push_aside]", ["hand_over", "push_aside"]),
        ("skills.grasp=mine,grasp", ["mine", "grasp"]),  # there for each action of the domain
    ],
)
def test_lists_on_the_command_line(pair, value):
    name, _, text = pair.partition("=")
    assert load_system("tabletop").overrides({f"executor_node.{name}": text}) == {"executor_node": {name: value}}


#: Published by our nodes, and in no recording: sent never, drawn for who looks, a simulator's truth, or ROS's own.
UNRECORDED = re.compile(
    r"/\w+/alive|/\w+_node/transition_event|/parameter_events|/perception/image_annotated|/virtualhome/picture"
    r"|/simulation/(object_poses|furniture_states)|/libero/success"
)


def test_a_recording_has_every_topic_of_our_nodes_that_says_what_happened():
    policies = ElementTree.fromstring((config_dir() / "sros2" / "policies.xml").read_bytes())
    published = {f"/{e.text.lstrip('/')}" for e in policies.iterfind(".//topics[@publish]/topic")}
    recorded = {*(config_dir() / "rosbag2" / "topics").read_text(encoding="utf-8").split()}
    missing = {topic for topic in published - recorded if not UNRECORDED.fullmatch(topic)}
    assert published > recorded and not missing
