"""BrainBody-LLM (Bhat et al., "Grounding LLMs for robot task planning using closed-loop state feedback"), Algorithm 1.

A Brain writes numbered steps in words; a Body turns each into one command or passes; an error is fed back to the Brain,
which explains it and rewrites the plan from the failed step on.

Each prompt has the parts of its figure in order. The parts that are constant within a task come first, in the system
message, so that a prompt cache is effective.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planweave.core.base.errors import ParseError
from planweave.core.base.parameter import option
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Grounding, Written
from planweave.llm.parsing import agreed, bounded, parse_plan
from planweave.llm.reasoning import whole
from planweave.llm.step_list import numbered_steps
from planweave.methods.language.prompting import (
    Messages,
    done_text,
    example_part,
    examples_for,
    objects_text,
    one_line,
    places_text,
    plan_examples,
    turn,
)
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

_PASS = re.compile(r"<\s*pass\s*>|\A\W*(?:action plan\s*:\s*)?pass\W*\Z", re.IGNORECASE)
_COMMAND = re.compile(r"(?:<\s*\w{1,20}\s*>\s*)?\[[^\[\]]{1,60}\](?:\s*<[^<>]{1,80}>(?:\s*\(\s*\d{1,6}\s*\))?){0,5}")
_LABEL = re.compile(r"(?i)action plan\s{0,9}:")
_EXPLANATION = re.compile(r"(?im)^\W{0,9}explanation\s{0,9}:")
_AGENT = re.compile(r"\A<[^<>]*>\s*(?=\[)")
_CALL = re.compile(r"[A-Za-z_][\w-]{0,60}\([^()]{0,200}\)")
_BODY_TOKENS = 120
_MAX_STEP = 300  # characters
MAX_CHARACTERS = 20_000
REACHABLE = "reachable"
"""The predicate of a table's domain that says what the arm can reach."""
BODIES = ("model", "matching")


def write(question: Question, history: Sequence[str], start: int, options: Mapping[str, int]) -> Written:
    """The whole plan, numbered from 0 (Figure 2)."""
    domain = question.domain
    examples = "\n\n".join(
        f"High-level Instruction: {task}\nStep-by-step Instructions:\n{_numbered([domain.phrase(a) for a in plan])}"
        for task, plan in plan_examples(domain, question.sentence)[:4]
    )
    messages = (
        turn("system", "brainbody/plan_system.txt", examples=examples, **_scene(question)),
        turn(
            "user",
            "brainbody/plan_user.txt",
            environment=_environment(question, options),
            task=one_line(question.sentence),
            start=str(start),
        ),
    )
    return _written(question, "brain", messages, start, history)


def write_tail(question: Question, history: Sequence[str], start: int, options: Mapping[str, int]) -> Written:
    """An explanation of the error and a new plan that starts at the failed step (Figure 4).

    history: the whole plan; start: the number of the failed step.
    """
    examples = "\n\n".join(
        f"High-level Instruction: {e['task']}\nInitial Plan:\n{_marked(e['plan'], e['error_step'])}\n"
        f"Error Step: {e['error_step']}\nFeedback: {e['feedback']}\nExplanation: {e['explanation']}\nNew Plan:\n"
        f"{_numbered(e['new_plan'], e['error_step'])}"
        for e in examples_for(question.domain, "corrections", question.sentence)
    )
    messages = (
        turn("system", "brainbody/feedback_system.txt", examples=examples, **_scene(question)),
        turn(
            "user",
            "brainbody/feedback_user.txt",
            task=one_line(question.sentence),
            start=str(start),
            plan=_marked([one_line(h) for h in history], start) or "(none)",
            feedback="\n".join(one_line(e) for e in question.errors) or "(none)",
            environment=_environment(question, options),
        ),
    )
    return _written(question, "brain_feedback", messages, start, history)


