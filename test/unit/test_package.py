"""What colcon and rosdep read: package.xml against what is imported, and the build type that colcon finds."""

import os
import re
import runpy
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package
from doubles.environment import python_path

from planweave.launcher.systems import load_system, system_names, with_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "folder",
    [ROOT, ROOT / "interfaces", *(ROOT / "requirements" / name for name in ("tf2_msgs", "control_msgs"))],
    ids=["planweave", "planweave_interfaces", "tf2_msgs", "control_msgs"],
)
def test_package_xml_is_one_that_ros_reads(folder):
    warnings = []
    package = parse_package(str(folder), warnings=warnings)
    package.validate(warnings=warnings)
    assert not warnings


# Keys that rosdep installs with apt on Ubuntu 24.04 (ros/rosdistro, rosdep/python.yaml)
APT = {
    *("python3-hypothesis", "python3-numpy", "python3-opencv", "python3-opengl", "python3-pil", "python3-pytest"),
    *("python3-pytest-timeout", "python3-rich", "python3-yaml"),
}


def test_rosdep_installs_everything_that_is_named_with_apt():
    """A key of pip ends `rosdep install` with an error on Ubuntu 24.04, where pip may not install as root."""
    package = parse_package(str(ROOT))
    named = {
        dependency.name
        for kind in ("build_depends", "exec_depends", "test_depends")
        for dependency in getattr(package, kind)
    }
    assert {name for name in named if name.startswith("python")} == APT
    assert not any(name.endswith("-pip") for name in named)


def test_version_and_name_stand_once():
    import planweave

    assert parse_package(str(ROOT)).version == planweave.__version__


def colcon(*arguments, folder):
    """The output of colcon in a folder; the test is skipped where colcon is not installed (make setup does it)."""
    pytest.importorskip("colcon_core")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COLCON")}
    run = subprocess.run(
        [sys.executable, "-m", "colcon", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "WARN" not in run.stderr
    return run.stdout


def listed(folder):
    """What colcon finds in a workspace: paths and types by package."""
    rows = colcon("--log-base", os.devnull, "list", folder=folder).splitlines()
    return {row.split("\t")[0]: row.split("\t")[1:] for row in rows}


def test_colcon_takes_the_root_for_a_ros_package():
    found = listed(ROOT)
    assert found["planweave"][1] == "(ros.ament_python)"
    assert found["planweave_interfaces"] == ["interfaces", "(ros.ament_cmake)"]


def test_colcon_finds_both_packages_in_a_workspace_as_the_docs_say(tmp_path):
    """colcon never looks inside a package, so docs/install.md links interfaces/ beside it."""
    (link,) = re.findall(r"^ln -s (\S+) (src/\S+)$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "planweave").symlink_to(ROOT)
    (tmp_path / link[1]).symlink_to(link[0])
    assert listed(tmp_path) == {
        "planweave": ["src/planweave", "(ros.ament_python)"],
        "planweave_interfaces": ["src/planweave_interfaces", "(ros.ament_cmake)"],
    }


@pytest.fixture
def given(monkeypatch):
    """What setup.py gives to setuptools."""
    given = {}
    monkeypatch.setattr("setuptools.setup", lambda **arguments: given.update(arguments))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    return given


def test_every_file_beside_the_code_is_installed(given):
    patterns = given["package_data"][""]
    for room in (name for name in given["packages"] if "." not in name):
        for path in (ROOT / room).rglob("*"):
            folder = ".".join(path.relative_to(ROOT).parent.parts)
            if path.is_file() and "__pycache__" not in path.parts:
                assert folder in given["packages"], path
                assert path.suffix == ".py" or any(fnmatch(path.name, pattern) for pattern in patterns), path
    assert not any("__pycache__" in name for name in given["packages"])


def test_every_data_and_launch_file_is_installed_below_share(given):
    shared = {Path(folder) / Path(file).name: file for folder, files in given["data_files"] for file in files}
    for folder in ("config", "launch"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                where = path.relative_to(ROOT)
                assert shared[Path("share/planweave") / where] == where.as_posix()
    assert shared[Path("share/ament_index/resource_index/packages/planweave")] == "resource/planweave"


def test_every_program_and_part_of_the_entry_points_is_there(given):
    """Read from the source files, since a part may import what is not installed here, such as torch or rclpy."""
    parts = given["entry_points"]
    nodes = {row.split(" = ")[0] for row in parts["console_scripts"]} - {"planweave"}
    assert nodes == {path.parent.name for path in ROOT.glob("*_node/node.py")}
    assert nodes == {node.name for name in system_names() for node in with_page(load_system(name)).nodes}
    for group, rows in parts.items():
        for row in rows:
            module, _, name = row.split(" = ")[1].partition(":")
            path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            assert re.search(rf"^((def|class) {name}\b|{name} = )", path.read_text(), re.MULTILINE), f"{group}: {row}"


def test_colcon_test_runs_pytest(given):
    """colcon looks for pytest in what setup() is given; without it, `colcon test` runs nothing and says OK."""
    assert any(requirement.startswith("pytest") for requirement in given["extras_require"]["test"])


@pytest.mark.slow
def test_pytest_starts_beside_the_plugins_of_a_sourced_ros(tmp_path):
    """Those of Jazzy and Kilted have hooks with `path`, which pytest 9 refuses at its start."""
    for plugin in ("launch_testing", "launch_ros", "launch_pytest"):
        info = tmp_path / f"{plugin}-3.7.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugin}\nVersion: 3.7.1\n")
        (info / "entry_points.txt").write_text(f"[pytest11]\n{plugin} = old_{plugin}_hooks\n")
        (tmp_path / f"old_{plugin}_hooks.py").write_text("def pytest_pycollect_makemodule(path, parent):\n    pass\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "test/unit/test_names.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": python_path(tmp_path)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
