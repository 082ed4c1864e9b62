"""A world in the page's 3D scene: objects where they are known to be, places, and how each is known."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from planweave.core.world import Known, World, WorldObject

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
_LOW = 0.002  # height of a place's mark, m
_GAP = 0.02  # from an object's top to its name, m


class WorldView:
    """Objects and places below /world; only what has changed is sent."""

    def __init__(self, scene: viser.SceneApi):
        self._scene = scene
        self._shown: dict[str, tuple[WorldObject, list[Any]]] = {}
        self._numbers = count()  # no name begins with another: viser forgets all below a node that was removed

    def show(self, world: World) -> None:
        """Show a world instead of the one before."""
        there = {o.name: o for o in world.objects if o.position is not None and o.size is not None}
        for name in [n for n, (old, _) in self._shown.items() if n not in there or _look(there[n]) != _look(old)]:
            for node in self._shown.pop(name)[1]:
                node.remove()
        for name, thing in there.items():
            if name not in self._shown:
                self._shown[name] = thing, self._add(f"/world/{next(self._numbers):08d}", thing)
                continue
            old, nodes = self._shown[name]
            if (old.position, old.orientation) != (thing.position, thing.orientation):
                nodes[0].position, nodes[0].wxyz = thing.position, _turn(thing)
                nodes[1].position = _label_at(thing)
            self._shown[name] = thing, nodes

    def _add(self, node: str, thing: WorldObject) -> list[Any]:
        assert thing.position is not None and thing.size is not None
        turn = _turn(thing)
        if thing.type == "location":
            size = (thing.size[0], thing.size[1], _LOW)
            mark = self._scene.add_box(
                node, OTHER, size, opacity=0.15, wxyz=turn, position=thing.position, cast_shadow=False
            )
            label = self._scene.add_label(
                f"{node}_name", thing.name, position=_label_at(thing), font_screen_scale=0.5, anchor="center-center"
            )
            return [mark, label]
        faint = thing.known in (Known.INFERRED, Known.UNKNOWN)
        opacity = OPACITY.get(thing.known, 0.95) * (0.5 if thing.type in _OPEN else 1.0)
        how: dict[str, Any] = {"opacity": opacity, "wxyz": turn, "position": thing.position, "wireframe": faint}
        shape = add_shape(self._scene, node, thing, **how)
        words = f"{thing.name} ({HOW[thing.known]})" if HOW.get(thing.known) else thing.name
        label = self._scene.add_label(
            f"{node}_name", words, position=_label_at(thing), font_screen_scale=0.75, anchor="bottom-center"
        )
        return [shape, label]


def add_shape(scene: viser.SceneApi, node: str, thing: WorldObject, **how: Any) -> Any:
    """A box or cylinder of an object's size and colour."""
    assert thing.size is not None
    colour = COLOURS.get(thing.attributes.get("colour", ""), OTHER)
    if _ROUND & {thing.attributes.get("shape", ""), thing.class_name}:
        return scene.add_cylinder(node, radius=max(thing.size[:2]) / 2, height=thing.size[2], color=colour, **how)
    return scene.add_box(node, colour, thing.size, **how)


def _look(thing: WorldObject) -> tuple[Any, ...]:
    """What a new shape is made for; another pose only moves the old one."""
    return thing.type, thing.class_name, thing.attributes, thing.size, thing.known


def _turn(thing: WorldObject) -> tuple[float, float, float, float]:
    """Orientation as viser has it: w first."""
    x, y, z, w = thing.orientation or (0.0, 0.0, 0.0, 1.0)
    return w, x, y, z


def _label_at(thing: WorldObject) -> tuple[float, float, float]:
    assert thing.position is not None and thing.size is not None
    x, y, z = thing.position
    return (x, y, z) if thing.type == "location" else (x, y, z + thing.size[2] / 2 + _GAP)
