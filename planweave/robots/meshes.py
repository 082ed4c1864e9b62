"""Meshes of a robot model in fewer numbers: what collides is a convex hull anyway, and what is seen is seen from afar.

A link's mesh of 20,000 faces costs every program that loads it some megabytes, and a renderer three times as much.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planweave.core.base.memory import no_mesh_cache
from planweave.robots.model import robot_spec

if TYPE_CHECKING:
    import mujoco

    from planweave.robots.description import RobotDescription

DETAIL = 0.005
"""Edge of the cubes of which one vertex of a mesh that is only seen remains, m."""


def simplified_spec(robot: RobotDescription, model_path: str | None = None, *, seen: bool = True) -> mujoco.MjSpec:
    """`robot_spec` with its meshes simplified, the caller's own; that of a robot's own model is worked out once in a
    process, which takes half a second.
    """
    if model_path:
        spec = robot_spec(robot, model_path)
        simplify_meshes(spec, seen=seen)
        return spec
    return _simplified(robot, seen).copy()


@lru_cache(maxsize=4)
def _simplified(robot: RobotDescription, seen: bool) -> mujoco.MjSpec:
    spec = robot_spec(robot)
    simplify_meshes(spec, seen=seen)
    return spec


def simplify_meshes(spec: mujoco.MjSpec, *, seen: bool = True) -> None:
    """Give each geom that collides the convex hull of its mesh as a mesh, and each other one a coarser mesh; seen:
    whether geoms are kept that collide with nothing.

    Hulls have the vertices that MuJoCo would use (its ``maxhullvert``). Inertia of bodies that state none is that of
    the whole meshes.
    """
    import mujoco

    with no_mesh_cache():
        model = spec.compile() if spec.meshes else None
    if not seen:
        for geom in list(spec.geoms):
            if not (geom.contype or geom.conaffinity):
                spec.delete(geom)
    if model is None:
        return
    for body in spec.bodies:
        if not body.explicitinertial and body.name and (known := model.body(body.name)).mass[0] > 0.0:
            body.mass, body.ipos, body.iquat, body.inertia = known.mass[0], known.ipos, known.iquat, known.inertia
            body.explicitinertial = True
    for mesh in list(spec.meshes):
        index = model.mesh(mesh.name).id
        vertices = _vertices(model, index)
        users = [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_MESH and g.meshname == mesh.name]
        solid = [g for g in users if g.contype or g.conaffinity]
        if solid:
            hull = spec.add_mesh(name=f"{mesh.name}_hull", maxhullvert=mesh.maxhullvert)
            hull.uservert = vertices[_hull_vertices(model, index)].astype(np.float32).ravel()
        if len(users) > len(solid):
            faces, coordinates, corners = _faces(model, index)
            vertices, faces, kept = _clustered(vertices, faces)
            coarse = spec.add_mesh(name=f"{mesh.name}_seen")
            coarse.uservert, coarse.userface = vertices.astype(np.float32).ravel(), faces.ravel()
            if corners is not None:
                used, numbers = np.unique(corners[kept], return_inverse=True)
                coarse.usertexcoord = coordinates[used].ravel()
                coarse.userfacetexcoord = numbers.astype(np.int32).ravel()
        for geom in users:
            geom.meshname = f"{mesh.name}_hull" if geom in solid else f"{mesh.name}_seen"
        if not any(g.meshname == mesh.name for g in spec.geoms):  # a box or capsule may be fitted to it
            spec.delete(mesh)


def _vertices(model: mujoco.MjModel, index: int) -> NDArray[np.float64]:
    """Vertices of a mesh, (n, 3) m, in the frame of its file; a compiled one has them in that of its inertia."""
    import mujoco

    start = model.mesh_vertadr[index]
    own = model.mesh_vert[start : start + model.mesh_vertnum[index]].astype(np.float64)
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[index])
    placed: NDArray[np.float64] = own @ turn.reshape(3, 3).T + model.mesh_pos[index]
    return placed


def _hull_vertices(model: mujoco.MjModel, index: int) -> NDArray[np.int32]:
    """Numbers of the vertices of a mesh's convex hull."""
    graph = model.mesh_graph[model.mesh_graphadr[index] :]
    numbers: NDArray[np.int32] = graph[2 + graph[0] : 2 + 2 * graph[0]]
    return numbers


def _faces(
    model: mujoco.MjModel, index: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32] | None]:
    """Faces (n, 3) of a mesh; its texture coordinates (m, 2); and those of each face's corners (n, 3), if any."""
    faces = slice(model.mesh_faceadr[index], model.mesh_faceadr[index] + model.mesh_facenum[index])
    first, count = model.mesh_texcoordadr[index], model.mesh_texcoordnum[index]
    if first < 0:
        return model.mesh_face[faces], np.empty((0, 2), np.float32), None
    return model.mesh_face[faces], model.mesh_texcoord[first : first + count], model.mesh_facetexcoord[faces]


def _clustered(
    vertices: NDArray[np.float64], faces: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.bool_]]:
    """Vertices of one cube of space become their mean (vertex clustering: Rossignac and Borrel 1993); which faces
    are left, that have three corners still.
    """
    cubes = np.floor((vertices - vertices.min(axis=0)) / DETAIL).astype(np.int64)
    _, cluster, sizes = np.unique(cubes, axis=0, return_inverse=True, return_counts=True)
    cluster = cluster.reshape(-1)
    means = np.stack([np.bincount(cluster, weights=vertices[:, k]) / sizes for k in range(3)], axis=1)
    corners = cluster[faces]
    kept = (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 0] != corners[:, 2])
    return means, corners[kept].astype(np.int32), kept
