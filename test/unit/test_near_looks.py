"""What a camera on the hand shows from near by of what the first camera does not see."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from doubles.boxes_camera import looking, picture
from doubles.table_view import AT_HOME

from planweave.core.symbolic.domain import Domain
from planweave.perception.calibration import Extrinsics, load_extrinsics
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Intrinsics
from planweave.perception.pipeline import Pipeline, PipelineLimits
from planweave.perception.side_views import checked
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera
from planweave.simulation.mujoco_model import build_model, home_state
from planweave.simulation.scene import parse_scene

TABLE = PipelineLimits().table
WALL = ((0.45, -0.05, 0.0), (0.57, 0.35, 0.24), (20, 60, 220))
CUBE = (0.67, 0.15)
FAR = {"eye": (-0.1, 0.15, 0.7), "target": (0.6, 0.15, 0.0)}
NEAR = {"eye": (0.8, 0.15, 0.45), "target": (0.68, 0.15, 0.0)}


def cube(x=CUBE[0], y=CUBE[1], edge=0.05):
    return (x - edge / 2, y - edge / 2, 0.0), (x + edge / 2, y + edge / 2, edge), (200, 30, 30)


@pytest.fixture
def first():
    """The first camera's picture of a wall that hides what is behind it."""
    return picture([WALL], **FAR)


@pytest.fixture
def look(first):
    """What is found, for what is behind the wall."""
    pipeline = Pipeline(Extrinsics("camera", looking(*FAR.values())))

    def found(*boxes, remembered=()):
        near = replace(picture([WALL, *boxes], **NEAR, name="wrist"), carried=True)
        assert np.array_equal(picture([WALL, *boxes], **FAR).depth, first.depth)
        scene = pipeline.run(first.rgb, first.depth, first.intrinsics, None, remembered, sides=[near])
        assert not scene.problems
        return [thing for thing in scene.detections if thing.position[0] > 0.6]

    return found


def test_what_only_the_hand_s_camera_sees_is_measured_there(look):
    (seen,) = look(cube())
    assert seen.look == ("cube", "red") and not seen.cut and not seen.beyond
    assert np.allclose(seen.position, (*CUBE, 0.025), atol=0.006) and np.allclose(seen.size, 0.05, atol=0.008)


@pytest.mark.parametrize("aside", [0.03, 0.06])
def test_what_was_moved_unseen_is_where_it_is_seen_from_near_by_not_where_it_was(look, aside):
    (before,) = look(cube())
    (seen,) = look(cube(y=CUBE[1] + aside), remembered=[before])
    assert np.allclose(seen.position[:2], (CUBE[0], CUBE[1] + aside), atol=0.006)


def test_what_was_taken_away_unseen_is_not_found_from_near_by(look):
    assert not look(remembered=look(cube()))


def test_what_the_hand_s_camera_sees_on_another_thing_is_known_to_be_there(look):
    board = (0.6, 0.05, 0.0), (0.78, 0.25, 0.02), (230, 220, 40)
    low, high, colour = cube()
    found = look(board, ((*low[:2], 0.02), (*high[:2], 0.07), colour))
    (seen,) = (thing for thing in found if thing.colour == "red")
    assert seen.bottom == pytest.approx(0.02, abs=0.006)


def agrees(first, view, off=(0.0, 0.0, 0.0)):
    moved = replace(view.camera_to_frame, translation=view.camera_to_frame.translation + off)
    wrong = replace(view, camera_to_frame=moved, carried=False)
    return checked(wrong, None, TABLE, lambda plane: None, first)


@pytest.mark.parametrize("height", [0.2, 0.23, 0.25])
def test_cameras_agree_where_one_sees_little_but_an_edge_from_near_by(height):
    """Of what is above the table it sees an edge in many pixels, past which the first camera looks within one."""
    random = np.random.default_rng(0)
    first, near = (
        replace(view, depth=DepthNoise().apply(view.depth.astype(float), random))
        for view in (
            picture([WALL], (-0.1, -0.5, 1.0), FAR["target"]),
            picture([WALL], (0.8, 0.5, height), (0.6, 0.1, 0.1)),
        )
    )
    assert agrees(first, near) is not None


@pytest.mark.parametrize("off", [(0.03, 0.0, 0.0), (0.06, 0.0, 0.0)])
def test_cameras_do_not_agree_where_one_sees_the_edge_beside_its_place(first, off):
    view = picture([WALL], (0.75, 0.15, 0.5), (0.55, 0.15, 0.24))
    assert agrees(first, view) is not None
    with pytest.raises(FrameError):
        agrees(first, view, off)


FAR_MUG = """objects:
  - {kind: mug, colour: red, position: [0.66, 0.27], yaw: 0.6}
"""


@pytest.mark.gl
def test_a_rim_that_is_broad_from_far_away_is_no_flat_top():
    config, scene = load_camera("right"), parse_scene(FAR_MUG, Path("mug.yaml"))
    model = build_model(scene, config)
    camera = OverheadCamera(model, config, DepthNoise(), seed=1)
    pipeline = Pipeline(load_extrinsics("right"), domain=Domain.load("kitchen"))
    frames = [camera.render(0.0, home_state(model).qpos) for _ in range(6)]
    camera.close()
    intrinsics = Intrinsics.of_view(config.fovy, config.width, config.height)
    seen = [pipeline.run(frame.rgb, frame.depth, intrinsics, AT_HOME).detections for frame in frames]
    looks = [thing.look for things in seen for thing in things if not thing.cut]
    assert ("can", "red") not in looks and looks.count(("mug", "red")) >= len(frames) - 1
