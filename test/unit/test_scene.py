"""Scene files: what is read, what is refused and how it is said, and that everything stands still."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from codes import raises_code

from planweave.core.base.paths import config_dir
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model, home_state, object_body
from planweave.simulation.scene import load_scene, parse_scene
from planweave.simulation.shapes import COLOURS, KINDS
from planweave.simulation.simulator import Simulator

PATH = Path("somewhere/kitchen.yaml")
SCENES = sorted(path.stem for path in (config_dir() / "scenes").glob("*.yaml"))


def scene_of(*entries, head="", tail=""):
    return parse_scene(head + "objects:\n" + "".join(f"  - {entry}\n" for entry in entries) + tail, PATH)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_every_scene_stands_still(name):
    scene = load_scene(name)
    simulator = Simulator(build_model(scene, load_camera()), scene)
    before = [simulator.object_pose(i)[0] for i in range(len(scene.objects))]
    simulator.step(1000)
    for i, entry in enumerate(scene.objects):
        after = simulator.object_pose(i)[0]
        assert np.abs(after - before[i]).max() < 2e-4, f"{entry.kind} moves"
        assert np.abs(after - entry.position).max() < 0.008, f"{entry.kind} fell away from its place"


def test_scenes_others_rely_on_are_there():
    assert {"blocks", "fruit_and_bottles", "out_of_reach", "slippery"} <= set(SCENES)
    blocks = load_scene("blocks")
    assert ("cube", "red") in {(o.kind, o.colour) for o in blocks.objects}
    trays = [o for o in blocks.objects if o.kind == "tray"]
    assert len(trays) == 2 and trays[0].position[1] > 0 > trays[1].position[1]
    assert load_scene("slippery").objects == blocks.objects and load_scene("slippery").faults


def test_defaults_and_all_fields():
    scene = scene_of(
        "{kind: cube, colour: green, position: [0.5, 0.1, 0.05], size: 0.04, yaw: 0.3}",
        "{kind: banana, position: [0.5, -0.2]}",
        head="description: two things\n",
        tail="faults:\n  - {kind: slip, object: 0, times: 2}\n",
    )
    cube, banana = scene.objects
    assert scene.name == "kitchen" and scene.description == "two things"
    assert (cube.kind, cube.colour, cube.position, cube.size, cube.yaw) == (
        "cube",
        "green",
        (0.5, 0.1, 0.05),
        (0.04,),
        0.3,
    )
    assert (banana.colour, banana.size, banana.yaw) == ("yellow", KINDS["banana"].default, 0.0)
    assert (scene.faults[0].object, scene.faults[0].times) == (0, 2)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", "kitchen.yaml:1"),
        ("- 1\n", "kitchen.yaml:1"),
        ("description: x\n", ("kitchen.yaml:1", "objects")),
        ("objects: []\n", "kitchen.yaml:1: objects"),
        ("objects:\n", ("kitchen.yaml:1", "objects")),
        ("objects:\n  - {kind: cube\n", ("kitchen.yaml:2", "YAML")),
        ("objects:\n  - {kind: cubee, position: [0.5, 0]}\n", ("kitchen.yaml:2: objects[0].kind", "'cubee'", "'cube'")),
        (
            "objects:\n  - {kind: cube, colour: mauve, position: [0.5, 0]}\n",
            ("objects[0].colour", "'mauve'", "aqua, black"),
        ),
        ("objects:\n  - {kind: cube, positon: [0.5, 0]}\n", ("positon", "'position'")),
        ("objects:\n  - {kind: cube}\n", ("objects[0]", "position")),
        ("objects:\n  - {kind: cube, kind: bowl, position: [0.5, 0]}\n", "objects[0].kind"),
        ("objects:\n  - {kind: cube, position: [0.5]}\n", ("objects[0].position", "[0.5")),
        ("objects:\n  - {kind: cube, position: [0.5, high]}\n", ("objects[0].position", "[0.5")),
        ("objects:\n  - {kind: cube, position: [.nan, 0]}\n", ("objects[0].position", "nan")),
        ("objects:\n  - {kind: cube, position: [0.5, 0, -0.1]}\n", ("objects[0].position", "-0.1")),
        (
            "objects:\n\n  - {kind: cube, position: [0.94, 0]}\n",
            ("kitchen.yaml:3: objects[0].position", "-0.225 to 0.925"),
        ),
        ("objects:\n  - {kind: tray, position: [0.5, 0], size: 0.2}\n", ("objects[0]", "size", "tray")),
        ("objects:\n  - {kind: cube, position: [0.5, 0], size: 2}\n", ("objects[0].size", "2")),
        (
            "objects:\n  - {kind: cube, position: [0.5, 0]}\nfaults: [{kind: slip, object: 3}]\n",
            ("faults[0].object", "0 to 0"),
        ),
        ("objects:\n  - {kind: cube, position: [0.5, 0]}\nfaults: [{kind: fire, object: 0}]\n", "'fire'"),
        ("objcts: []\n", ("objcts", "'objects'")),
        ("objects: [{kind: cube, position: [0.5, 0]}]\nperson: nobdy\n", ("'nobdy'", "'nobody'")),
        ("objects: [{kind: cube, position: [0.5, 0]}]\nperson: {at: [1, 0]}\n", ("person.at", "[1, 0]")),
        ("objects: [{kind: cube, position: [0.5, 0]}]\nperson: {after: -1}\n", ("person.after", "-1", "3600")),
    ],
)
def test_errors_name_file_line_and_entry(text, data):
    with raises_code("scene", data) as caught:
        parse_scene(text, PATH)
    assert str(PATH) in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "data"),
    [
        (
            ["{kind: cube, position: [0.5, 0]}", "{kind: bowl, position: [0.52, 0.03]}"],
            (":3: objects[1]", "objects[0]", "line 2", "6 mm"),
        ),
        (["{kind: box, position: [0.05, 0.0]}"], (":2:", "brown box", "robot")),
    ],
)
def test_overlaps_are_refused_with_both_entries(entries, data):
    with raises_code("scene", data):
        build_model(scene_of(*entries), load_camera())


def test_things_may_stand_on_and_in_each_other():
    scene = scene_of(
        "{kind: tray, position: [0.5, 0.3]}",
        "{kind: cube, position: [0.5, 0.3, 0.007]}",
        "{kind: cube, position: [0.5, 0.3, 0.058], colour: blue}",
    )
    simulator = Simulator(build_model(scene, load_camera()), scene)
    assert simulator.object_pose(2)[0] == pytest.approx([0.5, 0.3, 0.056], abs=0.003)


def test_unknown_names_list_what_there_is(tmp_path):
    with raises_code("unknown_name", "'blocks'"):
        load_scene("block")
    with raises_code("scene", "none.yaml"):
        load_scene(str(tmp_path / "none.yaml"))
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with raises_code("scene", "binary.yaml:1:1", "0xff"):
        load_scene(str(binary))


def outline(model, geom):
    """Points (n, 3) in the geom's frame that span its extent."""
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        return model.mesh_vert[model.mesh_vertadr[mesh] : model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh]]
    size = model.geom_size[geom]
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
        directions = np.random.default_rng(0).normal(size=(4000, 3))
        directions *= size[0] / np.linalg.norm(directions, axis=1, keepdims=True)
        return np.concatenate([directions + [0, 0, size[1]], directions - [0, 0, size[1]]])
    return size * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


