"""Make the virtual environment that Planweave runs in, and build its interfaces into it.

Usage: python3 tools/prepare.py [--dev] [--extras vision,realsense] [--venv .venv]

Each part is skipped where a stamp in the environment says that it was done from the same files. With a ROS 2
sourced (ROS_DISTRO set and rclpy importable) its packages are used; else ROS 2 comes from PyPI. The versions of all
packages are those of requirements/lock/ (make lock).
Standard library only, and readable by old Pythons down to the version check.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from ctypes.util import find_library
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
NEWEST = (3, 14)  # that requirements/lock/ was resolved for
#: Needed packages that a Python has no wheel of, and what is lost
LEFT_OUT = {(3, 14): "ompl has no wheel for Python 3.14: the arm moves along straight and raised paths only"}
TOO_OLD = {"foxy", "galactic", "humble"}  # distributions of ROS 2
NOT_IN_WHEELS = ("tf2_msgs", "control_msgs")  # packages of messages below requirements/; a sourced ROS 2 has its own
GL_PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"  # Mesa's OpenGL in software, with a driver for no screen

SCRIPT = """\
# Environment of Planweave's programs. For a shell: . {venv}/planweave.sh
export PATH="{venv}/bin:$PATH"
export AMENT_PREFIX_PATH="{venv}${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"
export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export ROS_AUTOMATIC_DISCOVERY_RANGE="${{ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}}"
"""

TOOL_HEAD = "#!/bin/sh\n# Of tools/prepare.py\n"
DOMAIN = """\
case "${{ROS_DOMAIN_ID:+named}}$1" in
  named* | launch | run) ;;
  *) ROS_DOMAIN_ID=$({python} -m planweave.launcher.one_system) && export ROS_DOMAIN_ID || exit ;;
esac
"""

# The same as in planweave/launcher/environment.py, which says why.
PROFILES = """\
if [ "$ROS_AUTOMATIC_DISCOVERY_RANGE" = LOCALHOST ] && [ -r "{profiles}" ] &&
  [ -z "$FASTDDS_DEFAULT_PROFILES_FILE$FASTRTPS_DEFAULT_PROFILES_FILE$ROS_STATIC_PEERS" ]; then
  case "$RMW_IMPLEMENTATION" in
    "" | rmw_fastrtps*)
      export FASTDDS_DEFAULT_PROFILES_FILE="{profiles}"
      export ROS_AUTOMATIC_DISCOVERY_RANGE=SYSTEM_DEFAULT ;;
  esac
fi
"""


def main():
    """Check the machine, then do what is not done yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", action="store_true", help="also install what the tests and checks need")
    parser.add_argument("--extras", default="", help="further extras of pyproject.toml, with commas, e.g. vision")
    parser.add_argument("--venv", default=str(ROOT / ".venv"), help="folder of the environment")
    options = parser.parse_args()
    venv = Path(options.venv).resolve()
    sourced = ros_is_sourced()
    begun = time.monotonic()
    done = []
    try:
        check_machine(sourced)
        lock = one_at_a_time(venv)
        done += make_environment(venv, sourced)
        done += install_build_tools(venv, sourced)
        with ThreadPoolExecutor(1) as beside:  # pip unpacks on one core, the compiler uses what is left
            built = beside.submit(build_all_messages, venv, sourced)
            done += install_packages(venv, sourced, options.dev, options.extras)
            done += built.result()
        write_script(venv, sourced)
        if sourced:
            write_tools(venv)
        lock.close()
        look_for_rendering()
    except subprocess.CalledProcessError as error:
        command = " ".join(str(part) for part in error.cmd[:6])
        stop(f"this failed (exit {error.returncode}), see the lines above: {command} …")
    if done:
        print(f"prepared {venv}: {', '.join(done)} ({time.monotonic() - begun:.0f} s)", flush=True)


