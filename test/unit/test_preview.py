"""Previews of plans: the motions that the arm later carries out, planned while nothing moves; how they are shown."""

import math
from itertools import pairwise

import numpy as np
import pytest
from codes import raises_code
from doubles.direct_arm import Tabletop
from doubles.kitchen import Kitchen

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.preview import MotionPreview
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.base.paths import find_config
from planweave.core.symbolic.world import Action
from planweave.core.workflow.step_motion import (
    SEEN_WITHIN,
    Carried,
    PlanPreview,
    StepMotion,
    preview_text,
    step_text,
    summary,
)
from planweave.page import words
from planweave.page.ghost import Timeline
from planweave.simulation.scene import parse_scene

KITCHEN = (
    "objects:\n  - {kind: cube, position: [0.2, -0.4]}\ntable: {size: [1.8, 1.8]}\n"
    "fixtures:\n  - {kind: cabinet, position: [0.70, 0.15], yaw: 0.2}\n"
)
STACK = ["grasp(red_cube)", "place_in(red_cube, tray)", "grasp(blue_cube)", "place_on(blue_cube, green_cube)"]


@pytest.fixture(scope="module")
def table():
    return Tabletop("blocks")


def preview_of(table):
    kinematics = table.skills.reaching.kinematics
    return MotionPreview(
        table.world.domain,
        table.planning_scene.twin(),
        kinematics,
        lambda scene, check: MotionPlanner(scene, kinematics),
        2.0,
    )


@pytest.fixture(scope="module")
def motions(table):
    """motions(*texts of actions, check=…) -> the motions of a plan from the table as it is."""
    skills, preview = table.skills, preview_of(table)

    def plan(*texts, check=lambda: None):
        actions = [Action.parse(text) for text in texts]
        body = skills.context
        return preview.motions(actions, table.world, table.arm.state(), body.arm.safety, body.settings, check)

    return plan


def rows(step):
    return np.array(step.positions)[:, :7]


@pytest.mark.slow
def test_the_previewed_path_is_the_one_that_the_arm_takes_and_planning_it_moves_nothing():
    table = Tabletop("blocks")
    preview = preview_of(table)
    before, q, world = len(table.arm.sent), table.arm.state().positions, table.world.world()
    body = table.skills.context
    actions = [Action.parse(text) for text in STACK]
    shown = preview.motions(actions, table.world, table.arm.state(), body.arm.safety, body.settings, lambda: None)
    assert len(table.arm.sent) == before and table.world.world() == world
    assert np.array_equal(table.arm.state().positions, q)
    for action, step in zip(actions, shown):
        assert step.known and step.action == action and step.words == table.world.domain.phrase(action)
        sent = len(table.arm.sent)
        table.skills.run(action)
        done = np.vstack([trajectory.positions for trajectory in table.arm.sent[sent:]])
        away = max(np.abs(done - q).max(axis=1).min() for q in rows(step))
        astray = max(np.abs(rows(step) - q).max(axis=1).min() for q in done)
        assert away < 0.02 and astray < 0.1, f"{action}: {away} and {astray} rad"
        assert step.duration == pytest.approx(table.skills.mover.motion_seconds, rel=0.2)


@pytest.mark.slow
def test_each_step_begins_in_the_world_that_the_steps_before_leave(motions):
    steps = motions(*STACK)
    for one, two in pairwise(steps):
        assert two.positions[0] == one.positions[-1]
    taken, put, second, stacked = steps
    assert taken.held.name == "red_cube" and 0 < taken.held.since < taken.held.until == taken.duration
    assert put.held.since == 0 and put.held.until < put.duration
    assert second.held.name == stacked.held.name == "blue_cube"
    again = motions("grasp(red_cube)", "place_in(red_cube, tray)", "grasp(red_cube)")
    assert all(step.known for step in again), "it is taken out of the tray, where the step before has put it"
    assert abs(again[2].length - again[0].length) > 0.01


