"""Looks from elsewhere at what the last look at a goal leaves open, before a task says that it is not confirmed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planweave.core.base.errors import CanceledError, NotStoppedError, PlanweaveError
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.approval import PlanEdited
from planweave.core.workflow.confirmation import GoalCheck
from planweave.methods.running.episode import Episode
from planweave.tasks.task import Task

_HIDDEN = "the arm may hide what is to be checked; out of the view, it looks again"
_HIDES = "where the arm is in the view, send it home: that it goes was not approved"
_NEAR = "what is to be checked is hidden; the camera on the hand looks at it from near by"
_NOT_NEAR = "that the camera on the hand looks at it from near by was not approved"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LastLooks:
    """Moves that let a last look show more. Where a person approves motions, each is approved by itself.

    look: checks the goal anew by looks that begin now.
    """

    task: Task
    episode: Episode
    goal: tuple[Literal, ...]
    look: Callable[[], GoalCheck]

    @property
    def near(self) -> bool:
        """Whether the body carries a camera to what is to be looked at."""
        look = self._action("looks_at")
        return look is not None and look.name not in self.episode.observe().actions_off

    def take(self, check: GoalCheck) -> GoalCheck:
        """The check of the goal, made again from elsewhere where that may tell more."""
        if self._clear_view(check):
            anew = self.look()
            check = anew if anew.look.fresh else check
        return self._from_near(check)

    def _action(self, key: str) -> Action | None:
        """The action that the notes of the domain name under a key; None where they name none."""
        name = str(self.episode.domain.extra.get(key, ""))
        return Action(name) if name in self.episode.domain.actions else None

    def _clear_view(self, check: GoalCheck) -> bool:
        """Move the robot away from what it may hide, where only that leaves open whether the goal holds; whether it
        moved.
        """
        away, world = self._action("clears_view"), check.look.world
        hidden = check.not_confirmed and check.look.fresh and {*check.unmet} <= {*check.unseen}
        if not hidden or away is None:
            return False
        if Transition(self.episode.domain, world).result(world, away).facts == world.facts:
            return False  # it is there
        return self._goes((away,), _HIDDEN, _HIDES)

    def _from_near(self, check: GoalCheck) -> GoalCheck:
        """The check anew from where a camera that the robot carries sees what is not confirmed, or where that shall be;
        the same where it carries none. Where all is seen so, it stays: what happened on its way back, nobody would see.
        Else it goes away.
        """
        look, away = self._action("looks_at"), self._action("clears_view")
        if look is None or away is None or not self.near:
            return check
        went = False
        for name in dict.fromkeys(self._places(check)):
            if self._goes((Action(look.name, (name,)), away), _NEAR, _NOT_NEAR):
                went, near = True, self.look()
                if near.confirmed:
                    return near
        if went:
            self._goes((away,), _HIDDEN, _HIDES)
            after = self.look()
            check = after if after.unmet else check
        return check

    def _places(self, check: GoalCheck) -> Iterator[str]:
        """Where to look for what is not confirmed: at where it shall be, if nobody knows where it is, else at itself;
        nowhere, if the goal is seen not to hold: by what is remembered, too, it may hold all the same.
        """
        known, hidden = check.look.world.by_name, {*check.unobserved}
        lost = {name for name in hidden if name not in known or known[name].position is None}
        if not check.look.fresh or any(hidden.isdisjoint(g.args) for g in {*check.unmet} - {*check.unseen}):
            return
        for literal in self.goal:
            if not lost.isdisjoint(literal.args):
                yield from (name for name in literal.args if name not in lost)
        yield from (name for name in check.unobserved if name not in lost)

    def _goes(self, plan: tuple[Action, ...], asked: str, advice: str) -> bool:
        """Execute the first action of a plan; whether it was. asked: what for, for a person who approves it; advice:
        what is told where it is not approved.
        """
        task, episode = self.task, self.episode
        if episode.dry_run or episode.stopped:
            return False
        if task.approval is not None:
            task.approval.notes = (asked,)
        message = episode.message
        episode.intend(plan)
        try:
            return episode.execute(plan[0]).ok
        except PlanEdited as edited:  # a person has another way
            episode.follow(edited.plan)
            return True
        except PlanweaveError as error:  # a rule, a person's no, or no answer in time
            refused = task.approval is not None and not task.canceled.is_set and not isinstance(error, NotStoppedError)
            if isinstance(error, CanceledError) and not refused:
                raise
            log.info("%s: %s: %s", episode.task_id, plan[0], error)
            if refused:
                episode.tell(message="; ".join(filter(None, (message, advice))))
            return False
