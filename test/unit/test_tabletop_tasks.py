"""The tabletop tasks as data: what they say is there, their reference plans reach them, and their checkers tell."""

import dataclasses
import math

import pytest
from codes import raises_code
from doubles.direct_arm import Tabletop

from planweave.bench.tabletop_checks import CONDITIONS, ObjectPose, Situation, unmet
from planweave.bench.tabletop_tasks import (
    FOLDER,
    PAPERS,
    TASKS,
    check,
    check_world,
    extent,
    load_task,
    scene_bodies,
    scene_names,
    world_bodies,
)
from planweave.bench.tabletop_variants import variant
from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm import preconditions
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.scene import load_scene

DOMAIN = Domain.load("tabletop")
FORMS = {"tray": "hollow", "box": "hollow", "bowl": "hollow", "cube": "box", "cylinder": "cylinder"}


def things_of(task):
    """The task's scene as the arm would know it if the camera made no error."""
    scene = load_scene(task.scene)
    return [
        Thing(
            n,
            DOMAIN.type_of_class(o.kind),
            o.kind,
            (*o.position[:2], extent(o)[2] / 2),
            extent(o),
            o.yaw,
            o.colour,
            FORMS.get(o.kind, "irregular"),
            round_class=DOMAIN.is_round_class(o.kind),
        )
        for n, o in zip(scene_names(scene), scene.objects)
    ]


@pytest.fixture(scope="module")
def observed(planning_scene):
    """observed(task): the world at the task's start, facts and reachability by the executor's own rules."""
    kinematics = Kinematics(planning_scene.model)
    model = WorldModel(DOMAIN, (), kinematics, Safety(kinematics, JointLimits()))

    def world(task):
        model.use_places(load_workspace(task.workspace))
        model.clock_restarted()
        model.on_detections(things_of(task), 1.0)
        return model.world()

    return world


def played(task):
    """Bodies and what was handed over after the reference plan, every thing put where the arm would put it."""
    things = {t.name: t for t in things_of(task)}
    places = {p.name: p for p in load_workspace(task.workspace)}
    handed, ground = [], spots.Ground(places=tuple(places.values()))
    for action in task.reference:
        if action.name in ("grasp", "return_to_base"):
            continue
        item = things.pop(action.args[0])
        others = list(things.values())
        target = things.get(action.args[-1])
        if action.name == "hand_over":
            handed.append(item.name)
            continue
        if action.name == "place_at":
            found = spots.at(item, places[action.args[1]], others, ground)
        elif action.name == "place_in":
            found = spots.inside(item, target, others, ground)
        else:
            found = spots.on(item, target, others, ground)
        spot = next(iter(found))
        things[item.name] = dataclasses.replace(item, position=(spot.x, spot.y, spot.z + item.size[2] / 2))
    return [ObjectPose(t.name, t.class_name, t.position, t.size, t.yaw) for t in things.values()], handed


def test_the_papers_eleven_tasks_are_there_and_every_file_is_one_of_ours():
    assert len(PAPERS) == 11 and {p.stem for p in FOLDER.glob("*.yaml")} == set(TASKS)
    assert {load_task(t).source.partition(",")[0] for t in PAPERS} == {"BrainBody-LLM", "ProgPrompt"}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_it_is_done_after_its_reference_plan_not_at_the_start_and_with_none_of_its_objects_elsewhere(name):
    task = load_task(name)
    assert check(task, scene_bodies(load_scene(task.scene)))
    bodies, handed = played(task)
    assert check(task, bodies, handed=handed) == []
    for index, body in enumerate(bodies):
        if not any(a.args[:1] == (body.name,) for a in task.reference):
            continue
        moved = dataclasses.replace(body, position=(0.33, 0.0, body.size[2] / 2))
        assert check(task, [*bodies[:index], moved, *bodies[index + 1 :]]), f"{body.name} moved"
        assert check(task, [*bodies[:index], *bodies[index + 1 :]]), f"{body.name} gone"
        held = dataclasses.replace(body, held=True, position=(*body.position[:2], 0.4))
        assert check(task, [*bodies[:index], held, *bodies[index + 1 :]]), f"{body.name} held"


@pytest.mark.parametrize("name", TASKS)
def test_its_reference_plan_and_the_classical_planner_reach_its_goal_within_the_arms_reach(name, observed):
    task, world = load_task(name), observed(load_task(name))
    assert world.unmet(task.goal)
    for plan in (task.reference, solve(DOMAIN, world, task.goal)):
        transition = Transition(DOMAIN, world)
        state = transition.state()
        for action in plan:
            assert not transition.unmet(state, action), f"{action}: {transition.unmet(state, action)}"
            transition.apply(state, action)
        assert all(((g.predicate, *g.args) in state.facts) == g.positive for g in task.goal)
    for literal in world.objects:
        reachable = Literal("reachable", (literal.name,)) in world.facts
        assert reachable == (literal.name not in {*task.unreachable, "far_edge"}), literal.name