def ground(question: Question, step: str) -> Grounding:
    """One command, or a pass (Figure 3). A reply without a command is requested again once, then raises ParseError.

    A command with names unlike any known ones is passed on as written: the body refuses it, and its error is fed back
    to the Brain, as in the paper.
    """
    domain = question.domain
    agent = str(example_part(domain, "agent", "rob0"))
    errors = "".join(f"\nEarlier error: {one_line(e)}" for e in question.errors)
    messages = (
        turn(
            "system",
            "brainbody/body_system.txt",
            syntax=f"<{agent}>[action] <object>, or with two objects <{agent}>[action] <object> <object>",
            agent=agent,
            examples=_body_examples(domain, agent),
            **_scene(question),
        ),
        turn("user", "brainbody/body_user.txt", step=one_line(step), errors=errors),
    )
    (text, action), usage = question.ask_one(
        "command",
        messages,
        lambda reply: (reply.text, parse_command(reply.text)),
        temperature=question.settings.body_temperature,
        max_tokens=_BODY_TOKENS,
        about={"step": step, "agent": agent},
    )
    if action is None:
        return Grounding(None, one_line(text)[:300], usage)
    mended = question.mender().plan([action])
    return Grounding(mended[0].action if mended else action, one_line(text)[:300], usage)


def parse_command(text: str) -> Action | None:
    """The command of a reply, as written; None for ``<pass>``. Raises ParseError where there is none, or several.

    What stands before the first label "Action Plan:", or in an explanation after one, does not count.
    """
    parts = _LABEL.split(bounded(text, MAX_CHARACTERS))
    said: list[str] = []
    for part in parts[1:] or parts:
        for line in _EXPLANATION.split(part)[0].splitlines():
            said += [m.group(0) for pattern in (_PASS, _COMMAND, _CALL) for m in pattern.finditer(line)]
    command = agreed((None if _PASS.match(s) else parse_plan(_AGENT.sub("", s))[0] for s in said), text)
    if not said:
        raise ParseError(
            f"no command in the reply {text[:100]!r}; expected one line such as <rob0>[grasp] <red_cube>, or <pass>"
        )
    return command


def match(question: Question, step: str) -> Grounding:
    """The action and the objects whose names are most similar to a step, without a model (the paper's Table 3).

    As in the paper actions and objects are compared with the step separately, whether they fit each other or not.
    """
    set_, domain, embedder = question.settings, question.domain, question.embedder
    actions = [s for s in domain.actions.values() if s.name not in set_.exclude_actions]
    names = [o.name for o in question.world.objects]
    said = embedder.embed([*(spoken(s.name) for s in actions), *map(spoken, names), one_line(step)[:_MAX_STEP]])
    likeness = [float(x) for x in said[:-1] @ said[-1]]
    best = max(range(len(actions)), key=likeness.__getitem__)
    order = sorted(range(len(names)), key=lambda i: -likeness[len(actions) + i])
    args = tuple(names[i] for i in order[: len(actions[best].parameters)])
    if len(args) < len(actions[best].parameters):
        raise ParseError(f"{actions[best].name} needs more objects than the {len(names)} that are known")
    return Grounding(Action(actions[best].name, args), f"{one_line(step)[:_MAX_STEP]} (match {likeness[best]:.2f})")


def triplets(domain: Domain, world: World, without: Collection[str] = ()) -> str:
    """The state as triplets (s : p : o), Section 3: relations between objects, and properties with true or false."""
    rows = [_triplet(x) for x in domain.observed(world) if x.predicate not in without]
    return ", ".join(rows) or "(nothing is known)"


def _triplet(literal: Literal) -> str:
    truth = "true" if literal.positive else "false"
    if len(literal.args) == 2:
        return f"({literal.args[0]} : {literal.predicate} : {literal.args[1]})"
    return f"({literal.args[0] if literal.args else 'robot'} : {literal.predicate} : {truth})"


def _written(question: Question, kind: str, messages: Messages, start: int, history: Sequence[str]) -> Written:
    steps, usage = question.ask_one(
        kind,
        messages,
        lambda reply: numbered_steps(whole(reply), start, history[:start]),
        about={"start": start},
        temperature=question.settings.brain_temperature,
        max_tokens=question.settings.words_tokens,
    )
    return Written(*steps, usage)


def _environment(question: Question, options: Mapping[str, int]) -> str:
    """The state as triplets, then where the other things are, and what was never seen."""
    domain, shown = question.domain, question.shown
    without = () if options.get("reachability", True) else (REACHABLE,)
    return "\n".join(filter(None, (triplets(domain, shown, without), places_text(domain, shown))))


def _scene(question: Question) -> dict[str, str]:
    without = question.settings.exclude_actions
    actions = ", ".join(
        s.phrase.replace("{", "<").replace("}", ">") + f" [{s.name}]"
        for s in question.domain.actions.values()
        if s.name not in without
    )
    return {"objects": objects_text(question.shown), "actions": actions, "done": done_text(question.domain)}


