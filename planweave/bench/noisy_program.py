"""A plan as a ProgPrompt program, written by the simulated model: calls, with assertions as in the examples."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.domain import Domain
from planweave.core.formula import Atom, conjuncts
from planweave.core.world import Action

_IMPORT = re.compile(r"(?m)^from actions import (.+)$")
_LISTED = re.compile(r"'([a-z]\w*)'")


def program(domain: Domain, plan: Sequence[Action], asked: str) -> str:
    """The body of the function that `asked` ends with, in the paper's form.

    Where only ``grab_and_putin`` is imported, every action of two objects becomes one. Names are those listed in the
    prompt: exact ones, else classes.
    """
    found = _IMPORT.search(asked)
    imported = set(re.findall(r"[a-z]\w*", found.group(1))) if found else set(domain.actions)
    listed = set(_LISTED.findall(asked.rpartition("objects = ")[2].partition("]")[0]))
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


def _name(name: str, listed: set[str]) -> str:
    plain = re.sub(r"_\d+\Z", "", name)
    return plain if name not in listed and plain in listed else name


def _call(name: str, args: Sequence[str]) -> str:
    return f"{name}({', '.join(repr(a) for a in args)})"
