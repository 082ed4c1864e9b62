"""The rules of the house about who may import whom, held by walking the imports of every file."""

import ast
import functools
import re
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package
from doubles.syntax import nodes

import planweave

ROOT = Path(__file__).resolve().parents[2]
NODES = sorted(path.parent.name for path in ROOT.glob("*_node/node.py"))
ROOMS = ["planweave", "planweave_ros", *NODES, "benchmarks", "training"]
ROS = {
    *("rclpy", "launch", "launch_ros", "ament_index_python", "builtin_interfaces", "planweave_interfaces"),
    *("tf2_ros", "action_msgs", "geometry_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs", "std_msgs"),
    *("std_srvs", "trajectory_msgs", "control_msgs", "moveit", "rosidl_runtime_py", "unique_identifier_msgs"),
    *("visualization_msgs", "tf2_msgs", "diagnostic_msgs", "lifecycle_msgs"),
}
#: What each part may import beside itself. planweave.cli is the application: it alone sees planweave_ros from below it.
LIBRARY = (
    *("core", "geometry", "robots", "goals", "llm", "methods", "tasks", "simulation", "perception", "bodies"),
    *("bench", "libero", "launcher", "page"),
)
LAYERS = {
    "core": set(),
    "geometry": {"core"},
    "robots": {"core", "geometry"},
    "goals": {"core", "geometry"},
    "llm": {"core"},
    "launcher": {"core"},
    "libero": {"core", "geometry", "robots", "bodies", "perception"},
    "page": {"core", "robots"},
    "simulation": {"core", "geometry", "robots"},
    "perception": {"core", "geometry", "robots", "llm"},  # a model that takes pictures gives names
    "bodies": {"core", "geometry", "robots"},
    "methods": {"core", "goals", "llm"},
    "tasks": {"core", "goals", "methods"},
    "bench": {"core", "llm", "methods", "bodies", "simulation", "perception", "launcher", "libero"},
    "api": {"core", "goals", "llm", "methods", "tasks", "bodies"},  # planweave/api.py and the public names
    "planweave_ros": {*LIBRARY},
    "cli": {*LIBRARY, "planweave_ros"},
    "benchmarks": {*LIBRARY, "cli", "planweave_ros"},
    "training": {"core", "robots", "perception", "simulation"},
    **{node: {*LIBRARY, "planweave_ros"} for node in NODES},
}

#: What planweave/libero, a simulator, has of perception: pictures go in, and what `Perceived` tells comes out, as in
#: perception_node. It cuts out, follows and remembers nothing itself: no cv2, and no boxes, columns or evidence.
LIBERO_SEES = {"depth_views", "geometry", "named_scene", "robot_filter", "vision_names"}
#: What of bodies.arm: an arm, what moves it, and a world that looks. What is seen becomes things, furniture, relations
#: and facts in bodies.arm alone, whoever saw it.
LIBERO_MOVES = {
    *("approach_planning", "arms", "articulation", "body", "held", "kinematics", "motion", "planning_scene"),
    *("poses", "retries", "safety", "scene_object", "settings", "skills", "timing", "workspace", "world_model"),
}
#: Where LIBERO's own truth becomes things and joints: of a simulator's geometry, not of what is seen.
OF_TRUTH = {"geometry.py", "things.py"}

#: The packages of planweave/core, lowest first: each imports from itself and from those before it.
CORE = ("base", "pddl", "symbolic", "checks", "planning", "trees", "workflow")
#: `Domain.world` reads the text form of a world, whose derived facts need the transition function of the domain.
UPWARD = {("planweave.core.symbolic.domain", "planweave.core.symbolic.written")}


def python_files():
    """Every Python file of the packages and of launch/, as a path relative to the root."""
    for room in [*ROOMS, "launch"]:
        yield from sorted(path.relative_to(ROOT) for path in (ROOT / room).rglob("*.py"))


def part_of(*names):
    """The part of the architecture that a dotted name or path belongs to; None for the top of planweave/ itself."""
    if names[0] != "planweave":
        return names[0]
    if names[1:2] and names[1] in planweave.__all__:
        return "api"
    return names[1] if len(names) > 1 and names[1] in (*LIBRARY, "api", "cli") else None


