"""Things in pictures with their names and points, and what each of them stands on. Metres; z is up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planweave.geometry.directions import surrounds
from planweave.perception.colours import colour_word, patch_colour
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.perception.evidence import LEAST, Evidence, evidence
from planweave.perception.geometry import Pose, hull_of, inward, outline
from planweave.perception.object_classes import UNKNOWN
from planweave.perception.segmentation import Segment, Segmentation
from planweave.perception.vision_names import Marked, Named
from planweave.perception.vision_names import owners as whole_of_each

_REST = 0.03  # m between the lowest visible point of a thing and what it stands on
_UNDER = 0.02  # m around the middle of a thing in which what bears it is seen
_OPEN = 1.0  # rad between neighbouring directions of what stands around a thing; a box that is open at a side does not
_LOWEST = 10  # percentile of the heights of a floor, beside which walls rise
_OVER = 0.03  # share of a thing's points above what it stands on
SUNK = 0.01  # m below a rim from which on a thing is inside
_LARGE = 0.15  # m from which on a thing's parts are named, too
_LEAST_MASK = 30  # pixels of a mark
_SAME = 0.02  # m between what two cameras show of one thing
_LOOKED_AT = 800  # points of a thing that are looked at
_THROUGH, _THIN = 0.6, (0.01, 0.02)  # share of a thing's height behind it that is seen where it is gone, and m
_SLIVER, _EDGE, _WITHIN = 0.15, 0.006, 0.9  # share of a thing's area, m beyond it, and share of points that are not


@dataclass(frozen=True, eq=False)
class SeenThing:
    """A thing with its name. points, colours: (n, 3) each, m and 0 to 255; bottom: height of what it stands on, which
    is `below` ("" for the ground); visible: the newest pictures show it; stamp: when they did last, s; was_put: the
    robot has put it there; lost: nobody knows where it is. unseen: m of its lowest part that were not seen where it was
    taken.
    """

    name: str
    points: np.ndarray
    colours: np.ndarray
    named: Named
    bottom: float
    below: str = ""
    visible: bool = True
    stamp: float = 0.0
    was_put: bool = False
    lost: bool = False
    unseen: float = 0.0

    @cached_property
    def low(self) -> float:
        """Height of its lower side, as far as it is known."""
        return float(np.percentile(self.points[:, 2], 1)) - self.unseen

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Low and high corner, (3,)."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        low[2] = min(low[2], self.bottom)
        return low, high

    @cached_property
    def middle(self) -> np.ndarray:
        """Centre of the points' extents, (3,)."""
        return np.asarray((self.points.min(axis=0) + self.points.max(axis=0)) / 2)

    def moved(self, pose: Pose) -> SeenThing:
        """The same thing elsewhere."""
        return replace(self, points=pose.apply(self.points))

    def evidence(
        self,
        views: Iterable[DepthView],
        points: np.ndarray | None = None,
        colours: np.ndarray | None = None,
        explained: Sequence[np.ndarray] = (),
        at_edges: bool = True,
    ) -> Evidence:
        """Evidence of pictures for its being where it was seen last, or of points of it, by default of a sample."""
        behind = float(np.clip(_THROUGH * np.ptp(self.points[:, 2]), *_THIN))  # the table is not far behind a plate
        points = sample(self.points, _LOOKED_AT) if points is None else points
        return evidence(points, views, colours, behind, explained, at_edges)

    def is_gone(self, views: Iterable[DepthView]) -> bool:
        """Whether pictures show that it left the place where it was seen last, or was exchanged for another thing."""
        points, colours = (sample(of, _LOOKED_AT) for of in (self.points, self.colours))
        return self.evidence(views, points, colours[:, None]).is_gone

    @property
    def detection(self) -> Detection:
        """Its detection where it is, as the tracker asks."""
        low, high = self.bounds
        (x, y, z), (dx, dy, dz) = ((low + high) / 2).tolist(), (high - low).tolist()
        of, rgb = (self.named.class_name, self.named.colour, "irregular"), patch_colour(self.colours)
        return Detection(*of, 1.0, (x, y, z), 0.0, math.pi, (dx, dy, dz), float(high[2]), rgb, seen=self)


# ---- what stands on what ------------------------------------------------------------------------------------------


