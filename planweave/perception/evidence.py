"""Evidence of pictures for points at their assumed places: shown, hidden, or looked through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from planweave.perception.depth_views import DepthView

LEAST = 20
"""Points that must be seen for a thing to be seen."""
_NEAR = 0.008  # m of depth by which a point and what a picture shows of it may differ
_BEYOND = 0.02  # m by which a picture looks through where something stood
_SHADE = 45.0  # mean difference of three colour channels, of one point in two pictures
_THERE, _GONE = 0.3, 0.6  # share of points that speak against a thing: at most where it stands, at least where it left


@dataclass(frozen=True)
class Evidence:
    """Counts of a thing's points: how many pictures show where they should be; through how many they look; at how many
    they show another colour; how many lie a little before what they show; and before how many something else is seen.
    Pixels without depth, or of the robot, do not count.
    """

    seen: int
    through: int
    other: int
    unsure: int
    hidden: int

    @property
    def known(self) -> int:
        """Points at whose pixels something is seen."""
        return self.seen + self.through + self.other + self.unsure + self.hidden

    @property
    def is_there(self) -> bool:
        """Whether the thing is seen."""
        against = self.through + self.other
        return self.seen >= max(LEAST, self.unsure) and against <= _THERE * (self.seen + against)

    @property
    def is_gone(self) -> bool:
        """Whether what is behind it is seen in its place, or, where its colours were told, something of others."""
        through = self.through >= max(LEAST, _GONE * (self.known - self.hidden))
        return through or self.other >= max(LEAST, _GONE * (self.seen + self.other))


def evidence(
    points: np.ndarray,
    views: Iterable[DepthView],
    colours: np.ndarray | None = None,
    beyond: float = _BEYOND,
    explained: Sequence[np.ndarray] = (),
    at_edges: bool = True,
) -> Evidence:
    """Evidence of pictures for points (n, 3) being there.

    colours: (n, k, 3) of theirs, one of which must agree; beyond: m by which a picture must see further to look
    through; explained: pixels (h, w) of each picture that show what else is known, as a wall beside: they speak for
    nothing; at_edges: it looks through beside what is nearer, too, where a point may be by an error of its place.
    """
    seen = through = other = unsure = hidden = 0
    close = min(_NEAR, beyond / 2)
    for view, of_others in zip_longest(views, explained):
        u, v, depth, inside = view.projector.shown(points)
        known = view.valid[v, u]
        u, v = u[known], v[known]
        apart = view.smooth[v, u] - depth[known]
        near = np.abs(apart) < close
        if of_others is not None:
            unsure += int((near & of_others[v, u]).sum())
            near &= ~of_others[v, u]
        if colours is not None:
            given = colours[inside][known].astype(float)
            differs = np.abs(view.rgb[v, u, None].astype(float) - given).mean(axis=2).min(axis=1) > _SHADE
            other += int((near & differs).sum())
            near &= ~differs
        seen += int(near.sum())
        through += int((apart > beyond).sum() if at_edges else (view.nearest[v, u] - depth[known] > beyond).sum())
        hidden += int((apart <= -close).sum())
        unsure += int(((apart >= close) & (apart <= beyond)).sum())
    return Evidence(seen, through, other, unsure, hidden)