class Source:
    """What the rules are about in a source text. modules: dotted names that it imports anywhere, also inside functions
    and by import_module; functions: names; private: uses of names that begin with an underscore, of other objects;
    texts: those that are no docstrings, with {} for what an f-string puts in; classes: at its top; docstrings:
    all but those of what is private.
    """

    def __init__(self, text):
        self.modules, self.functions, self.private, self.texts = set(), set(), [], []
        tree = ast.parse(text)
        self.classes = [item.name for item in tree.body if isinstance(item, ast.ClassDef)]
        documented = [tree, *(n for n in nodes(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)))]
        self.docstrings = [ast.get_docstring(n) or "" for n in documented if not getattr(n, "name", "").startswith("_")]
        left_out = set()
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                self.modules.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                self.modules.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                    self.modules.add(str(node.args[0].value))
            elif isinstance(node, ast.FunctionDef):
                self.functions.add(node.name)
            elif isinstance(node, ast.Expr):
                left_out.add(id(node.value))
            elif isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
                if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os")):
                    self.private.append(f"{node.lineno} {ast.unparse(node)}")
            elif isinstance(node, ast.JoinedStr):
                left_out |= {id(part) for part in node.values}
                self.texts.append("".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
                self.texts.append(node.value)


@functools.cache
def read(path):
    """The source of a file below the root."""
    return Source((ROOT / path).read_text(encoding="utf-8"))


def violations(path, names):
    """What of these imports breaks a rule, as sentences."""
    here = part_of(*path.with_suffix("").parts)
    for name in sorted(names):
        first = name.split(".")[0]
        there = part_of(*name.split(".")) if first in ROOMS else None
        if here in LAYERS and there in LAYERS and there != here and there not in LAYERS[here]:
            yield f"{here} imports {there}"
        below = name.split(".")[2:3]
        if here == "libero" and there == "perception" and not LIBERO_SEES.intersection(below):
            yield f"libero imports {name}"
        moves = LIBERO_MOVES | ({"solids"} if path.name in OF_TRUTH else set())
        if (
            here == "libero"
            and there == "bodies"
            and (below != ["arm"] or not moves.intersection(name.split(".")[3:4]))
        ):
            yield f"libero imports {name}"
        if here == "libero" and there == "perception" and path.name in OF_TRUTH:
            yield f"LIBERO's truth imports {name}"
        if there == "goals" != here and below and (ROOT / "planweave" / "goals" / f"{below[0]}.py").exists():
            yield f"{name}: import names of planweave.goals from there"
        if here == "libero" and first == "cv2":
            yield "libero looks at pictures itself"
        if here == there == "core":
            inside, below = path.parts[2], name.split(".")[2]
            if CORE.index(below) > CORE.index(inside):
                yield f"core.{inside} imports core.{below}"
        if first in ROS and path.parts[0] not in ("planweave_ros", "launch", "benchmarks", *NODES):
            yield f"{first} belongs in a node or planweave_ros"
        if (
            first == "rclpy"
            and path.stem != "rclpy_compat"
            and any(p.startswith(("_", "impl")) for p in name.split("."))
        ):
            yield f"{name} is private to rclpy and differs between releases; see planweave_ros/rclpy_compat.py"


OF_BENCHMARKS = (
    "a test of the product imports benchmarks: what both need belongs in the product or in test/doubles, "
    "and a test of a benchmark in the folder benchmarks/ of its tier"
)


def files_of_tests():
    """Every Python file of the tests."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / "test").rglob("*.py"))


def violations_of_tests(path, names):
    """What of the imports of a test or double breaks a rule; tests of benchmarks have folders of their own."""
    of_benchmarks = path.parts[2:3] == ("benchmarks",)
    if not of_benchmarks and any(name.split(".")[0] == "benchmarks" for name in names):
        yield OF_BENCHMARKS
    if of_benchmarks and not any(name.split(".")[0] == "benchmarks" for name in names):
        yield "a test of the product is among those of the benchmarks"


def test_no_test_of_the_product_imports_benchmarks():
    sources = ((path, (ROOT / path).read_text()) for path in files_of_tests())
    named = [(path, Source(source).modules if "benchmarks" in source else ()) for path, source in sources]
    found = [f"{path}: {each}" for path, names in named for each in violations_of_tests(path, names)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "broken"),
    [
        ("test/unit/test_sentences.py", "from benchmarks.sentence_set import judged", OF_BENCHMARKS),
        ("test/unit/test_sentences.py", "from doubles.named_worlds import world_of", None),
        ("test/doubles/table_view.py", "def f():\n    import benchmarks", OF_BENCHMARKS),
        (
            "test/ros_fixtures.py",
            "from importlib import import_module\nimport_module('benchmarks.idle')",
            OF_BENCHMARKS,
        ),
        ("test/ros/benchmarks/test_tabletop_figures.py", "from benchmarks.tabletop import _task_rows", None),
        (
            "test/unit/benchmarks/test_sentences.py",
            "from planweave.core.base.errors import GoalError",
            "a test of the product is among those of the benchmarks",
        ),
    ],
)
def test_the_rule_of_the_tests_finds_what_breaks_it(path, source, broken):
    assert list(violations_of_tests(Path(path), Source(source).modules)) == ([broken] if broken else [])


def test_imports_keep_the_rules():
    named = [(path, name) for path in python_files() for name in sorted(read(path).modules)]
    found = [f"{path}, import of {name}: {each}" for path, name in named for each in violations(path, {name})]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "broken"),
    [
        ("planweave/core/symbolic/plan.py", "import rclpy", "rclpy belongs in a node or planweave_ros"),
        (
            "planweave_ros/spin.py",
            "from rclpy._rclpy_pybind11 import RCLError",
            "rclpy._rclpy_pybind11.RCLError is private to rclpy and differs between releases; "
            "see planweave_ros/rclpy_compat.py",
        ),
        (
            "planweave/bodies/arm/node.py",
            "def f():\n    from rclpy.node import Node",
            "rclpy belongs in a node or planweave_ros",
        ),
        (
            "planweave/core/symbolic/plan.py",
            "from importlib import import_module\nimport_module('rclpy.node')",
            "rclpy belongs in a node or planweave_ros",
        ),
        ("executor_node/node.py", "import rclpy", None),
        ("executor_node/node.py", "from planweave.bodies.arm import skills", None),
        (
            "executor_node/node.py",
            "from perception_node.node import PARAMETERS",
            "executor_node imports perception_node",
        ),
        ("planweave/bodies/arm/skills/grasp.py", "from planweave_ros import spin", "bodies imports planweave_ros"),
        ("planweave/perception/tracking.py", "from planweave import bodies", "perception imports bodies"),
        ("planweave/core/symbolic/plan.py", "import planweave.cli.main", "core imports cli"),
        ("planweave/tasks/memory.py", "from planweave.goals import words_of", None),
        (
            "planweave/tasks/memory.py",
            "from planweave.goals import sentence_words",
            "planweave.goals.sentence_words: import names of planweave.goals from there",
        ),
        (
            "planweave/methods/iterative.py",
            "from planweave.tasks.task_manager import TaskManager",
            "methods imports tasks",
        ),
        ("planweave/tasks/dry_run.py", "import planweave.api", "tasks imports api"),
        ("planweave/core/symbolic/plan.py", "from planweave import run", "core imports api"),
        (
            "planweave/core/symbolic/plan.py",
            "def f():\n    from planweave.core.checks import validation",
            "core.symbolic imports core.checks",
        ),
        ("planweave/core/checks/validation.py", "from planweave.core.symbolic import plan", None),
        ("planweave/core/symbolic/plan.py", "from planweave import __version__", None),
        ("planweave_ros/client.py", "from planweave.cli import run", "planweave_ros imports cli"),
        ("planweave/cli/run.py", "from planweave_ros.client import Client", None),
        ("planweave/bench/runner.py", "import benchmarks.system", "bench imports benchmarks"),
        ("planweave/libero/views.py", "import cv2", "libero looks at pictures itself"),
        ("planweave/libero/views.py", "from planweave.perception.named_scene import NamedScene", None),
        *(
            ("planweave/libero/views.py", f"from planweave.{name} import x", f"libero imports planweave.{name}.x")
            for name in (
                *("perception.tracking", "perception.known_things", "perception.segmentation"),
                *("perception.pipeline", "perception.fixtures", "perception.seen_things", "bodies.arm.relations"),
                *("bodies.arm.furniture", "bodies.arm.contents", "bodies.arm.shape_places"),
                *("bodies.arm.thing_builder", "bodies.arm.world_builder", "bodies.arm.solids"),
            )
        ),
        ("planweave/libero/things.py", "from planweave.bodies.arm.solids import solid_of_geoms", None),
        (
            "planweave/libero/things.py",
            "from planweave.perception.geometry import Pose",
            "LIBERO's truth imports planweave.perception.geometry.Pose",
        ),
    ],
)
def test_the_rules_find_what_breaks_them(path, source, broken):
    assert list(violations(Path(path), Source(source).modules)) == ([broken] if broken else [])


def test_action_clients_are_thread_safe():
    """rclpy's own may lose the acceptance of a goal; the benchmark measures it, on one thread."""
    using = {p.as_posix() for p in python_files() if "rclpy.action.ActionClient" in read(p).modules}
    assert using == {"planweave_ros/rclpy_compat.py", "benchmarks/system.py"}


def test_what_is_private_to_others_is_used_in_rclpy_compat_alone():
    """So that a release of rclpy is held against one file."""
    found = [
        f"{path}:{use}"
        for path in python_files()
        if path.parts[0] in ("planweave_ros", *NODES) and path.stem != "rclpy_compat"
        for use in read(path).private
    ]
    assert not found


def test_the_layers_have_no_cycle_and_every_folder_is_in_one():
    folders = {path.parent.name for path in (ROOT / "planweave").glob("*/*.py")}
    assert folders == {*LIBRARY, "cli"}
    done: set[str] = set()
    while ready := {part for part, below in LAYERS.items() if part not in done and below <= done}:
        done |= ready
    assert done == set(LAYERS)


def core_imports():
    """The modules of planweave/core, each with those of them that it imports anywhere in its text."""
    paths = {".".join(p.with_suffix("").parts): p for p in python_files() if p.parts[:2] == ("planweave", "core")}
    sources = {name.removesuffix(".__init__"): read(path) for name, path in paths.items()}

    def module(name):
        while name and name not in sources:
            name = name.rpartition(".")[0]
        return name

    return {name: {module(each) for each in of.modules} - {"", name} for name, of in sources.items()}


def circle(imports):
    """The modules that import each other, in a circle, and those that lie between two circles."""
    left = dict(imports)
    while True:
        used = set().union(*left.values()) if left else set()
        kept = {name: below & left.keys() for name, below in left.items() if below & left.keys() and name in used}
        if kept == left:
            return set(left)
        left = kept


def test_every_module_of_the_core_is_in_one_of_its_packages():
    assert {path.name for path in (ROOT / "planweave/core").glob("*.py")} == {"__init__.py"}
    assert {path.parent.name for path in (ROOT / "planweave/core").glob("*/*.py")} == set(CORE)
    assert not list((ROOT / "planweave/core").glob("*/*/*.py"))


def test_no_modules_of_the_core_import_each_other():
    imports = core_imports()
    assert circle(imports), "the exception is needed no more"
    for one, other in UPWARD:
        assert other in imports[one]
        imports[one].discard(other)
    assert not circle(imports)


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}
    assert not circle({"a": {"b", "c"}, "b": {"c"}, "c": set()})


