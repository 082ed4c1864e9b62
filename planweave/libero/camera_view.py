"""LIBERO's scene as its cameras show it: RGB-D pictures and the sentence to a world of the domain `kitchen`.

Things come from depth, names from a model that takes pictures, relations and states from geometry. Nothing is read from
the simulator's state but the robot's own joints. The frame is that of `planweave.libero.truth`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

import cv2
import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.libero.arm import ROBOT
from planweave.libero.client import LiberoSimulator, Picture
from planweave.libero.seen_furniture import SeenFurniture
from planweave.libero.seen_world import TURNED, Seen, SeenPart, SeenThing, resting, seen_world
from planweave.perception.cloud import Projector
from planweave.perception.colours import colour_word, patch_colour
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.robot_filter import RobotState, robot_mask
from planweave.perception.segmentation import Segment, Segmentation, find_segments
from planweave.perception.vision_names import Marked, Named
from planweave.robots import load_robot

CAMERAS = ("agentview", "robot0_eye_in_hand")
WIDTH, HEIGHT = 640, 480
NEAREST, FARTHEST, ASIDE = 0.2, 1.1, 0.65  # m from the robot's base within which things are looked for
BELOW, ABOVE = 0.12, 0.7  # m below and above it
CHANGING = ("microwave", "stove")
"""Classes whose state only a look tells."""
_UNKNOWN = "object"
_LARGE = 0.15  # m from which on a thing's parts are named, too
_LEAST_MASK = 30  # pixels of a mark
_SAME = 0.02  # m between what two cameras show of one thing
_SLIVER, _EDGE, _WITHIN = 0.15, 0.006, 0.9  # share of a thing's area, m beyond it, and share of points that are not


class Namer(Protocol):
    """Who names what pictures show: planweave.perception.vision_names.VisionNamer."""

    def names(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], words: str, changing: Collection[str]
    ) -> list[Named]:
        """An answer for every thing."""
        ...


class CameraView:
    """Looks through a simulator's cameras. namer: gives names; cameras: of LIBERO, by name."""

    def __init__(
        self, simulator: LiberoSimulator, domain: Domain, namer: Namer, cameras: Sequence[str] = CAMERAS
    ) -> None:
        self._simulator, self._domain, self._namer, self._cameras = simulator, domain, namer, tuple(cameras)

    def look(self, sentence: str, robot: Mapping[str, Sequence[float]], stamp: float = 0.0) -> Seen:
        """The scene now; raises ModelError.

        robot: its `joints` (rad), `gripper` (m, two fingers) and `base` (m; turned as LIBERO's frame).
        """
        return see(self._domain, self.pictures(), sentence, robot, self._namer, stamp)

    def views(self, robot: Mapping[str, Sequence[float]]) -> list[DepthView]:
        """Pictures of now with their depth, without names."""
        return [depth_view(picture, robot) for picture in self.pictures()]

    def pictures(self) -> list[Picture]:
        """Of all cameras, taken now."""
        return [self._simulator.capture(camera, WIDTH, HEIGHT) for camera in self._cameras]


def see(
    domain: Domain,
    pictures: Sequence[Picture],
    sentence: str,
    robot: Mapping[str, Sequence[float]],
    namer: Namer,
    stamp: float = 0.0,
) -> Seen:
    """The scene in pictures that were taken at one time; see CameraView.look."""
    base = np.asarray(robot["base"], float)[:3]
    views = [depth_view(picture, robot) for picture in pictures]
    segmentation = cut(views, base)
    shown = list(_shown(segmentation.segments))
    marked = [_marked(segment, views) for segment, _ in shown]
    answers = namer.names([view.rgb for view in views], marked, sentence, CHANGING)
    things = resting(_things(segmentation, shown, answers), segmentation.ground)
    furniture = SeenFurniture(domain, base, segmentation.ground)
    for _ in range(2):  # once is by chance
        furniture.look(views, things)
    furniture.find_contents(things)
    world = seen_world(domain, things, stamp, furniture=furniture)
    return Seen(world, things, segmentation.ground, base, furniture)


def depth_view(picture: Picture, robot: Mapping[str, Sequence[float]]) -> DepthView:
    """A picture in the person's frame, without the robot's pixels."""
    height, width = picture.depth.shape
    focal = height / 2 / math.tan(math.radians(picture.fovy) / 2)
    intrinsics = Intrinsics(focal, focal, (width - 1) / 2, (height - 1) / 2, width, height)
    turn = picture.rotation @ np.diag([1.0, -1.0, -1.0])  # optical: y down, z along the view
    projector = Projector(intrinsics, Pose(turn, picture.position - np.asarray(robot["base"], float)[:3]))
    state = RobotState(tuple(robot["joints"]), sum(map(abs, robot["gripper"])), 0.0, load_robot(ROBOT))
    hidden = robot_mask(projector.cloud(picture.depth), projector, state)
    pose = Pose(TURNED @ turn, TURNED @ picture.position)
    return DepthView(picture.camera, picture.rgb, picture.depth, intrinsics, pose, hidden)


