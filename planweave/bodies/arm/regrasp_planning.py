"""Grasps chosen for a placement: with which of them an item can be put down where the present one is in the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from planweave.bodies.arm import grasp_sampling
from planweave.bodies.arm.approach_planning import ApproachPlanner, held_in
from planweave.bodies.arm.grasps import Grasp
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.placement_sampling import UP, Spot
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array

_SPOTS, _OF = 32, 160  # spots looked at for one grasp, at most; of so many, evenly
_TRIES, _UNDER_ROOF = 14, 40  # grasps of one tier that are looked at; for what goes under a roof, where few fit
_ENOUGH = 3
_ROOM = 4.0  # cost of a grasp that fits at few spots, over one that fits at all
_LEVER = 25.0  # cost per m from the middle of an item that is to be laid down


def grasps_for(
    reaching: ApproachPlanner, item: Thing, others: Sequence[Thing], spots: Sequence[Spot], start: Array
) -> list[Grasp]:
    """Free grasps of an item of known parts with which it can be put down at one of the spots, the better first: near
    its middle where it is to be laid down, as it turns between the fingers elsewhere. Nothing is held afterwards in the
    planning scene.
    """
    choice = spots[: _OF : max(1, math.ceil(min(len(spots), _OF) / _SPOTS))]
    laid_down = any(spot.lying != UP for spot in choice)
    roofed = all(spot.ways != (UP,) for spot in choice)
    tries = _UNDER_ROOF if roofed else _TRIES
    found: list[Grasp] = []
    tiers = list(grasp_sampling.tiers(item, others, reaching.gripper))
    for options in reversed(tiers) if roofed else tiers:  # level hands fit there, if any
        if laid_down:
            options = [replace(g, cost=g.cost + _LEVER * math.dist(g.point, item.position)) for g in options]
        for grasp in islice(_free(reaching, item, others, options, start), tries):
            held = held_in(grasp, item, grasp.pose, grasp.width)
            fitting = _fitting(reaching, held, others, choice, start)
            if fitting:
                found.append(replace(grasp, cost=grasp.cost - _ROOM * fitting / len(choice)))
        if len(found) >= _ENOUGH and not laid_down:
            break
    return sorted(found, key=lambda g: g.cost)[:_ENOUGH]


def like(grasp: Grasp, planned: Thing, seen: Thing) -> Grasp:
    """A grasp of an item where it was planned to stand, of the same item where it is seen."""
    pose = pose_of(seen) @ np.linalg.inv(pose_of(planned)) @ grasp.pose
    return Grasp(pose, grasp.opening, grasp.width, grasp.cost, grasp.least)


def _free(
    reaching: ApproachPlanner, item: Thing, others: Sequence[Thing], options: Sequence[Grasp], start: Array
) -> Iterator[Grasp]:
    """Those that the hand can come to, unlike each other."""
    taken: list[Grasp] = []
    for grasp, q in reaching.reachable_grasps(options, start):
        if any(_same(grasp, other) for other in taken):
            continue
        reaching.scene.detach()
        reaching.scene.update([*others, item])
        reaching.scene.set_opening(grasp.opening)
        if isinstance(reaching.way_to(q, (-grasp.pose[:3, 2],), (item.name,)), np.ndarray):
            taken.append(grasp)
            yield grasp


def _same(one: Grasp, other: Grasp) -> bool:
    turned = np.trace(one.pose[:3, :3].T @ other.pose[:3, :3])
    return math.dist(one.point, other.point) < 0.004 and turned > 2.9


def _fitting(
    reaching: ApproachPlanner, held: Held, others: Sequence[Thing], spots: Sequence[Spot], start: Array
) -> int:
    """At how many of the spots an item that is held so can be put down."""
    reaching.scene.update(others)
    reaching.scene.attach(held.thing, held.thing_to_tcp)
    found = sum(reaching.lowering(held, spot, start, 0.0)[0] is not None for spot in spots)
    reaching.scene.detach()
    return found
