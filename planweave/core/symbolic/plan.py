"""Plans: sequences of actions as sampled, with the corrections made by post-processing."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.symbolic.world import Action


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step. text: phrase for people; original: what the model wrote, where a name was corrected."""

    action: Action
    text: str = ""
    original: str = ""


@dataclass(frozen=True, slots=True)
class CountedPlan:
    """A plan with the number of samples that produced it and, where known, their summed log-probability."""

    steps: tuple[PlanStep, ...]
    samples: int = 1
    logprob: float | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(step.action for step in self.steps)

    def __str__(self) -> str:
        return "; ".join(map(str, self.actions))
