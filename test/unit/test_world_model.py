"""What the body believes, and how it knows: noise is no news, an empty table is; limits that no arm gets around."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from codes import raises_code
from doubles.scripted_arm import ScriptedArm

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.safety import GuardedArm, Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.bodies.arm.unseen_grip import UnseenGrip
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Literal
from planweave.core.workflow.confirmation import confirm
from planweave.core.workflow.ports import Look
from planweave.robots import load_robot

FR3 = load_robot()

HOME = np.array(FR3.home)


def cube(name, x, y, **more):
    return Thing(name, "item", "cube", (x, y, 0.025), (0.05,) * 3, **more)


@pytest.fixture
def told():
    return []


@pytest.fixture
def world(kinematics, told):
    safety = Safety(kinematics, JointLimits())
    return WorldModel(Domain.load("tabletop"), load_workspace("tabletop"), kinematics, safety, told.append)


def test_an_empty_table_is_told_once(world, told):
    for stamp in (1.0, 2.0, 3.0, 4.0):
        world.on_detections([], stamp)
    assert not told  # nothing may be seen for certain yet
    for stamp in (5.0, 6.0):
        world.on_detections([], stamp)
    assert len(told) == 1 and world.world().stamp == 6.0


def test_a_tracker_that_was_reset_does_not_empty_the_table(world, told):
    """It names nothing in its first images; what is gone in five of them is gone."""
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.2)], 1.0)
    for stamp in (2.0, 3.0):
        world.on_detections([], stamp)
    assert sorted(world.world().by_name.keys() & {"a", "b"}) == ["a", "b"] and world.world().stamp == 1.0
    assert world.wait_for_detections(1.0, 0.0) is None, "no look is made of them"
    world.on_detections([cube("c", 0.5, 0.0)], 4.0)
    for stamp in (5.0, 6.0, 7.0, 8.0):
        world.on_detections([], stamp)
    assert "c" in world.world().by_name and "a" not in world.world().by_name
    world.on_detections([], 9.0)
    assert "c" not in world.world().by_name and "c" not in told[-1].by_name and world.world().stamp == 9.0


def test_noise_is_no_news_and_drift_is(world, told):
    rng = np.random.default_rng(0)
    for k in range(20):
        x, y = 0.5 + rng.uniform(-1e-3, 1e-3, 2)
        world.on_detections([cube("a", x, y - 0.5, yaw=rng.uniform(-0.05, 0.05))], 1.0 + k)
    assert len(told) == 1 and told[0].stamp == 1.0 and world.world().stamp == 20.0
    for k in range(10):
        world.on_detections([cube("a", 0.5 + 1e-3 * k, 0.0)], 30.0 + k)
    assert len(told) >= 3
    assert world.world().by_name["a"].position[0] == pytest.approx(0.509, abs=3e-3)
    assert world.things()[0].position[0] == pytest.approx(0.509)  # motion is planned with what was seen last


def test_a_change_that_no_pose_shows_is_news(world, told):
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    world.on_detections([cube("a", 0.5, 0.0, colour="red")], 2.0)
    world.on_joints(HOME)
    world.on_joints(HOME + 0.1)
    assert [w.revision for w in told] == sorted({w.revision for w in told}) and len(told) == 4


def test_what_is_held_goes_along_when_an_action_ends(world, told):
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    world.on_joints(HOME)
    world.grasped(Held(cube("a", 0.5, 0.0), np.eye(4), 0.05))
    count = len(told)
    world.on_joints(HOME + 0.2)
    world.action_ended()
    assert len(told) > count and "holding(a)" in {str(f) for f in world.world().facts}
    assert world.world().by_name["a"].position[2] > 0.2


def known(world, name):
    thing = world.world().by_name[name]
    return thing.known, world.world().last_seen(name), thing.hidden_by


def test_what_is_seen_was_seen_in_the_newest_image_and_what_is_hidden_before(world, told):
    for stamp in (1.0, 2.0, 3.0):
        world.on_detections([cube("a", 0.5, 0.0)], stamp)
    assert known(world, "a") == (Known.SEEN, 3.0, "") and len(told) == 1
    assert told[0].last_seen("a") == 1.0, "a world of then tells what was seen then"
    world.on_detections([cube("a", 0.5, 0.0, visible=False)], 4.0)
    assert known(world, "a") == (Known.REMEMBERED, 3.0, "") and len(told) == 2
    assert world.world().by_name["table"].known is Known.FIXED
    assert "visible" not in world.world().by_name["a"].attributes


def test_what_an_action_did_is_inferred_until_it_is_seen(world):
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.3)], 1.0)
    world.grasped(Held(cube("a", 0.5, 0.0), np.eye(4), 0.05))
    assert known(world, "a") == (Known.SENSED, 1.0, "")
    world.on_detections([cube("b", 0.4, 0.3)], 2.0)
    world.released(cube("a", 0.5, 0.2))
    assert known(world, "a") == (Known.INFERRED, 1.0, "")
    world.put(cube("b", 0.4, 0.35))
    assert known(world, "b") == (Known.INFERRED, 2.0, "")
    world.on_detections([cube("a", 0.5, 0.0, visible=False), cube("b", 0.4, 0.35)], 3.0)
    assert known(world, "a") == (Known.INFERRED, 1.0, ""), "where the camera remembers it is no news"
    assert known(world, "b") == (Known.SEEN, 3.0, "")
    world.on_detections([cube("a", 0.5, 0.2), cube("b", 0.4, 0.35)], 4.0)
    assert known(world, "a") == (Known.SEEN, 4.0, "")
    world.handed_over(cube("a", 0.5, 0.2))
    assert known(world, "a") == (Known.SENSED, 4.0, "")


def test_what_a_person_was_given_is_theirs_until_it_is_seen_to_lie(world):
    world.on_detections([cube("b", 0.4, 0.3)], 1.0)
    world.handed_over(cube("a", 0.5, 0.2))
    handed = Literal("handed_over", ("a",))
    for stamp, height in ((2.0, 0.4), (3.0, 0.1)):
        in_hand = replace(cube("a", 0.6, 0.0), position=(0.6, 0.0, height))
        world.on_detections([in_hand, cube("b", 0.4, 0.3)], stamp)
        assert handed in world.world().facts and "a" not in {t.name for t in world.things()}, "it is in their hand"
    world.on_detections([replace(cube("a", 0.4, 0.3), position=(0.4, 0.3, 0.075)), cube("b", 0.4, 0.3)], 4.0)
    assert handed not in world.world().facts and Literal("on", ("a", "b")) in world.world().facts
    world.handed_over(cube("a", 0.4, 0.3))
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.3)], 5.0)
    assert handed not in world.world().facts


def lifted(name, layer, **more):
    return Thing(name, "item", "cube", (0.5, 0.0, 0.025 + 0.05 * layer), (0.05,) * 3, **more)


@pytest.mark.parametrize(("top", "by"), [(2, "red"), (1, ""), (3, "")])
def test_what_stands_on_a_hidden_thing_explains_it_by_its_height(world, top, by):
    """Where the blue cube was taken away, the red one stands lower; where another was put in, higher."""
    world.on_detections([lifted("green", 0), lifted("blue", 1)], 1.0)
    below = [lifted(name, layer, visible=False, inferred=True) for layer, name in enumerate(("green", "blue"))]
    world.on_detections([*below, lifted("red", top)], 2.0)
    assert known(world, "blue") == (Known.REMEMBERED, 1.0, by)
    assert known(world, "green")[2] == ("red" if top == 1 else "blue")
    world.on_detections([replace(t, inferred=False) for t in below] + [lifted("red", top)], 3.0)
    assert known(world, "blue")[2] == known(world, "green")[2] == "", "the camera has doubts"


def test_what_the_fingers_hold_is_only_remembered_while_no_joint_states_come(kinematics, told):
    world = WorldModel(
        Domain.load("tabletop"),
        load_workspace("tabletop"),
        kinematics,
        Safety(kinematics, JointLimits()),
        told.append,
        joint_state_timeout=0.05,
    )
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.3)], 1.0)
    world.on_joints(HOME, 0.05)
    world.grasped(Held(cube("a", 0.5, 0.0), np.eye(4), 0.05))
    assert known(world, "a")[0] is Known.SENSED
    deadline = time.monotonic() + 60.0
    while known(world, "a")[0] is Known.SENSED and time.monotonic() < deadline:
        world.check_overdue()
    look = Look(told[-1], False, "no joint states")
    assert confirm(look, [Literal("holding", ("a",))], 0.0).not_confirmed[0].startswith("a was last seen")
    world.on_joints(HOME, 0.05)
    assert told[-1].by_name["a"].known is Known.SENSED


def test_of_another_simulator_nothing_is_known_until_the_camera_shows_it(world, told):
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.3)], 9.0)
    world.grasped(Held(cube("a", 0.5, 0.0), np.eye(4), 0.05))
    world.clock_restarted()
    assert told[-1].silent and not world.world().holds(Literal("holding", ("a",)))
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    assert not told[-1].silent and told[-1].by_name["a"].known is Known.SEEN and told[-1].stamp == 1.0


def test_an_image_of_another_simulator_may_come_before_its_joint_states(world, told, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("planweave.bodies.arm.world_model.time", clock)
    world.on_detections([cube("a", 0.5, 0.0), cube("b", 0.4, 0.3)], 9.0)
    clock.now += 100.0
    world.check_overdue()
    assert told[-1].silent
    world.on_detections([], 1.0)  # its tracker has confirmed nothing yet
    assert told[-1].silent and world.wait_for_detections(0.0, 0.0) is None, "nothing of it is believed yet"
    world.on_detections([cube("a", 0.6, 0.0)], 2.0)
    assert not told[-1].silent and set(told[-1].by_name) & {"a", "b"} == {"a"} and told[-1].stamp == 2.0


class Clock:
    """In place of the module `time`, for tests of what is overdue."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    time = monotonic


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("planweave.bodies.arm.world_model.time", clock)
    return clock


