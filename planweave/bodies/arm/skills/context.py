"""Context of all skills: arm, camera, world and motion; and steps and queries shared by several skills."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import Arm, ArmState, MotionResult, Watch
from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import NOTHING, Grasp
from planweave.bodies.arm.hand_force import ForceWatch, HandForce
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.motion_execution import Mover
from planweave.bodies.arm.placement_sampling import UP
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import GuardedArm, Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.visual_check import VisualCheck
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.errors import UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.transition import rule_problem
from planweave.core.symbolic.world import Action, Literal
from planweave.geometry.arrays import Array
from planweave.robots.description import GripperDescription

_BLOCKED = 0.02  # m around a place to which the arm was held up, in which it does not try again
_TOUCHED = 0.015  # what is put down may touch so much before it is where it should be, m
_THERE = 0.01  # the arm is where it shall be when no joint is further away than this, rad


class SkillContext:
    """The context of a skill.

    tried: grasps that failed in the current action, and in the one before where that was the same, `failed`; blocked:
    places, m, on the way to which with what it puts down something held the arm up in these; pushed: objects it pushed
    aside without being named in the action; ways_on: whether knobs turn on counterclockwise, 1, or clockwise, -1, as it
    was seen.
    """

    def __init__(
        self,
        arm: Arm,
        scene: PlanningScene,
        reaching: ApproachPlanner,
        safety: Safety,
        world: WorldModel,
        settings: SkillSettings,
    ):
        self.arm = GuardedArm(arm, safety)
        self.scene, self.reaching, self.world, self.settings = scene, reaching, world, settings
        self.mover = Mover(self.arm, scene, reaching.planner, world, settings)
        self.sight = VisualCheck(self.arm, world, settings)
        self._force = HandForce(scene)
        self.tried: list[Grasp] = []
        self.blocked: list[tuple[float, float, float]] = []
        self.failed: Action | None = None
        self.pushed: list[str] = []
        self.ways_on: dict[str, float] = {}

    @property
    def gripper(self) -> GripperDescription:
        return self.scene.robot.gripper

    @property
    def ground(self) -> float:
        """Height of what everything stands on, m."""
        return self.scene.table_height

    # ---- knowledge ----------------------------------------------------------------------------------------------

    def thing(self, name: str) -> Thing:
        """An object on the table; raises UNKNOWN_OBJECT."""
        things = {t.name: t for t in self.world.things()}
        if name not in things:
            raise SkillFailureError(Code.UNKNOWN_OBJECT, str(UnknownNameError("object", name, things)), permanent=True)
        return things[name]

    def is_seen(self, name: str) -> bool:
        """Whether the newest look shows an object."""
        return any(t.name == name and t.visible for t in self.world.things())

    def articulation(self, name: str) -> Articulation:
        """The joint of a drawer, door or knob; raises PLANNING_FAILED where none is known."""
        found = self.world.articulation(name)
        if found is None:
            raise SkillFailureError(Code.PLANNING_FAILED, f"nothing is known of how {name} moves", permanent=True)
        return found

    def others(self, *names: str) -> list[Thing]:
        """The objects on the table except the named ones."""
        return [t for t in self.world.things() if t.name not in names]

    def place(self, name: str) -> Location:
        """A named place; raises UNKNOWN_OBJECT."""
        places = {p.name: p for p in self.world.places}
        if name not in places:
            raise SkillFailureError(Code.UNKNOWN_OBJECT, str(UnknownNameError("place", name, places)), permanent=True)
        return places[name]

    def held(self, name: str) -> Held:
        """The object in the gripper; raises PRECONDITION_UNMET where it is another, or none."""
        held = self.world.held
        if held is None or held.thing.name != name:
            what = held.thing.name if held else "nothing"
            raise SkillFailureError(
                Code.PRECONDITION_UNMET, f"the gripper holds {what}, not {name}", (Literal("holding", (name,)),)
            )
        return held

    def may_push(self, name: str) -> bool:
        """Whether no rule forbids to push an object aside."""
        domain, action = self.settings.domain, Action("push_aside", (name,))
        if domain is None or not domain.rules:
            return True
        world = replace(
            self.world.world(), actions_off=frozenset()
        )  # that it is no action of a plan does not count here
        return action.name in domain.actions and not rule_problem(domain, world, action)

    def touched_by_held(self) -> tuple[str, ...]:
        """Objects that the held one overlaps as it stands, in the planning scene: outlines that a camera has measured
        are wider than things are.
        """
        held = self.world.held
        if held is None:
            return ()
        contacts = self.scene.contacts(self.arm.state().positions, 0.0)
        names = {name for c in contacts if held.thing.name in (c.first, c.second) for name in (c.first, c.second)}
        return tuple(sorted(names - {held.thing.name} - self.scene.robot.links))

    def carrying(self, suffix: str = "") -> Watch:
        """A watch of the grip: reports when the held object is no longer between the fingers. A wall, which may lie
        down between them, is lost only where they meet.
        """
        held, settings = self.world.held, self.settings
        least = 0.0 if held is None else held.least or settings.smallest_width / 2
        if held is not None and held.least != NOTHING:
            least = max(least, held.width - settings.slip)

        def watch(state: ArmState) -> MotionResult | None:
            if held is None or state.width > least:
                return None
            return MotionResult(
                Code.GRASP_LOST,
                f"{held.thing.name} slipped out of the gripper{suffix}: fingers {state.width * 1000:.0f} mm apart, "
                f"{held.width * 1000:.0f} mm when it was grasped",
            )

        return watch

    def feel(self, path: Array, what: str) -> ForceWatch:
        """A watch of what will hold the hand back on a path (n, joints), where the arm reports its torques; called
        while it rests and touches nothing. what: it does, for the message.
        """
        return self._force.watch(self.arm.state(), path, self.settings.contact_force, what)

    def seen_elsewhere(self, name: str) -> str:
        """Problem where a look that needs no motion shows that the hand does not hold an object; else empty."""
        if self.settings.observe:
            return ""
        self.sight.look()
        return "" if self.world.held is not None else f"the hand was lifted, but {name} is not seen in it"

    # ---- steps --------------------------------------------------------------------------------------------------

    def go_observe(self) -> None:
        """Move out of the camera's view, with the held object; nowhere where no camera's view matters."""
        if self.settings.observe:
            self.go_aside()

    def go_aside(self) -> None:
        """Move out of the camera's view, or where no pose is known for that, home, with the held object."""
        aside = self.settings.observe or self.scene.robot.home
        self.go_to(aside, ("retreating", 0.8), ("retreating", 0.85))

    def go_to(self, joints: Sequence[float], planning: tuple[str, float], moving: tuple[str, float]) -> None:
        """Move to joint positions (n,) rad, with the held object; does nothing where the arm is there already.

        planning, moving: names and progress of the phases.
        """
        goal = np.array(joints)
        if np.abs(self.arm.state().positions - goal).max() < _THERE:
            return
        with self.mover.planning(planning[1], planning[0]) as start:
            path = self.reaching.planner.plan(start, [goal], self.settings.planning_seconds)
        self.mover.move(path, *moving, watch=self.carrying())

    def rise(self, height: float) -> None:
        """Move the hand straight up, by a height (m) or as far as the arm can."""
        with self.mover.planning(0.85, "retreating") as start:
            line = self.reaching.planner.longest_line(start, UP, height)
        if line is not None:
            self.mover.move(line, "retreating", 0.85)

    def touched_down(self, line: Array) -> Array | None:
        """The part of a line (n, joints) that the arm has gone where it stopped at most as far before its end as the
        ground may be higher than it was seen; None where it is farther away.
        """
        now, forward = self.arm.state().positions, self.reaching.kinematics.forward
        if math.dist(forward(now)[:3, 3], forward(line[-1])[:3, 3]) > _TOUCHED:
            return None
        nearest = int(np.linalg.norm(line - now, axis=1).argmin())
        return np.vstack([line[: max(nearest, 1)], now])

    def leave_out_touched(self) -> None:
        """Take out of the planning scene what the hand touches already, for the way back out of there."""
        contacts = self.scene.contacts(self.arm.state().positions, 0.0)
        touched = {name for contact in contacts for name in (contact.first, contact.second)}
        self.scene.update(t for t in self.world.things() if t.name not in touched)

    def look_anew(self) -> None:
        """Move out of the camera's view and take a fresh look."""
        self.go_observe()
        self.sight.look()

    def was_blocked(self, x: float, y: float) -> bool:
        """Whether something held the arm up on its way to put something down there, or nearby."""
        return any(math.dist((x, y), place[:2]) < _BLOCKED for place in self.blocked)

    def forget_failed(self) -> None:
        """Let grasps and places that failed be tried again."""
        self.tried.clear()
        self.blocked.clear()

    def draw_back(self) -> None:
        """After a lost grasp: open the hand, move out of the camera's view, and take a fresh look."""
        if self.world.held is not None:
            self.world.released(None)
        if self.arm.state().width < self.gripper.opening - 0.002:
            self.mover.grip(self.gripper.opening)
        self.look_anew()
