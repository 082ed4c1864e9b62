"""Object names as people would say them; a name is assigned once and kept while the object is tracked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planweave.perception.object_classes import ObjectClasses


@dataclass(frozen=True)
class Nameless:
    """Attributes that a name is made of; y: position to the left of the robot, metres; receptacle: whether others
    are put in or on it.
    """

    class_name: str
    colour: str
    y: float
    receptacle: bool


def name_all(
    new: Sequence[Nameless], classes: ObjectClasses, known: Sequence[Nameless] = (), taken: Collection[str] = ()
) -> list[str]:
    """Names of objects first seen together, in their order.

    classes: of the domain. known: objects that have names already; taken: those names. A cube (named by colour) is
    ``<colour>_cube``; fruit (named by class) is its class; a bottle (neither) is ``bottle``, or ``<colour>_bottle``
    if there are several. Receptacles are their class if
    unique, ``<colour>_<class>`` if several differ in colour, left_ and right_ if two look the same (left is +y), else
    numbered. A taken name gets a number: red_cube_2.
    """
    names: dict[int, str] = {}
    used = set(taken)
    for index in sorted(range(len(new)), key=lambda i: (-new[i].y, i)):
        thing = new[index]
        rivals = [o for o in (*new, *known) if o.class_name == thing.class_name]
        twins = [o for o in rivals if o.colour == thing.colour]
        names[index] = numbered(_base(thing, classes, rivals, twins, new), used)
        used.add(names[index])
    return [names[i] for i in range(len(new))]


def _base(
    thing: Nameless,
    classes: ObjectClasses,
    rivals: Sequence[Nameless],
    twins: Sequence[Nameless],
    new: Sequence[Nameless],
) -> str:
    kind, coloured = thing.class_name, f"{thing.colour}_{thing.class_name}" if thing.colour else thing.class_name
    if kind in classes.by_colour:
        return coloured
    if kind in classes.by_class or len(rivals) == 1:
        return kind
    if thing.receptacle and len(twins) == 2 and all(any(o is t for o in new) for t in twins):
        side = "left" if thing.y >= max(t.y for t in twins) else "right"
        several_looks = len(rivals) > len(twins)
        return f"{side}_{coloured if several_looks else kind}"
    if len(twins) < len(rivals) or not thing.receptacle:
        return coloured
    return kind


def numbered(base: str, used: Collection[str]) -> str:
    """A name that is not used yet: the base, else with a number."""
    name, count = base, 1
    while name in used:
        count += 1
        name = f"{base}_{count}"
    return name
