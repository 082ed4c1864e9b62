"""The metrics and the loader of the benchmark on real frames."""

import json

import cv2
import numpy as np
import pytest
from codes import raises_code

from benchmarks.real_frames import boxed, boxes_found, changed, decompressed, read_scene, scores, table_pose


def labels(*spans):
    image = np.zeros((60, 80), int)
    for number, (first, last) in enumerate(spans, 1):
        image[10:50, first:last] = number
    return image


@pytest.mark.parametrize(
    ("found", "overlap", "well"),
    [
        ([(10, 30), (40, 60)], 1.0, 1.0),
        ([(10, 60)], 0.44, 0.0),  # both in one
        ([(10, 20), (20, 30), (40, 60)], 0.75, 0.5),  # one cut in two
        ([], 0.0, 0.0),
    ],
)
def test_scores_of_right_and_wrong_cuts(found, overlap, well):
    pytest.importorskip("scipy")
    score = scores(labels(*found), labels((10, 30), (40, 60)))
    assert score["overlap"] == pytest.approx(overlap, abs=0.01)
    assert score["well"] == well


def test_segments_without_their_like_are_counted():
    assert changed(labels((10, 30), (40, 60)), labels((11, 30))) == (1, 2)


def test_references_of_lzf_may_run_into_what_they_write():
    assert decompressed(bytes([0, ord("a"), 0b11100000, 1, 0]), 11) == b"a" * 11
    with pytest.raises(ValueError):
        decompressed(bytes([0b00100000, 5]), 3)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "learn0.pcd"
    path.write_bytes(b"VERSION 0.7\nFIELDS x y z\nDATA ascii\n")
    with raises_code("configuration", "learn0.pcd"):
        read_scene(path)


def test_the_table_gives_the_camera_s_pose():
    rng = np.random.default_rng(0)
    flat = np.column_stack((rng.uniform(-0.4, 0.4, (500, 2)), np.zeros(500)))
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[1, 0, 0], [0, -s, -c], [0, c, -s]])  # looks down aslant
    points = flat @ turn.T + (0, 0, 1.0)
    assert table_pose(points).apply(points)[:, 2] == pytest.approx(0, abs=1e-6)
    assert table_pose(points).translation[2] > 0.3


def test_boxes_drawn_by_eye_are_read_and_found_where_a_segment_is_like_them(tmp_path):
    assert list(boxed(tmp_path)) == []
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((40, 60, 3), np.uint8))
    cv2.imwrite(str(tmp_path / "d.png"), np.full((40, 60), 1500, np.uint16))
    row = {"depth": "d.png", "intrinsics": [50, 50, 30, 20], "pose": np.eye(4).tolist(), "boxes": [[0, 0, 10, 10]]}
    (tmp_path / "boxes.json").write_text(json.dumps({"a.png": row}))
    ((name, view, boxes),) = boxed(tmp_path)
    assert name == "a.png" and view.depth[0, 0] == 1.5 and view.intrinsics.width == 60
    labels = np.zeros((40, 60), int)
    labels[0:9, 0:10] = 1
    assert boxes_found(labels, boxes) == 1 and boxes_found(labels, boxes + (5, 5, 5, 5)) == 0
    assert boxes_found(np.zeros((40, 60), int), boxes) == 0
    (tmp_path / "boxes.json").write_text(json.dumps({"a.png": {"boxes": []}}))
    with raises_code("configuration"):
        list(boxed(tmp_path))
