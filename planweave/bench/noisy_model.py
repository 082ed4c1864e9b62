"""`simulated:RATE`: a simulated model, NO language model, which follows an oracle plan with errors at a given rate.

It parses the actual prompts of planner_node and answers each in the required format, so that prompts, parsers and the
control loops of all methods run as with a real model. Its results show how the loops handle errors, and detect
regressions; they are never shown together with those of real models.

Each step is wrong with probability RATE: omitted, with another object, in the wrong order, or an action that does not
exist. A choice is wrong as often. With probability RATE / 5 a reply is malformed: truncated, prose, or a wrong format.
The same request, repeated as often in an episode, gets the same answer.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence

from planweave.bench.expert import Expert
from planweave.bench.noisy_program import program
from planweave.core.budget import Usage
from planweave.core.errors import ModelRequestError
from planweave.core.world import Action
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest
from planweave.llm.tokens import estimated_tokens

ENDPOINT = "simulated"
#: kind of wrong step: weight
ERRORS = {"missing": 0.35, "wrong object": 0.3, "wrong order": 0.2, "unknown action": 0.15}
MALFORMED = 0.2  # of the rate
TRAVEL = ("walk", "find")
UNKNOWN = ("approach", "pick_and_place", "activate", "dispose", "inspect", "use")

_OPTION = re.compile(r"(?m)^([A-Z]{1,2})\. ([a-z]\w*\([^()]*\))?")
_CANDIDATE = re.compile(r"'\$\$ ([^$]+?) \$\$'")
_STEP = re.compile(r"(?m)^Step \d+: (.+)$")
_STATED = re.compile(r"(?m)^Step (\d+):\s*\Z")
_ERROR_STEP = re.compile(r"(?m)^Error Step: (\d+)$")
_DESCRIPTION = re.compile(r"(?m)^Description: (.+)$")
_AGENT = re.compile(r"Action Plan: <(\w+)>\[action\]")


class NoisyModel:
    """Implements `planweave.llm.clients.base.ChatClient`, for one episode. rate: 0 to 1."""

    endpoint = ENDPOINT
    capabilities = Capabilities(n=True, json_schema=True, logprobs=False)

    def __init__(self, expert: Expert, rate: float, seed: str = "") -> None:
        self._expert, self._rate, self._seed = expert, rate, seed
        self._asked: Counter[str] = Counter()
        self._said: dict[str, Action] = {}  # phrases that it used, and what it meant
        self.model = f"simulated:{rate:g}"

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Answer; raises ModelRequestError for a prompt of unknown format."""
        texts = [m["content"] for m in request.messages]
        whole = "\n".join(texts)
        self._asked[whole] += 1
        rng = random.Random(f"{self._seed}\n{self._asked[whole]}\n{whole}")
        answers = self._answers(request, texts[0], texts[-1], rng)
        replies = tuple(ChatReply(self._maybe_malformed(a, rng), tokens=estimated_tokens(a)) for a in answers)
        usage = Usage(
            1,
            sum(map(estimated_tokens, texts)),
            0,
            sum(r.tokens for r in replies),
            cost=0.0,
            model=self.model,
            endpoint=self.endpoint,
        )
        return ChatReplies(replies, usage)

    def close(self) -> None:
        """Does nothing."""

    def _answers(self, request: ChatRequest, system: str, asked: str, rng: random.Random) -> list[str]:
        """The requested number of replies, before they are corrupted."""
        form, n = set((request.json_schema or {}).get("properties", ())), request.n
        if form == {"plan"}:
            return [json.dumps({"plan": [str(a) for a in self._plan(rng)]}) for _ in range(n)]
        if form in ({"action"}, {"thought", "action"}):
            thought = {"thought": ""} if "thought" in form else {}
            return [json.dumps({**thought, "action": str(self._next((), rng) or "end")}) for _ in range(n)]
        if form == {"choice"}:
            return [self._choice(asked, rng)] * n
        if "Select the best action from this list" in asked:
            return [self._selection(asked, rng)] * n
        if _ERROR_STEP.search(asked):
            return [self._tail(asked, rng)] * n
        if "Step-by-step Instructions:" in asked:
            return [self._lines(self._plan(rng), "{}: {}", 0)] * n
        if described := [t for m in request.messages for t in _DESCRIPTION.findall(m["content"])]:
            return [self._command(system, described[-1], rng)] * n
        if "Python programs" in system:
            return [program(self._expert.domain, self._plan(rng), asked)] * n
        if asked.rstrip().endswith(")") and "assert(" in asked:
            return [str(rng.random() >= self._rate)] * n
        if _STATED.search(asked):
            planned = [a for text in _STEP.findall(asked) if (a := self._said.get(_plain(text)))]
            return [self._in_words(self._next(planned, rng)) for _ in range(n)]
        if system.startswith("A robot can use these objects"):
            return [self._lines(self._plan(rng), "Step {}: {}", 1)] * n
        raise ModelRequestError(
            f"the simulated model does not know questions of this form: {asked[:120]!r}; goals "
            "must be given with the task"
        )

    # ---- what it knows, with errors

    def _plan(self, rng: random.Random) -> list[Action]:
        """The whole remaining plan, each step wrong at the rate."""
        steps, i = list(self._expert.rest()), 0
        while i < len(steps):
            kind = self._error(rng)
            if kind == "missing" and len(steps) > 1:
                del steps[i]
                continue
            if kind == "wrong order" and i + 1 < len(steps):
                steps[i], steps[i + 1] = steps[i + 1], steps[i]
                i += 1
            elif kind:
                steps[i] = self._altered(steps[i], kind, rng)
            i += 1
        return steps or list(self._expert.expected[-1:])

    def _next(self, planned: Sequence[Action], rng: random.Random) -> Action | None:
        """The next step; None at the end."""
        rest, kind = self._expert.rest(planned), self._error(rng)
        if not rest:
            return self._expert.expected[-1] if kind == "wrong order" else None  # it does not see that it is done
        if kind in ("missing", "wrong order"):
            return rest[1] if len(rest) > 1 else None if kind == "missing" else rest[0]
        return self._altered(rest[0], kind, rng) if kind else rest[0]

    def _best(self, options: Sequence[Action | None]) -> int:
        """The option that comes first in the remaining plan, or leads to the objects of its first steps."""
        rest: list[Action | None] = [*self._expert.rest(), None]

        def cost(option: Action | None) -> float:
            costs = [float(i) for i, step in enumerate(rest) if step == option]
            if option and option.name in TRAVEL:
                costs += [i + 1.5 for i, step in enumerate(rest) if step and set(step.args) & set(option.args)]
            return min(costs, default=len(rest) + 2.0)

        return min(range(len(options)), key=lambda i: cost(options[i]))

    def _error(self, rng: random.Random) -> str:
        """A kind of error, or none."""
        return rng.choices(list(ERRORS), list(ERRORS.values()))[0] if rng.random() < self._rate else ""

    def _altered(self, step: Action, kind: str, rng: random.Random) -> Action:
        if kind == "unknown action":
            return Action(rng.choice(UNKNOWN), step.args)
        others = [n for n in self._expert.names if n not in step.args]
        if not step.args or not others:
            return step
        place = rng.randrange(len(step.args))
        return Action(step.name, (*step.args[:place], rng.choice(others), *step.args[place + 1 :]))

    # ---- forms of answers

    def _choice(self, asked: str, rng: random.Random) -> str:
        """All votes are equal: they are not assumed independent."""
        found = _OPTION.findall(asked.partition("Which of these options")[2])
        options = [Action.parse(call) if call else None for _, call in found]
        index = self._best(options)
        others = [i for i in range(len(options)) if i != index]
        return json.dumps({"choice": found[rng.choice(others) if others and rng.random() < self._rate else index][0]})

    def _selection(self, asked: str, rng: random.Random) -> str:
        listed = _CANDIDATE.findall(asked.partition("Select the best action from this list")[2].partition("]")[0])
        options = [Action(name, tuple(args)) for name, *args in map(str.split, listed)]
        index, kind = self._best(options), self._error(rng)
        if kind == "unknown action":
            return f"$$ {rng.choice(UNKNOWN)} {' '.join(options[index].args)} $$ This should do it."
        others = [i for i in range(len(options)) if i != index]
        return f"$$ {listed[rng.choice(others) if kind and others else index]} $$ It helps most."

    def _tail(self, asked: str, rng: random.Random) -> str:
        start = int(_ERROR_STEP.findall(asked)[-1])
        steps = self._plan(rng) if self._expert.rest() else []
        tail = self._lines(steps, "{}: {}", start) if steps else f"{start}: Done"
        return f"The step could not be done as things are.\nNew Plan:\n{tail}"

    def _command(self, system: str, step: str, rng: random.Random) -> str:
        """The program line of a step in words; a pass for unknown words."""
        agent = found.group(1) if (found := _AGENT.search(system)) else "rob0"
        meant = self._said.get(_plain(step))
        kind = self._error(rng)
        if meant is None or kind == "missing":
            return "<pass>"
        if kind:
            meant = self._altered(meant, kind, rng)
        return " ".join([f"<{agent}>[{meant.name}]", *(f"<{a}>" for a in meant.args)])

    def _lines(self, steps: Sequence[Action], form: str, start: int) -> str:
        return "\n".join(form.format(i, self._in_words(step)) for i, step in enumerate(steps, start))

    def _in_words(self, step: Action | None) -> str:
        if step is None:
            return "done"
        if step.name in self._expert.domain.actions and len(step.args) == len(
            self._expert.domain.actions[step.name].parameters
        ):
            words = self._expert.domain.phrase(step)
        else:
            words = " ".join([step.name.replace("_", " "), "the", *(a.replace("_", " ") for a in step.args)])
        self._said[_plain(words)] = step
        return words

    def _maybe_malformed(self, text: str, rng: random.Random) -> str:
        if rng.random() >= self._rate * MALFORMED:
            return text
        return rng.choice(
            (
                text[: len(text) // 2],
                "I am sorry, I am not sure what you mean by that.",
                '{"thoughts": "first I look around", "steps_to_take": 3}',
            )
        )


def _plain(words: str) -> str:
    return " ".join(words.lower().split())
