"""Planned and timed motion: within limits, free of collisions, around walls; and what cannot be."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from codes import raises_code

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics, downwards
from planweave.bodies.arm.motion import MotionPlanner, SearchTime
from planweave.bodies.arm.planning_scene import MARGIN, PlanningScene, solid_of
from planweave.bodies.arm.poses import pose_of, upright
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import Part, Solid
from planweave.bodies.arm.timing import JointLimits, Trajectory, time_path
from planweave.core.base.failure import Code
from planweave.robots import load_robot
from planweave.robots.model import robot_spec

FR3 = load_robot()

HOME = np.array(FR3.home)
LIMITS = JointLimits()


def cube(name, x, y, z=0.025, size=0.05, yaw=0.0):
    return Thing(name, "item", "cube", (x, y, z), (size,) * 3, yaw)


def block(name, centre, size, type="item", class_name="wall", yaw=0.0):
    return Thing(name, type, class_name, centre, size, yaw)


@pytest.fixture
def planner(planning_scene):
    planning_scene.detach()
    planning_scene.update([])
    planning_scene.set_opening(0.08)
    return MotionPlanner(planning_scene, Kinematics(planning_scene.model))


@pytest.fixture(scope="module")
def safety(planning_scene):
    return Safety(Kinematics(planning_scene.model), LIMITS)


def above(planner, x, y, z=0.25):
    found = [q for q in planner.kinematics.ranked(downwards(x, y, z, 0.0), HOME) if planner.scene.free(q)]
    assert found
    return found


def test_near_the_end_of_its_reach_the_arm_lifts_as_far_as_it_can_and_not_sideways(planner):
    """Close to its base the hand cannot rise by all of its clearance in this way of standing."""
    start = np.array([0.032, 0.294, 0.039, -2.677, -0.066, 2.971, -0.389])
    low, beyond = planner.kinematics.forward(start)[:3, 3], planner.line(start, (0.0, 0.0, 1.0), 0.1)
    bowl = replace(block("bowl", tuple(low), (0.06, 0.01, 0.03), class_name="bowl"), parts=Solid(()))
    planner.scene.update([])
    lift = ApproachPlanner(planner.scene, planner.kinematics, planner).to_lift(bowl, np.array([start, start]))
    end = planner.kinematics.forward(lift[-1])[:3, 3]
    assert beyond is None and np.allclose(end[:2], low[:2], atol=1e-3) and end[2] > low[2] + 0.03


@pytest.mark.parametrize(("handle", "is_straight"), [(0.51, True), (0.48, False)])
def test_what_touches_a_door_is_not_lifted_into_its_handle(planner, planning_scene, handle, is_straight):
    """handle: x of its middle, behind the leaf or above the mug, m."""
    q = above(planner, 0.45, 0.0, 0.15)[0]
    mug = block("mug", (0.45, 0.0, 0.1), (0.07, 0.07, 0.08), class_name="mug")
    planning_scene.attach(mug, np.linalg.inv(planner.kinematics.forward(q)) @ pose_of(mug))
    leaf = Part.box(upright(0.494, 0.0, 0.10, 0.0), (0.01, 0.1, 0.10))
    bar = Part.box(upright(handle, 0.0, 0.15, 0.0), (0.006, 0.1, 0.005))
    planning_scene.update([thing_of_solid("cupboard", "fixture", "cupboard", Solid((leaf, bar)))])
    assert planning_scene.contact(q, 0.0)
    line = np.array([q, q])
    lift = ApproachPlanner(planning_scene, planner.kinematics, planner).to_lift(mug, line, ("cupboard",))
    end, begin = (planner.kinematics.forward(each)[:3, 3] for each in (lift[-1], q))
    assert np.allclose(end[:2], begin[:2], atol=1e-3) == is_straight and end[2] > begin[2] + 0.02


@pytest.mark.parametrize(("aside", "height", "clears"), [(0.0, 0.15, False), (0.05, 0.15, True), (0.0, 0.155, True)])
def test_what_is_held_has_a_margin_and_by_its_rim_room_to_tip_on_the_way(
    planner, planning_scene, aside, height, clears
):
    """A bowl that is carried over a block: held in its middle it passes close above a low one."""
    start, goal = (above(planner, 0.5, y, 0.2)[0] for y in (-0.25, 0.25))
    bowl = block("bowl", (0.5 - aside, -0.25, 0.19), (0.12, 0.12, 0.05), class_name="bowl")
    planning_scene.attach(bowl, np.linalg.inv(planner.kinematics.forward(start)) @ pose_of(bowl))
    planning_scene.update([block("low", (0.45, 0.0, height / 2), (0.3, 0.05, height))])
    straight = planning_scene.path_contact(np.array([start, goal]), MARGIN / 2)
    assert straight is None, "without a margin it would pass"
    path = planner.plan(start, [goal])
    assert (len(path) > 2) == clears
    assert planning_scene.path_contact(path, MARGIN / 2) is None


def test_what_is_held_is_put_into_walls_from_straight_above_without_a_search(planner, planning_scene, monkeypatch):
    """A book that goes down between walls which leave it 12 mm at each side."""
    (start, *_), turned = above(planner, 0.4, 0.1, 0.2), downwards(0.4, -0.15, 0.2, 0.0)
    goal = planner.kinematics.ranked(turned, start)[0]
    book = block("book", (0.4, 0.1, 0.13), (0.04, 0.1, 0.16), class_name="book")
    planning_scene.attach(book, np.linalg.inv(planner.kinematics.forward(start)) @ pose_of(book))
    walls = [block(f"wall{s}", (0.4 + s * 0.042, -0.15, 0.07), (0.02, 0.2, 0.14)) for s in (-1, 1)]
    planning_scene.update([*walls, block("end", (0.4, -0.05, 0.07), (0.1, 0.02, 0.14))])
    monkeypatch.setattr(planner, "_search", lambda *_: pytest.fail("it was searched for"))
    path = planner.plan(start, [goal])
    other = planner.plan(start, [goal], without=[path])
    for way in (path, other):
        assert planning_scene.path_contact(way, MARGIN / 2) is None
    assert path.shape != other.shape or not np.allclose(path, other)


def assert_sound(trajectory, planning_scene, safety, margin=MARGIN - 3e-3):
    """At rest at both ends, within limits, free as a controller would interpolate it."""
    assert not trajectory.velocities[[0, -1]].any()
    assert (np.diff(trajectory.times) > 0).all()
    safety.check(trajectory)
    assert planning_scene.path_contact(trajectory.dense(0.02), margin) is None


def test_collisions_are_those_of_a_model_compiled_with_the_same_objects(planning_scene, planner):
    rng = np.random.default_rng(5)
    things = [
        block(
            f"b{i}",
            tuple(rng.uniform((0.2, -0.4, 0.0), (0.7, 0.4, 0.5))),
            tuple(rng.uniform(0.02, 0.3, 3)),
            class_name="can" if i % 3 == 0 else "block",
            yaw=rng.uniform(0, 3),
        )
        for i in range(12)
    ]
    spec = robot_spec(FR3)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[1.5, 1.5, 0.1], pos=[0, 0, -0.1])
    for thing in things:
        solid = solid_of(thing)
        kind = mujoco.mjtGeom.mjGEOM_BOX if solid.kind == "box" else mujoco.mjtGeom.mjGEOM_CYLINDER
        size = solid.half if solid.kind == "box" else (solid.half[0], solid.half[2], 0)
        body = spec.worldbody.add_body(pos=thing.position, quat=[np.cos(thing.yaw / 2), 0, 0, np.sin(thing.yaw / 2)])
        body.add_geom(type=kind, size=size)
    for pair in (("fr3_link0", "fr3_link1"), ("fr3_leftfinger", "fr3_rightfinger")):
        spec.add_exclude(bodyname1=pair[0], bodyname2=pair[1])
    model = spec.compile()
    data = mujoco.MjData(model)
    planning_scene.update(things)
    hits = 0
    for q in rng.uniform(FR3.lower, FR3.upper, (400, 7)):
        data.qpos[:7], data.qpos[7:] = q, 0.04
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        free = not data.ncon or data.contact.dist.min() >= 0.0
        assert planning_scene.free(q, 0.0) == free
        hits += not free
    assert 100 < hits < 400


def test_a_scene_grows_with_what_is_seen_and_held_and_loses_nothing():
    """Also what the arm stands in, and is left out, stays left out."""
    small, rng = PlanningScene(), np.random.default_rng(3)
    hand = Kinematics(small.model).forward(HOME)
    sticks = [Part.box(upright(0.0, 0.02 * k - 0.2, 0.0, 0.0), (0.05, 0.004, 0.02)) for k in range(20)]
    rack = thing_of_solid("rack", "item", "rack", Solid(tuple(sticks)).moved(upright(*hand[:3, 3] - (0, 0, 0.05), 0.0)))
    blocks = [cube(f"cube_{k}", *rng.uniform((0.2, -0.4, 0.02), (0.7, 0.4, 0.9))) for k in range(150)]
    around = [cube("in_the_arm", *hand[:3, 3]), *blocks]
    to_tcp = np.linalg.inv(hand) @ pose_of(rack)
    arms, found = HOME + rng.uniform(-0.3, 0.3, (20, 7)), []
    for few in (around[:60], around):  # compiled anew by what is held; before that, by what is around
        scene = PlanningScene()
        scene.set_opening(0.03)
        scene.update(few)
        scene.leave_out(HOME, ("in_the_arm",), 0.01)
        scene.attach(rack, to_tcp)
        if few is not around:
            assert not any("in_the_arm" in (c.first, c.second) for c in scene.contacts(HOME))
            scene.update(around)
            scene.leave_out(HOME, ("in_the_arm",), 0.01)
        found.append([sorted((c.first, c.second, round(c.distance, 9)) for c in scene.contacts(q)) for q in arms])
        assert [scene.free(q) for q in arms] == [not each for each in found[-1]]
    assert found[0] == found[1]
    assert {name for each in found[0] for row in each for name in row[:2]} >= {"rack"}


def test_random_motions_among_objects_are_sound(planning_scene, planner, safety):
    rng = np.random.default_rng(3)
    things = [cube(f"c{i}", 0.35 + 0.1 * (i % 4), -0.3 + 0.15 * (i // 2), yaw=0.3 * i) for i in range(8)]
    things.append(block("box", (0.55, 0.40, 0.04), (0.20, 0.24, 0.08), "container", "box", 0.4))
    planning_scene.update(things)
    at = HOME
    for _ in range(25):
        goals = above(planner, rng.uniform(0.35, 0.62), rng.uniform(-0.4, 0.4), rng.uniform(0.16, 0.35))
        path = planner.plan(at, goals)
        assert_sound(time_path(path, LIMITS), planning_scene, safety)
        at = path[-1]


@pytest.mark.ompl
def test_a_wall_between_is_avoided(planning_scene, planner, safety):
    wall = block("wall", (0.55, 0.0, 0.20), (0.40, 0.03, 0.40))
    planning_scene.update([wall])
    start, goal = above(planner, 0.5, 0.25)[0], above(planner, 0.5, -0.25)[0]
    planning_scene.update([])
    assert planning_scene.edge_free(start, goal)
    planning_scene.update([wall])
    assert not planning_scene.edge_free(start, goal)
    path = planner.plan(start, [goal], seconds=10.0)
    assert len(path) > 2
    assert path[0] == pytest.approx(start) and path[-1] == pytest.approx(goal)
    assert_sound(time_path(path, LIMITS), planning_scene, safety)


def test_a_path_that_is_not_wanted_again_is_not_given_again(planning_scene, planner):
    """What is free at the planner's samples may touch something between them: its own first choices are not random."""
    planning_scene.update([])
    robot, tried = load_robot(), list[np.ndarray]()
    start, goal = np.array(robot.home), np.array(robot.observe)
    for _ in range(3):
        path = planner.plan(start, [goal], without=tried)
        assert not any(path.shape == old.shape and np.allclose(path, old) for old in tried)
        assert (path[0] == start).all() and (path[-1] == goal).all()
        tried.append(path)
    assert len(tried[0]) == 2 and len(tried[1]) == 3, "straight, then over a raised point"


