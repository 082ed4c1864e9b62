"""Spatial relations of objects on the table, computed from their poses on demand. Listing all of them would grow with
the square of the number of objects, for `between` with the cube.

`World.derived` maps the predicates that a world does not list to `holds`, by which `World.holds` decides them, and
`World.with_derived` lists those that a goal refers to. Tolerances are the constants below, in metres. Top view in the
robot's base frame: x forward, y to the robot's left, so left_of means a larger y, which is to the right of a person
facing the robot. Objects in the gripper or with a person have no relations, and an object on or in another has none to
it. Whether a thing was moved to a side, or nearer to another, is told by `World.origins`. What lies on or in another
item is not sure to be on a side of anything that stands elsewhere, nor sure not to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import permutations

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Derivation, Literal, World, WorldObject
from planweave.geometry.upright_shape import Upright, is_round, is_upright, yaw_of

ON_TABLE = 0.015
"""An item stands on the table when its lower side is at most this far above (or below) it."""
NEAR = 0.06
"""Two things are near each other when there is at most this much room between their outlines."""
OVERLAP = 0.005
"""How far outlines may overlap for a thing to count as beside, or between, others: how well outlines are known."""
OFF_LINE = 0.04
"""A thing is between two others when its centre is at most this far beside the line through theirs."""

MOVED = 0.03
"""A thing is farther to one side than it was when it has moved at least this far that way."""

_LEANS, _RAISED = 0.02, 0.01  # m by which what leans on a thing overlaps it, seen from above, and is higher
_HIGH = 1.2  # times as high as wide is what surely stands where it is upright

_ITEM, _LOCATION = "item", "location"  # types of the domain: what can be moved, and what is no thing
_SIDES = frozenset({"left_of", "right_of", "front_of", "behind"})


def left_of(thing: Upright, other: Upright) -> bool:
    """Whether an object is left of another on the table: within 45 degrees of that direction, without overlap."""
    dx, dy = thing.position[0] - other.position[0], thing.position[1] - other.position[1]
    return dy > 0 and abs(dx) <= dy >= thing.support(0.0, 1.0) + other.support(0.0, 1.0) - OVERLAP


def front_of(thing: Upright, other: Upright) -> bool:
    """Whether an object is in front of another on the table, nearer to who looks along x: as for left_of."""
    dx, dy = other.position[0] - thing.position[0], other.position[1] - thing.position[1]
    return dx > 0 and abs(dy) <= dx >= thing.support(1.0, 0.0) + other.support(1.0, 0.0) - OVERLAP


def near(thing: Upright, other: Upright) -> bool:
    """Whether the gap between two objects is below the tolerance."""
    return thing.gap(other) <= NEAR


def between(thing: Upright, one: Upright, two: Upright) -> bool:
    """Whether an object is on the line between two others, inside the gap between their outlines."""
    return _off_between(thing, one, two) <= 0.0


def _off_between(thing: Upright, one: Upright, two: Upright) -> float:
    """Distance, m, of an object from the line between two others, or beyond the gap between them; infinite where it
    does not see them in opposite directions, more than 90 degrees apart.
    """
    (ax, ay, _), (bx, by, _), (x, y, _) = one.position, two.position, thing.position
    length = math.hypot(bx - ax, by - ay)
    if length < 1e-6:
        return math.inf
    u, v = (bx - ax) / length, (by - ay) / length
    along, aside = (x - ax) * u + (y - ay) * v, (x - ax) * v - (y - ay) * u
    if along * (length - along) <= aside**2:
        return math.inf
    own = thing.support(u, v) - OVERLAP
    beyond = max(one.support(u, v) + own - along, along - (length - two.support(u, v) - own))
    return max(0.0, abs(aside) - OFF_LINE, beyond)


def on_table(item: Upright, table: float = 0.0) -> bool:
    """Whether an item rests on the table itself, which is at this height, m."""
    return abs(item.bottom - table) <= ON_TABLE


@dataclass(frozen=True, slots=True)
class UprightSolid(Upright):
    """An object of a world as an upright box or cylinder."""

    position: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float
    round: bool

    @property
    def is_round(self) -> bool:
        return self.round


def solid(thing: WorldObject, round_class: bool) -> UprightSolid | None:
    """Shape of an object; None where its pose is unknown. round_class: whether its class is a round one."""
    if thing.position is None or thing.size is None:
        return None
    round_ = is_round(round_class, thing.attributes.get("shape", ""), thing.size)
    return UprightSolid(thing.position, thing.size, yaw_of(thing.orientation or (0.0, 0.0, 0.0, 1.0)), round_)


def _domain(name: str) -> Domain | None:
    """The domain of a world; None for a world that was made without one."""
    try:
        return _load(name)
    except PlanweaveError:
        return None


@lru_cache(maxsize=16)
def _load(name: str) -> Domain:
    return Domain.load(name)


class _TableShapes:
    """Lazily computed shapes of the objects on the table of a world."""

    def __init__(self, world: World):
        self._world = world
        self._away = {f.args[0] for name in ("holding", "handed_over") for f in world.by_predicate.get(name, ())}
        self._resting = {frozenset(f.args) for f in _resting(world)}
        self._solids: dict[str, UprightSolid | None] = {}

    def solid(self, name: str) -> UprightSolid | None:
        """Shape of an object on the table; None for objects elsewhere."""
        try:
            return self._solids[name]
        except KeyError:
            thing = self._world.by_name.get(name)
            there = thing is not None and thing.type != _LOCATION and name not in self._away
            found = self._solids[name] = solid(thing, self._is_round(thing)) if thing is not None and there else None
            return found

    def _is_round(self, thing: WorldObject) -> bool:
        domain = _domain(self._world.domain)
        return domain is not None and domain.is_round_class(thing.class_name)

    def pair(self, item: str, other: str) -> tuple[UprightSolid, UprightSolid] | None:
        """Shapes of an item and another object; None where one rests on the other, or is not on the table."""
        one, two = self.solid(item), self.solid(other)
        if one is None or two is None or item == other or frozenset((item, other)) in self._resting:
            return None
        return (one, two) if _is_item(self._world, item) else None

    def related(self, item: str, other: str, relation: Callable[[Upright, Upright], bool], reverse: bool) -> bool:
        """Whether a relation holds of two objects, or of the second and the first."""
        pair = self.pair(item, other)
        return pair is not None and relation(*(pair[::-1] if reverse else pair))

    def apart(self, item: str) -> bool:
        here = self.solid(item)
        if here is None or not _is_item(self._world, item) or not on_table(here):
            return False
        return not any(self.related(item, other.name, near, False) for other in self._world.objects)

    def moved(self, item: str, ahead: int, left: int) -> bool:
        """Whether an item has come from its origin in a direction, given along x and y, more than across it."""
        here, origin = self.solid(item), self._world.origins.get(item)
        if here is None or origin is None:
            return False
        dx, dy = here.position[0] - origin[0], here.position[1] - origin[1]
        along, across = ahead * dx + left * dy, ahead * dy - left * dx
        return along >= MOVED and along >= abs(across)

    def nearer(self, item: str, other: str, way: int) -> bool:
        """Whether an item has come nearer (way 1) to another object than its origin is, or farther from it (-1)."""
        pair, origin = self.pair(item, other), self._world.origins.get(item)
        if pair is None or origin is None:
            return False
        now, then = (math.dist(at[:2], pair[1].position[:2]) for at in (pair[0].position, origin))
        return way * (then - now) >= MOVED

    def upright(self, item: str) -> bool:
        """Whether an item is sure to stand: one that is higher than wide, as its box is seen or in its own frame."""
        thing = self._world.by_name.get(item)
        if thing is None or thing.size is None or self.solid(item) is None:
            return False
        tilted = thing.orientation is not None and not is_upright(thing.orientation)
        return not tilted and thing.size[2] >= _HIGH * max(thing.size[:2])

    def between(self, item: str, one: str, two: str) -> bool:
        first, second = self.pair(item, one), self.pair(item, two)
        if first is None or second is None or one == two or frozenset((one, two)) in self._resting:
            return False
        return between(first[0], first[1], second[1])


RELATIONS: Mapping[str, tuple[int, Callable[..., bool]]] = {
    "left_of": (2, partial(_TableShapes.related, relation=left_of, reverse=False)),
    "right_of": (2, partial(_TableShapes.related, relation=left_of, reverse=True)),
    "front_of": (2, partial(_TableShapes.related, relation=front_of, reverse=False)),
    "behind": (2, partial(_TableShapes.related, relation=front_of, reverse=True)),
    "near": (2, partial(_TableShapes.related, relation=near, reverse=False)),
    "apart": (1, _TableShapes.apart),
    "between": (3, _TableShapes.between),
    "moved_left": (1, partial(_TableShapes.moved, ahead=0, left=1)),
    "moved_right": (1, partial(_TableShapes.moved, ahead=0, left=-1)),
    "moved_to_front": (1, partial(_TableShapes.moved, ahead=-1, left=0)),
    "moved_to_back": (1, partial(_TableShapes.moved, ahead=1, left=0)),
    "nearer": (2, partial(_TableShapes.nearer, way=1)),
    "farther": (2, partial(_TableShapes.nearer, way=-1)),
    "upright": (1, _TableShapes.upright),
}
"""Predicates that follow from poses: how many arguments they take, and how they are computed."""


def derived(predicates: Iterable[str]) -> dict[str, Derivation]:
    """`World.derived` for some predicates: those that are computed here; others hold only where listed."""
    return {name: holds for name in sorted(predicates) if name in RELATIONS}


def holds(world: World, literal: Literal) -> bool:
    """Whether a literal of one of the RELATIONS is sure to hold."""
    arity, relation = RELATIONS[literal.predicate]
    found = len(literal.args) == arity and relation(_TableShapes(world), *literal.args)
    if found and literal.positive and literal.predicate in _SIDES:
        return not _lies_elsewhere(world, *literal.args)
    return found == literal.positive


def _lies_elsewhere(world: World, item: str, other: str) -> bool:
    """Whether an item lies on or in another item that does not carry the other thing, too."""
    resting = {name: {f.args[1] for f in _resting(world) if f.args[0] == name} for name in (item, other)}
    return any(_is_item(world, name) for name in resting[item] - resting[other] if name in world.by_name)


def _is_item(world: World, name: str) -> bool:
    kind, domain = world.by_name[name].type, _domain(world.domain)
    return kind == _ITEM or (domain is not None and domain.is_a(kind, [_ITEM]))


def _resting(world: World) -> Iterator[Literal]:
    for predicate in ("on", "in"):
        yield from world.by_predicate.get(predicate, ())


def shortfall(world: World, atom: Literal) -> float:
    """Metres by which `near` or `between` fails to hold, 0 where it holds, and for what leans on another thing, `on`;
    infinite where the poses do not say, and for other relations.
    """
    table = _TableShapes(world)
    found = [table.pair(atom.args[0], other) for other in atom.args[1:]]
    pairs = [pair for pair in found if pair is not None]
    if len(pairs) < len(found):
        return math.inf
    if atom.predicate == "on":
        one, two = pairs[0]
        return 0.0 if one.gap(two) < -_LEANS and one.bottom > two.bottom + _RAISED else math.inf
    if atom.predicate == "near":
        return max(0.0, pairs[0][0].gap(pairs[0][1]) - NEAR)
    if atom.predicate == "between" and len(pairs) == 2:
        return _off_between(pairs[0][0], pairs[0][1], pairs[1][1])
    return math.inf


def all_facts(world: World, predicates: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """All facts of some of the RELATIONS, as predicate and arguments; up to objects to the power of the arity."""
    table = _TableShapes(world)
    names = [o.name for o in world.objects if table.solid(o.name) is not None]
    for predicate in predicates:
        arity, relation = RELATIONS[predicate]
        for args in permutations(names, arity):
            if relation(table, *args):
                yield predicate, args
