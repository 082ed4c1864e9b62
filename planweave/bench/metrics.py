"""Metrics of an episode, one definition each (see docs/bench.md).

| measure | definition | |---|---| | `sr` | 1 where all conditions hold at the END in the true world, else 0: no oracle
stop, no credit on the way | | `gcr` | conditions that hold at the end / all conditions | | `exec` | executed actions /
tried actions; absent where none was tried | | `lcs` | longest common subsequence of the tried actions (without undoing)
and the gold plan / the longer of them | | `graph` | final graph correctness: mean of the IoU of changed nodes and of
changed edges with those of the gold plan | | `corrections` | NO.EC: number of corrections after failures | | tokens |
prompt (cached ones apart) and completion, as counted by the endpoint or our tokenizer | | seconds | waiting for the
model, for the body, and the rest, which is ours |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from planweave.core.budget import Usage
from planweave.core.failure import Code
from planweave.core.world import Action, Literal

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

Facts = Collection[Literal]


@dataclass(frozen=True)
class Tried:
    """One action requested of the body. why: "plan", "undo" or "fallback"."""

    action: Action
    code: str
    why: str = "plan"

    @property
    def ok(self) -> bool:
        """Whether it was executed."""
        return self.code == Code.SUCCESS.name


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

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Measures:
        """Inverse of `as_dict`; raises TypeError for other data."""
        return cls(**data)


def measure(
    conditions: Mapping[str, bool],
    tried: Sequence[Tried],
    gold: Sequence[Action],
    before: Facts,
    after: Facts,
    gold_after: Facts,
    *,
    corrections: int = 0,
    usage: Usage | None = None,
    model_seconds: float = 0.0,
    body_seconds: float = 0.0,
    seconds: float = 0.0,
) -> Measures:
    """All metrics of an episode.

    before, after, gold_after: facts of the true world, at the start, at the end, and after the gold plan. seconds: of
    the whole episode.
    """
    used = usage or Usage()
    kept = [t.action for t in tried if t.why != "undo"]
    return Measures(
        sr=float(all(conditions.values())),
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
    )


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