def resting(
    things: Sequence[SeenThing], ground_below: Callable[[SeenThing], float], lifted: str = ""
) -> tuple[SeenThing, ...]:
    """The things with what each of them stands on; ground_below: height of the ground, or of furniture's floor, below
    one; lifted: one that stands on nothing, and bears nothing.
    """
    standing = [t for t in things if t.name != lifted and not t.lost]
    grounds, found = {thing.name: ground_below(thing) for thing in things}, {}
    for thing in things:
        ground = grounds[thing.name]
        below = None if thing.name == lifted or thing.lost else _below(replace(thing, bottom=ground), standing)
        found[thing.name] = (
            replace(thing, bottom=ground, below="")
            if below is None or below[1] < ground - SUNK  # as a handle below a drawer is
            else replace(thing, bottom=below[1], below=below[0].name)
        )
    for thing in found.values():
        other = found.get(thing.below)
        if other is None or other.below != thing.name:
            continue
        if outline(thing.points[:, :2]).area > outline(other.points[:, :2]).area:
            found[thing.name] = replace(thing, bottom=grounds[thing.name], below="")  # what is in it does not bear it
    return tuple(found.values())


def _below(thing: SeenThing, things: Sequence[SeenThing]) -> tuple[SeenThing, float] | None:
    """What a thing rests on or in, and at which height; None for the ground."""
    low, middle, around = thing.low, thing.middle[:2], hull_of(thing.points)
    others = [t for t in things if t.name != thing.name and not _stands_around(thing, t)]
    found: list[tuple[float, float, SeenThing]] = []
    for other in others:
        if not _overlap(thing, other):
            continue
        if low < thing.bottom + SUNK and not _lies_under(other.points[:, :2], middle, around):
            continue  # it stands on the ground, where nothing thin, as a plate, lies below its middle
        over = _share_over(thing.points[:, :2], hull_of(other.points), middle)
        near = other.points[other.points[:, 2] < low + SUNK]
        near = near[_is_within(near[:, :2], around)]
        height = float(np.sort(near[:, 2])[-LEAST]) if len(near) >= LEAST else -math.inf  # a thin bar bears, too
        if over >= _OVER and low - height < _REST:
            found.append((height, over, other))
    if found:
        height, _, other = max(found, key=lambda row: row[:2])
        return other, height
    box = next((other for other in others if _stands_around(other, thing)), None)
    return None if box is None else (box, max(thing.bottom, min(low, _floor(box.points, around, low + _REST))))


def _floor(points: np.ndarray, around: np.ndarray, below: float) -> float:
    """The height, below another one, of a floor that walls hide now: as it was seen within an outline, or, where it
    never was, as low as they were seen to go down beside it.
    """
    low = points[points[:, 2] < below]
    seen = low[inward(low[:, :2], around) > 0.0]
    found = seen if len(seen) >= LEAST else low[_is_within(low[:, :2], around)]
    return float(np.percentile(found[:, 2], _LOWEST)) if len(found) >= LEAST else -math.inf


def _stands_around(box: SeenThing, thing: SeenThing) -> bool:
    """Whether walls of one thing, a basket's, are seen in all directions from the middle of another, higher than that,
    and it is all between them: it may hide the floor that they have.
    """
    (low, high), middle = box.bounds, thing.middle
    if (middle[:2] < low[:2]).any() or (middle[:2] > high[:2]).any():
        return False
    away = box.points[box.points[:, 2] > middle[2]][:, :2] - middle[:2]
    if not surrounds(sample(away, _LOOKED_AT), _OPEN) or (np.linalg.norm(away, axis=1) < _UNDER).sum() >= LEAST:
        return False
    return bool((inward(sample(thing.points[:, :2], 200), hull_of(box.points)) > 0).mean() > _WITHIN)


def _lies_under(points: np.ndarray, middle: np.ndarray, around: np.ndarray) -> bool:
    """Whether points of the plane are seen below the middle of a thing, or all around within reach of its outline."""
    away = points[_is_within(points, around)] - middle
    if len(away) < LEAST:
        return False
    return bool((np.linalg.norm(away, axis=1) < _UNDER).sum() >= LEAST) or surrounds(away)


def _is_within(points: np.ndarray, hull: np.ndarray) -> np.ndarray:
    """Which points of the plane are within reach of an outline, (n,) bool."""
    low, high = hull.min(axis=0) - 2 * _REST, hull.max(axis=0) + 2 * _REST
    near = (points[:, 0] > low[0]) & (points[:, 0] < high[0]) & (points[:, 1] > low[1]) & (points[:, 1] < high[1])
    near[near] = inward(points[near], hull) > -_REST  # of most of a large thing it need not be asked
    return near


def _overlap(one: SeenThing, two: SeenThing) -> bool:
    """Whether the rectangles around two things, seen from above, overlap."""
    (low, high), (lowest, highest) = one.bounds, two.bounds
    return bool((low[:2] <= highest[:2]).all() and (lowest[:2] <= high[:2]).all())


