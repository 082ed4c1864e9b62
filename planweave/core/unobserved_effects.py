"""Predicted effects on unobserved objects, assumed until an action contradicts them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planweave.core.assumptions import never_seen
from planweave.core.domain import Domain
from planweave.core.transition import Transition, completed
from planweave.core.world import Action, Literal, World


@dataclass
class UnobservedEffects:
    """Predicted facts about unobserved objects; dropped where an action that relies on them fails."""

    facts: set[Literal] = field(default_factory=set)

    def applied_to(self, domain: Domain, world: World) -> World:
        """The observed world together with these facts."""
        return completed(domain, replace(world, facts=world.facts | self.facts)) if self.facts else world

    def record(self, domain: Domain, before: World, after: World, action: Action) -> None:
        """Add the predicted effects of an executed action; before and after: the worlds observed around it."""
        unseen = never_seen(domain, after)
        if not unseen:
            self.facts.clear()
            return
        transition = Transition(domain, before)
        change = transition.apply(transition.state(before.facts | self.facts), action)
        self.facts.difference_update([Literal(f[0], f[1:]) for f in change.deleted])
        self.facts.update([Literal(f[0], f[1:]) for f in change.added])
        self.facts.difference_update([f for f in self.facts if not unseen.intersection(f.args)])

    def discard(self, action: Action) -> None:
        """Drop the facts about the objects of a failed action."""
        self.facts.difference_update([f for f in self.facts if set(f.args) & set(action.args)])
