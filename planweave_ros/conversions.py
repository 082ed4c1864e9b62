"""Conversions between messages and values, in both directions; the only place for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from planweave_interfaces.msg import Action as ActionMsg
from planweave_interfaces.msg import ActionNode as ActionNodeMsg
from planweave_interfaces.msg import ActionTree as ActionTreeMsg
from planweave_interfaces.msg import ApprovedStep as ApprovedStepMsg
from planweave_interfaces.msg import Choice as ChoiceMsg
from planweave_interfaces.msg import Clarification as ClarificationMsg
from planweave_interfaces.msg import GoalStep as GoalStepMsg
from planweave_interfaces.msg import Literal as LiteralMsg
from planweave_interfaces.msg import ObjectPart, RememberedAnswer
from planweave_interfaces.msg import Plan as PlanMsg
from planweave_interfaces.msg import PlanPreview as PlanPreviewMsg
from planweave_interfaces.msg import PlanStep as PlanStepMsg
from planweave_interfaces.msg import Question as QuestionMsg
from planweave_interfaces.msg import StepCandidate as CandidateMsg
from planweave_interfaces.msg import StepMotion as StepMotionMsg
from planweave_interfaces.msg import TaskGoal as TaskGoalMsg
from planweave_interfaces.msg import TaskStatus as TaskStatusMsg
from planweave_interfaces.msg import TokenUsage as UsageMsg
from planweave_interfaces.msg import WorldObject as WorldObjectMsg
from planweave_interfaces.msg import WorldState as WorldMsg

from planweave.core.base.errors import WorldError
from planweave.core.base.names import one_line
from planweave.core.base.usage import Usage
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import MAX_OBJECTS, Action, Known, Leaf, Literal, World, WorldObject
from planweave.core.trees.action_tree import TreeNode as TreeNode
from planweave.core.workflow.approval import ApprovedStep
from planweave.core.workflow.ports import Candidate
from planweave.core.workflow.question import Alternative, Clarification, Remembered, UserQuestion
from planweave.core.workflow.step_motion import Carried, PlanPreview, StepMotion
from planweave.core.workflow.task_status import TaskGoal, TaskState, TaskStatus
from planweave.geometry import spatial
from planweave_ros.controllers import joint_trajectory

_KNOWN = {k.value: k for k in Known}
_Value = TypeVar("_Value")
_Message = TypeVar("_Message")


class Stamp(float):
    """Seconds that preserve the nanoseconds of their message: a float cannot represent those of a real camera's epoch
    time, and results for an image are published with its exact stamp.
    """

    nanoseconds: int


def stamp_to_msg(nanoseconds: int) -> Time:
    """Whole nanoseconds as a ROS time, exactly."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def time_to_msg(seconds: float) -> Time:
    """Seconds as a ROS time, exactly that of the message where they are a Stamp."""
    return stamp_to_msg(seconds.nanoseconds if isinstance(seconds, Stamp) else round(seconds * 1e9))


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
    return LiteralMsg(predicate=literal.predicate, arguments=list(literal.args), positive=literal.positive)


def literal_from_msg(msg: LiteralMsg) -> Literal:
    return Literal(msg.predicate, tuple(msg.arguments), bool(msg.positive))


def literals_to_msg(literals: Iterable[Literal]) -> list[LiteralMsg]:
    return [literal_to_msg(x) for x in literals]


def literals_from_msg(msgs: Iterable[LiteralMsg]) -> tuple[Literal, ...]:
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
    msg = WorldObjectMsg(
        name=thing.name,
        type=thing.type,
        class_name=thing.class_name,
        attributes=[f"{k}={v}" for k, v in sorted(thing.attributes.items())],
        known=int(thing.known),
        hidden_by=thing.hidden_by,
        leaves=[
            ObjectPart(pose=pose_to_msg(leaf.position, leaf.orientation), size=size_to_msg(leaf.size))
            for leaf in thing.leaves
        ],
        last_seen=time_to_msg(last_seen or 0.0),
    )
    if thing.position is not None:
        msg.located = True
        msg.pose = pose_to_msg(thing.position, thing.orientation or (0.0, 0.0, 0.0, 1.0))
        msg.size = size_to_msg(thing.size or (0.0, 0.0, 0.0))
    return msg