def test_lengths_durations_and_clearances(motions, table):
    (step,) = motions("grasp(red_cube)")
    forward = table.skills.reaching.kinematics.forward
    points = np.array([forward(q)[:3, 3] for q in rows(step)])
    assert step.length == pytest.approx(np.linalg.norm(np.diff(points, axis=0), axis=1).sum(), rel=1e-3)
    assert step.duration == step.times[-1] and list(step.times) == sorted(step.times)
    assert 0.0 < step.clearance < SEEN_WITHIN and step.nearest not in ("", "red_cube")
    fingers = np.array(step.positions)[:, 7:]
    assert fingers[0].max() > fingers[-1].max() > 0.005, "they close on the cube, not further"


def test_the_clearance_of_the_nearest_object_is_what_mujoco_measures_between_the_meshes(motions, table):
    """Distances to objects farther away than the nearest are up to 2 cm off; no preview shows them."""
    import mujoco

    (step,) = motions("grasp(red_cube)")
    scene = table.planning_scene.twin()
    scene.update(table.world.things())
    moving, seen = range(scene._moving[0], scene._moving[-1] + 1), 0
    for q in [q for q in rows(step)[::4] if scene.contact(q) is None]:
        with scene.far_sighted(SEEN_WITHIN):
            near = scene.nearby(q)
        assert scene.contact(q) is None, "afterwards contacts are looked for as before"
        if near:
            nearest = min(near, key=lambda n: n.distance)
            measured = min(
                mujoco.mj_geomDistance(scene.model, scene._data, mine, other, 1.0, None)
                for mine in moving
                if mine in scene._moving
                for other, name in enumerate(scene._geom_name)
                if name == nearest.name
            )
            assert nearest.distance == pytest.approx(measured, abs=2e-3), nearest.name
            seen += 1
    assert seen > 3


def test_what_cannot_be_known_is_said(motions):
    unknown, after = motions("grasp(moon)", "return_to_base()")
    assert not unknown.known and "moon" in unknown.message and not unknown.times
    assert "step 1" in after.message
    assert "step 1, grasp(moon), is not known beforehand" in summary((unknown, after))
    refused, _ = motions("place_in(red_cube, tray)", "grasp(red_cube)")
    assert not refused.known and "red cube" in refused.message
    (pushed,) = motions("push_aside(red_cube)")
    assert pushed.known and pushed.message
    given = motions("grasp(red_cube)", "hand_over(red_cube)", "grasp(blue_cube)")
    assert all(step.known for step in given) and given[1].message


def test_an_action_that_begins_ends_the_preview(motions):
    asked = []

    def check():
        asked.append(1)
        if len(asked) > 5:
            raise SkillFailureError(Code.CANCELED, "an action began")

    with raises_code("canceled", "an action began"):
        motions(*STACK, check=check)


def test_a_hidden_thing_is_said_to_decide(table, motions):
    from dataclasses import replace

    things = table.world.things()
    hidden = [replace(t, visible=t.name != "red_cube") for t in things]
    table.world.on_detections(hidden, table.simulator.time + 1.0)
    try:
        (step,) = motions("grasp(red_cube)")
    finally:
        table.world.on_detections(things, table.simulator.time + 2.0)
    assert "red_cube" in step.message


# ---- how it is shown


def step(name="grasp", times=(0.0, 1.0), message="", known=True, held=None, **more):
    positions = tuple((float(k),) for k in range(len(times)))
    return StepMotion(Action(name), known, message, name, ("j",), times, positions, held=held, **more)


def test_a_preview_in_words():
    near = step(length=0.5, duration=1.0, clearance=0.012, nearest="cup")
    far = step("go", length=0.25, duration=2.0)
    lost = StepMotion(Action("open"), False, "nobody knows")
    preview = PlanPreview("t", "h", (near, far, lost))
    assert step_text(near) == "0.50 m in 1.0 s, 1.2 cm from cup"
    assert step_text(far) == "0.25 m in 2.0 s, more than 15 cm from everything" and step_text(lost) == "nobody knows"
    assert preview_text(preview) == "0.75 m in 3.0 s of motion, smallest clearance 1.2 cm from cup"
    assert not preview.known and preview.closest is near
    assert preview_text(PlanPreview("t", "", (), "why")) == "why"
    markup = "<img src=x>"
    told = words.preview_html(PlanPreview("t", "h", (step(markup, nearest=markup, message=markup),), markup))
    assert "<img" not in told and "&lt;img" in told


