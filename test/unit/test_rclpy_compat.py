"""Answers that rmw_fastrtps dropped are sent again; see planweave_ros.rclpy_compat."""

import threading
import warnings

import pytest

compat = pytest.importorskip("planweave_ros.rclpy_compat", reason="rclpy is not installed")


class DroppingService:
    """A service double whose first answers are dropped as rclpy 9 does it; error: what sending raises after that."""

    srv_name = "/look"

    def __init__(self, dropped, error=None):
        self.left, self.error = dropped, error
        self.got, self.tries, self.over = [], 0, threading.Event()

    def send_response(self, response, header):
        self.tries += 1
        if self.left:
            self.left -= 1
            warnings.warn(
                "failed to send response (timeout): client will not receive response, at …",
                RuntimeWarning,
                stacklevel=1,
            )
            return
        if self.error is None:
            self.got.append((response, header))
        self.over.set()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("dropped", [0, 1, 5])
def test_an_answer_that_was_dropped_is_sent_again_until_it_is_taken(dropped, recwarn):
    service = DroppingService(dropped)
    compat.answer_surely(service)
    service.send_response("answer", "header")
    assert service.over.wait(30)
    assert service.got == [("answer", "header")] and service.tries == dropped + 1
    assert not recwarn.list


def test_an_error_of_the_first_try_is_the_callers_and_a_destroyed_service_ends_the_rest():
    service = DroppingService(0, TypeError())
    compat.answer_surely(service)
    with pytest.raises(TypeError):
        service.send_response("answer", "header")
    service = DroppingService(2, RuntimeError("cannot use Destroyable because destruction was requested"))
    compat.answer_surely(service)
    service.send_response("answer", "header")
    assert service.over.wait(30) and service.tries == 3
    for thread in [t for t in threading.enumerate() if t.name == "answer"]:
        thread.join(30)
    assert service.tries == 3


def test_what_nobody_takes_is_given_up_with_a_warning(monkeypatch):
    monkeypatch.setattr(compat, "PATIENCE", 0.1)
    service = DroppingService(10**6)
    compat.answer_surely(service)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        service.send_response("answer", "header")
        for thread in [t for t in threading.enumerate() if t.name == "answer"]:
            thread.join(30)
    assert [str(w.message) for w in heard] == ["an answer of /look reached nobody in 0.1 s"]
