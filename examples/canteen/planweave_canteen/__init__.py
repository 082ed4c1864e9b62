"""A mobile robot in a canteen, by its domain alone: what a real one needs is `execute` with its own controllers."""

from __future__ import annotations

import planweave as pw


def robot() -> pw.SymbolicBody:
    """The robot in the doorway; the dishes are where breakfast left them."""
    domain = pw.Domain.load("canteen")
    world = domain.world(
        "doorway: place; table, counter, sink: surface; cupboard, dishwasher, fridge: container; "
        "cup, bowl, milk, apple: item",
        facts=[
            "robot_at(doorway)",
            "hand_empty()",
            "on(cup, table)",
            "on(bowl, table)",
            "on(milk, counter)",
            "in(apple, fridge)",
            "washer(sink)",
            "washable(cup)",
            "washable(bowl)",
        ],
    )
    return pw.SymbolicBody(domain, world)
