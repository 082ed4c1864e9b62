"""Zero-Shot Planner (Huang et al., ICML 2022), as Tree-Planner (B.2) and the scene-aware planner use it as a baseline.

Each free-text step is translated to the nearest admissible action, which is appended to the prompt in its place.
The plan is made without looking at the world again, then executed open loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.ports import Candidate
from planweave.core.world import Action
from planweave.methods.episode import Episode


@dataclass
class ZeroShot:
    """samples per step; a step scores match + likelihood * mean log-probability, below cutoff the plan ends."""

    samples: int = 10
    likelihood: float = 0.3
    cutoff: float = 0.5
    max_steps: int = 20

    def run(self, episode: Episode) -> None:
        """Plan with the first observation, then execute."""
        world, plan = episode.observe(), list[Action]()
        episode.tell("planning step by step")
        while len(plan) < self.max_steps:
            proposed = episode.planner.propose_steps(
                "zero_shot", episode.sentence, world, plan, samples=self.samples, task_id=episode.task_id
            )
            episode.spend(proposed.usage)
            best = max(proposed.candidates, key=self.score)
            if best.action is None or self.score(best) < self.cutoff:
                break
            plan.append(best.action)
        episode.follow(plan)

    def score(self, candidate: Candidate) -> float:
        """Ranking of one translated sample."""
        return candidate.match + self.likelihood * (candidate.logprob or 0.0)
