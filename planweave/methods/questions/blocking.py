"""Blocking conditions and resolutions (BCR), Section IV.B: one action out of the candidates, in the eight parts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.domain import Domain
from planweave.core.errors import ParseError
from planweave.core.ports import Choice
from planweave.core.world import Action, Literal
from planweave.methods.prompting import message, observation_text, one_line, render
from planweave.methods.question import Question

_TOKENS = 300
_MAX_ACTION = 300  # characters
MAX_CHARACTERS = 50_000


def select(question: Question, options: Sequence[Action], goal: Sequence[Literal]) -> Choice:
    """The index of the candidate that the model selects; an answer outside the list is a ParseError."""
    domain, world = question.domain, question.world
    done = [domain.phrase(g) for g in goal if world.holds(g)]
    left = [domain.phrase(g) for g in world.unmet(goal)]
    messages = (
        message("system", render("blocking/system.txt")),
        message("user", render(
            "blocking/user.txt", observation=observation_text(domain, question.shown),
            previous="; ".join(map(_shown, question.history)) or "none", completed="; ".join(done) or "none",
            candidates=", ".join(f"'$$ {_shown(o)} $$'" for o in options),
            goal="; ".join(left) or one_line(question.sentence), task=one_line(question.sentence),
            errors="\n".join(f"- {one_line(e)}" for e in question.errors) or "none")),
    )
    replies = question.ask("selection", messages, temperature=question.settings.select_temperature,
                           max_tokens=_TOKENS)
    index = parse_selection(replies.replies[0].text, options, domain)
    return Choice(index, tuple(int(i == index) for i in range(len(options))), 0, replies.usage)


def parse_selection(text: str, options: Sequence[Action], domain: Domain) -> int:
    """Index of the option between ``$$`` marks; raises ParseError where it is none, or there are several.

    An action counts in any writing of its own: ``grasp(red_cube)``, ``grasp red_cube``, or its phrase.
    """
    if len(text) > MAX_CHARACTERS:
        raise ParseError(f"the reply has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    known: dict[str, int] = {}
    for index, option in enumerate(options):
        for writing in (domain.phrase(option), _shown(option)):
            known[_plain(writing)] = index
    between = [part.strip() for part in text.split("$$")[1:-1:2]]
    marked = [m for m in between if len(m) <= _MAX_ACTION and "\n" not in m and _plain(m)]
    if not marked:
        marked = [line for line in text.strip().splitlines() if _plain(line) in known][:1]
    if not marked:
        raise ParseError(f"no action between $$ marks in the reply {text[:100]!r}; expected $$ action $$")
    found = {known[_plain(m)] for m in marked if _plain(m) in known}
    if not found:
        raise ParseError(f"{marked[0][:100]!r} is not in the list of actions")
    if len(found) > 1:
        raise ParseError(f"the reply selects {len(found)} actions: {', '.join(marked)[:200]}; one was asked for")
    return found.pop()


def _shown(action: Action) -> str:
    """As in the paper's example: the name and its objects."""
    return " ".join([action.name, *action.args])


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))
