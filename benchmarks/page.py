"""Figures of the page, with a real Chromium without a GPU: how soon there is something to see, how old the pose on the
screen is, and what web_node costs while one page is open.
"""

from __future__ import annotations

import argparse
import base64
import io
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from doubles.browser import Browser, found
from PIL import Image
from rich.console import Console
from sensor_msgs.msg import JointState
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from benchmarks.figures import Row, figure
from benchmarks.idle import processor_seconds, proportional_memory
from benchmarks.spun_node import spun_node, started_system, wait_until
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.core.base.errors import ConfigError
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import load_system, with_page
from planweave_ros.client import Client

PAINT_GOAL, POSE_GOAL, SHARE_GOAL = 1.0, 0.1, 0.05  # s, s, of a core
_POSES, _OPENED = 12, 5  # joint states that are looked for on the screen; times that the page is opened
_SETTLE = 15.0  # s until pictures and labels of the page's begin are drawn
_PAINTED = "(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime"
_MOVED = 0.01  # share of the scene's pixels that are others once the arm is elsewhere


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    if found() is None:
        raise ConfigError("no Chromium is installed (Debian: apt install chromium)")
    whole = with_page(load_system("tabletop"))
    alone = replace(whole, nodes=tuple(n for n in whole.nodes if n.name == "web_node"))
    rows = []
    with started_system(whole, console, {"web_node": {"port": 0}}) as (client, running):
        rows += _opened(client, running, options.seconds, console)
    with started_system(alone, console, {"web_node": {"port": 0}}) as (client, _):
        rows += _poses(client, console)
    return rows


def _address(client: Client) -> str:
    wait_until(lambda: "web_node" in client.nodes(0.1), 60.0, "the page's node")
    return str(client.parameter("web_node", "address"))


def _opened(client: Client, running: RunningSystem, seconds: float, console: Console) -> list[Row]:
    address, pid = _address(client), running.pids["web_node"]
    painted, written = [], []
    console.print(f"opening the page {_OPENED} times …")
    for _ in range(_OPENED):
        with Browser() as browser:
            begun = time.monotonic()
            browser.open(address)
            wait_until(lambda b=browser: "No task yet" in b.text, 60.0, "the page")  # type: ignore[misc]
            written.append(time.monotonic() - begun)
            painted.append(float(browser.run(_PAINTED)) / 1000.0)
    with Browser() as browser:
        browser.open(address)
        time.sleep(_SETTLE)
        console.print(f"one page open for {seconds:g} s …")
        before, begun = processor_seconds(pid), time.monotonic()
        time.sleep(seconds)
        share = (processor_seconds(pid) - before) / (time.monotonic() - begun)
    first = statistics.median(painted)
    most = f"≤ {100 * SHARE_GOAL:g} %"
    return [
        figure("first contentful paint, median", f"{first:.2f} s", f"≤ {PAINT_GOAL:g} s", first <= PAINT_GOAL),
        figure("all of the panel there, looked for five times a second", f"{statistics.median(written):.1f} s"),
        figure("web_node with one page open: share of a core", f"{100 * share:.1f} %", most, share <= SHARE_GOAL),
        figure("web_node: memory (proportional set size)", f"{proportional_memory(pid):.0f} MB"),
    ]


def _poses(client: Client, console: Console) -> list[Row]:
    """Latency of a joint state to its bytes at a client, and to the browser's picture."""
    address, robot = _address(client), PlanningScene().robot
    names = [*robot.joint_names, *robot.gripper.joints]
    with spun_node("planweave_bench_page") as node:
        publisher = node.create_publisher(JointState, "joint_states", 10)
        wait_until(lambda: publisher.get_subscription_count() > 0, 30.0, "web_node to listen")

        def turned(number: int) -> float:
            """Publish a pose, by turns one to the left and one to the right; the time of it, s since 1970."""
            at = np.array(robot.home, dtype=float)
            at[0] += 0.6 if number % 2 else -0.6
            msg = JointState(name=names, position=[*map(float, at), *[0.02] * (len(names) - len(at))])
            msg.header.stamp = node.get_clock().now().to_msg()
            now = time.time()
            publisher.publish(msg)
            return now

        turned(0)
        console.print(f"{_POSES} poses, to a client and to the screen …")
        with Browser() as browser:  # without one, nothing is sent
            browser.open(address)
            time.sleep(_SETTLE)
            sent = _to_a_client(address, turned)
            drawn = _to_the_screen(browser, turned)
    return [
        figure("joint state to its bytes at a client, median (most)", _milliseconds(sent)),
        figure(
            "joint state to the browser's picture of it, drawn without a GPU, median (most)",
            _milliseconds(drawn),
            f"≤ {1e3 * POSE_GOAL:g} ms",
            statistics.median(drawn) <= POSE_GOAL,
        ),
    ]


def _milliseconds(waits: list[float]) -> str:
    return f"{1e3 * statistics.median(waits):.0f} ms ({1e3 * max(waits):.0f} ms)"


def _to_a_client(address: str, turned: Callable[[int], float]) -> list[float]:
    import viser

    host = address.removeprefix("http://").rstrip("/")
    protocol, origin = Subprotocol(f"viser-v{viser.__version__}"), Origin(f"http://{host}")
    with connect(f"ws://{host}", subprotocols=[protocol], origin=origin, max_size=None) as socket:
        waits = []
        for number in range(1, _POSES + 1):
            _drain(socket)
            begun = turned(number)
            socket.recv(timeout=10.0)
            waits.append(time.time() - begun)
        return waits


def _drain(socket: Any) -> None:
    """Read what was under way; a second of silence ends it."""
    try:
        while True:
            socket.recv(timeout=1.0)
    except TimeoutError:
        return


def _to_the_screen(browser: Browser, turned: Callable[[int], float]) -> list[float]:
    waits = []
    for number in range(1, _POSES + 1):
        before = None
        begun = 0.0
        for shown, picture in browser.frames():
            now = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("L"), dtype=float)[:, :900]
            if before is None:
                before = now
                begun = turned(number)
            elif np.mean(np.abs(now - before) > 30) > _MOVED:
                waits.append(shown - begun)
                break
    return waits