def _share_over(points: np.ndarray, hull: np.ndarray, middle: np.ndarray) -> float:
    """Share of points of the plane within a hull; 1 where their middle is."""
    if inward(middle[None], hull)[0] >= 0:
        return 1.0
    return float((inward(sample(points, 200), hull) > 0).mean())


def sample(points: np.ndarray, count: int) -> np.ndarray:
    """Some of the points (n, 3), evenly, about as many as `count` or more."""
    return points[:: max(1, len(points) // count)]


# ---- segments to things ---------------------------------------------------------------------------------------------


def shown_segments(segments: Sequence[Segment]) -> Iterator[tuple[Segment, int]]:
    """Segments to be named, each with the index of the one that it is a part of, or -1."""
    count = 0
    for segment in segments:
        whole = count
        yield segment, -1
        count += 1
        if np.ptp(segment.points, axis=0).max() > _LARGE:
            for part in segment.attached:
                yield part, whole
                count += 1


def marked_segment(segment: Segment, views: Sequence[DepthView]) -> Marked:
    """A segment as a namer is shown it: its masks, None in views that hardly show it, its middle and size, m."""
    masks = [mask if (mask := segment.masks[view.name]).sum() >= _LEAST_MASK else None for view in views]
    low, high = segment.points.min(axis=0), segment.points.max(axis=0)
    x, y, z = (low + high) / 2
    dx, dy, dz = high - low
    return Marked(masks, (float(x), float(y), float(z)), (float(dx), float(dy), float(dz)), segment.colours)


def named_things(
    segmentation: Segmentation, shown: Sequence[tuple[Segment, int]], answers: Sequence[Named]
) -> list[SeenThing]:
    """Named things; what the answers call a part of another is given to it, what they call nothing is left out."""
    segments = [segment for segment, _ in shown]
    of = whole_of_each(answers)
    wholes = [k for k, (_, whole) in enumerate(shown) if whole < 0 and of[k] == k]
    owners = {k: k for k in wholes}
    for one, two in ((a, b) for a in wholes for b in wholes if a < b):
        if owners[two] == two and _is_other_side(segments[one], segments[two], answers[one], answers[two]):
            owners[two] = owners[one]
    for one, two in ((a, b) for a in wholes for b in wholes if a != b and owners[a] == a and owners[b] == b):
        alike = answers[one].class_name == answers[two].class_name != ""
        if alike and _is_sliver(segments[two], segments[one]):
            owners.update((k, one) for k in wholes if owners[k] == two)
    for k, ((_, whole), root) in enumerate(zip(shown, of)):
        if k not in owners and root is not None:
            owners[k] = owners.get(whole if whole >= 0 else root, -1)
    counts: dict[str, int] = {}
    found = []
    for k in sorted({owners[k] for k in wholes}, key=lambda k: (-segments[k].points[:, 1].mean(), k)):
        kind = answers[k].class_name or UNKNOWN
        counts[kind] = counts.get(kind, 0) + 1
        mine = [j for j, owner in owners.items() if owner == k]
        points, colours = (np.concatenate([getattr(segments[j], of) for j in mine]) for of in ("points", "colours"))
        colour = answers[k].colour or colour_word(*patch_colour(segments[k].colours))
        named = Named(kind, colour, 0, answers[k].drawers, answers[k].state)
        found.append(SeenThing(f"{kind}_{counts[kind]}", points, colours, named, segmentation.ground))
    return found


def _is_sliver(one: Segment, whole: Segment) -> bool:
    """Whether a segment is a small piece of a much larger one of its name: within its outline and its heights."""
    if one.area > _SLIVER * whole.area:
        return False
    low, high = whole.points[:, 2].min() - _EDGE, whole.points[:, 2].max() + _EDGE
    inside = inward(one.points[::4, :2], hull_of(whole.points)) > -_EDGE
    heights = one.points[::4, 2]
    return bool((inside & (heights > low) & (heights < high)).mean() > _WITHIN)


def _is_other_side(one: Segment, two: Segment, first: Named, second: Named) -> bool:
    """Whether two segments of one name are one thing, of which different cameras show different sides."""
    if first.class_name != second.class_name or not first.class_name:
        return False
    if any(one.masks[view].any() and two.masks[view].any() for view in one.masks):
        return False
    low = np.maximum(one.points.min(axis=0), two.points.min(axis=0))
    high = np.minimum(one.points.max(axis=0), two.points.max(axis=0))
    return bool((low - high < _SAME).all())