def cut(views: Sequence[DepthView], base: np.ndarray) -> Segmentation:
    """The things around the robot whose base is at a place of LIBERO's frame."""
    x, y, z = TURNED @ base
    return find_segments(views, (x - FARTHEST, y - ASIDE, z - BELOW), (x - NEAREST, y + ASIDE, z + ABOVE))


def classes(domain: Domain) -> list[str]:
    """The domain's words for things."""
    listed = {name for names in domain.categories.values() for name in names}
    return sorted({*domain.classes, *domain.round_classes, *listed} - {"drawer", "compartment"})


def _shown(segments: Sequence[Segment]) -> Iterator[tuple[Segment, int]]:
    """Segments to be named, each with the index of the one that it is a part of, or -1."""
    count = 0
    for segment in segments:
        whole = count
        yield segment, -1
        count += 1
        if np.ptp(segment.points, axis=0).max() > _LARGE:
            for part in segment.parts:
                yield part, whole
                count += 1


def _marked(segment: Segment, views: Sequence[DepthView]) -> Marked:
    masks = [mask if (mask := segment.masks[view.name]).sum() >= _LEAST_MASK else None for view in views]
    low, high = segment.points.min(axis=0), segment.points.max(axis=0)
    x, y, z = (low + high) / 2
    dx, dy, dz = high - low
    return Marked(masks, (float(x), float(y), float(z)), (float(dx), float(dy), float(dz)), segment.colours)


def _things(
    segmentation: Segmentation, shown: Sequence[tuple[Segment, int]], answers: Sequence[Named]
) -> list[SeenThing]:
    """Named things; what the answers call a part of another is given to it, what they call nothing is left out."""
    segments = [segment for segment, _ in shown]
    of = [named.part_of - 1 if named.part_of else -1 for named in answers]
    wholes = [k for k, (_, whole) in enumerate(shown) if whole < 0 and not answers[k].is_nothing and of[k] < 0]
    owners = {k: k for k in wholes}
    for one, two in ((a, b) for a in wholes for b in wholes if a < b):
        if owners[two] == two and _is_other_side(segments[one], segments[two], answers[one], answers[two]):
            owners[two] = owners[one]
    for one, two in ((a, b) for a in wholes for b in wholes if a != b and owners[a] == a and owners[b] == b):
        alike = answers[one].class_name == answers[two].class_name != ""
        if alike and _is_sliver(segments[two], segments[one]):
            owners.update((k, one) for k in wholes if owners[k] == two)
    for k, (_, whole) in enumerate(shown):
        if k not in owners and not answers[k].is_nothing:
            owners[k] = owners.get(whole if whole >= 0 else of[k], -1)
    counts: dict[str, int] = {}
    found = []
    for k in sorted({owners[k] for k in wholes}, key=lambda k: (-segments[k].points[:, 1].mean(), k)):
        kind = answers[k].class_name or _UNKNOWN
        counts[kind] = counts.get(kind, 0) + 1
        mine = [j for j, owner in owners.items() if owner == k]
        points, colours = (np.concatenate([getattr(segments[j], of) for j in mine]) for of in ("points", "colours"))
        parts = tuple(SeenPart(segments[j].points, answers[j]) for j in mine if j not in wholes)
        colour = answers[k].colour or colour_word(*patch_colour(segments[k].colours))
        named = Named(kind, colour, 0, answers[k].drawers, answers[k].state)
        found.append(SeenThing(f"{kind}_{counts[kind]}", points, colours, named, segmentation.ground, parts))
    return found


def _is_sliver(one: Segment, whole: Segment) -> bool:
    """Whether a segment is a small piece of a much larger one of its name: within its outline and its heights."""
    if one.area > _SLIVER * whole.area:
        return False
    low, high = whole.points[:, 2].min() - _EDGE, whole.points[:, 2].max() + _EDGE
    outline = cv2.convexHull(whole.points[:, :2].astype(np.float32))
    inward = np.array([cv2.pointPolygonTest(outline, (float(x), float(y)), True) for x, y, _ in one.points[::4]])
    heights = one.points[::4, 2]
    return bool(((inward > -_EDGE) & (heights > low) & (heights < high)).mean() > _WITHIN)


def _is_other_side(one: Segment, two: Segment, first: Named, second: Named) -> bool:
    """Whether two segments of one name are one thing, of which different cameras show different sides."""
    if first.class_name != second.class_name or not first.class_name:
        return False
    if any(one.masks[view].any() and two.masks[view].any() for view in one.masks):
        return False
    low = np.maximum(one.points.min(axis=0), two.points.min(axis=0))
    high = np.minimum(one.points.max(axis=0), two.points.max(axis=0))
    return bool((low - high < _SAME).all())