#: What names one robot: its description, what its driver alone has, and the systems called after it.
OF_ONE_ROBOT = {
    *("planweave/bodies/arm/arms/choose.py", "planweave/bodies/arm/arms/grippers.py"),
    *("planweave/bodies/arm/robots.py", "planweave/cli/doctor.py", "planweave/cli/up.py", "planweave/libero/arm.py"),
    *("planweave_ros/arm_ports.py", "planweave_ros/controllers.py", "planweave_ros/recovery.py"),
}


def test_a_robot_is_named_in_its_description_alone():
    names = re.compile("franka|fr3|panda", re.IGNORECASE)
    found = {
        path.as_posix()
        for path in python_files()
        if path.parts[0] in ("planweave", "planweave_ros", *NODES) and names.search((ROOT / path).read_text())
    }
    described = {path for path in found if path.startswith("planweave/robots/")}
    assert found - described == OF_ONE_ROBOT


def test_libero_waits_for_motions_and_executes_actions_as_every_arm_does():
    """Its arm is a follower and a gripper; the rest is planweave.bodies.arm's. session.py passes `execute` on."""
    own = {
        (path.name, name)
        for path in python_files()
        if path.parts[:2] == ("planweave", "libero")
        for name in read(path).functions & {"follow", "grip", "execute"}
    }
    assert own == {("session.py", "execute")}


