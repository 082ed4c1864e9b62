"""A simulated model, not a language model: it knows a right plan for each task and errs at a set rate, by a seed.

It reads the very prompts that planner_node builds (task, actions so far, errors, options) and answers in the form that
they ask for, so that the tokens of a method's questions and answers can be counted without any endpoint. What it
cannot show is how well a real model plans.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence

from planweave.core.budget import Usage
from planweave.core.errors import ModelError
from planweave.core.world import Action
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest
from planweave.llm.tokens import estimated_tokens

_TASK = re.compile(r"(?m)^(?:Task|The task now): (.*)$")
_HISTORY = re.compile(r"Actions carried out so far:\n((?:[a-z]\w*\(.*\)\n?)*)")
_FAILED = re.compile(r"(?m)^This was tried and failed[^:]*: ([a-z]\w*\([^()]*\))")
_OPTION = re.compile(r"(?m)^([A-Z]{1,2})\. ([a-z]\w*\([^()]*\))?")
_OBJECTS = re.compile(r"(?m)^- [a-z_]+: ([a-z][a-z0-9_]*(?:, [a-z][a-z0-9_]*)*)$")
_TRAVEL = ("walk", "find", "run")


class ScriptedModel:
    """Keeps `planweave.llm.clients.base.ChatClient`.

    plans: task in words -> a right plan. error_rate: how often a step that it names is wrong, 0 to 1: left out, or
    done with another of the objects listed. A choice is wrong as often, and then all its votes are: votes are not taken
    for independent. The same prompt gets the same answer, as from a model at temperature 0; samples differ.
    """

    endpoint, model = "simulated", "scripted"
    capabilities = Capabilities(n=True, json_schema=True, logprobs=False)

    def __init__(self, plans: Mapping[str, Sequence[Action]], error_rate: float = 0.1, seed: int = 0) -> None:
        self._plans = {task: tuple(plan) for task, plan in plans.items()}
        self._rate, self._seed = error_rate, seed
        self.prompts: dict[str, list[int]] = {}  # tokens of the prompts for a "plan", an "action" or a "choice"

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Answer a question for plans, for the next step or for a choice; raises ModelError for any other."""
        texts = [m["content"] for m in request.messages]
        asked = texts[-1]
        tasks = _TASK.findall(asked)
        if not tasks or tasks[-1] not in self._plans:
            raise ModelError(f"the simulated model knows no plan for {tasks[-1:]}; it knows: {', '.join(self._plans)}")
        gold = self._plans[tasks[-1]]
        rng = random.Random("\n".join([str(self._seed), *texts]))
        form = set((request.json_schema or {}).get("properties", ()))
        if form == {"plan"}:
            names = _objects(texts)
            answers = [self._sample(gold, names, rng) for _ in range(request.n)]
        elif form == {"action"}:
            answers = [self._next(gold, asked, _objects(texts), rng)] * request.n
        elif form == {"choice"}:
            answers = [self._choice(gold, asked, rng)] * request.n
        else:
            raise ModelError(f"the simulated model answers with a plan, an action or a choice, not with {sorted(form)}")
        replies = tuple(ChatReply(text, tokens=estimated_tokens(text)) for text in answers)
        self.prompts.setdefault(next(iter(form)), []).append(sum(map(estimated_tokens, texts)))
        usage = Usage(
            1,
            sum(map(estimated_tokens, texts)),
            0,
            sum(r.tokens for r in replies),
            model=self.model,
            endpoint=self.endpoint,
        )
        return ChatReplies(replies, usage)

    def close(self) -> None:
        """Nothing is held."""

    def _sample(self, gold: Sequence[Action], names: Sequence[str], rng: random.Random) -> str:
        steps = []
        for step in gold:
            wrong = rng.random() < self._rate
            if wrong and rng.random() < 0.5:
                continue
            steps.append(str(_altered(step, names, rng) if wrong else step))
        return json.dumps({"plan": steps or [str(gold[0])]})

    def _next(self, gold: Sequence[Action], asked: str, names: Sequence[str], rng: random.Random) -> str:
        index = next_index(gold, *_so_far(asked))
        if rng.random() < self._rate and index < len(gold):
            if rng.random() < 0.5:
                index += 1
            else:
                return json.dumps({"action": str(_altered(gold[index], names, rng))})
        return json.dumps({"action": str(gold[index]) if index < len(gold) else "end"})

    def _choice(self, gold: Sequence[Action], asked: str, rng: random.Random) -> str:
        options = {
            mark: Action.parse(call) if call else None
            for mark, call in _OPTION.findall(asked.partition("Which of these options")[2])
        }
        index = next_index(gold, *_so_far(asked))
        ahead = [*gold[index:], None, *gold[:index]]
        best = min(options, key=lambda m: ahead.index(options[m]) if options[m] in ahead else len(ahead))
        others = [mark for mark in options if mark != best]
        return json.dumps({"choice": rng.choice(others) if others and rng.random() < self._rate else best})


def next_index(gold: Sequence[Action], history: Sequence[Action], failed: Sequence[Action]) -> int:
    """Where in the right plan to go on: after the last of its steps that was done in its order.

    Where that step was tried and failed: at the first step that was left out, else at the way there.
    """
    index, done = 0, set()
    for action in history:
        if action in gold[index:]:
            index = gold.index(action, index) + 1
            done.add(index - 1)
    if index < len(gold) and gold[index] in failed:
        missing = [i for i in range(index) if i not in done]
        ways = [i for i in range(index) if gold[i].name in _TRAVEL]
        return (missing or ways[-1:] or [index])[0]
    return index


def _so_far(asked: str) -> tuple[list[Action], list[Action]]:
    """The actions done, and those that failed since, as a prompt tells them."""
    told = _HISTORY.search(asked)
    done = told.group(1).splitlines() if told else []
    return [Action.parse(line) for line in done], [Action.parse(call) for call in _FAILED.findall(asked)]


def _objects(texts: Sequence[str]) -> list[str]:
    """The names under "Objects by kind"."""
    part = next((t.partition("Objects by kind:")[2] for t in texts if "Objects by kind:" in t), "")
    return [name for row in _OBJECTS.findall(part) for name in row.split(", ")]


def _altered(step: Action, names: Sequence[str], rng: random.Random) -> Action:
    """The step with another object in the place of one of its own; an action without objects stays as it is."""
    others = [n for n in names if n not in step.args]
    if not step.args or not others:
        return step
    place = rng.randrange(len(step.args))
    return Action(step.name, (*step.args[:place], rng.choice(others), *step.args[place + 1 :]))
