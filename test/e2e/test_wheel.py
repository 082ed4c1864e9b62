"""The wheels that `make wheel` builds, installed into an environment that does not see the checkout."""

import os
import re
import runpy
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Data of the code lie beside it; the rest is installed below share/planweave
SHARED = ("config", "launch")
#: Loads the compiled type support of a message and a service
SEND = """
from planweave_interfaces.msg import TaskGoal, WorldState
from planweave_interfaces.srv import SubmitTask
import planweave_interfaces
WorldState.__import_type_support__()
SubmitTask.__import_type_support__()
request = SubmitTask.Request(task=TaskGoal(sentence="put the cup in the tray"))
print(planweave_interfaces.__file__, request.task.sentence)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Folder of the built wheels; those of messages where ROS 2 comes from PyPI."""
    out = tmp_path_factory.mktemp("dist")
    messages = list(Path(sys.prefix).glob("lib/libplanweave_interfaces__*.so"))
    options = [] if messages else ["--library-only"]
    run([sys.executable, ROOT / "tools" / "wheels.py", "--out", out, *options], ROOT, dict(os.environ))
    return out


@pytest.fixture(scope="module")
def fresh(wheels, tmp_path_factory):
    """A virtual environment with the wheels, which sees the packages of this one but not the checkout."""
    prefix = tmp_path_factory.mktemp("environment")
    venv.create(prefix, with_pip=False)
    python = prefix / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet"]
    run([*pip, "--disable-pip-version-check", *wheels.glob("*.whl")], prefix, dict(os.environ))
    (folder,) = prefix.glob("lib/python*/site-packages")
    # A path file adds folders without reading their own path files, which name the checkout.
    (folder / "packages.pth").write_text("\n".join(site.getsitepackages()))
    return prefix


@pytest.fixture(scope="module")
def outside(fresh, tmp_path_factory):
    """outside(program, *arguments): its output, run in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "PLANWEAVE"))}
    paths = environment.pop("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path and not Path(path).is_relative_to(ROOT))
    libraries = [str(fresh / "lib"), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    return lambda program, *arguments: run([fresh / "bin" / program, *arguments], folder, environment)


def run(command, folder, environment):
    """Output of a command; fails with all that it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_wheel_holds_every_file_of_the_library_and_its_data(wheels):
    (path,) = wheels.glob("planweave-*.whl")
    with zipfile.ZipFile(path) as archive:
        packed = {re.sub(r"^planweave-[\d.]+\.data/data/share/planweave/", "", name) for name in archive.namelist()}
    parts = (*import_packages(), *SHARED)
    present = {
        file.relative_to(ROOT).as_posix()
        for part in parts
        for file in (ROOT / part).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert present - packed == set()
    assert {name.split("/")[0] for name in packed - present} <= {
        f"planweave-{path.name.split('-')[1]}.dist-info",
        f"planweave-{path.name.split('-')[1]}.data",  # the entry of the ament index
        "package.xml",
    }


def import_packages():
    """The import packages that setup.py installs."""
    given = {}
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr("setuptools.setup", lambda **arguments: given.update(arguments))
        context.chdir(ROOT)
        runpy.run_path(str(ROOT / "setup.py"))
    return {name for name in given["packages"] if "." not in name}


def test_the_checkout_is_not_importable(outside, fresh):
    code = "import importlib.util, planweave; print(planweave.__file__, importlib.util.find_spec('benchmarks'))"
    where, other = outside("python", "-c", code).split()
    assert Path(where).is_relative_to(fresh) and other == "None"


def test_the_snippet_of_the_documentation_runs(outside):
    blocks = re.findall(r"```(\w+)\n(.+?)```", (ROOT / "docs" / "library.md").read_text(encoding="utf-8"), re.DOTALL)
    (_, snippet), (_, printed), *_ = blocks
    assert outside("python", "-c", snippet) == printed
    task = (
        "body = pw.SymbolicBody(domain, world)\n"
        "print(pw.run('put the cup in the tray', body=body, method='classical', model='none'))"
    )
    assert "succeeded: the goal holds, as observed" in outside("python", "-c", f"{snippet}\n{task}")


def test_the_commands_run(outside):
    assert "put the red cube in the left tray" in outside("planweave", "--help")
    shown = outside(
        "planweave", "bench", "home", "--method", "tree_planner", "--model", "simulated:0", "--limit", "2", "--json"
    )
    assert '"episodes": 2' in shown


def test_the_interfaces_can_be_sent(outside, wheels, fresh):
    if not list(wheels.glob("planweave_interfaces-*.whl")):
        pytest.skip("the messages of a sourced ROS 2 are built with colcon")
    where, sentence = outside("python", "-c", SEND).split(" ", 1)
    assert Path(where).is_relative_to(fresh) and sentence.strip() == "put the cup in the tray"
    assert (fresh / "share" / "ament_index" / "resource_index" / "packages" / "planweave_interfaces").is_file()
    assert (wheels / "no-deps.txt").read_text().count("==") == 3
