"""Conversions between messages and values, in both directions; the only place for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from planweave_interfaces.msg import Action as ActionMsg
from planweave_interfaces.msg import ActionNode as ActionNodeMsg
from planweave_interfaces.msg import ActionTree as ActionTreeMsg
from planweave_interfaces.msg import Choice as ChoiceMsg
from planweave_interfaces.msg import Clarification as ClarificationMsg
from planweave_interfaces.msg import GoalStep as GoalStepMsg
from planweave_interfaces.msg import Literal as LiteralMsg
from planweave_interfaces.msg import Plan as PlanMsg
from planweave_interfaces.msg import PlanPreview as PlanPreviewMsg
from planweave_interfaces.msg import PlanStep as PlanStepMsg
from planweave_interfaces.msg import Question as QuestionMsg
from planweave_interfaces.msg import RememberedAnswer
from planweave_interfaces.msg import StepCandidate as CandidateMsg
from planweave_interfaces.msg import StepMotion as StepMotionMsg
from planweave_interfaces.msg import TaskStatus as TaskStatusMsg
from planweave_interfaces.msg import TokenUsage as UsageMsg
from planweave_interfaces.msg import WorldObject as WorldObjectMsg
from planweave_interfaces.msg import WorldState as WorldMsg
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.core.base.errors import WorldError
from planweave.core.base.names import one_line
from planweave.core.base.usage import Usage
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import MAX_OBJECTS, Action, Known, Literal, World, WorldObject
from planweave.core.trees.action_tree import TreeNode as TreeNode
from planweave.core.workflow.ports import Candidate
from planweave.core.workflow.question import Alternative, Clarification, UserQuestion
from planweave.core.workflow.remembered import Remembered
from planweave.core.workflow.step_motion import Carried, PlanPreview, StepMotion
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.geometry import spatial

_KNOWN = {k.value: k for k in Known}


class Stamp(float):
    """Seconds that preserve the nanoseconds of their message: a float cannot represent those of a real camera's epoch
    time, and results for an image are published with its exact stamp.
    """

    nanoseconds: int


def time_to_msg(seconds: float) -> Time:
    """Seconds as a ROS time, exactly that of the message where they are a Stamp."""
    nanoseconds = seconds.nanoseconds if isinstance(seconds, Stamp) else round(seconds * 1e9)
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def time_from_msg(msg: Time) -> Stamp:
    """A ROS time in seconds."""
    stamp = Stamp(msg.sec + msg.nanosec * 1e-9)
    stamp.nanoseconds = msg.sec * 1_000_000_000 + msg.nanosec
    return stamp


def action_to_msg(action: Action | None) -> ActionMsg:
    """An action; None becomes an empty name."""
    return ActionMsg() if action is None else ActionMsg(name=action.name, arguments=list(action.args))


def action_from_msg(msg: ActionMsg) -> Action | None:
    """An action; an empty name becomes None."""
    return Action(msg.name, tuple(msg.arguments)) if msg.name else None


def literal_to_msg(literal: Literal) -> LiteralMsg:
    """A literal as a message."""
    return LiteralMsg(predicate=literal.predicate, arguments=list(literal.args), positive=literal.positive)


def literal_from_msg(msg: LiteralMsg) -> Literal:
    """A literal from its message."""
    return Literal(msg.predicate, tuple(msg.arguments), bool(msg.positive))


def literals_to_msg(literals: Iterable[Literal]) -> list[LiteralMsg]:
    """Literals as messages, in their order."""
    return [literal_to_msg(x) for x in literals]


def literals_from_msg(msgs: Iterable[LiteralMsg]) -> tuple[Literal, ...]:
    """Literals from their messages, in their order."""
    return tuple(literal_from_msg(m) for m in msgs)


def pose_to_msg(
    position: tuple[float, float, float], orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
) -> Pose:
    """Position (metres) and unit quaternion (x, y, z, w) as a pose."""
    x, y, z, w = (float(v) for v in orientation)
    return Pose(position=Point(**dict(zip("xyz", map(float, position)))), orientation=Quaternion(x=x, y=y, z=z, w=w))


def position_from_msg(pose: Pose) -> tuple[float, float, float]:
    """The position of a pose, metres."""
    return (pose.position.x, pose.position.y, pose.position.z)


def orientation_from_msg(pose: Pose) -> tuple[float, float, float, float]:
    """The unit quaternion (x, y, z, w) of a pose."""
    q = pose.orientation
    return (q.x, q.y, q.z, q.w)


def size_to_msg(size: tuple[float, float, float]) -> Vector3:
    """An extent (metres) as a vector."""
    return Vector3(**dict(zip("xyz", map(float, size))))


def size_from_msg(msg: Vector3) -> tuple[float, float, float]:
    """An extent in metres."""
    return (msg.x, msg.y, msg.z)


def object_to_msg(thing: WorldObject, last_seen: float | None) -> WorldObjectMsg:
    """A world object as a message."""
    msg = WorldObjectMsg(
        name=thing.name,
        type=thing.type,
        class_name=thing.class_name,
        attributes=[f"{k}={v}" for k, v in sorted(thing.attributes.items())],
        known=int(thing.known),
        hidden_by=thing.hidden_by,
        last_seen=time_to_msg(last_seen or 0.0),
    )
    if thing.position is not None:
        msg.located = True
        msg.pose = pose_to_msg(thing.position, thing.orientation or (0.0, 0.0, 0.0, 1.0))
        msg.size = size_to_msg(thing.size or (0.0, 0.0, 0.0))
    return msg


def object_from_msg(msg: WorldObjectMsg) -> WorldObject:
    """A world object from its message."""
    attributes = dict(one_line(a).split("=", 1) for a in msg.attributes if "=" in one_line(a))
    known = _KNOWN.get(msg.known, Known.UNKNOWN)
    thing = WorldObject(
        msg.name,
        msg.type,
        one_line(msg.class_name),
        attributes,
        known=known,
        last_seen=time_from_msg(msg.last_seen) or None,
        hidden_by=msg.hidden_by,
    )
    if not msg.located:
        return thing
    pose = position_from_msg(msg.pose), orientation_from_msg(msg.pose)
    return replace(thing, position=pose[0], orientation=pose[1], size=size_from_msg(msg.size))


def world_to_msg(world: World) -> WorldMsg:
    """A world as a message."""
    msg = WorldMsg(
        domain=world.domain,
        revision=world.revision,
        objects=[object_to_msg(o, world.last_seen(o.name)) for o in world.objects],
        facts=literals_to_msg(sorted(world.facts)),
        silent=world.silent,
        heard=time_to_msg(world.heard),
        derived=sorted(world.derived),
        actions_off=sorted(world.actions_off),
    )
    msg.header.frame_id = world.frame
    msg.header.stamp = time_to_msg(world.stamp)
    return msg


class WorldMessages:
    """Converts worlds to messages; facts are converted only where they change."""

    def __init__(self) -> None:
        self._last: tuple[World | None, WorldMsg] = None, WorldMsg()

    def __call__(self, world: World) -> WorldMsg:
        """The message of a world."""
        known, msg = self._last
        if known is None or known.revision != world.revision or known.facts is not world.facts:
            msg = world_to_msg(world)
            self._last = world, msg
        elif known != world:
            msg = WorldMsg(
                header=Header(stamp=time_to_msg(world.stamp), frame_id=world.frame),
                domain=msg.domain,
                revision=msg.revision,
                facts=msg.facts,
                derived=msg.derived,
                silent=world.silent,
                heard=time_to_msg(world.heard),
                actions_off=sorted(world.actions_off),
                objects=[object_to_msg(o, world.last_seen(o.name)) for o in world.objects],
            )
        return msg


def world_from_msg(msg: WorldMsg) -> World:
    """A world from its message; raises WorldError where it is invalid."""
    for what, number in (("objects", len(msg.objects)), ("actions_off", len(msg.actions_off))):
        if number > MAX_OBJECTS:
            raise WorldError(f"the world is refused: it has {number} {what}; at most {MAX_OBJECTS} are taken")
    world = World(
        msg.domain,
        tuple(object_from_msg(o) for o in msg.objects),
        frozenset(literals_from_msg(msg.facts)),
        time_from_msg(msg.header.stamp),
        msg.header.frame_id,
        int(msg.revision),
        bool(msg.silent),
        time_from_msg(msg.heard),
        spatial.derived(msg.derived),
        frozenset(msg.actions_off),
    )
    fault = world.fault()
    if fault:
        raise WorldError(f"the world is refused: {fault}")
    return world


def plan_to_msg(plan: CountedPlan) -> PlanMsg:
    """A plan as a message."""
    steps = [PlanStepMsg(action=action_to_msg(s.action), text=s.text, original=s.original) for s in plan.steps]
    has_logprob = plan.logprob is not None
    return PlanMsg(steps=steps, samples=plan.samples, has_logprob=has_logprob, logprob=float(plan.logprob or 0.0))


def plan_from_msg(msg: PlanMsg) -> CountedPlan:
    """A plan from its message."""
    steps = tuple(PlanStep(Action(s.action.name, tuple(s.action.arguments)), s.text, s.original) for s in msg.steps)
    return CountedPlan(steps, int(msg.samples), float(msg.logprob) if msg.has_logprob else None)


def usage_to_msg(usage: Usage) -> UsageMsg:
    """Language model use as a message."""
    return UsageMsg(
        requests=usage.requests,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        model_seconds=float(usage.model_seconds),
        has_cost=usage.cost is not None,
        cost=float(usage.cost or 0.0),
        model=usage.model,
        endpoint=usage.endpoint,
    )


def usage_from_msg(msg: UsageMsg) -> Usage:
    """Language model use from its message."""
    return Usage(
        int(msg.requests),
        int(msg.prompt_tokens),
        int(msg.cached_tokens),
        int(msg.completion_tokens),
        float(msg.model_seconds),
        float(msg.cost) if msg.has_cost else None,
        msg.model,
        msg.endpoint,
    )


def tree_to_msg(root: TreeNode, task_id: str) -> ActionTreeMsg:
    """An action tree as a message, parents before children; the root has id 0."""
    msg = ActionTreeMsg(task_id=task_id)
    ids: dict[int, int] = {}
    for node in root.subtree():
        ids[id(node)] = len(msg.nodes)
        msg.nodes.append(
            ActionNodeMsg(
                id=ids[id(node)],
                parent=ids[id(node.parent)] if node.parent is not None else -1,
                action=action_to_msg(node.action),
                end=node.is_end,
                time_step=node.time_step,
                samples=node.samples,
                logprob=float(node.logprob or 0.0),
                status=int(node.status),
            )
        )
    return msg


def question_to_msg(question: UserQuestion | None) -> QuestionMsg:
    """A question to a person; None becomes one without choices."""
    if question is None:
        return QuestionMsg(at=-1)
    choices = [
        ChoiceMsg(
            label=c.label,
            objects=list(c.objects),
            word=c.word,
            goal=literals_to_msg(c.goal),
            before=[goal_step_to_msg(step) for step in c.before],
            keep=literals_to_msg(c.keep),
        )
        for c in question.choices
    ]
    return QuestionMsg(
        id=question.id,
        text=question.text,
        phrase=question.phrase,
        at=question.at,
        naming=question.naming,
        source=question.source,
        choices=choices,
        deadline=time_to_msg(question.deadline),
    )


def question_from_msg(msg: QuestionMsg) -> UserQuestion | None:
    """A question to a person; None where there is nothing to choose from."""
    choices = tuple(
        Alternative(
            c.label,
            tuple(c.objects),
            c.word,
            literals_from_msg(c.goal),
            tuple(literals_from_msg(step.literals) for step in c.before),
            literals_from_msg(c.keep),
        )
        for c in msg.choices
    )
    if not choices:
        return None
    return UserQuestion(
        msg.text, choices, msg.phrase, int(msg.at), msg.source, msg.naming, msg.id, time_from_msg(msg.deadline)
    )


def remembered_to_msg(entry: Remembered) -> RememberedAnswer:
    """What a person has said, as a message."""
    return RememberedAnswer(
        id=entry.id,
        kind=entry.kind,
        sentence=entry.sentence,
        phrase=entry.phrase,
        question=entry.question,
        choice=entry.choice,
        person=entry.person,
        at=time_to_msg(entry.at),
    )


def remembered_from_msg(msg: RememberedAnswer) -> Remembered:
    """What a person has said; without the choices and how they looked, which stay with feedback_node."""
    at = time_from_msg(msg.at)
    told = msg.sentence, msg.question, msg.choice
    return Remembered(int(msg.id), *told, (), (), msg.person, at, msg.kind, msg.phrase)


def clarification_to_msg(given: Clarification) -> ClarificationMsg:
    """What a person said that words mean, as a message."""
    return ClarificationMsg(text=given.text, at=given.at, meant=list(given.meant))


def clarification_from_msg(msg: ClarificationMsg) -> Clarification:
    """What a person said that words mean, from its message."""
    return Clarification(msg.text, int(msg.at), tuple(msg.meant))


def goal_step_to_msg(literals: Iterable[Literal]) -> GoalStepMsg:
    """A state to be reached before others, as a message."""
    return GoalStepMsg(literals=literals_to_msg(literals))


def goal_step_from_msg(msg: GoalStepMsg) -> tuple[Literal, ...]:
    """A state to be reached before others, from its message."""
    return literals_from_msg(msg.literals)


def status_to_msg(status: TaskStatus) -> TaskStatusMsg:
    """A task's state as a message (without the stamp)."""
    return TaskStatusMsg(
        task_id=status.task_id,
        sentence=status.sentence,
        method=status.method,
        state=int(status.state),
        phase=status.phase,
        goal=literals_to_msg(status.goal),
        before=[goal_step_to_msg(step) for step in status.before],
        reached=status.reached,
        keep=literals_to_msg(status.keep),
        goal_source=status.goal_source,
        understood=status.understood,
        answer=status.answer,
        dry_run=status.dry_run,
        question=question_to_msg(status.question),
        unmet=literals_to_msg(status.unmet),
        plan=[action_to_msg(a) for a in status.plan],
        plan_words=list(status.plan_words),
        plan_check=status.plan_check,
        plan_hash=status.plan_hash,
        plan_changes=list(status.plan_changes),
        approved_by=status.approved_by,
        action=action_to_msg(status.action),
        pushed=list(status.pushed),
        steps=status.steps,
        executed=status.executed,
        corrections=status.corrections,
        questions=status.questions,
        fallback=status.fallback,
        message=status.message,
        code=status.code,
        elapsed=float(status.elapsed),
        usage=usage_to_msg(status.usage),
    )


