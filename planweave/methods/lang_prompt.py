"""LangPrompt (ProgPrompt, Section V.A and Table I row 7): a plan in words, each step translated to an action.

The paper trains a policy on GPT-2 for the translation; here it is replaced by the nearest admissible action by
embedding, without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from planweave.core.workflow.ports import Grounding, Written
from planweave.llm.reasoning import whole
from planweave.llm.step_list import numbered_steps
from planweave.methods.language.prompting import done_text, objects_text, one_line, plan_examples, render, turn
from planweave.methods.language.question import Question, Questions
from planweave.methods.language.translate import Translator
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

EXAMPLES = 3  # as in the paper


def write(question: Question, history: Sequence[str], start: int, options: Mapping[str, int]) -> Written:
    """The plan in words; raises ParseError where the reply has no steps."""
    domain, set_ = question.domain, question.settings
    examples = "\n\n".join(
        render("lang_prompt/task.txt", task=task) + "\n" + steps_text([domain.phrase(a) for a in plan])
        for task, plan in plan_examples(domain, question.sentence)[-EXAMPLES:]
    )
    objects, done = objects_text(question.shown), done_text(domain)
    messages = (
        turn("system", "lang_prompt/system.txt", objects=objects, examples=examples, done=done),
        turn("user", "lang_prompt/task.txt", task=one_line(question.sentence)),
    )
    steps, usage = question.ask_one(
        "words",
        messages,
        lambda reply: numbered_steps(whole(reply), 1),
        about={"start": 1},
        temperature=set_.program_temperature,
        max_tokens=set_.words_tokens,
    )
    return Written(*steps, usage)


def ground(question: Question, step: str) -> Grounding:
    """The nearest admissible action; no model is asked. Raises ParseError for a step without words."""
    translator = Translator(question.domain, question.world, question.embedder, question.settings.exclude_actions)
    found = translator.nearest(step, question.history)
    return Grounding(found.actions[0], f"{step} (match {found.match:.2f})")


def steps_text(steps: Sequence[str]) -> str:
    """``Step 1: …`` lines."""
    return "\n".join(f"Step {i}: {step}" for i, step in enumerate(steps, 1))


@dataclass
class LangPrompt(PaperMode):
    """One plan in words, translated step by step, executed open loop."""

    questions: ClassVar[Questions] = Questions(write={"lang_prompt": write}, ground={"lang_prompt": ground})

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