def test_launch_is_no_package():
    """A launch/__init__.py would hide ROS's own package `launch`."""
    assert not (ROOT / "launch" / "__init__.py").exists()


def test_every_node_room_is_installed_and_run_by_name():
    source = (ROOT / "setup.py").read_text()
    for node in NODES:
        assert f'"{node}"' in source
        if (ROOT / node / "node.py").is_file():
            tree = ast.parse((ROOT / node / "node.py").read_text())
            assert any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in tree.body), node


def test_methods_are_one_file_each_and_nothing_else_is_beside_them():
    setup = ast.parse((ROOT / "setup.py").read_text())
    (named,) = (n.value for n in setup.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "METHODS")
    assert {path.stem for path in (ROOT / "planweave/methods").glob("*.py")} == {*ast.literal_eval(named), "__init__"}


def test_no_file_is_longer_than_600_lines():
    long = {str(path): lines for path in python_files() if (lines := len((ROOT / path).read_text().splitlines())) > 600}
    assert not long


def test_what_the_page_on_extending_names_exists():
    page = (ROOT / "docs" / "extending.md").read_text()
    source = "".join(
        (ROOT / f).read_text()
        for f in (
            "planweave/bodies/arm/skills/door.py",
            "planweave/bodies/arm/skills/planned.py",
            "planweave/bodies/arm/relations.py",
            "planweave/core/workflow/approval.py",
            "planweave_ros/conversions.py",
            "planweave_ros/questions.py",
        )
    )
    tables = set(re.findall(r"`(_?[A-Z][A-Z_]{4,})`", page)) - {"FAILED"}
    assert {"SKILLS", "FURTHER"} <= tables
    for table in tables:
        assert re.search(rf"^{table}\b.* = ", source, re.MULTILINE), table
    for path in re.findall(r"`([a-z_]+/[\w/.]+\.(?:py|yaml|pddl))`", page):
        assert "NAME" in path or (ROOT / path).exists(), path


