"""Multi-object tracking: stable ids and names, through occlusion by the arm and during transport.

Each frame's detections are assigned to the tracks in two rounds: first by position (expected near the hand for the held
object), then the remaining ones by appearance alone, so that a moved object keeps its identity. Pairs are assigned
greedily by cost: with some twenty objects of which one moves at a time the costs of wrong pairs are far apart, and the
greedy assignment equals the optimal one.

Position alone makes no pair: a different colour or shape is a different object. While a place shows something that does
not look like its object, the object is not visible; after a few such views it is dropped.

Objects that are known by their points, with names from without, come as detections that say which object they are
(`known_things`). The rules of what is hidden, held, gone and found again are the same for them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.perception.colours import other_surface
from planweave.perception.detection import Detection
from planweave.perception.matching import (
    LEVEL,
    alike,
    apart,
    blend,
    collide,
    is_furniture,
    is_piece_in_air,
    may_have_come,
    of_one_size,
    on_lower_ground,
    place_is_empty,
    same_place,
)
from planweave.perception.naming import Nameless, name_all
from planweave.perception.object_classes import UNKNOWN, UNSURE, ObjectClasses
from planweave.perception.pipeline import SeenScene
from planweave.perception.robot_filter import Hand

if TYPE_CHECKING:
    from planweave.perception.seen_things import SeenThing

_LOOKS = 0.03  # m: how far away a detection of other looks may be to weigh as much as one of the same looks
_OPENING = 0.006  # m: a gripper that opens by this much has let go
_CLOSING = 0.003  # m: a gripper that closes by this much round a thing takes it
_BRIEF = 12  # frames
_FADED = 8  # views of what stands on a hidden thing after which a glimpse of another colour beneath it was an error
_DOUBLE = 0.06  # m between the halves of one thing
_GRASP_REACH = 0.045  # m: an object this near to the tool centre point can be between the fingers
_HABIT = 0.2  # share of an object's views; a look as frequent as that is its own, wavering one
_MOVES = 0.02  # m from view to view by which a thing that no hand holds moves by itself
_UNSURE = 0.5  # of a clear view: what one says that tells of another shape, or of the side of a hidden thing


class _Absence(IntEnum):
    """Reason for which an object may be elsewhere than it was, the likeliest first."""

    HELD = 0  # carried by the hand
    LEFT = 1  # its place was seen without it
    DROPPED = 2  # it was off the table
    HIDDEN = 3  # its place is not in view: it may still be there


@dataclass(frozen=True)
class Rules:
    """Thresholds of track creation and deletion.

    near: metres within which a detection is at the same place; min_frames: in a row, after which an object counts;
    clear_views: views of its place, empty or with another colour, after which an object is dropped (twice as many where
    only the shape differs); smoothing: weight of a new pose of a resting object.
    """

    near: float = 0.04
    min_frames: int = 2
    clear_views: int = 4
    smoothing: float = 0.4


@dataclass
class Track:
    """One object.

    last: its newest complete detection, smoothed; rgb: its colour in complete views, smoothed; matched: the newest
    frame has a detection of it; inferred: not observed itself, but required as the support of an observed object;
    whole: observed completely. missing: clear views without it since the last detection; glimpsed: of these, the share
    that shows only another colour on the side of a hidden object; unrepeated: views since the last such one. doubtful:
    its appearance in views that may not be of it.
    """

    id: int
    last: Detection
    name: str = ""
    matched: bool = True
    inferred: bool = False
    whole: bool = False
    seen: int = 1
    missing: float = 0.0
    glimpsed: float = 0.0
    unrepeated: int = 0
    looks: Counter[tuple[str, str]] = field(default_factory=Counter)
    doubtful: Counter[tuple[str, str]] = field(default_factory=Counter)
    rgb: tuple[float, float, float] = (0.0, 0.0, 0.0)
    named: tuple[str, str] = ("", "")  # class and colour that its name was made of
    judged_anew: bool = False  # its looks are counted afresh since other names are looked for
    moves: int = 0  # in how many views in a row it was elsewhere than before, though this robot did not move it
    held: bool = False
    slipped: bool = False  # out of the fingers, to where it was not seen yet
    grip: np.ndarray | None = None  # the object's centre in the hand's frame, metres, while it is between the fingers
    grip_width: float = 0.0
    carried: bool = False  # ever, by the hand
    lost: bool = False  # nobody knows where it is
    shown: int = 0  # the id that the next new thing was to have when this was seen last
    widest: float = math.inf  # opening of the fingers since they came to it, metres; infinite before the first look
    taken: SeenThing | None = None  # as it was when a hand took it that tells, from then on, where it is

    def __post_init__(self) -> None:
        self.rgb = self.last.rgb

    @property
    def visible(self) -> bool:
        """Observed in the newest frame, completely or in part, as what it is called."""
        return self.matched and not self.inferred and not (self.name and self.last.unnamed)

    @property
    def look(self) -> tuple[str, str]:
        """Class and colour in most frames."""
        return self.looks.most_common(1)[0][0] if self.looks else self.last.look

    @property
    def sure(self) -> bool:
        """Whether most frames agree on its appearance."""
        return 2 * self.looks[self.look] > self.looks.total()

    def looks_like(self, detection: Detection) -> bool:
        """Whether a detection has this object's appearance in most frames, or that of its name."""
        return detection.look in (self.look, self.named)

    def given(self, detection: Detection) -> Detection:
        """A detection, with this object's class where its own is still to be told."""
        named = bool(self.name) and detection.unnamed
        return replace(detection, class_name=self.look[0], confidence=self.last.confidence) if named else detection

    def clashes(self, detection: Detection) -> bool:
        """Whether a detection has a colour that this object cannot have under any illumination."""
        return detection.colour not in (self.look[1], self.named[1]) and other_surface(self.rgb, detection.rgb)

    def misshapen(self, detection: Detection) -> bool:
        """Whether a detection has a class that this object has never, or hardly ever, been detected as."""
        if not self.name or self.judged_anew or detection.class_name in (self.look[0], self.named[0]):
            return False
        return self.looks[detection.look] < _HABIT * self.looks.total()

    @property
    def current(self) -> Detection:
        """The newest pose, with the class and colour of most frames."""
        class_name, colour = self.look
        return replace(self.last, class_name=class_name, colour=colour)


