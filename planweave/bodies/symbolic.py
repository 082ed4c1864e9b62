"""A purely symbolic body: actions have the effects declared by the domain, with optional failures."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, completed
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome

_STEP = 0.1  # s of the world's own time between two observations


class SymbolicBody:
    """Implements planweave.core.workflow.ports.LookingBody for a domain and a fully observed world. Thread-safe.

    slips: probability that an action ends as GRASP_LOST; failures: that it ends as CONTROL_FAILED; both without
    effects. failures may instead map actions to the code that each ends with, once: {"grasp(cup)": Code.NO_GRASP}.
    Outcomes are determined by the seed. done: the executed actions, in order.
    """

    def __init__(
        self,
        domain: Domain,
        world: World,
        slips: float = 0.0,
        failures: float | Mapping[str, Code] = 0.0,
        seed: int = 0,
    ) -> None:
        if world.domain != domain.name:
            raise ConfigError(
                f"the world is one of the domain {world.domain!r}, the body of {domain.name!r}; make it "
                "by the world() of the same domain"
            )
        if fault := world.fault():
            raise ConfigError(f"invalid world: {fault}")
        rate = 0.0 if isinstance(failures, Mapping) else failures
        for name, value in (("slips", slips), ("failures", rate)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name}={value!r} is not a probability: give a number from 0 to 1")
        self.domain, self.done = domain, list[Action]()
        self._slips, self._rate, self._random = slips, rate, random.Random(seed)
        self._once: dict[Action, Code] = {}
        for text, code in (failures if isinstance(failures, Mapping) else {}).items():
            action = Action.parse(text)
            domain.check_action(action, world)
            if code not in set(Code) or code == Code.SUCCESS:
                raise ConfigError(f"failures: {text} is to end as {code!r}; give a Code other than SUCCESS")
            self._once[action] = Code(code)
        self._world, self._lock = completed(domain, world).all_seen(), threading.Lock()

    @property
    def world(self) -> World:
        return self._world

    def observe(self, revision: int = 0) -> World:
        return self._world

    def look(self, seconds: float) -> Look:
        with self._lock:
            self._world = replace(self._world, stamp=self._world.stamp + _STEP)
            return Look(self._world)

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """Apply the effects of an action; a failure is an outcome without effects."""
        with self._lock:
            transition = Transition(self.domain, self._world)
            try:
                missing = transition.unmet(transition.state(), action)
            except PlanweaveError as error:
                unknown = isinstance(error, UnknownNameError) and error.kind == "object"
                return self._left(Code.UNKNOWN_OBJECT if unknown else Code.INVALID_ACTION, str(error))
            if missing:
                words = ", ".join(f"{literal} does not hold" for literal in missing)
                return replace(self._left(Code.PRECONDITION_UNMET, f"{action}: {words}"), unmet=missing)
            slip, failure = self._random.random(), self._random.random()  # both each time: outcomes depend on the seed
            if action in self._once:
                code = self._once.pop(action)
                return self._left(code, f"{action}: {code.word}, as configured (failures)")
            if slip < self._slips:
                return self._left(Code.GRASP_LOST, f"{action}: it slipped; nothing has changed")
            if failure < self._rate:
                return self._left(Code.CONTROL_FAILED, f"{action}: the controller failed; nothing has changed")
            after = transition.result(self._world, action)
            self._world = replace(after, revision=after.revision + 1, stamp=after.stamp + _STEP)
            self.done.append(action)
            return Outcome(Code.SUCCESS, "done", self._world)

    def _left(self, code: Code, message: str) -> Outcome:
        return Outcome(code, message, self._world)
