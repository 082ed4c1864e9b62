"""What depth cameras see of the simulated furniture: points of one fixture, cut out by the simulator's own labels."""

import math

import mujoco
import numpy as np

from planweave.perception.articulation import joints_of
from planweave.perception.carcass import find_body
from planweave.simulation.mujoco_model import fixture_body

_GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)  # NumPy compares with the member itself one pixel at a time
NOISE = 0.001  # m at 1 m, and with the square of the distance
LEFT, RIGHT = ((0.0, 0.55, 1.0), (0.62, -0.05, 0.08)), ((-0.1, -0.6, 1.0), (0.62, 0.05, 0.08))
_WIDTH, _HEIGHT, _FOV = 640, 480, 58.0
_renderers = []  # of the newest simulator: (simulator, renderer); to make one takes longer than ten views


def find_joints(points, floor):
    """The joints of furniture with points (n, 3) that stands at a height, m."""
    body = find_body(points, floor)
    return [] if body is None else joints_of(body, points)


def fixture_points(simulator, index, eyes=(LEFT, RIGHT), noise=NOISE, seed=0):
    """Points (n, 3) of scene.fixtures[index] in the base frame, m. eyes: position and target of each camera."""
    model, data = simulator.model, simulator._data
    mujoco.mj_forward(model, data)
    body = model.body(fixture_body(index)).id
    rng = np.random.default_rng(seed)
    model.vis.global_.fovy = _FOV
    renderer = _renderer_of(simulator)
    return np.concatenate([_cloud(renderer, model, data, body, eye, target, noise, rng) for eye, target in eyes])


def _renderer_of(simulator):
    """Its renderer. That of another simulator is closed here and now: left to the garbage collector it may be closed in
    a thread in which its context is not current, which fails whatever test runs there.
    """
    if not _renderers or _renderers[0][0] is not simulator:
        while _renderers:
            _renderers.pop()[1].close()
        _renderers.append((simulator, mujoco.Renderer(simulator.model, _HEIGHT, _WIDTH)))
    return _renderers[0][1]


def _cloud(renderer, model, data, body, eye, target, noise, rng):
    eye, target = np.array(eye), np.array(target)
    back = (eye - target) / np.linalg.norm(eye - target)
    camera = mujoco.MjvCamera()
    camera.lookat[:], camera.distance = target, np.linalg.norm(eye - target)
    camera.elevation = -math.degrees(math.asin(back[2]))
    camera.azimuth = math.degrees(math.atan2(-back[1], -back[0]))
    renderer.enable_depth_rendering()
    renderer.update_scene(data, camera)
    depth = renderer.render().astype(float)
    renderer.disable_depth_rendering()
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data, camera)
    labels = renderer.render()
    renderer.disable_segmentation_rendering()
    geoms = np.where(labels[..., 1] == _GEOM, labels[..., 0], -1)
    mask = (geoms >= 0) & (model.body_rootid[model.geom_bodyid[geoms]] == body)
    v, u = np.nonzero(mask)
    z = depth[mask] + rng.normal(size=len(u)) * noise * depth[mask] ** 2
    focal = _HEIGHT / 2 / math.tan(math.radians(_FOV) / 2)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    x, y = (u - (_WIDTH - 1) / 2) / focal * z, ((_HEIGHT - 1) / 2 - v) / focal * z
    return eye + x[:, None] * right + y[:, None] * up - z[:, None] * back
