"""Open and close drawers and doors, turn knobs on and off. Each ends with a look: what is not seen so is no success."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planweave.bodies.arm.arms.base import ArmState, MotionResult, Watch
from planweave.bodies.arm.articulation import OPENED, Articulation
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.planning_scene import Contact
from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.solids import Solid
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array

_ATTEMPTS, _TRIES = 3, 5  # at drawers and doors; at knobs, which may turn both ways
_LAST_LOOKS = 4  # at what was seen in a part that is about to be shut: as many show that it is gone
_ENOUGH = 3  # free ways of which the shortest is taken
_PLANS = 3  # of these, paths to which are looked for
_SOLUTIONS = 4  # joint solutions looked at for one pose
_BACK = 0.06  # straight way to and from a handle, m
_OUT = (1.0, 0.6, 0.4)  # shares of that which are tried at the end
_SPREAD = 0.02  # fingers open so much wider than what they take, m
_STEPS = 16  # poses along the motion of a joint
_SHUT = {"slide": 0.008, "hinge": 0.055}  # m or rad beyond the closed end, since fingers and joints yield
_PRESS = {"slide": 0.01, "hinge": 0.08}  # m or rad by which it is pushed on where it does not resist there
_TURNED = 0.32  # share of a knob's range that turns it on
_KNOB = 0.7  # rad by which a knob is turned of which that is not known
_OFF = 0.06  # rad beyond its other end to which a knob is turned off: it yields
_CONTACT = (Code.CONTROL_FAILED, Code.COLLISION)  # what moves along, or is pushed shut, ends where it ends
_EMPTY = 0.004  # the fingers hold nothing below this, m
_SLIPPED = 0.5  # share of the width at closing below which the fingers hold a handle no more; a bar may turn in them
_SHARES, _YIELDS = (0.4, 0.7, 1.0), 0.004  # of a way at which its leaf is looked at; m by which that is known
_STILL = {"slide": 0.005, "hinge": 0.03}  # m or rad by which a part that is locked yields
_FAR_OUT, _SHORT = 0.06, 0.3  # m, and share of the travel that is seen, from which on a drawer may have come to its end
_RECENT = 0.5  # s before the end of a push within which the part was felt, where that is what held the hand
_AGAIN = (Code.NO_GRASP, Code.GRASP_LOST, *_CONTACT)  # after which another way may do


@dataclass(frozen=True)
class _Motion:
    """A free path to before a handle, the straight way to it, and the way with it; configurations each."""

    path: Array
    line: Array
    along: Array
    opening: float


def open_up(context: SkillContext, name: str) -> None:
    """Open a drawer or a door by its handle."""
    part = context.articulation(name)
    target = OPENED[part.kind] * part.open_end
    _until(context, name, Literal("opened", (name,)), lambda tried: _pull(context, name, target, tried))


def close(context: SkillContext, name: str) -> None:
    """Push a drawer or a door shut with the closed hand."""
    _until(context, name, Literal("closed", (name,)), lambda tried: _push(context, name, tried))


def turn_on(context: SkillContext, name: str) -> None:
    part = context.articulation(name)
    _turn_until(context, name, Literal("turned_on", (name,)), _TURNED * part.open_end, 1.0)


def turn_off(context: SkillContext, name: str) -> None:
    part = context.articulation(name)
    target = part.closed_end - float(np.sign(part.open_end)) * _OFF
    _turn_until(context, name, Literal("turned_off", (name,)), target, -1.0)


def _turn_until(context: SkillContext, name: str, effect: Literal, target: float, sense: float) -> None:
    """Turn a knob to a value; where nobody knows which way is on, one way, and the other where that came to its end.
    Nothing moves while it is not seen whether what it turns on is on.
    """
    if not context.articulation(name).half_turns:
        _until(context, name, effect, lambda tried: _turn(context, name, target, tried))
        return
    tried: dict[float, list[Array]] = {1.0: [], -1.0: []}
    way, held = sense * context.ways_on.get(name, 1.0), ""
    before: float | None = None

    def attempt(every: list[Array]) -> str:
        nonlocal way, before, held
        known, value = context.world.world(), context.articulation(name).value
        if not any(known.holds(Literal(state, (name,))) for state in ("turned_on", "turned_off")):
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"it is not seen whether {name} is on, so that turning its knob could not be verified: its burner must "
                "be in view, or the model that names things tell (detector vlm)",
                (effect,),
                permanent=True,
            )
        if held or (before is not None and way * math.remainder(value - before, math.pi) < _KNOB / 2):
            way = -way  # it came to its end, or the fingers slipped
        before, held = value, ""
        try:
            held = _turn(context, name, value + way * _KNOB, tried[way])
            return held
        finally:
            every[:] = [pose for poses in tried.values() for pose in poses]

    _until(context, name, effect, attempt, _TRIES)
    context.ways_on[name] = sense * way
    if sense < 0.0 and not held:
        _turn_to_its_end(context, name, effect, way)


def _turn_to_its_end(context: SkillContext, name: str, effect: Literal, way: float) -> None:
    """Turn a knob on, the way that has turned it off, until it stops: what it turns on may go out before. Where that
    turns it on again, as one that is off in the middle, it is turned back.
    """
    for _ in range(_TRIES):
        before = context.articulation(name).value
        held = _turn(context, name, before + way * _KNOB, [])
        if not _is_seen_so(context, name, effect):
            _turn(context, name, before, [])
            break
        if held or way * math.remainder(context.articulation(name).value - before, math.pi) < _KNOB / 2:
            return
    if not _is_seen_so(context, name, effect):
        raise SkillFailureError(Code.CONTROL_FAILED, f"{name} is not seen to be off when its knob is let go", (effect,))


def _until(
    context: SkillContext,
    name: str,
    effect: Literal,
    attempt: Callable[[list[Array]], str],
    times: int = _ATTEMPTS,
) -> None:
    """Attempt in different ways until the effect is seen. Raises the last failure, or CONTROL_FAILED. Nothing is
    attempted while the part is not in view: where it is remembered to be it may be no more.

    attempt: given the poses tried, which it adds to; returns what held the arm on its way, empty where nothing did.
    """
    tried: list[Array] = []
    stops: list[float] = []  # where it was held, as seen
    failure: SkillFailureError | None = None
    held, before = "", context.articulation(name)
    for _ in range(times):
        count = len(tried)
        if not _is_known(context, name) and not _comes_into_view(context, name):
            failure = SkillFailureError(
                Code.CONTROL_FAILED,
                f"how far {name} is open was not seen since the arm moved last, within "
                f"{context.settings.verify_seconds:g} s; it is not moved by what is remembered",
            )
            break
        try:
            held, failure = attempt(tried), None
        except SkillFailureError as error:
            if tried and error.action_code is Code.PLANNING_FAILED:
                break  # no way is left: what the last one came to says more
            failure = error
            if error.permanent or error.action_code not in _AGAIN or len(tried) == count:
                break
            if error.action_code is Code.GRASP_LOST:  # off the handle: how far it went says more
                held, failure = error.message, None
        context.mover.phase("verifying", 0.9)
        if _is_seen_so(context, name, effect):
            return
        stops += [context.articulation(name).value] if held else []
        if effect.predicate == "opened" and _is_at_its_end(context, name, stops):
            context.world.part_stopped(name, stops[-1])
            if _is_seen_so(context, name, effect):
                return
    if failure is not None:
        raise failure
    raise SkillFailureError(
        Code.CONTROL_FAILED,
        f"after {len(tried)} attempts {name} is not seen to be {effect.predicate.replace('_', ' ')}: "
        f"{_how_far(before, context.articulation(name), effect, held)}",
        (effect,),
    )


def _is_at_its_end(context: SkillContext, name: str, stops: Sequence[float]) -> bool:
    """Whether a drawer that was pulled twice, in different ways, has stopped at one place (m) far out, with nothing
    seen in its way: its box may be shorter than the furniture around it, which alone is seen.
    """
    part = context.articulation(name)
    far = max(_FAR_OUT, _SHORT * abs(part.open_end))
    if part.kind != "slide" or not part.visible or len(stops) < 2 or stops[-1] < far:
        return False
    blocked = any(f.predicate == "blocks" and f.args[1] == name for f in context.world.world().facts)
    return abs(stops[-1] - stops[-2]) <= max(_STILL["slide"], part.precision) and not blocked


def _how_far(before: Articulation, now: Articulation, effect: Literal, held: str) -> str:
    """How far a part has moved towards an effect. held: what held the arm, empty where nothing did."""
    if not held:
        return f"it is at {now.value:.3f} of {now.range}"
    if now.half_turns or not now.visible:
        return held
    moved = abs(now.value - before.value)
    if moved <= max(_STILL[now.kind], now.precision):
        return f"it did not move at all: it is locked or something holds it ({held})"
    end = now.closed_end if effect.predicate in ("closed", "turned_off") else now.open_end
    unit = "m" if now.kind == "slide" else "rad"
    return f"it moved {moved:.3f} of {abs(end - before.value):.3f} {unit}: {held}"


def _is_seen_so(context: SkillContext, name: str, effect: Literal) -> bool:
    """Whether a look from now on shows the effect."""
    if context.articulation(name).half_turns:  # what the knob has turned on shows it
        context.go_observe()
        return _shows(context, name, effect)
    if not _comes_into_view(context, name):
        return False
    shut = effect.predicate != "closed" or context.articulation(name).is_flush
    return context.world.world().holds(effect) and shut


def _shows(context: SkillContext, name: str, effect: Literal) -> bool:
    """Wait for a look that shows whether what a knob turns on is on; whether it shows the effect."""
    for _ in context.sight.images():
        part, world = context.world.articulation(name), context.world.world()
        if part is not None and part.visible and world.holds(effect):
            return True
        if any(world.holds(Literal(state, (name,))) for state in ("turned_on", "turned_off")):
            return False
    return False


def _is_known(context: SkillContext, name: str) -> bool:
    """Whether the newest look shows a part, and the arm has not moved since."""
    part = context.world.articulation(name)
    return context.world.looked_since_motion and part is not None and part.visible


def _comes_into_view(context: SkillContext, name: str) -> bool:
    """Whether a look from now on shows a part; where the arm is in the way, once it has gone aside."""
    if _is_in_view(context, name):
        return True
    context.go_aside()
    return _is_in_view(context, name)


def _is_in_view(context: SkillContext, name: str) -> bool:
    """Wait for a look taken from now on that shows a part; whether one came."""
    for _ in context.sight.images():
        part = context.world.articulation(name)
        if part is not None and part.visible:
            return True
    return False


def _pull(context: SkillContext, name: str, target: float, tried: list[Array]) -> str:
    return _take(context, name, target, context.articulation(name).pulls(context.gripper), tried)


def _turn(context: SkillContext, name: str, target: float, tried: list[Array]) -> str:
    part = context.articulation(name)
    return _take(context, name, part.nearest(target), part.turns(context.gripper), tried)


def _push(context: SkillContext, name: str, tried: list[Array]) -> str:
    part = context.articulation(name)
    target = part.closed_end - np.sign(part.open_end) * _SHUT[part.kind]
    ways = ((pose, _carried(part, pose, target, share), 0.0) for pose, share in part.pushes(context.gripper))
    inside = {f.args[0] for f in context.world.world().facts if f.predicate == "in" and f.args[1] == name}
    seen = set(filter(context.is_seen, inside))
    motion, mover = _plan(context, name, part, ways, tried, target), context.mover
    _approach(context, motion)
    _look_inside(context, seen)
    _leave_out(context, name, part)
    feel = context.feel(motion.along, f"the hand pushed {name}")
    mover.move(motion.line, "approaching", 0.4, slow=True, touching=(part.thing,))
    is_shut = _shut_by(part, motion.along, target)

    def watch(state: ArmState) -> MotionResult | None:
        if is_shut(state):
            context.world.part_shut(name, state.stamp)
        return feel(state)

    held, failure = _along(context, name, motion, "pushing", part, watch)
    further = None if held or failure is not None else _pressing(context, part, motion.along[-1])
    if further is not None:  # nothing has resisted yet
        held, failure = _along(context, name, replace(motion, along=further), "pushing", part, watch)
    context.world.part_moved(name, part.closed_end)
    end, sure = context.arm.state(), False
    try:
        _retreat(context, part, part.moved(part.closed_end)[:3, :3] @ part.outward)
        sure = is_shut(end) and not (held and end.stamp - feel.felt > _RECENT)
    finally:  # what else held the hand, or holds it now, as a drawer that somebody pulls out beneath it
        if not sure:
            context.world.part_doubted(name)
    if failure is not None:
        raise failure
    return held


def _pressing(context: SkillContext, part: Articulation, q: Array) -> Array | None:
    """The way with a part on from joint positions at which it should be shut; None where the arm cannot follow it."""
    kinematics, by = context.reaching.kinematics, -float(np.sign(part.open_end)) * _PRESS[part.kind]
    pose = kinematics.forward(q)
    return kinematics.along(q, [part.moved(part.value + share * by) @ pose for share in (0.25, 0.5, 0.75, 1.0)])


def _shut_by(part: Articulation, along: Array, target: float) -> Callable[[ArmState], bool]:
    """Whether the hand, which pushes a part to a target beyond its closed end, has come so far that it must be shut.
    That is from as far before the end as the target is beyond it, since fingers and joints yield, and by how much the
    end may be wrong.
    """
    values, end = np.linspace(part.value, target, len(along)), along[-1]
    first = 2 * part.closed_end - target + np.sign(part.open_end) * part.precision
    near = np.linalg.norm(along[np.argmin(np.abs(values - first))] - end)
    return lambda state: bool(np.linalg.norm(state.positions - end) <= near)


def _look_inside(context: SkillContext, seen: Collection[str]) -> None:
    """Look once more at what was seen in a part, which nobody sees once that is shut; where it is not seen, as often as
    shows whether it is gone.
    """
    for _ in range(_LAST_LOOKS if seen else 0):
        context.sight.look()
        if all(map(context.is_seen, seen)):
            return


def _take(
    context: SkillContext, name: str, target: float, grasps: Iterable[tuple[Array, float, float]], tried: list[Array]
) -> str:
    """Close the fingers on a part by one of its grasps, move with it to a value, let go and retreat; returns what held
    the arm on its way.
    """
    part, most = context.articulation(name), context.gripper.opening
    ways = ((pose, _carried(part, pose, target, share), min(width + _SPREAD, most)) for pose, width, share in grasps)
    motion, mover = _plan(context, name, part, ways, tried, target), context.mover
    _approach(context, motion)
    _leave_out(context, name, part)
    feel = context.feel(motion.along, f"the hand moved {name}")
    mover.move(motion.line, "approaching", 0.3, slow=True, touching=(part.thing,))
    mover.phase("closing", 0.4)
    width = mover.grip(0.0).width
    if width < _EMPTY:
        _retreat(context, part)
        raise SkillFailureError(Code.NO_GRASP, f"the gripper closed on nothing at the handle of {name}")
    try:
        slipping = _slipping(name, width)
        held, failure = _along(context, name, motion, "moving", part, lambda state: slipping(state) or feel(state))
    finally:
        mover.phase("opening", 0.8)
        mover.grip(motion.opening)
    context.world.part_moved(name, target)
    _retreat(context, part)
    if failure is not None:
        raise failure
    return held


def _along(
    context: SkillContext, name: str, motion: _Motion, phase: str, part: Articulation, watch: Watch
) -> tuple[str, SkillFailureError | None]:
    """Move with a part. Returns what held the arm on its way, as the part's end does, and the failure that is to be
    raised once the hand has retreated.
    """
    mover = context.mover
    context.world.part_moves(name)
    begun = mover.motion_seconds
    try:
        mover.move(motion.along, phase, 0.5, slow=True, touching=(part.thing,), watch=watch)
    except SkillFailureError as error:
        if error.action_code in _CONTACT and mover.motion_seconds > begun:
            return error.message, None
        if error.action_code not in _AGAIN:
            raise
        return "", error
    return "", None


def _slipping(name: str, width: float) -> Watch:
    """A watch of the fingers: reports when they are no longer on a handle on which they closed to a width, m."""

    def watch(state: ArmState) -> MotionResult | None:
        if not state.width < _SLIPPED * width:  # nor where it is not measured
            return None
        return MotionResult(
            Code.GRASP_LOST,
            f"the fingers slipped off the handle of {name}: {state.width * 1000:.0f} mm apart, "
            f"{width * 1000:.0f} mm when they closed on it",
        )

    return watch


def _approach(context: SkillContext, motion: _Motion) -> None:
    """Move to before the handle, and meanwhile open or close the hand as far as it is to be there."""
    context.arm.grip(motion.opening, context.settings.grip_force, wait=False)
    context.mover.move(motion.path, "approaching", 0.2)
    context.mover.grip(motion.opening)


def _retreat(context: SkillContext, part: Articulation, way: Array | None = None) -> None:
    """Leave a part straight along a way, where there is one: what was pushed may be hooked on the fingers else; by
    default back from where the hand came.
    """
    start, planner = context.arm.state().positions, context.reaching.planner
    back = -context.reaching.kinematics.forward(start)[:3, 2]
    ways = [] if way is None else [(way, _BACK)]
    ways += [(back, share * _BACK) for share in _OUT]
    lines = [line for each in ways if (line := planner.line(start, *each)) is not None]
    free = (line for line in lines if context.scene.path_contact(line, 0.0, (part.thing,)) is None)
    if lines:
        context.mover.move(next(free, lines[0]), "retreating", 0.85, slow=True, touching=(part.thing,))


def _plan(
    context: SkillContext,
    name: str,
    part: Articulation,
    ways: Iterable[tuple[Array, Array, float]],
    tried: list[Array],
    target: float,
) -> _Motion:
    """The way to a value of least joint travel that is reachable and free, and unlike those tried, which it joins."""
    mover, planner = context.mover, context.reaching.planner
    blocked = "it is out of reach"
    held_up: list[tuple[Contact, tuple[Array, Array, Array]]] = []
    with mover.planning() as start:
        found: list[tuple[float, Array, _Motion]] = []
        for pose, along, opening in ways:
            if any(np.allclose(pose, other, atol=1e-3) for other in tried):
                continue
            context.scene.set_opening(opening)
            for q in context.reaching.kinematics.ranked(pose, start)[:_SOLUTIONS]:
                way = _with(context, name, part, q, pose, along, target)
                if isinstance(way, _Motion):
                    found.append((_travel(context, start, way), pose, replace(way, opening=opening)))
                elif way is not None:
                    blocked = str(way)
                    held_up.append((way, (q, pose, along)))
            if len(found) >= _ENOUGH:
                break
        mover.update_scene()
        for _, pose, motion in sorted(found, key=lambda row: row[0])[:_PLANS]:
            context.scene.set_opening(motion.opening)
            try:
                path = planner.plan(start, [motion.line[0]], context.reaching.seconds)
            except SkillFailureError as error:
                blocked = error.message
                continue
            tried.append(pose)
            return replace(motion, path=path)
        item = "" if found or tried else _in_the_way(context, name, part, held_up, target)
    why = f"there is no free way to move {name} by its handle: {f'{item} is in the way' if item else blocked}"
    unmet = (Literal("blocks", (item, name), False),) if item else ()
    raise SkillFailureError(Code.PLANNING_FAILED, why, unmet, permanent=bool(item))


def _in_the_way(
    context: SkillContext,
    name: str,
    part: Articulation,
    held_up: Sequence[tuple[Contact, tuple[Array, Array, Array]]],
    target: float,
) -> str:
    """The item without which one of the ways that are held up would be free, first of all the one that holds up most;
    empty where none is, or where nothing tells planners what blocks a part.
    """
    items = {thing.name for thing in context.world.things() if thing.type == "item"}
    by = Counter(item for hit, _ in held_up for item in {hit.first, hit.second} & items)
    names = [item for item, _ in by.most_common()] if "blocks" in context.world.domain.predicates else []
    for item in names:
        ways = [way for hit, way in held_up if item in (hit.first, hit.second)]
        if any(isinstance(_with(context, name, part, *way, target, (item,)), _Motion) for way in ways):
            return item
    return ""


def _with(
    context: SkillContext,
    name: str,
    part: Articulation,
    q: Array,
    pose: Array,
    along: Array,
    target: float,
    gone: Collection[str] = (),
) -> _Motion | Contact | None:
    """The straight way to joint positions at a handle and the way with it to a value, or what blocks them; None where
    the arm cannot follow. gone: names of what would be taken away.
    """
    back = context.reaching.planner.line(q, -pose[:3, 2], _BACK)
    way = context.reaching.kinematics.along(q, along)
    if back is None or way is None or context.reaching.planner.line(way[-1], -along[-1][:3, 2], _BACK) is None:
        return None  # also where the hand could not leave the handle at the end
    context.scene.update(context.others(*gone))
    hit = context.scene.path_contact(back, 0.0, (part.thing,))
    if hit is None:
        _leave_out(context, name, part, gone)
        hit = context.scene.path_contact(way, 0.0, (part.thing,)) or _hit_by_leaf(context, part, way, target)
    return hit or _Motion(back[:0], back[::-1].copy(), way, 0.0)


def _hit_by_leaf(context: SkillContext, part: Articulation, way: Array, target: float) -> Contact | None:
    """What the leaf, or the front of a drawer, hits of the arm on a way with it to a value."""
    for share in _SHARES:
        moved = part.moved(part.value + share * (target - part.value))
        leaf = thing_of_solid(part.thing, "fixture", "fixture", Solid((part.panel.moved(moved),)))
        context.scene.update([leaf])
        hit = context.scene.contact(way[round(share * (len(way) - 1))], -_YIELDS, (part.thing,))
        if hit is not None:
            return hit
    return None


def _travel(context: SkillContext, start: Array, motion: _Motion) -> float:
    """How far the joints go, in rad of travel of the first joint."""
    kinematics = context.reaching.kinematics
    rows = [start, motion.line[0], motion.line[-1], motion.along[-1]]
    return sum(float(kinematics.cost(after[None], before)[0]) for before, after in pairwise(rows))


def _leave_out(context: SkillContext, name: str, part: Articulation, more: Collection[str] = ()) -> None:
    """Take what moves along with the hand out of the planning scene: the part, and what lies in a drawer; and more."""
    gone = {part.thing, *more}
    if part.kind == "slide":
        gone |= {f.args[0] for f in context.world.world().facts if f.predicate == "in" and f.args[1] == name}
    others = context.others(*gone)
    rest = Solid(part.rest)
    context.scene.update([*others, thing_of_solid(part.thing, "fixture", "fixture", rest)] if part.rest else others)


def _carried(part: Articulation, pose: Array, target: float, share: float) -> Array:
    return np.array([part.carried(pose, v, share) for v in np.linspace(part.value, target, _STEPS + 1)[1:]])
