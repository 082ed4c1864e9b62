"""A robot in the page's 3D scene, posed by its joint positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planweave.core.base.memory import no_mesh_cache
from planweave.robots.description import RobotDescription
from planweave.robots.meshes import simplified_spec
from planweave.robots.model import TCP_SITE, VISUAL_GROUP, finger_joints

if TYPE_CHECKING:
    import mujoco
    import viser

Array = NDArray[np.float64]
_GHOST = (90, 170, 255)  # colour of a robot that is not there
_ARC, _REACHED = 97, (80, 170, 120)  # points and colour of an arc


class RobotView:
    """The meshes of a robot below a node of the scene."""

    def __init__(
        self,
        scene: viser.SceneApi,
        robot: RobotDescription,
        model_path: str | None = None,
        root: str = "/robot",
        opacity: float | None = None,
    ):
        import mujoco

        self._mj, self._scene = mujoco, scene
        spec = simplified_spec(robot, model_path)
        with no_mesh_cache():
            self.model = model = spec.compile()
        self._data = mujoco.MjData(model)
        self._joints = np.array([model.joint(name).qposadr[0] for name in robot.joint_names])
        self._fingers = np.array([model.joint(name).qposadr[0] for name in finger_joints(robot)])
        self._robot, self._root, self._gripper, self._opacity = robot, root, robot.gripper, opacity
        self._tool = model.site(TCP_SITE).id
        self._frame = scene.add_frame(root, show_axes=False)
        self._links: list[tuple[int, Any]] = []
        for body in range(1, model.nbody):
            geoms = [g for g in range(model.ngeom) if model.geom_bodyid[g] == body]
            seen = [g for g in geoms if model.geom_group[g] == VISUAL_GROUP] or geoms
            if seen:
                name = f"{root}/{model.body(body).name or body}"
                self._links.append((body, scene.add_frame(name, show_axes=False)))
                self._add(name, seen)
        self.move(np.array(robot.home), robot.gripper.opening)

    def move(self, positions: Array, width: float) -> None:
        """Show joint positions (n,), rad, and an opening of the fingers, m."""
        self._forward(positions, width)
        for body, frame in self._links:
            frame.position = self._data.xpos[body]
            frame.wxyz = self._data.xquat[body]

    def show_reach(self, nearest: float, farthest: float) -> None:
        """Show as two arcs, on the foot's level, how near to and how far from the base (m) things can be taken."""
        angles = np.linspace(self._robot.lower[0], self._robot.upper[0], _ARC)
        for name, radius in (("nearest", nearest), ("farthest", farthest)):
            around = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(_ARC)], axis=1)
            pieces = np.stack([around[:-1], around[1:]], axis=1).astype(np.float32)
            self._scene.add_line_segments(f"{self._root}/reach_{name}", pieces, colors=_REACHED, thickness=0.004)

    def pose(self, row: Array) -> None:
        """Show positions of arm and gripper's joints, as the rows of a preview."""
        self.move(*self._split(row))

    def tool(self, row: Array) -> Array:
        """Pose (4, 4) of the tool centre point in the base frame for such positions; shows nothing."""
        self._forward(*self._split(row))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self._data.site_xmat[self._tool].reshape(3, 3), self._data.site_xpos[self._tool]
        return pose

    def _split(self, row: Array) -> tuple[Array, float]:
        count = len(self._joints)
        return row[:count], self._gripper.width(row[count:].tolist())

    def _forward(self, positions: Array, width: float) -> None:
        self._data.qpos[self._joints] = positions
        self._data.qpos[self._fingers] = width / 2
        self._mj.mj_kinematics(self.model, self._data)

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return bool(self._frame.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._frame.visible = visible

    def place(self, position: tuple[float, float, float], turn: tuple[float, float, float, float]) -> None:
        """Put the base at a position (m) and an orientation (w, x, y, z) in the frame of the scene."""
        self._frame.position, self._frame.wxyz = position, turn

    def _add(self, name: str, geoms: Iterable[int]) -> None:
        model = self.model
        for geom in geoms:
            vertices, faces = _mesh(self._mj, model, geom)
            material = model.geom_matid[geom]
            colour = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
            self._scene.add_mesh_simple(
                f"{name}/{geom}",
                vertices,
                faces,
                color=(255 * colour[:3]).astype(np.uint8) if self._opacity is None else _GHOST,
                position=model.geom_pos[geom],
                wxyz=model.geom_quat[geom],
                opacity=self._opacity,
                cast_shadow=self._opacity is None,
            )


def _mesh(mj: Any, model: mujoco.MjModel, geom: int) -> tuple[Array, NDArray[np.int32]]:
    """Vertices (n, 3), m, and faces (m, 3) of a geom in its own frame."""
    kind, size, types = model.geom_type[geom], model.geom_size[geom], mj.mjtGeom
    if kind == types.mjGEOM_MESH:
        index = model.geom_dataid[geom]
        first, start = model.mesh_vertadr[index], model.mesh_faceadr[index]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[index]]
        return vertices, model.mesh_face[start : start + model.mesh_facenum[index]]
    from trimesh import creation

    made: Any
    if kind == types.mjGEOM_BOX:
        made = creation.box(2 * size)
    elif kind == types.mjGEOM_SPHERE:
        made = creation.icosphere(2, size[0])
    elif kind == types.mjGEOM_CYLINDER:
        made = creation.cylinder(size[0], 2 * size[1], sections=24)
    else:
        made = creation.capsule(2 * size[1], size[0], count=[12, 12])
    return made.vertices, made.faces