def status_from_msg(msg: TaskStatusMsg) -> TaskStatus:
    """A task's state from its message."""
    return TaskStatus(
        task_id=msg.task_id,
        sentence=msg.sentence,
        method=msg.method,
        state=TaskState(msg.state),
        phase=msg.phase,
        goal=literals_from_msg(msg.goal),
        before=tuple(map(goal_step_from_msg, msg.before)),
        reached=int(msg.reached),
        keep=literals_from_msg(msg.keep),
        goal_source=msg.goal_source,
        understood=msg.understood,
        answer=msg.answer,
        unmet=literals_from_msg(msg.unmet),
        plan=tuple(a for a in map(action_from_msg, msg.plan) if a),
        plan_words=tuple(msg.plan_words),
        plan_check=msg.plan_check,
        plan_hash=msg.plan_hash,
        plan_changes=tuple(msg.plan_changes),
        approved_by=msg.approved_by,
        action=action_from_msg(msg.action),
        pushed=tuple(msg.pushed),
        steps=int(msg.steps),
        executed=int(msg.executed),
        corrections=int(msg.corrections),
        questions=int(msg.questions),
        fallback=bool(msg.fallback),
        message=msg.message,
        code=msg.code,
        elapsed=float(msg.elapsed),
        usage=usage_from_msg(msg.usage),
        dry_run=bool(msg.dry_run),
        question=question_from_msg(msg.question),
    )


