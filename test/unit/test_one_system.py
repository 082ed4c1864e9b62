"""One system for each ROS domain: the lock that says so before discovery does."""

import os
import stat
import subprocess
import sys

import pytest

from planweave.core.errors import ConfigError, PlanweaveError
from planweave.launcher.namespace import namespace
from planweave.launcher.one_system import only_system, runs_here


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "55")


def test_a_second_system_in_the_domain_is_refused_by_name_and_another_domain_is_free(monkeypatch):
    assert not runs_here()
    with only_system("tabletop"):
        assert runs_here()
        with pytest.raises(PlanweaveError, match=r"tabletop, process \d+.*ROS_DOMAIN_ID"), only_system("household"):
            pass
        monkeypatch.setenv("ROS_DOMAIN_ID", "56")
        assert not runs_here()
        with only_system("household"):
            assert runs_here()
    monkeypatch.setenv("ROS_DOMAIN_ID", "55")
    assert not runs_here()


def test_each_namespace_has_a_system_of_its_own(monkeypatch):
    monkeypatch.setenv("PLANWEAVE_NAMESPACE", "arm1")
    with only_system("tabletop"):
        with pytest.raises(PlanweaveError, match=r"and the namespace /arm1 \(tabletop.*--namespace arm2"):
            only_system("tabletop").__enter__()
        monkeypatch.setenv("PLANWEAVE_NAMESPACE", "/lab/arm2/")
        assert not runs_here()
        with only_system("tabletop"):
            assert runs_here()
        monkeypatch.delenv("PLANWEAVE_NAMESPACE")
        assert not runs_here()


@pytest.mark.parametrize("name", ["arm-1", "1arm", "a//b", "arm 1", "a__b", "~arm"])
def test_what_cannot_be_a_namespace_is_refused(monkeypatch, name):
    monkeypatch.setenv("PLANWEAVE_NAMESPACE", name)
    with pytest.raises(ConfigError, match=r"expected letters, digits and _"):
        namespace()


def test_a_killed_holder_leaves_the_domain_free():
    code = (
        "import os\nfrom planweave.launcher.one_system import only_system\n"
        "with only_system('t'):\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == -9
    assert not runs_here()


def test_a_lock_file_that_is_not_ours_is_neither_followed_nor_emptied(tmp_path):
    precious, lock = tmp_path / "precious", tmp_path / f"planweave-{os.getuid()}-domain-55.lock"
    precious.write_text("kept")
    for make in (lock.symlink_to, lock.hardlink_to):
        make(precious)
        with pytest.raises(PlanweaveError, match="lock file"), only_system("tabletop"):
            pass
        assert precious.read_text() == "kept"
        lock.unlink()
    with only_system("tabletop"):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
