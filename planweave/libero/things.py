"""Objects around LIBERO's robot, from its simulator's geometry: things with their parts, in the robot's base frame."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing, room, thing_of_solid
from planweave.bodies.arm.solids import solid_of_geoms
from planweave.core.symbolic.domain import Domain
from planweave.libero.geometry import Geom, Geometry, pose
from planweave.libero.truth import Names

_UNDER = 0.05  # the ground lies at most this far below the base, or above it, m


def things(domain: Domain, geometry: Geometry, state: Mapping[str, Any]) -> tuple[Thing, ...]:
    """All things of a state, and the rooms of fixtures (drawers, compartments, boards) as things without parts."""
    names = Names(state)
    geoms: dict[str, list[Geom]] = defaultdict(list)
    for geom in geometry.geoms():
        geoms[geom.thing].append(geom)
    found = []
    for name in names.things:
        if not geoms[name]:
            continue
        kind = names.row(name)["class"]
        solid = solid_of_geoms((g.kind, g.size, g.pose, g.points) for g in geoms[name])
        x, y, _ = _in_base(geometry, names.things[name]["pos"])
        type_name, is_item = domain.type_of_class(kind), not names.things[name]["fixture"]
        regions, is_round = _regions(geometry, names, name), domain.is_round_class(kind)
        found.append(thing_of_solid(name, type_name, kind, solid, (x, y) if is_item else None, regions, is_round))
    for site, (part, row) in names.parts.items():
        here = room(part, "part", row["part"], _box(geometry, names.sites[site]))
        below = (_box(geometry, names.sites[under]) for under, board in names.under.items() if board == part)
        found.append(replace(here, regions=(*here.regions, *below)))
    return tuple(found)


def ground(geometry: Geometry) -> float:
    """Height of what things stand on, m: of the upper side of the room's geometry in front of the robot."""
    tops = [g.pose[2, 3] + (0.0 if g.kind == "plane" else _half_height(g)) for g in geometry.geoms() if not g.thing]
    near = [float(top) for top in tops if abs(top) <= _UNDER]
    return max(near, default=0.0)


def _regions(geometry: Geometry, names: Names, thing: str) -> tuple[Region, ...]:
    """Where LIBERO wants things on or in a thing as a whole: the burner of a stove, the top of a cabinet."""
    own = [site for site, row in names.sites.items() if row["parent"] == thing == names.of(site)]
    return tuple(_box(geometry, names.sites[site]) for site in own)


def _box(geometry: Geometry, site: Mapping[str, Any]) -> Region:
    """The box around a region, along the axes of the base."""
    at = geometry.to_base(pose([*site["pos"], *site["quat"]]))
    x, y, z = at[:3, 3].tolist()
    width, depth, height = (2 * np.abs(at[:3, :3] @ np.array(site["size"]))).tolist()
    return Region((x, y, z), (width, depth, height))


def _in_base(geometry: Geometry, position: Any) -> tuple[float, float, float]:
    x, y, z = geometry.to_base(pose([*position, 1.0, 0.0, 0.0, 0.0]))[:3, 3].tolist()
    return x, y, z


def _half_height(geom: Geom) -> float:
    """Of a box or cylinder, along the vertical."""
    half = np.array(geom.size if geom.kind == "box" else (geom.size[0], geom.size[0], geom.size[-1]))
    return float(np.abs(geom.pose[2, :3]) @ half)
