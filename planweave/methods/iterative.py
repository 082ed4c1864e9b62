"""Iterative-Planner with no, local or global replanning: the baselines of Tree-Planner, Sections 1 and 4.1.

One action is asked for at a time, with everything in the prompt each time. Without replanning a failed action ends
the plan; local replanning asks again at the failed step; global replanning starts from the first step again, with
what was executed taken back by its inverses (the paper resets the simulator).
"""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.world import Action, World
from planweave.methods.episode import Episode

REPLANS = ("none", "local", "global")


@dataclass
class Iterative:
    """replan: none, local or global; at most max_corrections of them (10 in the paper) and max_steps actions tried."""

    replan: str = "local"
    max_corrections: int = 10
    max_steps: int = 40

    def run(self, episode: Episode) -> None:
        """Ask, act, append, until the model says that the task is done."""
        history: list[tuple[Action, World]] = []
        errors: list[str] = []
        while episode.steps < self.max_steps:
            episode.tell("asking for the next step")
            proposed = episode.planner.propose_steps(
                "iterative", episode.sentence, episode.observe(), [a for a, _ in history],
                errors=[*errors, *episode.feedback()], samples=1, task_id=episode.task_id,
            )
            episode.spend(proposed.usage)
            action = proposed.candidates[0].action
            if action is None:
                episode.tell("plan ended")
                return
            before = episode.observe()
            outcome = episode.execute(action)
            if outcome.ok:
                history.append((action, before))
                errors.clear()
                continue
            if self.replan == "none" or episode.corrections >= self.max_corrections or outcome.final:
                episode.tell(message=f"the plan ends at a failed step: {outcome.message}")
                return
            episode.corrections += 1
            errors.append(f"{action}: {outcome.message}")
            if self.replan == "global":
                while history:
                    episode.undo(*history.pop())
        episode.tell(message=f"no end after {self.max_steps} actions")
