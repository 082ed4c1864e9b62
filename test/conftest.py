"""For all tests: the environment that ROS needs, and no network beyond this machine."""

import ctypes.util
import gc
import importlib.util
import ipaddress
import os
import socket
import ssl
import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from planweave.launcher.environment import ros_environment

pytest_plugins = ["ros_fixtures"]
#: Of files that workers share out, those that take long must not come last.
LONGEST = (
    "e2e/benchmarks/test_honesty.py",
    "e2e/benchmarks/test_kitchen.py",
    "unit/test_kitchen_seen.py",
    "ros/test_executor_node.py",
    "unit/test_kitchen_claims.py",
    "e2e/test_page.py",
    "e2e/test_tabletop.py",
    "unit/test_solid_skills.py",
    "ros/test_console.py",
    "unit/test_lids.py",
    "e2e/test_two_arms.py",
    "ros/test_feedback_node.py",
    "unit/test_libero_itself.py",
    "ros/test_stopping.py",
    "unit/test_perception_scenes.py",
    "e2e/test_secrets.py",
    "unit/test_planner_embedded.py",
    "ros/test_simulation_node.py",
    "unit/test_more_skills.py",
    "ros/test_lifecycle.py",
    "unit/benchmarks/test_sentence_set.py",
    "e2e/test_pause.py",
    "unit/test_skills.py",
    "ros/test_perception_node.py",
    "unit/test_bakeoff_papers.py",
    "e2e/test_household.py",
    "ros/test_perception_views.py",
    "ros/test_look_for.py",
    "ros/test_robot_body.py",
    "e2e/test_examples.py",
    "ros/test_preview.py",
)
TRUSTED = Path(__file__).parent / "doubles" / "trusted.pem"  # of a host that nobody has


def pytest_configure(config):
    """Start pytest anew, once, where ROS could not find its libraries (the loader reads its path at start)."""
    environment = ros_environment(os.environ, Path(sys.prefix))
    if environment.get("LD_LIBRARY_PATH") != os.environ.get("LD_LIBRARY_PATH"):
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        os.execve(sys.executable, sys.orig_argv, environment)
    os.environ.update(environment)
    os.environ["TERM"] = "xterm-256color"  # what is drawn does not depend on the caller's terminal
    hypothesis.settings.register_profile("planweave", deadline=None)  # no test is judged by its time
    hypothesis.settings.load_profile("planweave")
    if "not slow" in config.option.markexpr or getattr(config, "workerinput", {}).get("workerid", "gw0") != "gw0":
        # All workers would read all of our sources for constants to draw, 5 s of processor time each; one is enough.
        providers._get_local_constants = lambda: providers._local_constants
    gc.disable()  # while thousands of tests are collected, which all stay
    # MuJoCo reads this when it is first imported, which test modules do while they are collected.
    os.environ.setdefault("MUJOCO_GL", "egl" if ctypes.util.find_library("EGL") else "osmesa")


def pytest_collection_modifyitems(items):
    """Mark every test with its tier, which is its folder: unit, ros or e2e. Files of LONGEST come first; those of unit
    tests, which compute, and the others, which wait half of the time, take turns.
    """
    tiers = Path(__file__).parent
    place = {tiers / name: number for number, name in enumerate(LONGEST)}
    files = sorted({item.path: None for item in items}, key=lambda path: place.get(path, len(place)))
    tier_of = {path: path.relative_to(tiers).parts[0] for path in files if tiers in path.parents}
    for tier in (computing := [f for f in files if tier_of.get(f) == "unit"], [f for f in files if f not in computing]):
        place |= {path: rank / len(tier) for rank, path in enumerate(tier)}
    items.sort(key=lambda item: place[item.path])
    for item in items:
        if item.path in tier_of:
            item.add_marker(tier_of[item.path])


def pytest_collection_finish():
    """What is there now stays: no collection of garbage need look through thousands of tests again."""
    gc.enable()
    gc.freeze()


def pytest_sessionfinish():
    gc.unfreeze()


def pytest_runtest_setup(item):
    """Skip what needs a package that has no wheel for every supported Python."""
    if item.get_closest_marker("ompl") and importlib.util.find_spec("ompl") is None:
        pytest.skip("OMPL is not installed; it has no wheel for this Python")


def _check_local(host):
    if host in ("", "localhost", None):
        return
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise OSError(f"tests may not reach the network, but something asked for {host!r}")


@pytest.fixture(autouse=True, scope="session")
def _no_network():
    """Python code reaches this machine only; what it tries beyond fails at once and says so."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(call):
        def connect_locally(self, address):
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _check_local(address[0])
            return call(self, address)

        return connect_locally

    def look_up_locally(host, *args, **kwargs):
        _check_local(host.decode() if isinstance(host, bytes) else host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(connect))
        patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
        patch.setattr(socket, "getaddrinfo", look_up_locally)
        for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
            patch.delenv(name)
        # One certificate is read faster than all that the system trusts.
        patch.setenv("SSL_CERT_FILE", str(TRUSTED))
        paths = ssl.get_default_verify_paths()._replace(openssl_cafile=str(TRUSTED))
        patch.setattr(ssl, "get_default_verify_paths", lambda: paths)
        yield
