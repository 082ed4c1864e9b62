"""A skill of one's own: push an item aside by hand height alone, with Planweave's limits and looks around it."""

from functools import partial

import numpy as np

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.skills.planned import PlannedSkill
from planweave.core.base.failure import Code

LEFT, UP = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])  # in the base frame
FAR, LIFT, BEHIND = 0.12, 0.15, 0.03  # m


def nudge(context, name):
    """Go down on the right of the item with closed fingers, and move to the left."""
    item, kinematics, planner = context.thing(name), context.reaching.kinematics, context.reaching.planner
    x, y, z = item.position
    beside = downwards(x, y - item.size[1] / 2 - BEHIND, z + 0.01, 0.0)
    with context.mover.thinking("planning", 0.0):
        context.mover.update_scene()
        context.scene.set_opening(0.0)
        start = context.arm.state().positions
        for low in kinematics.ranked(beside, start):
            up, along = planner.line(low, UP, LIFT), planner.line(low, LEFT, BEHIND + FAR)
            if up is not None and along is not None:
                break
        else:
            raise SkillFailureError(Code.UNREACHABLE, f"the hand does not get beside {name}")
        path = planner.plan(start, [up[-1]])
    context.mover.grip(0.0)
    context.mover.move(path, "approaching", 0.2)
    context.mover.move(up[::-1], "approaching", 0.4, slow=True)
    context.mover.move(along, "pushing", 0.6, slow=True, touching=[name])


nudging = partial(PlannedSkill, {"push_aside": nudge})