@pytest.fixture
def watched(clock, kinematics, told):
    """A world whose camera counts as silent after 1 s."""
    model = WorldModel(
        Domain.load("tabletop"), (), kinematics, Safety(kinematics, JointLimits()), told.append, detection_timeout=1.0
    )
    model.check_overdue()
    assert not told, "nobody has been heard yet"
    model.on_detections([cube("a", 0.5, 0.0)], 1.0)
    return model


def test_a_silent_camera_is_told_when_it_falls_silent_and_when_it_is_heard_again(watched, clock, told):
    watched.check_overdue()
    assert [w.silent for w in told] == [False] and not watched.overdue
    heard = told[0].heard
    clock.now += 1.1
    watched.check_overdue()
    watched.check_overdue()
    assert [w.silent for w in told] == [False, True] and watched.overdue and told[1].heard == heard
    watched.on_detections([cube("a", 0.5, 0.0)], 2.0)
    assert [w.silent for w in told] == [False, True, False] and told[2].heard > heard and told[2].stamp == 2.0
    assert len({w.revision for w in told}) == 1, "nothing has changed on the table"


def test_the_next_check_is_when_the_first_of_camera_and_joint_states_is_overdue(watched, clock):
    clock.now += 0.25
    watched.on_joints(HOME, 0.05)  # due within 3 s
    assert watched.check_overdue() == pytest.approx(0.75)
    clock.now += 1.0
    assert 0.0 < watched.check_overdue() < 0.75 and watched.overdue, "from now on it is looked for again and again"
    watched.on_detections([cube("a", 0.5, 0.0)], 2.0)
    assert watched.check_overdue() == pytest.approx(1.0)


