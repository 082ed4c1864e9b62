"""The record of a task: bounded whatever goes in, for its owner only, and readable after its end."""

import json
import stat

import pytest

from planweave.methods.running import journal
from planweave.methods.running.journal import Journal


def test_events_in_order_before_and_after_the_end():
    record = Journal()
    record.add("submitted", sentence="put a in the tray")
    record.add("exchange", kind="goal")
    record.close()
    record.add("exchange", kind="late")  # the model's last exchange may come after the end
    events = json.loads(record.to_json())["events"]
    assert [e["event"] for e in events] == ["submitted", "exchange", "exchange"] and events == record.events()
    assert [e["kind"] for e in record.events("exchange")] == ["goal", "late"]
    assert json.loads(Journal().to_json()) == {"events": []}


@pytest.mark.parametrize("details", [{"self": 1}, {"event": "ended"}, {"seconds": -1}, {"a\nb": "c\nd"}])
def test_no_name_of_a_detail_breaks_an_event(details):
    record = Journal()
    record.add("exchange", **details)
    record.close()
    (event,) = record.events()
    assert event["event"] == "exchange" and event["seconds"] >= 0


def test_a_long_event_is_cut_and_says_so():
    record = Journal()
    record.add("exchange", kind="goal", reply=["x" * 10_000_000, *range(1_000_000)], more=dict(enumerate(range(999))))
    (event,) = record.events()
    assert len(record.to_json()) < 20_000
    assert event["kind"] == "goal" and "characters" in event["cut"] and "10000000 characters" in event["reply"][0]


def test_exchanges_are_bounded_in_all_and_the_end_is_always_kept(monkeypatch):
    monkeypatch.setattr(journal, "MAX_EXCHANGES", 100_000)
    record = Journal()
    for _ in range(100):
        record.add("exchange", reply="x" * 2000)
    record.add("ended", state="FAILED")
    written = json.loads(record.to_json())
    assert len(record.to_json()) < 110_000 and written["left_out"] + len(written["events"]) == 101
    assert written["events"][-1]["state"] == "FAILED"


def test_a_file_is_its_owners_and_no_link_is_followed(tmp_path):
    path = tmp_path / "task.jsonl"
    record = Journal(path)
    record.add("submitted")
    record.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "link.jsonl").symlink_to(other)
    with pytest.raises(OSError):
        Journal(tmp_path / "link.jsonl")
    assert other.read_text() == "kept"
