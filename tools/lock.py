"""Resolve all dependencies into requirements/lock/: exact versions with hashes, for each supported Python and machine.

Usage: make lock, after a change to pyproject.toml or requirements/*.in, or to move to newer releases.

uv resolves everything together, so that the groups agree; a group's file then lists what it adds to the packages that
Planweave runs with. numpy1/ is for a sourced ROS 2 whose compiled modules need NumPy 1 (Jazzy and Kilted on Ubuntu
24.04). Hashes are kept of wheels for Linux and of the sources that are built; missing.json names, for each Python and
machine, the packages without a wheel.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name, parse_wheel_filename

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit("planweave: make lock needs Python 3.11 or newer: make PYTHON=python3.12 lock")

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
LOCK = REQUIREMENTS / "lock"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
#: Installed as a build of the machine's choice, so without a hash (requirements/torch.txt)
UNHASHED = {"torch"}
#: The part of a marker that is true in all environments of [tool.uv]
ALWAYS = " or ".join(
    f"(platform_machine == '{machine}' and platform_python_implementation == 'CPython' and sys_platform == 'linux')"
    for machine in sorted(MACHINES)
)


def main() -> None:
    """Resolve, then write one file a group."""
    if not shutil.which("uv"):
        sys.exit("planweave: no uv on the path; run: make lock")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    groups = {
        "ros": ["ros.in", "ros-build.in"],
        "build": ["build.in"],
        "cmake": ["cmake.in"],
        "run": ["pyproject.toml", "data.in"],
        **{extra: ["pyproject.toml", "--extra", extra] for extra in extras},
    }
    shutil.rmtree(LOCK, ignore_errors=True)
    (LOCK / "numpy1").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = ["pyproject.toml", "--all-extras", *(f"{path.name}" for path in sorted(REQUIREMENTS.glob("*.in")))]
        files = resolve(LOCK, groups, whole, PYTHONS, (), Path(scratch))
        one = Path(scratch) / "numpy1.txt"
        one.write_text("numpy<2\n", encoding="utf-8")
        del groups["ros"], groups["docs"]  # docs: only for whoever works on the pages
        whole = [part for part in whole if not part.startswith("ros")]
        resolve(LOCK / "numpy1", groups, whole, ("3.12",), ("-c", str(one)), Path(scratch))
    missing = {
        f"{python} {machine}": dict(without_wheel(files, python, machine)) for python in PYTHONS for machine in MACHINES
    }
    (LOCK / "missing.json").write_text(json.dumps(missing, indent=1) + "\n", encoding="utf-8")
    for path in sorted(LOCK.rglob("*.txt")):
        count = len(re.findall(r"(?m)^\w", path.read_text(encoding="utf-8")))
        print(f"{path.relative_to(ROOT)}: {count} packages")


def resolve(
    folder: Path,
    groups: dict[str, list[str]],
    whole: list[str],
    pythons: Iterable[str],
    more: Iterable[str],
    scratch: Path,
) -> list[dict]:
    """Write the files of all groups; returns the packages with their files, as pylock.toml (PEP 751) lists them."""
    oldest = next(iter(pythons))
    lines = {}
    listed = tomllib.loads("\n".join(compile_(whole, oldest, [*more, "--format", "pylock.toml"], scratch)))["packages"]
    pins = [f"{p['name']}=={p['version']}" + (f" ; {p['marker']}" if "marker" in p else "") for p in listed]
    pinned = scratch / f"{folder.name}.txt"
    pinned.write_text("\n".join(pins) + "\n", encoding="utf-8")
    hashes = {(canonicalize_name(p["name"]), p["version"]): list(kept_hashes(p, pythons)) for p in listed}
    for group, inputs in groups.items():
        lines[group] = compile_(inputs, oldest, [*more, "--offline", "-c", str(pinned)], scratch)
    for group, found in lines.items():
        own = [line for line in found if group in ("ros", "build", "cmake", "run") or line not in lines["run"]]
        text = [f"# {group}: made by `make lock`\n"]
        for line in own:
            name, _, version = line.split(" ")[0].partition("==")
            if canonicalize_name(name) in UNHASHED:
                text.append(f"# and {name}: requirements/{name}.txt\n")
                continue
            text.append(simplified(line))
            text += [f" \\\n  --hash=sha256:{one}" for one in hashes[canonicalize_name(name), version]]
            text.append("\n")
        (folder / f"{group}.txt").write_text("".join(text), encoding="utf-8")
    return listed


def compile_(inputs: list[str], python: str, more: Iterable[str], scratch: Path) -> list[str]:
    """The lines of ``uv pip compile``."""
    paths = []
    for part in inputs:
        if part.endswith(".in"):
            path = scratch / part
            text = (REQUIREMENTS / part).read_text(encoding="utf-8")
            if part.startswith("ros"):  # its wheels are for this machine alone
                text = re.sub(r"(?m)^([a-z][^#\n]*?)[ \t]*(#.*)?$", r"\1; platform_machine == 'x86_64'", text)
            path.write_text(text, encoding="utf-8")
            paths.append(str(path))
        else:
            paths.append(part)
    command = [
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--no-header",
        "--no-annotate",
        "--python-version",
        python,
    ]
    done = subprocess.run([*command, *paths, *more], cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"planweave: uv found no versions for {' '.join(inputs)}:\n{done.stderr}")
    return [line for line in done.stdout.splitlines() if line.strip()]


def simplified(line: str) -> str:
    """A line without the parts of its marker that hold on every supported Python and machine."""
    name, _, marker = line.partition(" ; ")
    parts = [
        p
        for p in marker.replace(f"({ALWAYS})", "").replace(ALWAYS, "").split(" and ")
        if p.strip() and p != "python_full_version < '3.15'"
    ]
    marker = " and ".join(parts).strip()
    return f"{name} ; {marker}" if marker else name


def kept_hashes(package: dict, pythons: Iterable[str]) -> Iterator[str]:
    """Hashes of the wheels for Linux and, where one of the supported Pythons or machines has none, of the source."""
    needed = False
    for python in pythons:
        for machine in MACHINES:
            if applies(package, python, machine) and not any(
                fits(w, python, machine) for w in package.get("wheels", ())
            ):
                needed = True
    for wheel in package.get("wheels", ()):
        if any(fits(wheel, python, machine) for python in pythons for machine in MACHINES):
            yield wheel["hashes"]["sha256"]
    if needed and "sdist" in package:
        yield package["sdist"]["hashes"]["sha256"]


def without_wheel(files: list[dict], python: str, machine: str) -> Iterator[tuple[str, str]]:
    """Name and remedy of each package that has no wheel for this Python and machine."""
    for package in files:
        if applies(package, python, machine) and not any(fits(w, python, machine) for w in package.get("wheels", ())):
            yield package["name"], "source" if "sdist" in package else "none"


def applies(package: dict, python: str, machine: str) -> bool:
    full = {"python_version": python, "python_full_version": f"{python}.8"}
    place = {"platform_machine": machine, "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
    return "marker" not in package or Marker(package["marker"]).evaluate({**full, **place})


def fits(wheel: dict, python: str, machine: str) -> bool:
    """Whether a wheel can be installed on CPython of this version, on Linux with glibc on this machine."""
    minor = int(python.split(".")[1])
    for tag in parse_wheel_filename(wheel["url"].rsplit("/", 1)[-1].replace("%2B", "+"))[3]:
        linux = tag.platform == "any" or re.fullmatch(rf"(many)?linux\w*_{machine}", tag.platform)
        own = tag.interpreter == f"cp3{minor}" and tag.abi in (f"cp3{minor}", "abi3", "none")
        stable = tag.abi == "abi3" and tag.interpreter.startswith("cp3") and int(tag.interpreter[3:] or 0) <= minor
        if linux and (own or stable or tag.interpreter in ("py3", f"py3{minor}")):
            return True
    return False


if __name__ == "__main__":
    main()
