"""Skills whose motions are planned before they are made: functions of the context and an action's arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from planweave.bodies.arm import effects
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.skills.articulated import close, open_up, turn_off, turn_on
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.grasp import grasp
from planweave.bodies.arm.skills.hand_over import hand_over
from planweave.bodies.arm.skills.looking import look_at
from planweave.bodies.arm.skills.placing import (
    grab_and_putin,
    place_at,
    place_beside,
    place_between,
    place_farther,
    place_in,
    place_nearer,
    place_on,
    place_under,
)
from planweave.bodies.arm.skills.push import push_aside
from planweave.bodies.arm.skills.push_to import push_to_front_of
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action


class PlannedSkill:
    """See `planweave.bodies.arm.skills.door.Skill`. actions: a function for each action that it can, called with the
    context and the action's arguments; needs_held: whether they begin with their first argument in the gripper.
    """

    planned = True

    def __init__(self, actions: Mapping[str, Callable[..., None]], text: str = "", *, needs_held: bool = False):
        if text:
            raise ConfigError(f"a skill for {', '.join(actions)} takes nothing after a colon, got {text!r}")
        self._actions, self._needs_held = actions, needs_held

    def can(self, context: SkillContext, action: Action) -> str:
        """Why it does not: it has no function for it; empty where it has one."""
        return "" if action.name in self._actions else f"it is for {', '.join(self._actions)}"

    def run(self, context: SkillContext, action: Action) -> None:
        """Call the function; after a failure apply the remedy of its code and retry. Grasps and places that failed are
        left out, also where the same action is tried again, until none is left.

        A lost object is grasped again first (regrasp after a slip). What the action is for may be seen to be so all the
        same, where only the way out failed.
        """
        facts = effects.expected(context.world.domain, context.world.world(), action)
        failures: Counter[Code] = Counter()
        first: SkillFailureError | None = None
        if context.failed != action:
            context.forget_failed()
        known, context.failed = len(context.tried) + len(context.blocked), None
        while True:
            try:
                if failures and self._needs_held and context.world.held is None:
                    grasp(context, action.args[0])
                self._actions[action.name](context, *action.args)
                return
            except SkillFailureError as error:
                failures[error.action_code] += 1
                retry = context.settings.retries.get(error.action_code)
                if error.permanent or retry is None or failures[error.action_code] > retry.times:
                    if first is not None:
                        why = f"; first: {first.message}" if first.action_code is not error.action_code else ""
                        error.message += f" (tried {sum(failures.values())} times{why})"
                    context.failed = action if len(context.tried) + len(context.blocked) > known else None
                    raise
                remedy, first = retry.remedy, first or error
            _prepare(context, remedy)
            seen = all(thing.visible for thing in context.world.things() if thing.name in action.args)
            if facts and seen and not effects.unmet(facts, context.world.world()):
                return


def _prepare(context: SkillContext, remedy: str) -> None:
    """See `planweave.bodies.arm.retries.REMEDIES`."""
    if remedy != "other_grasp":
        context.forget_failed()
    if remedy == "back_off" or context.world.held is not None:
        context.look_anew()
    else:
        context.draw_back()


def _return_to_base(context: SkillContext) -> None:
    """Move to the home position, with the held object; does nothing where the arm is there already."""
    context.mover.phase("planning", 0.0)
    context.go_to(context.scene.robot.home, ("planning", 0.0), ("returning", 0.2))


grasping = partial(PlannedSkill, {"grasp": grasp, "grab_and_putin": grab_and_putin})
placing = partial(
    PlannedSkill,
    {
        "place_on": place_on,
        "place_in": place_in,
        "place_under": place_under,
        "place_at": place_at,
        "place_left_of": partial(place_beside, "left_of"),
        "place_right_of": partial(place_beside, "right_of"),
        "place_in_front_of": partial(place_beside, "front_of"),
        "place_behind": partial(place_beside, "behind"),
        "place_between": place_between,
        "place_farther_left": partial(place_farther, "moved_left"),
        "place_farther_right": partial(place_farther, "moved_right"),
        "place_farther_to_front": partial(place_farther, "moved_to_front"),
        "place_farther_to_back": partial(place_farther, "moved_to_back"),
        "place_nearer_to": partial(place_nearer, 1),
        "place_farther_from": partial(place_nearer, -1),
    },
    needs_held=True,
)
handing_over = partial(PlannedSkill, {"hand_over": hand_over}, needs_held=True)
pushing = partial(PlannedSkill, {"push_aside": push_aside, "push_to_front_of": push_to_front_of})
articulated = partial(PlannedSkill, {"open": open_up, "close": close, "turn_on": turn_on, "turn_off": turn_off})
homing = partial(PlannedSkill, {"return_to_base": _return_to_base, "look_at": look_at})
BUILT_IN = ("grasping", "placing", "pushing", "articulated", "handing_over", "homing")
"""The skills of this file; they carry out an action for which none are listed. setup.py reads this line for the entry
points, so that a new name counts after `make setup`.
"""
