"""tools/prepare.py beside a sourced ROS 2 that is pretended by small programs: nothing is installed or built."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planweave.launcher.one_system import own_domain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def prepare():
    """The functions of tools/prepare.py by name."""
    return runpy.run_path(str(ROOT / "tools" / "prepare.py"))


@pytest.fixture
def venv(tmp_path):
    """A folder with a space in its path and this Python as bin/python."""
    folder = tmp_path / "my workspace" / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


@pytest.fixture
def ros_bin(tmp_path, monkeypatch):
    """A folder on the path, before all others, with a ros2 and a colcon that say which Python runs them."""
    folder = tmp_path / "ros bin"
    folder.mkdir()
    for name in ("ros2", "colcon"):
        (folder / name).write_text(f"#!/bin/false\nimport sys\nprint({name!r}, sys.executable, sys.argv[1:])\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def said(tool, *arguments):
    return subprocess.run([tool, *arguments], text=True, capture_output=True, check=True).stdout.strip()


def test_ros2_and_colcon_run_under_the_environments_python(prepare, venv, ros_bin, monkeypatch):
    prepare["write_tools"](venv)
    for name in ("ros2", "colcon"):
        assert said(venv / "bin" / name, "a b", "c") == f"{name} {venv / 'bin' / 'python'} ['a b', 'c']"
    monkeypatch.setenv("PATH", f"{venv / 'bin'}:{ros_bin}:/usr/bin:/bin")  # a second time, in a shell that has it
    prepare["write_tools"](venv)
    assert said(venv / "bin" / "ros2").startswith("ros2 ")


def test_ros2_looks_where_a_system_is_up_unless_a_domain_is_named(prepare, venv, ros_bin, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (ros_bin / "ros2").write_text("#!/bin/false\nimport os\nprint(os.environ.get('ROS_DOMAIN_ID'))\n")
    prepare["write_tools"](venv)
    ros2 = venv / "bin" / "ros2"
    monkeypatch.delenv("ROS_DOMAIN_ID")
    assert said(ros2, "topic", "list") == "0"
    with own_domain("tabletop", lasting=True):
        up = os.environ["ROS_DOMAIN_ID"]
        monkeypatch.delenv("ROS_DOMAIN_ID")
        assert said(ros2, "topic", "list") == up and said(ros2, "launch", "planweave") == "None"
        monkeypatch.setenv("ROS_DOMAIN_ID", "7")
        assert said(ros2, "topic", "list") == "7"


def test_a_colcon_that_pip_installed_stays(prepare, venv, ros_bin):
    (venv / "bin" / "colcon").write_text("#!/bin/sh\necho mine\n")
    prepare["write_tools"](venv)
    assert (venv / "bin" / "colcon").read_text() == "#!/bin/sh\necho mine\n"


def test_a_tool_that_is_not_there_is_left_out(prepare, venv, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    prepare["write_tools"](venv)
    assert not (venv / "bin" / "ros2").exists()


@pytest.mark.parametrize(("version", "folder"), [("1.26.4", "numpy1"), ("2.3.1", "lock"), (None, "lock")])
def test_numpy_1_is_kept_where_the_sourced_ros_has_it(prepare, tmp_path, monkeypatch, version, folder):
    module = tmp_path / "dist-packages" / "numpy.py"
    module.parent.mkdir()
    module.write_text(f"__version__ = {version!r}\n" if version else "raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(module.parent))
    monkeypatch.setattr(prepare["sys"], "version_info", (3, 12, 3))
    assert prepare["lock_folder"](True).name == folder
    assert prepare["lock_folder"](False).name == "lock"


@pytest.fixture
def run_pip(prepare, venv, monkeypatch):
    """run_pip(exit code, stderr): what pip() was run with, and how prepare ends."""

    def run(code, stderr=""):
        given = {}

        def double(command, env, **_):
            given.update(command=command, env=env)
            return subprocess.CompletedProcess(command, code, stderr=stderr)

        monkeypatch.setattr(prepare["subprocess"], "run", double)
        try:
            prepare["pip"](venv, "something")
        except SystemExit as end:
            given["end"] = str(end)
        return given

    return run


@pytest.mark.parametrize(("home", "cached"), [("there", True), ("missing", False)])
def test_pip_keeps_no_cache_where_the_home_folder_cannot_be_written(run_pip, tmp_path, monkeypatch, home, cached):
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / home))
    for name in ("PIP_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    command = run_pip(0)["command"]
    assert command[-1] == "something" and ("--no-cache-dir" not in command) == cached


@pytest.mark.parametrize(
    ("stderr", "remedy"),
    [
        (
            "NewConnectionError(...): Failed to establish a new connection: [Errno 101] Network is unreachable",
            "network",
        ),
        ("Could not fetch URL: SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "certificate"),
        ("ERROR: No matching distribution found for ompl==2.0.1", "no ompl==2.0.1 for this Python"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "other files than the locked"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("  ERROR: Failed building wheel for eaik", "eaik did not build"),
        ("Segmentation fault", "exit 3"),
    ],
)
def test_a_failed_install_ends_with_the_remedy_and_goes_on_later(run_pip, stderr, remedy):
    end = run_pip(3, f"noise\n{stderr}\n")["end"]
    assert remedy in end and "run the same command again" in end and "\n" not in end


def test_a_group_that_was_not_installed_whole_is_installed_again(prepare, venv, monkeypatch):
    given = []
    monkeypatch.setitem(prepare["install"].__globals__, "pip", lambda venv, *arguments: given.append(arguments))
    prepare["install"](venv, False, ["build", "run"], "packages")
    prepare["install"](venv, False, ["build", "run"], "packages")
    (lists,) = given
    assert sum(part == "-r" for part in lists) == 2 and "--require-hashes" in lists and "--no-deps" in lists

    def cut(venv, *arguments):
        raise SystemExit("no network")

    monkeypatch.setitem(prepare["install"].__globals__, "pip", cut)
    (venv / "planweave-packages-run").write_text("of an older lock")
    for _ in range(2):
        with pytest.raises(SystemExit):
            prepare["install"](venv, False, ["build", "run"], "packages")


def test_an_extra_that_does_not_exist_is_refused_with_those_that_do(prepare, venv):
    with pytest.raises(SystemExit) as refused:
        prepare["install_packages"](venv, False, False, "visoin")
    assert "visoin" in str(refused.value) and ", vision" in str(refused.value)


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 15, 0)])
def test_another_python_is_refused_at_once_with_one_that_is_there(prepare, tmp_path, monkeypatch, version):
    (tmp_path / "python3.12").write_text("#!/bin/sh\n")
    (tmp_path / "python3.12").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(prepare["sys"], "version_info", version)
    with pytest.raises(SystemExit) as refused:
        prepare["check_machine"](False)
    assert "3.10 to 3.14" in str(refused.value) and "make PYTHON=python3.12" in str(refused.value)


def test_a_sourced_ros_without_control_msgs_is_refused_with_the_package(prepare, monkeypatch):
    find = prepare["importlib"].util.find_spec
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    monkeypatch.setattr(prepare["importlib"].util, "find_spec", lambda n: None if n == "control_msgs" else find(n))
    with pytest.raises(SystemExit) as refused:
        prepare["check_machine"](True)
    assert "ros-kilted-control-msgs" in str(refused.value)


@pytest.mark.parametrize("distro", ["humble", "galactic", "foxy"])
def test_a_distribution_that_is_too_old_is_refused_with_the_reason(prepare, monkeypatch, distro):
    monkeypatch.setenv("ROS_DISTRO", distro)
    monkeypatch.delenv("PLANWEAVE_ROS", raising=False)
    with pytest.raises(SystemExit) as refused:
        prepare["ros_is_sourced"]()
    wanted = (distro, "ROS_AUTOMATIC_DISCOVERY_RANGE", "Jazzy, Kilted or Lyrical")
    assert all(name in str(refused.value) for name in wanted)
    monkeypatch.setenv("PLANWEAVE_ROS", "pypi")
    assert prepare["ros_is_sourced"]() is False


def test_a_workspace_built_on_the_environment_sources_it(prepare, venv):
    """colcon sources local_setup.* of each folder that was on AMENT_PREFIX_PATH when it built."""
    prepare["write_script"](venv, sourced=True)
    for shell in ("sh", "bash"):
        assert said(shell, "-c", f'. "{venv}/local_setup.{shell}"; echo "$PATH"').startswith(f"{venv}/bin:")
    assert (venv / "local_setup.zsh").read_text() == (venv / "local_setup.sh").read_text()


def test_the_script_for_a_shell_works_where_the_path_has_a_space(prepare, venv):
    prepare["write_script"](venv, sourced=True)
    shown = said("sh", "-c", f'. "{venv}/planweave.sh"; echo "$PATH" "$AMENT_PREFIX_PATH"')
    assert shown.startswith(f"{venv}/bin:") and str(venv) in shown.split("/bin", 2)[-1]


# ---- what is installed --------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path):
    """installed("name"): a prefix with the package planweave and its config, as colcon or pip lays it out."""

    def make(name):
        prefix = tmp_path / name
        site = prefix / "lib" / "python3.12" / "site-packages"
        shutil.copytree(ROOT / "planweave", site / "planweave", ignore=shutil.ignore_patterns("__pycache__"))
        (prefix / "share" / "planweave" / "config" / "domains").mkdir(parents=True)
        return prefix, site

    return make


def test_an_overlay_does_not_run_with_the_config_of_an_older_package(installed):
    overlay, site = installed("overlay")
    old, _ = installed("old")
    code = (
        f"import sys; sys.prefix = {str(old)!r}\nfrom planweave.core.base.paths import config_dir\nprint(config_dir())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        text=True,
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(site), "AMENT_PREFIX_PATH": f"{old}:{overlay}"},
    )
    assert run.stdout.strip() == str(overlay / "share" / "planweave" / "config")


def test_no_config_at_all_is_an_error_that_says_where_was_looked(installed):
    prefix, site = installed("prefix")
    shutil.rmtree(prefix / "share")
    code = "from planweave.core.base.paths import config_dir\nconfig_dir()"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        text=True,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"},
    )
    assert f"looked in {site / 'config'}" in run.stderr and str(prefix / "share") in run.stderr


AT_WORK = "def main():\n    print('at work')\n    return 2\n"


def start(tmp_path, module, **environment):
    """The program odd_node, whose module is such a text."""
    (tmp_path / "odd_node").mkdir()
    (tmp_path / "odd_node" / "node.py").write_text(module)
    code = "import sys; sys.argv[0] = '/ws/lib/planweave/odd_node'\nfrom planweave_ros.node_main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin", **environment},
    )


def test_a_node_under_a_python_without_its_packages_says_what_to_do(tmp_path):
    run = start(tmp_path, "import no_such_package.part\n")
    assert run.returncode == 2, "launch files start it again after any other"
    assert f"odd_node: {sys.executable} has no module no_such_package. Run  make setup" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_node_without_the_interfaces_says_how_to_build_them(tmp_path):
    if any((Path(folder) / "planweave_interfaces").is_dir() for folder in sys.path if folder):
        (tmp_path / "planweave_interfaces").mkdir()  # hides the installed one
        (tmp_path / "planweave_interfaces" / "__init__.py").write_text(
            "raise ModuleNotFoundError('gone', name='planweave_interfaces')\n"
        )
    run = start(tmp_path, "import planweave_interfaces.msg\n")
    assert run.returncode == 2
    assert "ln -s planweave/interfaces src/planweave_interfaces" in run.stderr


def test_a_fault_of_ours_is_not_called_a_missing_package(tmp_path):
    run = start(tmp_path, "import planweave.no_such_module\n")
    assert run.returncode == 1 and "Traceback" in run.stderr


def test_a_node_does_not_begin_with_interfaces_that_were_built_before_a_change(tmp_path):
    (tmp_path / "share" / "planweave_interfaces").mkdir(parents=True)
    run = start(tmp_path, AT_WORK, AMENT_PREFIX_PATH=str(tmp_path))
    assert (run.returncode, run.stdout) == (2, "")
    assert "make setup" in run.stderr and "Traceback" not in run.stderr


def test_a_node_is_run_by_the_name_of_its_program_and_its_exit_code_is_the_programs(tmp_path):
    """With code 2 (configuration refused) launch files end the system; after any other the node is started again."""
    run = start(tmp_path, AT_WORK)
    assert run.stdout == "at work\n" and run.returncode == 2
