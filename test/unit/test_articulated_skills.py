"""Opening, closing and turning: no success without the effect seen, other ways are tried, and then it is said."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from codes import raises_code

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.skills import articulated
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal

SHUT = Literal("closed", ("door",))


class Stub:
    """As much of a SkillContext as `_until` asks of one: openness after each attempt."""

    def __init__(self, *openness, hidden_after=9):
        """hidden_after: attempts after which the part is not in view any more."""
        self._left, self._shown, self.half_turns = list(openness), hidden_after, False
        self.now = 1.0
        self.arm = SimpleNamespace(state=lambda: SimpleNamespace(stamp=0.0))
        self.mover = SimpleNamespace(phase=lambda name, progress: None)
        self.settings = SimpleNamespace(verify_seconds=0.0)
        self.sight = SimpleNamespace(images=lambda: [0.0])
        seen = SimpleNamespace(holds=lambda effect: self.now < 0.5)
        self.world = SimpleNamespace(world=lambda: seen, articulation=self.articulation, looked_since_motion=True)
        self.observed, self.ways_on = 0, {}

    def articulation(self, name):
        return SimpleNamespace(
            kind="slide",
            precision=0.0,
            half_turns=self.half_turns,
            is_flush=self.now < 0.001,
            value=self.now,
            range=(0.0, 1.0),
            open_end=1.0,
            closed_end=0.0,
            visible=self._shown > 0,
        )

    def push(self, tried, held=""):
        tried.append(object())
        self.now = self._left.pop(0)
        self._shown -= 1
        return held

    def go_aside(self):
        self.observed += 1

    go_observe = look_anew = go_aside


def test_what_is_seen_to_be_shut_ends_it():
    body = Stub(0.0, 0.0)
    articulated._until(body, "door", SHUT, body.push)
    assert body._left == [0.0], "one attempt was enough"


@pytest.mark.parametrize("attempts", [0, 1])
def test_what_is_not_in_view_is_not_moved_by_what_is_remembered(attempts):
    body = Stub(1.0, 1.0, hidden_after=attempts)
    with raises_code("control_failed", "door") as failure:
        articulated._until(body, "door", SHUT, body.push)
    assert failure.value.action_code is Code.CONTROL_FAILED and len(body._left) == 2 - attempts and body.observed


def test_nearly_shut_is_pushed_again():
    body = Stub(0.1, 0.02, 0.0)
    articulated._until(body, "door", SHUT, body.push)
    assert body._left == []


def test_without_its_effect_it_is_a_failure_with_the_literal():
    body = Stub(1.0, 0.9, 0.8)
    with raises_code("control_failed", "3 attempts", "door", "0.800") as failure:
        articulated._until(body, "door", SHUT, body.push)
    assert failure.value.action_code is Code.CONTROL_FAILED and failure.value.unmet == (SHUT,)


def test_a_way_that_is_not_there_is_said_at_once():
    body = Stub()

    def nothing_free(tried):
        raise SkillFailureError(Code.PLANNING_FAILED, "there is no free way")

    with raises_code("planning_failed", "no free way") as failure:
        articulated._until(body, "door", SHUT, nothing_free)
    assert failure.value.action_code is Code.PLANNING_FAILED


def test_a_person_s_stop_is_not_tried_again():
    body = Stub(1.0)

    def stopped(tried):
        body.push(tried)
        raise SkillFailureError(Code.CANCELED, "not any more")

    with pytest.raises(SkillFailureError) as failure:
        articulated._until(body, "door", SHUT, stopped)
    assert failure.value.action_code is Code.CANCELED


def test_a_handle_that_was_missed_is_taken_in_another_way():
    body = Stub(1.0, 0.0)

    def slippery(tried):
        body.push(tried)
        if len(tried) == 1:
            raise SkillFailureError(Code.NO_GRASP, "closed on nothing")

    articulated._until(body, "door", SHUT, slippery)
    assert body.now == 0.0


@pytest.mark.parametrize(
    ("turn", "start", "ends", "turned", "left_at"),
    [
        (articulated.turn_on, 0.0, (0.0, 1.6), [1.0], 0.7),
        (articulated.turn_on, 0.0, (-1.6, 0.0), [1.0, -1.0], -0.7),
        (articulated.turn_off, -1.2, (-1.6, 0.0), [-1.0, 1.0, 1.0, 1.0], 0.0),
        (articulated.turn_off, -0.7, (-1.6, 0.0), [-1.0, -1.0, 1.0, 1.0, 1.0], 0.0),
        (articulated.turn_off, 1.2, (0.0, 1.6), [-1.0, -1.0], 0.0),
        (articulated.turn_off, 0.9, (0.0, 1.6), [-1.0, -1.0], 0.0),
        (articulated.turn_off, 0.9, (-1.6, 1.6), [-1.0, -1.0, 1.0], 0.2),
    ],
)
def test_a_knob_is_turned_to_its_end_and_the_other_way_where_that_was_the_wrong_one(
    monkeypatch, turn, start, ends, turned, left_at
):
    """It is off below 0.3 rad, whichever way it turns, and nobody knows which way that is."""
    body, done = Stub(), []
    body.half_turns, body.now = True, start
    body.world.world = lambda: SimpleNamespace(
        holds=lambda literal: (literal.predicate == "turned_on") == (abs(body.now) > 0.3)
    )

    def by(body, name, target, tried):
        done.append(float(np.sign(target - body.now)))
        tried.append(object())
        body.now = min(max(target, ends[0]), ends[1])
        return "stiff" if body.now != target else ""

    monkeypatch.setattr(articulated, "_turn", by)
    turn(body, "stove")
    assert done == turned and body.now == pytest.approx(left_at) and body.observed


def test_no_knob_is_turned_where_nobody_sees_what_it_does(monkeypatch):
    body = Stub()
    body.half_turns, body.world.world = True, lambda: SimpleNamespace(holds=lambda literal: False)
    monkeypatch.setattr(articulated, "_turn", lambda *_: pytest.fail("it was turned"))
    with raises_code("control_failed", "stove") as failure:
        articulated.turn_on(body, "stove")
    assert failure.value.action_code is Code.CONTROL_FAILED


@pytest.mark.parametrize(
    ("openness", "words"),
    [
        ((1.0, 0.999, 0.998), "it did not move at all: it is locked or something holds it (stiff)"),
        ((0.9, 0.8, 0.7), "it moved 0.300 of 1.000 m: stiff"),
    ],
)
def test_what_held_the_arm_is_told_with_how_far_the_part_went(openness, words):
    body = Stub(*openness)
    with pytest.raises(SkillFailureError) as failure:
        articulated._until(body, "door", SHUT, lambda tried: body.push(tried, "stiff"))
    assert failure.value.action_code is Code.CONTROL_FAILED
    assert failure.value.message == f"after 3 attempts door is not seen to be closed: {words}"


def test_where_no_way_is_left_the_failure_before_is_told():
    body = Stub(1.0)

    def once(tried):
        if tried:
            raise SkillFailureError(Code.PLANNING_FAILED, "there is no free way")
        body.push(tried)
        raise SkillFailureError(Code.GRASP_LOST, "it slipped")

    with raises_code("control_failed", "it slipped"):
        articulated._until(body, "door", SHUT, once)


# ---- one pull


class Felt(SimpleNamespace):
    """A watch that ends nothing."""

    def __init__(self, felt):
        super().__init__(felt=felt)

    def __call__(self, state):
        return None


class Hand:
    """A mover whose fingers close to a width, and have these widths on the way with a part, one a second. felt: the
    second in which it felt the part last.
    """

    def __init__(self, closed, *widths, error=None, begun=True, felt=math.inf):
        self.closed, self.widths, self.error, self.begun = closed, widths, error, begun
        self.motion_seconds, self.done, self.state = 0.0, [], SimpleNamespace(positions=np.zeros(7), stamp=0.0)
        self.feel = Felt(felt)

    def phase(self, name, progress):
        """Not of interest."""

    def follow(self, start, poses):
        """How far a part is to be moved, as seven joints."""
        return np.array([start, *(np.full(7, pose[0, 0]) for pose in poses)])

    def grip(self, width):
        self.done.append(f"grip {width:g}")
        return SimpleNamespace(width=max(width, self.closed))

    def move(self, path, phase, progress, slow=False, touching=(), watch=None):
        self.done.append(phase)
        self.end = path[-1]
        if phase not in ("moving", "pushing"):
            return
        self.motion_seconds += 1.0 if self.begun else 0.0
        for step, width in enumerate(self.widths):
            self.state = SimpleNamespace(width=width, positions=path[min(step, len(path) - 1)], stamp=float(step))
            if watch is not None and (lost := watch(self.state)):
                raise SkillFailureError(lost.code, lost.message)
        if self.error is not None:
            raise self.error


@pytest.fixture
def pull(monkeypatch):
    """pull(hand) -> what held the arm while it pulled."""
    monkeypatch.setattr(articulated, "_plan", lambda *_: articulated._Motion(*[np.zeros((2, 7))] * 3, 0.06))
    monkeypatch.setattr(articulated, "_approach", lambda *_: None)
    monkeypatch.setattr(articulated, "_leave_out", lambda *_: None)
    monkeypatch.setattr(articulated, "_retreat", lambda context, part, way=None: context.mover.done.append("retreat"))

    def run(hand, push=False):
        part = SimpleNamespace(
            thing="cabinet",
            closed_end=0.0,
            open_end=0.2,
            kind="slide",
            value=0.192,
            outward=np.array([0.0, 0.0, 1.0]),
            precision=0.0,
            pulls=lambda _: (),
            pushes=lambda _: (),
            moved=lambda value: np.diag([value, 1.0, 1.0, 1.0]),
        )
        world = SimpleNamespace(
            part_moves=lambda name: None,
            part_moved=lambda name, value: None,
            part_shut=lambda name, stamp: hand.done.append(f"shut {stamp:g}"),
            part_doubted=lambda name: hand.done.append("doubted"),
            world=lambda: SimpleNamespace(facts=()),
        )
        context = SimpleNamespace(
            mover=hand,
            arm=SimpleNamespace(state=lambda: hand.state),
            world=world,
            articulation=lambda name: part,
            gripper=SimpleNamespace(opening=0.08),
            feel=lambda path, what: hand.feel,
            is_seen=lambda name: True,
            reaching=SimpleNamespace(kinematics=SimpleNamespace(forward=lambda q: np.eye(4), along=hand.follow)),
        )
        return articulated._push(context, "drawer", []) if push else articulated._pull(context, "drawer", 0.2, [])

    return run


def test_fingers_that_slip_off_a_handle_stop_the_arm_let_go_and_go_back(pull):
    hand = Hand(0.012, 0.012, 0.011, 0.001)
    with raises_code("grasp_lost", "drawer", "1 mm", "12") as failure:
        pull(hand)
    assert failure.value.action_code is Code.GRASP_LOST and not failure.value.permanent
    assert hand.done == ["approaching", "grip 0", "moving", "grip 0.06", "retreat"]


@pytest.mark.parametrize("widths", [(0.012, 0.009, 0.017), (math.nan,)])
def test_a_bar_that_turns_between_the_fingers_or_is_not_measured_has_not_slipped(pull, widths):
    assert pull(Hand(0.012, *widths)) == ""


@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("code", [Code.COLLISION, Code.CONTROL_FAILED])
def test_what_held_the_arm_on_its_way_is_kept(pull, push, code):
    hand = Hand(0.012, error=SkillFailureError(code, "something blocks the arm", permanent=True))
    assert pull(hand, push) == "something blocks the arm" and hand.done[-1] == "retreat"


@pytest.mark.parametrize(("error", "pushes"), [(None, 2), (SkillFailureError(Code.COLLISION, "it is shut"), 1)])
def test_what_does_not_resist_where_it_should_be_shut_is_pushed_on(pull, error, pushes):
    hand = Hand(0.0, error=error)
    pull(hand, push=True)
    assert hand.done.count("pushing") == pushes
    assert error is not None or hand.end[0] == pytest.approx(0.192 - articulated._PRESS["slide"])


@pytest.mark.parametrize("push", [False, True])
def test_a_motion_that_did_not_begin_was_not_held(pull, push):
    hand = Hand(0.012, error=SkillFailureError(Code.COLLISION, "nothing was moved"), begun=False)
    with raises_code("collision", "nothing was moved"):
        pull(hand, push)
    assert "retreat" in hand.done


@pytest.fixture
def push(pull, monkeypatch):
    """push(hand): what was done while it pushed a drawer shut, in steps of a second and 0.01 m, 21 to the end."""
    along = np.linspace(0.192, -0.008, 21)[:, None] * np.ones(7)
    monkeypatch.setattr(articulated, "_plan", lambda *_: articulated._Motion(along[:1], along[:1], along, 0.0))
    monkeypatch.setattr(articulated, "_pressing", lambda *_: None)

    def run(hand):
        pull(hand, push=True)
        return hand.done

    return run


@pytest.mark.parametrize(("rows", "since"), [(18, None), (19, 18), (21, 18)])
def test_a_drawer_counts_as_shut_from_where_the_hand_has_pushed_it_shut(push, rows, since):
    """Not where the hand was held before: what is seen of it then is no other hand's work."""
    shut = [done for done in push(Hand(0.0, *[0.0] * rows)) if done.startswith("shut")]
    assert shut[:1] == ([] if since is None else [f"shut {since}"])


