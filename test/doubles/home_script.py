"""A way at random through a home."""

import random

from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.simulator import HomeSimulator
from planweave.bodies.home.vocabulary import write_line
from planweave.core.symbolic.world import Action

_WITH_WHAT_IS_HELD = {"putback", "putin", "pour", "drop", "release", "drink", "read", "puton", "putobjback"}


def a_script(data, steps=400, seed=0):
    """Lines that can all be executed one after the other: chosen at random among what is possible, all kinds mixed."""
    simulator, rng = HomeSimulator(graph_from(data)), random.Random(seed)
    domain = simulator.vocabulary.domain
    names = [n.name for n in simulator.graph.nodes.values() if n is not simulator.graph.character]
    lines = []
    while len(lines) < steps:
        close = sorted(f[1] for f in simulator.state.of("close_to"))  # in an order that does not hang on hashes
        near = close + sorted(f[1] for n in close for f in simulator.state.lookup("on", 2, n))
        held = [f[1] for p in ("holds_rh", "holds_lh") for f in simulator.state.of(p)]
        schema = rng.choice([*domain.actions.values(), *(domain.actions[n] for n in ("walk", "find", "grab") * 4)])
        pools = [near or names, near or names] if schema.name not in ("walk", "find", "turnto") else [names]
        if held and schema.name in _WITH_WHAT_IS_HELD:
            pools[0] = held
        action = Action(schema.name, tuple(rng.choice(pool) for pool, _ in zip(pools, schema.parameters)))
        if not simulator.explain(action):
            lines.append(write_line(action, simulator.graph))
            simulator.execute(action)
    return lines
