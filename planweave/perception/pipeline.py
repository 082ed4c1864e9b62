"""Processing of one frame: table plane, robot filter, segments, detector, supports. Stateless."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import OrientedBox, SeenFixture
from planweave.perception.burners import light_of
from planweave.perception.calibration import Extrinsics
from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import LEAST_DEPTH, DepthView
from planweave.perception.depthless import find_depthless
from planweave.perception.detection import Detection, Measured, View
from planweave.perception.detectors import Detector, StateReader
from planweave.perception.detectors.attributes import detect_by_attributes, measure
from planweave.perception.fixtures import FixtureMemory, cut_out
from planweave.perception.geometry import LEVEL, Intrinsics, Plane
from planweave.perception.lids import take_lids
from planweave.perception.matching import is_rigid, one_is, place_is_empty
from planweave.perception.object_classes import UNSURE, ObjectClasses
from planweave.perception.regions import STEEP, find_regions
from planweave.perception.robot_filter import RobotState, robot_mask
from planweave.perception.rooms import hidden_from, rooms_of, seen_in, things_in, with_side
from planweave.perception.segmentation import LEAST_HEIGHT, LOW, around_things, find_segments
from planweave.perception.side_views import checked, find_table, inside_table, no_table, points_above
from planweave.perception.supports import enclosed, lifted, rest_on_supports

_EVERY = 3  # of the points, in which furniture is looked for
_HIGHEST = 1.0  # m above the table up to which things are looked for


@dataclass(frozen=True)
class PipelineLimits:
    """Limits of the pipeline; metres and radians.

    table: x_min, x_max, y_min, y_max of the searched area.
    plane_offset, plane_tilt: largest deviation of the measured table from the calibration. glowing_burners: whether the
    burner of a stove that is on glows, so that a dark one is off.
    """

    table: tuple[float, float, float, float] = (0.12, 1.00, -0.72, 0.72)
    plane_offset: float = 0.02
    plane_tilt: float = math.radians(2.0)
    glowing_burners: bool = False


@dataclass(frozen=True)
class SeenScene:
    """The result of one frame.

    view: the picture, reduced, without the robot's pixels, and occluded_pixels, their number; plane: None where the
    table is out of view. measured: objects before naming and support assignment, with their pixels. fixtures:
    furniture, where it is looked for; sides: pictures of further cameras that agree with it. problems: what cannot be
    seen, and why. named: objects before support assignment.
    """

    detections: tuple[Detection, ...]
    view: DepthView
    occluded_pixels: int
    plane: Plane | None
    measured: tuple[Measured, ...] = ()
    fixtures: tuple[SeenFixture, ...] = ()
    sides: tuple[DepthView, ...] = ()
    problems: tuple[str, ...] = ()
    named: tuple[Detection, ...] = ()

    @property
    def views(self) -> tuple[DepthView, ...]:
        """All pictures."""
        return (self.view, *self.sides)


class Pipeline:
    """Frames to scenes for one camera."""

    def __init__(
        self,
        extrinsics: Extrinsics,
        settings: PipelineLimits | None = None,
        detector: Detector = detect_by_attributes,
        domain: Domain | None = None,
    ):
        """domain: says what shapes are called, and which classes are receptacles; by default the tabletop's."""
        self._domain = domain or Domain.load()
        self.classes = ObjectClasses.of(self._domain)
        self.extrinsics, self.settings = extrinsics, settings or PipelineLimits()
        self._detect = detector

    def run(
        self,
        rgb: np.ndarray,
        depth: np.ndarray,
        intrinsics: Intrinsics,
        robot: RobotState | None,
        remembered: Sequence[Detection] = (),
        names: Sequence[str] = (),
        sides: Sequence[DepthView] | None = (),
        furniture: FixtureMemory | None = None,
    ) -> SeenScene:
        """The objects of one frame.

        rgb: (h, w, 3) uint8; depth: (h, w) float32 metres, 0 where unknown; robot: None where no robot is in view;
        remembered: known objects that may be hidden below others; names: noun phrases for an open-vocabulary detector;
        sides: what further cameras see, None where nobody looks at furniture, as while the robot moves; furniture:
        where furniture is remembered, None where none is looked for.
        Raises FrameError where the frame cannot be used.
        """
        pose, table = self.extrinsics.camera_to_base(robot), self.settings.table
        view = DepthView("camera", rgb, depth, intrinsics, pose)
        view.check()
        view = view.reduced()
        mask = robot_mask(view, robot) if robot else np.zeros(view.depth.shape, dtype=bool)
        view = view.hiding(mask)
        plane = find_table(view, table)
        if plane is None and mask.mean() < 0.5:
            raise no_table(depth, f" in {self.extrinsics.frame_id}'s depth image")
        if plane is not None:
            self._check(plane)
        fixtures: tuple[SeenFixture, ...] = ()
        seen: list[DepthView] = []
        planes: list[Plane] = []
        points: list[np.ndarray] = []
        rooms: list[tuple[OrientedBox, np.ndarray]] = []
        problems: list[str] = []
        if plane is not None and sides:
            seen, planes, points, problems = self._checked(sides, robot, view)
        if furniture is not None and plane is not None:
            if sides is None:
                fixtures = furniture.unseen()
            else:
                furniture.update(np.concatenate([points_above(view, plane, table), *points])[::_EVERY])
                fixtures = furniture.use_states(self._state_reader([view, *seen]))
            rooms = [(room, seen_in(room, view)) for room in rooms_of(fixtures)]  # looked at with all cameras
        views, own = [view, *seen], [mask for _, mask in rooms]
        measured, named, found = self._things(views, plane, own, remembered, names, furniture)
        if rooms:
            found = [with_side(thing, seen) for thing in found]
        for room, mine in rooms if sides is not None else ():
            others = (side.hiding(~seen_in(room, side)) for side in seen)
            found += things_in(room, [view.hiding(~mine), *others], remembered)
        solid = [thing for thing in found if is_rigid(thing) and not thing.receptacle]
        if seen and plane is not None:
            hidden = list[Detection]()
            for side, its in zip(seen, planes):
                if side.carried:
                    own = [seen_in(room, side) for room, _ in rooms]
                    near = self._things([side, view], its, own, [*remembered, *found], names, furniture)[2]
                    hidden += (thing for thing in near if not thing.cut and not any(one_is(thing, t) for t in found))
            shown = [*found, *hidden]
            hidden += self._hidden(plane, view, seen, shown, remembered, furniture.suspected if furniture else ())
            doubted = [thing for thing in solid if place_is_empty(thing, seen)]
            doubted += [thing for thing in hidden if place_is_empty(thing, [view])]
            found = [replace(t, confidence=UNSURE) if t in doubted else t for t in (*found, *hidden)]
            problems += map(_disagreed, doubted)
        occluded = round(mask.mean() * depth.size)  # in the picture as it came
        of = view, occluded, plane, tuple(measured), fixtures, tuple(seen), tuple(problems), tuple(named)
        return self._with_depthless(SeenScene(tuple(found), *of), solid)

    def _things(
        self,
        views: Sequence[DepthView],
        plane: Plane | None,
        rooms: Sequence[np.ndarray],
        remembered: Sequence[Detection],
        names: Sequence[str],
        furniture: FixtureMemory | None,
    ) -> tuple[list[Measured], list[Detection], list[Detection]]:
        """What the first of some pictures shows outside of rooms (h, w) bool of furniture: measured, named, and with
        what it stands on. plane: the table in that picture.
        """
        view, table = views[0], self.settings.table
        box = (table[0], table[2], -_HIGHEST), (table[1], table[3], _HIGHEST)
        mask = np.zeros(view.depth.shape, bool) if view.hidden is None else view.hidden
        free = view if furniture is not None else around_things(view, *box, plane or LEVEL)
        height = free.heights(plane or LEVEL)
        ground: np.ndarray | None = None
        if furniture is not None and plane is not None:
            high = np.nonzero(inside_table(view, table) & (height > LOW))
            mine, below = cut_out(furniture.suspected, np.column_stack((view.points[high][:, :2], height[high])))
            pieces, ground = np.zeros(mask.shape, bool), np.zeros(mask.shape, np.float32)
            pieces[high], ground[high] = mine, below
            free = view.hiding(np.logical_or.reduce([pieces, *rooms]))
        steep = free.upward < STEEP  # of all of it, of which find_segments takes its part
        shown = [s.masks[view.name] for s in find_segments([free], *box, plane or LEVEL).segments]
        if ground is not None:
            for piece in shown:  # a thing may reach beyond the edge of what it stands on
                levels, counts = np.unique(ground[piece], return_counts=True)
                ground[piece] = levels[counts.argmax()]
            height = height - ground
        regions = find_regions(shown, free, height, steep, mask, table)
        regions, lids = take_lids(regions, views, ground, self.classes, remembered)
        measured = lids + measure(regions, view.pixel, self.classes)
        named = self._detect(View(view.rgb, measured, names, view.pixel))
        if furniture is None:  # else its things are items, whatever can be put in or on them
            named = [replace(d, receptacle=self._domain.is_receptacle_class(d.class_name)) for d in named]
        found = rest_on_supports(named, self.classes, remembered)
        return measured, named, found if ground is None else lifted(found, ground, view.projector)

    def run_again(self, scene: SeenScene, remembered: Sequence[Detection]) -> SeenScene:
        """Result of `run` for the picture of a scene once more, with other objects remembered; without furniture and
        further cameras.
        """
        found = rest_on_supports(scene.named, self.classes, remembered)
        solid = [thing for thing in found if is_rigid(thing) and not thing.receptacle]
        return self._with_depthless(replace(scene, detections=tuple(found), problems=()), solid)

    def _with_depthless(self, scene: SeenScene, solid: Sequence[Detection]) -> SeenScene:
        """A scene with what has no depth where no solid thing is seen, and with what is to be said of its things."""
        found, problems = list(scene.detections), [*scene.problems, *enclosed(scene.detections)]
        table = self.settings.table
        for thing in find_depthless(scene.view, scene.plane, table) if scene.plane is not None else ():
            if not any(other.covers(*thing.position[:2]) for other in solid):
                found.append(thing)
                problems.append(_without_depth(thing))
        return replace(scene, detections=tuple(found), problems=tuple(problems))

    def _hidden(
        self,
        plane: Plane,
        first: DepthView,
        others: Sequence[DepthView],
        found: Sequence[Detection],
        remembered: Sequence[Detection],
        fixtures: Sequence[SeenFixture],
    ) -> list[Detection]:
        """Things on the table that other cameras see and the first one does not. found: what that sees."""
        known = [thing for thing in found if thing.beyond or not thing.cut]
        partly = [thing for thing in remembered if any(thing.covers(*k.position[:2]) for k in known)]
        shown = []
        for view in others:
            heights = view.heights(plane)
            high = inside_table(view, self.settings.table) & (heights > LEAST_HEIGHT) & (heights < _HIGHEST)
            points = np.column_stack((view.points[high][:, :2], heights[high]))
            mine, below = cut_out(fixtures, points)
            high[high], points = (free := ~mine & (below == 0.0)), points[free]
            shown.append(view.hiding(~hidden_from(first, view, points, high, (*known, *partly))))
        low, high_corner = np.reshape((*self.settings.table, plane.c, _HIGHEST), (3, 2)).T
        space = OrientedBox((low + high_corner) / 2, np.eye(3), (high_corner - low) / 2)
        return things_in(space, shown, [thing for thing in remembered if thing not in partly])

    def _state_reader(self, views: Sequence[DepthView]) -> Callable[[SeenFixture], str]:
        """Says of a stove whether these pictures show it on or off: the model that names things where there is one, and
        its burner's light; "" where they contradict each other.
        """

        def shown(fixture: SeenFixture) -> str:
            told = set()
            if self.settings.glowing_burners:
                told.add(light_of(fixture, views))
            if isinstance(self._detect, StateReader):
                told.add(self._detect.state_of(fixture, views[0]))
            told.discard("")
            return told.pop() if len(told) == 1 else ""

        return shown

    def _checked(
        self, sides: Sequence[DepthView], robot: RobotState | None, first: DepthView
    ) -> tuple[list[DepthView], list[Plane], list[np.ndarray], list[str]]:
        """Pictures of further cameras that agree with the first one, the table in them, their points, and what is wrong
        with others.
        """
        found, planes, points, problems = [], [], [], []
        for view in sides:
            try:
                view.check(0.0 if view.carried else LEAST_DEPTH)  # near a thing it may have little
                seen = checked(view.reduced(), robot, self.settings.table, self._check, first)
            except FrameError as error:
                problems.append(f"the camera {view.name}: {error}")
                continue
            if seen is not None:
                found.append(seen[0])
                planes.append(seen[1])
                points += [] if view.carried else [seen[2]]  # near by, the rest of furniture is out of its view
        return found, planes, points, problems

    def _check(self, plane: Plane) -> None:
        offset = table_offset(plane, self.settings.table)
        if abs(offset) > self.settings.plane_offset or plane.tilt > self.settings.plane_tilt:
            raise FrameError(
                f"the table is seen {offset * 1000:+.0f} mm and {math.degrees(plane.tilt):.1f} degrees off its place "
                f"(allowed: "
                f"{self.settings.plane_offset * 1000:.0f} mm, {math.degrees(self.settings.plane_tilt):.1f} degrees): "
                "the camera has moved or its pose in the camera file is wrong; calibrate it again"
            )


def _disagreed(thing: Detection) -> str:
    (x, y, _), what = thing.position, f"{thing.colour} {thing.class_name}".strip()
    return f"the cameras do not agree on the {what} at ({x:.2f}, {y:.2f}) m: one sees it, another one looks through it"


def _without_depth(thing: Detection) -> str:
    (x, y, _), (a, b, _) = thing.position, thing.size
    return (
        f"nothing has depth at ({x:.2f}, {y:.2f}) m, {100 * a:.0f} x {100 * b:.0f} cm: something transparent, black or "
        "mirroring may stand there; it is kept clear of"
    )


def table_offset(plane: Plane, table: tuple[float, float, float, float]) -> float:
    """Measured height in metres of the table at the centre of the region x_min, x_max, y_min, y_max; it should be 0."""
    return plane.height_at((table[0] + table[1]) / 2, (table[2] + table[3]) / 2)