class Tracker:
    """Maintains the tracks; call `update` once per frame, in order of time."""

    def __init__(self, rules: Rules | None = None, domain: Domain | None = None):
        """domain: says how classes are named; by default the tabletop's."""
        self.rules = rules or Rules()
        self._classes = ObjectClasses.of(domain or Domain.load())
        self._tracks: list[Track] = []
        self._gone: list[Track] = []  # named objects not on the table; they keep their names if they come back
        self._next_id = 1
        self.deciding = False
        """Whether more views like the last one may still change what objects there are."""

    @property
    def tracks(self) -> list[Track]:
        """Named tracks, oldest first."""
        return [t for t in self._tracks if t.name]

    def know(self, thing: Detection, name: str = "") -> Track:
        """Add an object, by default one that is still to be named."""
        track = Track(self._next_id, thing, name, looks=Counter([thing.look]), named=thing.look if name else ("", ""))
        self._next_id += 1
        self._tracks.append(track)
        return track

    def lose(self, track: Track) -> None:
        """Forget where an object is."""
        self._tracks.remove(track)
        track.held, track.taken, track.matched, track.lost = False, None, False, True
        track.doubtful.clear()
        if track.name and not self._gives_name(track):
            self._gone = [*self._gone, track][-20:]

    def remembered(self) -> list[Detection]:
        """Objects that may be hidden below others now."""
        return [t.current for t in self.tracks if not t.held and not t.missing]

    def judge_anew(self) -> None:
        """Rename objects of another class from now on, since the detector's names have changed; ids and poses stay."""
        for track in self._tracks:
            track.looks.clear()
            track.judged_anew = True

    def reset(self) -> None:
        """Drop all tracks."""
        self._tracks, self._gone, self.deciding = [], [], False

    def follow(self, hand: Hand) -> None:
        """Add the hand's positions between two frames, in which it may have grasped an object."""
        between = self._between_fingers(hand)
        for track in self._tracks:
            self._follow_hand(track, hand, track is between)

    def update(
        self, detections: Sequence[Detection], scene: SeenScene, hand: Hand | None = None, repeated: bool = False
    ) -> list[Track]:
        """Process one frame; returns the named tracks. repeated: it is the previous one again, noise included, so that
        an error in it is no second error.
        """
        for track in self._tracks:
            track.matched, track.inferred, track.whole = track.taken is not None, False, False
        if hand is not None:
            self.follow(hand)
        by_id = {t.id: t for t in (*self._tracks, *self._gone)}
        for detection in detections:
            if detection.known:
                self._see(self.find(by_id[detection.known]), detection, moved=not detection.inferred)
        free = [d for d in detections if not d.known and not self._in_hand(d, hand)]
        before = sum(t.missing for t in self._tracks)
        # What is half seen must not take the place of what is seen in full.
        for cut in (False, True):
            free = [d for d in free if d.cut != cut] + self._assign([d for d in free if d.cut == cut])
        if self._everything_changed(scene):
            self.reset()
            free = list(detections)
        free = self._moved(free, scene)
        self._merge()
        for track in self._tracks:
            if not track.matched:
                self._miss(track, free, scene, repeated)
        self._infer()
        doubts = sum(t.missing for t in self._tracks)
        for track in [t for t in self._tracks if t.missing >= (self.rules.clear_views if t.name else 1)]:
            self.lose(track)
        self._name_anew()
        for detection in free:
            if (detection.beyond or not detection.cut) and not self._is_known(detection):
                self.know(detection)
        self._name_new()
        for track in self._tracks:
            track.shown = self._next_id if track.matched else track.shown
        undecided = (not t.name or t.glimpsed or (t.judged_anew and t.whole) for t in self._tracks)
        self.deciding = doubts != before or any(undecided)
        return self.tracks

    def _assign(self, free: Sequence[Detection]) -> list[Detection]:
        """Assign detections to tracks by position, resting or moved by the hand; returns the others."""
        tracks = [t for t in self._tracks if not t.matched]
        costs = []
        for i, j in _near(tracks, free, self.rules.near):
            track, detection = tracks[i], tracks[i].given(free[j])
            if (track.held and (detection.cut or detection.inferred)) or track.clashes(detection):
                continue
            same = track.looks_like(detection)
            if (
                not same
                and not detection.cut
                and not track.last.cut
                and (track.misshapen(detection) or not alike(track.last, detection))
            ):
                continue
            costs.append((math.dist(detection.position, track.last.position) + (0.0 if same else _LOOKS), i, j))
        return self._pair(tracks, free, costs)

    def _moved(self, free: list[Detection], scene: SeenScene) -> list[Detection]:
        """Assign remaining detections to unseen tracks of the same appearance: to the held one, to those that have left
        their place, then to dropped ones and to those whose place is hidden, if near. What is hidden may still be
        there: its name must not go to its twin across the table.
        """
        lost = [
            (t, self._absence(t, free, scene) if t.name else _Absence.HIDDEN) for t in self._tracks if not t.matched
        ]
        lost += [(t, _Absence.DROPPED) for t in self._gone]
        costs = [
            ((min(absence, _Absence.DROPPED), math.dist(d.position, t.last.position)), i, j)
            for i, (t, absence) in enumerate(lost)
            for j, d in enumerate(free)
            if (t.looks_like(t.given(d) if absence == _Absence.HELD else d) or (t.moves and not t.clashes(d)))
            and (not d.cut or (d.beyond and t.last.beyond))
            and of_one_size(t.last, d)
            and (absence != _Absence.HIDDEN or may_have_come(t.last, d))
            and (absence != _Absence.HELD or not d.inferred)
        ]
        return self._pair([t for t, _ in lost], free, costs, moved=True)

    def _pair(
        self, tracks: Sequence[Track], free: Sequence[Detection], costs: list[tuple[Any, int, int]], moved: bool = False
    ) -> list[Detection]:
        """Assign detections to tracks, the cheapest pairs first; returns the others. costs: of all possible pairs."""
        pairs: dict[int, int] = {}
        for _, i, j in sorted(costs):
            if i not in pairs and j not in pairs.values():
                pairs[i] = j
                self._see(self.find(tracks[i]), free[j], moved)
        return [d for j, d in enumerate(free) if j not in pairs.values()]

    def find(self, track: Track) -> Track:
        """A track, which is there again where it was lost."""
        if track.lost:
            track.lost = False
            self._gone.remove(track)
            self._tracks.append(track)
        return track

    def _absence(self, track: Track, free: Sequence[Detection], scene: SeenScene) -> _Absence:
        """How an unseen object may have come to another place."""
        if track.held or track.slipped:
            return _Absence.HELD
        others = any(t.whole and collide(t.last, track.last) for t in self._tracks) or any(
            not d.cut and track.clashes(d) and collide(d, track.last) for d in free
        )
        left = others or (track.grip is None and place_is_empty(track.last, scene.views))
        return _Absence.LEFT if left else _Absence.HIDDEN

    def _see(self, track: Track, detection: Detection, moved: bool = False) -> None:
        track.matched, track.inferred = True, detection.inferred
        missing, track.missing, track.glimpsed = track.missing, 0.0, 0.0
        track.looks += track.doubtful  # it was itself, ill seen
        track.doubtful.clear()
        # The side of a hidden cube tells less about it than what was seen before.
        if (detection.cut and not track.last.cut) or (detection.inferred and track.name and not moved):
            return
        detection = track.given(self._moving(track, detection))
        if detection.side is None:
            detection = replace(detection, side=track.last.side)
        track.seen += 1
        track.whole = not detection.inferred and not detection.cut
        if track.last.cut and not detection.cut:  # now it is seen what it is
            track.looks.clear()
            track.judged_anew = True
        track.looks[detection.look] += 1
        red, green, blue = (o + self.rules.smoothing * (n - o) for o, n in zip(track.rgb, detection.rgb))
        track.rgb = red, green, blue
        detection = on_lower_ground(track.last, detection)
        track.held, track.grip, track.slipped = False, track.grip if not moved else None, False
        if moved:
            self._take_along(track, detection, missing)
        if (
            not moved
            and detection.class_name == track.last.class_name
            and apart(track.last, detection) < 0.006
            and abs(track.last.position[2] - detection.position[2]) < 0.008
        ):
            track.last = blend(track.last, detection, self.rules.smoothing)
        else:
            track.last = detection

    def _take_along(self, vessel: Track, there: Detection, missing: float) -> None:
        """What is hidden in a vessel goes along with it, if it was not seen to be gone before that was (`missing`)."""
        was, by = vessel.last, np.subtract(there.position, vessel.last.position)
        for track in self._tracks if was.shape == "hollow" else ():
            hidden = track is not vessel and not (track.matched or track.held) and track.missing <= missing
            if hidden and was.covers(*track.last.position[:2]) and was.bottom <= track.last.bottom < was.top:
                x, y, z = (by + track.last.position).tolist()
                track.last, track.missing = replace(track.last, position=(x, y, z)), 0.0

    @staticmethod
    def _moving(track: Track, detection: Detection) -> Detection:
        """A sight of a thing, which is unknown while it moves by itself: another robot's hand, or a person's."""
        covered = detection.cut and not detection.beyond  # by the robot's arm, so that nobody knows its middle
        rests = apart(track.last, detection) < _MOVES or covered or track.held or track.carried
        changes, track.moves = rests == (track.moves > 0), 0 if rests else track.moves + 1
        if track.named[0] not in ("", UNKNOWN):
            return detection
        if changes:
            track.looks.clear()  # what it looked like until now does not count
            track.judged_anew = True
        if rests:
            return detection
        return replace(detection, class_name=UNKNOWN, confidence=UNSURE)

    def _merge(self) -> None:
        """Merge two tracks of one object, as may arise at the hand: the older one is kept."""
        unseen = [t for t in self._tracks if t.name and not t.matched and not t.held and t.last.seen is None]
        for new in [t for t in self._tracks if t.matched and not t.carried] if unseen else []:
            for old in unseen:
                if old.id < new.id and not old.matched and old.looks_like(new.last) and same_place(old.last, new.last):
                    self._is(old, new)
                    break

    def _is(self, old: Track, new: Track) -> None:
        """Merge a newer track into an older one whose object is observed at its place."""
        self._tracks.remove(new)
        self.find(old)
        self._take_along(old, new.last, old.missing)
        old.last, old.rgb, old.grip = new.last, new.rgb, None
        old.missing = old.glimpsed = 0.0
        old.matched, old.inferred, old.whole = new.matched, new.inferred, new.whole
        old.doubtful.clear()

    def _miss(self, track: Track, free: Sequence[Detection], scene: SeenScene, repeated: bool) -> None:
        if not track.name:
            track.missing += 1
            return
        empty = place_is_empty(track.last, scene.views)
        if track.grip is not None and not empty:
            track.missing = track.glimpsed = 0.0
        elif not track.held:
            track.missing += 1.0 if empty else self._is_taken(track, free, repeated)
        if is_furniture(track.last, scene.fixtures):  # before that was seen there
            track.missing = self.rules.clear_views

    def _infer(self) -> None:
        """Infer the supports of an object observed at its height, unless their place was since seen empty or occupied,
        or another colour was seen on the side.
        """
        for track in sorted(self._tracks, key=lambda t: -t.last.top):
            if track.matched or track.held or track.last.receptacle:
                continue
            carries = track.missing <= track.glimpsed and any(
                (t.whole or t.inferred)
                and t is not track
                and abs(t.last.bottom - track.last.floor) < LEVEL
                and track.last.covers(*t.last.position[:2])
                for t in self._tracks
            )
            if carries and track.glimpsed:
                track.unrepeated += 1
                if track.unrepeated > _FADED:
                    track.missing = track.glimpsed = 0.0
            track.inferred = carries and not track.missing

    def _is_taken(self, track: Track, free: Sequence[Detection], repeated: bool) -> float:
        """Confidence, 0 to 1, that another object is observed at this object's place, which excludes it. Depth noise
        can change a shape: a repeated frame adds nothing to that doubt.
        """
        if any(t.whole and collide(t.last, track.last) for t in self._tracks):
            return 1.0
        sure, glimpse = 0.0, False
        for detection in free:
            if detection.cut or not collide(detection, track.last):
                continue
            if track.clashes(detection):
                if detection.inferred:
                    glimpse = True
                else:
                    sure = 1.0
            elif not detection.inferred and not repeated:
                track.doubtful[detection.look] += 1
                sure = max(sure, _UNSURE)
        if glimpse and not sure:
            track.glimpsed, track.unrepeated = track.glimpsed + _UNSURE, 0
            return _UNSURE
        return sure

    def _gives_name(self, gone: Track) -> bool:
        """Whether another thing takes the name of one that ends, so that a lone red cube is not red_cube_2 for good:
        one that came since that was last seen, or its other half, where one thing was seen as two for a while.
        """
        for other in self.tracks:
            numbered = other.name.startswith(gone.name + "_") and other.name.removeprefix(gone.name + "_").isdigit()
            came = other.id >= gone.shown and other.looks_like(gone.current) and of_one_size(gone.last, other.last)
            half = numbered and gone.seen <= _BRIEF and not gone.carried and not other.carried
            if came or (half and apart(other.last, gone.last) < _DOUBLE):
                other.name = gone.name
                return True
        return False

    def _between_fingers(self, hand: Hand) -> Track | None:
        """The object that can be between the fingers: the one at their height, not its support or what it is in."""
        near = [t for t in self._tracks if not self._stays(t) and hand.gap(t.last) < _GRASP_REACH]
        rows = [(t.grip is None, t.last.shape == "hollow", hand.gap(t.last), max(t.last.size[:2])) for t in near]
        return near[rows.index(min(rows))] if rows else None

    def _stays(self, track: Track) -> bool:
        """Whether no hand takes a thing: trays and the like; where there is furniture, a wide bowl is an item, too."""
        return track.last.receptacle and not (self._classes.furnished and track.last.shape == "hollow")

    def _follow_hand(self, track: Track, hand: Hand, between: bool) -> None:
        """Detect the object that the fingers close around, and move it with the hand until they open."""
        if self._stays(track):
            return
        local = hand.sees(track.last.position)
        if track.grip is None:
            if hand.gap(track.last) >= _GRASP_REACH:
                track.widest = hand.width
            if not between:
                return
            track.widest = max(track.widest, hand.width)
            # Not the whole width: a bottle is held at its neck, a mug at its wall. Fingers that pass by, or have let it
            # go and opened little, do not hold it: only closing fingers take a thing.
            least = 0.0 if track.last.shape == "hollow" else 0.3 * min(track.last.size[:2])
            fits = least < hand.width < max(track.last.size[:2]) * 1.5 + 0.003
            if fits and 0.004 < hand.width < min(0.076, track.widest - _CLOSING):
                track.grip, track.grip_width = local, hand.width
            return
        if not 0.003 <= hand.width <= track.grip_width + _OPENING:
            track.slipped = track.held and hand.width < 0.003
            track.grip, track.held, track.widest = None, False, hand.width
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
        """Whether a detection is the held object, or part of something at the fingers."""
        if hand is None:
            return False
        held = [t for t in self._tracks if t.held]
        near = detection.cut and float(np.linalg.norm(hand.position - detection.position)) < 0.12
        if near or any(is_piece_in_air(detection, t.last) for t in held):
            return True
        beside = math.dist(detection.position[:2], hand.position[:2]) < 0.06 and detection.top > hand.position[2] - 0.05
        return beside and bool(held)

    def _is_known(self, detection: Detection) -> bool:
        """Whether a known object is at this place that was not recognised in this frame, or of which this is a part."""

        def is_at(track: Track) -> bool:
            if detection.cut and not track.last.hollow and track.last.covers(*detection.position[:2]):
                return True
            return not track.matched and apart(track.last, detection) < 0.025

        return any(
            t.name
            and not t.held
            and is_at(t)
            and min(t.last.top, detection.top) - max(t.last.bottom, detection.bottom) > 0.01
            for t in self._tracks
        )

    def _everything_changed(self, scene: SeenScene) -> bool:
        """Whether the scene was replaced: the places of most objects that can be named anew are empty at once."""
        named = [t for t in self._tracks if t.name and not t.held and t.last.seen is None]
        empty = sum(not t.matched and place_is_empty(t.last, scene.views) for t in named)
        return empty >= 3 and 2 * empty > len(named)

    def _name_anew(self) -> None:
        for track in self._tracks:
            if not track.judged_anew or not track.matched or track.looks.total() < self.rules.min_frames:
                continue
            track.judged_anew = False
            if track.name and track.look[0] != track.named[0]:
                track.name = ""

    def _name_new(self) -> None:
        # A name is kept for good, so one frame that took a cube for a cylinder must not give it; and who is the first
        # of two alike must not hang on that either, so the others wait for it a few frames.
        ready = [t for t in self._tracks if not t.name and t.matched and t.seen >= self.rules.min_frames]
        new = [t for t in ready if t.sure]
        if not new or any(not t.sure and t.seen <= 2 * self.rules.min_frames for t in ready):
            return
        # A lost object that was taken for another one at first, where it is now, must not have its own name with a 2.
        for track in new:
            lost = [
                t
                for t in (*self._tracks, *self._gone)
                if t.name
                and not t.matched
                and not t.held
                and (t.missing or t.slipped)
                and t.looks_like(track.current)
                and of_one_size(t.last, track.last)
            ]
            if lost:
                self._is(min(lost, key=lambda t: math.dist(t.last.position, track.last.position)), track)
        new = [t for t in new if t in self._tracks]
        taken = {t.name for t in (*self._tracks, *self._gone) if t.name}
        names = name_all(
            [_nameless(t) for t in new], self._classes, [_nameless(t) for t in self._tracks if t.name], taken
        )
        for track, name in zip(new, names):
            track.name, track.named = name, track.look


def _near(tracks: Sequence[Track], free: Sequence[Detection], near: float) -> list[tuple[int, int]]:
    """Indices of tracks and detections within reach: `near` m along the table, twice that in space; the held, twice."""
    if not tracks or not free:
        return []
    away = np.array([t.last.position for t in tracks])[:, None] - np.array([d.position for d in free])
    reach = near * np.array([2.0 if t.held else 1.0 for t in tracks])[:, None]
    close = (np.hypot(away[..., 0], away[..., 1]) <= reach) & (np.sqrt((away**2).sum(axis=2)) <= 2 * reach)
    return [(int(i), int(j)) for i, j in np.argwhere(close)]


def _nameless(track: Track) -> Nameless:
    return Nameless(*track.look, track.last.position[1], track.last.receptacle)
