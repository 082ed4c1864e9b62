"""LangPrompt (ProgPrompt, Section V.A): objects and example plans in words, a plan in words.

The paper trains a policy that maps each step to an action; here the nearest admissible action by embedding stands in,
and no model is asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planweave.core.ports import Grounding, Written
from planweave.llm.step_list import numbered_steps
from planweave.methods.prompting import message, objects_text, one_line, plan_examples, render
from planweave.methods.question import Question
from planweave.methods.translate import Translator

EXAMPLES = 3  # as in the paper


def write(question: Question, history: Sequence[str], start: int, options: Mapping[str, bool]) -> Written:
    """The plan in words; raises ParseError where the reply has no steps."""
    domain, set_ = question.domain, question.settings
    examples = "\n\n".join(
        render("lang_prompt/task.txt", task=task) + "\n" + steps_text([domain.phrase(a) for a in plan])
        for task, plan in plan_examples(domain)[-EXAMPLES:])
    messages = (
        message("system", render("lang_prompt/system.txt", objects=objects_text(question.shown), examples=examples)),
        message("user", render("lang_prompt/task.txt", task=one_line(question.sentence))),
    )
    replies = question.ask("words", messages, temperature=set_.program_temperature, max_tokens=set_.words_tokens)
    steps, explanation = numbered_steps(replies.replies[0].text, 1)
    return Written(steps, explanation, replies.usage)


def ground(question: Question, step: str) -> Grounding:
    """The nearest admissible action; no model is asked. Raises ParseError for a step without words."""
    translator = Translator(question.domain, question.world, question.embedder, question.settings.exclude_actions)
    found = translator.nearest(step, question.history)
    return Grounding(found.actions[0], f"{step} (match {found.match:.2f})")


def steps_text(steps: Sequence[str]) -> str:
    """``Step 1: …`` lines."""
    return "\n".join(f"Step {i}: {step}" for i, step in enumerate(steps, 1))
