"""One source for what only one can know: a second one is left out and told, its successor is taken."""

import logging
from types import SimpleNamespace

from planweave_ros import only_one


def info(gid):
    return {"publisher_gid": {"data": gid}}


def test_who_speaks_alone_is_taken_and_is_no_problem(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(only_one.time, "monotonic", lambda: now[0])
    log = logging.getLogger("test")
    node = SimpleNamespace(
        get_logger=lambda: log, get_publishers_info_by_topic=lambda topic: [], resolve_topic_name=lambda topic: topic
    )
    source = only_one.OneSource(node, "/joint_states")
    assert source.takes(info(b"one")) and not source.problem

    now[0] = 1.0
    assert not source.takes(info(b"two")) and "two nodes publish /joint_states" in source.problem
    assert source.takes(info(b"one")) and source.problem, "the second spoke a moment ago"

    now[0] = 2.9
    assert not source.takes(info(b"two"))
    now[0] = 3.1  # the first has been silent for more than PAUSE
    assert source.takes(info(b"two")) and not source.problem
    assert not source.takes(info(b"one")) and source.problem