def one_at_a_time(venv):
    """Hold a lock beside the environment: a second `make` waits for the first, then finds everything done."""
    lock = venv.with_name(venv.name + ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"waiting for another preparation of {venv} to end", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def stop(message):
    """End with one clear message."""
    sys.exit(f"planweave: {message}")


def ros_is_sourced():
    """Whether a ROS 2 is sourced in this shell and works with this Python."""
    distro = os.environ.get("ROS_DISTRO")
    if not distro or os.environ.get("PLANWEAVE_ROS") == "pypi":
        return False
    if distro in TOO_OLD:
        stop(
            f"ROS 2 {distro} is sourced, which is too old: it ignores ROS_AUTOMATIC_DISCOVERY_RANGE, so that the nodes "
            "would join the network, its controller of the arm does not brake when it is cancelled "
            "(decelerate_on_cancel), and it has no moveit_py. Source Jazzy, Kilted or Lyrical; "
            "or, for the simulation, open a shell without a sourced ROS 2, and it comes from PyPI."
        )
    if subprocess.run([sys.executable, "-c", "import rclpy"], capture_output=True, check=False).returncode == 0:
        return True
    stop(
        f"ROS_DISTRO is {distro}, but {sys.executable} cannot import rclpy. Use the Python of that ROS 2 "
        "(make PYTHON=/usr/bin/python3 …), or set PLANWEAVE_ROS=pypi to take ROS 2 from PyPI instead."
    )


def check_machine(sourced):
    """End with a message that names everything that is missing and how to get it."""
    version = ".".join(map(str, sys.version_info[:3]))
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        others = [name for name in map("python3.{}".format, range(NEWEST[1], OLDEST[1] - 1, -1)) if shutil.which(name)]
        stop(
            f"Python {version} is not one of 3.10 to 3.14. Name another one: "
            f"make PYTHON={others[0] if others else 'python3.12'} …"
        )
    if not sourced and (platform.system() != "Linux" or platform.machine() != "x86_64"):
        stop(
            f"ROS 2 from PyPI is there for x86-64 Linux only, and this is {platform.system()} "
            f"{platform.machine()}. Source a ROS 2 installation first."
        )
    missing = []
    if sourced and not importlib.util.find_spec("control_msgs"):  # not in ros-base
        missing.append(("the ROS package control_msgs", f"ros-{os.environ['ROS_DISTRO']}-control-msgs"))
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        missing.append(("the module venv", f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"))
    if not (shutil.which("c++") or shutil.which("g++")) or not (shutil.which("cc") or shutil.which("gcc")):
        missing.append(("a C++ compiler", "g++"))
    if not (shutil.which("make") or shutil.which("ninja")):
        missing.append(("make", "make"))
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        missing.append(("the headers of Python", f"python{sys.version_info[0]}.{sys.version_info[1]}-dev"))
    if missing:
        stop(
            f"missing: {', '.join(what for what, _ in missing)}. On Debian or Ubuntu: "
            f"sudo apt-get install {' '.join(package for _, package in missing)}"
        )


def look_for_rendering():
    """Say what the simulated camera will miss; what else there is works without."""
    missing = [name for name in ("EGL", "OpenGL") if not find_library(name)]
    if missing and not find_library("OSMesa"):
        print(
            f"planweave: no library {' and '.join(missing)}: the simulated camera cannot render. On Debian, "
            f"Ubuntu: sudo apt-get install {GL_PACKAGES}",
            file=sys.stderr,
            flush=True,
        )


def stamp_is(path, content):
    return path.is_file() and path.read_text() == content


def digest(*paths):
    """Hash over names and contents of files and of all files below folders."""
    total = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                total.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()


def run(*command, **options):
    """Run a command; its output is shown; raises where it fails."""
    subprocess.run([str(part) for part in command], check=True, **options)


def make_environment(venv, sourced):
    """Make the virtual environment, anew where it belongs to another Python."""
    origin = f"ros {os.environ['ROS_DISTRO']}" if sourced else "pypi"
    key = f"{sys.version} {os.path.realpath(sys.executable)} {origin}\n"
    stamp = venv / "planweave-python"
    if stamp_is(stamp, key) and (venv / "bin" / "python").exists():
        return []
    if sys.version_info[:2] in LEFT_OUT:
        print(f"planweave: {LEFT_OUT[sys.version_info[:2]]}", flush=True)
    print(
        f"making {venv} with Python {platform.python_version()} and "
        f"{'the sourced ROS 2 ' + os.environ['ROS_DISTRO'] if sourced else 'ROS 2 from PyPI'}",
        flush=True,
    )
    run(sys.executable, "-m", "venv", "--clear", *(["--system-site-packages"] if sourced else []), venv)
    stamp.write_text(key)
    return ["environment"]


def install_build_tools(venv, sourced):
    """Install what messages and source packages are built with, and ROS 2 itself where none is sourced."""
    done = install(venv, sourced, ["build"], "build tools")  # first: a package of the next group has no wheel
    groups = [*([] if shutil.which("cmake") else ["cmake"]), *([] if sourced else ["ros"])]
    return done + install(venv, sourced, groups, "cmake" if sourced else "ROS 2")


def install_packages(venv, sourced, dev, extras):
    """Install what Planweave runs with, then Planweave itself from this folder."""
    extras = sorted(set(extras.replace(",", " ").split()))
    known = {path.stem for path in lock_folder(sourced).glob("*.txt")} - {"build", "cmake", "ros", "run"}
    unknown = [extra for extra in extras if extra not in known]
    if unknown:
        stop(f"no extra {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    groups = ["run", *(["dev"] if dev else []), *extras]
    done = install(venv, sourced, groups, f"packages ({', '.join(groups)})")
    return done + install_checkout(venv)


def install(venv, sourced, groups, what):
    """Install the locked packages of those groups that are not there yet; one pip for all."""
    folder = lock_folder(sourced)
    torch = ROOT / "requirements" / "torch.txt"
    wanted = {}
    for group in groups:
        text = (folder / f"{group}.txt").read_text()
        key = f"{digest(folder / f'{group}.txt', torch)}\n"
        if not stamp_is(venv / f"planweave-packages-{group}", key):
            wanted[group] = (key, "# and torch" in text)
    if not wanted:
        return []
    print(f"installing {what}", flush=True)
    for group in wanted:
        (venv / f"planweave-packages-{group}").unlink(missing_ok=True)
    lists = [part for group in wanted for part in ("-r", folder / f"{group}.txt")]
    pip(venv, "--no-deps", "--require-hashes", "--no-build-isolation", "--ignore-requires-python", *lists)
    if any(needs_torch for _, needs_torch in wanted.values()):
        pip(venv, "-r", torch)
    for group, (key, _) in wanted.items():
        (venv / f"planweave-packages-{group}").write_text(key)
    return [what]


def install_checkout(venv):
    """Install this folder, so that its programs run from here."""
    nodes = " ".join(sorted(path.parent.name for path in ROOT.glob("*_node/node.py")))
    stamp = venv / "planweave-checkout"
    key = f"{digest(ROOT / 'pyproject.toml', ROOT / 'setup.py')} {nodes}\n"
    if stamp_is(stamp, key):
        return []
    stamp.unlink(missing_ok=True)
    pip(venv, "--no-deps", "--no-build-isolation", "-e", ROOT)
    stamp.write_text(key)
    return ["planweave"]


@cache
def lock_folder(sourced):
    """The folder of the locked versions: with NumPy 1 where the sourced ROS 2 was built with it.

    Its compiled modules (moveit_py, tf2, cv_bridge) end the process beside a newer one.
    """
    folder = ROOT / "requirements" / "lock"
    if not sourced:
        return folder
    code = "import numpy; print(numpy.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("1."):
        return folder
    if sys.version_info[:2] != (3, 12):
        stop(
            f"the sourced ROS 2 uses NumPy {done.stdout.strip()} on Python {platform.python_version()}; with NumPy 1 "
            "versions are locked for Python 3.12 only (Jazzy, Kilted and Lyrical on Ubuntu 24.04)"
        )
    return folder / "numpy1"


#: What pip says, and what to do
REMEDIES = (
    (r"No space left on device", "the disk is full; make room"),
    (
        r"DO NOT MATCH THE HASHES",
        "the package index sent other files than the locked ones: a mirror that rebuilds packages, or a damaged cache "
        "(python3 -m pip cache purge); set PIP_INDEX_URL to another index",
    ),
    (
        r"(?i)name resolution|Network is unreachable|Max retries exceeded|NewConnectionError|ConnectTimeout|"
        r"Connection (?:refused|reset|aborted|broken|to \S+ timed out)|ReadTimeout|Read timed out|IncompleteRead|"
        r"ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED",
        "the package index could not be reached; check the network and pip's proxy and certificate settings",
    ),
    (
        r"No matching distribution found for (?P<what>\S+)",
        "the package index has no {what} for this Python and machine: a mirror that lags behind? Set PIP_INDEX_URL to "
        "another index",
    ),
    (r"Failed building wheel for (?P<what>\S+)", "{what} did not build from its source, see the lines above"),
)


def pip(venv, *arguments):
    """Install with the environment's pip; where it fails, end with its last lines and the remedy.

    Modules are compiled when they are first imported: most of what is unpacked never is.
    """
    elsewhere = any(os.environ.get(name) for name in ("PIP_CACHE_DIR", "XDG_CACHE_HOME"))
    # As root pip believes that it can write to a home folder that is read-only, and fails.
    cache = [] if elsewhere or os.access(os.path.expanduser("~"), os.W_OK) else ["--no-cache-dir"]
    command = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-compile", "--root-user-action=ignore", *cache, *arguments]
    environment = {"PIP_RETRIES": "3", "PIP_DEFAULT_TIMEOUT": "30", **os.environ}
    # Headers of Eigen, which the source of eaik leaves out
    eigen = sorted((venv / "lib").glob("python*/site-packages/cmeel.prefix/include/eigen3"))
    before = os.environ.get("CPLUS_INCLUDE_PATH", "")
    environment["CPLUS_INCLUDE_PATH"] = ":".join([*map(str, eigen), *([before] if before else [])])
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return
    print("\n".join(done.stderr.splitlines()[-12:]), file=sys.stderr)
    for pattern, remedy in REMEDIES:
        found = re.search(pattern, done.stderr)
        if found:
            text = remedy.format(**found.groupdict())
            break
    else:
        text = f"pip failed (exit {done.returncode}), see the lines above"
    stop(f"{text}. Then run the same command again: it goes on from here")


def build_all_messages(venv, sourced):
    """Build the packages of messages that are not there: our own, and those that the wheels lack."""
    done = []
    for name in [] if sourced else NOT_IN_WHEELS:
        done += build_messages(venv, sourced, name, ROOT / "requirements" / name)
    return done + build_messages(venv, sourced, "interfaces", ROOT / "interfaces")


def build_messages(venv, sourced, name, folder):
    """Build a package of messages, such as planweave_interfaces, and install it into the environment itself.

    There its Python modules, libraries and index entry are found with no sourcing of any file.
    """
    stamp = venv / f"planweave-{name}"
    key = f"{digest(folder)} {sourced} {os.environ.get('ROS_DISTRO') if sourced else ''}\n"
    if stamp_is(stamp, key):
        return []
    print(f"building {'the interfaces' if name == 'interfaces' else name}", flush=True)
    stamp.unlink(missing_ok=True)
    environment = dict(os.environ)
    environment["PATH"] = f"{venv / 'bin'}:{environment['PATH']}"
    for variable in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        before = environment.get(variable, "") if sourced else ""
        environment[variable] = f"{venv}:{before}" if before else str(venv)
    environment["LD_LIBRARY_PATH"] = f"{venv / 'lib'}:{environment.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    environment["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    build = ROOT / "build" / f"{name}-{hashlib.sha256(str(venv).encode()).hexdigest()[:8]}"
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    log = build / "build.log"
    python = venv / "bin" / "python"
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=environment["PATH"]) else []
    commands = [
        [
            "cmake",
            "-S",
            folder,
            "-B",
            build,
            *generator,
            f"-DCMAKE_INSTALL_PREFIX={venv}",
            "-DBUILD_TESTING=OFF",
            f"-DPython3_EXECUTABLE={python}",
            f"-DPYTHON_EXECUTABLE={python}",
            "-DPython3_FIND_VIRTUALENV=ONLY",
            *([] if sourced else ["-DPYTHON_ONLY=ON"]),
        ],
        ["cmake", "--build", build, "--parallel", str(len(os.sched_getaffinity(0))), "--target", "install"],
    ]
    with log.open("w") as output:
        for command in commands:
            result = subprocess.run(
                [str(part) for part in command], env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
            )
            if result.returncode:
                output.flush()
                print("\n".join(log.read_text().splitlines()[-40:]), file=sys.stderr)
                stop(f"{name} did not build; the whole output is in {log}")
    shutil.rmtree(build)
    stamp.write_text(key)
    return [name]


def write_script(venv, sourced):
    """Write the file that sets the environment for a shell and for make."""
    libraries = [venv / "lib"]
    if not sourced:
        libraries += sorted((venv / "lib").glob("python*/site-packages/ros_*.libs"))
    text = SCRIPT.format(venv=venv, libraries=":".join(map(str, libraries)))
    if not sourced:
        # The bootstrapper of the wheels starts every Python twice unless this says that all is set.
        text += "export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1\n"
        text += PROFILES.format(profiles=ROOT / "config" / "fastdds.xml")
    path = venv / "planweave.sh"
    if not stamp_is(path, text):
        path.write_text(text)
    for shell in ("sh", "bash", "zsh") if sourced else ():
        # What colcon sources of a folder that was on AMENT_PREFIX_PATH: so a workspace's setup.bash alone will do.
        (venv / f"local_setup.{shell}").write_text(f'. "{path}"\n')


def write_tools(venv):
    """Write ros2 and colcon of the sourced ROS 2 to run under the environment's Python, by their plain names.

    Only there they find planweave_interfaces, and colcon installs nodes that find their packages. What pip installed
    into the environment itself stays. ros2 looks where `planweave up` runs, unless a ROS domain is named; what it
    starts (launch, run) stays out of that.
    """
    elsewhere = os.pathsep.join(
        folder
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if os.path.realpath(folder or ".") != os.path.realpath(venv / "bin")
    )
    for name in ("ros2", "colcon"):
        path, tool = venv / "bin" / name, shutil.which(name, path=elsewhere)
        ours = path.is_file() and path.read_text().startswith(TOOL_HEAD)
        if tool and (ours or not path.exists()):
            python = shlex.quote(str(venv / "bin" / "python"))
            joins = DOMAIN.format(python=python) if name == "ros2" else ""
            path.write_text(f'{TOOL_HEAD}{joins}exec {python} {shlex.quote(tool)} "$@"\n')
            path.chmod(0o755)


if __name__ == "__main__":
    main()
