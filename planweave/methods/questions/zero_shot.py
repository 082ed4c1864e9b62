"""Zero-Shot Planner (Huang et al., ICML 2022; Tree-Planner, B.2): free-text steps, each translated to an action.

One example is retrieved by the similarity of its task. The objects are listed as for the other methods, which the
original does not do.
"""

from __future__ import annotations

from planweave.core.ports import Candidate, Proposals
from planweave.methods.prompting import message, objects_text, one_line, plan_examples, render
from planweave.methods.question import Question
from planweave.methods.sampled import TOKENS, example_text, most_similar, steps_so_far, translated


def propose(question: Question, samples: int) -> Proposals:
    """k samples of the next step. Raises ParseError where none can be read."""
    set_ = question.settings
    alike = most_similar(question, [task for task, _ in plan_examples(question.domain)])
    example = example_text(question, max(range(len(alike)), key=alike.__getitem__)) if alike else "(none)"
    number = len(question.history) + 1
    messages = (
        message("system", render("zero_shot/system.txt", objects=objects_text(question.shown), example=example)),
        message("user", render(
            "zero_shot/user.txt", task=one_line(question.sentence), number=str(number),
            steps=(steps_so_far(question, question.history) + "\n") if question.history else "")),
    )
    replies = question.ask(
        "proposals", messages, n=samples or set_.proposals, temperature=set_.proposal_temperature, max_tokens=TOKENS,
        logprobs=True, notes={"embedding": question.embedder.name})
    return Proposals(tuple(
        Candidate(text, None, logprob=logprob) if found is None else
        Candidate(text, found.actions[0], found.match, found.object_match, logprob)
        for text, found, logprob in translated(question, replies)), replies.usage)
