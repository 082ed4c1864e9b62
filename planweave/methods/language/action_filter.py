"""Selection of the actions and goals of a domain that are offered to a model for a sentence.

Actions with `words` in the domain's file are offered where the text contains one of them, and so are goals that only
such actions achieve. This keeps prompts short, and the list of all ground actions small enough for constrained output.
The controlled English, the validation of plans and the classical planner use the whole domain. Actions that the body
refuses (`World.actions_off`) are never offered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.reduced import without
from planweave.core.symbolic.transition import Change, Transition
from planweave.core.symbolic.world import Action, World


def offered(domain: Domain, text: str, refused: frozenset[str] = frozenset()) -> Domain:
    """The domain without actions that are refused or no word refers to, and without goals that only they achieve."""
    said = " ".join(re.findall(r"[a-z]+", text.lower()))
    return without(
        domain,
        refused
        | {
            schema.name
            for schema in domain.actions.values()
            if schema.words and not any(re.search(rf"\b{word}\b", said) for word in schema.words)
        },
    )


def distinct(domain: Domain, world: World, options: Sequence[Action | None]) -> list[Action | None]:
    """The options without actions that are applicable and change the world just as an earlier one does, such as to walk
    and to run somewhere. None: the task is done.
    """
    transition = Transition(domain, world)
    kept: list[Action | None] = []
    changes: list[Change] = []
    for option in options:
        change = _change(transition, option)
        if change is not None and change in changes:
            continue
        changes += [change] if change is not None else []
        kept.append(option)
    return kept


def _change(transition: Transition, option: Action | None) -> Change | None:
    """What an action changes; None where it is not applicable, or the domain says that it changes nothing."""
    state = transition.state()
    if option is None or not transition.applicable(state, option):
        return None
    change = transition.apply(state, option)
    return change if change.added or change.deleted else None
