"""Evaluation of a condition by the model, with the state as text (ProgPrompt, Section IV.A, Figure 2)."""

from __future__ import annotations

import re
from dataclasses import replace

from planweave.core.errors import ParseError
from planweave.core.ports import Check
from planweave.methods.conditions import holds_by_rule, objects_named, parse_condition
from planweave.methods.prompting import message, observation_text, one_line, render
from planweave.methods.question import Question

_ANSWER = re.compile(
    r"(?:the )?(?:(?:answer|assertion|condition|result)\b\W{0,5})?(?:is\b|holds\b)?\W{0,5}"
    r"(true|false|yes|no)\b",
    re.IGNORECASE,
)


def check(question: Question, text: str) -> Check:
    """Evaluate a condition by rule where the domain defines the predicate, else by the model; raises ParseError or
    ModelError.
    """
    condition = parse_condition(text)
    holds = holds_by_rule(question.domain, question.world, condition)
    if holds is not None:
        return Check(holds, "rule")
    about = {n for word in condition.words for n in objects_named(question.world, word)}
    near = question.shown
    if about:  # the state of what the condition names, as in the paper
        near = replace(near, facts=frozenset(f for f in near.facts if not f.args or about & set(f.args)))
    messages = (
        message("system", render("condition/system.txt")),
        message(
            "user",
            render(
                "condition/user.txt", state=observation_text(question.domain, near), condition=one_line(str(condition))
            ),
        ),
    )
    replies = question.ask("condition", messages, temperature=0.0, max_tokens=10)
    return Check(parse_truth(replies.replies[0].text), "model", replies.usage)


def parse_truth(text: str) -> bool:
    """True or False out of a reply; raises ParseError."""
    words = re.findall(r"[A-Za-z]+", text[:2000])
    match = _ANSWER.match(" ".join(words)) or (_ANSWER.fullmatch(words[-1]) if words else None)
    if match is None:
        raise ParseError(f"the reply {text[:100]!r} says neither True nor False")
    return match.group(1).lower() in ("true", "yes")
