"""Drawers, doors and knobs of the named things, by what the cameras see, and what lies in drawers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.contents import Contents, joints_of
from planweave.bodies.arm.furniture import Furniture, articulation_of, with_levels
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.solids import Solid, solid_of_cloud
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import WorldObject
from planweave.geometry.joints import SeenFixture
from planweave.perception.depth_views import DepthView
from planweave.perception.fixtures import FixtureMemory, cut_out
from planweave.perception.geometry import Pose
from planweave.perception.seen_things import SeenThing

_AROUND = (0.2, -0.65, -0.05), (1.1, 0.65, 0.7)  # m in the base frame, above the ground, where furniture is looked for
_OF = 0.02  # m around a part within which points are of it
_MOVED = 0.003  # m: less is noise


class SeenFurniture:
    """Follows the furniture among named things from look to look.

    to_base: from the frame of the things to that of the robot's base; ground: height of what carries all there, m.
    furniture: by the name of the thing, in the robot's base frame; contents: what lies in its drawers.
    """

    def __init__(self, domain: Domain, to_base: Pose, ground: float) -> None:
        self._domain, self._to_base, self._ground = domain, to_base, ground + float(to_base.translation[2])
        self._memory, self._rest = FixtureMemory(), dict[str, Solid]()
        self.furniture: dict[str, Furniture] = {}
        self.contents = Contents()

    def look(self, views: Sequence[DepthView], things: Sequence[SeenThing]) -> tuple[SeenThing, ...]:
        """Look at the furniture; returns the things, of which those in a drawer have moved with it."""
        points = self._to_base.apply(np.concatenate([view.points[view.valid] for view in views]).astype(float))
        points[:, 2] -= self._ground
        low, high = np.array(_AROUND[0]), np.array(_AROUND[1])
        self._memory.update(points[((points > low) & (points < high)).all(axis=1)])
        for fixture in self._memory.fixtures:
            fixture = fixture.shifted(np.array((0.0, 0.0, self._ground)))
            thing = self._thing_at(fixture, things)
            if thing is None:
                continue
            fixture = replace(fixture, name=thing.name, class_name=thing.named.class_name)
            fixture = replace(fixture, joints=with_levels(fixture, thing.named.drawers))
            self.furniture[thing.name] = replace(Furniture.of(fixture), rest=self._rest_of(thing, fixture))
        carried = self.contents.carried({}, joints_of(self.furniture.values()))
        moved = []
        for thing in things:
            if thing.name in carried:
                by = self._to_base.inverse().apply(np.array(carried[thing.name].position)) - thing.middle
                thing = (
                    replace(thing.moved(Pose(np.eye(3), by)), visible=False) if np.linalg.norm(by) > _MOVED else thing
                )
            moved.append(thing)
        return tuple(moved)

    def shows(self, points: np.ndarray) -> np.ndarray:
        """Which points (n, 3) show furniture, and not what stands on it or in it."""
        own = self._to_base.apply(points.astype(float))
        own[:, 2] -= self._ground
        return cut_out(self._memory.fixtures, own)[0]

    def find_contents(self, things: Sequence[SeenThing], held: str = "") -> None:
        """Find which seen things lie in open drawers; what is hidden lies where it did."""
        found = {}
        for thing in things:
            if thing.lost or thing.name == held:
                self.contents.drop(thing.name)
            elif self._domain.type_of_class(thing.named.class_name) == "item":
                found[thing.name] = self._box(thing)
        self.contents.find(found, self.furniture.values())

    def _box(self, thing: SeenThing) -> Thing:
        """The bounding box of a thing, in the robot's base frame."""
        (x, y, z), (dx, dy, dz) = self._to_base.apply(thing.middle).tolist(), np.ptp(thing.points, axis=0).tolist()
        return Thing(thing.name, "item", thing.named.class_name, (x, y, z), (dx, dy, dz), visible=thing.visible)

    def drawers(self, name: str, stamp: float) -> Iterator[WorldObject]:
        """The drawers of a thing as objects in LIBERO's frame, each with its level."""
        for part in self.furniture[name].parts():
            joint = self.furniture[name].joints[part.name]
            x, y, z = self._to_base.inverse().apply(joint.panel.centre).tolist()
            dx, dy, dz = (2 * np.abs(joint.panel.axes) @ joint.panel.half).tolist()
            level = joint.name.removesuffix("drawer").strip("_")
            of = {"level": level} if level else {}
            place, size = (x, y, z), (dx, dy, dz)
            yield replace(part, attributes=of, position=place, orientation=None, size=size, last_seen=stamp)

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a part, or of furniture that has but one."""
        return articulation_of(self.furniture.values(), name)

    def _thing_at(self, fixture: SeenFixture, things: Sequence[SeenThing]) -> SeenThing | None:
        """The named thing most of whose points are of a piece of furniture."""
        boxes = (*fixture.bodies, *(box for joint in fixture.joints for box in joint.boxes))

        def share(thing: SeenThing) -> float:
            points = self._to_base.apply(thing.points[:: max(1, len(thing.points) // 500)])
            return float(np.any([(box.beyond(points) < _OF).all(axis=1) for box in boxes], axis=0).mean())

        fixed = [t for t in things if self._domain.type_of_class(t.named.class_name) != "item"]
        best = max(fixed, key=share, default=None)
        return best if best is not None and share(best) > 0.5 else None

    def _rest_of(self, thing: SeenThing, fixture: SeenFixture) -> Solid:
        """What does not move of a thing, as it was first seen."""
        if thing.name not in self._rest:
            points = self._to_base.apply(thing.points)
            moving = [(box.beyond(points) < _OF).all(axis=1) for joint in fixture.joints for box in joint.boxes]
            still = points[~np.any(moving, axis=0)] if moving else points
            floor = thing.bottom + float(self._to_base.translation[2])
            self._rest[thing.name] = solid_of_cloud(still, floor) if len(still) else Solid(())
        return self._rest[thing.name]
