"""The page in a real browser: a task is said, read, approved and done, a stop stops it; strangers do not get in."""

import io
import os
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from doubles.browser import Browser, found
from PIL import Image

from planweave.launcher.systems import load_system, with_page

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium is installed (Debian: apt install chromium)")
SENTENCE = "put the red cube in the left tray"


@pytest.fixture
def page(start_node, spin_until):
    """The tabletop system with its page, whose plans a person approves; the page's address."""
    from planweave_ros.client import Client

    nodes = with_page(load_system("tabletop")).nodes
    parameters = {
        "simulation_node": {"real_time_factor": 1.0},  # else a motion is over before a person can say anything
        "planner_node": {"client": "none"},
        "feedback_node": {"require_approval": True, "method": "classical"},
        "web_node": {"port": 0},
    }
    for node in nodes:
        start_node(node.name, parameter_files=node.parameter_files, **parameters.get(node.name, {}))
    with Client() as client:
        spin_until(lambda: not client.missing(nodes), 60, "the nodes to be there")
        spin_until(lambda: "web_node" in client.nodes(0.1), 60, "the page's node")
        yield client.parameter("web_node", "address")


def keep(browser):
    """Write a picture of the page where PLANWEAVE_SCREENSHOT names a file: that of the documentation is made so."""
    if path := os.environ.get("PLANWEAVE_SCREENSHOT"):
        browser.run("document.querySelectorAll('[class*=Notification-closeButton]').forEach(b => b.click())")
        time.sleep(1.0)  # until they have faded
        picture = browser.screenshot()
        Image.open(io.BytesIO(picture)).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
            path, optimize=True
        )


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
        assert b"<html" in answer.read()


def test_a_person_says_a_task_reads_it_approves_it_and_sees_it_done(page, spin_until):
    other_pages_get_nothing(page)
    with Browser() as browser:
        browser.open(page)
        spin_until(lambda: "No task yet" in browser.text, 60, "the page")
        spin_until(lambda: colours(browser) > 20, 60, "the robot and the cubes to be drawn")
        assert browser.write(SENTENCE)
        spin_until(lambda: browser.click("Run"), 20, "the button")
        spin_until(lambda: "awaiting approval" in browser.text, 60, "the plan")
        told = browser.text
        assert "in(red_cube, left_tray)" in told and "pick up the red cube" in told, told
        spin_until(lambda: browser.click("Approve this plan"), 20, "the button")
        spin_until(lambda: "the goal holds, as observed" in browser.text, 120, "the task to be done")
        assert not browser.click("Approve this plan"), "nothing is left to approve"
        assert browser.click("Run"), "once more, which needs nothing to be done"
        spin_until(lambda: "holds already" in browser.text or "held already" in browser.text, 60, "its end")
        the_first_is_looked_at_again(browser, spin_until)


def the_first_is_looked_at_again(browser, spin_until):
    spin_until(lambda: browser.click("Earlier"), 20, "the tab")
    spin_until(lambda: browser.click("Look again") and browser.choose(f"done: {SENTENCE} [task-1-"), 60, "the task")
    spin_until(lambda: "Moment" in browser.text, 20, "its slider")
    browser.slide_back(2)
    spin_until(lambda: "after its begin, not now" in browser.text, 20, "a moment of it")
    assert browser.click("Back to now")
    spin_until(lambda: "not now" not in browser.text, 20, "what is now")


def test_a_person_pauses_a_task_sees_that_it_waits_and_resumes_it(page, spin_until):
    with Browser() as browser:
        browser.open(page)
        spin_until(lambda: "No task yet" in browser.text, 60, "the page")
        assert not browser.click("Pause") and not browser.click("Resume"), "there is nothing to pause"
        spin_until(lambda: colours(browser) > 20, 60, "the robot and the cubes to be drawn")
        assert browser.write(SENTENCE)
        spin_until(lambda: browser.click("Run"), 20, "the button")
        spin_until(lambda: "awaiting approval" in browser.text, 60, "the plan")
        spin_until(lambda: browser.click("Approve this plan"), 20, "the button")
        spin_until(lambda: "acting: approaching" in browser.text, 60, "the arm to move")
        spin_until(lambda: browser.click("Pause"), 20, "the button")
        spin_until(lambda: "was interrupted" in browser.text, 60, "the pause")
        assert "paused by" in browser.text and not browser.click("Pause"), browser.text
        keep(browser)
        spin_until(lambda: browser.click("Resume"), 20, "the button")
        spin_until(lambda: "the goal holds, as observed" in browser.text, 120, "the task to be done")
        assert "resumed by" in browser.text and not browser.click("Resume"), browser.text