def object_from_msg(msg: WorldObjectMsg) -> WorldObject:
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
        leaves=tuple(
            Leaf(position_from_msg(leaf.pose), orientation_from_msg(leaf.pose), size_from_msg(leaf.size))
            for leaf in msg.leaves
        ),
    )
    if not msg.located:
        return thing
    pose = position_from_msg(msg.pose), orientation_from_msg(msg.pose)
    return replace(thing, position=pose[0], orientation=pose[1], size=size_from_msg(msg.size))


def world_to_msg(world: World, before: WorldMsg | None = None) -> WorldMsg:
    """before: the message of a world with the same facts, which are taken from it."""
    msg = WorldMsg(
        domain=world.domain,
        revision=world.revision,
        objects=[object_to_msg(o, world.last_seen(o.name)) for o in world.objects],
        facts=before.facts if before else literals_to_msg(sorted(world.facts)),
        silent=world.silent,
        heard=time_to_msg(world.heard),
        derived=before.derived if before else sorted(world.derived),
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
        known, msg = self._last
        if known is None or known.revision != world.revision or known.facts is not world.facts:
            msg = world_to_msg(world)
            self._last = world, msg
        elif known != world:
            msg = world_to_msg(world, msg)
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


class Codec(NamedTuple):
    """The codec of values of one type: how they are sent and read."""

    to_msg: Callable[[Any], Any]
    from_msg: Callable[[Any], Any]


def _each(codec: Codec, made: Callable[[Iterable[Any]], Any]) -> Codec:
    return Codec(lambda values: [codec.to_msg(v) for v in values], lambda msgs: made(codec.from_msg(m) for m in msgs))


def _named(actions: Iterable[Action | None]) -> list[Action]:
    return [action for action in actions if action is not None]


_ACTION = Codec(action_to_msg, action_from_msg)
_LITERALS = Codec(literals_to_msg, literals_from_msg)
_STEP = Codec(lambda literals: GoalStepMsg(literals=literals_to_msg(literals)), lambda m: literals_from_msg(m.literals))
#: By the types of fields and arguments; those of dataclasses are added below.
CODECS: dict[Any, Codec] = {
    str: Codec(str, str),
    int: Codec(int, int),
    bool: Codec(bool, bool),
    float: Codec(float, float),
    float | None: Codec(lambda number: float(number or 0.0), float),
    TaskState: Codec(int, TaskState),
    Action: Codec(action_to_msg, lambda msg: Action(msg.name, tuple(msg.arguments))),
    Action | None: _ACTION,
    tuple[Action, ...]: _each(_ACTION, lambda actions: tuple(_named(actions))),
    Sequence[Action]: _each(_ACTION, _named),
    tuple[Literal, ...]: _LITERALS,
    Sequence[Literal]: _LITERALS,
    tuple[tuple[Literal, ...], ...]: _each(_STEP, tuple),
    World: Codec(world_to_msg, world_from_msg),
}


def codec_of(kind: Any) -> Codec:
    """The codec of the type of a field or argument, also of a tuple or sequence."""
    if kind not in CODECS:
        CODECS[kind] = _each(codec_of(get_args(kind)[0]), tuple if get_origin(kind) is tuple else list)
    return CODECS[kind]


def _fields(
    value: type[_Value],
    message: type[_Message],
    left_out: Mapping[str, Any] = MappingProxyType({}),
    parts: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> tuple[Callable[[_Value], _Message], Callable[[_Message], _Value]]:
    """Conversions in both directions of a dataclass and a message whose fields have the same names.

    What may be None has a field has_NAME beside it in the message. left_out: fields that are not in the message, with
    what they are read as. parts: the part of the message that has a field, and its name there.
    """
    kinds, hints = message.get_fields_and_field_types(), get_type_hints(value)  # type: ignore[attr-defined]
    codecs = {f.name: codec_of(hints[f.name]) for f in fields(value) if f.name not in left_out}  # type: ignore[arg-type]
    apart = [(codecs.pop(name), name, part, field) for name, (part, field) in parts.items()]
    codecs |= {name: Codec(time_to_msg, time_from_msg) for name in codecs if kinds[name] == "builtin_interfaces/Time"}
    optional = [name for name in codecs if f"has_{name}" in kinds]

    def to_msg(given: _Value) -> _Message:
        has = {f"has_{name}": getattr(given, name) is not None for name in optional}
        made = message(**{name: codec.to_msg(getattr(given, name)) for name, codec in codecs.items()}, **has)
        for codec, name, part, field in apart:
            setattr(getattr(made, part), field, codec.to_msg(getattr(given, name)))
        return made

    def from_msg(msg: _Message) -> _Value:
        found = {name: codec.from_msg(getattr(msg, name)) for name, codec in codecs.items()}
        found |= {name: codec.from_msg(getattr(getattr(msg, part), field)) for codec, name, part, field in apart}
        absent = {name: None for name in optional if not getattr(msg, f"has_{name}")}
        return value(**{**found, **absent, **left_out})

    CODECS[value] = Codec(to_msg, from_msg)
    return to_msg, from_msg


usage_to_msg, usage_from_msg = _fields(Usage, UsageMsg)
_fields(PlanStep, PlanStepMsg)
plan_to_msg, plan_from_msg = _fields(CountedPlan, PlanMsg)
_fields(Candidate, CandidateMsg)
_fields(Clarification, ClarificationMsg)
_fields(Alternative, ChoiceMsg)
_question_to_msg, _question_from_msg = _fields(UserQuestion, QuestionMsg)
#: Choices, and how they looked, stay with feedback_node.
remembered_to_msg, remembered_from_msg = _fields(Remembered, RememberedAnswer, {"choices": (), "looks": ()})


def question_to_msg(question: UserQuestion | None) -> QuestionMsg:
    """A question to a person; None becomes one without choices."""
    return QuestionMsg(at=-1) if question is None else _question_to_msg(question)


def question_from_msg(msg: QuestionMsg) -> UserQuestion | None:
    """A question to a person; None where there is nothing to choose from."""
    return _question_from_msg(msg) if msg.choices else None


CODECS[UserQuestion | None] = Codec(question_to_msg, question_from_msg)
#: An empty message, where nothing is approved, is read as a step of no token.
approved_step_to_msg, approved_step_from_msg = _fields(ApprovedStep, ApprovedStepMsg)
task_goal_to_msg, task_goal_from_msg = _fields(TaskGoal, TaskGoalMsg)
_PARTS = {
    "reading": ("goal", "before", "keep", "understood", "answer"),
    "progress": ("action", "unmet", "reached", "pushed", "steps", "executed", "corrections", "questions", "fallback"),
    "plan": ("approved_by",),
}
_RENAMED = {"goal_source": ("reading", "source"), "plan": ("plan", "actions")}
_RENAMED |= {f"plan_{name}": ("plan", name) for name in ("words", "check", "hash", "changes")}
_IN_PARTS = {name: (part, name) for part, names in _PARTS.items() for name in names} | _RENAMED
status_to_msg, status_from_msg = _fields(TaskStatus, TaskStatusMsg, parts=_IN_PARTS)  # without the stamp


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


_PLANNED = {"joint_names": (), "times": (), "positions": (), "held": None}
_motion_to_msg, _motion_from_msg = _fields(StepMotion, StepMotionMsg, _PLANNED)


def motion_to_msg(motion: StepMotion) -> StepMotionMsg:
    msg = _motion_to_msg(motion)
    msg.path = joint_trajectory(motion.joint_names, motion.times, motion.positions, [()] * len(motion.times))
    if motion.held is not None:
        msg.held, msg.held_from, msg.held_until = motion.held.name, motion.held.since, motion.held.until
        msg.held_pose = pose_to_msg(motion.held.position, motion.held.orientation)
    return msg


def motion_from_msg(msg: StepMotionMsg) -> StepMotion:
    place = position_from_msg(msg.held_pose), orientation_from_msg(msg.held_pose)
    return replace(
        _motion_from_msg(msg),
        joint_names=tuple(msg.path.joint_names),
        times=tuple(float(time_from_msg(point.time_from_start)) for point in msg.path.points),
        positions=tuple(tuple(point.positions) for point in msg.path.points),
        held=Carried(msg.held, *place, msg.held_from, msg.held_until) if msg.held else None,
    )


def preview_to_msg(preview: PlanPreview, stamp: Time) -> PlanPreviewMsg:
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
    steps = tuple(map(motion_from_msg, msg.steps))
    return PlanPreview(msg.task_id, msg.plan_hash, steps, msg.message, msg.planning_seconds)
