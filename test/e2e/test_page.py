"""The page in a real browser: a task is said, read, approved and done, a stop stops it; strangers do not get in, and
others that have it open, or a restart, do not take it away.
"""

import contextlib
import io
import os
import signal
import socket
import struct
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import viser
from doubles.browser import Browser, found
from doubles.table_watch import Watch
from PIL import Image
from planweave_interfaces.msg import WorldState
from ros_fixtures import not_in_the_policies
from websockets.sync.client import connect

from planweave.core.symbolic.world import Known, World, WorldObject
from planweave.launcher.systems import load_system, with_page
from planweave_ros.client import Client
from planweave_ros.conversions import world_to_msg
from planweave_ros.graph import permissions_of
from planweave_ros.qos import TRANSIENT_LOCAL

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium is installed (Debian: apt install chromium)")
SENTENCE = "put the red cube in the left tray"
LEFT, RIGHT, BLUE = 0, 1, 2  # in the order of the scene two_red_cubes
FREE = (0.66, -0.06, 0.0)  # m: away from where the blue cube is
ENDS = ("succeeded", "failed", "not_confirmed", "canceled")


@pytest.fixture
def serve(start_node, spin_until):
    """serve(approval, scene): starts the tabletop system with its page; the page's address."""
    with contextlib.ExitStack() as stack:

        def start(approval, scene="blocks", pace=1.0):
            nodes = with_page(load_system("tabletop")).nodes
            parameters = {
                "planner_node": {"client": "none"},
                "feedback_node": {"require_approval": approval, "method": "classical"},
                # else a motion is over before a person can say anything
                "simulation_node": {"scene": scene, "real_time_factor": pace},
                "web_node": {"port": 0},
            }
            for node in nodes:
                start_node(node.name, parameter_files=node.parameter_files, **parameters.get(node.name, {}))
            client = stack.enter_context(Client())
            spin_until(lambda: not client.missing(nodes), 60, "the nodes to be there")
            spin_until(lambda: "web_node" in client.nodes(0.1), 60, "the page's node")
            return client.parameter("web_node", "address")

        yield start


@pytest.fixture
def page(serve):
    """The page of a system whose plans a person approves."""
    return serve(True)


def keep(browser, name, from_the_top=False):
    """Write a picture of the page where PLANWEAVE_SCREENSHOTS names a folder: the documentation has them."""
    if folder := os.environ.get("PLANWEAVE_SCREENSHOTS"):
        browser.run("document.querySelectorAll('[class*=Notification-closeButton]').forEach(b => b.click())")
        if from_the_top:
            browser.run("document.querySelectorAll('.mantine-ScrollArea-viewport').forEach(v => { v.scrollTop = 0; })")
        time.sleep(1.0)  # until they have faded
        picture = browser.screenshot()
        image = Image.open(io.BytesIO(picture)).convert("RGB")  # few colours, but none of them lost
        image.quantize(256, Image.Quantize.FASTOCTREE).save(Path(folder) / f"{name}.png", optimize=True)