def test_an_object_held_is_kept_clear_too(planning_scene, planner):
    pole = block("pole", (0.45, 0.0, 0.15), (0.04, 0.04, 0.30))
    planning_scene.update([pole])
    q = above(planner, 0.45, 0.0, 0.42)[0]
    assert planning_scene.free(q)
    rod = Thing("rod", "item", "rod", (0.0, 0.0, 0.0), (0.03, 0.03, 0.25))
    pose = np.eye(4)
    pose[:3, :3] = np.diag([1.0, -1.0, -1.0])
    planning_scene.attach(rod, pose)
    assert {planning_scene.contact(q).first, planning_scene.contact(q).second} == {"rod", "pole"}
    planning_scene.detach()
    assert planning_scene.free(q)


def test_a_goal_inside_an_obstacle_fails_by_name(planning_scene, planner):
    goal = above(planner, 0.5, 0.2)[0]
    planning_scene.update([block("crate", (0.5, 0.2, 0.2), (0.3, 0.3, 0.4))])
    with raises_code("planning_failed", "crate") as failure:
        planner.plan(HOME, [goal], seconds=0.3)
    assert failure.value.action_code is Code.PLANNING_FAILED


@pytest.mark.ompl
def test_a_search_ends_in_time(planning_scene, planner, monkeypatch):
    """Where something lies between the samples of every path that is found."""
    planning_scene.update([])
    monkeypatch.setattr(planning_scene, "edge_free", lambda *_: False)
    with pytest.raises(SkillFailureError) as failure:
        planner.plan(HOME, above(planner, 0.5, 0.0, 0.30)[:1], seconds=0.3)
    assert failure.value.action_code is Code.PLANNING_FAILED and "within 0.3 s" in failure.value.message


