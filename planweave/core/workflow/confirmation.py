"""Confirmation of a goal by observation: success requires a look that began after all motion had ended.

An object of the goal is confirmed where it is

- SEEN in a fresh look, SENSED by the gripper (while joint states arrive), or FIXED by the configuration;
- hidden (`hidden_by`), and the object that hides it is seen in a state consistent with it: the object on top at the
  height that the hidden one explains, the container closed. This is an inference and is reported as one;
- in another room, where it was seen since the task began. This is reported, too.

Literals without objects (hand_empty, at_base) are confirmed by a fresh look. Predicted effects of actions confirm
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.core.workflow.ports import Look


@dataclass(frozen=True)
class GoalCheck:
    """Result of checking a goal against a look.

    unmet: literals that do not hold; unseen: those of them that nobody can see, as the state of a thing in a closed
    container or what is in a thing that was never seen, so that they may hold all the same; not_confirmed: why literals
    were not observed, and unobserved: of which objects; inferred: literals that were not observed but follow from what
    was.
    """

    look: Look
    unmet: tuple[Literal, ...] = ()
    unseen: tuple[Literal, ...] = ()
    not_confirmed: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    unobserved: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Return whether the goal holds and was observed or inferred."""
        return not self.unmet and not self.not_confirmed


def confirm(look: Look, goal: Iterable[Literal], began: float) -> GoalCheck:
    """Check a goal against a look. began: stamp (s) of the world in which the task began."""
    world, goal = look.world, tuple(goal)
    names = list(dict.fromkeys(name for literal in goal for name in literal.args))
    not_confirmed, inferred, unobserved = [], [], []
    for name in names:
        thing = world.by_name.get(name)
        if thing is not None and thing.known in (Known.SENSED, Known.FIXED):
            continue
        if not look.fresh or thing is None:
            not_confirmed.append(_last_seen(world, name))
            unobserved.append(name)
        elif thing.known is not Known.SEEN:
            if _explained(world, thing, began):
                inferred.append(f"{name} is hidden {_where(world, thing)} {thing.hidden_by}: inferred")
            else:
                where = f"hidden {_where(world, thing)} {thing.hidden_by}" if thing.hidden_by else "not in view now"
                if thing.hidden_by and _may_be_open(world, thing.hidden_by):
                    where = f"not in view in {thing.hidden_by}, which is not closed"
                not_confirmed.append(f"{_last_seen(world, name)}, {where}")
                unobserved.append(name)
    if not look.fresh:
        not_confirmed += [f"it is unknown whether {literal} holds now" for literal in goal if not literal.args]
    if not look.fresh and not_confirmed:
        not_confirmed.append(look.message)
    unmet = world.unmet(goal)
    unseen = tuple(literal for literal in unmet if literal.positive and _out_of_sight(world, literal))
    for literal in unseen:
        hider = world.by_name[literal.args[0]].hidden_by if len(literal.args) == 1 else ""
        if hider:
            not_confirmed.append(f"{literal} cannot be seen: {literal.args[0]} is in {hider}, which is closed")
    return GoalCheck(look, unmet, unseen, tuple(not_confirmed), tuple(inferred), tuple(unobserved))


def _out_of_sight(world: World, literal: Literal) -> bool:
    """Whether a literal is about the state of one thing, which a closed container hides, or puts a thing that is
    nowhere to be seen to one that was never seen.
    """
    thing = world.by_name.get(literal.args[0]) if literal.args else None
    if thing is None or thing.known in (Known.SEEN, Known.SENSED, Known.FIXED):
        return False
    if len(literal.args) == 1:
        return bool(thing.hidden_by) and world.holds(Literal("closed", (thing.hidden_by,)))
    others = [world.by_name.get(name) for name in literal.args[1:]]
    placed = any(len(fact.args) > 1 and fact.args[0] == thing.name for fact in world.facts)
    return not placed and any(other is not None and other.known is Known.UNKNOWN for other in others)


def _explained(world: World, thing: WorldObject, began: float) -> bool:
    """Whether the chain of hiding objects ends in one that is seen, and closed if it can be, or in a room where the
    object was seen since `began`.
    """
    passed = {thing.name}
    hider = world.by_name.get(thing.hidden_by)
    while hider is not None and hider.name not in passed:
        if hider.known is Known.SEEN:
            return not _may_be_open(world, hider.name)
        if hider.known is Known.FIXED:
            return thing.last_seen is not None and thing.last_seen >= began
        passed.add(hider.name)
        hider = world.by_name.get(hider.hidden_by)
    return False


def _may_be_open(world: World, name: str) -> bool:
    """Whether an object can be open, and is not known to be closed."""
    openable = any(world.holds(Literal(p, (name,))) for p in ("can_open", "opened"))
    return openable and not world.holds(Literal("closed", (name,)))


def _where(world: World, thing: WorldObject) -> str:
    """How a thing is hidden: under what lies on it, or on the vessel that it is in; else in what hides it."""
    vessels = (fact.args[1] for fact in world.facts if fact.predicate == "in" and fact.args[0] == thing.name)
    covered = any(Literal("on", (thing.hidden_by, name)) in world.facts for name in (thing.name, *vessels))
    return "under" if covered else "in"


def _last_seen(world: World, name: str) -> str:
    """Time of the last observation of an object, in words."""
    seen = world.last_seen(name)
    if seen is None:
        return f"{name} is not in view" if name not in world.by_name else f"{name} was never seen"
    age = world.stamp - seen + (max(0.0, time.time() - world.heard) if world.heard else 0.0)
    return f"{name} was last seen {age:.0f} s ago"
