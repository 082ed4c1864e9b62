"""Zero-Shot Planner (Huang et al., ICML 2022), as Tree-Planner (B.2) and the scene-aware planner use it as a baseline.

Each free-text step is translated to the nearest admissible action, which replaces it in the prompt. The plan is made
from the initial observation, then executed open loop.

One example is retrieved by the similarity of its task. The objects are listed as for the other methods; the original
lists none (tell_objects).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from planweave.core.base.parameter import option
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Candidate, Proposals
from planweave.methods.language.prompting import done_text, objects_text, plan_examples, turn
from planweave.methods.language.question import Question, Questions
from planweave.methods.language.sampled import example_text, follow_sampled, most_similar, sampled_steps
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode


def propose(question: Question, samples: int, objects: bool = True) -> Proposals:
    """k samples of the next step. objects: the prompt lists them, unlike the paper's. Raises ParseError where no sample
    can be read.
    """
    alike = most_similar(question, [task for task, _ in plan_examples(question.domain, question.sentence)])
    example = example_text(question, max(range(len(alike)), key=alike.__getitem__)) if alike else "(none)"
    told = {"example": example, "done": done_text(question.domain)}
    if objects:
        system = turn("system", "zero_shot/system.txt", objects=objects_text(question.shown), **told)
    else:
        system = turn("system", "scene_aware/system.txt", **told)
    rows, usage = sampled_steps(question, system, samples)
    return Proposals(
        tuple(
            Candidate(text, None, logprob=logprob)
            if found is None
            else Candidate(text, found.actions[0], found.match, found.object_match, logprob)
            for text, found, logprob in rows
        ),
        usage,
    )


@dataclass
class ZeroShot(PaperMode):
    """samples per step; a step scores match + likelihood * mean log-probability - repetition, where it is the last one
    again. The plan ends below the cutoff, and where all samples say that the task is done; with end_by_vote where more
    than half of them do, with end_by_likely where the more probable half does, as in the authors' code.
    """

    questions: ClassVar[Questions] = Questions(
        propose={"zero_shot": propose, "zero_shot_without_objects": partial(propose, objects=False)}
    )
    PAPER: ClassVar[Mapping[str, Any]] = {
        "tell_objects": False,
        "end_by_vote": False,
        "end_by_likely": True,
        "repetition": 0.5,
    }

    samples: int = option(10, "samples of each step, k", 1, 200)
    likelihood: float = option(0.3, "weight of the sample's mean log-probability", 0.0, 100.0)
    cutoff: float = option(0.5, "score below which the plan ends", -100.0, 100.0)
    max_steps: int = option(20, "steps at most", 1, 1000)
    tell_objects: bool = option(True, "list the objects in the prompt")
    end_by_vote: bool = option(True, "end the plan where more than half of the samples say that the task is done")
    end_by_likely: bool = option(False, "end the plan where all of the more probable half of the samples say so")
    repetition: float = option(0.0, "taken off where an action is that of the last step again", 0.0, 100.0)

    def run(self, episode: Episode) -> None:
        words = "zero_shot" if self.tell_objects else "zero_shot_without_objects"
        follow_sampled(episode, words, self.samples, self.max_steps, self._next)

    def _next(self, world: World, plan: Sequence[Action], candidates: Sequence[Candidate]) -> Action | None:
        steps = [c for c in candidates if c.action is not None]
        if not steps or self._over(candidates):
            return None
        best, score = max(((c, self.score(c, plan)) for c in steps), key=lambda row: row[1])
        return best.action if score >= self.cutoff else None

    def _over(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the samples say that the task is done. Without log-probabilities all are equally probable."""
        ended = [c.action is None for c in candidates]
        if self.end_by_vote and 2 * sum(ended) > len(candidates):
            return True
        if not self.end_by_likely:
            return False
        if any(c.logprob is None for c in candidates):
            return 2 * sum(ended) > len(candidates)
        likely = sorted(candidates, key=lambda c: -(c.logprob or 0.0))
        return all(c.action is None for c in likely[: max(1, len(candidates) // 2)])

    def score(self, candidate: Candidate, plan: Sequence[Action] = ()) -> float:
        """Ranking of one translated sample after the steps of a plan."""
        again = bool(plan) and candidate.action == plan[-1]
        return candidate.match + self.likelihood * (candidate.logprob or 0.0) - again * self.repetition
