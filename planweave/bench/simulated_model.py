"""`simulated:RATE`: a simulated model, NO language model. It knows a right plan at any moment and errs at a set rate.

It is told what each question is about (`planweave.llm.clients.base.About`) and answers in the form that the prompt asks
for, so that prompts, parsers and the control loops of all methods run as with a real model. Its results show how the
loops deal with errors, and catch regressions; they never stand beside those of real models.

Each step that it names is wrong with probability RATE: left out, with another object, in the wrong order, or an
action that does not exist. A choice is wrong as often. With probability RATE / 5 a reply cannot be read: cut off,
prose, or a wrong form. The same question, asked for the same time in an episode, gets the same answer.

Samples of one question are correlated, as those of a language model are, which misunderstands a question rather than a
sample of it: at each decision (a step of a plan, a choice, the form of the reply), with probability `correlation` all
samples share one draw and go the same right or wrong way; else each draws for itself. The rate of errors of a sample
stays the same. At 0 a majority of many samples is always right. The default follows Tree-Planner's Figure 10: with M
steps of error rate r, SR_avg = (1 - r)^M and, of many samples, SR_max = (1 - correlation r)^M; ln SR_max / ln SR_avg is
0.64 for 25 samples and 0.50 for 50.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from planweave.core.base.errors import ModelRequestError
from planweave.core.base.usage import Usage
from planweave.core.pddl.formula import Atom, conjuncts
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.llm.accounting import estimated_tokens
from planweave.llm.clients.base import About, Capabilities, ChatReplies, ChatReply, ChatRequest
from planweave.llm.parsing import letter

ENDPOINT = "simulated"
#: kind of wrong step: weight
ERRORS = {"missing": 0.35, "wrong object": 0.3, "wrong order": 0.2, "unknown action": 0.15}
MALFORMED = 0.2  # of the rate
CORRELATION = 0.6
TRAVEL = ("walk", "find")
UNKNOWN = ("approach", "pick_and_place", "activate", "dispose", "inspect", "use")


Draw = Callable[[str], random.Random]  # the random numbers of a sample for one of its decisions


class Oracle(Protocol):
    """The source of right answers: `planweave.bench.models.Expert`, or a plan that is known for a task."""

    @property
    def domain(self) -> Domain:
        """The domain of the task."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the objects that a wrong step may name."""

    @property
    def expected(self) -> Sequence[Action]:
        """The whole right plan."""

    def rest(self, planned: Sequence[Action], about: About) -> Sequence[Action]:
        """Rest of the plan after actions that are only planned."""


class _Draws:
    """Random numbers of one question: a generator for each decision of each sample, shared by all samples with
    probability `correlation`.
    """

    def __init__(self, question: str, correlation: float) -> None:
        self._rng, self._correlation = random.Random(question), correlation
        self._decisions: dict[str, tuple[bool, int]] = {}  # whether it is shared, and its seed

    def sample(self, number: int) -> Draw:
        """The generators of one sample by the names of its decisions."""

        def of(decision: str) -> random.Random:
            if decision not in self._decisions:
                self._decisions[decision] = self._rng.random() < self._correlation, self._rng.getrandbits(64)
            shared, seed = self._decisions[decision]
            return random.Random(seed if shared else seed + (number + 1 << 64))

        return of


