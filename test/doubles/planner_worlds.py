"""A table as the camera would report it, for tests of prompts, goals and plans."""

from planweave.core.symbolic.world import Literal, World, WorldObject

PLACES = ("table", "left_side", "middle", "right_side", "left_spot", "right_spot", "far_edge")


def table(*things, facts=(), domain="tabletop"):
    """A world with the places of the tabletop and things written ``name:type:class:colour``."""
    objects = []
    for thing in things:
        name, kind, class_name, colour = (thing.split(":") + ["", ""])[:4]
        objects.append(WorldObject(name, kind, class_name or name, {"colour": colour} if colour else {}))
    objects += [WorldObject(place, "location") for place in PLACES]
    given = {Literal.parse(f) for f in facts}
    under = {f.args[1] for f in given if f.predicate == "on"}
    given |= {Literal("within", (p, "table")) for p in PLACES[1:]} | {Literal("within", ("left_spot", "left_side"))}
    given |= {Literal("narrow", (o.name,)) for o in objects if o.type == "item" or o.name.endswith("_spot")}
    given |= {Literal("clear", (o.name,)) for o in objects if o.type != "item" or o.name not in under}
    given |= {Literal("reachable", (o.name,)) for o in objects if o.name != "far_edge"}
    if not any(f.predicate == "holding" for f in given):
        given.add(Literal("hand_empty"))
    return World(domain, tuple(objects), frozenset(given | {Literal("at_base")}))


BLOCKS = table(
    "red_cube:item:cube:red",
    "blue_cube:item:cube:blue",
    "green_cube:item:cube:green",
    "banana:item:banana:yellow",
    "left_tray:container:tray:gray",
    "right_tray:container:tray:gray",
    "plate:surface:plate:white",
    facts=[
        "at(red_cube, left_side)",
        "at(red_cube, table)",
        "at(green_cube, table)",
        "at(blue_cube, table)",
        "on(banana, blue_cube)",
    ],
)
FRUIT = table(
    "banana:item:banana:yellow",
    "pear:item:pear:green",
    "orange:item:orange:orange",
    "apple:item:apple:red",
    "bottle:item:bottle:green",
    "blue_bottle:item:bottle:blue",
    "mug:item:mug:white",
    "box:container:box:brown",
    "bowl:container:bowl:white",
    "plate:surface:plate:white",
    "red_cylinder:item:cylinder:red",
    "orange_cube:item:cube:orange",
    "red_cube:item:cube:red",
    "red_cube_2:item:cube:red",
    facts=["in(pear, bowl)", "on(apple, plate)", "at(banana, table)", "at(mug, table)"],
)
