"""What an arm's body does around a skill, whatever the arm is."""

import contextlib
import re
import types
from functools import partial

import pytest

from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.failures import SkillFailureError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World, WorldObject

EMPTY = frozenset({Literal("hand_empty"), Literal("clear", ("cube",)), Literal("reachable", ("cube",))})
HELD = EMPTY - {Literal("hand_empty")} | {Literal("holding", ("cube",))}


class Body(ArmBody):
    """log: what was called, in order; fails: by what, the exception. skills_there: names of the skills, in their order;
    what each brings about is in `makes`: the facts as the world has them at once, and those that a look shows.
    """

    def __init__(self, *skills_there):
        domain, self.log, self.fails = Domain.load("tabletop"), [], {}
        self.names = skills_there or ("run",)
        self.facts, self.makes, self.looked = EMPTY, {"run": (HELD, HELD)}, None
        skills = types.SimpleNamespace(
            mover=types.SimpleNamespace(motion_seconds=1.5, planning_seconds=0.5, stood_in=set()),
            context=types.SimpleNamespace(
                pushed=[], settings=types.SimpleNamespace(observe=(0.0,)), look_anew=self._look_anew
            ),
            begin=lambda told: setattr(self, "told", told),
            able=lambda action: {name: types.SimpleNamespace(run=partial(self._run, name)) for name in self.names},
            attempt=contextlib.nullcontext,
        )
        arm = types.SimpleNamespace(
            begin=lambda deadline: self._called("begin"),
            check=lambda: self._called("check"),
            abort=lambda code, message: self._called("abort"),
        )
        super().__init__(domain, types.SimpleNamespace(world=self._world, looked_since_motion=False), arm, skills)

    def _world(self):
        return World(
            "tabletop", objects=(WorldObject("cube", "item"), WorldObject("tray", "container")), facts=self.facts
        )

    def _called(self, what):
        self.log.append(what)
        if what in self.fails:
            raise self.fails[what]

    def _run(self, skill, context, action):
        self.told("closing", 0.5)
        self.skills.context.pushed.append("blue_cube")
        self.facts, self.looked = self.makes.get(skill, (self.facts, self.facts))
        self._called(skill)

    def _look_anew(self):
        self.facts = self.looked
        self._called("look")

    def _admit(self, action, told):
        self._called("admit")

    def _make_ready(self):
        self._called("ready")

    def _ended(self, action, code, message, phase):
        self.log.append((code, phase))


GRASP = Action("grasp", ("cube",))


def test_an_action_is_checked_carried_out_and_verified_in_this_order():
    body, phases = Body(), []
    outcome = body.execute(GRASP, on_phase=lambda name, progress: phases.append(name))
    assert body.log == ["begin", "check", "admit", "ready", "run", (Code.SUCCESS, "closing")]
    assert outcome.code is Code.SUCCESS and outcome.message.endswith("; pushed aside to get there: blue_cube")
    assert (outcome.motion_seconds, outcome.planning_seconds, outcome.pushed) == (1.5, 0.5, ("blue_cube",))
    assert phases == ["closing"]


def test_an_action_that_was_begun_keeps_its_time_and_a_stop_since_then():
    body = Body()
    body.begin(5.0)
    body.fails["check"] = SkillFailureError(Code.CANCELED, "not any more")
    outcome = body.execute(GRASP)
    assert body.log == ["begin", "check", (Code.CANCELED, "")] and outcome.message == "not any more"
    del body.fails["check"]
    assert body.execute(GRASP).code is Code.SUCCESS and body.log.count("begin") == 2


@pytest.mark.parametrize("where", ["admit", "ready", "run"])
def test_each_check_ends_an_action_with_its_reason(where):
    body, unmet = Body(), (Literal("holding", ("cube",)),)
    body.fails[where] = SkillFailureError(Code.SAFETY_STOP, f"at {where}", unmet)
    outcome = body.execute(GRASP)
    assert (outcome.code, outcome.unmet) == (Code.SAFETY_STOP, unmet) and outcome.message.startswith(f"at {where}")
    assert body.log[-2] == where and ("run" in body.log) == (where == "run")


def test_what_the_world_does_not_allow_moves_nothing():
    body = Body()
    outcome = body.execute(Action("place_on", ("cube", "cube")))
    assert outcome.code is Code.PRECONDITION_UNMET and outcome.unmet and "ready" not in body.log
    outcome = body.execute(Action("fly", ("cube",)))
    assert outcome.code is Code.INVALID_ACTION and "unknown action 'fly'" in outcome.message


def test_an_error_of_the_program_stops_the_arm_and_is_not_hidden():
    body = Body()
    body.fails["run"] = ZeroDivisionError("a mistake")
    with pytest.raises(ZeroDivisionError):
        body.execute(GRASP)
    assert body.log[-1] == "abort"


NOTHING, ELSEWHERE = (EMPTY, EMPTY), (EMPTY, HELD)


@pytest.mark.parametrize(
    ("first", "second", "code", "called", "words"),
    [
        ((HELD, HELD), NOTHING, Code.SUCCESS, ["one"], "done: "),
        (NOTHING, (HELD, HELD), Code.SUCCESS, ["one", "look", "look", "two"], "by two, after one: after trying to"),
        (ELSEWHERE, NOTHING, Code.SUCCESS, ["one", "look"], "done: "),
        (NOTHING, NOTHING, Code.GRASP_LOST, ["one", "look", "look", "two", "look"], "one: .*; two: after trying to"),
    ],
    ids=["the first does it", "a claim of success with nothing changed", "seen only at a look", "none does it"],
)
def test_skills_are_tried_in_their_order_until_the_effect_is_seen(first, second, code, called, words):
    body = Body("one", "two")
    body.makes = {"one": first, "two": second}
    outcome = body.execute(GRASP)
    assert outcome.code is code and re.search(words, outcome.message), outcome.message
    assert body.log[4:-1] == called
    assert outcome.unmet == (() if outcome.ok else (Literal("holding", ("cube",)),))


@pytest.mark.parametrize("code", [Code.SAFETY_STOP, Code.CANCELED, Code.TIMEOUT, Code.COLLISION])
def test_after_a_stop_or_a_contact_no_other_skill_is_tried(code):
    body = Body("one", "two")
    body.fails["one"] = SkillFailureError(code, "halt", permanent=True)
    outcome = body.execute(GRASP)
    assert outcome.code is code and "two" not in body.log


def test_the_effect_of_a_skill_that_failed_counts_where_it_is_seen():
    body = Body("one", "two")
    body.makes, body.fails["one"] = {"one": (EMPTY, HELD)}, SkillFailureError(Code.NO_GRASP, "missed")
    outcome = body.execute(GRASP)
    assert outcome.ok and "two" not in body.log and "one: missed" in outcome.message


def test_the_next_skill_begins_only_where_the_precondition_holds_still():
    body = Body("one", "two")
    fallen = EMPTY - {Literal("clear", ("cube",))}
    body.makes = {"one": (fallen, fallen)}
    outcome = body.execute(GRASP)
    assert outcome.code is Code.PRECONDITION_UNMET and "two" not in body.log and "one: " in outcome.message