def test_while_the_arm_moves_nothing_is_due(watched, clock, told):
    watched.motion_began()
    clock.now += 1.1
    watched.check_overdue()
    assert len(told) == 1 and not watched.overdue
    watched.motion_ended(5.0)
    watched.check_overdue()
    assert len(told) == 1, "images are due from now on only"
    clock.now += 1.1
    watched.check_overdue()
    assert told[-1].silent
    watched.on_detections([cube("a", 0.5, 0.0)], 4.0)
    assert not told[-1].silent and told[-1].stamp == 1.0, "an image of the motion shows that the camera lives, no more"


@pytest.fixture
def guarded(kinematics):
    arm = ScriptedArm()
    arm.forces = []
    grip = arm.grip
    arm.grip = lambda width, force, wait=True: (arm.forces.append(force), grip(width, force, wait))[1]
    limits = JointLimits().scaled(0.4, 0.8)
    return arm, GuardedArm(arm, Safety(kinematics, limits, (0.2, -0.5, 0.01), (0.7, 0.5, 0.8), 30.0))


def test_no_arm_presses_harder_than_allowed(guarded):
    arm, guard = guarded
    guard.grip(0.0, 120.0)
    guard.grip(0.2, 0.0, wait=False)
    assert arm.forces == [30.0, 1.0] and arm.grips[1] == FR3.gripper.opening


