"""Things for the region head's renders: more kinds, sizes and proportions than the simulation's scenes have.

A builder adds geoms to a body whose origin is the middle of its footprint on the table. Lengths in metres.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_SIDES = 28
Rng = np.random.Generator
Rgb = Sequence[float]


class Builder:
    """Adds meshes of one colour and material to one body."""

    def __init__(self, spec: Any, body: Any, rgb: Rgb, material: str):
        self.spec, self.body, self.rgb, self.material = spec, body, rgb, material

    def mesh(self, vertices: np.ndarray, faces: np.ndarray, rgb: Rgb | None = None) -> None:
        """vertices (n, 3), faces (m, 3) turned the same way."""
        import mujoco

        a, b, c = (vertices[faces[:, i]] for i in range(3))
        if np.sum(a * np.cross(b, c)) < 0:
            faces = faces[:, ::-1]
        name = f"{self.body.name}_{len(self.body.geoms)}"
        self.spec.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel())
        geom = self.body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, name=name)
        geom.rgba, geom.material = [*(rgb or self.rgb), 1.0], self.material
        geom.contype, geom.conaffinity = 0, 0

    def solid(self, profile: Sequence[tuple[float, float]], rgb: Rgb | None = None) -> None:
        """A surface of revolution about z of (radius, z) points from bottom to top."""
        self.mesh(*revolve(profile), rgb)

    def prism(self, outline: Sequence[tuple[float, float]], height: float, rgb: Rgb | None = None) -> None:
        """An upright prism over an outline (n, 2) that its middle sees whole."""
        self.mesh(*prism(np.array(outline), height), rgb)


def revolve(profile: Sequence[tuple[float, float]], closed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """closed: the profile is a ring of points (hollow things)."""
    turn = 2 * np.pi * np.arange(_SIDES) / _SIDES
    count = len(profile)
    vertices = [np.column_stack((r * np.cos(turn), r * np.sin(turn), np.full(_SIDES, z))) for r, z in profile]
    faces = []
    for i in range(count if closed else count - 1):
        j = (i + 1) % count
        for k in range(_SIDES):
            n = (k + 1) % _SIDES
            faces += [(i * _SIDES + k, i * _SIDES + n, j * _SIDES + n),
                      (i * _SIDES + k, j * _SIDES + n, j * _SIDES + k)]  # fmt: skip
    if not closed:
        ends = np.array([[0, 0, profile[0][1]], [0, 0, profile[-1][1]]])
        bottom, top = count * _SIDES, count * _SIDES + 1
        vertices.append(ends)
        for k in range(_SIDES):
            n = (k + 1) % _SIDES
            faces += [(bottom, n, k), (top, (count - 1) * _SIDES + k, (count - 1) * _SIDES + n)]
    return np.concatenate(vertices), np.array(faces)


def prism(outline: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
    count = len(outline)
    low = np.column_stack((outline, np.zeros(count)))
    vertices = np.concatenate((low, low + [0, 0, height], np.array([[0, 0, 0], [0, 0, height]])))
    faces = []
    for k in range(count):
        n = (k + 1) % count
        faces += [(k, n, count + n), (k, count + n, count + k)]
        faces += [(2 * count, n, k), (2 * count + 1, count + k, count + n)]
    return vertices, np.array(faces)


def laid(mesh: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """An upright mesh laid down along x, resting on the table."""
    vertices, faces = mesh
    x = vertices[:, 2] - vertices[:, 2].max() / 2
    z = -vertices[:, 0]
    return np.column_stack((x, vertices[:, 1], z - z.min())), faces


def _polygon(sides: int, radius: float, phase: float = 0.0) -> list[tuple[float, float]]:
    return [(radius * math.cos(phase + 2 * math.pi * k / sides), radius * math.sin(phase + 2 * math.pi * k / sides))
            for k in range(sides)]  # fmt: skip


def _rectangle(x: float, y: float) -> list[tuple[float, float]]:
    return [(x / 2, -y / 2), (x / 2, y / 2), (-x / 2, y / 2), (-x / 2, -y / 2)]


def _hollow(b: Builder, bottom: float, top: float, height: float, wall: float = 0.004) -> None:
    """An open vessel: outer radii at its bottom and top."""
    inner = [(top - wall, height), (bottom - wall, 0.005), (0.001, 0.005)]
    b.mesh(*revolve([(0.001, 0.0), (bottom, 0.0), (top, height), *inner], closed=True))


def _cube(b: Builder, r: Rng, s: float) -> None:
    edge = 0.048 * s
    b.prism(_rectangle(edge, edge), edge * r.uniform(0.92, 1.08))


def _cylinder(b: Builder, r: Rng, s: float) -> None:
    radius, height = 0.027 * s, 0.05 * s * r.uniform(0.85, 1.6)
    if r.random() < 0.25:
        b.mesh(*laid(revolve([(radius, 0), (radius, height * 1.3)])))
    else:
        b.solid([(radius, 0), (radius, height)])


def _ball(b: Builder, r: Rng, s: float) -> None:
    radius = 0.028 * s
    b.solid([(max(radius * math.cos(a), 1e-4), radius + radius * math.sin(a)) for a in np.linspace(-1.57, 1.57, 15)])


def _egg(b: Builder, r: Rng, s: float) -> None:
    radius, length = 0.022 * s, 0.058 * s * r.uniform(0.92, 1.08)
    steps = np.linspace(0, 1, 15)
    profile = [(max(radius * math.sin(math.pi * t) * (1.12 - 0.24 * t), 1e-4), length * t) for t in steps]
    b.mesh(*laid(revolve(profile)))


def _cone(b: Builder, r: Rng, s: float) -> None:
    b.solid([(0.030 * s, 0), (0.002, 0.06 * s * r.uniform(0.8, 1.4))])


def _pyramid(b: Builder, r: Rng, s: float) -> None:
    half, height = 0.029 * s, 0.055 * s * r.uniform(0.8, 1.3)
    base = [(half, -half, 0), (half, half, 0), (-half, half, 0), (-half, -half, 0)]
    b.mesh(np.array([*base, (0, 0, height)]),
           np.array([(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2)]))  # fmt: skip


def _ring(b: Builder, r: Rng, s: float) -> None:
    radius, thick = 0.030 * s, 0.012 * s * r.uniform(0.8, 1.1)
    turns = np.linspace(0, 2 * math.pi, 12)[:-1]
    profile = [(radius + thick * math.cos(a), thick + thick * math.sin(a)) for a in turns]
    b.mesh(*revolve(profile, closed=True))


def _cup(b: Builder, r: Rng, s: float) -> None:
    top = 0.034 * s
    _hollow(b, top * r.uniform(0.78, 0.98), top, 0.075 * s * r.uniform(0.8, 1.2))


def _mug(b: Builder, r: Rng, s: float) -> None:
    radius, height = 0.037 * s, 0.080 * s * r.uniform(0.85, 1.15)
    _hollow(b, radius, radius, height)
    turns = np.linspace(-1.4, 1.4, 9)
    reach, thick = 0.6 * radius, 0.005
    for a0, a1 in itertools.pairwise(turns):
        (x0, z0), (x1, z1) = ((radius + reach * math.cos(a), height * (0.5 + 0.32 * math.sin(a))) for a in (a0, a1))
        corners = [(x, y, z) for x, z in ((x0, z0), (x1, z1)) for y in (-thick, thick)]
        out = np.array([(x + (thick if k else -thick), y, z) for k in (0, 1) for x, y, z in corners])
        b.mesh(out, _BOX)


_BOX = np.array([(0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5),
                 (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)])  # fmt: skip


def _bucket(b: Builder, r: Rng, s: float) -> None:
    _hollow(b, 0.038 * s, 0.055 * s, 0.095 * s * r.uniform(0.9, 1.15))


def _bowl(b: Builder, r: Rng, s: float) -> None:
    top, height, wall = 0.082 * s, 0.05 * s * r.uniform(0.85, 1.2), 0.005
    outer = [(0.60 * top, 0.0), (0.86 * top, 0.45 * height), (top, height)]
    inner = [(x - wall, z) for x, z in reversed(outer[1:])] + [(0.60 * top - wall, wall), (0.001, wall)]
    b.mesh(*revolve([(0.001, 0.0), *outer, *inner], closed=True))


def _plate(b: Builder, r: Rng, s: float) -> None:
    radius, height = 0.105 * s * r.uniform(0.75, 1.1), 0.013
    b.solid([(0.7 * radius, 0.0), (radius, 0.75 * height), (radius, height)])
    b.solid([(0.72 * radius, height - 0.001), (0.72 * radius, height + 0.0004)], [0.86 * c for c in b.rgb])


def _open_box(b: Builder, x: float, y: float, height: float, wall: float = 0.006) -> None:
    def slab(cx: float, cy: float, sx: float, sy: float, tall: float) -> None:
        vertices, faces = prism(np.array(_rectangle(sx, sy)), tall)
        b.mesh(vertices + [cx, cy, 0], faces)

    slab(0, 0, x, y, wall)
    for sign in (-1, 1):
        slab(sign * (x - wall) / 2, 0, wall, y, height)
        slab(0, sign * (y - wall) / 2, x, wall, height)


def _tray(b: Builder, r: Rng, s: float) -> None:
    _open_box(b, 0.18 * s, 0.24 * s * r.uniform(0.85, 1.1), 0.028)


def _box(b: Builder, r: Rng, s: float) -> None:
    _open_box(b, 0.15 * s, 0.19 * s * r.uniform(0.8, 1.15), 0.085 * s)


def _bottle(b: Builder, r: Rng, s: float) -> None:
    radius, height = 0.027 * s, 0.15 * s * r.uniform(0.9, 1.1)
    neck = 0.46 * radius
    b.solid([(0.94 * radius, 0), (radius, 0.03 * height), (radius, 0.56 * height), (0.8 * radius, 0.67 * height),
             (neck, 0.76 * height), (neck, 0.88 * height)])  # fmt: skip
    cap = (0.93, 0.93, 0.91) if r.random() < 0.5 else b.rgb
    b.solid([(1.12 * neck, 0.88 * height), (1.12 * neck, height)], cap)


def _jar(b: Builder, r: Rng, s: float) -> None:
    radius, height = 0.034 * s, 0.085 * s * r.uniform(0.9, 1.15)
    b.solid([(radius, 0), (radius, 0.80 * height), (0.8 * radius, 0.88 * height)])
    b.solid([(0.86 * radius, 0.88 * height), (0.86 * radius, height)], (0.75, 0.75, 0.77))


def _brick(b: Builder, r: Rng, s: float) -> None:
    b.prism(_rectangle(0.09 * s * r.uniform(0.85, 1.15), 0.042 * s), 0.032 * s * r.uniform(0.8, 1.15))


def _pillar(b: Builder, r: Rng, s: float) -> None:
    edge = 0.042 * s
    b.prism(_rectangle(edge, edge), 0.125 * s * r.uniform(0.85, 1.2))


def _star(b: Builder, r: Rng, s: float) -> None:
    outer, inner, points = 0.042 * s, 0.019 * s, int(r.integers(5, 7))
    corners = [(outer if k % 2 == 0 else inner, math.pi * k / points) for k in range(2 * points)]
    b.prism([(x * math.cos(a), x * math.sin(a)) for x, a in corners], 0.02 * s)


def _hexagon(b: Builder, r: Rng, s: float) -> None:
    b.prism(_polygon(6, 0.034 * s), 0.028 * s * r.uniform(0.8, 1.2))


def _wedge(b: Builder, r: Rng, s: float) -> None:
    b.prism(_polygon(3, 0.042 * s), 0.035 * s * r.uniform(0.8, 1.2))


def _cross(b: Builder, r: Rng, s: float) -> None:
    a, w = 0.040 * s, 0.014 * s
    quarter = [(a, -w), (a, w), (w, w), (w, a)]
    outline = [(x * c - y * t, x * t + y * c) for c, t in ((1, 0), (0, 1), (-1, 0), (0, -1)) for x, y in quarter[:3]]
    b.prism(outline, 0.024 * s)


def _disc(b: Builder, r: Rng, s: float) -> None:
    radius = 0.036 * s
    b.solid([(radius, 0), (radius, 0.016 * r.uniform(0.85, 1.2))])


def _lemon(b: Builder, r: Rng, s: float) -> None:
    radius, length = 0.026 * s, 0.078 * s
    profile = [(max(radius * (math.sin(math.pi * t) ** 0.9) * (1.0 if 0.12 < t < 0.88 else 0.85), 1e-4), length * t)
               for t in np.linspace(0, 1, 17)]  # fmt: skip
    b.mesh(*laid(revolve(profile)))


BUILDERS: dict[str, Callable[[Builder, Rng, float], None]] = {
    "cube": _cube, "cylinder": _cylinder, "ball": _ball, "cone": _cone, "ring": _ring, "cup": _cup, "bowl": _bowl,
    "plate": _plate, "bottle": _bottle, "tray": _tray, "box": _box, "brick": _brick, "star": _star,
    "hexagon": _hexagon, "wedge": _wedge, "cross": _cross, "disc": _disc, "egg": _egg,
    "mug": _mug, "bucket": _bucket, "jar": _jar, "pillar": _pillar, "pyramid": _pyramid, "lemon": _lemon,
}  # fmt: skip
"""Fruit but the lemon is built by planweave.simulation.shapes."""
