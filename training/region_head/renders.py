"""Random tables of random things, rendered as the overhead camera sees them, cut into regions by perception itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planweave.perception.calibration import load_extrinsics
from planweave.perception.decoding import FrameError
from planweave.perception.detection import Detection, Measured
from planweave.perception.geometry import Intrinsics
from planweave.perception.pipeline import Pipeline
from planweave.perception.regions import PixelRegion
from planweave.robots.camera_file import CameraConfig, load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera, mujoco_quaternion
from planweave.simulation.offscreen import choose_gl
from planweave.simulation.shapes import KINDS, add_shape
from training.region_head.shapes import BUILDERS, Builder

_NEAR = 0.03  # m: a region this near to a thing is of that thing
_MATERIALS = ("matt", "glossy", "checked", "graded")


@dataclass(frozen=True)
class Wanted:
    """One thing to put on a table. rgb: 0 to 255; scale: 1 is its usual size."""

    thing: str
    rgb: tuple[int, int, int]
    scale: float


@dataclass(frozen=True)
class SeenRender:
    """A thing as perception sees it: index into what was wanted, its region, and what `attributes` says of it."""

    index: int
    region: PixelRegion
    detection: Detection


@dataclass(frozen=True)
class Shot:
    """One rendered table. rgb (h, w, 3) uint8; pixel: side of a pixel on the table, metres."""

    rgb: np.ndarray
    pixel: float
    seen: tuple[SeenRender, ...]


class Studio:
    """Renders tables; one GL context at a time."""

    def __init__(self, seed: int):
        choose_gl()
        self.rng = np.random.default_rng(seed)
        self.camera = load_camera()
        self.pipeline = Pipeline(load_extrinsics())

    def shoot(self, wanted: Sequence[Wanted], poses: int = 1) -> Iterator[Shot]:
        """The same things in some random arrangements and lights."""
        model = self._build(wanted)
        noise = DepthNoise(sigma=float(self.rng.uniform(0.001, 0.003)))
        eye = OverheadCamera(model, self.camera, noise, seed=int(self.rng.integers(1 << 30)))
        try:
            for _ in range(poses):
                qpos, places = self._arrange(model, len(wanted))
                self._light(model)
                frame = eye.render(0.0, qpos)
                try:
                    intrinsics = Intrinsics.of_view(self.camera.fovy, self.camera.width, self.camera.height)
                    scene = self.pipeline.run(frame.rgb, frame.depth, intrinsics, None)
                except FrameError:
                    continue
                yield Shot(frame.rgb, scene.view.pixel, _match(scene.measured, places))
        finally:
            eye.close()

    def _build(self, wanted: Sequence[Wanted]) -> Any:
        import mujoco

        spec = mujoco.MjSpec()
        _room(spec, self.camera, self.rng)
        for index, want in enumerate(wanted):
            body = spec.worldbody.add_body(name=f"thing_{index}")
            body.add_freejoint()
            body.mass, body.inertia, body.explicitinertial = 0.1, [1e-4] * 3, True
            rgb = [c / 255 for c in want.rgb]
            if want.thing in BUILDERS:
                material = str(self.rng.choice(_MATERIALS, p=(0.55, 0.15, 0.15, 0.15)))
                BUILDERS[want.thing](Builder(spec, body, rgb, material), self.rng, want.scale)
            else:
                kind = KINDS[want.thing]
                add_shape(spec, body, kind, [s * want.scale for s in kind.default], "red")
                _recolour(body, want.thing, rgb)
        return spec.compile()

    def _arrange(self, model: Any, count: int) -> tuple[np.ndarray, list[tuple[float, float]]]:
        """Positions (qpos) where nothing touches, and the places (x, y) in the order of the things."""
        places: list[tuple[float, float]] = []
        radii: list[float] = []
        qpos = np.zeros(model.nq)
        for index in range(count):
            body = model.body(f"thing_{index}").id
            first, number = model.body_geomadr[body], model.body_geomnum[body]
            radius = 0.0
            for geom in range(first, first + number):
                mesh = model.geom_dataid[geom]
                if mesh >= 0:
                    start = model.mesh_vertadr[mesh]
                    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]]
                    turned = vertices @ _matrix(model.geom_quat[geom]).T + model.geom_pos[geom]
                    radius = max(radius, float(np.hypot(turned[:, 0], turned[:, 1]).max()))
            for _ in range(200):
                x, y = self.rng.uniform(0.16 + radius, 0.86 - radius), self.rng.uniform(-0.52 + radius, 0.52 - radius)
                if all(math.hypot(x - a, y - b) > radius + r + 0.008 for (a, b), r in zip(places, radii)):
                    break
            else:
                x, y = 2.0 + index, 3.0  # no room: out of sight
            places.append((float(x), float(y)))
            radii.append(radius if x < 1.5 else 0.0)
            yaw = float(self.rng.uniform(-math.pi, math.pi))
            qpos[7 * index : 7 * index + 7] = (x, y, 0.0, math.cos(yaw / 2), 0, 0, math.sin(yaw / 2))
        return qpos, places

    def _light(self, model: Any) -> None:
        rng = self.rng
        tint = np.array([1.0, 1.0, 1.0]) + rng.uniform(-0.06, 0.06) * np.array([1.0, 0.1, -1.0])
        shares = np.array([0.36, 0.14, 0.36, 0.18]) * rng.uniform(0.7, 1.3, 4)
        ambient, head, key, fill = shares / shares.sum() * rng.uniform(0.75, 1.05)
        model.vis.headlight.ambient[:] = ambient * tint
        model.vis.headlight.diffuse[:] = head
        model.light_diffuse[0] = key * tint
        model.light_diffuse[1] = fill
        model.light_pos[0] = (rng.uniform(-0.2, 1.4), rng.uniform(-1.5, 1.5), rng.uniform(2.0, 3.0))
        aim = np.array([0.5, 0.0, 0.0]) - model.light_pos[0]
        model.light_dir[0] = aim / np.linalg.norm(aim)


def _match(measured: Sequence[Measured], places: Sequence[tuple[float, float]]) -> tuple[SeenRender, ...]:
    """Give every thing the region nearest to it; a region that two things claim, or a piece of one, is left out."""
    pairs = sorted(
        (math.dist(detection.position[:2], place), i, k)
        for i, place in enumerate(places)
        for k, (detection, region) in enumerate(measured)
        if region is not None and math.dist(detection.position[:2], place) < _NEAR
    )
    seen: dict[int, int] = {}
    for _, i, k in pairs:
        if i not in seen and k not in seen.values():
            seen[i] = k
    return tuple(SeenRender(i, region, measured[k][0]) for i, k in sorted(seen.items()) if (region := measured[k][1]))


def _recolour(body: Any, thing: str, rgb: Sequence[float]) -> None:
    """The flesh of a fruit in another colour; stalk and leaf stay."""
    main = body.geoms[0].rgba[:3].copy()
    for geom in body.geoms:
        if np.allclose(geom.rgba[:3], main):
            geom.rgba = [*rgb, 1.0]
        if geom.group == 3:
            geom.rgba = [0, 0, 0, 0]


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _room(spec: Any, camera: CameraConfig, rng: np.random.Generator) -> None:
    """A table of a random colour, two lights, the camera and the materials."""
    import mujoco

    spec.visual.global_.offwidth, spec.visual.global_.offheight = 640, 480
    spec.visual.map.znear, spec.visual.map.zfar = 0.02, 12.0
    spec.stat.extent, spec.stat.center = 1.0, [0.4, 0.0, 0.2]
    texture, builtin, mark = mujoco.mjtTexture.mjTEXTURE_CUBE, mujoco.mjtBuiltin, mujoco.mjtMark
    spec.add_texture(name="checks", type=texture, builtin=builtin.mjBUILTIN_CHECKER, rgb1=[1, 1, 1],
                     rgb2=[0.88, 0.88, 0.88], width=64, height=64)  # fmt: skip
    spec.add_texture(name="grades", type=texture, builtin=builtin.mjBUILTIN_GRADIENT, rgb1=[1, 1, 1],
                     rgb2=[0.82, 0.82, 0.82], width=64, height=64, mark=mark.mjMARK_RANDOM, random=0.03,
                     markrgb=[0.7, 0.7, 0.7])  # fmt: skip
    spec.add_material(name="matt", rgba=[1, 1, 1, 1], specular=0.1, shininess=0.2)
    spec.add_material(name="glossy", rgba=[1, 1, 1, 1], specular=0.6, shininess=0.7)
    for name, image in (("checked", "checks"), ("graded", "grades")):
        material = spec.add_material(name=name, rgba=[1, 1, 1, 1], specular=0.15, shininess=0.3)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = image
    shade = rng.uniform(0.35, 0.85) * (np.ones(3) + rng.uniform(0, 0.3) * np.array([0.2, 0.0, -0.5]))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=[0.4, 0, -0.02], size=[0.8, 0.9, 0.02],
                            rgba=[*np.clip(shade, 0, 1), 1])  # fmt: skip
    spec.worldbody.add_light(type=mujoco.mjtLightType.mjLIGHT_SPOT, pos=[0.9, -1.3, 2.6], dir=[-0.22, 0.5, -1.0],
                             cutoff=70, exponent=1, specular=[0.15] * 3)  # fmt: skip
    spec.worldbody.add_light(type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[0, 1, 3], dir=[0.15, -0.3, -1.0])
    spec.worldbody.add_camera(name="overhead", pos=camera.position, quat=mujoco_quaternion(camera), fovy=camera.fovy)
