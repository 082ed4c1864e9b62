"""Stages that cannot be reproduced exactly (an arm over ROS): their worlds are recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planweave.bench.records import Recorder
from planweave.bench.suites.case import Case
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, facts_of
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.core.workflow.ports import Look, LookingBody, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody

_OBJECT = ("name", "type", "class_name", "attributes", "position", "orientation", "size")


class WorldTeller(WrappedBody):
    """A body whose observed worlds are recorded completely."""

    def __init__(self, body: LookingBody, recorder: Recorder) -> None:
        super().__init__(body)
        self._recorder = recorder

    def look(self, seconds: float) -> Look:
        look = super().look(seconds)
        self._recorder.add("world", **world_as_dict(look.world))
        return look

    def observe(self, revision: int = 0) -> World:
        world = super().observe(revision)
        self._recorder.add("world", **world_as_dict(world))
        return world

    def execute(self, action: Action, **options: Any) -> Outcome:
        outcome = super().execute(action, **options)
        self._recorder.add("world", **world_as_dict(outcome.world))
        return outcome


class RecordedStage:
    """Replays the worlds and outcomes of a record in order."""

    reproducible = False

    def __init__(self, case: Case, events: Sequence[Mapping[str, Any]]) -> None:
        self._worlds = [world_from_dict(e) for e in events if e["event"] == "world"]
        self._outcomes = [e for e in events if e["event"] == "action"]
        self._conditions = [dict(e["conditions"]) for e in events if e["event"] == "truth" and "conditions" in e]
        self._conditions.append(dict(events[-1]["conditions"]))
        self._truths = [world_from_dict(e) for e in events if e["event"] == "truth"]
        head, self._end = events[0], events[-1]
        self.case = replace(
            case,
            sentence=head["sentence"],
            goal=tuple(map(Literal.parse, head["goal"])),
            gold=tuple(map(Action.parse, head["gold"])),
        )
        self._now = self._first = self._truths[0] if self._truths else self._worlds[0]
        self.domain = Domain.load(self._worlds[0].domain)
        self.body: LookingBody = self

    def truth(self) -> World:
        """The recorded true world; the first and the last one are recorded."""
        return self._truths.pop(0) if self._truths else self._now

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """Recorded conditions, first those at the start: geometry is not evaluated again."""
        return self._conditions.pop(0) if len(self._conditions) > 1 else self._conditions[0]

    def details(self) -> Mapping[str, Any]:
        return dict(self._end.get("details", {}))

    def observe(self, revision: int = 0) -> World:
        return self._next()

    def look(self, seconds: float) -> Look:
        return Look(self._next())

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """The next recorded outcome; the comparison of events detects a different action."""
        event = self._outcomes.pop(0) if self._outcomes else {}
        return Outcome(
            Code[event.get("code", "CANCELED")],
            event.get("message", ""),
            self._next(),
            tuple(Literal.parse(u) for u in event.get("unmet", ())),
            event.get("motion_seconds", 0.0),
            event.get("planning_seconds", 0.0),
        )

    def after_gold(self) -> frozenset[Literal]:
        return predicted(self.domain, self._first, self.case.gold)

    def close(self) -> None:
        """Does nothing."""

    def _next(self) -> World:
        if self._worlds:
            self._now = self._worlds.pop(0)
        return self._now


def predicted(domain: Domain, world: World, plan: Sequence[Action]) -> frozenset[Literal]:
    """The facts after a plan, as predicted by the domain; inapplicable actions are skipped."""
    transition = Transition(domain, world)
    state = transition.state()
    for action in plan:
        if transition.applicable(state, action):
            transition.apply(state, action)
    return facts_of(state)


def world_as_dict(world: World) -> dict[str, Any]:
    return {
        "domain": world.domain,
        "frame": world.frame,
        "stamp": world.stamp,
        "revision": world.revision,
        "objects": [{name: getattr(o, name) for name in _OBJECT} for o in world.objects],
        "facts": [str(f) for f in sorted(world.facts)],
    }


def world_from_dict(data: Mapping[str, Any]) -> World:
    rows: list[dict[str, Any]] = [
        {name: tuple(v) if isinstance(v := o[name], list) else v for name in _OBJECT} for o in data["objects"]
    ]
    return World(
        data["domain"],
        tuple(WorldObject(**row) for row in rows),
        frozenset(map(Literal.parse, data["facts"])),
        data["stamp"],
        data["frame"],
        data["revision"],
    )