@pytest.mark.slow
def test_every_kind_has_its_footprint_and_fits_the_gripper():
    for name, kind in KINDS.items():
        scene = scene_of(f"{{kind: {name}, position: [0.5, 0.0]}}")
        model = build_model(scene, load_camera())
        data = home_state(model)
        body = model.body(object_body(0))
        points = []
        for g in range(body.geomadr[0], body.geomadr[0] + body.geomnum[0]):
            if model.geom_contype[g]:
                points.append(outline(model, g) @ data.geom_xmat[g].reshape(3, 3).T + data.geom_xpos[g])
        low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
        along, across = kind.footprint(kind.default)
        assert low[2] == pytest.approx(0.0, abs=1e-3), name
        assert (high - low)[0] <= along + 0.012 and (high - low)[1] <= across + 0.012, name
        if name not in ("tray", "box", "bowl", "plate", "pot", "lid"):
            assert min((high - low)[:2]) < 0.072, f"{name} does not fit between the fingers"
        assert mujoco.mj_getTotalmass(model) > 0 and 0.01 < model.body_mass[body.id] < 1.0


def test_colours_differ():
    known = {name: rgb for name, rgb in COLOURS.items() if name != "cyan"}
    for a in known:
        for b in known:
            assert a == b or np.linalg.norm(np.subtract(known[a], known[b])) > 0.2, (a, b)


@pytest.mark.parametrize(
    ("tail", "data"),
    [
        ("faults: [{kind: vanish, object: 0, times: 2}]\n", ("faults[0]", "times", "vanish")),
        ("faults: [{kind: slip, object: 0, to: [0.5, 0.1]}]\n", ("faults[0]", "to", "slip")),
        ("faults: [{kind: vanish, object: 0, to: [0.94, 0]}]\n", ("faults[0].to", "-0.225 to 0.925")),
        ("faults: [{kind: slip, object: 0}, {kind: slip, object: 0}]\n", ("faults[1]", "objects[0]")),
        ("jitter: {position: 1}\n", ("jitter.position", "1", "0.3")),
        ("noise: {mas: 0.1}\n", ("noise", "'mas'", "'mass'")),
    ],
)
def test_faults_and_ranges_are_checked(tail, data):
    with raises_code("scene", data):
        scene_of("{kind: cube, position: [0.5, 0]}", tail=tail)


def test_noise_changes_masses_and_friction_by_its_shares_and_is_drawn_anew_for_each_seed():
    def masses(tail):
        scene = scene_of("{kind: cube, position: [0.5, 0]}", "{kind: bowl, position: [0.5, 0.3]}", tail=tail)
        model = build_model(scene, load_camera())
        bodies = [model.body(object_body(i)) for i in range(2)]
        return [model.body_mass[b.id] for b in bodies], [model.geom_friction[b.geomadr[0], 0] for b in bodies]

    (usual, rub), (noisy, rubbing), (other, _) = (
        masses(tail) for tail in ("", "noise: {seed: 1, mass: 0.1, friction: 0.2}\n", "noise: {seed: 2, mass: 0.1}\n")
    )
    assert all(0 < abs(n / u - 1) <= 0.1001 for n, u in zip(noisy, usual)) and noisy != other
    assert all(0 < abs(n / u - 1) <= 0.2001 for n, u in zip(rubbing, rub))