class SimulatedModel:
    """Keeps `planweave.llm.clients.base.ChatClient`, for one episode. rate: 0 to 1; malformed: share of the rate at
    which a reply cannot be read; correlation: of the samples of one question, 0 (independent) to 1 (all alike).
    """

    endpoint = ENDPOINT
    capabilities = Capabilities(n=True, json_schema=True, logprobs=False)

    def __init__(
        self,
        knowledge: Oracle,
        rate: float,
        seed: str = "",
        malformed: float = MALFORMED,
        correlation: float = CORRELATION,
    ) -> None:
        self._knowledge, self._rate, self._seed = knowledge, rate, seed
        self._malformed, self._correlation = malformed, correlation
        self._asked: Counter[str] = Counter()
        self._said: dict[str, Action] = {}  # phrases that it used, and what it meant
        self.model = f"simulated:{rate:g},correlation={correlation:g}"
        self._answers: dict[str, Callable[[ChatRequest, Draw], str]] = {  # by the kind of question
            "plans": self._plans,
            "step": self._step,
            "choice": self._choice,
            "selection": self._selection,
            "brain": self._brain,
            "brain_feedback": self._brain_feedback,
            "command": self._command,
            "program": self._program,
            "condition": self._condition,
            "proposals": self._proposals,
            "words": self._words,
        }

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Answer; raises ModelRequestError for a question of a kind that it does not know."""
        answer = self._answers.get(request.about.kind)
        if answer is None:
            raise ModelRequestError(
                f"the simulated model answers questions of the kinds {', '.join(self._answers)}, not "
                f"{request.about.kind!r}; goals must be given with the task"
            )
        texts = [m["content"] for m in request.messages]
        whole = "\n".join(texts)
        self._asked[whole] += 1
        draws = _Draws(f"{self._seed}\n{self._asked[whole]}\n{whole}", self._correlation)
        samples = [draws.sample(number) for number in range(request.n)]
        answers = [(answer(request, draw), draw("form")) for draw in samples]
        replies = tuple(ChatReply(self._maybe_malformed(a, rng), tokens=estimated_tokens(a)) for a, rng in answers)
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
        """Nothing is held."""

    # ---- what it knows, with errors

    def _plan(self, about: About, draw: Draw) -> list[Action]:
        """All that is left to do, each step wrong at the rate."""
        right, steps, i = self._knowledge.rest((), about), [], 0
        while i < len(right):
            rng = draw(f"step {i}")
            kind = self._error(rng)
            if kind == "wrong order" and i + 1 < len(right):
                steps += [right[i + 1], right[i]]
                i += 1
            elif kind != "missing" or not (steps or i + 1 < len(right)):
                steps.append(self._altered(right[i], kind, rng) if kind else right[i])
            i += 1
        return steps or list(self._knowledge.expected[-1:])

    def _next(self, planned: Sequence[Action], about: About, rng: random.Random) -> Action | None:
        """The next step; None where all is done."""
        rest, kind = self._knowledge.rest(planned, about), self._error(rng)
        if not rest:
            return self._knowledge.expected[-1] if kind == "wrong order" else None  # it does not see that it is done
        if kind in ("missing", "wrong order"):
            return rest[1] if len(rest) > 1 else None if kind == "missing" else rest[0]
        return self._altered(rest[0], kind, rng) if kind else rest[0]

    def _best(self, about: About) -> int:
        """The option that stands first in what is left to do, or is the way to the things of its first steps."""
        rest: list[Action | None] = [*self._knowledge.rest((), about), None]
        options = about.options

        def cost(option: Action | None) -> float:
            costs = [float(i) for i, step in enumerate(rest) if step == option]
            if option and option.name in TRAVEL:
                costs += [i + 1.5 for i, step in enumerate(rest) if step and set(step.args) & set(option.args)]
            return min(costs, default=len(rest) + 2.0)

        return min(range(len(options)), key=lambda i: cost(options[i]))

    def _error(self, rng: random.Random) -> str:
        return rng.choices(list(ERRORS), list(ERRORS.values()))[0] if rng.random() < self._rate else ""

    def _altered(self, step: Action, kind: str, rng: random.Random) -> Action:
        if kind == "unknown action":
            return Action(rng.choice(UNKNOWN), step.args)
        others = [n for n in self._knowledge.names if n not in step.args]
        if not step.args or not others:
            return step
        place = rng.randrange(len(step.args))
        return Action(step.name, (*step.args[:place], rng.choice(others), *step.args[place + 1 :]))

    # ---- forms of answers, before they are spoiled

    def _plans(self, request: ChatRequest, draw: Draw) -> str:
        return json.dumps({"plan": [str(a) for a in self._plan(request.about, draw)]})

    def _step(self, request: ChatRequest, draw: Draw) -> str:
        """The next action, "end" where all is done; a thought without words where one is asked for as well."""
        thought = {"thought": ""} if "thought" in (request.json_schema or {}).get("properties", ()) else {}
        return json.dumps({**thought, "action": str(self._next((), request.about, draw("step")) or "end")})

    def _choice(self, request: ChatRequest, draw: Draw) -> str:
        rng, index = draw("choice"), self._best(request.about)
        others = [i for i in range(len(request.about.options)) if i != index]
        chosen = rng.choice(others) if rng.random() < self._rate and others else index
        return json.dumps({"choice": letter(chosen)})

    def _selection(self, request: ChatRequest, draw: Draw) -> str:
        rng = draw("choice")
        options = [option for option in request.about.options if option is not None]
        index, kind = self._best(request.about), self._error(rng)
        if kind == "unknown action":
            return f"$$ {_spaced(Action(rng.choice(UNKNOWN), options[index].args))} $$ This should do it."
        others = [i for i in range(len(options)) if i != index]
        return f"$$ {_spaced(options[rng.choice(others) if kind and others else index])} $$ It helps most."

    def _brain(self, request: ChatRequest, draw: Draw) -> str:
        return self._lines(self._plan(request.about, draw), "{}: {}", request.about.start)

    def _brain_feedback(self, request: ChatRequest, draw: Draw) -> str:
        about = request.about
        steps = self._plan(about, draw) if self._knowledge.rest((), about) else []
        tail = self._lines(steps, "{}: {}", about.start) if steps else f"{about.start}: Done"
        return f"The step could not be done as things are.\nNew Plan:\n{tail}"

    def _command(self, request: ChatRequest, draw: Draw) -> str:
        """The line of program for a step in words; a pass for words that it does not know."""
        rng, meant = draw("command"), self._said.get(_plain(request.about.step))
        kind = self._error(rng)
        if meant is None or kind == "missing":
            return "<pass>"
        if kind:
            meant = self._altered(meant, kind, rng)
        return " ".join([f"<{request.about.agent}>[{meant.name}]", *(f"<{a}>" for a in meant.args)])

    def _program(self, request: ChatRequest, draw: Draw) -> str:
        about = request.about
        return program(self._knowledge.domain, self._plan(about, draw), about.offered, about.names)

    def _condition(self, request: ChatRequest, draw: Draw) -> str:
        """Whether it holds; True where no rule knows."""
        wrong = draw("condition").random() < self._rate
        return str((request.about.holds is not False) != wrong)

    def _proposals(self, request: ChatRequest, draw: Draw) -> str:
        about = request.about
        return self._in_words(self._next(about.history, about, draw("step")))

    def _words(self, request: ChatRequest, draw: Draw) -> str:
        return self._lines(self._plan(request.about, draw), "Step {}: {}", request.about.start)

    def _lines(self, steps: Sequence[Action], form: str, start: int) -> str:
        return "\n".join(form.format(i, self._in_words(step)) for i, step in enumerate(steps, start))

    def _in_words(self, step: Action | None) -> str:
        if step is None:
            return "done"
        schema = self._knowledge.domain.actions.get(step.name)
        if schema is not None and len(step.args) == len(schema.parameters):
            words = self._knowledge.domain.phrase(step)
        else:
            words = " ".join([step.name.replace("_", " "), "the", *(a.replace("_", " ") for a in step.args)])
        self._said[_plain(words)] = step
        return words

    def _maybe_malformed(self, text: str, rng: random.Random) -> str:
        if rng.random() >= self._rate * self._malformed:
            return text
        return rng.choice(
            (
                text[: len(text) // 2],
                "I am sorry, I am not sure what you mean by that.",
                '{"thoughts": "first I look around", "steps_to_take": 3}',
            )
        )


def _spaced(action: Action) -> str:
    return " ".join((action.name, *action.args))


def _plain(words: str) -> str:
    return " ".join(words.lower().split())


def program(domain: Domain, plan: Sequence[Action], imported: Collection[str], listed: Collection[str]) -> str:
    """The body of the function for a plan, in the paper's form.

    imported: actions that may be called; where only ``grab_and_putin`` is, every action of two objects becomes one.
    listed: names of objects in the prompt: exact ones, else classes.
    """
    lines = []
    for number, action in enumerate(plan, 1):
        args = [_name(a, listed) for a in action.args]
        if action.name in imported or action.name not in domain.actions:
            lines += _assertions(domain, action, args) + [_call(action.name, args)]
        elif len(args) == 2 and "grab_and_putin" in imported:
            lines += [f"# {number}: {domain.phrase(action)}", _call("grab_and_putin", args)]
    return "\n".join(f"    {line}" for line in [*lines, "# done"])


def _assertions(domain: Domain, action: Action, args: Sequence[str]) -> list[str]:
    """Being close, holding and open, where the action needs them and the domain can achieve them."""
    schema = domain.actions.get(action.name)
    if schema is None or len(schema.parameters) != len(args) or not {"find", "grab", "open"} <= set(domain.actions):
        return []
    if action.name in ("walk", "run", "find", "turnto"):
        return []
    names = [p.name for p in schema.parameters]
    needs = {
        (part.predicate, names.index(part.terms[0]))
        for part in conjuncts(schema.precondition)
        if isinstance(part, Atom) and part.terms and part.terms[0] in names
    }
    lines: list[str] = []
    if action.name in ("putin", "putback"):
        lines += [f"assert('{args[0]}' in 'hands')", f"else: find('{args[0]}')", f"else: grab('{args[0]}')"]
    last = args[-1] if args else ""
    if last:
        lines += [f"assert('close' to '{last}')", f"else: find('{last}')"]
    if ("opened", len(args) - 1) in needs:
        lines += [f"assert('{last}' is 'opened')", f"else: open('{last}')"]
    return lines


def _name(name: str, listed: Collection[str]) -> str:
    plain = re.sub(r"_\d+\Z", "", name)
    return plain if name not in listed and plain in listed else name


def _call(name: str, args: Sequence[str]) -> str:
    return f"{name}({', '.join(repr(a) for a in args)})"