def test_the_papers_tasks_with_something_out_of_reach_have_it():
    with_unreachable = {name for name in PAPERS if load_task(name).unreachable}
    assert with_unreachable == {"rainbow_line", "one_each_side", "red_triangle", "plus_sign", "segregate_shapes"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one_each_side", "red_triangle"])
def test_its_reference_plan_reaches_it_in_physics(name, planning_scene):
    task = load_task(name)
    table = Tabletop(task.scene, planning_scene=planning_scene)
    table.world.use_places(load_workspace(task.workspace))
    start = table.world.world()
    for action in task.reference:
        preconditions.check(DOMAIN, table.world.world(), action)
        table.skills.run(action)
    poses = [table.simulator.object_pose(i) for i in range(len(table.scene.objects))]
    true = scene_bodies(table.scene, [(p, (x, y, z, w)) for p, (w, x, y, z) in poses])
    assert check(task, true) == [] and check_world(task, table.world.world(), start) == []


def cube(name, x, y, bottom=0.0, kind="cube", **more):
    return ObjectPose(name, kind, (x, y, bottom + 0.025), (0.05, 0.05, 0.05), **more)


def grid(picture, pitch=0.1, origin=(0.6, 0.1), turned=0.0):
    """Cubes in the cells of a picture, as the robot sees them."""
    bodies = []
    for r, row in enumerate(picture.split()):
        for c, sign in enumerate(row):
            if sign == "#":
                u, v = -r * pitch, -c * pitch
                x = origin[0] + u * math.cos(turned) - v * math.sin(turned)
                y = origin[1] + u * math.sin(turned) + v * math.cos(turned)
                bodies.append(cube(f"c{len(bodies)}", x, y))
    return bodies


def says(condition, bodies, start=()):
    return unmet([condition], Situation({b.name: b for b in bodies}, {b.name: b for b in start}))


SHAPE = {"objects": ["c0", "c1", "c2", "c3", "c4"], "pitch": [0.06, 0.2], "tolerance": 0.02, "turn": 0.25}


@pytest.mark.parametrize(
    ("picture", "pitch", "turned", "pattern", "right"),
    [
        (".#. ### .#.", 0.11, 0.0, ".#. ### .#.", True),
        (".#. ### .#.", 0.11, 0.2, ".#. ### .#.", True),
        (".#. ### .#.", 0.11, math.pi / 4, ".#. ### .#.", False),  # an x
        (".#. ### .#.", 0.30, 0.0, ".#. ### .#.", False),  # too large
        (".#. ### #..", 0.11, 0.0, ".#. ### .#.", False),
        ("#.. #.. ###", 0.10, 0.0, "#.. #.. ###", True),
        ("..# ..# ###", 0.10, 0.0, "#.. #.. ###", False),  # mirrored: a J
        ("### ..# ..#", 0.10, 0.0, "#.. #.. ###", False),  # upside down
    ],
)
def test_figures_of_cubes(picture, pitch, turned, pattern, right):
    found = says({"shape": {**SHAPE, "patterns": [pattern]}}, grid(picture, pitch, turned=turned))
    assert bool(found) != right, found


def test_a_figure_may_be_read_from_the_other_side_where_it_says_so_and_in_any_of_its_forms():
    from_opposite = grid("### ..# ..#", 0.1)
    condition = {**SHAPE, "patterns": ["#... ####", "#.. #.. ###"], "views": [0.0, math.pi]}
    assert not says({"shape": condition}, from_opposite)
    shifted = [
        dataclasses.replace(b, position=(b.position[0] + 0.03 * (b.name == "c1"), *b.position[1:]))
        for b in from_opposite
    ]
    assert "do not form the figure" in says({"shape": condition}, shifted)[0]


@pytest.mark.parametrize(
    ("condition", "good", "bad"),
    [
        (
            {"inside": {"objects": ["a"], "containers": ["b", "d"]}},
            [cube("a", 0.5, 0.3, 0.006), ObjectPose("b", "box", (0.5, 0.3, 0.04), (0.2, 0.28, 0.08), 1.0)],
            [cube("a", 0.5, 0.3, 0.08), ObjectPose("b", "box", (0.5, 0.3, 0.04), (0.2, 0.28, 0.08), 1.0)],
        ),
        (
            {"on_surface": {"objects": ["a"], "surface": "p"}},
            [cube("a", 0.5, 0.3, 0.012), ObjectPose("p", "plate", (0.5, 0.3, 0.006), (0.25, 0.25, 0.012))],
            [cube("a", 0.5, 0.45, 0.0), ObjectPose("p", "plate", (0.5, 0.3, 0.006), (0.25, 0.25, 0.012))],
        ),
        (
            {"region": {"objects": ["a"], "x": [0.2, 0.8], "y": [-0.6, -0.03]}},
            [cube("a", 0.5, -0.1)],
            [cube("a", 0.5, 0.0)],
        ),
        (
            {"count": {"x": [0.2, 0.8], "y": [0, 0.6], "kinds": {"cube": 1, "cylinder": 0}}},
            [cube("a", 0.5, 0.1), cube("b", 0.5, -0.1)],
            [cube("a", 0.5, 0.1), cube("b", 0.5, 0.1, kind="cylinder")],
        ),
        (
            {
                "line": {
                    "order": ["a", "b"],
                    "straight": 0.02,
                    "spacing": [0.06, 0.2],
                    "x": [0.4, 0.6],
                    "y": [-0.1, 0.1],
                }
            },
            [cube("a", 0.5, 0.06), cube("b", 0.51, -0.06)],
            [cube("a", 0.5, -0.06), cube("b", 0.5, 0.06)],
        ),
        (
            {
                "triangle": {
                    "among": ["a", "b", "c"],
                    "side": [0.08, 0.35],
                    "least_angle": 0.5,
                    "x": [0.2, 0.8],
                    "y": [-1, 1],
                }
            },
            [cube("a", 0.5, 0.1), cube("b", 0.5, -0.1), cube("c", 0.6, 0.0)],
            [cube("a", 0.5, 0.1), cube("b", 0.5, -0.1), cube("c", 0.52, 0.0)],
        ),
        (
            {"stack": {"order": ["a", "b"], "offset": 0.02}},
            [cube("a", 0.5, 0.1), cube("b", 0.51, 0.1, 0.05)],
            [cube("b", 0.5, 0.1), cube("a", 0.5, 0.1, 0.05)],
        ),
        ({"still": {"objects": ["a"], "within": 0.02}}, [cube("a", 0.51, 0.0)], [cube("a", 0.53, 0.0)]),
        ({"handed": {"objects": ["a"]}}, [cube("a", -1.6, 0.0, -0.72)], [cube("a", 0.6, 0.0, 0.4, held=True)]),
        (
            {
                "any": [
                    [{"region": {"objects": ["a"], "x": [0, 1], "y": [0.1, 1]}}],
                    [{"region": {"objects": ["a"], "x": [0, 1], "y": [-1, -0.1]}}],
                ]
            },
            [cube("a", 0.5, -0.3)],
            [cube("a", 0.5, 0.0)],
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_condition_tells_good_from_bad(condition, good, bad):
    start = [cube("a", 0.5, 0.0)]
    assert says(condition, good, start) == []
    said = says(condition, bad, start)
    assert said and all(isinstance(text, str) and "a" in text for text in said)


def test_places_are_shared_by_nobody():
    places = {"p": (0.4, 0.3), "q": (0.6, 0.3)}
    condition = {"assigned": {"objects": ["a", "b"], "places": ["p", "q"], "within": 0.04}}

    def found(a, b):
        return unmet([condition], Situation({"a": cube("a", *a), "b": cube("b", *b)}, {}, places))

    assert found((0.41, 0.3), (0.6, 0.28)) == [] and found((0.6, 0.3), (0.4, 0.3)) == []
    assert "both at p" in found((0.42, 0.3), (0.38, 0.3))[0] and "none of" in found((0.5, 0.3), (0.6, 0.3))[0]


def test_every_condition_is_tested_here():
    assert set(CONDITIONS) == {
        *("inside", "on_surface", "region", "count", "line", "triangle", "stack", "still", "handed"),
        *("assigned", "shape"),
    }


def test_the_world_as_observed_is_read_like_the_truth():
    turn = (0.0, 0.0, math.sin(0.2), math.cos(0.2))
    thing = WorldObject("a", "item", "cube", {}, (0.5, 0.1, 0.075), turn, (0.05,) * 3)
    world = World(
        "tabletop",
        (thing, WorldObject("table", "location", position=(0.5, 0, 0), size=(1, 1, 0))),
        frozenset({Literal("holding", ("a",))}),
    )
    (body,) = world_bodies(world)
    assert body.bottom == pytest.approx(0.05) and body.yaw == pytest.approx(0.4) and body.held


def test_a_thing_that_fell_over_is_measured_as_it_lies():
    scene = load_scene("sort_fruits_and_bottles")
    upright = [((0.5, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))] * len(scene.objects)
    lying = [((0.5, 0.0, 0.026), (0.0, math.sin(math.pi / 4), 0.0, math.cos(math.pi / 4)))] * len(scene.objects)
    stands, lies = (next(b for b in scene_bodies(scene, p) if b.name == "bottle") for p in (upright, lying))
    assert stands.position == pytest.approx((0.5, 0.0, 0.075)) and stands.bottom == pytest.approx(0.0)
    assert lies.position == pytest.approx((0.575, 0.0, 0.026)) and lies.bottom == pytest.approx(0.0, abs=1e-6)


def test_a_thing_that_rolled_about_its_long_axis_is_as_high_as_it_is_thick():
    scene = load_scene("banana_in_bowl")
    rolled = [((0.5, 0.0, 0.1), (math.sin(math.pi / 4), 0.0, 0.0, math.cos(math.pi / 4)))] * len(scene.objects)
    banana = next(b for b in scene_bodies(scene, rolled) if b.name == "banana")
    assert banana.half_height == pytest.approx(banana.size[1] / 2) and banana.size[0] > 2 * banana.size[1]


GOOD = {
    "sentence": "x",
    "source": "y",
    "scene": "blocks",
    "goal": '["in(a, b)"]',
    "reference": "[grasp(a)]",
    "checker": "[{handed: {objects: [a]}}]",
}


@pytest.mark.parametrize(
    ("changes", "data"),
    [
        ({"chekcer": "[]"}, "'checker'"),
        ({"goal": None}, "goal"),
        ({"goal": "[in(a]"}, ("goal", "'in(a'")),
        ({"checker": "[{handd: {objects: [a]}}]"}, ("'handd'", "'handed'")),
        ({"checker": "[{handed: {thing: a}}]"}, "handed"),
        ({"checker": "[handed]"}, "checker"),
    ],
)
def test_a_wrong_task_file_says_what_is_wrong(tmp_path, changes, data):
    rows = {**GOOD, **changes}
    path = tmp_path / "task.yaml"
    path.write_text("".join(f"{k}: {v}\n" for k, v in rows.items() if v is not None))
    with raises_code("configuration", data):
        load_task(str(path))


def test_an_unknown_task_names_the_nearest():
    with raises_code("unknown_name", "'plus_sign'"):
        load_task("plus_sgn")


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_scenes_changed_at_random_stay_the_task(name, tmp_path):
    task, scene = load_task(name), load_scene(load_task(name).scene)
    standing = dict(zip(scene_names(scene), scene.objects))
    mattering = {a for literal in task.goal for a in literal.args if a in standing}
    for seed in range(3):
        changed = variant(task, seed)
        assert changed == variant(task, seed) and changed.text != variant(task, seed + 3).text
        assert (changed.slips, changed.vanishings) == (0, 0)
        path = tmp_path / f"{name}-{seed}.yaml"
        path.write_text(changed.text)
        moved = load_scene(str(path))
        assert tuple(scene_names(moved)) == changed.names and mattering <= set(changed.names)
        left = len(set(changed.names) & set(task.distractors))
        assert left == task.counts[seed % len(task.counts)]
        assert len(changed.names) == len(scene.objects) - len(task.distractors) + left
        for found, body in zip(moved.objects, changed.names):
            away = [abs(a - b) for a, b in zip(found.position, standing[body].position)]
            assert max(away) <= scene.jitter.position + 1e-4, f"{body} moved by {away}"
        build_model(moved, load_camera())  # refuses objects that overlap


@pytest.mark.slow
def test_faults_are_put_in_at_their_rates_and_only_on_what_is_to_be_moved(tmp_path):
    tasks = [load_task(name) for name in PAPERS]
    grasps = sum(len({a.args[0] for a in t.reference if a.name == "grasp"}) for t in tasks)
    runs = [(t, variant(t, seed, slip=0.2, vanish=0.1)) for t in tasks for seed in range(20)]
    assert sum(v.slips for _, v in runs) / (20 * grasps) == pytest.approx(0.2, abs=0.04)
    assert sum(v.vanishings for _, v in runs) / (20 * grasps) == pytest.approx(0.1, abs=0.03)
    path = tmp_path / "scene.yaml"
    for task, changed in runs[::20]:
        path.write_text(changed.text)
        scene = load_scene(str(path))
        moved = {a.args[0] for a in task.reference if a.args}
        assert {changed.names[f.object] for f in scene.faults} <= moved
