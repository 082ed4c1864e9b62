"""Fault injection in a home, at fixed places, so that every method meets the same faults.

| kind | effect | |---|---| | `fails` | the action fails the first `times` times that it is applicable, with
CONTROL_FAILED | | `no_effect` | the first `times` times the action is reported as done, but has no effect | | `changes`
| just before the action is first tried, `changes` happen in the world, unseen |

`changes` move objects (out of their old place) and flip states (with the excluded ones removed).
"""

from __future__ import annotations

from dataclasses import dataclass

from planweave.bodies.home.simulator import HomeSimulator, StepResult
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, Literal

KINDS = ("fails", "no_effect", "changes")
_OPPOSITE = {
    "opened": "closed",
    "closed": "opened",
    "switched_on": "switched_off",
    "switched_off": "switched_on",
    "plugged_in": "plugged_out",
    "plugged_out": "plugged_in",
}


@dataclass(frozen=True)
class Fault:
    """kind: see above. action: the name of the action that it applies to."""

    kind: str
    action: str
    times: int = 1
    changes: tuple[Literal, ...] = ()


class Injection:
    def __init__(self, fault: Fault) -> None:
        if fault.kind not in KINDS:
            raise UnknownNameError("kind of fault", fault.kind, KINDS)
        self._fault, self._left = fault, fault.times

    def execute(self, simulator: HomeSimulator, action: Action) -> StepResult:
        if action.name != self._fault.action or not self._left:
            return simulator.execute(action)
        if self._fault.kind == "changes":
            self._left = 0
            for literal in self._fault.changes:
                bring_about(simulator, literal)
            simulator.revision += 1
            return simulator.execute(action)
        if simulator.explain(action):
            return simulator.execute(action)  # it cannot be done anyway: the fault waits
        self._left -= 1
        simulator.steps += 1
        if self._fault.kind == "no_effect":
            return StepResult(Code.SUCCESS, "Success")
        return StepResult(
            Code.CONTROL_FAILED, f"{action} was tried, but it did not work this time; nothing has changed"
        )


def bring_about(simulator: HomeSimulator, literal: Literal) -> None:
    """Make a literal true in a home, with its consequences; raises ConfigError for an unknown name."""
    state, names = simulator.state, simulator.graph.by_name
    for arg in literal.args:
        if arg not in names:
            raise ConfigError(f"fault: {literal}: {UnknownNameError('object', arg, names)}")
    fact = (literal.predicate, *literal.args)
    if not literal.positive:
        state.discard(fact)
        return
    if literal.predicate in ("on", "inside"):
        thing, place = literal.args
        for predicate in ("on", "inside", "next_to", "in_room"):
            for old in [*state.lookup(predicate, 1, thing)]:
                state.discard(old)
        for old in [*state.lookup("next_to", 2, thing)]:
            state.discard(old)
        state.discard(("close_to", thing))
        for room in [f[2] for f in state.lookup("in_room", 1, place)]:
            state.add(("in_room", thing, room))
    opposite = _OPPOSITE.get(literal.predicate)
    if opposite:
        state.discard((opposite, *literal.args))
    state.add(fact)
