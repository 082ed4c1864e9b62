"""Iterative-Planner with no, local or global replanning: the baselines of Tree-Planner, Sections 1 and 4.1.

One action is requested at a time, each time with the complete prompt. Without replanning a failed action ends the plan;
local replanning repeats the request at the failed step; global replanning restarts from the first step, with executed
actions undone by their inverses (the paper resets the simulator). An error stays in the prompt until its step is done.

Temperature 0 and top-p 1, as found best there (B.1); objects, actions and examples are those of plan sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from planweave.core.base.errors import ParseError
from planweave.core.base.parameter import option
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Candidate, Proposals
from planweave.llm.clients.base import ChatReply
from planweave.llm.parsing import parse_step
from planweave.llm.schema import step_schema
from planweave.methods.language import paper_notation
from planweave.methods.language.paper_notation import NOTATIONS
from planweave.methods.language.prompting import (
    Messages,
    actions_text,
    done_text,
    kinds_text,
    one_line,
    plan_examples,
    surroundings_text,
    turn,
)
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode
from planweave.methods.running.undoing import undo

END = "end"
_TOKENS = 60


def propose(question: Question, samples: int, notation: str = "calls") -> Proposals:
    """The next action, or none where the task is done. Raises ParseError for a reply that is neither."""
    set_, mender, domain, shown = question.settings, question.mender(), question.domain, question.shown
    if notation == "calls":
        messages = step_messages(question)
    else:
        messages = paper_notation.sample_messages(
            domain, shown, question.sentence, set_.exclude_actions, question.errors, question.history
        )

    def read(reply: ChatReply) -> Candidate:
        action = parse_step(reply.text)
        mended = mender.plan([action]) if action is not None else ()
        if mended is None:
            raise ParseError(f"a name in {reply.text[:100]!r} is not known")
        return Candidate(reply.text, mended[0].action if mended else None, logprob=reply.mean_logprob)

    candidates, replies, problem = question.ask_until_read(
        "step",
        messages,
        read,
        n=max(1, samples),
        temperature=set_.step_temperature,
        max_tokens=_TOKENS,
        logprobs=samples > 1,
        json_schema=step_schema(domain, shown, END, set_.exclude_actions) if notation == "calls" else None,
    )
    if not candidates:
        raise ParseError(f"none of {len(replies.replies)} replies is a next action; the last: {problem}")
    return Proposals(tuple(candidate for _, candidate in candidates), replies.usage)


def step_messages(question: Question) -> Messages:
    """Instruction and global information, which stay the same; then observation, examples, task, history, errors."""
    domain, without = question.domain, question.settings.exclude_actions
    examples = "\n\n".join(
        f"Task: {task}\n" + "\n".join([*map(str, plan), END]) for task, plan in plan_examples(domain, question.sentence)
    )
    failed = "".join(f"\nThis was tried and failed, or was said: {one_line(e)}" for e in question.errors)
    parts: dict[str, Any] = {"actions": actions_text(domain, without), "objects": kinds_text(domain, question.shown)}
    return (
        turn("system", "iterative/system.txt", done=done_text(domain), **parts),
        turn(
            "user",
            "iterative/user.txt",
            observation=surroundings_text(domain, question.shown),
            examples=examples,
            task=one_line(question.sentence),
            errors=failed,
            history="\n".join(map(str, question.history)) or "(none yet)",
        ),
    )


REPLANS = ("none", "local", "global")
PAPER_WORDS = "iterative_paper"


@dataclass
class Iterative(PaperMode):
    """replan: none, local or global; at most max_corrections of them (10 in the paper) and max_steps actions tried."""

    questions: ClassVar[Questions] = Questions(
        propose={"iterative": propose, PAPER_WORDS: partial(propose, notation="paper")}
    )
    PAPER: ClassVar[Mapping[str, Any]] = {"notation": "paper"}

    replan: str = option("local", "what to do after a failed action", choices=REPLANS)
    max_corrections: int = option(10, "error corrections at most", 0, 1000)
    max_steps: int = option(40, "actions at most", 1, 10_000)
    notation: str = option("calls", "of prompts: calls by schema, or the paper's", choices=NOTATIONS)

    def run(self, episode: Episode) -> None:
        """Request, execute, append, until the model declares the task done."""
        history: list[tuple[Action, World]] = []
        errors: list[tuple[int, str]] = []  # with the number of actions before the one that failed
        while episode.steps < self.max_steps:
            episode.tell("asking for the next step")
            proposed = episode.planner.propose_steps(
                PAPER_WORDS if self.notation == "paper" else "iterative",
                episode.sentence,
                episode.observe(),
                [a for a, _ in history],
                errors=[*(text for _, text in errors), *episode.feedback()],
                samples=1,
                task_id=episode.task_id,
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
                errors = [(at, text) for at, text in errors if at >= len(history)]
                continue
            if self.replan == "none" or episode.corrections >= self.max_corrections or outcome.final:
                episode.tell(message=f"the plan ends at a failed step: {outcome.message}")
                return
            episode.corrections += 1
            errors.append((len(history), f"{action}: {outcome.message}"))
            if self.replan == "global":
                while history:
                    undo(episode, *history.pop())
        episode.tell(message=f"no end after {self.max_steps} actions")