@pytest.mark.parametrize(("speed", "fits"), [(0.4, True), (0.6, False)])
def test_no_arm_goes_faster_than_allowed(guarded, speed, fits):
    arm, guard = guarded
    trajectory = time_path(np.array([HOME, HOME + [0.5, 0, 0, 0, 0, 0, 0]]), JointLimits().scaled(speed, 0.8))
    if fits:
        guard.follow(trajectory)
        assert len(arm.sent) == 1
        return
    with raises_code("safety_stop", "rad/s ", "fr3_joint"):
        guard.follow(trajectory)
    assert not arm.sent


def test_no_arm_leaves_the_workspace(guarded, kinematics):
    arm, guard = guarded
    outside = kinematics.ranked(downwards(0.45, 0.6, 0.3, 0.0), HOME)[0]
    with raises_code("safety_stop", "(0.49, 0.53, 0.35) m") as failure:
        guard.follow(time_path(np.array([HOME, outside]), JointLimits().scaled(0.4, 0.8)))
    assert failure.value.action_code is Code.SAFETY_STOP and not arm.sent


def test_fingers_that_took_something_unseen_are_not_empty_and_the_tracker_names_it(world, kinematics):
    """An executor that was started again: half-open fingers, and a tracker that followed the thing with the hand."""
    hand = kinematics.forward(HOME)[:3, 3]
    world.on_joints(HOME, 0.05)
    world.gripped_unseen(0.05)
    world.on_detections([cube("blue", 0.5, 0.2)], 1.0)
    facts = {str(f) for f in world.world().facts}
    assert world.holds_unknown and "hand_empty()" not in facts and not any(f.startswith("holding") for f in facts)

    followed = Thing("red", "item", "cube", tuple(hand + (0.004, 0.0, 0.01)), (0.05,) * 3, visible=False)
    world.on_detections([cube("blue", 0.5, 0.2), followed], 2.0)
    assert not world.holds_unknown and "holding(red)" in {str(f) for f in world.world().facts}
    there = world.held.seen_from(kinematics.forward(HOME)).position
    assert np.linalg.norm(np.array(there) - followed.position) < 0.011  # between the fingers, at its height
    world.on_joints(HOME, 0.08)
    assert "hand_empty()" in {str(f) for f in world.world().facts}


@pytest.mark.parametrize(
    "end",
    [
        lambda world: world.gripped_unseen(None),  # the fingers met
        lambda world: world.on_joints(HOME, 0.08),  # somebody opened them
        lambda world: world.released(None),
        lambda world: world.clock_restarted(),  # another simulator
    ],
)
def test_what_was_gripped_unseen_is_forgotten_when_the_hand_is_empty(world, end):
    world.gripped_unseen(0.04)
    assert "hand_empty()" not in {str(f) for f in world.world().facts}
    end(world)
    assert not world.holds_unknown and "hand_empty()" in {str(f) for f in world.world().facts}


class Fingers:
    """A ControlledArm that stands still, whose fingers stand round something 50 mm wide."""

    def __init__(self, joints, stuck=False):
        self.joints, self.width, self.stuck, self.asked, self.robot = joints, 0.07, stuck, [], FR3

    def begin(self, deadline):
        pass

    def state(self):
        return ArmState(1.0, self.joints, np.zeros(7), self.width)

    def grip(self, width, force):
        self.asked.append(width)
        self.width = self.width if self.stuck else max(width, 0.05)
        return self.width


