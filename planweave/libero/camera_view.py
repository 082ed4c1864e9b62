"""LIBERO's scene as its cameras show it: RGB-D pictures and the sentence to a world of the domain `kitchen`.

Things come from depth, names from a model that takes pictures, relations and states from geometry. Nothing is read from
the simulator's state but the robot's own joints. The frame is that of `planweave.libero.truth`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import solid_of_cloud
from planweave.core.domain import Domain
from planweave.core.world import Known, Literal, World, WorldObject
from planweave.libero.arm import ROBOT
from planweave.libero.client import LiberoSimulator, Picture
from planweave.libero.seen_drawers import Drawer, find_drawers
from planweave.libero.truth import at_centre, categories, completed, table_centre
from planweave.perception.cloud import Projector
from planweave.perception.colours import colour_word, patch_colour
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.robot_filter import RobotState, robot_mask
from planweave.perception.segments import Segment, Segmentation, find_segments
from planweave.perception.vision_names import Marked, Named, VisionNamer
from planweave.robots import load_robot

CAMERAS = ("agentview", "robot0_eye_in_hand")
WIDTH, HEIGHT = 640, 480
NEAREST, FARTHEST, ASIDE = 0.2, 1.1, 0.65  # m from the robot's base within which things are looked for
BELOW, ABOVE = 0.12, 0.7  # m below and above it
CHANGING = ("microwave", "stove")
"""Classes whose state only a look tells."""
_UNKNOWN = "object"
_TURNED = np.diag([-1.0, -1.0, 1.0])  # from LIBERO's frame to the person's
_LARGE = 0.15  # m from which on a thing's parts are named, too
_LEAST_MASK = 30  # pixels of a mark
_REST = 0.03  # m between the lowest visible point of a thing and what it stands on
_OVER = 0.03  # share of a thing's points above what it stands on
_SUNK = 0.01  # m below a rim from which on a thing is inside
_HANDLES = ("handle", "knob", "pull")


@dataclass(frozen=True, eq=False)
class SeenThing:
    """A thing with its name. bottom: height of what it stands on, which is `below` ("" for the ground).

    parts: points and names of its parts.
    """

    name: str
    points: np.ndarray
    named: Named
    bottom: float
    parts: tuple[tuple[np.ndarray, Named], ...] = ()
    below: str = ""

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Low and high corner, (3,)."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        low[2] = min(low[2], self.bottom)
        return low, high


@dataclass(frozen=True, eq=False)
class Seen:
    """What the cameras show: the symbolic world, and the things with their points."""

    world: World
    things: tuple[SeenThing, ...]
    ground: float
    base: np.ndarray = field(repr=False)

    def solids(self, domain: Domain) -> tuple[Thing, ...]:
        """The things with their shapes in the robot's base frame, for grasping."""
        found = []
        for thing in self.things:
            if thing.name in self.world.by_name:
                each = self.world.by_name[thing.name]
                points = thing.points @ _TURNED.T - self.base
                solid = solid_of_cloud(points, thing.bottom - float(self.base[2]))
                is_round = domain.is_round_class(each.class_name)
                found.append(thing_of_solid(each.name, each.type, each.class_name, solid, round_class=is_round))
        return tuple(found)


class CameraView:
    """Looks through a simulator's cameras. namer: gives names; cameras: of LIBERO, by name."""

    def __init__(
        self, simulator: LiberoSimulator, domain: Domain, namer: VisionNamer, cameras: Sequence[str] = CAMERAS
    ) -> None:
        self._simulator, self._domain, self._namer, self._cameras = simulator, domain, namer, tuple(cameras)

    def look(self, sentence: str, robot: Mapping[str, Sequence[float]], stamp: float = 0.0) -> Seen:
        """The scene now; raises ModelError.

        robot: its `joints` (rad), `gripper` (m, two fingers) and `base` (m; turned as LIBERO's frame).
        """
        pictures = [self._simulator.capture(camera, WIDTH, HEIGHT) for camera in self._cameras]
        return see(self._domain, pictures, sentence, robot, self._namer, stamp)


