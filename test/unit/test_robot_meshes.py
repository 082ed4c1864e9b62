"""Robot meshes in fewer numbers: the same hulls, the same masses, about the same looks."""

import mujoco
import numpy as np
import pytest

from planweave.robots import load_robot, meshes
from planweave.robots.model import robot_spec

pytestmark = pytest.mark.slow
FR3 = load_robot()


@pytest.fixture(scope="module")
def whole():
    return robot_spec(FR3).compile()


def simplified(**options):
    spec = robot_spec(FR3)
    meshes.simplify_meshes(spec, **options)
    return spec.compile()


def posed(model):
    data = mujoco.MjData(model)
    data.qpos[:7] = FR3.home
    mujoco.mj_forward(model, data)
    return data


def hull(model, data, name):
    """Vertices of a geom's convex hull in the world, sorted."""
    geom = model.geom(name)
    mesh = int(geom.dataid[0])
    first = model.mesh_vertadr[mesh]
    points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]][meshes._hull_vertices(model, mesh)]
    at = points @ data.geom_xmat[geom.id].reshape(3, 3).T + data.geom_xpos[geom.id]
    return at[np.lexsort(np.round(at, 4).T)]


def test_what_collides_and_what_weighs_is_the_same(whole):
    fewer = simplified()
    before, after = posed(whole), posed(fewer)
    names = [name for i in range(whole.ngeom) if (name := whole.geom(i).name).endswith("_collision")]
    assert len(names) == 9
    for name in names:
        assert hull(fewer, after, name) == pytest.approx(hull(whole, before, name), abs=1e-5)
    assert fewer.body_mass == pytest.approx(whole.body_mass, abs=1e-9)
    assert after.xipos == pytest.approx(before.xipos, abs=1e-6)
    assert fewer.body_inertia == pytest.approx(whole.body_inertia, abs=1e-9)


def test_what_is_seen_has_less_than_half_the_faces_and_stays_where_it_was(whole):
    fewer = simplified()
    assert fewer.nmeshface < whole.nmeshface / 2
    assert fewer.mesh_texcoordnum.max() > 0  # the colours of its parts
    for link in range(8):
        mesh = fewer.mesh(f"link{link}_seen").id
        coarse, fine = meshes._vertices(fewer, mesh), meshes._vertices(whole, whole.mesh(f"link{link}").id)
        for bound in (np.min, np.max):
            assert bound(coarse, axis=0) == pytest.approx(bound(fine, axis=0), abs=meshes.DETAIL)


def test_a_model_that_nobody_looks_at_has_hulls_alone():
    fewer = simplified(seen=False)
    assert not [name for i in range(fewer.nmesh) if not (name := fewer.mesh(i).name).endswith("_hull")]
    assert fewer.nmeshvert < 1000
    assert all(fewer.geom_contype[i] or fewer.geom_conaffinity[i] for i in range(fewer.ngeom))


@pytest.mark.parametrize("seen", [True, False])
def test_a_box_that_is_fitted_to_a_mesh_keeps_it(tmp_path, seen):
    corners = "\n".join(f"v {x} {y} {z}" for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3))
    sides = "1 2 4\nf 1 4 3\nf 5 8 6\nf 5 7 8\nf 1 6 2\nf 1 5 6\nf 3 4 8\nf 3 8 7\nf 1 3 7\nf 1 7 5\nf 2 6 8\nf 2 8 4"
    (tmp_path / "a.obj").write_text(f"{corners}\nf {sides}\n")
    spec = mujoco.MjSpec.from_string(f"""
        <mujoco><compiler meshdir="{tmp_path}"/><asset><mesh name="a" file="a.obj"/></asset>
        <worldbody><body name="b"><geom type="box" mesh="a"/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>
    """)
    before = spec.compile()
    meshes.simplify_meshes(spec, seen=seen)
    after = spec.compile()
    assert after.geom_type.tolist() == before.geom_type.tolist()
    assert after.geom_size[0] == pytest.approx(before.geom_size[0])
    assert after.body_mass == pytest.approx(before.body_mass)


def test_a_model_without_meshes_stays_as_it_is():
    spec = mujoco.MjSpec.from_string("<mujoco><worldbody><body><geom size='0.1'/></body></worldbody></mujoco>")
    meshes.simplify_meshes(spec)
    assert spec.compile().ngeom == 1


@pytest.mark.parametrize("seen", [True, False])
def test_a_simplified_robot_is_worked_out_once_and_each_caller_gets_its_own(seen):
    first = meshes.simplified_spec(FR3, seen=seen)
    first.delete(first.body(FR3.gripper.link))
    first.compile()
    second, plain = meshes.simplified_spec(FR3, seen=seen).compile(), simplified(seen=seen)
    for field in ("mesh_vert", "mesh_face", "body_mass", "body_inertia", "geom_pos", "geom_rgba", "jnt_range"):
        assert np.array_equal(getattr(second, field), getattr(plain, field)), field
    assert meshes._simplified.cache_info().currsize <= 4
