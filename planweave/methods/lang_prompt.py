"""LangPrompt (ProgPrompt, Section V.A and Table I row 7): a plan in words, each step translated to an action.

The paper trains a policy on GPT-2 for the translation; here the nearest admissible action by similarity stands in.
"""

from __future__ import annotations

from dataclasses import dataclass

from planweave.methods.episode import Episode


@dataclass
class LangPrompt:
    """One plan in words, translated step by step, executed open loop."""

    def run(self, episode: Episode) -> None:
        """Ask once, translate, execute."""
        world = episode.observe()
        episode.tell("asking for a plan")
        written = episode.planner.write("lang_prompt", episode.sentence, world, task_id=episode.task_id)
        episode.spend(written.usage)
        plan = []
        for step in written.lines:
            grounding = episode.planner.ground_step(
                "lang_prompt", episode.sentence, step, world, task_id=episode.task_id
            )
            episode.spend(grounding.usage)
            episode.journal.add("grounded", step=step, action=str(grounding.action) if grounding.action else None)
            if grounding.action is not None:
                plan.append(grounding.action)
        episode.follow(plan)
