"""Floor plan of the home as a picture: rooms, furniture, objects with their states, and the agent."""

from __future__ import annotations

import io
import math
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from planweave.bodies.home.graph import ROOMS, Node, Point
from planweave.bodies.home.observation import visible
from planweave.bodies.home.simulator import HomeSimulator

_FLAT = frozenset({"Walls", "Ceiling", "Floor", "Windows"})  # categories that would cover the plan
_FURNITURE = frozenset({"Furniture", "Appliances", "Floors", "Doors", "Electronics", "Lamps", "Decor"})
_PAPER, _INK, _FAINT, _ROOM, _EDGE, _NAME = "#f7f5f0", "#2b2b2b", "#9a968e", "#ffffff", "#4a4a4a", "#8a5a2b"
_WOOD, _ON, _OPEN, _ITEM, _PERSON = "#e6dfd2", "#f2b632", "#7fb2d6", "#5a8f5a", "#c4473a"
_LARGE = 0.3  # m; what is wider is drawn as a box, else as a dot
_COLUMNS = 5  # in a row, where positions are not known
_NUDGES = sorted(
    ((dx, dy) for dx in range(-96, 97, 16) for dy in range(-42, 43, 7)),
    key=lambda nudge: abs(nudge[0]) / 2 + abs(nudge[1]),
)  # pixels; where text may go, the nearest first
_ROOM_AROUND = 2  # pixels between two texts
_FAR = 20  # pixels; a text moved further has a line to what it names
_MARGIN, _PANEL = 30, 240  # pixels around the plan, and for the list beside it
_TOLD = ("switched_on", "opened", "heated", "cooked", "toasted", "sliced", "washed", "filled", "used", "dirty", "worn")
_TITLES = {"switched_on": "on", "opened": "open", "worn": "you wear"}


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def floor_plan(simulator: HomeSimulator, width: int = 1280) -> Image.Image:
    """The home in top view, x to the right and y up; a diagram of circles where no positions are known.

    Objects that the agent cannot see are omitted. Boxes are to scale.
    """
    rooms = [n for n in simulator.graph.nodes.values() if n.category == ROOMS]
    boxes = {n.id: (n.centre, n.size) for n in rooms if n.centre is not None and n.size is not None}
    if len(boxes) < len(rooms):
        boxes = _laid_out(rooms)
    low = [min(c[k] - s[k] / 2 for c, s in boxes.values()) for k in (0, 1)]
    high = [max(c[k] + s[k] / 2 for c, s in boxes.values()) for k in (0, 1)]
    scale = (width - _PANEL - 2 * _MARGIN) / max(high[0] - low[0], 1e-3)
    height = int((high[1] - low[1]) * scale) + 2 * _MARGIN
    image = Image.new("RGB", (width, max(height, 360)), _PAPER)
    plan = _Plan(ImageDraw.Draw(image), simulator, low[0], high[1], scale, width - _PANEL)
    for room in rooms:
        plan.room(room, *boxes[room.id])
    plan.things(boxes)
    for room in rooms:
        plan.room_name(room, *boxes[room.id])
    plan.person(boxes)
    plan.panel(width - _PANEL + 10)
    return image


def png(simulator: HomeSimulator, width: int = 1280) -> bytes:
    out = io.BytesIO()
    floor_plan(simulator, width).save(out, "PNG")
    return out.getvalue()


