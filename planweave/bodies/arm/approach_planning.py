"""Approach planning: choices that combine geometry, kinematics and collision checks, for grasping and for placing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from planweave.bodies.arm import grasp_sampling
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import Grasp
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.placement_sampling import FINGERS, UP, Spot
from planweave.bodies.arm.planning_scene import TABLE, Contact, PlanningScene
from planweave.bodies.arm.poses import laid, placed, pose_of, upright
from planweave.bodies.arm.scene_object import Thing
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array
from planweave.geometry.joints import frame

_BLUR = 0.004  # overlap forgiven between the object held and its surroundings: how well outlines are known, m
_DROP = 0.002  # an object is let go this far above what it shall stand on, m
_SOLUTIONS = 6  # joint solutions looked at for one pose
_LOWERED, _UNDER_ROOF = 3, 8  # solutions of one pose to put something down: the nearest; of all kinds, under a roof
_SPOTS = 160
_RISE = 0.015  # between the heights at which an object may be let go, m
_EASY = 1.6  # an approach of less effort (rad) is taken at once; else the best of _WAYS
_WAYS = 4
_PLANS = 2  # failed plans before an approach is given up
_LITTLE = 0.02  # by which the fingers open beside other things, m
_UNSURE = 0.004  # by which the fingers may open further than they are told, m
_DOWN = 0.985  # cosine up to which a hand is said to point down
_STANDS = 0.5  # cosine up to which what hangs so steeply would not fall flat
_HIGHER_SPOTS = 10  # spots tried at each further height over a container


@dataclass(frozen=True)
class Approach:
    """A motion to a pose of the hand: a free path to before it, and the straight line to it (joint positions, a
    configuration each).
    """

    path: Array
    line: Array
    opening: float
    grasp: Grasp | None = None
    placed: Thing | None = None


class ApproachPlanner:
    """Plans approaches in the planning scene, which must contain the surrounding objects (and the held one, when
    placing).
    """

    def __init__(
        self,
        scene: PlanningScene,
        kinematics: Kinematics,
        planner: MotionPlanner,
        seconds: float = 2.0,
        clearance: float = 0.10,
        turning: float = 0.0,
    ):
        """seconds: of processor time to plan one motion; clearance: length of straight approaches, m; turning: what it
        costs to turn the hand by 1 rad, in rad of travel of the first joint, for an arm that turns it slowly.
        """
        self.scene, self.kinematics, self.planner = scene, kinematics, planner
        self.gripper = scene.robot.gripper
        self.seconds, self.clearance, self.turning = seconds, clearance, turning

    def to_grasp(
        self, thing: Thing, start: Array, tried: Collection[Grasp] = (), others: Collection[Thing] = ()
    ) -> Approach:
        """The best reachable grasp; grasps similar to one that was `tried` before are excluded.

        others: surrounding objects, for the choice among free grasps. Raises SkillFailureError: NO_GRASP (too wide, or
        blocked), UNREACHABLE, PLANNING_FAILED.
        """
        failures = [SkillFailureError(Code.UNREACHABLE, f"{thing.name} is out of the workspace of the robot")]
        offered: list[bool] = []
        for options in grasp_sampling.tiers(thing, others, self.gripper):
            offered.append(bool(options))
            try:
                return self.best_grasp(thing, options, start, tried)
            except SkillFailureError as error:
                if error.action_code is not Code.UNREACHABLE:
                    failures.append(error)
        if not offered[0] and next(grasp_sampling.tiers(thing, (), self.gripper)):
            raise self._walled_in(thing, others)
        if not any(offered):
            raise SkillFailureError(
                Code.NO_GRASP,
                f"{thing.name} is too wide for the gripper ({min(thing.size[:2]) * 1000:.0f} mm; it opens to "
                f"{self.gripper.opening * 1000:.0f} mm)",
                permanent=True,
            )
        # What can be taken out of the way says most, and what was blocked more than what was out of reach.
        raise next((error for error in failures if error.obstacles), failures[-1])

    def _walled_in(self, thing: Thing, others: Collection[Thing]) -> SkillFailureError:
        """Why others leave no room for the fingers around an object, the nearest first."""
        near = sorted((o for o in others if o.top > thing.bottom), key=thing.gap)
        names = [o.name for o in near if thing.gap(o) < FINGERS] or [o.name for o in near[:1]]
        why = f"no free grasp of {thing.name}: {', '.join(names)} leave no room for the fingers"
        return SkillFailureError(Code.NO_GRASP, why, (Literal("reachable", (thing.name,)),), obstacles=tuple(names))

    def best_grasp(
        self, thing: Thing, options: Iterable[Grasp], start: Array, tried: Collection[Grasp] = ()
    ) -> Approach:
        """The best of these grasps that is reachable and free; raises as `to_grasp`."""
        options, reached = list(options), False
        blocked: list[tuple[Contact, ...]] = []
        failure: SkillFailureError | None = None
        ways: list[tuple[float, Grasp, Array]] = []
        for grasp, q in self.reachable_grasps(options, start, tried):
            reached = True
            self.scene.set_opening(grasp.opening)
            found = self.way_to(q, (-grasp.pose[:3, 2],), (thing.name,))
            if not isinstance(found, np.ndarray):
                blocked += [(found, *self.scene.contacts(q, 0.0, (thing.name,)))] if found else []
                continue
            ways.append((grasp.cost + self._effort(found, start), grasp, found))
            if ways[-1][0] < _EASY or len(ways) == _WAYS:
                break
        for _, grasp, line in sorted(ways, key=lambda way: way[0])[:_PLANS]:
            self.scene.set_opening(grasp.opening)
            try:
                path = self.planner.plan(start, [line[0]], self.seconds)
                return Approach(path, line, grasp.opening, grasp=grasp)
            except SkillFailureError as error:
                failure = error
        if failure is not None:
            raise failure
        if not reached and tried and self.reachable_grasps(options, start):
            raise SkillFailureError(Code.NO_GRASP, f"no grasp of {thing.name} is left that was not tried")
        if not reached:
            raise SkillFailureError(Code.UNREACHABLE, f"{thing.name} is out of the workspace of the robot")
        free = [contacts for contacts in blocked if not any(TABLE in (c.first, c.second) for c in contacts)]
        if blocked and not free and min(thing.size[:2]) > self.gripper.opening:
            raise SkillFailureError(
                Code.NO_GRASP,
                f"{thing.name} is too wide for the gripper, and lies too low to be held by its edge: the hand would "
                f"touch the {TABLE} ({blocked[-1][0]})",
                permanent=True,
            )
        raise SkillFailureError(
            Code.NO_GRASP,
            f"no free grasp of {thing.name}: {blocked[-1][0] if blocked else 'the way to it'} is in the way",
            (Literal("reachable", (thing.name,)),),
            obstacles=_obstacles(free, thing.name, self.scene.robot.links),
        )

    def reachable_grasps(
        self, options: Iterable[Grasp], start: Array, tried: Collection[Grasp] = ()
    ) -> list[tuple[Grasp, Array]]:
        """Grasps with joint positions, cheapest first: cost of the grasp plus joint travel."""
        solutions: dict[bytes, Array] = {}
        pairs: list[tuple[float, Grasp, Array]] = []
        for grasp in options:
            if any(grasp.is_like(t) for t in tried):
                continue
            key = grasp.pose.tobytes()
            if key not in solutions:
                solutions[key] = self.kinematics.ranked(grasp.pose, start)[:_SOLUTIONS]
            costs = self.kinematics.cost(solutions[key], start) + self._turn_cost(grasp.pose, start)
            pairs.extend((grasp.cost + 0.5 * float(c), grasp, q) for c, q in zip(costs, solutions[key]))
        pairs.sort(key=lambda pair: pair[0])
        return [(grasp, q) for _, grasp, q in pairs]

    def to_lift(self, thing: Thing, line: Array, touching: Collection[str] = ()) -> Array:
        """The line on which what was grasped at the end of `line` is taken away: straight up, or, where that is
        blocked, the way that the hand came, or towards the robot. The scene must hold it. touching: what it touches
        there, and may go on to touch, but no deeper: of an open door it touches the leaf, and is below the handle.
        """

        def deepest(q: Array) -> float:
            return min((c.distance for c in self.scene.contacts(q, 0.0, (thing.name,))), default=0.0)

        way_back: Array = line[::-1]
        if self.scene.ceiling < math.inf:  # a rule about heights is no reason to drag it
            return way_back
        x, y, _ = self.kinematics.forward(line[-1])[:3, 3]
        away = math.hypot(x, y) or 1.0
        for direction in (UP, (-0.7 * x / away, -0.7 * y / away, 0.714), (-x / away, -y / away, 0.0)):
            lift = self.planner.longest_line(line[-1], direction, self.clearance)
            if lift is None or self.scene.path_contact(lift, 0.0, (thing.name, *touching), _BLUR) is not None:
                continue
            if not touching or min(map(deepest, lift)) > deepest(line[-1]) - _BLUR:
                return lift
        return way_back

    def to_retreat(self, line: Array, name: str) -> Array:
        """The line away from what was put down at the end of `line`: the way back, or, with a tilted hand, along its
        fingers. The scene must hold what was put down, unless it is in the way from the beginning.
        """
        way_back: Array = line[::-1]
        pose = self.kinematics.forward(line[-1])
        if pose[2, 2] < -_DOWN:
            return way_back
        for share, rise in product((1.0, 0.6, 0.4), (0.0, 0.5)):
            direction = -pose[:3, 2] + rise * np.array(UP)
            along = self.planner.line(line[-1], direction / np.linalg.norm(direction), share * self.clearance)
            if along is not None and self.scene.path_contact(along, 0.0, (name,)) is None:
                return along
        return way_back

    def to_place(self, held: Held, spots: Iterable[Spot], start: Array, where: str, rise: float = 0.0) -> Approach:
        """The first reachable spot. rise: largest height above the spot at which the object may be released, m.

        Raises SkillFailureError: UNREACHABLE, PLANNING_FAILED ("no room").
        """
        item = held.thing.name
        choice = list(islice(spots, _SPOTS))
        if not choice:
            raise SkillFailureError(Code.PLANNING_FAILED, f"there is no room for {item} at {where}")
        reached, obstacle = False, ""
        failures: list[SkillFailureError] = []
        lowest = min(spot.z for spot in choice)
        for step in range(int(rise / _RISE + 1e-6) + 1):
            for k, spot in enumerate(choice):
                # What rests so high, as on a wall, is no better than what is let go from there.
                above = step - int((spot.z - lowest) / _RISE if rise else 0)
                if above < 0 or (above and k >= _HIGHER_SPOTS) or above * _RISE > spot.rise:
                    continue
                found, seen, blocked = self.lowering(held, spot, start, above * _RISE)
                reached = reached or seen
                obstacle = blocked or obstacle
                if found is None:
                    continue
                line, fallen, opening = found
                self.scene.set_opening(held.width)
                try:
                    path = self.planner.plan(start, [line[0]], self.seconds)
                    return Approach(path, line, opening, placed=fallen)
                except SkillFailureError as error:
                    failures.append(error)
                    if len(failures) == _PLANS:
                        raise
        if failures:
            raise failures[0]
        if not reached:
            raise SkillFailureError(Code.UNREACHABLE, f"{where} is out of the workspace of the robot")
        raise SkillFailureError(
            Code.PLANNING_FAILED, f"cannot put {item} down at {where}: {obstacle or 'something'} is in the way"
        )

    def lowering(
        self, held: Held, spot: Spot, start: Array, height: float
    ) -> tuple[tuple[Array, Thing, float] | None, bool, str]:
        """The line down to a spot, whether any pose was reachable, and the blocking contact."""
        thing, hung = held.thing, self._hung(held, start) if spot.lying == UP else None
        options: list[tuple[float, Array, Array]] = []
        tcp_to_thing = np.linalg.inv(held.thing_to_tcp)
        roofed = spot.ways != (UP,)
        few = _UNDER_ROOF if roofed else _LOWERED
        for yaw in _turns(thing, spot):
            lies = _pose_at(thing, spot, yaw)
            lies[2, 3] += height + _DROP
            there = lies if hung is None else hung_at(thing, lies, hung)
            pose = there @ tcp_to_thing
            found = self.kinematics.ranked(pose, start)
            found = found[:: math.ceil(len(found) / few) or 1] if roofed else found[:few]
            costs = self.kinematics.cost(found, start) + self._turn_cost(pose, start)
            options.extend((float(c), lies, q) for c, q in zip(costs, found))
        options.sort(key=lambda option: option[0])
        obstacle = ""
        ways: list[tuple[float, Array, Thing, float]] = []
        for _, lies, q in options[: 4 * few]:
            self.scene.set_opening(held.width)
            line = self.way_to(q, spot.ways, (), _BLUR)
            if not isinstance(line, np.ndarray):
                obstacle = str(line) if line else obstacle
                continue
            for opening in self._release_openings(held):
                self.scene.set_opening(opening + _UNSURE)
                blocked = self.scene.contact(q, 0.0, (thing.name,), _BLUR)
                if blocked is None:
                    fallen = placed(thing, upright(0.0, 0.0, -_DROP, 0.0) @ lies)
                    ways.append((self._effort(line, start), line, fallen, opening))
                    break
                obstacle = str(blocked)
            if ways and (ways[-1][0] < _EASY or len(ways) == _WAYS):
                break
        if not ways:
            return None, bool(options), obstacle
        _, line, fallen, opening = min(ways, key=lambda way: way[0])
        return (line, fallen, opening), True, ""

    def _hung(self, held: Held, start: Array) -> Array | None:
        """Rotation (3, 3) of a thing that hangs aslant from its edge, which falls flat where it is let go: turned level
        first, it would go on turning between the fingers. None for others.
        """
        turned: Array = (self.kinematics.forward(start) @ held.thing_to_tcp)[:3, :3]
        hangs = _STANDS < turned[2, 2] < _DOWN and grasp_sampling.held_by_edge(held.thing, self.gripper)
        return turned if hangs else None

    def way_to(
        self, q: Array, ways: Iterable[Sequence[float] | Array], touching: tuple[str, ...] = (), depth: float = 0.0
    ) -> Array | Contact | None:
        """The first free line to `q` against one of several directions; its blocking contact, or None where the arm
        cannot follow any. What is held has room where the line begins, where there is such a line.
        """
        blocked = self.scene.contact(q, 0.0, touching, depth)
        if blocked is not None:
            return blocked
        with self.scene.room_around_held(tips=False) as holds:
            line = self._way(q, ways, touching, depth) if holds else None
        return line if isinstance(line, np.ndarray) else self._way(q, ways, touching, depth)

    def _way(
        self, q: Array, ways: Iterable[Sequence[float] | Array], touching: tuple[str, ...], depth: float
    ) -> Array | Contact | None:
        blocked: Contact | None = None
        for direction in ways:
            line = self._before(q, direction, touching, depth)
            if isinstance(line, np.ndarray):
                return line
            blocked = blocked or line
        return blocked

    def _release_openings(self, held: Held) -> tuple[float, ...]:
        """How far to open, by preference: as when the fingers came around it, or little, as things may be beside it."""
        little = held.width + _LITTLE
        return tuple(min(width, self.gripper.opening) for width in (max(held.opening, little), little, math.inf))

    def _turn_cost(self, pose: Array, start: Array) -> float:
        """Cost of turning the hand from joint positions `start` into a pose."""
        if not self.turning:
            return 0.0
        trace = float(np.trace(self.kinematics.forward(start)[:3, :3].T @ pose[:3, :3]))
        return self.turning * math.acos(min(1.0, max(-1.0, (trace - 1.0) / 2.0)))

    def _effort(self, line: Array, start: Array) -> float:
        """Joint travel of an approach: to its upper end, and along the line (down and up again), rad."""
        along = float(np.abs(np.diff(line, axis=0)).sum(axis=0).max())
        cost = float(self.kinematics.cost(line[:1], start)[0])
        return 0.5 * (cost + self._turn_cost(self.kinematics.forward(line[-1]), start)) + 2.0 * along

    def _before(
        self, q: Array, direction: Sequence[float] | Array, touching: tuple[str, ...], depth: float
    ) -> Array | Contact | None:
        """The line to `q` against a direction, as `way_to`."""
        for distance in (self.clearance, 0.6 * self.clearance):
            line = self.planner.line(q, direction, distance)
            if line is None:
                continue
            if not self.scene.free(line[-1]):
                above = self.scene.contact(line[-1])
                if above is not None:
                    return above
            hit = self.scene.path_contact(line, 0.0, touching, depth)
            return hit if hit else line[::-1].copy()
        return None


def _obstacles(blocked: Iterable[Iterable[Contact]], name: str, robot: Collection[str]) -> tuple[str, ...]:
    """What blocks grasps of an object, beginning with the grasp blocked by the fewest objects."""
    of_grasps = [{n for c in contacts for n in (c.first, c.second)} - {name} for contacts in blocked]
    own = [sorted(n for n in names if n not in robot) for names in of_grasps]
    return tuple(dict.fromkeys(n for names in sorted(own, key=len) for n in names))


def held_in(grasp: Grasp, thing: Thing, tcp_to_base: Array, width: float) -> Held:
    """Pose of an object in the gripper after grasping: what is between the fingers is centred between them."""
    planned, pose = (np.linalg.inv(tcp) @ pose_of(thing) for tcp in (grasp.pose, tcp_to_base))
    pose[1, 3] = planned[1, 3]
    return Held(thing, pose, width, grasp.least, grasp.opening)


def _pose_at(thing: Thing, spot: Spot, yaw: float) -> Array:
    """Pose of an object whose lowest point is at the height of a spot."""
    turned = laid(spot.lying) @ upright(0.0, 0.0, 0.0, yaw)
    low = -thing.size[2] / 2 if spot.lying == UP else float(thing.solid.moved(turned).bounds[0][2])
    turned[:3, 3] = (spot.x, spot.y, spot.z - low)
    return turned


def hung_at(thing: Thing, lies: Array, hung: Array) -> Array:
    """Pose of an object with this rotation, turned about the vertical as where it will lie, and as low."""
    yaw = math.atan2(lies[1, 0], lies[0, 0]) - math.atan2(hung[1, 0], hung[0, 0])
    pose: Array = upright(0.0, 0.0, 0.0, yaw) @ frame(hung, np.zeros(3))
    low = float(thing.solid.moved(pose).bounds[0][2]) + thing.size[2] / 2
    pose[:3, 3] = lies[:3, 3] - (0.0, 0.0, low)
    return pose


def _turns(thing: Thing, spot: Spot) -> Sequence[float]:
    """Rotations of an object about the vertical to try at a spot."""
    return spot.yaws or [thing.yaw + k * math.pi / 6 for k in range(12)]
