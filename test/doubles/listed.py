"""All facts of a world of few objects, those that follow from poses with them."""

from planweave.core.symbolic.world import Literal, World
from planweave.geometry import spatial


def listed(world: World) -> set[str]:
    """Every fact as text."""
    derived = {str(Literal(*fact)) for fact in spatial.all_facts(world, world.derived)}
    return {str(fact) for fact in world.facts} | derived