OURS = "executor|perception|joint_states|llm_exchanges|robot_description|world_state|look"
ABSOLUTE = re.compile(rf"(?:^|[\s(])/(?:{OURS})\b")


def test_messages_name_no_service_or_topic_without_its_namespace():
    """Who works in a namespace is told names as they are there; ros_names.py alone has defaults."""
    for path in python_files():
        if path.parts[0] in (*NODES, "planweave", "planweave_ros") and path.name != "ros_names.py":
            assert not [text for text in read(path).texts if ABSOLUTE.search(text)], path


def test_no_class_name_means_two_things():
    found: dict[str, list[str]] = {}
    for room in (*ROOMS, "integrations", "tools"):
        for path in sorted((ROOT / room).rglob("*.py")):
            where = path.relative_to(ROOT)
            for name in read(where).classes:
                found.setdefault(name, []).append(where.as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


#: What a docstring does not begin with: its first line is a noun phrase, an imperative or "Whether …".
NO_PHRASE = re.compile(r"(What|How|Who|Where|When|It|That|There|Nobody|Somebody)\b")


def test_a_docstring_begins_with_a_noun_phrase_or_an_imperative():
    """Of modules, classes and public functions; the agent's tools are told to a model as they stand."""
    found = [
        f"{path}: {first}"
        for path in python_files()
        if path.stem != "agent_tools"
        for first in read(path).docstrings
        if NO_PHRASE.match(first)
    ]
    assert not found, "\n".join(found)


def test_the_states_of_a_task_are_drawn_as_they_are():
    from planweave.core.workflow.task_status import NEXT

    drawn = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("stateDiagram-v2")[1].split("```")[0]
    arrows = [line.split(" --> ") for line in drawn.strip().splitlines()]
    assert [[a.strip(), b.strip()] for a, b in arrows[1:]] == [[a.name, b.name] for a, n in NEXT.items() for b in n]


RUN_ON_NEED = {"moveit", "moveit_msgs", "shape_msgs"}  # imported by the process of `arm: moveit` alone
PACKAGE_OF = {"tf2_ros": "tf2_ros_py"}  # where a Python module is not called as its package


def test_package_xml_names_the_ros_packages_that_are_imported():
    package = parse_package(str(ROOT))
    named = {dependency.name for dependency in (*package.build_depends, *package.exec_depends)}
    used = {name.split(".")[0] for path in python_files() for name in read(path).modules} & (ROS | RUN_ON_NEED)
    assert {PACKAGE_OF.get(name, name) for name in used - RUN_ON_NEED} <= named
    messages = {name for name in named if name.endswith(("_msgs", "_srvs", "_interfaces"))}
    assert messages <= used, "named, but imported nowhere"