@pytest.mark.parametrize(
    "height, feel, stuck, asked, empty, said",
    [
        (0.035, True, False, [0.08], True, "stands there"),  # as low as a grasp in a tray: there it stands
        (0.035, True, True, [0.08], False, "did not open"),
        (0.20, True, False, [0.0], False, "50 mm wide"),  # what is held must not fall
        (0.035, False, False, [], False, None),  # a real arm: nothing moves at the start
    ],
)
def test_half_open_fingers_let_go_of_what_stands_and_hold_what_would_fall(
    world, kinematics, height, feel, stuck, asked, empty, said
):
    joints = kinematics.ranked(downwards(0.5, 0.1, height, 0.0), HOME)[0]
    arm, told = Fingers(joints, stuck), []
    world.on_joints(joints, 0.07)
    grip = UnseenGrip(arm, world, 20.0, feel, lambda: None, told.append)
    grip.on_state(arm.state())
    grip.wait()
    assert arm.asked == asked and world.holds_unknown is not empty
    assert (Literal("hand_empty") in world.world().facts) is empty
    assert [said in text for text in told] == ([True] if said else [])
    if world.holds_unknown:
        named = UnseenGrip(arm, world, 20.0, feel, lambda: None, told.append, "/left/executor/let_go")
        with raises_code("precondition_unmet", "ros2 service call /left/executor/let_go"):
            named.require_known()


@pytest.mark.parametrize(("width", "held"), [(0.05, True), (0.0, False), (0.08, False), (None, False)])
def test_what_the_fingers_stand_around_where_they_were_stopped_while_they_closed_is_held(
    world, kinematics, width, held
):
    """It stays at its place in the camera's eyes: then it is the one between the fingers."""
    joints = kinematics.ranked(downwards(0.5, 0.1, 0.025, 0.0), HOME)[0]
    world.on_detections([cube("a", 0.5, 0.1), cube("b", 0.4, -0.2)], 1.0)
    world.on_joints(joints, None)
    arm = Fingers(joints)
    arm.wait_fingers = lambda: width
    UnseenGrip(arm, world, 20.0, False, lambda: None, lambda text: None).interrupted()
    facts = {str(f) for f in world.world().facts}
    assert ("hand_empty()" in facts) is not held and world.holds_unknown is held
    world.on_detections([cube("a", 0.5, 0.1), cube("b", 0.4, -0.2)], 2.0)
    assert ("holding(a)" in {str(f) for f in world.world().facts}) is held


def test_a_long_thing_lies_across_the_fingers_that_hold_it(world, kinematics):
    """The side that fits the opening is the one between them."""
    from planweave.bodies.arm.held import between_fingers

    tcp = kinematics.forward(HOME)
    thing = Thing("box", "item", "box", tuple(tcp[:3, 3]), (0.04, 0.12, 0.05))
    held = between_fingers(thing, tcp, 0.04)
    along = held.thing_to_tcp[:3, :3] @ np.array([1.0, 0.0, 0.0])  # its short axis, in the hand's frame
    assert abs(along[1]) > 0.99  # the closing direction


def test_who_waits_for_an_image_is_let_go_when_the_node_ends(world):
    """A wait that outlives the process would leave the node in the graph until the lease of its participant ends."""
    found = []
    waiting = threading.Thread(target=lambda: found.append(world.wait_for_detections(1.0, 600.0)), daemon=True)
    waiting.start()
    world.end()
    waiting.join(30.0)
    assert found == [None] and world.no_joint_states
    assert world.wait_for_detections(1.0, 600.0) is None, "nor later"


def test_what_the_hand_has_felt_holds_until_it_is_not_so_or_the_object_is_lost(kinematics):
    """A fact that no camera tells, of a predicate of a domain of one's own; a preview knows it, too."""
    known = Domain.load("tabletop")
    predicate = replace(known.predicates["handed_over"], name="tapped", phrase="the {i} was tapped")
    domain = replace(known, predicates={**known.predicates, "tapped": predicate})
    world = WorldModel(domain, (), kinematics, Safety(kinematics, JointLimits()))
    tapped = Literal("tapped", ("a",))
    with raises_code("world", "felt: true"):
        world.felt(Literal("clear", ("a",)))
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    world.felt(tapped)
    world.on_detections([cube("a", 0.5, 0.0)], 2.0)
    assert world.world().holds(tapped)
    other = WorldModel(domain, (), kinematics, Safety(kinematics, JointLimits()))
    other.go_on_from(world)
    assert other.world().holds(tapped)
    world.felt(tapped.negated())
    assert not world.world().holds(tapped) and other.world().holds(tapped)
    world.felt(tapped)
    for stamp in range(3, 12):
        world.on_detections([], float(stamp))
    assert "a" not in world.world().by_name and not world.world().holds(tapped)
    world.on_detections([cube("a", 0.5, 0.0)], 20.0)
    assert not world.world().holds(tapped), "it may be another one"
    other.clock_restarted()
    assert not other.world().holds(tapped)
