"""Carry out an action by a learned policy: observation out, a chunk of steps in, each checked, some of them made.

The arm rests between two chunks, and moves at the pace of its own limits near objects. A policy does not say when it is
done: it ends when the effect is seen, when it has stood still for a while, or when its time is up; what came of it is
looked at, as after every skill.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.effects import expected, unmet
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.held import between_fingers
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.policy.contract import CameraInput, Contract, load_contract
from planweave.bodies.arm.policy.openpi import OpenpiClient, PolicyError
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave.geometry.arrays import Array
from planweave.geometry.joints import turn

_STILL = 0.004  # rad that no joint goes in a chunk in which the policy stands still
_STANDS = 4  # such chunks after which it has ended
_SHUT = 0.5  # share of the opening below which fingers count as closed


class PolicySkill:
    """See `planweave.bodies.arm.skills.door.Skill`. text: name or path of the policy's contract."""

    planned = False

    def __init__(self, text: str = "") -> None:
        if not text:
            raise ConfigError(
                "policy: name its contract after a colon, as in policy:droid (config/policies/droid.yaml)"
            )
        self.contract, self._name = load_contract(text), text
        self._client: OpenpiClient | None = None

    def can(self, context: SkillContext, action: Action) -> str:
        """Any action of the domain, by its phrase, with a robot that fits the contract."""
        domain, count = context.settings.domain, context.scene.robot.count
        if domain is None or action.name not in domain.actions:
            return "what it is for is not known"
        if count != self.contract.joints:
            return f"{self._name} is for {self.contract.joints} joints, {context.scene.robot.name} has {count}"
        return ""

    def run(self, context: SkillContext, action: Action) -> None:
        """Let the policy act until the action's effect is seen, it stands still, or its time is up."""
        assert context.settings.domain is not None
        domain, contract = context.settings.domain, self.contract
        client = self._client = self._client or OpenpiClient(contract, context.arm.check)
        client.check = context.arm.check
        facts, instruction = expected(domain, context.world.world(), action), domain.phrase(action)
        end, still = time.monotonic() + contract.seconds, 0
        while time.monotonic() < end and still < _STANDS:
            state = context.arm.state()
            with context.mover.thinking("asking the policy", 0.1):
                try:
                    actions = client.infer(_observation(context, contract, state, instruction))
                except PolicyError as error:
                    raise SkillFailureError(Code.CONTROL_FAILED, str(error)) from None
            with context.mover.thinking("checking the policy's steps", 0.2):
                context.mover.update_scene()
                steps = steps_of(contract, actions, state.positions, context.arm.safety)
            moved = _make(context, steps, _touched(context, action.args))
            still = 0 if moved else still + 1
            if not unmet(facts, context.world.world()):
                break
        context.mover.update_scene()
        context.mover.rise_if_close()


def _observation(context: SkillContext, contract: Contract, state: ArmState, instruction: str) -> dict[str, object]:
    found: dict[str, object] = {contract.prompt: instruction}
    for key, camera in contract.pictures.items():
        found[key] = _picture(context, camera)
    pose = context.reaching.kinematics.forward(state.positions)
    opened, closed = contract.gripper
    share = min(max(state.width / context.gripper.opening, 0.0), 1.0)
    parts = {
        "joints": state.positions,
        "gripper": np.array([closed + share * (opened - closed)]),
        "tool_position": pose[:3, 3],
        "tool_turn": cv2.Rodrigues(pose[:3, :3])[0][:, 0],
        "fingers": np.array([state.width / 2, -state.width / 2]),
    }
    for key, names in contract.state.items():
        found[key] = np.concatenate([parts[name] for name in names])
    return found


def _picture(context: SkillContext, camera: CameraInput) -> NDArray[np.uint8]:
    """A camera's picture as declared; raises CONTROL_FAILED where there is none."""
    picture = context.settings.pictures(camera.camera, context.arm.check)
    if picture is None:
        raise SkillFailureError(
            Code.CONTROL_FAILED, f"there is no fresh picture of the camera {camera.camera}, which the policy needs"
        )
    height, width = picture.shape[:2]
    scale = camera.size / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    across, down = camera.size - size[0], camera.size - size[1]
    resized = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    border = down // 2, down - down // 2, across // 2, across - across // 2
    padded = cv2.copyMakeBorder(resized, *border, cv2.BORDER_CONSTANT, value=(0, 0, 0))
    return np.ascontiguousarray(padded[::-1, ::-1] if camera.turned else padded, dtype=np.uint8)


def _touched(context: SkillContext, names: Iterable[str]) -> tuple[str, ...]:
    """What fingers and held object may touch: the things that the action names, and those of whose parts it does."""
    found = set(names)
    for name in names:
        part = context.world.articulation(name)
        if part is not None:
            found.add(part.thing)
    return tuple(sorted(found))


def _make(context: SkillContext, steps: list[PolicyStep], touching: tuple[str, ...]) -> bool:
    """Make the steps up to the first that opens or closes the fingers, and that; whether anything moved."""
    start = context.arm.state()
    closed = context.world.held is not None or start.width < _SHUT * context.gripper.opening
    count = next((n for n, step in enumerate(steps) if step.closed != closed), len(steps))
    path = np.array([start.positions, *(step.joints for step in steps[: count + 1])])
    moved = bool(np.abs(path - start.positions).max() > _STILL)
    if moved:
        touching = tuple({*touching, *context.touched_by_held()})
        context.mover.move(path, "by the policy", 0.5, slow=True, touching=touching, watch=context.carrying())
    if count == len(steps):
        return moved
    if closed:
        _open(context)
    else:
        _close(context, touching)
    return True


def _close(context: SkillContext, allowed: tuple[str, ...]) -> None:
    """Close the fingers on what the action names, or on nothing; raises COLLISION before they close on another."""
    state, scene = context.arm.state(), context.scene
    scene.set_opening(0.0)
    between = {name for c in scene.contacts(state.positions, 0.0) for name in (c.first, c.second)} - scene.robot.links
    scene.set_opening(state.width)
    other = sorted(between - set(allowed))
    if other:
        raise SkillFailureError(Code.COLLISION, f"the policy would close the fingers on {other[0]}; they did not move")
    width = context.mover.grip(0.0).width
    thing = next((t for t in context.world.things() if t.name in between and t.type == "item"), None)
    if thing is not None and width > context.settings.smallest_width:
        context.world.grasped(between_fingers(thing, context.reaching.kinematics.forward(state.positions), width))


def _open(context: SkillContext) -> None:
    """Open the fingers; what they held is where they let it go, until it is seen."""
    held, pose = context.world.held, context.reaching.kinematics.forward(context.arm.state().positions)
    context.mover.grip(context.gripper.opening)
    if held is not None:
        put: Thing = held.seen_from(pose)
        context.world.released(put)


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
