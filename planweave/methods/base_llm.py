"""Base-LLM (BrainBody-LLM, Section 4.4): commands directly from the task, one model, no feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from planweave.core.base.parameter import option
from planweave.methods.language.prompting import PROMPTS
from planweave.methods.language.question import Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode


@dataclass
class BaseLLM(PaperMode):
    """One plan of commands, executed open loop. temperature: the paper runs all its variants at 0.5 (4.6)."""

    questions: ClassVar[Questions] = Questions(sample={"base_llm": PROMPTS / "base_llm"})
    PAPER: ClassVar[Mapping[str, Any]] = {"temperature": 0.5}

    temperature: float = option(0.0, "of the plan", 0.0, 2.0)

    def run(self, episode: Episode) -> None:
        """Request a plan once, then execute it; a failed command is skipped."""
        world = episode.observe()
        episode.tell("asking for a plan")
        sampled = episode.planner.generate_plans(
            episode.sentence,
            world,
            samples=1,
            temperature=self.temperature,
            top_p=1.0 if self.temperature else 0.0,  # the planner's, without effect at temperature 0
            task_id=episode.task_id,
            method="base_llm",
        )
        episode.spend(sampled.usage)
        episode.follow(sampled.plans[0].actions)
