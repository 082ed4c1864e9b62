"""The true state of a LIBERO simulator as a world of the domain `kitchen`, and LIBERO's goals as its literals.

The world's frame is that of a person who stands at the table opposite the robot, as in LIBERO's sentences: x points
from the person to the robot, y to the person's left, z up; the origin is LIBERO's. Metres. A state is a table:
`things` (name -> category, pos, bounds of the collision geometry (low x, y, z, high x, y, z), fixture), `sites` (name
of a region -> pos, size (half), parent), `facts` (LIBERO's predicates that hold, as lists of words).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.bodies.arm.settings import actions_off
from planweave.core.base.errors import SceneError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import PERSON, Known, Literal, World, WorldObject
from planweave.core.workflow.approval import NEAR_PEOPLE
from planweave.geometry import spatial

_CENTRE = (0.15, 0.15)  # what counts as the middle of the table reaches so far from LIBERO's, m
_ABOVE = 0.01  # how far from what it rests on an item may seem to be, m
_MIDDLE = (-0.075, 0.0)  # of the table, as LIBERO's region `table_center` has it
_AJAR = 0.005  # share of its way above which what is not open is not closed either
_PLACED = frozenset({"on", "in", "at"})
_STATES = {"open": "opened", "close": "closed", "turnon": "turned_on", "turnoff": "turned_off"}
_SIDES = {"_right_region": "right_of", "_left_region": "left_of", "_front_region": "front_of"}


@lru_cache(maxsize=1)
def categories() -> Mapping[str, Mapping[str, Any]]:
    """The contents of categories.yaml."""
    found: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).resolve().parent / "categories.yaml")
    return found


def kinds() -> Mapping[str, Mapping[str, Any]]:
    """The rows of items and fixtures, by LIBERO's categories."""
    return {**categories()["items"], **categories()["fixtures"]}


class Names:
    """Which of our objects a name of LIBERO means: things keep theirs, regions become parts or their fixture."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.things: Mapping[str, Any] = state["things"]
        self.sites: Mapping[str, Any] = state["sites"]
        self.parts: dict[str, tuple[str, Mapping[str, str]]] = {}  # name of a site: our name, its row in `regions`
        self.under: dict[str, str] = {}  # name of a site -> the part below which it is
        for site, row in self.sites.items():
            parent = row["parent"]
            if parent not in self.things or not self.things[parent]["fixture"]:
                continue
            regions = categories()["regions"].get(self.row(parent)["class"], {})
            if region := regions.get(site.removeprefix(f"{parent}_")):
                place = region.get("level") or region.get("side")
                name = "_".join(filter(None, (parent, place, region["part"])))
                if region.get("in") == "under":
                    self.under[site] = name
                else:
                    self.parts[site] = name, region

    def row(self, thing: str) -> Mapping[str, Any]:
        """The row of a thing's category; raises SceneError where it is not listed."""
        found = kinds().get(category := self.things[thing]["category"])
        if found is None:
            raise SceneError(f"LIBERO's category {category!r} is not listed in {__package__}/categories.yaml")
        return found

    def of(self, name: str) -> str:
        """Our name for a thing or a region of a thing; "" for a region of the table."""
        if name in self.things:
            return name
        if name in self.parts or name in self.under:
            return self.under.get(name) or self.parts[name][0]
        return self.sites[name]["parent"] or "" if name in self.sites else ""

    def inside(self, region: str) -> str:
        """The relation of what LIBERO has in a region: "in", of a board "on", or "under"."""
        return "under" if region in self.under else self.parts.get(region, ("", {}))[1].get("in", "in")


def truth(
    domain: Domain,
    state: Mapping[str, Any],
    stamp: float = 0.0,
    openness: Callable[[str], float] = lambda name: 0.0,
    held: str = "",
) -> World:
    """The world of a state (see above). openness: of drawers and doors, from 0 to 1, by our names; what is ajar is
    neither open nor closed. held: what the robot holds.
    """
    names = Names(state)
    objects = [_thing(domain, names, name, stamp) for name in names.things]
    objects += [_part(names, site, stamp) for site in names.parts]
    objects.append(table_centre(stamp))
    facts = {*_properties(names)}
    facts |= {*_states(names, state, facts, openness), *_relations(names, state, objects, facts)}
    return completed(domain, objects, facts, stamp, held)


