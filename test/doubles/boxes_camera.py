"""RGB-D pictures of boxes on a level ground, by ray casting: a camera whose scene is known to the millimetre."""

import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose

WIDTH, HEIGHT, FOCAL = 320, 240, 300.0
GROUND = (120, 110, 100)


def looking(eye, target):
    """Pose of a camera (x right, y down, z along the view)."""
    ahead = np.subtract(target, eye) / np.linalg.norm(np.subtract(target, eye))
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    return Pose(np.stack((right, np.cross(ahead, right), ahead), axis=1), np.array(eye, float))


def picture(boxes, eye=(0.7, 0.0, 0.9), target=(0.0, 0.0, 0.0), name="front", hidden=None):
    """A view of boxes (low corner, high corner, colour); with the ground at z = 0."""
    i = Intrinsics(FOCAL, FOCAL, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, WIDTH, HEIGHT)
    pose = looking(eye, target)
    u, v = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    rays = np.stack(((u - i.cx) / FOCAL, (v - i.cy) / FOCAL, np.ones(u.shape)), axis=-1) @ pose.rotation.T
    depth = -pose.translation[2] / np.minimum(rays[..., 2], -1e-6)
    rgb = np.tile(np.array(GROUND, np.uint8), (HEIGHT, WIDTH, 1))
    for low, high, colour in boxes:
        with np.errstate(divide="ignore"):
            one, two = (np.subtract(c, pose.translation) / rays for c in (low, high))
        enter, leave = np.minimum(one, two).max(axis=-1), np.maximum(one, two).min(axis=-1)
        hit = (enter < leave) & (enter > 0) & (enter < depth)
        depth = np.where(hit, enter, depth)
        rgb[hit] = colour
    return DepthView(name, rgb, depth.astype(np.float32), i, pose, hidden)
