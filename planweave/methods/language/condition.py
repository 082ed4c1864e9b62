"""Evaluation of a condition by the model, with the state as text (ProgPrompt, Section IV.A, Figure 2)."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

from planweave.core.base.errors import ParseError
from planweave.core.trees.program import MAX_CONDITION, ProgramCondition
from planweave.core.workflow.ports import ConditionCheck
from planweave.llm.parsing import agreed, bounded
from planweave.methods.language.conditions import holds_by_rule, objects_named, parse_condition
from planweave.methods.language.prompting import observation_text, one_line, turn
from planweave.methods.language.question import Question

_STATED = re.compile(r"assert\s*\(\s*(.*?)\s*\)", re.DOTALL)
_TRUTH = re.compile(r"\b(not\s{1,9})?(true|false)\b", re.IGNORECASE)
_ANSWER = re.compile(
    r"(?:the )?(?:(?:answer|assertion|condition|result)\b\W{0,5})?(?:is\b|holds\b)?\W{0,5}"
    r"(true|false|yes|no)\b",
    re.IGNORECASE,
)
MAX_CHARACTERS_READ = 20_000


def check(question: Question, text: str) -> ConditionCheck:
    """Evaluate a condition by rule where the domain defines the predicate, else by the model.

    text: the condition; as a statement, ``assert(...)``, and where its form is unknown it is always put to the model. A
    reply that says neither True nor False is asked for once more. Raises ParseError or ModelError.
    """
    if len(text) > MAX_CONDITION:
        raise ParseError(f"the condition has {len(text)} characters; at most {MAX_CONDITION} are read")
    stated = _STATED.fullmatch(text.strip())
    condition: ProgramCondition | None = None
    with contextlib.suppress(ParseError):
        condition = parse_condition(stated.group(1) if stated else text)
    holds = None if condition is None else holds_by_rule(question.domain, question.world, condition)
    if holds is not None and not stated:
        return ConditionCheck(holds, "rule")
    words = condition.words if condition else re.findall(r"\w+", text)
    about = {n for word in words for n in objects_named(question.world, word)}
    near = question.shown
    if about:  # the state of what the condition names, as in the paper
        near = replace(near, facts=frozenset(f for f in near.facts if not f.args or about & set(f.args)))
    said = one_line(str(condition) if condition else stated.group(1) if stated else text)
    messages = (
        turn("system", "condition/system.txt"),
        turn("user", "condition/user.txt", state=observation_text(question.domain, near), condition=said),
    )
    found, usage = question.ask_one(
        "condition",
        messages,
        lambda reply: parse_truth(reply.text),
        about={"holds": holds},
        temperature=0.0,
        max_tokens=10,
    )
    return ConditionCheck(found, "model", usage)


def parse_truth(text: str) -> bool:
    """True or False out of a reply; raises ParseError where it says neither, or both."""
    words = re.findall(r"[A-Za-z]+", bounded(text, MAX_CHARACTERS_READ))
    ends = [m for m in (_ANSWER.match(" ".join(words)), words and _ANSWER.fullmatch(words[-1])) if m]
    said = [m.group(1).lower() in ("true", "yes") for m in ends]
    said += [(m.group(2).lower() == "true") != bool(m.group(1)) for m in _TRUTH.finditer(text)]
    found = agreed(said, text)
    if found is None:
        raise ParseError(f"the reply {text[:100]!r} says neither True nor False")
    return found