def table_centre(stamp: float) -> WorldObject:
    """The middle of the table, as LIBERO has it."""
    x, y = -_MIDDLE[0], -_MIDDLE[1]
    return WorldObject("table_center", "location", "center", {}, (x, y, 0.0), None, (*_CENTRE, 0.0), Known.FIXED, stamp)


def completed(
    domain: Domain, objects: Sequence[WorldObject], facts: Iterable[Literal], stamp: float, held: str = ""
) -> World:
    """The world of objects and facts, with an empty hand at home, or with a thing in it that is on, in and at nothing;
    what nothing stands on is clear.
    """
    facts = {f for f in facts if not (held and f.predicate in _PLACED and f.args[0] == held)}
    facts |= {Literal("holding", (held,))} if held else {Literal("hand_empty"), Literal("at_base")}
    facts |= {Literal("reachable", (o.name,)) for o in objects}
    under = {f.args[1] for f in facts if f.predicate == "on"}
    facts |= {Literal("clear", (o.name,)) for o in objects if o.type != "location" and o.name not in under}
    derived = spatial.derived(spatial.RELATIONS.keys() - {"apart"})
    return World(
        domain.name, tuple(objects), frozenset(facts), stamp, PERSON, derived=derived, actions_off=refused(domain)
    )


def refused(domain: Domain) -> frozenset[str]:
    """Actions that LIBERO's arm does not carry out: nobody is there, and its hand brings no camera anywhere."""
    return actions_off({"actions_off": NEAR_PEOPLE, "hand_camera": ""}, domain.actions)


def goal_of(state: Mapping[str, Any], goal: Iterable[Sequence[str]]) -> tuple[Literal, ...]:
    """LIBERO's goal in our literals; raises SceneError for a literal that has no counterpart."""
    names = Names(state)
    return tuple(_goal(names, row) for row in goal)


def _goal(names: Names, said: Sequence[str]) -> Literal:
    predicate, *args = said
    if predicate in _STATES:
        return Literal(_STATES[predicate], (names.of(args[0]),))
    thing, place = args
    for side, relation in _SIDES.items():
        if place in names.sites and names.of(place) == "" and place.endswith(side):
            rows = {n: (of["category"], names.row(n)["class"]) for n, of in names.things.items()}
            for kind in (0, 1):
                beside = [n for n, row in rows.items() if place.endswith(row[kind] + side)]
                if len(beside) == 1:
                    return Literal(relation, (thing, beside[0]))
    if not names.of(place):
        raise SceneError(f"the goal {' '.join(said)} has no counterpart in the domain kitchen")
    return Literal(names.inside(place) if predicate == "in" else predicate, (thing, names.of(place)))


def _resting(items: Sequence[WorldObject], objects: Sequence[WorldObject]) -> Iterator[Literal]:
    """What an item lies on that LIBERO does not say, since the centres are too far apart."""
    solids = {o.name: s for o in objects if o.type == "item" and (s := spatial.solid(o, True)) is not None}
    table = min((s.bottom for s in solids.values()), default=0.0)
    for item in items:
        here = solids.get(item.name)
        if here is None or here.bottom < table + _ABOVE:
            continue
        below = [
            (other.top, name)
            for name, other in solids.items()
            if other.bottom < here.bottom <= other.top + _ABOVE and here.gap(other) < 0
        ]
        if below:
            yield Literal("on", (item.name, max(below)[1]))


def _thing(domain: Domain, names: Names, name: str, stamp: float) -> WorldObject:
    of, row = names.things[name], names.row(name)
    attributes = {k: str(v) for k, v in row.items() if k not in ("class", "can")}
    position, size = _box(of["bounds"], of["pos"])
    kind = domain.type_of_class(row["class"])
    return WorldObject(name, kind, row["class"], attributes, position, None, size, Known.SEEN, stamp)


def _part(names: Names, site: str, stamp: float) -> WorldObject:
    name, region = names.parts[site]
    x, y, z = names.sites[site]["pos"]
    attributes = {k: v for k, v in region.items() if k in ("level", "side")}
    size = 2 * names.sites[site]["size"][0], 2 * names.sites[site]["size"][1], 2 * names.sites[site]["size"][2]
    return WorldObject(name, "part", region["part"], attributes, (-x, -y, z), None, size, Known.SEEN, stamp)


