"""Frames of further cameras of the same moment; one that is silent, late or broken is named and gives none."""

import numpy as np

from planweave.perception.calibration import Extrinsics
from planweave.perception.cameras.companions import Companion, Companions
from planweave.perception.cameras.frame import Frame
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Pose


class Listed:
    """A camera double that gives the frames of these stamps, s, one at each call; an error is raised."""

    ended = False

    def __init__(self, *stamps):
        self.stamps = list(stamps)

    def take(self):
        stamp = self.stamps.pop(0) if self.stamps else None
        if isinstance(stamp, Exception):
            raise stamp
        return None if stamp is None else Frame(int(stamp * 1e9), "eye", np.zeros(0), np.zeros(0), None)

    def complaint(self, now):
        return ""

    def close(self):
        pass


def companions(**cameras):
    pose = Extrinsics("eye", Pose(np.eye(3), np.zeros(3)))
    return Companions([Companion(name, camera, pose) for name, camera in cameras.items()], patience=0.0)


def test_only_frames_of_the_same_moment_count():
    cameras = companions(left=Listed(1.0), right=Listed(1.05, 2.0), slow=Listed(0.2, None))
    found, problems = cameras.at(1.02)
    assert [each.name for each, _ in found] == ["left", "right"]
    assert len(problems) == 1 and "camera slow" in problems[0]
    found, problems = cameras.at(2.02)
    assert [(each.name, frame.stamp) for each, frame in found] == [("right", 2.0)]
    assert len(problems) == 2, "an old image is no news"


def test_a_frame_of_the_first_camera_that_comes_late_finds_its_moment():
    cameras = companions(left=Listed(1.0, 1.3, 1.6))
    for moment in (1.0, 1.3, 1.6):
        found, problems = cameras.at(moment)
        assert [frame.stamp for _, frame in found] == [moment] and not problems
    assert cameras.at(0.7)[1], "older than what is kept"


def test_a_frame_that_cannot_be_read_is_said_with_its_camera():
    found, problems = companions(left=Listed(FrameError("no depth"))).at(1.0)
    assert not found and "camera left" in problems[0] and "no depth" in problems[0]
