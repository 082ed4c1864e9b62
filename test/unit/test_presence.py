"""When a part of the system has gone: liveliness as DDS tells of it, and ticks of the grace, without DDS."""

import types
from unittest.mock import Mock

import pytest

pytest.importorskip("rclpy")

from planweave.core.base.cancellation import Cancellation
from planweave_ros import calling
from planweave_ros import liveliness as module
from planweave_ros.liveliness import Presence


class FakeNode:
    """Keeps what a Presence makes of a node."""

    def __init__(self):
        self.timer = types.SimpleNamespace(on=False)
        self.timer.cancel = lambda: setattr(self.timer, "on", False)
        self.timer.reset = lambda: setattr(self.timer, "on", True)

    def create_timer(self, _period, callback, **_options):
        self.timer.on, self.timer.tick = True, callback
        return self.timer

    def create_subscription(self, *_, event_callbacks, **_options):
        self.change = event_callbacks.liveliness


class Watched:
    """A presence, what it tells, and the counts of DDS."""

    def __init__(self):
        self.node, self.told, self.counts = FakeNode(), [], (0, 0)
        self.presence = Presence(self.node, "body", lambda: self.told.append("gone"), lambda: self.told.append("come"))

    def counted(self, alive, dead):
        self.node.change(types.SimpleNamespace(alive_count=alive, not_alive_count=dead))

    def ticks(self, number):
        for _ in range(number):
            if self.node.timer.on:
                self.node.timer.tick()


@pytest.fixture
def watched():
    watched = Watched()
    assert not watched.presence.there and not watched.presence.lost
    watched.counted(1, 0)
    assert watched.told == ["come"] and watched.presence.there
    return watched


def test_a_lapse_within_the_grace_is_no_departure(watched):
    for _ in range(3):
        watched.counted(0, 1)
        watched.ticks(module._TICKS - 1)
        assert watched.presence.there
        watched.counted(1, 0)
        watched.ticks(5)
    assert watched.told == ["come"] and watched.presence.departures == 0
    assert not watched.node.timer.on


def test_one_that_was_killed_has_gone_after_the_grace(watched):
    watched.counted(0, 1)
    assert not watched.presence.lost
    watched.ticks(module._TICKS)
    assert watched.told == ["come", "gone"] and watched.presence.lost and watched.presence.departures == 1
    watched.counted(0, 0)  # DDS forgets it
    watched.ticks(5)
    assert watched.told == ["come", "gone"] and watched.presence.departures == 1
    watched.counted(1, 0)
    assert watched.told == ["come", "gone", "come"] and watched.presence.there


def test_one_that_shows_itself_after_its_departure_has_come(watched):
    watched.counted(0, 1)
    watched.ticks(module._TICKS)
    watched.counted(1, 0)
    assert watched.told == ["come", "gone", "come"]


def test_one_that_ends_in_order_has_gone_at_once(watched):
    watched.counted(0, 0)
    assert watched.told == ["come", "gone"] and watched.presence.lost


def test_another_in_the_place_of_a_killed_one_is_a_departure_all_the_same(watched):
    watched.counted(0, 1)
    watched.counted(1, 1)  # the dead one is still counted: this is another
    watched.ticks(module._TICKS)
    assert watched.told == ["come", "come", "gone"]
    assert watched.presence.there and watched.presence.departures == 1


def test_of_two_the_one_that_is_killed_has_gone(watched):
    watched.counted(2, 0)
    watched.counted(1, 1)
    watched.ticks(module._TICKS)
    assert watched.told == ["come", "come", "gone"] and watched.presence.there


def test_servers_are_looked_for_until_all_are_known_and_again_when_one_goes_or_comes(monkeypatch):
    now, watched, node = [100.0], Watched(), FakeNode()
    node.create_client = lambda *_, **__: Mock(**{"service_is_ready.return_value": True})
    monkeypatch.setattr(calling, "time", types.SimpleNamespace(monotonic=lambda: now[0], sleep=now.append))
    caller = calling.Caller(node, Cancellation, watched.presence)
    client = caller.client(object, "look")
    watched.counted(1, 0)
    node.timer.tick()
    assert node.timer.on, "it has only just been seen"
    now[0] += calling.MUTUAL_DISCOVERY + 0.1
    node.timer.tick()
    assert not node.timer.on and caller.there(client, 1.0) and now.pop() == 0.0, "nothing is waited for"
    watched.counted(0, 0)
    watched.counted(1, 0)
    assert node.timer.on
    node.timer.tick()
    assert caller.there(client, 1.0) and now.pop() == pytest.approx(calling.MUTUAL_DISCOVERY)
