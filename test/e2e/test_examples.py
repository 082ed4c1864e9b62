"""The packages in examples/ and integrations/: each is installed alone, without network, tested in its own process."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {path.parent.name: path.parent for path in sorted(ROOT.glob("*/*/pyproject.toml"))}
NEEDED = {"inspect_robots": "inspect_robots"}  # what an integration is for: an extra of ours


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """Installs an example, once; gives the folder of its test and the environment in which it is found."""
    made = {}

    def installed(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            source, target = folder / "source", folder / "installed"
            shutil.copytree(FOLDERS[name], source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
            run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-deps",
                    "--no-build-isolation",
                    "--no-index",
                    "--disable-pip-version-check",
                    "--target",
                    target,
                    source,
                ],
                folder,
                dict(os.environ),
            )
            tests = folder / "tests"  # without the source: what is tested is the installed copy
            tests.mkdir()
            for path in source.glob("test_*.py"):
                shutil.move(path, tests)
            shutil.rmtree(source)
            paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH", "")])]
            made[name] = tests, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return made[name]

    return installed


def run(command, folder, environment):
    """Output of a command; fails with all that it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        text=True,
        check=False,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_is_installed_and_its_own_test_passes(install, name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    folder, environment = install(name)
    said = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, "-c", os.devnull, folder],
        folder,
        environment,
    )
    complete = importlib.util.find_spec("ompl") is not None  # what needs it is skipped
    assert " passed" in said and " failed" not in said and (" skipped" not in said or not complete)


def bench(install, name, tmp_path, *arguments):
    """The rows of `planweave bench` with an example installed."""
    folder, environment = install(name)
    said = run(
        [
            sys.executable,
            "-m",
            "planweave",
            "bench",
            *arguments,
            "--model",
            "simulated:0",
            "--jobs",
            "1",
            "--json",
            "--out",
            tmp_path / "run",
        ],
        folder,
        environment,
    )
    return json.loads(said)


def test_the_bakeoff_plays_the_method(install, tmp_path):
    found = bench(install, "method_react", tmp_path, "home", "--method", "react", "--task", "watch_tv")
    whole = found["rows"][0]
    assert (whole["method"], whole["sr"]["mean"], whole["failures"]) == ("react", 1.0, {})


def test_the_bakeoff_plays_the_suite(install, tmp_path):
    found = bench(install, "suite_own", tmp_path, "own_home", "--method", "iterative")
    whole = found["rows"][0]
    assert (found["suite"], whole["episodes"], whole["sr"]["mean"], whole["failures"]) == ("own_home", 2, 1.0, {})
