"""What actions should have made of things never seen: nobody can tell, so a loop may go on as if it were so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planweave.core.assumptions import never_seen
from planweave.core.domain import Domain
from planweave.core.transition import Transition
from planweave.core.world import Action, Literal, World


@dataclass
class Hopes:
    """Facts that were never observed, since the things in them are out of sight; dropped where acting on them fails."""

    facts: set[Literal] = field(default_factory=set)

    def believed(self, world: World) -> World:
        """An observed world with them."""
        return replace(world, facts=world.facts | self.facts) if self.facts else world

    def done(self, domain: Domain, before: World, after: World, action: Action) -> None:
        """An action was carried out; before and after as observed."""
        unseen = never_seen(domain, after)
        if not unseen:
            self.facts.clear()
            return
        transition = Transition(domain, before)
        change = transition.apply(transition.state(before.facts | self.facts), action)
        self.facts.difference_update([Literal(f[0], f[1:]) for f in change.deleted])
        self.facts.update([Literal(f[0], f[1:]) for f in change.added])
        self.facts.difference_update([f for f in self.facts if not unseen.intersection(f.args)])

    def failed(self, action: Action) -> None:
        """An action failed: what was hoped of its things is not so."""
        self.facts.difference_update([f for f in self.facts if set(f.args) & set(action.args)])