def candidate_to_msg(candidate: Candidate) -> CandidateMsg:
    """A proposed step as a message."""
    return CandidateMsg(
        text=candidate.text,
        action=action_to_msg(candidate.action),
        match=float(candidate.match),
        object_match=float(candidate.object_match),
        has_logprob=candidate.logprob is not None,
        logprob=float(candidate.logprob or 0.0),
        relatedness=float(candidate.relatedness),
    )


def candidate_from_msg(msg: CandidateMsg) -> Candidate:
    """A proposed step from its message."""
    return Candidate(
        msg.text,
        action_from_msg(msg.action),
        float(msg.match),
        float(msg.object_match),
        float(msg.logprob) if msg.has_logprob else None,
        float(msg.relatedness),
    )


def motion_to_msg(motion: StepMotion) -> StepMotionMsg:
    """The motion of a step as a message."""
    nanoseconds = [round(t * 1e9) for t in motion.times]
    msg = StepMotionMsg(
        action=action_to_msg(motion.action),
        words=motion.words,
        known=motion.known,
        message=motion.message,
        path=JointTrajectory(
            joint_names=list(motion.joint_names),
            points=[
                JointTrajectoryPoint(
                    positions=list(row), time_from_start=Duration(sec=t // 1_000_000_000, nanosec=t % 1_000_000_000)
                )
                for t, row in zip(nanoseconds, motion.positions)
            ],
        ),
        length=motion.length,
        duration=motion.duration,
        clearance=motion.clearance,
        nearest=motion.nearest,
    )
    if motion.held is not None:
        msg.held, msg.held_from, msg.held_until = motion.held.name, motion.held.since, motion.held.until
        msg.held_pose = pose_to_msg(motion.held.position, motion.held.orientation)
    return msg


def motion_from_msg(msg: StepMotionMsg) -> StepMotion:
    """The motion of a step from its message."""
    held = (
        Carried(
            msg.held,
            position_from_msg(msg.held_pose),
            orientation_from_msg(msg.held_pose),
            msg.held_from,
            msg.held_until,
        )
        if msg.held
        else None
    )
    return StepMotion(
        action_from_msg(msg.action) or Action(""),
        msg.known,
        msg.message,
        msg.words,
        tuple(msg.path.joint_names),
        tuple(p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in msg.path.points),
        tuple(tuple(p.positions) for p in msg.path.points),
        msg.length,
        msg.duration,
        msg.clearance,
        msg.nearest,
        held,
    )


def preview_to_msg(preview: PlanPreview, stamp: Time) -> PlanPreviewMsg:
    """The motions of a plan as a message."""
    closest = preview.closest
    return PlanPreviewMsg(
        stamp=stamp,
        task_id=preview.task_id,
        plan_hash=preview.hash,
        success=preview.known,
        message=preview.message,
        steps=[motion_to_msg(step) for step in preview.steps],
        length=preview.length,
        duration=preview.duration,
        clearance=closest.clearance if closest is not None else 0.0,
        nearest=closest.nearest if closest is not None else "",
        planning_seconds=preview.seconds,
    )


def preview_from_msg(msg: PlanPreviewMsg) -> PlanPreview:
    """The motions of a plan from their message."""
    steps = tuple(map(motion_from_msg, msg.steps))
    return PlanPreview(msg.task_id, msg.plan_hash, steps, msg.message, msg.planning_seconds)
