"""The simulated kitchen as its three cameras see it, without ROS: images to perception, as the nodes have them."""

import copy
import copyreg
import types

import mujoco
import numpy as np

from doubles.table_view import rendering_once
from planweave.core.base.paths import find_config
from planweave.core.symbolic.domain import Domain
from planweave.perception.calibration import load_extrinsics
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics
from planweave.perception.joint_history import JointHistory
from planweave.perception.perceiver import Perceiver
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera
from planweave.simulation.mujoco_model import build_model, camera_name, fixture_body, object_body
from planweave.simulation.scene import load_scene, parse_scene
from planweave.simulation.simulator import Simulator

copyreg.pickle(types.MappingProxyType, lambda view: (types.MappingProxyType, (dict(view),)))  # so that they are copied
NAMES = ("overhead", "left", "right")


class SeenKitchen:
    """A scene with the arm out of the way, and a perceiver that looks at it."""

    def __init__(self, fixtures=None, cameras=NAMES):
        """fixtures: lines of a scene file in place of the scene kitchen's own."""
        path = find_config("scenes", "kitchen")
        scene = load_scene(str(path)) if fixtures is None else parse_scene(fixtures, path)
        configs = [load_camera(name) for name in cameras]
        self.simulator = Simulator(build_model(scene, configs), scene)
        self._eyes = {}  # camera, intrinsics and pose by name
        for k, (name, config) in enumerate(zip(cameras, configs)):
            camera = rendering_once(OverheadCamera(self.simulator.model, config, DepthNoise(), name=camera_name(k)))
            intrinsics = Intrinsics.of_view(config.fovy, config.width, config.height)
            self._eyes[name] = camera, intrinsics, load_extrinsics(name)
        self.data = self.simulator._data
        self.data.qpos[self.simulator._arm] = self.simulator.robot.observe
        self._first = self.data.qpos.copy()
        self._above, self._domain = load_extrinsics(), Domain.load("kitchen")
        self.begin()

    def begin(self, seen=None):
        """All as it was at first, and nothing known but what `kept` gave after some looks."""
        self.data.qpos[:] = self._first
        self.perceiver, self._looks = copy.deepcopy(seen) or (Perceiver(self._above, domain=self._domain), 0)

    def kept(self):
        """What is known now, and after how many looks."""
        return copy.deepcopy((self.perceiver, self._looks))

    def move(self, index, part, value):
        """Open or turn a part of a fixture, m or rad."""
        self.data.joint(fixture_body(index, part)).qpos[0] = value

    def put(self, index, position, turned=()):
        """Put an object somewhere, m. turned: quaternion w, x, y, z, by default as it is."""
        place = (*position, *turned)
        self.data.joint(object_body(index)).qpos[: len(place)] = place

    def look(self, times=1, off=(0.0, 0.0, 0.0), cameras=NAMES, wrong="left", scale=1.0):
        """What perception makes of the next images. off: by which the pose of the camera `wrong` is wrong, m; scale: of
        its depth.
        """
        for _ in range(times):
            self._looks += 1
            result = self._look(cameras, (wrong, np.array(off), scale))
        return result

    def _look(self, cameras, wrong):
        mujoco.mj_forward(self.simulator.model, self.data)
        state = self.simulator.snapshot()
        robot = self.simulator.robot
        joints = JointHistory(robot=robot)
        positions, _ = self.simulator.joint_state()
        joints.add(0.0, dict(zip([*robot.joint_names, *robot.gripper.joints], positions.tolist())))
        now = joints.at(0.0, 0.0)
        above, *sides = (self._view(name, float(self._looks), state.qpos, now, wrong) for name in cameras)
        return self.perceiver.process(float(self._looks), above.rgb, above.depth, above.intrinsics, now, (), sides)

    def _view(self, name, stamp, qpos, robot, wrong=("", 0.0, 1.0)):
        """What a camera shows."""
        camera, intrinsics, extrinsics = self._eyes[name]
        pose = extrinsics.camera_to_base(robot)
        camera._rng = np.random.default_rng(self._looks)  # so that the noise is that of the look
        frame = camera.render(stamp, qpos)
        depth = frame.depth
        if name == wrong[0]:
            pose, depth = type(pose)(pose.rotation, pose.translation + wrong[1]), depth * np.float32(wrong[2])
        return DepthView(name, frame.rgb, depth, intrinsics, pose, carried=not extrinsics.fixed)
