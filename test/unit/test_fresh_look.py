"""A look began after it was asked for: images from before are none, whenever they arrive."""

import threading
import time
from types import SimpleNamespace

import pytest

from planweave.bodies.arm.fresh_look import fresh_look
from planweave.bodies.arm.ros_names import RosNames


class Camera:
    """The world of a camera whose images have these stamps; the newest joint state is stamped `now`."""

    def __init__(self, *stamps, now=5.0, overdue=False):
        self.stamps, self.now, self.overdue, self.waited, self.felt = stamps, now, overdue, [], True

    def world(self):
        return SimpleNamespace(stamp=min(self.stamps, default=0.0), heard=0.0 if self.overdue else time.time() + 1.0)

    @property
    def no_joint_states(self):
        return not self.felt

    def joint_states_stopped(self):
        self.felt = False

    def wait_for_detections(self, after, seconds):
        self.waited.append(after)
        return next((s for s in self.stamps if s > after), None)

    def states(self):
        return time.time_ns() + 1, self.now


def test_the_second_image_stamped_after_a_state_that_was_measured_since_is_fresh():
    camera = Camera(4.0, 5.0, 5.2, 5.4)
    assert fresh_look(camera, camera.states, 0.1) == (True, "") and camera.waited == [5.0, 5.2]


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        (Camera(4.0, 5.0), "no fresh look"),
        (Camera(4.0, 5.2), "no fresh look"),
        (Camera(4.0, overdue=True), "no detections on /perception/detected_objects"),
    ],
)
def test_images_from_before_are_not(camera, words):
    fresh, why = fresh_look(camera, camera.states, 0.1)
    assert not fresh and words in why
    assert "/perception" not in why or "/left/seen" in fresh_look(camera, camera.states, 0.1, RosNames("/left/seen"))[1]


def test_without_joint_states_nobody_knows_which_images_are_new(monkeypatch):
    camera = Camera(6.0, 7.0, 8.0)
    before = time.time_ns()
    fresh, why = fresh_look(camera, lambda: (before, 5.0), 0.05)
    assert not fresh and "no joint states come" in why and not camera.waited and camera.felt
    monkeypatch.setattr("planweave.bodies.arm.fresh_look._LONGEST", 1e9)
    for seconds in (0.6, 1e9):  # what did not come for long is not waited for again
        look = threading.Thread(target=fresh_look, args=(camera, lambda: (before, 5.0), seconds), daemon=True)
        look.start()
        look.join(60.0)
        assert not look.is_alive() and not camera.felt
    for wrong in (float("nan"), -1.0):
        assert not fresh_look(camera, lambda: (before, 5.0), wrong)[0]
