"""Simulated human interventions: objects are moved, exchanged or removed, drawers and doors opened or shut, knobs
turned, the cameras covered, at a moment of the robot's manipulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from planweave.core.base.errors import SceneError
from planweave.robots.model import TCP_SITE
from planweave.simulation.fixtures import FIXTURES
from planweave.simulation.mujoco_model import fixture_body, object_body, off_table, put_object
from planweave.simulation.scene import Scene

if TYPE_CHECKING:
    import mujoco

Place = tuple[float, float, float]

_AT_HAND = 0.15  # m
_ROUND_IT = (0.04, 0.12)  # the tool centre point is this near, along the table and upwards, to what it grasps, m
_LIFTED, _CARRIED, _LOWERED, _LEFT = 0.03, 0.10, 0.03, 0.10  # m
_EVERY = 5  # time steps between two looks


def grasps_at(tcp: np.ndarray, place: np.ndarray) -> bool:
    """Whether fingers that close with the tool centre point at a place, (3,) m, close around an object at another."""
    return math.dist(tcp[:2], place[:2]) <= _ROUND_IT[0] and 0 <= tcp[2] - place[2] <= _ROUND_IT[1]


class InterventionMoment(str, Enum):
    """Moment of an intervention, in order of occurrence; see Intervene.srv."""

    NOW = ""
    APPROACH = "approach"
    GRASP = "grasp"
    LIFT = "lift"
    CARRY = "carry"
    PLACE = "place"
    RELEASE = "release"
    RETREAT = "retreat"


_ORDER = tuple(InterventionMoment)


@dataclass(frozen=True)
class Intervention:
    """An intervention and its moment.

    places: new places of the objects, None for removal from the table; empty: `objects` exchange poses. joints: how far
    parts of furniture are open or turned then, m or rad, by their joints' names. camera: whether it publishes images
    from then on, None: unchanged.
    """

    when: InterventionMoment
    watch: int
    objects: tuple[int, ...]
    places: tuple[Place | None, ...] = ()
    camera: bool | None = None
    joints: Mapping[str, float] = field(default_factory=dict)


def read_intervention(
    scene: Scene,
    when: str,
    watch: int,
    objects: Sequence[int],
    places: Sequence[Place],
    camera: Sequence[bool],
    joints: Sequence[str] = (),
    values: Sequence[float] = (),
) -> Intervention:
    """Parse the intervention of a request; raises SceneError where it is invalid in this scene."""
    count = len(scene.objects)
    if when not in {m.value for m in InterventionMoment}:
        raise SceneError(
            f"no moment {when!r}; there are '' (at once), {', '.join(m.value for m in InterventionMoment if m.value)}"
        )
    wrong = [i for i in (watch, *objects) if i >= count]
    if wrong:
        raise SceneError(f"there is no object {wrong[0]} in {scene.name}; there are {count}, counted from 0")
    if len(set(objects)) < len(objects):
        raise SceneError(f"objects {list(objects)} has one of them twice")
    if places and len(places) != len(objects):
        raise SceneError(f"{len(objects)} objects, but {len(places)} places; give each one, or none to exchange them")
    if not places and len(objects) == 1:
        raise SceneError("one object has nothing to be exchanged with; give it a place")
    if len(camera) > 1 or not (objects or camera or joints):
        raise SceneError("give objects or parts of furniture that are moved, or one value for the camera, or several")
    for place in places:
        if not any(math.isnan(v) for v in place) and not all(abs(v) <= 3.0 for v in place):
            raise SceneError(f"the place {place} is more than 3 m away")
    to = tuple(None if any(math.isnan(v) for v in place) else place for place in places)
    moved = _joints(scene, joints, values)
    return Intervention(InterventionMoment(when), watch, tuple(objects), to, camera[0] if camera else None, moved)


def _joints(scene: Scene, joints: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Values by the names of joints in the model, of parts named FIXTURE/PART; raises SceneError."""
    known = {
        f"{index}/{part}": fixture_body(index, part)
        for index, fixture in enumerate(scene.fixtures)
        for part in FIXTURES[fixture.kind].parts
    }
    for name in joints:
        if name not in known:
            raise SceneError(f"there is no part {name!r} of furniture in {scene.name}; there are: {', '.join(known)}")
    if len(values) != len(joints) or not all(math.isfinite(v) for v in values):
        raise SceneError(
            f"{len(joints)} parts of furniture, but {len(values)} values; give each one a number, m or rad"
        )
    return {known[name]: float(value) for name, value in zip(joints, values)}


