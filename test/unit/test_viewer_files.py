"""The files for RViz and Foxglove: well formed, on topics that this graph has, and installed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RVIZ, FOXGLOVE = ROOT / "config/rviz/planweave.rviz", ROOT / "config/foxglove/planweave.json"
DISPLAYS = {"Grid", "RobotModel", "MarkerArray", "Image", "TF"}
PANELS = {"3D", "Image", "RawMessages"}


@pytest.fixture(scope="module")
def graph():
    """The names of topics in the table of docs/architecture.md."""
    rows = [line for line in (ROOT / "docs/architecture.md").read_text().splitlines() if line.startswith("| `/")]
    return {name for row in rows for name in re.findall(r"`(/[a-z0-9_/]+)`", row.split("|")[1])}


def rviz_topics(config):
    """Topic name and durability of every display that has one."""
    for display in config["Visualization Manager"]["Displays"]:
        for key in ("Topic", "Description Topic"):
            if key in display:
                yield display[key]["Value"], display[key]["Durability Policy"]


def foxglove_topics(value):
    """Every topic that a layout names, wherever it stands in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("topic", "topicPath", "imageTopic", "calibrationTopic"):
                yield re.match(r"/[\w/]+", inner).group()
            elif key == "topics":
                yield from inner
            else:
                yield from foxglove_topics(inner)


def leaves(layout):
    """The panels of a layout tree; fails where a node is not a split of two."""
    if isinstance(layout, str):
        return [layout]
    assert set(layout) == {"first", "second", "direction", "splitPercentage"}
    assert layout["direction"] in ("row", "column") and 0 < layout["splitPercentage"] < 100
    return leaves(layout["first"]) + leaves(layout["second"])


def test_the_rviz_file_shows_what_there_is(graph):
    config = yaml.safe_load(RVIZ.read_text())
    manager = config["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "fr3_link0"
    for display in manager["Displays"]:
        package, kind = display["Class"].split("/")
        assert package == "rviz_default_plugins" and kind in DISPLAYS
        assert display["Name"] and display["Enabled"] == display["Value"]
    topics = dict(rviz_topics(config))
    assert set(topics) <= graph
    assert {"/perception/markers", "/perception/image_annotated", "/robot_description"} <= set(topics)
    assert topics["/perception/markers"] == "Transient Local"


def test_the_foxglove_layout_shows_what_there_is(graph):
    layout = json.loads(FOXGLOVE.read_text())
    panels = leaves(layout["layout"])
    assert sorted(panels) == sorted(layout["configById"])
    assert {panel.split("!")[0] for panel in panels} == PANELS
    topics = set(foxglove_topics(layout["configById"]))
    assert topics <= graph
    assert {"/perception/markers", "/perception/image_annotated", "/task_status", "/action_tree"} <= topics


def test_viewer_and_camera_files_are_installed():
    """setup.py's share files, as it would install them."""
    code = (
        "import setuptools; seen = {}; setuptools.setup = lambda **k: seen.update(k); "
        "exec(open('setup.py').read(), {'__file__': 'setup.py', '__name__': 'setup'}); "
        "print(*(f for _, files in seen['data_files'] for f in files), sep='\\n')"
    )
    listed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60)
    files = listed.stdout.split()
    for path in (RVIZ, FOXGLOVE, ROOT / "config/cameras/overhead.yaml", ROOT / "config/perception.yaml"):
        assert path.relative_to(ROOT).as_posix() in files
