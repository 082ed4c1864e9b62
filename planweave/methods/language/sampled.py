"""Shared parts of zero_shot and scene_aware: several free-text samples of the next step, each translated to an
action.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from planweave.core.base.errors import ParseError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Candidate
from planweave.llm.clients.base import ChatReply
from planweave.llm.parsing import agreed, bounded
from planweave.llm.reasoning import read_each
from planweave.methods.language.prompting import one_line, plan_examples, turn
from planweave.methods.language.question import Question
from planweave.methods.language.translate import Translation, Translator
from planweave.methods.running.episode import Episode

TOKENS = 40  # of one step
MAX_STEP = 300  # characters
MAX_CHARACTERS = 20_000
NO_STEP = "the plan has no step: the samples say that the task is done, or none is like an action that can be done here"
_OVER = re.compile(
    r"\A\W*(?:end|done|stop|finished?|none|the task is (?:done|complete|finished)|"
    r"task (?:is )?(?:done|completed?|finished)|no (?:more|further) steps?)\W*\Z",
    re.IGNORECASE,
)
_LEAD = re.compile(r"\A(?:[-*•]\s+|(?:step\s{0,3})?(\d{1,3})\s{0,3}[.:)-]+\s*)", re.IGNORECASE)
_REMARK = re.compile(r"\s?\((?!\s*\d+\s*\))[^()]{0,300}\)[.!]?\Z")
_SENTENCE = re.compile(r"[.!?;]+\s+(?=\S)")


def step_of(text: str, number: int = 0) -> str:
    """The step in a reply; empty where the model declares the task done.

    number: of the step that was asked for; of several lines only those with it count. Raises ParseError where there is
    no step, and SeveralAnswersError where there are several: which of them is a draft is not known.
    """
    lines = [line.strip().strip("`*\"'").strip() for line in bounded(text, MAX_CHARACTERS).splitlines()]
    lines = [line for line in lines if re.search(r"[A-Za-z]", line) and line != "json"]
    numbered = [line for line in lines if (m := _LEAD.match(line)) and number and m.group(1) == str(number)]
    steps = [_REMARK.sub("", _LEAD.sub("", line, count=1)).strip("`*\"' ") for line in numbered or lines]
    parts = [part for step in steps for part in (_SENTENCE.split(step) if len(step) <= MAX_STEP else [step])]
    found = agreed(("" if _OVER.match(part) else part for part in parts), text)
    if found is None:
        raise ParseError(f"the reply {text[:60]!r} has no step in it")
    return found[:MAX_STEP]


def sampled_steps(
    question: Question, system: dict[str, str], samples: int, **notes: str
) -> tuple[list[tuple[str, Translation | None, float | None]], Usage]:
    """Samples of the step after the history: as written, its translation (None: the end) and mean log-probability, most
    frequent first. samples: 0 for the planner's default; notes: for the record of the exchange.

    Raises ParseError where no reply can be read.
    """
    set_, done = question.settings, question.history
    user = turn(
        "user",
        "scene_aware/user.txt",
        task=one_line(question.sentence),
        number=str(len(done) + 1),
        steps=(steps_so_far(question, done) + "\n") if done else "",
    )
    replies = question.ask(
        "proposals",
        (system, user),
        n=samples or set_.proposals,
        temperature=set_.proposal_temperature,
        max_tokens=TOKENS,
        logprobs=True,
        notes={"embedding": question.embedder.name, **notes},
    )
    translator = Translator(question.domain, question.world, question.embedder, set_.exclude_actions)
    known: dict[str, Translation] = {}

    def read(reply: ChatReply) -> tuple[str, Translation | None, float | None]:
        step = step_of(reply.text, len(done) + 1)
        if step and step not in known:
            known[step] = translator.nearest(step, done)
        return step or one_line(reply.text)[:60], known[step] if step else None, reply.mean_logprob

    found, problem = read_each(replies, read)
    rows = [row for _, row in found]
    if not rows:
        raise ParseError(f"none of {len(replies.replies)} replies is a step; the last: {problem}")
    count = Counter(text.lower() for text, _, _ in rows)
    rows.sort(key=lambda row: -count[row[0].lower()])  # of equal scores the most frequent wins
    return rows, replies.usage


def follow_sampled(
    episode: Episode,
    words: str,
    samples: int,
    max_steps: int,
    choose: Callable[[World, Sequence[Action], Sequence[Candidate]], Action | None],
) -> None:
    """Make a plan step by step from the first observation, then execute it. words: the name of the request.

    choose: the next step, of the candidates after the steps so far; None: the plan ends.
    """
    world, plan = episode.observe(), list[Action]()
    while len(plan) < max_steps:
        episode.tell("planning step by step")
        proposed = episode.planner.propose_steps(
            words, episode.sentence, world, plan, samples=samples, task_id=episode.task_id
        )
        episode.spend(proposed.usage)
        step = choose(world, plan, proposed.candidates)
        if step is None:
            break
        plan.append(step)
    if not plan:
        episode.tell(message=NO_STEP)
    episode.follow(plan)


def example_text(question: Question, index: int) -> str:
    """The example's task with its steps in words."""
    task, plan = plan_examples(question.domain, question.sentence)[index]
    return f"Task: {task}\n" + steps_so_far(question, plan)


def steps_so_far(question: Question, plan: Sequence[Action]) -> str:
    """``Step 1: …`` lines for actions."""
    return "\n".join(f"Step {i}: {question.domain.phrase(a).capitalize()}" for i, a in enumerate(plan, 1))


def most_similar(question: Question, tasks: Sequence[str]) -> list[float]:
    """S_M: cosine of the sentence to each task."""
    if not tasks:
        return []
    rows = question.embedder.embed([*tasks, question.sentence])
    return [float(x) for x in rows[:-1] @ rows[-1]]
