"""Preview of a plan: the skills themselves run against an arm that is predicted, in a predicted world. Nothing moves.

The skills plan, time and check every motion as they do before a real one; only what follows a trajectory, closes
fingers and looks is predicted here. A step therefore begins in the world that the steps before it leave behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planweave.bodies.arm import preconditions
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.arms.base import ArmState, Watch
from planweave.bodies.arm.arms.grippers import FINGER_SPEED
from planweave.bodies.arm.contents import joints_of
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.skills.hand_over import WAITING
from planweave.bodies.arm.timing import PERIOD, Trajectory
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.errors import PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.workflow.step_motion import SEEN_WITHIN, Carried, StepMotion
from planweave.geometry.arrays import Array
from planweave.geometry.rotations import quaternion_from_rotation

_KEEP = 3  # every so many points of a trajectory are told, and looked at for clearance
_TOUCHING = 0.002  # what is so near to fingers or held object at an end of a motion is touched on purpose, m
_AT_HANDLE = 0.01  # m around a handle's bar within which the fingers are at it
_CLOSING = 0.001  # step of fingers that close until they touch, m


class PredictedArm:
    """An arm that is at once where a trajectory ends; see `planweave.bodies.arm.arms.base.Arm`. Records the motion.

    check: raises SkillFailureError where the preview must end.
    """

    def __init__(self, scene: PlanningScene, kinematics: Kinematics, start: ArmState, check: Callable[[], None]):
        self._scene, self._kinematics, self._check = scene, kinematics, check
        self._state = replace(start, velocities=np.zeros_like(start.positions), finger_speed=0.0)
        self.world: PredictedWorld | None = None
        self.taken = False  # a person has pulled the held object out of the fingers
        self.begin(())

    def begin(self, touched: Sequence[str]) -> None:
        """Begin a step, which may touch these objects."""
        self._touched = frozenset(touched)
        self._times: list[float] = [0.0]
        self._rows: list[Array] = [self._row()]
        self._length, self._nearest = 0.0, (SEEN_WITHIN, "")

    # ---- as an arm

    def state(self) -> ArmState:
        self._check()
        return self._state

    def check(self) -> None:
        self._check()

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Record the motion; the arm is at its end. Nothing slips, so that nothing is watched for."""
        self._check()
        kept = [*range(0, len(trajectory.times) - 1, _KEEP), len(trajectory.times) - 1]
        rows = trajectory.positions[kept]
        points = np.array([self._kinematics.forward(q)[:3, 3] for q in rows])
        self._length += float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        self._measure(rows)
        begun = self._times[-1]
        for t, q in zip(trajectory.times[kept[1:]], rows[1:]):
            self._state = replace(self._state, positions=q)
            self._add(begun + float(t))
        self._state = replace(self._state, stamp=self._state.stamp + trajectory.duration)
        if self.world is not None:
            self.world.on_joints(self._state.positions)

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Move the fingers; they close on what is between them."""
        self._check()
        before = self._state.width
        after = width if width >= before else self._closed(width)
        if abs(after - before) > 1e-6:
            seconds = abs(after - before) / FINGER_SPEED if wait else PERIOD
            self._state = replace(self._state, width=after, stamp=self._state.stamp + seconds)
            self._add(self._times[-1] + seconds)
        return after

    def _closed(self, width: float) -> float:
        """The opening at which closing fingers touch something, or the one that is wanted, m."""
        held = self.world.held if self.world is not None else None
        if held is not None:
            return width if self.taken else max(width, held.width)
        scene, q = self._scene, self._state.positions
        for opening in np.arange(self._state.width, width, -_CLOSING):
            scene.set_opening(float(opening))
            if scene.pinched(q):
                return float(opening)
        handle = self.world.handle_between(self._kinematics.forward(q)) if self.world is not None else 0.0
        return max(width, min(handle, self._state.width))

    # ---- what is recorded

    def _row(self) -> Array:
        gripper = self._kinematics.robot.gripper
        fingers = [gripper.position(self._state.width)] * len(gripper.joints)
        return np.array([*self._state.positions, *fingers])

    def _add(self, at: float) -> None:
        self._times.append(at)
        self._rows.append(self._row())

    def _measure(self, rows: Array) -> None:
        """Look how near the arm comes to what it does not touch on purpose."""
        self._scene.set_opening(self._state.width)
        with self._scene.far_sighted(SEEN_WITHIN):
            ends = [self._scene.nearby(rows[0]), self._scene.nearby(rows[-1])]
            touched = {near.name for end in ends for near in end if near.grips and near.distance < _TOUCHING}
            for q in rows:
                for near in self._scene.nearby(q):
                    if near.distance < self._nearest[0] and near.name not in touched | self._touched:
                        self._nearest = max(near.distance, 0.0), near.name

    @property
    def now(self) -> float:
        """Time since the step began, s."""
        return self._times[-1]

    def motion(self, action: Action, known: bool, message: str, held: Carried | None) -> StepMotion:
        """Motion recorded since the step began."""
        robot = self._kinematics.robot
        moved = len(self._rows) > 1
        clearance, nearest = self._nearest
        return StepMotion(
            action,
            known,
            message,
            joint_names=(*robot.joint_names, *robot.gripper.joints),
            times=tuple(self._times) if moved else (),
            positions=tuple(tuple(map(float, row)) for row in self._rows) if moved else (),
            length=self._length,
            duration=self._times[-1],
            clearance=clearance,
            nearest=nearest,
            held=held,
        )


class PredictedWorld(WorldModel):
    """A world model in which things are where the skills have put them, and are seen there."""

    def __init__(self, real: WorldModel, arm: PredictedArm, kinematics: Kinematics, safety: Safety):
        """real: the world as it is now, from which this one goes on."""
        off = real.world().actions_off
        super().__init__(real.domain, real.places, kinematics, safety, actions_off=off, look=self._see)
        self._arm, arm.world = arm, self
        self._since: tuple[Held, float] | None = None
        self._carried: Carried | None = None
        self.parts_moved: set[str] = set()
        self.on_joints(arm.state().positions)
        self.go_on_from(real)
        self.begin()

    def begin(self) -> None:
        self._since, self._carried = (self.held, 0.0) if self.held is not None else None, None

    def carried(self) -> Carried | None:
        """Objects carried in the step until now."""
        self._let_go()
        return self._carried

    def _see(self) -> None:
        """What was put somewhere is seen there; not what lies in a drawer that is shut."""
        open_parts = {room.name for each in self._furniture for room in each.rooms()}
        shut = {n for n in self._things if self._contents.hider(n) not in {"", *open_parts}}
        found = [
            replace(t, visible=n not in shut and (t.visible or n in self._placed)) for n, t in self._things.items()
        ]
        stamp = self._arm.state().stamp + 1e-3
        self.on_detections(found, stamp, self._furniture, self._lost.values(), self._camera)

    def part_moved(self, name: str, value: float) -> None:
        """The part is where the hand has moved it, and what lies in it moved along."""
        part = self.articulation(name)
        if part is None:
            return
        self._furniture = tuple(each.moved(name, value) for each in self._furniture)
        self.parts_moved.add(name)
        by = part.moved(value)[:3, 3] if part.kind == "slide" else np.zeros(3)
        for inside in [n for n in self._things if self._contents.hider(n) == name]:
            x, y, z = (float(a + b) for a, b in zip(self._things[inside].position, by))
            self._things[inside] = replace(self._things[inside], position=(x, y, z))

    def handle_between(self, tcp_to_base: Array) -> float:
        """Thickness of a handle between the fingers, m; 0 where there is none."""
        for joint in joints_of(self._furniture).values():
            bar = joint.handle
            if bar is not None and (np.abs((tcp_to_base[:3, 3] - bar.centre) @ bar.axes) < bar.half + _AT_HANDLE).all():
                return 2 * float(np.abs(bar.axes.T @ tcp_to_base[:3, 1]) @ bar.half)
        return 0.0

    def grasped(self, held: Held) -> None:
        super().grasped(held)
        self._since = held, self._arm.now

    def released(self, thing: Thing | None) -> None:
        self._let_go()
        super().released(thing)

    def handed_over(self, thing: Thing) -> None:
        self._let_go()
        super().handed_over(thing)

    def _let_go(self) -> None:
        if self._since is not None and self._arm.now > self._since[1]:
            held, since = self._since
            pose = held.thing_to_tcp
            at = (float(pose[0, 3]), float(pose[1, 3]), float(pose[2, 3]))
            self._carried = Carried(held.thing.name, at, quaternion_from_rotation(pose[:3, :3]), since, self._arm.now)
        self._since = None


class MotionPreview:
    """Plans the motions of plans in a planning scene of its own, so that nothing that moves the arm waits for it.

    Not thread-safe: one preview at a time.
    """

    def __init__(
        self,
        domain: Domain,
        scene: PlanningScene,
        kinematics: Kinematics,
        make_planner: Callable[[PlanningScene, Callable[[], None]], MotionPlanner],
        seconds: float,
    ):
        """scene: used by nobody else. make_planner: of a scene and a check. seconds: processor time of one motion."""
        self._domain, self._scene, self._kinematics, self._seconds = domain, scene, kinematics, seconds
        self._make_planner = make_planner

    def motions(
        self,
        actions: Sequence[Action],
        real: WorldModel,
        start: ArmState,
        safety: Safety,
        settings: SkillSettings,
        check: Callable[[], None],
    ) -> tuple[StepMotion, ...]:
        """The motions of a plan from the arm's state `start`, one for each action.

        check: raises SkillFailureError where the preview must end, which ends it.
        """
        scene = self._scene
        approaches = ApproachPlanner(
            scene, self._kinematics, self._make_planner(scene, check), self._seconds, settings.clearance
        )
        arm = PredictedArm(scene, self._kinematics, start, check)
        world = PredictedWorld(real, arm, self._kinematics, safety)
        once = replace(settings, retries={}, hand_over_wait=0.0)  # what is tried again after a failure is not known
        skills = Skills(arm, scene, approaches, safety, world, once)
        done: list[StepMotion] = []
        for action in actions:
            check()
            lost = next((n for n, step in enumerate(done, 1) if not step.known), 0)
            if lost:
                done.append(StepMotion(action, False, f"it begins where step {lost} ends, which is not known"))
            else:
                done.append(self._step(skills, arm, world, action, check))
        words = self._domain.actions
        return tuple(replace(s, words=self._domain.phrase(s.action) if s.action.name in words else "") for s in done)

    def _step(
        self, skills: Skills, arm: PredictedArm, world: PredictedWorld, action: Action, check: Callable[[], None]
    ) -> StepMotion:
        arm.begin(action.args)
        world.begin()
        notes = [f"{t.name} is not seen now: where it is then, decides" for t in _unseen(world, action)]

        def on_phase(phase: str, progress: float) -> None:
            if phase == WAITING:
                arm.taken = True
                notes.append("then the arm waits until a person has taken it, which is shown as if it were at once")

        known, why = True, ""
        try:
            preconditions.check(self._domain, world.world(), action)
            name, skill = next(iter(skills.able(action).items()))
            if not skill.planned:
                raise SkillFailureError(Code.PLANNING_FAILED, f"{name} carries it out: its motion is known only then")
            skills.run(action, on_phase)
        except PlanweaveError as error:
            check()  # it may have ended because the preview must
            known, why = False, str(error)
        arm.taken = False
        if skills.context.pushed:
            notes.append(f"pushes aside to get there: {', '.join(skills.context.pushed)}")
        if action.name.startswith("push"):
            notes.append("how far it goes is seen only then")
        notes += [f"how far {name} is open is seen only then" for name in action.args if name in world.parts_moved]
        return arm.motion(action, known, "; ".join([why] if why else notes), world.carried())


def _unseen(world: PredictedWorld, action: Action) -> list[Thing]:
    """The things that an action names and that are not seen."""
    return [t for t in world.things() if t.name in action.args and not t.visible]
