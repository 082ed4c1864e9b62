"""Kinds of objects on the table, built from boxes, capsules and small generated meshes.

Every shape has its origin at the centre of its footprint, bottom at z = 0. Lengths in metres, masses in kilograms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import mujoco

COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (0.80, 0.07, 0.07),
    "green": (0.10, 0.55, 0.15),
    "blue": (0.08, 0.22, 0.80),
    "yellow": (0.95, 0.80, 0.05),
    "orange": (0.96, 0.45, 0.03),
    "purple": (0.45, 0.12, 0.65),
    "pink": (0.96, 0.45, 0.68),
    "brown": (0.42, 0.25, 0.12),
    "cyan": (0.10, 0.78, 0.82),
    "aqua": (0.10, 0.78, 0.82),
    "white": (0.93, 0.93, 0.91),
    "gray": (0.45, 0.46, 0.48),
    "black": (0.08, 0.08, 0.09),
}
_SIDES = 32  # of a round shape
_BROWN, _LEAF = (0.30, 0.19, 0.10), (0.18, 0.42, 0.12)


@dataclass(frozen=True)
class Kind:
    """A kind of object or of furniture. size: meaning of its dimensions; default: their values, m; parts: names of what
    moves.
    """

    build: Callable[[ShapeBuilder, Sequence[float]], None]
    size: tuple[str, ...]
    default: tuple[float, ...]
    colour: str
    mass: float
    footprint: Callable[[Sequence[float]], tuple[float, float]]
    """Size along the object's own x and y, m."""
    natural: tuple[float, float, float] | None = None
    """Red, green, blue where no other colour is asked for, if that colour's usual tone does not suit it."""
    parts: tuple[str, ...] = ()


def add_shape(spec: mujoco.MjSpec, body: mujoco.MjsBody, kind: Kind, size: Sequence[float], colour: str) -> None:
    """Add the geoms of one object to its body: group 0 is visible and collides, group 2 is visible only, group 3
    collides only. What moves of it has a body with a joint, both named ``<body>_<part>``.
    """
    natural = kind.natural if colour == kind.colour else None
    builder = ShapeBuilder(spec, body, natural or COLOURS[colour], kind.mass)
    kind.build(builder, size)
    builder.share_mass()


class ShapeBuilder:
    """Adds geoms to one body: solid (visible, collides), seen (visible only) or felt (collides only)."""

    def __init__(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, rgb: tuple[float, float, float], mass: float):
        self.spec, self.body, self.rgb, self.mass = spec, body, rgb, mass
        self._solid: list[tuple[Any, float]] = []

    def _add(self, kind: str, role: str, rgb: Sequence[float] | None, volume: float, **keywords: Any) -> None:
        import mujoco

        geom = self.body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"), **keywords)
        geom.name = f"{self.body.name}_{len(self.body.geoms)}"
        geom.rgba = [*(rgb or self.rgb), 1.0]
        geom.material = "matt"
        geom.group = {"solid": 0, "seen": 2, "felt": 3}[role]
        geom.friction, geom.condim = [0.9, 0.01, 0.0005], 4
        if role == "seen":
            geom.contype, geom.conaffinity, geom.mass = 0, 0, 0.0
        else:
            self._solid.append((geom, volume))

    def share_mass(self) -> None:
        """Distribute the body's mass over its solid geoms by volume."""
        total = sum(volume for _, volume in self._solid)
        for geom, volume in self._solid:
            geom.mass = self.mass * volume / total

    def box(self, centre: Sequence[float], size: Sequence[float], role: str = "solid") -> None:
        """size: full edge lengths."""
        self._add("BOX", role, None, math.prod(size), pos=centre, size=[s / 2 for s in size])

    def disc(self, bottom: Sequence[float], radius: float, height: float, rgb: Sequence[float] | None = None) -> None:
        """An upright cylinder. bottom: the middle of its lower face."""
        vertices, faces = _revolve([(radius, 0), (radius, height)])
        self.mesh(vertices + np.array(bottom), faces, rgb=rgb)

    def capsule(
        self,
        start: Sequence[float],
        end: Sequence[float],
        radius: float,
        role: str = "solid",
        rgb: Sequence[float] | None = None,
    ) -> None:
        self._add(
            "CAPSULE",
            role,
            rgb,
            radius**2 * (math.dist(start, end) + radius),
            fromto=[*start, *end],
            size=[radius, 0, 0],
        )

    def mesh(
        self,
        vertices: np.ndarray,
        faces: np.ndarray | None,
        role: str = "solid",
        rgb: Sequence[float] | None = None,
        smooth: bool = False,
    ) -> None:
        """vertices: (n, 3); faces: (m, 3), consistently oriented, or None for the convex hull, as which it collides."""
        name = f"{self.body.name}_mesh_{len(self.body.geoms)}"
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        mesh = self.spec.add_mesh(name=name, uservert=vertices.ravel())
        if faces is not None:
            a, b, c = vertices[faces].transpose(1, 0, 2)
            inside_out = np.sum(a * np.cross(b, c)) < 0  # six times the volume
            mesh.userface = (faces[:, ::-1] if inside_out else faces).ravel()
        mesh.smoothnormal = smooth
        self._add("MESH", role, rgb, float(np.prod(high - low)), meshname=name)


