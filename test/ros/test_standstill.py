"""A node's process that stood still for long ends, to be started again; one that is only busy does not."""

import os
import signal
import subprocess
import sys
import time

import pytest

from planweave_ros.spin import stood_still

PROGRAM = """
import sys
from rclpy.node import Node
from planweave_ros import spin
spin.LONG = 1.0
stopped = lambda node: print("stopped what moves", flush=True)
def make():
    node = Node("standing")
    node.create_timer(0.1, lambda: print("runs", flush=True))
    return node
sys.exit(spin.run_node(make, stop=stopped))
"""


@pytest.mark.parametrize(
    ("passed", "used", "said"), [(60.0, 0.01, True), (60.0, 30.0, False), (0.6, 0.0, False), (9.0, 0.0, False)]
)
def test_only_a_process_that_did_not_run_stood_still(passed, used, said):
    assert stood_still(passed, used) is said


def test_a_process_that_was_stopped_for_long_stops_what_moves_and_is_to_be_restarted(ros):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while "runs" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGSTOP)
        time.sleep(3.0)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == os.EX_TEMPFAIL
    assert "stopped what moves" in out and "stood still for" in err and "Traceback" not in err


def test_a_node_that_says_why_it_ends_is_to_be_restarted(ros):
    program = """
import sys
from planweave_ros import spin
from planweave_ros.guarded import GuardedNode
def make():
    node = GuardedNode("deaf")
    def end():
        node.ends_because = "no image came"
        node.finalized()
    node.create_timer(0.5, end)
    return node
sys.exit(spin.run_node(make))
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert process.returncode == os.EX_TEMPFAIL
    assert "no image came; it ends, to be started again" in process.stderr and "Traceback" not in process.stderr