def see(
    domain: Domain,
    pictures: Sequence[Picture],
    sentence: str,
    robot: Mapping[str, Sequence[float]],
    namer: VisionNamer,
    stamp: float = 0.0,
) -> Seen:
    """The scene in pictures that were taken at one time; see CameraView.look."""
    base = np.asarray(robot["base"], float)[:3]
    views = [depth_view(picture, robot) for picture in pictures]
    segmentation = cut(views, base)
    shown = list(_shown(segmentation.segments))
    marked = [_marked(segment, views) for segment, _ in shown]
    answers = namer.names([view.rgb for view in views], marked, sentence, CHANGING)
    things = _things(domain, segmentation, shown, answers)
    return Seen(_world(domain, things, segmentation.ground, stamp), tuple(things), segmentation.ground, base)


def depth_view(picture: Picture, robot: Mapping[str, Sequence[float]]) -> DepthView:
    """A picture in the person's frame, without the robot's pixels."""
    height, width = picture.depth.shape
    focal = height / 2 / math.tan(math.radians(picture.fovy) / 2)
    intrinsics = Intrinsics(focal, focal, (width - 1) / 2, (height - 1) / 2, width, height)
    turn = picture.rotation @ np.diag([1.0, -1.0, -1.0])  # optical: y down, z along the view
    projector = Projector(intrinsics, Pose(turn, picture.position - np.asarray(robot["base"], float)[:3]))
    state = RobotState(tuple(robot["joints"]), sum(map(abs, robot["gripper"])), 0.0, load_robot(ROBOT))
    hidden = robot_mask(projector.cloud(picture.depth), projector, state)
    pose = Pose(_TURNED @ turn, _TURNED @ picture.position)
    return DepthView(picture.camera, picture.rgb, picture.depth, intrinsics, pose, hidden)


def cut(views: Sequence[DepthView], base: np.ndarray) -> Segmentation:
    """The things around the robot whose base is at a place of LIBERO's frame."""
    x, y, z = _TURNED @ base
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
    domain: Domain, segmentation: Segmentation, shown: Sequence[tuple[Segment, int]], answers: Sequence[Named]
) -> list[SeenThing]:
    """Named things; what the answers call a part of another is given to it, what they call nothing is left out."""
    points = [segment.points for segment, _ in shown]
    of = [named.part_of - 1 if named.part_of else -1 for named in answers]
    wholes = [k for k, (_, whole) in enumerate(shown) if whole < 0 and not answers[k].is_nothing and of[k] < 0]
    parts: dict[int, list[tuple[np.ndarray, Named]]] = {k: [] for k in wholes}
    for k, (_, whole) in enumerate(shown):
        owner = whole if whole >= 0 else of[k]
        if k not in parts and owner in parts and not answers[k].is_nothing:
            parts[owner].append((points[k], answers[k]))
    counts: dict[str, int] = {}
    found = []
    for k in sorted(wholes, key=lambda k: (-points[k][:, 1].mean(), k)):
        kind = answers[k].class_name or _UNKNOWN
        counts[kind] = counts.get(kind, 0) + 1
        together = np.concatenate([points[k], *(p for p, _ in parts[k])])
        colour = answers[k].colour or colour_word(*patch_colour(shown[k][0].colours))
        named = Named(kind, colour, 0, answers[k].drawers, answers[k].state)
        found.append(SeenThing(f"{kind}_{counts[kind]}", together, named, segmentation.ground, tuple(parts[k])))
    return [_on_support(thing, found) for thing in found]


def _on_support(thing: SeenThing, things: Sequence[SeenThing]) -> SeenThing:
    below = _below(thing, things)
    return thing if below is None else replace(thing, bottom=below[1], below=below[0].name)


def _below(thing: SeenThing, things: Sequence[SeenThing]) -> tuple[SeenThing, float] | None:
    """What a thing rests on or in, and at which height; None for the ground."""
    low = float(np.percentile(thing.points[:, 2], 1))
    if low < thing.bottom + _SUNK:
        return None
    middle = (thing.points[:, :2].min(axis=0) + thing.points[:, :2].max(axis=0)) / 2
    outline = cv2.convexHull(thing.points[:, :2].astype(np.float32))
    best: tuple[float, float, SeenThing] | None = None
    for other in things:
        over = _share_over(thing.points[:, :2], other.points[:, :2], middle)
        if other is thing or over < _OVER:
            continue
        near = other.points[other.points[:, 2] < low + _SUNK]
        near = near[[cv2.pointPolygonTest(outline, (float(x), float(y)), True) > -_REST for x, y in near[:, :2]]]
        height = float(np.percentile(near[:, 2], 98)) if len(near) else -math.inf
        if low - height < _REST and (best is None or (height, over) > best[:2]):
            best = height, over, other
    return None if best is None else (best[2], best[0])