def _skin(rings: Sequence[np.ndarray], ends: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Surface along rings of points (_SIDES, 3); ends: (2, 3) middles of the first and the last ring, which close them;
    None: the last ring is joined to the first.
    """
    faces, count = [], len(rings)
    sides = [(k, (k + 1) % _SIDES) for k in range(_SIDES)]
    for i in range(count if ends is None else count - 1):
        a, c = i * _SIDES, (i + 1) % count * _SIDES
        for k, n in sides:
            faces += [(a + k, a + n, c + n), (a + k, c + n, c + k)]
    if ends is None:
        return np.concatenate(rings), np.array(faces)
    first, last = count * _SIDES, (count - 1) * _SIDES
    for k, n in sides:
        faces += [(first, n, k), (first + 1, last + k, last + n)]
    return np.concatenate([*rings, ends]), np.array(faces)


def _revolve(profile: Sequence[tuple[float, float]], closed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Surface of revolution about z of (radius, z) points from bottom to top; closed: the profile is a ring (hollow
    shapes).
    """
    angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [np.column_stack([radius * ring, np.full(_SIDES, z)]) for radius, z in profile]
    return _skin(rings, None if closed else np.array([[0, 0, profile[0][1]], [0, 0, profile[-1][1]]]))


def _lying(profile: Sequence[tuple[float, float]], flat: float) -> tuple[np.ndarray, np.ndarray]:
    """A surface of revolution laid along x, cut flat ``flat`` below its axis so that it does not roll."""
    vertices, faces = _revolve(profile)
    x, y, z = vertices[:, 2], vertices[:, 1], -vertices[:, 0]
    middle = (x.min() + x.max()) / 2
    return np.column_stack([x - middle, y, np.maximum(z, -flat) + flat]), faces


def _cube(b: ShapeBuilder, size: Sequence[float]) -> None:
    b.box((0, 0, size[0] / 2), (size[0],) * 3)


def _cylinder(b: ShapeBuilder, size: Sequence[float]) -> None:
    diameter, height = size
    b.disc((0, 0, 0), diameter / 2, height)


def _tray(b: ShapeBuilder, size: Sequence[float], wall: float = 0.006) -> None:
    length, width, height = size
    b.box((0, 0, wall / 2), (length, width, wall))
    rise = height - wall
    for sign in (-1, 1):
        b.box((sign * (length - wall) / 2, 0, wall + rise / 2), (wall, width, rise))
        b.box((0, sign * (width - wall) / 2, wall + rise / 2), (length - 2 * wall, wall, rise))


def _bowl(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    _hollow(b, [(0.62 * radius, 0.0), (0.86 * radius, 0.45 * height), (radius, height)], 0.006)


def _mug(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    _hollow(b, [(0.92 * radius, 0.0), (radius, 0.12 * height), (radius, height)], 0.005)
    around = [0.5 * math.pi * k / 2 - math.pi / 2 for k in range(5)]
    arc = [(0, radius + 0.55 * radius * math.cos(a), height * (0.5 + 0.3 * math.sin(a))) for a in around]
    for start, end in itertools.pairwise(arc):
        b.capsule(start, end, 0.005)


def _pot(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    _hollow(b, [(0.96 * radius, 0.0), (radius, 0.1 * height), (radius, height)], 0.005)


def _lid(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    edge, top = 0.25 * height, 0.4 * height
    b.mesh(*_revolve([(radius, 0.0), (radius, edge), (0.5 * radius, top), (0.2 * radius, top)]))
    b.disc((0, 0, top), 0.011, height - top, rgb=COLOURS["black"])


def _hollow(b: ShapeBuilder, outer: Sequence[tuple[float, float]], wall: float) -> None:
    """A vessel of revolution, open at its top. outer: (radius, z) of its outside from the bottom up; wall: m."""
    base = outer[0][0]
    inner = [(r - wall, z) for r, z in reversed(outer[1:])] + [(base - wall, wall), (0.001, wall)]
    b.mesh(*_revolve([(0.001, 0.0), *outer, *inner], closed=True), role="seen")
    b.mesh(*_revolve([(base, 0.0), (1.03 * base, wall)]), role="felt")
    sectors = 16
    for (r0, z0), (r1, z1) in itertools.pairwise(outer):
        for k in range(sectors):
            corners = [
                (r * math.cos(a), r * math.sin(a), z)
                for a in (2 * math.pi * k / sectors, 2 * math.pi * (k + 1) / sectors)
                for r, z in ((r0, max(z0, 0.001)), (r1, z1), (r0 - wall, max(z0, 0.001)), (r1 - wall, z1))
            ]
            b.mesh(np.array(corners), None, role="felt")


def _can(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    b.disc((0, 0, 0), radius, height, rgb=(0.72, 0.73, 0.75))
    b.mesh(*_revolve([(1.01 * radius, 0.06 * height), (1.01 * radius, 0.94 * height)]), role="seen")


def _plate(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    b.mesh(*_revolve([(0.7 * radius, 0.0), (radius, 0.75 * height), (radius, height)]))
    shade = [0.86 * c for c in b.rgb]
    b.mesh(*_revolve([(0.72 * radius, height - 0.001), (0.72 * radius, height + 0.0003)]), role="seen", rgb=shade)


def _banana(b: ShapeBuilder, size: Sequence[float]) -> None:
    length = size[0]
    bend, half_angle, thick = length, 0.52, 0.115 * length  # radius of the arc, rad, radius in the middle
    count = 13
    angles = np.linspace(-half_angle, half_angle, count)
    radii = thick * (1 - 0.62 * np.abs(angles / half_angle) ** 2.6)
    centre_y = bend * (1 + math.cos(half_angle)) / 2
    spine = np.column_stack([bend * np.sin(angles), bend * np.cos(angles) - centre_y, radii])
    for i in range(0, count - 2, 2):
        radius = float(radii[i + 1])
        start, end = max(i, 1), min(i + 2, count - 2)  # the round ends reach as far as the spine
        b.capsule((*spine[start, :2], radius), (*spine[end, :2], radius), radius, role="felt")
    around = 2 * np.pi * np.arange(_SIDES) / _SIDES
    rings = []
    for (x, y, z), angle, radius in zip(spine, angles, radii):
        out = np.cos(around)[:, None] * np.array([math.sin(angle), math.cos(angle), 0])
        rings.append(np.array([x, y, z]) + radius * (out + np.sin(around)[:, None] * np.array([0, 0, 1.0])))
    b.mesh(*_skin(rings, spine[[0, -1]]), role="seen", smooth=True)
    for end, sign in ((0, -1), (-1, 1)):
        along = sign * np.array([math.cos(angles[end]), -math.sin(angles[end]), 0])
        tip = 0.9 * float(radii[end])
        reach = (0.06 if sign > 0 else 0.01) * length
        b.capsule(spine[end], spine[end] + reach * along, tip, role="seen", rgb=_BROWN)


def _pear(b: ShapeBuilder, size: Sequence[float]) -> None:
    length, radius = size[0], 0.345 * size[0]
    profile = [
        (0.01, 0.0),
        (0.55, 0.05),
        (0.85, 0.17),
        (1.0, 0.34),
        (0.92, 0.50),
        (0.66, 0.66),
        (0.47, 0.80),
        (0.38, 0.92),
        (0.16, 1.0),
    ]
    z = 0.86 * radius
    b.mesh(*_lying([(r * radius, z * length) for r, z in profile], z), smooth=True)
    tip = 0.58 * length, 0.02 * length, z + 0.03 * length
    b.capsule((0.49 * length, 0, z), tip, 0.002, role="seen", rgb=_BROWN)


def _round_fruit(b: ShapeBuilder, radius: float, squash: float, flat: float) -> None:
    angles = np.linspace(-np.pi / 2, np.pi / 2, 15)
    profile = [
        (max(radius * math.cos(a), 1e-4), max(radius * squash * math.sin(a), -flat * radius) + flat * radius)
        for a in angles
    ]
    b.mesh(*_revolve(profile), smooth=True)


def _apple(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius = size[0] / 2
    _round_fruit(b, radius, 0.92, 0.80)
    top = 1.72 * radius
    b.capsule((0, 0, top - 0.003), (0.004, 0.002, top + 0.010), 0.0022, role="seen", rgb=_BROWN)


def _orange(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius = size[0] / 2
    _round_fruit(b, radius, 1.0, 0.88)
    b.capsule((0, 0, 1.865 * radius), (0, 0, 1.885 * radius), 0.003, role="seen", rgb=_LEAF)


def _strawberry(b: ShapeBuilder, size: Sequence[float]) -> None:
    length, radius = size[0], 0.42 * size[0]
    profile = [(0.02, 0.0), (0.42, 0.10), (0.80, 0.45), (1.0, 0.78), (0.82, 0.94), (0.30, 1.0)]
    b.mesh(*_lying([(r * radius, z * length) for r, z in profile], 0.80 * radius), smooth=True)
    leaf, _ = _lying([(0.9 * radius, 0.0), (0.35 * radius, 0.10 * length)], 0.80 * radius)
    b.mesh(leaf + np.array([0.48 * length, 0, 0]), _lying([(1, 0), (1, 1)], 1)[1], role="seen", rgb=_LEAF)


def _bottle(b: ShapeBuilder, size: Sequence[float]) -> None:
    radius, height = size[0] / 2, size[1]
    neck = 0.48 * radius
    b.mesh(
        *_revolve(
            [
                (0.94 * radius, 0),
                (radius, 0.03 * height),
                (radius, 0.56 * height),
                (0.80 * radius, 0.67 * height),
                (neck, 0.76 * height),
            ]
        )
    )
    b.mesh(*_revolve([(neck, 0.76 * height), (neck, 0.88 * height)]))
    b.mesh(*_revolve([(1.12 * neck, 0.88 * height), (1.12 * neck, height)]), rgb=COLOURS["white"])
    label = [0.6 + 0.4 * c for c in b.rgb]
    b.mesh(*_revolve([(1.01 * radius, 0.16 * height), (1.01 * radius, 0.48 * height)]), role="seen", rgb=label)


def _round(size: Sequence[float]) -> tuple[float, float]:
    return size[0], size[0]


def rectangle(size: Sequence[float]) -> tuple[float, float]:
    return size[0], size[1]


_OPEN = ("length", "width", "height")
_UPRIGHT = ("diameter", "height")
KINDS: dict[str, Kind] = {
    "cube": Kind(_cube, ("edge",), (0.05,), "red", 0.09, _round),
    "cylinder": Kind(_cylinder, _UPRIGHT, (0.05, 0.07), "blue", 0.10, _round),
    "tray": Kind(_tray, _OPEN, (0.20, 0.26, 0.03), "gray", 0.50, rectangle),
    "box": Kind(_tray, _OPEN, (0.20, 0.28, 0.08), "brown", 0.50, rectangle),
    "bowl": Kind(_bowl, _UPRIGHT, (0.17, 0.055), "blue", 0.40, _round),
    "mug": Kind(_mug, _UPRIGHT, (0.070, 0.085), "white", 0.25, lambda s: (s[0], 1.7 * s[0])),
    "pot": Kind(_pot, _UPRIGHT, (0.14, 0.09), "gray", 0.60, _round),
    "lid": Kind(_lid, _UPRIGHT, (0.146, 0.04), "red", 0.20, _round),
    "can": Kind(_can, _UPRIGHT, (0.062, 0.085), "red", 0.20, _round),
    "plate": Kind(_plate, _UPRIGHT, (0.25, 0.012), "white", 0.50, _round),
    "banana": Kind(_banana, ("length",), (0.15,), "yellow", 0.12, lambda s: (1.02 * s[0], 0.37 * s[0])),
    "pear": Kind(
        _pear, ("length",), (0.095,), "green", 0.14, lambda s: (s[0], 0.69 * s[0]), natural=(0.58, 0.68, 0.12)
    ),
    "apple": Kind(_apple, ("diameter",), (0.066,), "red", 0.13, _round),
    "orange": Kind(_orange, ("diameter",), (0.064,), "orange", 0.13, _round),
    "strawberry": Kind(_strawberry, ("length",), (0.048,), "red", 0.03, lambda s: (1.1 * s[0], 0.84 * s[0])),
    "bottle": Kind(_bottle, _UPRIGHT, (0.052, 0.15), "green", 0.16, _round),
}
