"""Metrics of an episode, one definition each (see docs/bench.md).

| measure | definition |
|---|---|
| `sr` | 1 where all conditions hold at the END in the true world, else 0: no oracle stop, no credit on the way |
| `gcr` | conditions that hold at the end / all conditions |
| `gcr_changed` | the same of the conditions that did not hold at the start (ProgPrompt's: doing nothing scores 0) |
| `exec` | executed actions / tried actions; absent where none was tried |
| `exec_first` | actions executed before the first failure / tried actions, without undoing (scene-aware's) |
| `plan_sr` | 1 where the tried actions reach the goal, or would if none failed by chance (ProgPrompt's, on a robot) |
| `lcs` | longest common subsequence of the tried actions (without undoing) and the gold plan / the longer of them |
| `lcs_words` | the same over classes: words without numbers |
| `graph` | final graph correctness: mean IoU of changed nodes and of changed edges with those of the gold plan |
| `corrections` | NO.EC: number of corrections after failures |
| tokens | prompt (cached ones apart) and completion, as counted by the endpoint or our tokenizer |
| seconds | waiting for the model, for the body, and the rest, which is ours |
| `failures`, `error_types` | failed actions by code, and by the types of `planweave.core.checks.error_types` |
| `error_type` | of an episode that failed, see `episode_error` |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.checks.error_types import DECIDING, EXECUTION, INCOMPLETE
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World

#: Facts of one argument that are edges of the person in VirtualHome's graph.
_OF_PERSON = frozenset({"agent_in", "agent_on", "close_to", "facing", "holds_rh", "holds_lh", "worn"})
#: Book-keeping of the domain that is neither node nor edge of a graph.
_NO_GRAPH = frozenset(
    {
        "carried",
        "taken_from_top",
        "taken_from_inside",
        "taken_in",
        "right_hand_free",
        "left_hand_free",
        "next_to",
        "in_room",
    }
)

_NUMBERS = re.compile(r"(?:_\d+)+\Z")
Facts = Collection[Literal]


@dataclass(frozen=True)
class Tried:
    """One action requested of the body. why: "plan", "undo" or "fallback"; error: its type where it failed."""

    action: Action
    code: str
    why: str = "plan"
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.code == Code.SUCCESS.name


@dataclass(frozen=True)
class SampledPlan:
    """A plan of Tree-Planner with its number of samples and the type of its error, "" for a right one."""

    actions: tuple[Action, ...]
    samples: int
    error: str = ""


@dataclass(frozen=True)
class Measures:
    """The metrics of one episode; None where undefined."""

    sr: float
    gcr: float
    exec: float | None
    lcs: float
    graph: float
    corrections: int
    actions: int
    gold: int
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    model_seconds: float = 0.0
    body_seconds: float = 0.0
    our_seconds: float = 0.0
    failures: Mapping[str, int] = field(default_factory=dict)
    exec_first: float | None = None
    gcr_changed: float | None = None
    plan_sr: float | None = None
    lcs_words: float | None = None
    error_types: Mapping[str, int] = field(default_factory=dict)
    error_type: str = ""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def measure(
    conditions: Mapping[str, bool],
    tried: Sequence[Tried],
    gold: Sequence[Action],
    before: Facts,
    after: Facts,
    gold_after: Facts,
    *,
    at_start: Mapping[str, bool] = MappingProxyType({}),
    would_hold: bool = False,
    sampled: Sequence[SampledPlan] = (),
    corrections: int = 0,
    usage: Usage | None = None,
    model_seconds: float = 0.0,
    body_seconds: float = 0.0,
    seconds: float = 0.0,
) -> Measures:
    """All metrics of an episode.

    before, after, gold_after: facts of the true world, at the start, at the end, and after the gold plan. at_start: the
    conditions at the start. would_hold: see `would_reach`. seconds: of the whole episode.
    """
    used = usage or Usage()
    planned = [t for t in tried if t.why != "undo"]
    kept = [t.action for t in planned]
    reached = all(conditions.values())
    changed = [holds for name, holds in conditions.items() if not at_start.get(name, False)]
    first = next((i for i, t in enumerate(planned) if not t.ok), len(planned))
    return Measures(
        sr=float(reached),
        gcr=share(sum(conditions.values()), len(conditions), 1.0) or 0.0,
        exec=share(sum(t.ok for t in tried), len(tried)),
        lcs=lcs(kept, gold),
        graph=graph_correctness(before, after, gold_after),
        corrections=corrections,
        actions=len(tried),
        gold=len(gold),
        requests=used.requests,
        prompt_tokens=used.prompt_tokens,
        cached_tokens=used.cached_tokens,
        completion_tokens=used.completion_tokens,
        cost=used.cost if used.requests else 0.0,
        model_seconds=round(model_seconds, 4),
        body_seconds=round(body_seconds, 4),
        our_seconds=round(max(0.0, seconds - model_seconds - body_seconds), 4),
        failures=dict(Counter(t.code for t in tried if not t.ok)),
        exec_first=share(first, len(planned)),
        gcr_changed=share(sum(changed), len(changed)) if at_start else None,
        plan_sr=float(reached or would_hold),
        lcs_words=lcs([_in_words(a) for a in kept], [_in_words(a) for a in gold]),
        error_types=dict(Counter(t.error for t in tried if t.error)),
        error_type="" if reached else episode_error(planned, would_hold, sampled),
    )


def _in_words(action: Action) -> Action:
    """An action over classes: wine_glass instead of wine_glass_212."""
    return Action(action.name, tuple(_NUMBERS.sub("", arg) for arg in action.args))


def would_reach(
    domain: Domain,
    world: World,
    tried: Sequence[Tried],
    conditions: Callable[[Callable[[Literal], bool], Sequence[Action]], Mapping[str, bool]],
) -> bool:
    """Whether the tried actions reach the goal from a world where each applicable one has the domain's effects.

    conditions: as `planweave.bench.suites.case.Case.conditions`. Others, and those with unknown names, are left out.
    """
    transition = Transition(domain, world)
    state, done = transition.state(), list[Action]()
    for one in tried:
        if one.why == "undo" or not transition.applicable(state, one.action):
            continue
        transition.apply(state, one.action)
        done.append(one.action)
    facts = state.facts
    return all(conditions(lambda x: ((x.predicate, *x.args) in facts) == x.positive, done).values())


def episode_error(planned: Sequence[Tried], would_hold: bool, sampled: Sequence[SampledPlan]) -> str:
    """The type of error of a failed episode (Tree-Planner, Tables 3 and 8), by rule.

    Where what was tried would have reached the goal, the execution failed. With sampled plans: where a right one was
    among them, the execution, if one of these was followed up to the first failure, else the deciding; where none was
    right, the most frequent error of theirs. Without: that of the last action that failed; where none did, steps are
    missing.
    """
    if would_hold:
        return EXECUTION
    if sampled:
        tried = [t.action for t in planned]
        upto = next((i + 1 for i, t in enumerate(planned) if not t.ok), len(tried))
        right = [plan for plan in sampled if not plan.error]
        if any(list(plan.actions[:upto]) == tried[:upto] for plan in right):
            return EXECUTION
        errors: Counter[str] = Counter()
        for plan in sampled:
            errors[plan.error] += plan.samples
        return DECIDING if right else max(errors, key=lambda kind: (errors[kind], kind))
    return next((t.error for t in reversed(planned) if t.error), INCOMPLETE)


def share(part: float, whole: float, empty: float | None = None) -> float | None:
    """part / whole; `empty` where there is no whole."""
    return part / whole if whole else empty


def lcs(one: Sequence[Action], two: Sequence[Action]) -> float:
    """Length of the longest common subsequence / length of the longer one; 1 for two empty ones."""
    row = [0] * (len(two) + 1)
    for a in one:
        last = 0
        for j, b in enumerate(two, 1):
            last, row[j] = row[j], last + 1 if a == b else max(row[j], row[j - 1])
    longer = max(len(one), len(two))
    return row[-1] / longer if longer else 1.0


def graph_correctness(before: Facts, after: Facts, gold_after: Facts) -> float:
    """Mean IoU of changed nodes (states of objects) and changed edges (relations, including the agent's)."""
    ours, golds = _changed(before, after), _changed(before, gold_after)
    return (_iou(ours[0], golds[0]) + _iou(ours[1], golds[1])) / 2


def _changed(before: Facts, after: Facts) -> tuple[set[tuple[bool, Literal]], set[tuple[bool, Literal]]]:
    old, new = set(before), set(after)
    every = [(True, f) for f in new - old] + [(False, f) for f in old - new]
    rows = [(sign, f) for sign, f in every if f.predicate not in _NO_GRAPH]
    edges = {row for row in rows if len(row[1].args) > 1 or row[1].predicate in _OF_PERSON}
    return set(rows) - edges, edges


def _iou(one: set[Any], two: set[Any]) -> float:
    return len(one & two) / len(one | two) if one | two else 1.0
