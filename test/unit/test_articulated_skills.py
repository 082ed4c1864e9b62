"""Opening, closing and turning: no success without the effect seen, other ways are tried, and then it is said."""

from types import SimpleNamespace

import numpy as np
import pytest

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
        self.observed = 0

    def articulation(self, name):
        return SimpleNamespace(
            half_turns=self.half_turns,
            is_flush=self.now < 0.001,
            value=self.now,
            range=(0.0, 1.0),
            open_end=1.0,
            closed_end=0.0,
            visible=self._shown > 0,
        )

    def push(self, tried):
        tried.append(object())
        self.now = self._left.pop(0)
        self._shown -= 1

    def go_aside(self):
        self.observed += 1

    def look_anew(self):
        self.observed += 1


def test_what_is_seen_to_be_shut_ends_it():
    body = Stub(0.0, 0.0)
    articulated._until(body, "door", SHUT, body.push)
    assert body._left == [0.0], "one attempt was enough"


@pytest.mark.parametrize("attempts", [0, 1])
def test_what_is_not_in_view_is_not_moved_by_what_is_remembered(attempts):
    body = Stub(1.0, 1.0, hidden_after=attempts)
    with pytest.raises(SkillFailureError, match="not seen since the arm moved") as failure:
        articulated._until(body, "door", SHUT, body.push)
    assert failure.value.action_code is Code.CONTROL_FAILED and len(body._left) == 2 - attempts and body.observed


def test_nearly_shut_is_pushed_again():
    body = Stub(0.1, 0.02, 0.0)
    articulated._until(body, "door", SHUT, body.push)
    assert body._left == []


def test_without_its_effect_it_is_a_failure_with_the_literal():
    body = Stub(1.0, 0.9, 0.8)
    with pytest.raises(
        SkillFailureError, match=r"after 3 attempts door is not seen to be closed: it is at 0\.800"
    ) as failure:
        articulated._until(body, "door", SHUT, body.push)
    assert failure.value.action_code is Code.CONTROL_FAILED and failure.value.unmet == (SHUT,)


def test_a_way_that_is_not_there_is_said_at_once():
    body = Stub()

    def nothing_free(tried):
        raise SkillFailureError(Code.PLANNING_FAILED, "there is no free way")

    with pytest.raises(SkillFailureError, match="no free way") as failure:
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


@pytest.mark.parametrize(("works", "turned"), [(1.0, [1.0]), (-1.0, [1.0, -1.0])])
def test_a_knob_is_turned_the_other_way_where_the_first_has_no_effect(monkeypatch, works, turned):
    body, done = Stub(), []
    body.half_turns = True
    body.world.world = lambda: SimpleNamespace(
        holds=lambda literal: (literal.predicate == "turned_on") == (works in done) and literal.positive
    )

    def turn(body, name, target, tried):
        done.append(float(np.sign(target - body.now)))
        tried.append(object())

    monkeypatch.setattr(articulated, "_turn", turn)
    articulated.turn_on(body, "stove")
    assert done == turned and body.observed


def test_no_knob_is_turned_where_nobody_sees_what_it_does(monkeypatch):
    body = Stub()
    body.half_turns, body.world.world = True, lambda: SimpleNamespace(holds=lambda literal: False)
    monkeypatch.setattr(articulated, "_turn", lambda *_: pytest.fail("it was turned"))
    with pytest.raises(SkillFailureError, match="not seen whether stove is on") as failure:
        articulated.turn_on(body, "stove")
    assert failure.value.action_code is Code.CONTROL_FAILED