def test_trays_are_hollow(planning_scene, planner):
    tray = block("tray", (0.5, 0.2, 0.03), (0.24, 0.30, 0.06), "container", "tray")
    q = planner.kinematics.ranked(downwards(0.5, 0.2, 0.045, 0.0), HOME)
    planning_scene.update([tray])
    assert any(planning_scene.contact(x, 0.0) is None for x in q)
    planning_scene.update([block("tray", tray.position, tray.size)])  # the same, but solid
    assert all(planning_scene.contact(x, 0.0) is not None for x in q)


@pytest.mark.parametrize(
    "path",
    [
        [HOME, HOME + 0.8],
        [HOME, HOME + [0.9, 0, 0, 0, 0, 0, 0], HOME + [0.9, 0.5, 0, 0, 0, 0, 0]],
        [HOME, HOME + 1e-4],
        [HOME, HOME, HOME + 0.1, HOME + 0.1],
        [HOME + [0.3 * np.sin(s), 0.3 * np.cos(s) - 0.3, 0, 0, 0, s / 10, 0] for s in np.linspace(0, 2, 21)],
    ],
    ids=["line", "corner", "tiny", "repeated points", "arc"],
)
def test_timing_keeps_limits_and_path(path):
    path = np.array(path)
    limits = LIMITS.scaled(0.5, 0.7)
    trajectory = time_path(path, limits)
    assert (np.abs(trajectory.velocities) <= limits.velocity * 1.001).all()
    assert (np.abs(trajectory.accelerations()) <= limits.acceleration * 1.001).all()
    assert trajectory.positions[0] == pytest.approx(path[0]) and trajectory.end == pytest.approx(path[-1], abs=1e-5)
    for q in trajectory.dense(0.02):  # never further from the path than its own spacing allows
        a, b = path[:-1], path[1:]
        length = np.maximum(((b - a) ** 2).sum(axis=1), 1e-12)
        u = np.clip(((q - a) * (b - a)).sum(axis=1) / length, 0, 1)[:, None]
        assert np.abs(a + u * (b - a) - q).max(axis=1).min() < 2e-3