def colours(browser):
    """How many different colours the page's picture has: an empty scene has few."""
    picture = np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("RGB")) // 32
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def other_pages_get_nothing(page):
    request = urllib.request.Request(page, headers={"Origin": "http://evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    assert refused.value.code == 403
    with urllib.request.urlopen(page, timeout=30) as answer:
        assert b"connecting" in answer.read()


def ghost_time(browser):
    """The moment that the ghost shows, s: the only number in a field of the page."""
    return browser.run("Math.max(0, ...[...document.querySelectorAll('input')].map(i => parseFloat(i.value) || 0))")


def approve_the_plan(browser, spin_until):
    spin_until(lambda: "awaiting approval" in browser.text, 60, "the plan")
    spin_until(lambda: browser.click("Approve this plan"), 20, "the button")


def done(browser, spin_until, once_more):
    """Wait until the task has succeeded; where a busy machine ended it, since no image came or who sent the action was
    not heard in time, it is said once more, twice at most. Whether the first one succeeded.
    """
    for again in range(3):
        spin_until(lambda: any(f"· {end}" in browser.text for end in ENDS), 120, "the task to end")
        told = browser.text
        if "the goal holds, as observed" in told:
            return again == 0
        assert browser.click("Run"), told
        spin_until(lambda: not any(f"· {end}" in browser.text for end in ENDS), 60, "the next task")
        once_more()
    pytest.fail(told)


def test_a_person_says_a_task_reads_it_approves_it_and_sees_it_done(page, spin_until):
    other_pages_get_nothing(page)
    with Browser() as browser:
        browser.open(page)
        spin_until(lambda: "No task yet" in browser.text, 60, "the page")
        spin_until(lambda: colours(browser) > 20, 60, "the robot and the cubes to be drawn")
        spin_until(lambda: browser.click("World") and "the gripper is empty" in browser.text, 60, "what is known")
        assert "red_cube" in browser.text and browser.click("Task")
        assert browser.write(SENTENCE)
        spin_until(lambda: browser.click("Run"), 20, "the button")
        spin_until(lambda: "awaiting approval" in browser.text, 60, "the plan")
        told = browser.text
        assert "in(red_cube, left_tray)" in told and "pick up the red cube" in told, told
        spin_until(lambda: "smallest clearance" in browser.text, 60, "the motions of the plan")
        keep(browser, "page", from_the_top=True)
        spin_until(lambda: browser.click("Pause the preview"), 20, "the ghost to play")
        spin_until(lambda: browser.click("Play the preview"), 20, "the ghost to stand")
        assert browser.unfold("Edit the plan")
        refused = "a step at least"  # clicked again, since the folder opens slowly
        spin_until(lambda: browser.click("Drop 1") and refused in browser.text, 60, "the edit to be refused")
        spin_until(lambda: browser.click("Approve this plan"), 20, "the button")
        first = done(browser, spin_until, lambda: approve_the_plan(browser, spin_until))
        assert not browser.click("Approve this plan"), "nothing is left to approve"
        assert browser.click("Run"), "once more, which needs nothing to be done"
        spin_until(lambda: "holds already" in browser.text or "held already" in browser.text, 60, "its end")
        if first:
            the_first_is_looked_at_again(browser, spin_until)


def stop_is_in_sight(browser, spin_until, width, height):
    """Also where the panel is scrolled to its end."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True)
    place = (
        "(() => { const b = [...document.querySelectorAll('button')].find(b => b.innerText.trim() === 'Stop'); "
        "const r = b.getBoundingClientRect(); const on = document.elementFromPoint((r.left + r.right) / 2, "
        "(r.top + r.bottom) / 2); return [r.left, r.top, r.right, r.bottom, b.contains(on)]; })()"
    )
    scrolled = (
        "Math.max(...[...document.querySelectorAll('.mantine-ScrollArea-viewport')].map(v => { "
        "v.scrollTop = 1e6; return v.scrollTop; }))"
    )

    def in_sight():
        left, top, right, bottom, uncovered = browser.run(place)
        return uncovered and 0 <= left < right <= width and 0 <= top < bottom <= height

    spin_until(in_sight, 60, "Stop to be in sight")
    spin_until(lambda: browser.run(scrolled) > 50, 20, "the panel to be scrolled")
    spin_until(in_sight, 20, "Stop to be in sight in a panel that is scrolled")
    assert browser.run("document.documentElement.scrollWidth") <= width


def the_first_is_looked_at_again(browser, spin_until):
    spin_until(lambda: browser.click("Earlier"), 20, "the tab")
    spin_until(lambda: browser.click("Look again") and browser.choose(f"done: {SENTENCE} [task-1-"), 60, "the task")
    spin_until(lambda: "Moment" in browser.text, 20, "its slider")
    browser.slide_back(2)
    spin_until(lambda: "after its begin, not now" in browser.text, 20, "a moment of it")
    keep(browser, "earlier")
    spin_until(lambda: browser.click("Back to now"), 20, "the way back")
    spin_until(lambda: "not now" not in browser.text, 20, "what is now")


def marks(browser):
    """Where the two marks of a question are in the 3D scene, from left to right: columns and rows of their middles."""
    picture = np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("RGB")).astype(int)
    red, green, blue = (picture[:, :900, i] for i in range(3))  # the panel is to the right of it
    rows, columns = np.nonzero((red > 150) & (red - green > 60) & (blue - green > 25))
    gap = np.argmax(np.diff(np.sort(columns))) if len(columns) > 20 else 0
    edge = np.sort(columns)[gap] if gap else 0
    sides = [columns <= edge, columns > edge]
    return [(np.median(columns[s]), np.median(rows[s])) for s in sides if s.sum() > 10]


def test_a_person_answers_by_pointing_sees_the_ghost_approves_pauses_with_the_cube_in_the_hand_and_resumes(
    serve, make_node, spin_until
):
    """One person's way through a task; of two cubes that look alike the one is moved that is pointed at."""
    watch = Watch(make_node("watch"))
    page = serve(True, "two_red_cubes", pace=0.4)  # on a busy machine some seconds go by between two looks at the page
    spin_until(lambda: len(watch.poses), 60, "where the objects are")
    left = watch.poses[LEFT].copy()
    with Browser() as browser:
        browser.open(page)
        spin_until(lambda: "No task yet" in browser.text and colours(browser) > 20, 60, "the page")
        assert not browser.click("Pause") and not browser.click("Resume"), "there is nothing to pause"
        assert browser.write(SENTENCE)
        spin_until(lambda: browser.click("Run"), 20, "the button")

        point_at_it(browser, spin_until, watch.poses)
        spin_until(lambda: "awaiting approval" in browser.text, 60, "the plan")
        told = browser.text
        assert ", left_tray)" in told and "pick up the red cube" in told, told
        spin_until(lambda: "smallest clearance" in browser.text, 60, "the motions of the plan")
        spin_until(
            lambda: 2.0 < ghost_time(browser) < 5.0 and browser.click("Pause the preview"), 60, "the ghost to play"
        )
        keep(browser, "preview")
        assert np.allclose(watch.poses[LEFT], left, atol=2e-3), "nothing moves before the approval"

        spin_until(lambda: browser.click("Approve this plan"), 20, "the button")
        spin_until(lambda: watch.in_the_air(RIGHT), 60, "the cube to be in the air")
        assert browser.click("Pause"), browser.text
        spin_until(lambda: "was interrupted" in browser.text, 60, "the pause")
        assert "paused by" in browser.text and not browser.click("Pause"), browser.text
        held = watch.poses[RIGHT].copy()
        moved = watch.move(BLUE, FREE)
        spin_until(moved.done, 20, "a person's hand")
        assert moved.result().success, moved.result().message
        states = watch.states
        spin_until(lambda: watch.states > states + 100, 60, "a second of the robot's time")
        keep(browser, "paused")
        assert watch.in_the_air(RIGHT) and np.linalg.norm(watch.poses[RIGHT] - held) < 0.005, "it is held as it was"

        spin_until(lambda: browser.click("Resume"), 20, "the button")
        spin_until(lambda: "the blue cube was moved by" in browser.text, 60, "what has changed meanwhile")
        assert not browser.click("Resume"), browser.text

        def again():
            point_at_it(browser, spin_until, watch.poses)
            approve_the_plan(browser, spin_until)

        done(browser, spin_until, again)
        keep(browser, "done")
        the_answer_is_remembered_until_it_is_forgotten(browser, spin_until)
        assert "What is meant?" not in browser.text
    assert np.allclose(watch.poses[LEFT], left, atol=2e-3), "nor the other cube at all"
    assert np.hypot(*(watch.poses[BLUE][:2] - FREE[:2])) < 0.03, "it is left where the person has put it"
    x, y = watch.poses[RIGHT][:2]
    assert abs(x - 0.58) < 0.15 and abs(y - 0.38) < 0.15, f"the cube pointed at is in the left tray, not at {x}, {y}"


def the_answer_is_remembered_until_it_is_forgotten(browser, spin_until):
    said = SENTENCE.casefold()
    spin_until(lambda: browser.click("Memory"), 20, "the tab")
    spin_until(lambda: browser.click("What is remembered") and f"'{said}'" in browser.text, 60, "the answer")
    keep(browser, "memory")
    spin_until(lambda: browser.choose(f"'{said}'"), 20, "the entry")
    spin_until(lambda: browser.click("Forget it") and "forgotten: " in browser.text, 60, "it to be forgotten")
    assert browser.click("Task")


def point_at_it(browser, spin_until, places):
    """Point at the second cube of the scene. The picture is taken from in front of the robot, so that it is the one
    further to the left where its y is the smaller one.
    """
    spin_until(lambda: 'meant by "the red cube"' in browser.text, 60, "the question")
    pictures = "document.querySelectorAll('figure img').length"
    spin_until(lambda: browser.run(pictures) == 2, 60, "a picture of each of the two")
    spin_until(lambda: len(marks(browser)) == 2, 60, "their marks in the scene")
    keep(browser, "question")
    browser.point(*marks(browser)[0 if places[1][1] < places[0][1] else 1])
    spin_until(lambda: "What is meant?" not in browser.text, 60, "the answer to be taken")


def test_an_open_page_outlives_ten_others_one_that_dies_and_its_node(start_node, make_node, spin_until):
    worlds = make_node("a_body").create_publisher(WorldState, "world_state", TRANSIENT_LOCAL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def known(name):
        """Tell of a world of one object, and wait until the page does."""
        thing = WorldObject(name, "item", "cube", {}, (0.5, 0.0, 0.02), None, (0.04,) * 3, Known.SEEN)
        worlds.publish(world_to_msg(World("tabletop", (thing,), stamp=1.0)))
        spin_until(lambda: browser.click("World") and name in browser.text, 60, f"the page to tell of {name}")

    def served():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return True
        return False

    first = start_node("web_node", port=port)
    spin_until(served, 60, "the page's node")
    with Browser() as browser, contextlib.ExitStack() as others:
        browser.open(f"http://127.0.0.1:{port}")
        known("first_cube")
        pages = [others.enter_context(page_without_browser(port)) for _ in range(10)]
        pages[0].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        pages[0].socket.close()  # reset, as where a browser is killed; the nine others never read
        known("second_cube")
        first.signal(signal.SIGKILL)
        spin_until(lambda: first.returncode is not None, 20, "its end")
        start_node("web_node", port=port)
        spin_until(served, 60, "its successor")
        known("third_cube")


def test_stop_stays_in_sight_and_the_policies_let_the_page_see(start_node, make_node, spin_until):
    start_node("web_node", port=0)
    with Client() as client:
        spin_until(lambda: "web_node" in client.nodes(0.1), 60, "the page's node")
        address = client.parameter("web_node", "address")
    with Browser() as browser:
        browser.open(address)
        spin_until(lambda: "No task yet" in browser.text, 60, "the page")
        assert "connecting" not in browser.text, "the first screen has gone"
        stop_is_in_sight(browser, spin_until, 390, 420)  # a phone whose keyboard is open
        stop_is_in_sight(browser, spin_until, 1280, 300)
        web_node = [node for node in with_page(load_system("tabletop")).nodes if node.name == "web_node"]
        observer = make_node("observer")  # while somebody looks, the page's node subscribes to pictures
        spin_until(lambda: asks_for_pictures(observer), 60, "the pictures to be asked for")
        assert not not_in_the_policies(observer, web_node, spin_until)


def asks_for_pictures(observer):
    there = "web_node" in observer.get_node_names()
    return there and "camera/color/image_raw" in permissions_of(observer, "web_node")["topics", "subscribe"]


def page_without_browser(port):
    host, protocol = f"127.0.0.1:{port}", f"viser-v{viser.__version__}"
    return connect(f"ws://{host}", subprotocols=[protocol], origin=f"http://{host}", max_size=None, close_timeout=1.0)
