"""For all tests: the environment that ROS needs, and no network beyond this machine."""

import ctypes.util
import importlib.util
import ipaddress
import os
import socket
import sys
from pathlib import Path

import hypothesis
import pytest

from planweave.launcher.environment import ros_environment

pytest_plugins = ["ros_fixtures"]


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
    # MuJoCo reads this when it is first imported, which test modules do while they are collected.
    os.environ.setdefault("MUJOCO_GL", "egl" if ctypes.util.find_library("EGL") else "osmesa")


def pytest_collection_modifyitems(items):
    """Mark every test with its tier, which is its folder: unit, ros or e2e."""
    tiers = Path(__file__).parent
    for item in items:
        if tiers in item.path.parents:
            item.add_marker(item.path.relative_to(tiers).parts[0])


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


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
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

    monkeypatch.setattr(socket.socket, "connect", guarded(connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", look_up_locally)
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