class Hands:
    """Monitors the manipulation of one object and executes an intervention once, at its moment."""

    def __init__(self, model: mujoco.MjModel):
        self._model, self._tcp = model, model.site(TCP_SITE).id
        self.reset()

    def reset(self) -> None:
        """Drop the pending intervention."""
        self._waiting: tuple[Intervention, Callable[[bool], None]] | None = None

    @property
    def active(self) -> bool:
        """Whether an intervention is pending."""
        return self._waiting is not None

    def begin(self, data: mujoco.MjData, what: Intervention, on_camera: Callable[[bool], None]) -> Intervention | None:
        """Execute an intervention at once, or at its moment; on_camera is then called with whether the camera publishes
        images.

        Returns the previous pending intervention, whose moment never came.
        """
        before = self._waiting[0] if self._waiting else None
        self._waiting = what, on_camera
        self._count = self._passed = 0
        self._start = self._highest = self._position(data, what.watch)
        if what.when is InterventionMoment.NOW:
            self._do(data)
        return before

    def update(self, data: mujoco.MjData, *, pressing: bool) -> None:
        """Call after a time step; pressing: whether the fingers are closing, or held apart by an object."""
        self._count += 1
        if self._waiting is None or self._count % _EVERY:
            return
        what = self._waiting[0]
        at, tcp = self._position(data, what.watch), data.site_xpos[self._tcp].copy()
        if at[2] > self._highest[2]:
            self._highest = at
        while self._has_come(_ORDER[self._passed + 1], at, tcp, pressing):
            self._passed += 1
            if _ORDER[self._passed] is what.when:
                self._do(data)
                return

    def _has_come(self, moment: InterventionMoment, at: np.ndarray, tcp: np.ndarray, pressing: bool) -> bool:
        """Whether the next moment has been reached. at, tcp: positions of object and hand, (3,) m."""
        if moment is InterventionMoment.APPROACH:
            return math.dist(at, tcp) < _AT_HAND
        if moment is InterventionMoment.GRASP:
            return pressing and grasps_at(tcp, at)
        if moment is InterventionMoment.LIFT:
            return bool(at[2] - self._start[2] > _LIFTED)
        if moment is InterventionMoment.CARRY:
            return math.dist(at[:2], self._start[:2]) > _CARRIED
        if moment is InterventionMoment.PLACE:
            return bool(self._highest[2] - at[2] > _LOWERED)
        if moment is InterventionMoment.RELEASE:
            return not pressing
        return math.dist(at, tcp) > _LEFT

    def _do(self, data: mujoco.MjData) -> None:
        assert self._waiting is not None
        (what, on_camera), self._waiting = self._waiting, None
        before = [self._pose(data, i) for i in what.objects]
        if what.places:
            new = [self._put(pose, i, to) for pose, i, to in zip(before, what.objects, what.places)]
        else:
            new = [*before[1:], *before[:1]]
        for index, pose in zip(what.objects, new):
            put_object(data, index, pose[:3], pose[3:])
        for name, value in what.joints.items():
            joint, limits = data.joint(name), self._model.joint(name).range
            joint.qpos[0], joint.qvel[0] = min(max(value, float(limits[0])), float(limits[1])), 0.0
        if what.camera is not None:
            on_camera(what.camera)

    @staticmethod
    def _pose(data: mujoco.MjData, index: int) -> np.ndarray:
        return np.array(data.joint(object_body(index)).qpos)

    def _position(self, data: mujoco.MjData, index: int) -> np.ndarray:
        return self._pose(data, index)[:3]

    @staticmethod
    def _put(pose: np.ndarray, index: int, to: Place | None) -> np.ndarray:
        """Place an object upright, with its rotation about the vertical unchanged."""
        w, _, _, z = pose[3:]
        length = math.hypot(w, z)
        upright = (w / length, 0.0, 0.0, z / length) if length > 1e-6 else (1.0, 0.0, 0.0, 0.0)
        return np.array([*(to or off_table(index)), *upright])