def test_the_timeline_strings_the_steps_together_and_leaves_things_where_they_were_put():
    held = Carried("cup", (0.0, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0), 0.5, 1.0)
    goes_on = Carried("cup", (0.0, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0), 0.0, 1.0)
    lost = StepMotion(Action("open"), False, "nobody knows")

    def tool(row):
        pose = np.eye(4)
        pose[0, 3] = row[0]
        return pose

    preview = PlanPreview("t", "h", (step(held=held), lost, step(times=(0.0, 1.0, 2.0), held=goes_on)))
    line = Timeline(preview, tool)
    assert line.duration == 3.0 and line.names == ["cup"]
    assert line.at(0.5)[0] == 0.5 and line.at(2.5)[0] == 1.5
    assert line.objects(0.2) == {}, "it is still where the scene shows it"
    assert line.objects(0.75)["cup"][:3, 3] == pytest.approx([0.75, 0, 0.1])
    assert line.objects(1.5)["cup"][:3, 3] == pytest.approx([0.5, 0, 0.1])
    assert line.objects(2.9)["cup"][:3, 3] == pytest.approx([1.0, 0, 0.1]), "it was put down there"
    assert Timeline(PlanPreview("t", "h", (lost,)), tool).duration == 0.0


def test_a_step_without_a_path_below_the_height_of_a_rule_is_not_known_and_says_why(table):
    table.planning_scene.ceiling = 0.08  # lower than a lifted cube
    try:
        preview = preview_of(table)  # whose scene is a twin of the arm's
    finally:
        table.planning_scene.ceiling = math.inf
    body, sent = table.skills.context, len(table.arm.sent)
    actions = [Action.parse(text) for text in STACK[:2]]
    shown = preview.motions(actions, table.world, table.arm.state(), body.arm.safety, body.settings, lambda: None)
    assert [step.known for step in shown] == [False, False] and len(table.arm.sent) == sent
    assert " 0.08 m " in shown[0].message
    assert "the height of 0.08 m that a rule allows" in summary(shown) and "step 1, grasp(red_cube)" in summary(shown)


@pytest.mark.gl
def test_a_plan_through_a_drawer_is_previewed_to_its_end():
    """What opens, what is put in, and what the drawer then takes along; nothing of it moves."""
    scene = parse_scene(KITCHEN, find_config("scenes", "blocks").with_name("test.yaml"))
    kitchen = Kitchen(scene)
    context = kitchen.skills.context
    kinematics = context.reaching.kinematics
    safety = context.arm.safety
    cube = Thing("red_cube", "item", "cube", (0.45, -0.25, 0.02), (0.04, 0.04, 0.04))
    world = WorldModel(kitchen.domain, (), kinematics, safety)
    world.on_joints(kitchen.arm.state().positions)
    world.on_detections([cube], 1.0, kitchen.world._furniture)
    preview = MotionPreview(
        kitchen.domain,
        kitchen.skills.context.scene.twin(),
        kinematics,
        lambda of, check: MotionPlanner(of, kinematics),
        10.0,
    )
    texts = (
        "open(cabinet_top_drawer)",
        "grasp(red_cube)",
        "place_in(red_cube, cabinet_top_drawer)",
        "close(cabinet_top_drawer)",
    )
    before = world.world()
    actions = [Action.parse(text) for text in texts]
    steps = preview.motions(actions, world, kitchen.arm.state(), safety, context.settings, lambda: None)
    assert [(str(step.action), step.known, step.message) for step in steps if not step.known] == []
    assert world.world() == before and kitchen.true("top_drawer") == pytest.approx(0.0, abs=1e-3)
    opened, _, put, shut = steps
    ends = [kinematics.forward(np.array(q[:7]))[:3, 3] for q in opened.positions]
    pulled = max(np.linalg.norm(b - a) for a in ends for b in ends)
    assert pulled > 0.14, "the hand takes the handle along"
    assert put.held.name == "red_cube" and put.message
    assert shut.duration < 1.3 * opened.duration, "it is pushed once, although the cube is hidden then"