HELD = SkillFailureError(Code.CONTROL_FAILED, "the end was not reached")


@pytest.mark.parametrize(
    ("rows", "error", "felt", "doubted"),
    [
        (21, None, math.inf, False),
        (21, None, 5.0, False),  # nothing held it: it is where it should be
        (21, HELD, 19.8, False),
        (21, HELD, math.inf, False),  # nobody feels anything
        (21, HELD, 17.0, True),  # something else holds the hand
        (18, HELD, 17.0, True),  # it was not this hand that shut it
    ],
)
def test_what_is_in_a_drawer_is_doubted_where_something_else_held_the_hand_that_shut_it(
    push, rows, error, felt, doubted
):
    assert ("doubted" in push(Hand(0.0, *[0.0] * rows, error=error, felt=felt))) == doubted


def test_what_is_in_a_drawer_is_doubted_where_the_hand_cannot_leave_it(push, monkeypatch):
    def held(*_):
        raise SkillFailureError(Code.COLLISION, "the arm was held off its path")

    monkeypatch.setattr(articulated, "_retreat", held)
    hand = Hand(0.0, *[0.0] * 21)
    with raises_code("collision"):
        push(hand)
    assert hand.done[-1] == "doubted"


@pytest.mark.parametrize(
    ("inside", "shown_at", "looks"), [((), 1, 0), (("mug",), 1, 1), (("mug",), 3, 3), (("mug",), 9, 4)]
)
def test_what_is_about_to_be_shut_in_is_looked_at_until_it_is_seen(inside, shown_at, looks):
    taken = []
    sight = SimpleNamespace(look=lambda: taken.append(1))
    context = SimpleNamespace(sight=sight, is_seen=lambda name: len(taken) >= shown_at)
    articulated._look_inside(context, inside)
    assert len(taken) == looks