def test_a_path_of_one_point_is_a_rest():
    trajectory = time_path(np.array([HOME]), LIMITS)
    assert not trajectory.velocities.any() and trajectory.end == pytest.approx(HOME)


def _trajectory(positions, seconds=1.0):
    positions = np.array(positions, dtype=float)
    times = np.linspace(0.0, seconds, len(positions))
    velocities = np.zeros_like(positions)
    return Trajectory(times, positions, velocities)


@pytest.mark.parametrize(
    ("trajectory", "data"),
    [
        (_trajectory([HOME, HOME + [0, 0, 0, 3, 0, 0, 0]]), ("rad ", "fr3_joint4")),
        (
            Trajectory(np.array([0.0, 1.0]), np.array([HOME, HOME]), np.array([np.zeros(7), [0, 9, 0, 0, 0, 0, 0]])),
            ("rad/s ", "fr3_joint2"),
        ),
        (
            Trajectory(np.array([0.0, 0.01]), np.array([HOME, HOME]), np.array([np.zeros(7), [1, 0, 0, 0, 0, 0, 0]])),
            ("rad/s^2 ", "fr3_joint1"),
        ),
        (_trajectory([HOME, HOME + [2.7, 0.6, 0, 1.2, 0, 0, 0]]), "-0.44, 0.21, 0.82"),
        (_trajectory([HOME, np.full(7, np.nan)]), ()),
    ],
)
def test_safety_stops_what_leaves_a_limit(safety, trajectory, data):
    with raises_code("safety_stop", data) as failure:
        safety.check(trajectory)
    assert failure.value.action_code is Code.SAFETY_STOP


def test_grip_force_is_bounded(safety):
    assert safety.force(1000.0) == FR3.gripper.force
    assert safety.force(-5.0) == 1.0


def test_a_search_on_a_busy_machine_has_its_processor_time_but_not_for_ever(monkeypatch):
    clock = {"thread_time": 0.0, "monotonic": 0.0}
    for name in clock:
        monkeypatch.setattr(f"planweave.bodies.arm.motion.time.{name}", lambda name=name: clock[name])
    budget = SearchTime(2.0)
    clock.update(thread_time=0.5, monotonic=5.0)
    assert budget.left > 1.0
    clock.update(monotonic=100.0)
    assert budget.left < 0.0
    clock.update(thread_time=2.1, monotonic=2.1)
    assert budget.left < 0.0
