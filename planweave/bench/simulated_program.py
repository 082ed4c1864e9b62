"""A plan as a ProgPrompt program, written by the simulated model: calls, with assertions as in the examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from planweave.core.pddl.formula import Atom, conjuncts
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action


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
