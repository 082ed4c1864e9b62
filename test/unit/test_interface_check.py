"""Interfaces that were built before their definitions changed are told as such, and not as a fault of a node."""

import pytest

from planweave.cli import main as cli
from planweave.core.base.errors import ConfigError
from planweave_ros import interface_check


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """(source, built): two copies of two definitions, the second where ROS finds it."""
    source, built = tmp_path / "interfaces", tmp_path / "prefix" / "share" / "planweave_interfaces"
    for folder in (source, built):
        for kind, text in (("msg/Thing.msg", "string name\n"), ("srv/Ask.srv", "---\nbool yes\n")):
            (folder / kind).parent.mkdir(parents=True, exist_ok=True)
            (folder / kind).write_text(text)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/no/such:{tmp_path / 'prefix'}")
    return source, built


def test_what_was_changed_or_added_since_is_named(checkout):
    source, built = checkout
    assert interface_check.changed(source) == []
    (source / "msg" / "Thing.msg").write_text("string name\nfloat64 size\n")
    (source / "msg" / "New.msg").write_text("bool yes\n")
    assert interface_check.changed(source) == ["msg/New.msg", "msg/Thing.msg"]
    assert interface_check.changed(built.parent) == [], "no checkout"


def test_a_command_does_not_begin_with_them(monkeypatch):
    monkeypatch.setattr(interface_check, "changed", lambda: ["msg/Thing.msg"])
    with pytest.raises(ConfigError):
        cli.prepare_ros()


def test_this_checkouts_own_are_current():
    assert interface_check.changed() == []
