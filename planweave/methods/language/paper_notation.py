"""The prompts of Tree-Planner and Iterative-Planner with ``paper: true``: parts and notation of the paper's Appendix F.

A sub-task is ``[WALK] <mug> (52)``. Actions are listed by the number of their arguments, without preconditions, objects
by class, and observations name classes only; examples stand in one text before the task. No schema goes with a request.
The words are ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Action, World
from planweave.methods.language.prompting import (
    PROMPTS,
    SAMPLE_SYSTEM,
    SAMPLE_USER,
    Messages,
    example_part,
    lettered,
    observation_text,
    one_line,
    plan_examples,
    turn,
)

NOTATIONS = ("calls", "paper")
FOLDER = PROMPTS / "paper_notation"
END = "[END]"
_NUMBERED = re.compile(r"(.+?)_(\d+)\Z")
_KINDS = {0: "no object", 1: "one object", 2: "two objects"}


def sub_task(action: Action | None) -> str:
    """``[PUTIN] <mug> (52) <fridge> (12)``; a name without a number has no id. None: the end."""
    if action is None:
        return END
    named = [_NUMBERED.match(a) for a in action.args]
    return " ".join(
        [f"[{action.name.upper()}]", *(f"<{m[1]}> ({m[2]})" if m else f"<{a}>" for a, m in zip(action.args, named))]
    )


def sample_messages(
    domain: Domain,
    world: World,
    sentence: str,
    without: Collection[str] = (),
    errors: Sequence[str] = (),
    history: Sequence[Action] | None = None,
) -> Messages:
    """Whole plans (F.2): instruction, global information, initial observation, examples, task. history: actions
    carried out so far, for the next sub-task alone (F.1).
    """
    shown = [(task, _counted(plan)) for task, plan in plan_examples(domain, sentence)]
    examples = ["\n".join([f"Task: {task}", *map(sub_task, plan)]) for task, plan in shown]
    same = next((plan[:2] for _, plan in shown if len(plan) > 1), ())
    end = f" Where the task is done, reply {END}, which has the form 1. Reply with the next sub-task alone."
    system = turn(
        "system",
        FOLDER / SAMPLE_SYSTEM,
        same=" and ".join(map(sub_task, same)),
        end="" if history is None else end,
        actions=_actions(domain, without),
        objects=_objects(world),
    )
    user = turn(
        "user",
        FOLDER / SAMPLE_USER,
        observation=_observed(domain, world),
        examples="\n\n".join(examples),
        task="\n".join([one_line(sentence), *map(sub_task, history or ()), *map(_error, errors)]),
    )
    return system, user


def decide_messages(
    domain: Domain,
    world: World,
    sentence: str,
    history: Sequence[Action],
    options: Sequence[Action | None],
    errors: Sequence[str],
) -> Messages:
    """One choice (F.3): instruction with an example, observation, task, history, error, lettered options."""
    said = "\n".join(map(_error, errors))
    return (
        turn("system", FOLDER / "decide_system.txt", example=_decision(domain)),
        turn(
            "user",
            FOLDER / "decide_user.txt",
            observation=_observed(domain, world),
            task=one_line(sentence),
            history="\n".join(map(sub_task, history)) or "(none yet)",
            errors=f"{said}\n" if said else "",
            options=lettered(map(sub_task, options)),
        ),
    )


def _counted(plan: Sequence[Action]) -> list[Action]:
    """An example with ids by class from 1 on: the numbers that its things had elsewhere say nothing here."""
    known: dict[str, dict[str, int]] = {}

    def counted(name: str) -> str:
        found = _NUMBERED.match(name)
        if not found:
            return name
        of_class = known.setdefault(found[1], {})
        return f"{found[1]}_{of_class.setdefault(name, len(of_class) + 1)}"

    return [replace(action, args=tuple(map(counted, action.args))) for action in plan]


def _actions(domain: Domain, without: Collection[str]) -> str:
    lines = []
    schemas = [s for s in domain.actions.values() if s.name not in without]
    for kind, count in enumerate(sorted({len(s.parameters) for s in schemas}), 1):
        names = ", ".join(f"[{s.name.upper()}]" for s in schemas if len(s.parameters) == count)
        lines.append(f"Actions with {_KINDS.get(count, f'{count} objects')} (form {kind}): {names}")
    return "\n".join(lines)


def _objects(world: World) -> str:
    """Rooms, and the classes of all other things, each once."""
    rooms = sorted({_class(o.name) for o in world.objects if o.type == "room"})
    others = sorted({_class(o.name) for o in world.objects if o.type != "room"})
    lines = [f"You are in a house with these rooms: {', '.join(rooms)}."] if rooms else []
    return "\n".join([*lines, f"Objects there: {', '.join(others) or '(none)'}."])


def _class(name: str) -> str:
    found = _NUMBERED.match(name)
    return found[1] if found else name


def _observed(domain: Domain, world: World) -> str:
    """The observation with classes in place of names, as the paper's; several sentences may then be equal."""
    said = observation_text(domain, world)
    plain = {spoken(o.name): spoken(_class(o.name)) for o in world.objects if _class(o.name) != o.name}
    if plain:
        words = "|".join(map(re.escape, sorted(plain, key=len, reverse=True)))
        said = re.sub(rf"\b({words})\b", lambda m: plain[m.group(1)], said, flags=re.IGNORECASE)
    return said


def _error(text: str) -> str:
    """``call: message`` as the sub-task and the error that it caused."""
    call, _, said = one_line(text).partition(": ")
    try:
        return f'The sub-task "{sub_task(Action.parse(call))}" caused an error: {said}' if said else call
    except PlanweaveError:
        return one_line(text)


def _decision(domain: Domain) -> str:
    example = example_part(domain, "decision", None)
    if not example:
        return ""
    shown = partial(map, lambda call: sub_task(Action.parse(str(call))))
    return (
        f"For example, after {', then '.join(shown(example['history']))}, the error\n"
        f"{_error(example['failed'] + ': ' + example['error'])}\n"
        f"and the options\n{lettered(shown(example['options']))}\nthe choice is {example['choice']}"
    )
