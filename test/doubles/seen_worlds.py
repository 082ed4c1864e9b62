"""What becomes of clouds of points with names: things, and the world of LIBERO's robot."""

import numpy as np

from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.bodies.arm.world_builder import Surroundings, WorldBuilder
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import PERSON, World
from planweave.geometry.seen_object import SeenObject
from planweave.libero.body import RULES
from planweave.libero.views import TURNED
from planweave.perception.seen_shapes import shape_of

KITCHEN = Domain.load("kitchen")


def seen_object(name, kind, points, bottom=0.0, below="", **more):
    """A thing of points (n, 3) on something of this height."""
    points = np.asarray(points, float)
    low, high = points.min(axis=0), points.max(axis=0)
    low[2] = min(low[2], bottom)
    parts, orientation = shape_of(points, bottom)
    of = tuple(((low + high) / 2).tolist()), orientation or (0.0, 0.0, 0.0, 1.0), tuple((high - low).tolist())
    return SeenObject(name, kind, "", "irregular", *of, parts=parts, below=below, **more)


def world_of(objects, fixtures=(), held="", put=(), ground=0.0):
    """The world of objects and furniture that are seen; put: names of those that the robot has put down."""
    builder = ThingBuilder(KITCHEN)
    things = {each: builder.thing(each) for each in objects}
    lying = tuple(thing for each, thing in things.items() if not each.lost)
    around = Surroundings(
        things=lying,
        handed=(),
        lost=tuple(thing for each, thing in things.items() if each.lost),
        furniture=tuple(map(Furniture.of, fixtures)),
        places=(),
        held=held,
        gripped=False,
        at_base=not held,
        silent_hand=False,
        felt=frozenset(),
        placed=frozenset(),
        put=frozenset(put),
        hidden={},
        seen={},
    )
    frame = np.eye(4)
    frame[:3, :3] = TURNED
    world = WorldBuilder(KITCHEN, lambda what: True, ground, frame, RULES)
    return World("kitchen", world.objects(around), world.facts(around), 1.0, PERSON)
