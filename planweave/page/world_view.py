"""A world in the page's 3D scene: objects where they are known to be, places, and how each is known."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from planweave.core.symbolic.world import Known, Leaf, World, WorldObject

if TYPE_CHECKING:
    import viser

COLOURS = {
    "red": (205, 60, 50),
    "green": (70, 150, 70),
    "blue": (55, 95, 200),
    "yellow": (235, 200, 60),
    "orange": (235, 140, 50),
    "purple": (130, 75, 165),
    "aqua": (70, 190, 200),
    "black": (55, 55, 58),
    "white": (235, 235, 232),
    "brown": (130, 90, 60),
    "grey": (140, 140, 145),
}
OTHER = (150, 150, 155)
OPACITY = {Known.SEEN: 0.95, Known.SENSED: 0.95, Known.REMEMBERED: 0.45, Known.INFERRED: 0.3, Known.UNKNOWN: 0.2}
HOW = {
    Known.SEEN: "",
    Known.SENSED: "in the hand",
    Known.REMEMBERED: "remembered",
    Known.INFERRED: "assumed",
    Known.UNKNOWN: "unknown",
    Known.FIXED: "",
}
_OPEN = frozenset({"container", "surface", "fixture", "part"})  # what may hold others is shown half transparent
_ROUND = frozenset({"cylinder", "round", "circle", "disc", "bowl", "plate"})
_FAINT = 0.15
_LOW = 0.002  # height of a place's mark, m
_GAP = 0.02  # from an object's top to its name, m


class WorldView:
    """Objects and places below /world; only what has changed is sent.

    What is there stays and changes in place: a browser that is busy may draw a new node at the origin for a while.
    """

    def __init__(self, scene: viser.SceneApi):
        self._scene = scene
        self._shown: dict[str, tuple[WorldObject, list[Any]]] = {}
        self._numbers = count()  # no name begins with another: viser forgets all below a node that was removed

    def show(self, world: World) -> None:
        there = {o.name: o for o in world.objects if o.position is not None and o.size is not None}
        for name in [n for n, (old, _) in self._shown.items() if n not in there or _kind(there[n]) != _kind(old)]:
            for node in self._shown.pop(name)[1]:
                node.remove()
        for name, thing in there.items():
            if name not in self._shown:
                self._shown[name] = thing, self._add(f"/world/{next(self._numbers):08d}", thing)
            elif self._shown[name][0] != thing:
                nodes = self._shown[name][1]
                _change(thing, *nodes)
                self._shown[name] = thing, nodes

    def _add(self, node: str, thing: WorldObject) -> list[Any]:
        place = thing.type == "location"
        pose: dict[str, Any] = {"wxyz": _turn(thing), "position": thing.position}
        shape = add_shape(self._scene, node, thing, cast_shadow=not place, **pose, **_appearance(thing))
        label = self._scene.add_label(
            f"{node}_name",
            _words(thing),
            position=_label_at(thing),
            font_screen_scale=0.5 if place else 0.75,
            anchor="center-center" if place else "bottom-center",
        )
        return [shape, label, *(self._add_leaf(f"{node}_{k}", thing, leaf) for k, leaf in enumerate(thing.leaves))]

    def _add_leaf(self, node: str, thing: WorldObject, leaf: Leaf) -> Any:
        """What moves of furniture, or makes a thing up; not as transparent as its body."""
        opacity = OPACITY.get(thing.known, 0.95)
        return self._scene.add_box(node, color=_colour(thing), opacity=opacity, **_place_of(leaf))


def add_shape(scene: viser.SceneApi, node: str, thing: WorldObject, **how: Any) -> Any:
    """A box or cylinder of an object's size and colour."""
    add = scene.add_cylinder if _is_round(thing) else scene.add_box
    return add(node, color=_colour(thing), **_extent(thing), **how)


def _place_of(leaf: Leaf) -> dict[str, Any]:
    x, y, z, w = leaf.orientation
    return {"position": leaf.position, "wxyz": (w, x, y, z), "dimensions": leaf.size}


def _change(thing: WorldObject, shape: Any, label: Any, *leaves: Any) -> None:
    """Pose, size and looks of what is shown; viser sends what is not as before."""
    for name, value in {**_extent(thing), **_appearance(thing), "color": _colour(thing)}.items():
        setattr(shape, name, value)
    shape.position, shape.wxyz = thing.position, _turn(thing)
    label.text, label.position = _words(thing), _label_at(thing)
    for box, leaf in zip(leaves, thing.leaves):
        for name, value in {**_place_of(leaf), "opacity": OPACITY.get(thing.known, 0.95)}.items():
            setattr(box, name, value)


def _kind(thing: WorldObject) -> tuple[bool, bool, int]:
    """What new shapes are made for; all else changes in place."""
    return thing.type == "location", _is_round(thing), len(thing.leaves)


def _is_round(thing: WorldObject) -> bool:
    return thing.type != "location" and bool(_ROUND & {thing.attributes.get("shape", ""), thing.class_name})


def _extent(thing: WorldObject) -> dict[str, Any]:
    assert thing.size is not None
    x, y, z = thing.size
    if _is_round(thing):
        return {"radius": max(x, y) / 2, "height": z}
    return {"dimensions": (x, y, _LOW if thing.type == "location" else z)}


def _colour(thing: WorldObject) -> tuple[int, int, int]:
    return OTHER if thing.type == "location" else COLOURS.get(thing.attributes.get("colour", ""), OTHER)


def _appearance(thing: WorldObject) -> dict[str, Any]:
    """Places faint, and what is drawn by its parts; what may hold others half transparent, what is not known as a wire
    frame.
    """
    if thing.type == "location" or (thing.leaves and thing.type != "fixture"):
        return {"opacity": _FAINT}
    opacity = OPACITY.get(thing.known, 0.95) * (0.5 if thing.type in _OPEN else 1.0)
    return {"opacity": opacity, "wireframe": thing.known in (Known.INFERRED, Known.UNKNOWN)}


def _words(thing: WorldObject) -> str:
    return f"{thing.name} ({HOW[thing.known]})" if thing.type != "location" and HOW.get(thing.known) else thing.name


def _turn(thing: WorldObject) -> tuple[float, float, float, float]:
    """Orientation as viser has it: w first."""
    x, y, z, w = thing.orientation or (0.0, 0.0, 0.0, 1.0)
    return w, x, y, z


def _label_at(thing: WorldObject) -> tuple[float, float, float]:
    assert thing.position is not None and thing.size is not None
    x, y, z = thing.position
    return (x, y, z) if thing.type == "location" else (x, y, z + thing.size[2] / 2 + _GAP)
