"""Objects over time: stable ids and names, through occlusion by the arm and while something is carried.

Each frame's detections are assigned to the tracks in two rounds: to what was near (or is expected near the hand),
then what is left over by looks alone, so that a moved object stays itself. Pairs are taken greedily, cheapest first:
with some twenty objects of which one moves at a time the costs of wrong pairs are far apart, and greedy choice equals
optimal assignment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perception_node.detection import Detection, footprint_points, is_receptacle
from perception_node.geometry import wrap_yaw
from perception_node.naming import Nameless, name_all
from perception_node.pipeline import Scene
from perception_node.robot_filter import Hand

_LOOKS = 0.03  # m: how far away a detection of other looks may be to weigh as much as one of the same looks
_OPENING = 0.006  # m: a gripper that opens by this much has let go
_BRIEF = 12  # frames
_DOUBLE = 0.06  # m between the halves of one thing
_GRASP_REACH = 0.045  # m: an object this near to the tool centre point can be between the fingers


@dataclass(frozen=True)
class Rules:
    """When a track begins and ends. near: metres within which a detection is of the same place; confirm: frames in a
    row that make an object real; clear_views: views of its empty place after which an object is gone; smoothing:
    weight of a new pose among those of a resting object."""

    near: float = 0.04
    confirm: int = 2
    clear_views: int = 4
    smoothing: float = 0.4


@dataclass
class Track:
    """One object. last: its newest full detection, smoothed; visible: seen in the newest frame."""

    id: int
    last: Detection
    name: str = ""
    visible: bool = True
    seen: int = 1
    missing: int = 0
    looks: Counter[tuple[str, str]] = field(default_factory=Counter)
    named: tuple[str, str] = ("", "")  # class and colour that its name was made of
    judged_anew: bool = False  # its looks are counted afresh since other names are looked for
    held: bool = False
    grip: np.ndarray | None = None  # the object's centre in the hand's frame, metres, while it is between the fingers
    grip_width: float = 0.0
    carried: bool = False  # ever, by the hand
    let_go: float = math.inf  # the widest opening since the fingers round it let it go, metres; infinite once they left

    @property
    def look(self) -> tuple[str, str]:
        """Class and colour in most frames."""
        return self.looks.most_common(1)[0][0] if self.looks else self.last.look

    @property
    def sure(self) -> bool:
        """Whether more frames agree on what it looks like than do not."""
        return 2 * self.looks[self.look] > self.looks.total()

    def looks_like(self, detection: Detection) -> bool:
        """Whether a detection looks as this object does in most frames, or as its name says."""
        return detection.look in (self.look, self.named)

    @property
    def current(self) -> Detection:
        """The newest pose, with the class and colour of most frames."""
        class_name, colour = self.look
        return replace(self.last, class_name=class_name, colour=colour)


class Tracker:
    """Keeps the tracks; call `update` once a frame, oldest first."""

    def __init__(self, rules: Rules | None = None):
        self.rules = rules or Rules()
        self._tracks: list[Track] = []
        self._gone: list[Track] = []  # named objects not on the table; they keep their names if they come back
        self._next_id = 1

    @property
    def tracks(self) -> list[Track]:
        """Named tracks, oldest first."""
        return [t for t in self._tracks if t.name]

    def remembered(self) -> list[Detection]:
        """What may be hidden now under things that stand on it."""
        return [t.current for t in self.tracks if not t.held]

    def judge_anew(self) -> None:
        """Other names are looked for: what looks like another class from now on is named anew; ids and poses stay."""
        for track in self._tracks:
            track.looks.clear()
            track.judged_anew = True

    def reset(self) -> None:
        """Forget everything."""
        self._tracks, self._gone = [], []

    def update(self, detections: Sequence[Detection], scene: Scene, hand: Hand | None = None) -> list[Track]:
        """Take in one frame; returns the named tracks."""
        for track in self._tracks:
            track.visible = False
            self._follow_hand(track, hand)
        free = [d for d in detections if not self._in_hand(d, hand)]
        # What is half seen must not take the place of what is seen in full.
        for cut in (False, True):
            pairs, rest = self._assign([d for d in free if d.cut == cut])
            for track, detection in pairs:
                self._see(track, detection)
            free = [d for d in free if d.cut != cut] + rest
        if self._everything_changed(scene):
            self.reset()
            free = list(detections)
        free = self._moved(free, scene)
        self._merge()
        for track in self._tracks:
            if not track.visible:
                self._miss(track, scene)
        self._drop()
        self._name_anew()
        for detection in free:
            if not detection.cut and not self._is_known(detection):
                track = Track(self._next_id, detection)
                track.looks[detection.look] += 1
                self._next_id += 1
                self._tracks.append(track)
        self._name_new()
        return self.tracks

    def _assign(self, free: Sequence[Detection]) -> tuple[list[tuple[Track, Detection]], list[Detection]]:
        """Pairs of what is where it was, or where the hand has brought it."""
        costs = []
        for i, track in enumerate(self._tracks):
            if track.visible:
                continue
            for j, detection in enumerate(free):
                if track.held and (detection.cut or detection.inferred):
                    continue
                same = track.looks_like(detection)
                if not same and not detection.cut and not _alike(track, detection):
                    continue
                away = math.dist(detection.position, track.last.position)
                reach = self.rules.near * (2.0 if track.held else 1.0)
                if _apart(track.last, detection) <= reach and away <= 2 * reach:
                    costs.append((away + (0.0 if same else _LOOKS), i, j))
        taken_tracks: set[int] = set()
        taken: set[int] = set()
        pairs = []
        for _, i, j in sorted(costs):
            if i not in taken_tracks and j not in taken:
                taken_tracks.add(i)
                taken.add(j)
                pairs.append((self._tracks[i], free[j]))
        return pairs, [d for j, d in enumerate(free) if j not in taken]

    def _moved(self, free: list[Detection], scene: Scene) -> list[Detection]:
        """Give detections that are left over to unseen tracks of the same looks, then to objects that had gone.

        What is only inferred can be no object that is held, or that may still be where it was.
        """
        for back in (False, True):
            lost = [t for t in (self._gone if back else self._tracks) if not t.visible and t.name]
            left = [back or (t.grip is None and _place_is_empty(t.last, scene)) for t in lost]
            pairs = sorted(
                (
                    (not t.held, math.dist(d.position, t.last.position), i, j)
                    for i, t in enumerate(lost)
                    for j, d in enumerate(free)
                    if t.looks_like(d) and not d.cut and (left[i] or not d.inferred)
                ),
            )
            used_tracks: set[int] = set()
            used: set[int] = set()
            for _, _, i, j in pairs:
                if i in used_tracks or j in used:
                    continue
                used_tracks.add(i)
                used.add(j)
                if back:
                    self._tracks.append(lost[i])
                self._see(lost[i], free[j], moved=True)
            self._gone = [t for t in self._gone if not t.visible]
            free = [d for j, d in enumerate(free) if j not in used]
        return free

    def _see(self, track: Track, detection: Detection, moved: bool = False) -> None:
        track.visible, track.missing = True, 0
        # The side of a hidden cube tells less about it than what was seen before.
        if detection.cut or (detection.inferred and track.name and not moved):
            return
        track.seen += 1
        track.looks[detection.look] += 1
        track.held, track.grip = False, track.grip if not moved else None
        if (
            not moved
            and detection.class_name == track.last.class_name
            and _apart(track.last, detection) < 0.006
            and abs(track.last.position[2] - detection.position[2]) < 0.008
        ):
            track.last = _blend(track.last, detection, self.rules.smoothing)
        else:
            track.last = detection

    def _merge(self) -> None:
        """Two tracks of one thing, as may begin at the hand: the older one is it."""
        for new in [t for t in self._tracks if t.visible and not t.carried]:
            for old in [t for t in self._tracks if t.id < new.id and t.name and not t.visible and not t.held]:
                if old.looks_like(new.last) and _same_place(old.last, new.last):
                    old.last, old.visible, old.missing, old.grip = new.last, True, 0, None
                    self._tracks.remove(new)
                    break

    def _miss(self, track: Track, scene: Scene) -> None:
        if not track.name:
            track.missing += 1
        elif track.grip is not None and not _place_is_empty(track.last, scene):
            track.missing = 0
        elif not track.held and (_place_is_empty(track.last, scene) or self._is_taken(track.last)):
            track.missing += 1

    def _is_taken(self, thing: Detection) -> bool:
        """Whether something else is seen where a thing should be; two cannot be at one place."""
        if is_receptacle(thing.class_name):
            return False
        return any(
            t.visible and not t.last.inferred and not is_receptacle(t.last.class_name) and _same_place(t.last, thing)
            for t in self._tracks
        )

    def _drop(self) -> None:
        limit = self.rules.clear_views
        for track in [t for t in self._tracks if t.missing >= (limit if t.name else 1)]:
            self._tracks.remove(track)
            if track.name and not self._was_double(track):
                self._gone = [*self._gone, track][-20:]

    def _was_double(self, gone: Track) -> bool:
        """Whether a track that ends soon after it began was one thing seen as two; the other half then takes its name,
        so that a lone red cube is not red_cube_2 for good.
        """
        if gone.seen > _BRIEF or gone.carried:
            return False
        for other in self._tracks:
            numbered = other.name.startswith(gone.name + "_") and other.name.removeprefix(gone.name + "_").isdigit()
            if numbered and not other.carried and _apart(other.last, gone.last) < _DOUBLE:
                other.name = gone.name
                return True
        return False

    def _follow_hand(self, track: Track, hand: Hand | None) -> None:
        """Notice what the fingers close around, and move it with the hand until they open."""
        if hand is None or is_receptacle(track.last.class_name):
            return
        local = hand.rotation.T @ (np.array(track.last.position) - hand.position)
        if track.grip is None:
            between = np.linalg.norm(local[:2]) < 0.03 and abs(local[2]) < _GRASP_REACH + track.last.size[2] / 2
            if not between:
                track.let_go = math.inf
                return
            if track.let_go < math.inf:
                track.let_go = max(track.let_go, hand.width)
            # Not the whole width: a bottle is held at its neck. Fingers that have let it go but opened little do not
            # hold it: only closing fingers take a thing.
            fits = 0.3 * min(track.last.size[:2]) < hand.width < max(track.last.size[:2]) * 1.5 + 0.003
            if fits and 0.004 < hand.width < min(0.076, track.let_go - _OPENING):
                track.grip, track.grip_width, track.let_go = local, hand.width, math.inf
            return
        if hand.width > track.grip_width + _OPENING or hand.width < 0.003:
            track.grip, track.held, track.let_go = None, False, hand.width
            return
        track.grip_width = min(track.grip_width, hand.width)
        moved = hand.rotation @ track.grip + hand.position
        shift = moved - track.last.position
        if track.held or shift[2] > 0.02 or np.linalg.norm(shift[:2]) > 0.03:
            track.held = track.carried = True
            height = max(float(moved[2]), track.last.size[2] / 2)  # never below the table, should the grip be known ill
            track.last = replace(track.last, position=(float(moved[0]), float(moved[1]), height))
        elif shift[2] < 0.0:
            track.grip = local  # the hand is still on its way down

    def _in_hand(self, detection: Detection, hand: Hand | None) -> bool:
        """Whether this is what the fingers hold, or a part of something at the fingers."""
        if hand is None:
            return False
        if detection.cut and float(np.linalg.norm(hand.position - detection.position)) < 0.12:
            return True
        beside = math.dist(detection.position[:2], hand.position[:2]) < 0.06 and detection.top > hand.position[2] - 0.05
        return beside and any(t.held for t in self._tracks)

    def _is_known(self, detection: Detection) -> bool:
        """Whether an object that is known but not recognised in this frame is at this place."""
        return any(
            t.name
            and not t.visible
            and not t.held
            and _apart(t.last, detection) < 0.025
            and min(t.last.top, detection.top) - max(t.last.bottom, detection.bottom) > 0.01
            for t in self._tracks
        )

    def _everything_changed(self, scene: Scene) -> bool:
        """Whether this is another scene: the places of most known objects are empty at once."""
        named = [t for t in self._tracks if t.name and not t.held]
        empty = sum(not t.visible and _place_is_empty(t.last, scene) for t in named)
        return empty >= 3 and 2 * empty > len(named)

    def _name_anew(self) -> None:
        for track in self._tracks:
            if not track.judged_anew or not track.visible or track.looks.total() < self.rules.confirm:
                continue
            track.judged_anew = False
            if track.name and track.look[0] != track.named[0]:
                track.name = ""

    def _name_new(self) -> None:
        # A name is kept for good, so one frame that took a cube for a cylinder must not give it; and who is the first
        # of two alike must not hang on that either, so the others wait for it a few frames.
        ready = [t for t in self._tracks if not t.name and t.visible and t.seen >= self.rules.confirm]
        new = [t for t in ready if t.sure]
        if not new or any(not t.sure and t.seen <= 2 * self.rules.confirm for t in ready):
            return
        taken = {t.name for t in (*self._tracks, *self._gone) if t.name}
        names = name_all([_nameless(t) for t in new], [_nameless(t) for t in self._tracks if t.name], taken)
        for track, name in zip(new, names):
            track.name, track.named = name, track.look


def _nameless(track: Track) -> Nameless:
    return Nameless(*track.look, track.last.position[1])


def _apart(a: Detection, b: Detection) -> float:
    return math.dist(a.position[:2], b.position[:2])


def _same_place(a: Detection, b: Detection) -> bool:
    """Whether two things fill the same room."""
    common = min(a.top, b.top) - max(a.bottom, b.bottom)
    return _apart(a, b) < 0.02 and common > 0.5 * min(a.size[2], b.size[2])


def _alike(track: Track, detection: Detection) -> bool:
    """Whether a detection of other looks can still be this object, ill seen: of about its size, at its place."""
    a, b = track.last.size, detection.size
    return (
        _apart(track.last, detection) < 0.02
        and abs(a[0] - b[0]) < 0.35 * max(a[0], b[0])
        and abs(track.last.top - detection.top) < 0.02
    )


def _blend(old: Detection, new: Detection, weight: float) -> Detection:
    mix = [o + weight * (n - o) for o, n in zip((*old.position, *old.size), (*new.position, *new.size))]
    turn = wrap_yaw(new.yaw - old.yaw, new.symmetry)
    yaw = new.yaw if abs(turn) > 0.2 else wrap_yaw(old.yaw + weight * turn, new.symmetry)
    return replace(
        new,
        position=(mix[0], mix[1], mix[2]),
        size=(mix[3], mix[4], mix[5]),
        yaw=yaw,
        confidence=old.confidence + weight * (new.confidence - old.confidence),
    )


def _place_is_empty(thing: Detection, scene: Scene) -> bool:
    """Whether the camera sees that a thing is gone: its middle is in view, not covered, and lower than its top."""
    places = footprint_points(thing, 0.6)
    level = thing.bottom + 0.6 * thing.size[2]
    columns, rows = scene.projector.pixels(np.column_stack((places, np.full(len(places), level))))
    height, width = scene.height.shape
    with np.errstate(invalid="ignore"):
        inside = (columns >= 0) & (columns <= width - 1) & (rows >= 0) & (rows <= height - 1)
    if inside.sum() < 0.7 * len(places):
        return False
    r, c = np.round(rows[inside]).astype(int), np.round(columns[inside]).astype(int)
    clear = scene.cloud.valid[r, c] & ~scene.robot[r, c]
    if clear.sum() < 0.7 * inside.sum():
        return False
    low = scene.height[r, c][clear] < level - min(0.008, 0.3 * thing.size[2])
    return bool(low.mean() > 0.7)
