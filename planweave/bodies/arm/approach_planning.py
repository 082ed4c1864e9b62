"""Approach planning: choices that combine geometry, kinematics and collision checks, for grasping and for placing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm import grasps
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import Grasp
from planweave.bodies.arm.kinematics import Kinematics, downwards
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.placement_sampling import Spot
from planweave.bodies.arm.planning_scene import Contact, PlanningScene
from planweave.bodies.arm.poses import pose_of, upright
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.world_model import Held
from planweave.core.failure import Code

Array = NDArray[np.float64]
UP = (0.0, 0.0, 1.0)
_BLUR = 0.004  # overlap forgiven between the object held and its surroundings: how well outlines are known, m
_DROP = 0.002  # an object is let go this far above what it shall stand on, m
_SOLUTIONS = 6  # joint solutions looked at for one pose
_SPOTS = 40
_EASY = 1.6  # an approach of less effort (rad) is taken at once; else the best of _WAYS
_WAYS = 4
_PLANS = 2  # failed plans before an approach is given up
_HIGHER_SPOTS = 10  # spots tried at each further height over a container


@dataclass(frozen=True)
class Approach:
    """A motion to a pose of the hand: a free path to above it, and the straight line down (joint positions, a
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
    ):
        self.scene, self.kinematics, self.planner = scene, kinematics, planner
        self.gripper = scene.robot.gripper
        self.seconds = seconds  # wall time to plan one motion
        self.clearance = clearance  # height of the straight approach, m

    def to_grasp(
        self, thing: Thing, start: Array, tried: Collection[Grasp] = (), others: Collection[Thing] = ()
    ) -> Approach:
        """The best reachable grasp; grasps similar to one that was `tried` before are excluded.

        others: surrounding objects, for the choice among free grasps. Raises SkillFailureError: NO_GRASP (too wide, or
        blocked), UNREACHABLE, PLANNING_FAILED.
        """
        options = grasps.candidates(thing, others, self.gripper)
        if not options:
            raise SkillFailureError(
                Code.NO_GRASP,
                f"{thing.name} is too wide for the gripper ({grasps.narrowest(thing) * 1000:.0f} mm; it opens to "
                f"{self.gripper.opening * 1000:.0f} mm)",
                final=True,
            )
        reached = False
        blocked: list[tuple[Contact, ...]] = []
        failure: SkillFailureError | None = None
        ways: list[tuple[float, Grasp, Array]] = []
        for grasp, q in self._reachable_grasps(options, start, tried):
            reached = True
            self.scene.set_opening(grasp.opening)
            found = self._above(q, (thing.name,), 0.0)
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
                return Approach(path, line, grasp.opening, grasp)
            except SkillFailureError as error:
                failure = error
        if failure is not None:
            raise failure
        if not reached:
            raise SkillFailureError(Code.UNREACHABLE, f"{thing.name} is out of the workspace of the robot")
        raise SkillFailureError(
            Code.NO_GRASP,
            f"no free grasp of {thing.name}: {blocked[-1][0] if blocked else 'the way down'} is in the way",
            obstacles=_obstacles(blocked, thing.name, self.scene.robot.links),
        )

    def _reachable_grasps(
        self, options: list[Grasp], start: Array, tried: Collection[Grasp]
    ) -> list[tuple[Grasp, Array]]:
        """Grasps with joint positions, cheapest first: cost of the grasp plus joint travel."""
        solutions: dict[tuple[float, float], Array] = {}
        pairs: list[tuple[float, Grasp, Array]] = []
        for grasp in options:
            if any(math.cos(2 * (grasp.yaw - t.yaw)) > 0.9 and grasp.z == t.z for t in tried):
                continue
            key = (grasp.yaw, grasp.z)
            if key not in solutions:
                pose = downwards(grasp.x, grasp.y, grasp.z, grasp.yaw)
                solutions[key] = self.kinematics.ranked(pose, start)[:_SOLUTIONS]
            costs = self.kinematics.cost(solutions[key], start)
            pairs.extend((grasp.cost + 0.5 * float(c), grasp, q) for c, q in zip(costs, solutions[key]))
        pairs.sort(key=lambda pair: pair[0])
        return [(grasp, q) for _, grasp, q in pairs]

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
        for height in np.arange(0.0, rise + 1e-6, 0.015):
            for spot in choice if height == 0.0 else choice[:_HIGHER_SPOTS]:
                found, seen, blocked = self._lowering(held, spot, start, float(height))
                reached = reached or seen
                obstacle = blocked or obstacle
                if found is None:
                    continue
                line, placed, opening = found
                self.scene.set_opening(held.width)
                try:
                    path = self.planner.plan(start, [line[0]], self.seconds)
                    return Approach(path, line, opening, placed=placed)
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

    def _lowering(
        self, held: Held, spot: Spot, start: Array, height: float
    ) -> tuple[tuple[Array, Thing, float] | None, bool, str]:
        """The line down to a spot, whether any pose was reachable, and the blocking contact."""
        thing = held.thing
        z = spot.z + height + _DROP + thing.size[2] / 2
        options: list[tuple[float, float, Array]] = []
        tcp_to_thing = np.linalg.inv(held.thing_to_tcp)
        for yaw in _turns(thing, spot):
            pose = upright(spot.x, spot.y, z, yaw) @ tcp_to_thing
            found = self.kinematics.ranked(pose, start)[:3]
            options.extend((float(c), yaw, q) for c, q in zip(self.kinematics.cost(found, start), found))
        options.sort(key=lambda option: option[0])
        obstacle = ""
        ways: list[tuple[float, Array, Thing, float]] = []
        for _, yaw, q in options[: 2 * _SOLUTIONS]:
            self.scene.set_opening(held.width)
            line = self._above(q, (), _BLUR)
            if not isinstance(line, np.ndarray):
                obstacle = str(line) if line else obstacle
                continue
            for opening in (self.gripper.opening, min(held.width + 0.02, self.gripper.opening)):
                self.scene.set_opening(opening)
                blocked = self.scene.contact(q, 0.0, (thing.name,), _BLUR)
                if blocked is None:
                    placed = replace(thing, position=(spot.x, spot.y, z - _DROP), yaw=yaw, orientation=None)
                    ways.append((self._effort(line, start), line, placed, opening))
                    break
                obstacle = str(blocked)
            if ways and (ways[-1][0] < _EASY or len(ways) == _WAYS):
                break
        if not ways:
            return None, bool(options), obstacle
        _, line, placed, opening = min(ways, key=lambda way: way[0])
        return (line, placed, opening), True, ""

    def _effort(self, line: Array, start: Array) -> float:
        """Joint travel of an approach: to its upper end, and along the line (down and up again), rad."""
        along = float(np.abs(np.diff(line, axis=0)).sum(axis=0).max())
        return 0.5 * float(self.kinematics.cost(line[:1], start)[0]) + 2.0 * along

    def _above(self, q: Array, touching: tuple[str, ...], depth: float) -> Array | Contact | None:
        """The line from above down to `q`, its blocking contact, or None where the arm cannot follow it."""
        blocked = self.scene.contact(q, 0.0, touching, depth)
        if blocked is not None:
            return blocked
        for distance in (self.clearance, 0.6 * self.clearance):
            line = self.planner.line(q, UP, distance)
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
    """What blocks the grasps of an object, beginning with the grasp blocked by the fewest objects."""
    of_grasps = [{n for c in contacts for n in (c.first, c.second)} - {name} for contacts in blocked]
    own = [sorted(n for n in names if n not in robot) for names in of_grasps]
    return tuple(dict.fromkeys(n for names in sorted(own, key=len) for n in names))


def held_in(grasp: Grasp, thing: Thing, tcp_to_base: Array, width: float) -> Held:
    """Pose of an object in the gripper after grasping: centred between the fingers and aligned with the pads."""
    turn = 0.0 if thing.is_round else math.remainder(thing.yaw - grasp.yaw, math.pi / 2)
    turn = turn if abs(turn) < 0.3 else 0.0
    seen = pose_of(thing)
    seen[:3, :3] = upright(0.0, 0.0, 0.0, -turn)[:3, :3] @ seen[:3, :3]
    pose = np.linalg.inv(tcp_to_base) @ seen
    pose[1, 3] = 0.0
    return Held(replace(thing, yaw=thing.yaw - turn), pose, width)


def _turns(thing: Thing, spot: Spot) -> Iterator[float]:
    """Rotations of an object about the vertical to try at a spot."""
    if thing.is_round:
        for k in range(8):
            yield thing.yaw + k * math.pi / 4
    elif spot.yaws is None:
        for base in (thing.yaw, 0.0):
            for k in range(4):
                yield base + k * math.pi / 2
    else:
        yield from spot.yaws
