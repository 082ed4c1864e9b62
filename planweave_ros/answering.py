"""Service responses for clients that the server has not discovered yet.

rmw_fastrtps waits 100 ms for the reader of a response to be matched and then drops the response; rclpy turns that into
a Python warning and continues, so that the client waits forever (ros2/rclpy#1136). Here the response is sent again.
"""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

from rclpy.service import Service

PATIENCE = 10.0  # s until an answer is given up; a client that has gone is known to the middleware and not waited for
PAUSE = 0.02  # s between two attempts, each of which waits 100 ms itself
_DROPPED = "failed to send response"  # how the warning of rclpy 7 to 9 begins
_filters = threading.Lock()  # catch_warnings is not thread safe


def answer_surely(service: Service) -> None:
    """Resend each response of the service, in a thread, until its client is discovered or PATIENCE has passed."""
    send = service.send_response

    def sent(response: Any, header: Any) -> bool:
        with _filters, warnings.catch_warnings(record=True) as heard:
            warnings.filterwarnings("always", message=_DROPPED, category=RuntimeWarning)
            send(response, header)
        others = [each for each in heard if _DROPPED not in str(each.message)]
        for other in others:  # of another thread, in the meantime
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        return len(others) == len(heard)

    def send_again(response: Any, header: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            time.sleep(PAUSE)
            try:
                if sent(response, header):
                    return
            except Exception:  # the service was destroyed meanwhile: nobody answers any more
                return
        warnings.warn(f"an answer of {service.srv_name} reached nobody in {PATIENCE:g} s", RuntimeWarning, stacklevel=1)

    def send_response(response: Any, header: Any) -> None:
        if not sent(response, header):
            threading.Thread(target=send_again, args=(response, header), name="answer", daemon=True).start()

    service.send_response = send_response