def _body_examples(domain: Domain, agent: str) -> str:
    """Each action once, with phrase and command, and examples of steps to pass."""
    actions = {a.name: a for _, plan in plan_examples(domain) for a in plan}
    commands = {a: " ".join([f"<{agent}>[{a.name}]", *(f"<{arg}>" for arg in a.args)]) for a in actions.values()}
    rows = [f"Description: {domain.phrase(a)}\nAction Plan: {command}" for a, command in commands.items()]
    rows += [
        f"Description: {e['step']}\nAction Plan: <pass>\nExplanation: {e['explanation']}"
        for e in example_part(domain, "passes", ())
    ]
    return "\n\n".join(rows)


def _numbered(steps: Sequence[str], start: int = 0) -> str:
    return "\n".join(f"{i}: {step}" for i, step in enumerate(steps, start))


def _marked(steps: Sequence[str], failed: int) -> str:
    """The whole plan, with the step that failed marked."""
    return _numbered([f"{step} (failed)" if i == failed else step for i, step in enumerate(steps)])


@dataclass
class BrainBody(PaperMode):
    """max_feedback is K, 3 in the paper; after that many replans a failed step is skipped.

    tell_reachability: the environment information says what is out of reach; in the paper that is learned from errors.
    body: who turns a step into a command, the Body's model, or matching of embeddings (Table 3).
    """

    questions: ClassVar[Questions] = Questions(
        write={"brainbody": write, "brainbody_feedback": write_tail},
        ground={"brainbody": ground, "brainbody_matching": match},
    )
    PAPER: ClassVar[Mapping[str, Any]] = {"tell_reachability": False, "oscillation_guard": False}

    max_feedback: int = option(3, "feedback loops at most, K", 0, 1000)
    max_steps: int = option(100, "actions at most", 1, 10_000)
    tell_reachability: bool = option(True, "tell the Brain what is out of reach before an error says so")
    oscillation_guard: bool = option(True, "end a step at the same command with the same error")
    body: str = option("model", "who turns a step into a command", choices=BODIES)

    def run(self, episode: Episode) -> None:
        """Algorithm 1; names as in the paper: hlp the high-level plan, i its index, k the feedback loops."""
        episode.tell("asking the brain")
        grounding = "brainbody" if self.body == "model" else "brainbody_matching"
        hlp = self._brain(episode, [], 0, [])
        i = k = 0
        failed: set[str] = set()  # commands with their errors: the same twice ends a step (oscillation)
        while i < len(hlp) and episode.steps < self.max_steps:
            episode.tell(f"step {i}: {hlp[i]}")
            try:
                error = self._step(episode, grounding, hlp[i])
            except ParseError as problem:  # as a command that the controller refuses
                episode.spend(problem.usage)
                error = f"{hlp[i]}: {problem}"
                episode.tell(message=error)
            if episode.stopped:
                return
            if error and k < self.max_feedback and not (self.oscillation_guard and error in failed):
                failed.add(error)
                k += 1
                episode.corrections += 1
                episode.tell("asking the brain again")
                tail = self._brain(episode, hlp, i, [error, *episode.feedback()])
                hlp = [*hlp[:i], *tail]
            else:
                i += 1
        episode.tell("plan ended")

    def _step(self, episode: Episode, grounding: str, step: str) -> str:
        """Ground and execute one step; the command with its error, "" where it is done or passed."""
        world = episode.observe()
        delta = episode.planner.ground_step(grounding, episode.sentence, step, world, task_id=episode.task_id)
        episode.spend(delta.usage)
        episode.journal.add("grounded", step=step, action=str(delta.action) if delta.action else "<pass>")
        if delta.action is None:
            return ""
        outcome = episode.execute(delta.action)
        return "" if outcome.ok else f"{delta.action}: {outcome.message}"

    def _brain(self, episode: Episode, plan: list[str], start: int, errors: list[str]) -> list[str]:
        """A whole plan, or after errors a new tail of the plan, numbered from the failed step on."""
        method = "brainbody_feedback" if errors else "brainbody"
        written = episode.planner.write(
            method,
            episode.sentence,
            episode.observe(),
            history=plan,
            errors=errors,
            start=start,
            options={"reachability": self.tell_reachability},
            task_id=episode.task_id,
        )
        episode.spend(written.usage)
        episode.journal.add("brain", start=start, steps=list(written.lines), explanation=written.explanation)
        return list(written.lines)
