"""Scene-aware planner ("Generating executable action plans with environmentally-aware language models"), Algorithm 1.

At each step k samples are translated to admissible actions over the objects of the scene, scored, and the best is
appended; below a cutoff the plan ends. The plan is executed after it is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planweave.core.ports import Candidate
from planweave.core.world import Action, World
from planweave.methods.episode import Episode


@dataclass
class SceneAware:
    """Weights of Section III.D, out of the grid of Table IX; samples is k; repetition is taken off for each repeat."""

    samples: int = 10
    weight_probability: float = 0.5  # W_a, of the mean log-probability of the sample
    weight_match: float = 1.0  # W_aM
    weight_relevance: float = 0.25  # W_o
    weight_object_match: float = 0.7  # W_oM
    weight_distance: float = 0.5  # W_oD
    repetition: float = 0.5
    cutoff: float = 1.0
    max_steps: int = 20

    def run(self, episode: Episode) -> None:
        """Make the plan step by step, then execute it."""
        world, plan = episode.observe(), list[Action]()
        while len(plan) < self.max_steps:
            episode.tell("planning step by step")
            proposed = episode.planner.propose_steps(
                "scene_aware", episode.sentence, world, plan, samples=self.samples, task_id=episode.task_id
            )
            episode.spend(proposed.usage)
            scored = self._scores(world, plan, proposed.candidates)
            if not scored:
                break
            best, score = max(scored, key=lambda row: row[1])
            episode.journal.add("scored", best=str(best), score=round(score, 4), cutoff=self.cutoff)
            if score < self.cutoff:
                break
            plan.append(best)
        episode.follow(plan)

    def _scores(
        self, world: World, plan: Sequence[Action], candidates: Sequence[Candidate]
    ) -> list[tuple[Action, float]]:
        """The weighted sum for each candidate; a vote to end scores as the others do, through the cutoff."""
        actions = [c for c in candidates if c.action is not None]
        near = [self._nearness(world, plan, c.action) for c in actions if c.action is not None]
        best = max(near, default=0.0)
        rows = []
        for candidate, closeness in zip(actions, near):
            assert candidate.action is not None
            distance_score = 0.0 if closeness == best else closeness - best
            repeated = sum(a == candidate.action for a in plan)
            score = (
                self.weight_probability * (candidate.logprob or 0.0)
                + self.weight_match * candidate.match
                + self.weight_relevance * candidate.relatedness
                + self.weight_object_match * candidate.object_match
                + self.weight_distance * distance_score
                - self.repetition * repeated
            )
            rows.append((candidate.action, score))
        return rows

    @staticmethod
    def _nearness(world: World, plan: Sequence[Action], action: Action) -> float:
        """exp(-d / 100) for the mean distance d (centimetres) to the objects of the last step; 0 where unknown."""
        if not plan:
            return 0.0
        distances = []
        for name in action.args:
            for other in plan[-1].args:
                a, b = world.by_name.get(name), world.by_name.get(other)
                if a and b and a.position and b.position:
                    distances.append(100 * math.dist(a.position, b.position))
        return math.exp(-sum(distances) / len(distances) / 100) if distances else 0.0
