"""What the overhead camera sees of a scene at its start, with all else that perception is given; without ROS."""

from dataclasses import dataclass, replace

import numpy as np

from planweave.perception.geometry import Intrinsics
from planweave.perception.robot_filter import RobotState
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera
from planweave.simulation.mujoco_model import build_model, home_state

ROBOT = load_robot()
CAMERA = load_camera()
NOISE = DepthNoise()
INTRINSICS = Intrinsics.of_view(CAMERA.fovy, CAMERA.width, CAMERA.height)
AT_HOME = RobotState(tuple(ROBOT.home), ROBOT.gripper.opening, 0.0)


@dataclass(frozen=True)
class TableView:
    """One image pair: rgb (h, w, 3) uint8, depth (h, w) float32, m; and the joints of the robot."""

    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics = INTRINSICS
    robot: RobotState = AT_HOME


def rendering_once(camera):
    """The camera, which renders a state only once as long as nothing moves by 0.1 mm, less than a pixel; the noise of
    each picture is another.
    """
    render, last = camera._view.render, {}

    def rendered(qpos, depth):
        if (key := (np.round(qpos, 4) + 0.0).tobytes()) not in last:
            last.clear()
            last[key] = render(qpos, depth=depth)
        return last[key]

    camera._view.render = rendered
    return camera


def table_view(scene, noise=NOISE, seed=1, size=(CAMERA.width, CAMERA.height)):
    """The view of a scene, the arm at home; raises SceneError where the scene cannot be built."""
    config = replace(CAMERA, width=size[0], height=size[1])
    model = build_model(scene, config)
    camera = OverheadCamera(model, config, noise, seed=seed)
    try:
        frame = camera.render(0.0, home_state(model).qpos)
    finally:
        camera.close()
    return TableView(frame.rgb, frame.depth, Intrinsics.of_view(config.fovy, *size))