def _laid_out(rooms: list[Node]) -> dict[int, tuple[Point, Point]]:
    """Rooms in rows, for graphs without bounding boxes."""
    columns = math.ceil(math.sqrt(len(rooms)))
    return {n.id: ((5.5 * (i % columns), -5.5 * (i // columns), 1.0), (5.0, 5.0, 2.0)) for i, n in enumerate(rooms)}


class _Plan:
    def __init__(
        self, draw: ImageDraw.ImageDraw, simulator: HomeSimulator, left: float, top: float, scale: float, width: int
    ):
        self._draw, self._sim, self._scale, self._width = draw, simulator, scale, width
        self._left, self._top = left, top
        names = simulator.graph.names
        self._at_start = {(a, names[b]) for a, r, b in simulator.graph.edges if r in ("ON", "INSIDE")}
        self._taken: list[tuple[float, float, float, float]] = []  # boxes of text that is written already
        self._where: dict[str, tuple[float, float]] = {}

    def _pixel(self, x: float, y: float) -> tuple[float, float]:
        return (x - self._left) * self._scale + _MARGIN, (self._top - y) * self._scale + _MARGIN

    def _box(self, centre: Point, size: Point) -> tuple[float, float, float, float]:
        x0, y0 = self._pixel(centre[0] - size[0] / 2, centre[1] + size[1] / 2)
        x1, y1 = self._pixel(centre[0] + size[0] / 2, centre[1] - size[1] / 2)
        return x0, y0, max(x1, x0 + 3), max(y1, y0 + 3)

    def _write(self, x: float, y: float, text: str, size: int, colour: str, anywhere: bool = False) -> None:
        """Draw text at a point, shifted where it would cover other text or leave the picture."""
        font = _font(size)
        half = self._draw.textlength(text, font=font) / 2 + 2
        x = min(max(x, half), self._width - half)
        best, least = (0, 0), math.inf
        for dx, dy in _NUDGES if not anywhere else ((0, 0),):
            box = self._draw.textbbox((x + dx, y + dy), text, font=font, anchor="mm")
            box = box[0] - _ROOM_AROUND, box[1] - _ROOM_AROUND, box[2] + _ROOM_AROUND, box[3] + _ROOM_AROUND
            covered = sum(
                max(0.0, min(box[2], t[2]) - max(box[0], t[0])) * max(0.0, min(box[3], t[3]) - max(box[1], t[1]))
                for t in self._taken
            )
            if covered < least:
                best, least = (dx, dy), covered
            if covered == 0:
                break
        where = x + best[0], y + best[1]
        if math.hypot(*best) > _FAR:
            self._draw.line([(x, y), where], fill=_FAINT)
        self._taken.append(self._draw.textbbox(where, text, font=font, anchor="mm"))
        self._draw.text(where, text, font=font, fill=colour, anchor="mm", stroke_width=1, stroke_fill=_ROOM)

    def room(self, node: Node, centre: Point, size: Point) -> None:
        """Draw a room, and keep the space of its name free, over the furniture."""
        box = self._box(centre, size)
        self._draw.rectangle(box, fill=_ROOM, outline=_EDGE, width=3)
        self._taken.append(
            self._draw.textbbox(((box[0] + box[2]) / 2, box[1] + 14), node.name, font=_font(15), anchor="mm")
        )

    def room_name(self, node: Node, centre: Point, size: Point) -> None:
        box = self._box(centre, size)
        self._write((box[0] + box[2]) / 2, box[1] + 14, node.name, 15, _NAME, anywhere=True)

    def things(self, boxes: dict[int, tuple[Point, Point]]) -> None:
        """Draw furniture as boxes, its contents as dots, then all names."""
        sim, seen = self._sim, visible(self._sim)
        room_of = {f[1]: f[2] for f in sim.state.of("in_room")}
        nodes = [
            n
            for n in sim.graph.nodes.values()
            if n.category != ROOMS
            and not _flat(n)
            and n is not sim.graph.character
            and (n.name in seen or n.category in _FURNITURE)
            and ("carried", n.name) not in sim.state
        ]
        count: dict[str, int] = {}
        labels: list[tuple[float, float, Node, int]] = []
        for node in sorted(nodes, key=lambda n: -(n.size[0] * n.size[1] if n.size else 0)):
            centre = self._place(node, room_of, boxes, count)
            if centre is None:
                continue
            x, y = self._where[node.name] = self._pixel(centre[0], centre[1])
            if node.category in _FURNITURE and node.size is not None and max(node.size[:2]) >= _LARGE:
                self._furniture(node, centre)
                labels.append((x, y, node, 11))
            else:
                colour = _ON if ("switched_on", node.name) in sim.state else _ITEM
                self._draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=colour, outline=_INK)
                self._taken.append((x - 3, y - 3, x + 3, y + 3))
                labels.append((x, y - 9, node, 10))
        for x, y, node, size in labels:
            self._write(x, y, node.name, size, _INK)
            if node.centre is None:
                self._contents(node, x, y + 9, seen)

    def _contents(self, node: Node, x: float, y: float, seen: set[str]) -> None:
        """Draw the contents of an object as text below it, in a home without positions."""
        by_name = self._sim.graph.by_name
        found = sorted({f[1] for p in ("on", "inside") for f in self._sim.state.lookup(p, 2, node.name)})
        found = [n for n in found if n in seen or by_name[n].category in _FURNITURE]
        for row, name in enumerate(found[:4]):
            self._write(x, y + 11 * (row + 1), name if row < 3 else "…", 9, _FAINT)

    def _furniture(self, node: Node, centre: Point) -> None:
        state, size = self._sim.state, node.size or (0.4, 0.4, 0.4)
        lit, open_now = ("switched_on", node.name) in state, ("opened", node.name) in state
        box = self._box(centre, size)
        overhead = centre[2] - size[2] / 2 > 1.0  # hangs on the wall above something
        fill = None if overhead else _ON if lit else _WOOD
        self._draw.rectangle(box, fill=fill, outline=_OPEN if open_now else _FAINT, width=4 if open_now else 1)

    def _place(
        self, node: Node, room_of: dict[str, str], boxes: dict[int, tuple[Point, Point]], count: dict[str, int]
    ) -> Point | None:
        """Drawing position of an object: its own where known, else that of its support, else in rows."""
        state, graph = self._sim.state, self._sim.graph
        places = [f[2] for p in ("on", "inside") for f in state.lookup(p, 1, node.name)]
        if node.centre is not None and {(node.id, p) for p in places} <= self._at_start:
            return node.centre
        supports = [n for p in places if not _flat(n := graph.by_name[p]) and n.category != "Floors"]
        support = supports[0] if supports else None
        key = support.name if support else room_of.get(node.name, "")
        index = count[key] = count.get(key, -1) + 1
        if support is not None:
            if support.centre is None:
                return None
            x, y, z = support.centre
            return x + 0.15 * (index % 3 - 1), y - 0.15 + 0.15 * (index // 3), z
        room = graph.by_name.get(key)
        if room is None or room.id not in boxes:
            return None
        centre, size = boxes[room.id]
        across, down = index % _COLUMNS, index // _COLUMNS
        return centre[0] + size[0] * ((across + 0.5) / _COLUMNS - 0.5), centre[1] + size[1] * (0.4 - 0.14 * down), 0.0

    def person(self, boxes: dict[int, tuple[Point, Point]]) -> None:
        """Draw the agent on its seat, or beside what it is close to, with what it holds."""
        state, graph = self._sim.state, self._sim.graph
        room = next((graph.by_name[f[1]] for f in state.of("agent_in")), None)
        if room is None or room.id not in boxes:
            return
        (x, y, _), (_, depth, _) = boxes[room.id]
        middle = self._pixel(x, y if room.centre is not None else y - 0.4 * depth)
        at = sorted(f[1] for f in state.of("agent_on"))
        near = sorted((n for _, n in state.of("close_to") if n in self._where), key=lambda n: (-self._area(n), n))
        if at and at[0] in self._where:
            x, y = self._where[at[0]]
        elif near:
            x, y = self._where[near[0]]
            away = math.dist((x, y), middle) or 1.0
            step = min(0.75 * self._scale, away) / away
            x, y = x + (middle[0] - x) * step, y + (middle[1] - y) * step
        else:
            x, y = middle
        self._draw.ellipse((x - 9, y - 9, x + 9, y + 9), fill=_PERSON, outline=_INK, width=2)
        held = [f[1] for p in ("holds_rh", "holds_lh") for f in sorted(state.of(p))]
        self._write(x, y + 18, "you" + (f" with {', '.join(held)}" if held else ""), 13, _PERSON, anywhere=True)

    def _area(self, name: str) -> float:
        size = self._sim.graph.by_name[name].size
        return size[0] * size[1] if size else 0.0

    def panel(self, left: float) -> None:
        state = self._sim.state
        lines: list[str] = []
        for predicate in _TOLD:
            names = sorted(f[1] for f in state.of(predicate))
            if names:
                lines += (
                    [f"{_TITLES.get(predicate, predicate)}:"]
                    + [f"  {n}" for n in names[:9]]
                    + (["  …"] if len(names) > 9 else [])
                )
        pose = [w for w in ("sitting", "lying") if (w,) in state]
        lines += [f"you are {w}" for w in pose]
        for index, line in enumerate(lines):
            self._draw.text((left, _MARGIN + 15 * index), line, font=_font(12), fill=_INK)


def _flat(node: Node) -> bool:
    """Whether drawing an object would cover the plan."""
    return node.category in _FLAT or node.class_name == "floor"
