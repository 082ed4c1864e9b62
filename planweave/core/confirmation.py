"""Whether a look at the world confirms a goal. Success means seen: by a look that began after everything had ended.

An object of the goal is confirmed where it is

- SEEN in a fresh look, or SENSED by the gripper (as long as joint states come), or FIXED by the configuration;
- hidden (`hidden_by`), and what hides it is seen as it must be if the object is there: the thing that stands on it at
  the height that the object explains, the container closed. That is an inference, and is told as one;
- in another room, where it was seen since the task began. That is told, too.

What names no object (hand_empty, at_base) is confirmed by a fresh look. What an action is believed to have done
confirms nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from planweave.core.ports import Look
from planweave.core.world import Known, Literal, World, WorldObject


@dataclass(frozen=True)
class Finding:
    """What a look says of a goal. unmet: literals that do not hold; unconfirmed: what was not seen, and why; inferred:
    what was not seen but must be so.
    """

    look: Look
    unmet: tuple[Literal, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether the goal holds and was seen to."""
        return not self.unmet and not self.unconfirmed


def confirm(look: Look, goal: Iterable[Literal], began: float) -> Finding:
    """Hold a goal against a look. began: stamp (s) of the world in which the task began."""
    world, goal = look.world, tuple(goal)
    names = list(dict.fromkeys(name for literal in goal for name in literal.args))
    unconfirmed, inferred = [], []
    for name in names:
        thing = world.by_name.get(name)
        if thing is not None and thing.known in (Known.SENSED, Known.FIXED):
            continue
        if not look.fresh or thing is None:
            unconfirmed.append(_last_seen(world, name))
        elif thing.known is not Known.SEEN:
            if _explained(world, thing, began):
                inferred.append(f"{name} is hidden {_where(world, thing)} {thing.hidden_by}: inferred")
            else:
                where = f"hidden {_where(world, thing)} {thing.hidden_by}" if thing.hidden_by else "not in view now"
                unconfirmed.append(f"{_last_seen(world, name)}, {where}")
    if not look.fresh:
        unconfirmed += [f"nobody knows whether {literal} holds now" for literal in goal if not literal.args]
    if not look.fresh and unconfirmed:
        unconfirmed.append(look.message)
    return Finding(look, world.unmet(goal), tuple(unconfirmed), tuple(inferred))


def _explained(world: World, thing: WorldObject, began: float) -> bool:
    """Whether what hides a thing, and what hides that, is seen at last; or is a room in which it was seen since."""
    passed = {thing.name}
    hider = world.by_name.get(thing.hidden_by)
    while hider is not None and hider.name not in passed:
        if hider.known is Known.SEEN:
            return True
        if hider.known is Known.FIXED:
            return thing.last_seen is not None and thing.last_seen >= began
        passed.add(hider.name)
        hider = world.by_name.get(hider.hidden_by)
    return False


def _where(world: World, thing: WorldObject) -> str:
    return "under" if Literal("on", (thing.hidden_by, thing.name)) in world.facts else "in"


def _last_seen(world: World, name: str) -> str:
    """When a thing was seen last, in words."""
    seen = world.last_seen(name)
    if seen is None:
        return f"{name} is not in view" if name not in world.by_name else f"{name} was never seen"
    age = world.stamp - seen + (max(0.0, time.time() - world.heard) if world.heard else 0.0)
    return f"{name} was last seen {age:.0f} s ago"
