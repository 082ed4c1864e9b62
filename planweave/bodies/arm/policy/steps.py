"""A policy's actions as joint positions, each step checked against what the robot can and may do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.policy.contract import Contract
from planweave.bodies.arm.safety import Safety
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array
from planweave.geometry.joints import turn


class PolicyStep(NamedTuple):
    """Joint positions (n,) rad, and whether the fingers are closed."""

    joints: Array
    closed: bool


def steps_of(contract: Contract, actions: Array, start: Array, safety: Safety) -> list[PolicyStep]:
    """The steps that a chunk (chunk, width) commands from joint positions `start` (n,) rad, of those to be executed.

    Raises SkillFailureError (CONTROL_FAILED) at the first that no motion of this robot may have: out of reach, beyond a
    limit of joints or workspace, or farther than the robot's joints go in one step of the policy.
    """
    found: list[PolicyStep] = []
    kinematics, before = safety.kinematics, start
    opened, closed = contract.gripper
    for number, row in enumerate(actions[: contract.execute], 1):
        try:
            joints = _joints(contract, row[:-1], before, kinematics)
            safety.check_step(before, joints, 1.0 / contract.rate)
        except SkillFailureError as error:
            raise SkillFailureError(
                Code.CONTROL_FAILED, f"step {number} of the policy is refused: {error.message}"
            ) from None
        found.append(PolicyStep(joints, abs(row[-1] - closed) < abs(row[-1] - opened)))
        before = joints
    return found


def _joints(contract: Contract, row: Array, before: Array, kinematics: Kinematics) -> Array:
    if contract.kind == "joint_positions":
        return row * contract.scale[0]
    if contract.kind == "joint_deltas":
        return before + row * contract.scale[0]
    pose = kinematics.forward(before)
    about = row[3:] * contract.scale[1]
    angle = float(np.linalg.norm(about))
    pose[:3, 3] += row[:3] * contract.scale[0]
    if angle > 1e-9:
        pose[:3, :3] = turn(about / angle, angle) @ pose[:3, :3]
    path = kinematics.along(before, [pose])
    if path is None:
        raise SkillFailureError(Code.UNREACHABLE, "the tool does not get there without a jump of the joints")
    return np.asarray(path[-1])
