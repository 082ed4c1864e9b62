"""ReAct (Yao et al., ICLR 2023): a thought, an action and an observation in turn, until the model ends the task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from planweave.core.base.errors import ParseError
from planweave.core.base.parameter import option
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Written
from planweave.llm.parsing import parse_step
from planweave.llm.schema import step_schema
from planweave.methods.language.prompting import (
    actions_text,
    message,
    objects_text,
    observation_text,
    one_line,
    plan_examples,
    render,
)
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode

END = "end"
_PROMPTS = Path(__file__).resolve().parent / "prompts"
_TURN = re.compile(r"(?is)\A(?:\W*thought[ \d]*:)?(?P<thought>.{0,2000}?)\baction[ \d]*:(?P<action>[^\n]{1,300})")


def write(question: Question, trajectory: Sequence[str], start: int, options: Mapping[str, int]) -> Written:
    """The next action or END as the only line, the thought as its explanation; raises ParseError."""
    domain, without = question.domain, question.settings.exclude_actions
    examples = "\n\n".join(
        f"Task: {task}\n" + "\n".join([*map(str, plan), END]) for task, plan in plan_examples(domain)
    )
    action = step_schema(domain, question.shown, END, without)["properties"]["action"]
    replies = question.ask(
        "step",
        (
            message(
                "system",
                render(
                    _PROMPTS / "system.txt", actions=actions_text(domain, without), objects=objects_text(question.shown)
                ),
            ),
            message(
                "user",
                render(
                    _PROMPTS / "user.txt",
                    examples=examples,
                    task=one_line(question.sentence),
                    observation=observation_text(domain, question.shown),
                    trajectory="\n".join(trajectory),
                ),
            ),
        ),
        max_tokens=200,
        json_schema={
            "type": "object",
            "properties": {"thought": {"type": "string"}, "action": action},
            "required": ["thought", "action"],
            "additionalProperties": False,
        },
    )
    thought, text = read_turn(replies.replies[0].text)
    step = parse_step(text)
    mended = question.mender().plan([step]) if step is not None else ()
    if mended is None:
        raise ParseError(f"a name in the action {text[:100]!r} is not known")
    return Written((str(mended[0].action) if mended else END,), one_line(thought), replies.usage)


def read_turn(text: str) -> tuple[str, str]:
    """Thought and action of a reply: the JSON that was asked for, or ``Thought: … Action: …`` as in the paper."""
    try:
        turn = json.loads(text.strip().removeprefix("```json").strip("`\n "))
        return str(turn.get("thought", "")), str(turn["action"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    found = _TURN.match(text)
    if found is None:
        raise ParseError(f'the reply {text[:100]!r} is no turn; expected {{"thought": "…", "action": "name(object)"}}')
    return found["thought"], found["action"]


@dataclass
class ReAct:
    """At most max_steps actions are tried."""

    questions: ClassVar[Questions] = Questions(write={"react": write})

    max_steps: int = option(30, "actions at most", 1, 1000)

    def run(self, episode: Episode) -> None:
        """Think, act, observe."""
        trajectory: list[str] = []
        for number in range(1, self.max_steps + 1):
            before = episode.observe()
            episode.tell("thinking")
            trajectory += [f"A person said: {one_line(said)}" for said in episode.feedback()]
            turn = episode.planner.write("react", episode.sentence, before, history=trajectory, task_id=episode.task_id)
            episode.spend(turn.usage)
            episode.journal.add("thought", number=number, thought=turn.explanation, action=turn.lines[0])
            if turn.lines[0] == END:
                episode.tell("plan ended")
                return
            outcome = episode.execute(Action.parse(turn.lines[0]))
            if outcome.final:
                return
            known = set(episode.domain.observation(before))
            news = [s for s in episode.domain.observation(outcome.world) if s not in known]
            said = f"It failed: {one_line(outcome.message)}." if not outcome.ok else "; ".join(news) or "Nothing new."
            trajectory += [
                f"Thought {number}: {turn.explanation}",
                f"Action {number}: {turn.lines[0]}",
                f"Observation {number}: {said}",
            ]
        episode.tell(message=f"no end after {self.max_steps} actions")