def _share_over(points: np.ndarray, others: np.ndarray, middle: np.ndarray) -> float:
    """Share of points of the plane within the outline of others; 1 where their middle is."""
    outline = cv2.convexHull(others.astype(np.float32))
    if cv2.pointPolygonTest(outline, (float(middle[0]), float(middle[1])), False) >= 0:
        return 1.0
    sample = points[:: max(1, len(points) // 200)]
    return float(np.mean([cv2.pointPolygonTest(outline, (float(x), float(y)), False) > 0 for x, y in sample]))


def _can(kind: str) -> set[str]:
    """Properties that things of a class have."""
    last = kind.rsplit("_", 1)[-1]
    rows = [row for table in ("items", "fixtures") for row in categories()[table].values()]
    return {
        can
        for row in rows
        if row["class"] in (kind, last) or row["class"].endswith(f"_{last}")
        for can in row.get("can", ())
    }


def _world(domain: Domain, things: Sequence[SeenThing], ground: float, stamp: float) -> World:
    objects, facts = [], set()
    drawers: dict[str, list[tuple[str, Drawer]]] = {}
    for thing in things:
        kind = thing.named.class_name
        objects.append(_object(domain, thing, stamp))
        facts |= {Literal(can, (thing.name,)) for can in _can(kind)}
        facts |= {Literal("bears_things", (thing.name,))} if kind != "caddy" else set()
        facts |= {*_states(thing)}
        if thing.named.drawers:
            handles = [points for points, named in thing.parts if named.class_name.endswith(_HANDLES)]
            drawers[thing.name] = []
            for drawer in find_drawers(thing.points, thing.named.drawers, handles, ground):
                name = "_".join(filter(None, (thing.name, drawer.level, "drawer")))
                drawers[thing.name].append((name, drawer))
                attributes = {"level": drawer.level} if drawer.level else {}
                part = WorldObject(
                    name, "part", "drawer", attributes, drawer.centre, None, drawer.size, Known.SEEN, stamp
                )
                objects.append(part)
                facts |= {Literal("part_of", (name, thing.name)), Literal("holds_things", (name,))}
                facts |= {Literal("can_open", (name,)), Literal("opened" if drawer.is_open else "closed", (name,))}
    middle = table_centre(stamp)
    placed, by_name = set(), {thing.name: thing for thing in things}
    for thing in things:
        if domain.type_of_class(thing.named.class_name) == "item" and thing.below:
            placed.add(thing.name)
            facts.add(_relation(thing, by_name[thing.below], drawers.get(thing.below, ())))
    free = [o for o in objects if o.type == "item" and o.name not in placed]
    return completed(domain, [*objects, middle], {*facts, *at_centre(free, middle)}, stamp)


def _object(domain: Domain, thing: SeenThing, stamp: float) -> WorldObject:
    low, high = thing.bounds
    x, y, z = ((low + high) / 2).tolist()
    dx, dy, dz = (high - low).tolist()
    kind = thing.named.class_name
    attributes = {"color": thing.named.colour} if thing.named.colour else {}
    return WorldObject(
        thing.name, domain.type_of_class(kind), kind, attributes, (x, y, z), None, (dx, dy, dz), Known.SEEN, stamp
    )


def _states(thing: SeenThing) -> Iterator[Literal]:
    """States that the model has seen; without an answer they stay unknown."""
    can, state = _can(thing.named.class_name), thing.named.state
    if "can_open" in can and state in ("open", "closed"):
        yield Literal("opened" if state == "open" else "closed", (thing.name,))
    if "can_turn" in can and state in ("on", "off"):
        yield Literal(f"turned_{state}", (thing.name,))


def _relation(thing: SeenThing, below: SeenThing, drawers: Sequence[tuple[str, Drawer]]) -> Literal:
    x, y, z = (thing.points.min(axis=0) + thing.points.max(axis=0)) / 2
    for name, drawer in drawers:
        inside = all(abs(a - b) < s / 2 for a, b, s in zip((x, y), drawer.centre, drawer.size))
        if drawer.is_open and inside and abs(z - drawer.centre[2]) < drawer.size[2]:
            return Literal("in", (thing.name, name))
    hollow = "holds_things" in _can(below.named.class_name)
    sunk = float(np.percentile(thing.points[:, 2], 1)) < float(below.points[:, 2].max()) - _SUNK
    return Literal("in" if hollow and sunk else "on", (thing.name, below.name))