def _box(bounds: Sequence[float] | None, centre: Sequence[float]) -> tuple[tuple[float, float, float], ...]:
    if bounds is None:
        return (-centre[0], -centre[1], centre[2]), (0.0, 0.0, 0.0)
    low, high = bounds[:3], bounds[3:]
    x, y, z = ((a + b) / 2 for a, b in zip(low, high))
    return (-x, -y, z), (high[0] - low[0], high[1] - low[1], high[2] - low[2])


def _properties(names: Names) -> Iterator[Literal]:
    for name in names.things:
        row = names.row(name)
        yield from (Literal(can, (name,)) for can in row.get("can", ()))
        if row["class"] != "caddy":
            yield Literal("bears_things", (name,))
    for site, (part, region) in names.parts.items():
        yield Literal("part_of", (part, names.sites[site]["parent"]))
        yield Literal("bears_things" if region.get("in") else "holds_things", (part,))
        if part in names.under.values():
            yield Literal("room_under", (part,))
        if region["part"] == "drawer":
            yield Literal("can_open", (part,))


def _states(
    names: Names, state: Mapping[str, Any], properties: Collection[Literal], openness: Callable[[str], float]
) -> Iterator[Literal]:
    told = {(row[0], row[1]) for row in state["facts"] if len(row) == 2}
    for name in (*names.things, *names.parts):
        ours = (names.of(name),)
        if Literal("can_open", ours) in properties:
            if ("open", name) in told:
                yield Literal("opened", ours)
            elif openness(*ours) <= _AJAR:  # LIBERO calls a drawer that nobody has touched neither
                yield Literal("closed", ours)
        if Literal("can_turn", ours) in properties:
            yield Literal("turned_on" if ("turnon", name) in told else "turned_off", ours)


def _relations(
    names: Names, state: Mapping[str, Any], objects: Sequence[WorldObject], properties: Collection[Literal]
) -> Iterator[Literal]:
    placed = set()
    sizes = {o.name: max(o.size[:2]) for o in objects if o.type == "item" and o.size is not None}
    tops = {o.name: o for o in objects if o.position is not None and o.size is not None}
    # A fixture with regions of its own (a rack's top, a stove's burner) is meant by these, not by its origin.
    by_region = {row["parent"] for site, row in names.sites.items() if site not in names.parts}
    by_region = {name for name in by_region if name in names.things and names.things[name]["fixture"]}
    for row in state["facts"]:
        if len(row) != 3 or not names.of(row[2]) or row[2] in by_region:
            continue
        predicate, thing, place = row[0], row[1], names.of(row[2])
        if thing == place:  # LIBERO has a basket in its own region
            continue
        inside = predicate == "in" or row[2].endswith("basket_contain_region")
        if Literal("can_open", (place,)) in properties and place in names.things:
            inside &= not _is_on_top(tops[thing], tops[place])  # LIBERO has what stands on a microwave in it, too
        yield Literal(names.inside(row[2]) if inside else "on", (thing, place))
        if place in sizes and Literal("holds_things", (place,)) in properties and sizes[thing] < sizes[place]:
            yield Literal("in", (thing, place))  # LIBERO has no inside of bowls
        placed.add(thing)
    yield from _resting([o for o in objects if o.type == "item" and o.name not in placed], objects)
    middle = next(o for o in objects if o.name == "table_center")
    yield from at_centre([o for o in objects if o.type == "item" and o.name not in placed], middle)


def _is_on_top(thing: WorldObject, below: WorldObject) -> bool:
    """Whether a thing stands on the top of another one."""
    (bottom, _), (_, top) = (
        (o.position[2] - o.size[2] / 2, o.position[2] + o.size[2] / 2) for o in (thing, below) if o.position and o.size
    )
    return bottom > top - _ABOVE


def at_centre(items: Iterable[WorldObject], middle: WorldObject) -> Iterator[Literal]:
    """Which items stand in the middle of the table."""
    for o in items:
        if o.position is None or middle.position is None:
            continue
        if all(abs(o.position[k] - middle.position[k]) <= _CENTRE[k] / 2 for k in (0, 1)):
            yield Literal("at", (o.name, middle.name))
