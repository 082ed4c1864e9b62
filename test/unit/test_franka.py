"""The Franka model: names, limits, frames, and what is said when its meshes are missing."""

from __future__ import annotations

import sys
from importlib import metadata

import numpy as np
import pytest
from codes import raises_code

from planweave.robots import load_robot
from planweave.robots.model import TCP_SITE, robot_spec

FR3 = load_robot()


@pytest.fixture(scope="module")
def model():
    return robot_spec(FR3).compile()


def test_importing_the_module_does_not_import_mujoco():
    import subprocess

    code = "import sys, planweave.robots.franka, planweave.robots.model; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_joints_come_first_with_the_fr3s_limits(model):
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names == [*FR3.joint_names, *FR3.gripper.joints]
    assert model.jnt_range[:7, 0] == pytest.approx(FR3.lower)
    assert model.jnt_range[:7, 1] == pytest.approx(FR3.upper)
    assert model.jnt_range[7:] == pytest.approx(np.array([[0, 0.04], [0, 0.04]]))
    assert (model.jnt_range[:7, 0] < FR3.home).all() and (model.jnt_range[:7, 1] > FR3.home).all()


def test_no_actuators_no_gravity_compensation_no_negative_damping(model):
    assert model.nu == 0
    assert not model.body_gravcomp.any()
    assert (model.dof_damping > 0).all()


def test_tcp_at_home_points_down_between_open_fingers_without_contact(model):
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:7], data.qpos[7:] = FR3.home, 0.04
    mujoco.mj_forward(model, data)
    site = data.site(TCP_SITE)
    assert site.xpos == pytest.approx([0.3069, 0.0, 0.4869], abs=1e-3)
    assert site.xmat.reshape(3, 3)[:, 2] == pytest.approx([0, 0, -1], abs=1e-3)
    left, right = (data.geom(f"fr3_{side}finger_pad").xpos for side in ("left", "right"))
    assert (left + right)[:2] / 2 == pytest.approx(site.xpos[:2], abs=1e-3)
    assert abs((left - right) @ site.xmat.reshape(3, 3)[:, 1]) == pytest.approx(0.08 + 2 * 0.0072, abs=1e-3)
    assert data.ncon == 0


def test_missing_meshes_are_named_with_the_command_that_installs_them(monkeypatch):
    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", none)
    with raises_code("configuration", "pip install --no-deps dm-robotics-panda"):
        robot_spec(FR3)


@pytest.mark.parametrize("prefix", ["panda_", ""])
def test_a_users_own_model_is_read_with_its_names_mapped(tmp_path, model, prefix):
    spec = robot_spec(FR3)
    for element in [*spec.joints, *spec.bodies]:
        element.name = element.name.replace("fr3_", prefix)
    for equality in spec.equalities:
        equality.name1, equality.name2 = (name.replace("fr3_", prefix) for name in FR3.gripper.joints)
    spec.compile()
    path = tmp_path / "own.xml"
    path.write_text(spec.to_xml())
    own = robot_spec(FR3, str(path)).compile()
    assert [own.joint(i).name for i in range(own.njnt)] == [*FR3.joint_names, *FR3.gripper.joints]
    assert own.site(TCP_SITE).id >= 0


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (None, ()),
        ("<mujoco><worldbody></mujoco>", "XML parse error"),
        ("<mujoco><worldbody><body name='x'/></worldbody></mujoco>", ("Franka Research 3", "fr3_joint1")),
    ],
)
def test_a_wrong_model_file_is_refused_with_its_name(tmp_path, text, data):
    path = tmp_path / "own.xml"
    if text is not None:
        path.write_text(text)
    with raises_code("configuration", data) as caught:
        robot_spec(FR3, str(path))
    assert str(path) in str(caught.value)
