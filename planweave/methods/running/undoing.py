"""Undoing of an executed action by the inverse that its domain declares."""

from __future__ import annotations

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.transition import Transition, inverse_actions
from planweave.core.symbolic.world import Action, World
from planweave.methods.running.episode import Episode


def undo(episode: Episode, action: Action, before: World) -> str:
    """Undo an action; returns why that failed, empty where it did not. before: the world before the action."""
    inverse = inverse_actions(episode.domain, before, action)
    if inverse is None:
        problem = "the domain declares no inverse"
        episode.tell(message=f"{action} cannot be undone: {problem}; going on from here")
        return _failed(episode, action, problem)
    for step in inverse:
        transition = Transition(episode.domain, episode.observe())
        try:
            missing = transition.unmet(transition.state(), step)
        except PlanweaveError as error:
            return _failed(episode, action, str(error), step)
        if missing:
            return _failed(episode, action, f"not needed or not possible now: {', '.join(map(str, missing))}", step)
        outcome = episode.execute(step, undoing=True)
        if not outcome.ok:
            episode.tell(message=f"{action} could not be undone: {outcome.message}; going on from here")
            return _failed(episode, action, outcome.message, step)
        episode.journal.add("undo", action=str(action), by=str(step), done=True, reason=outcome.message)
    return ""


def _failed(episode: Episode, action: Action, reason: str, step: Action | None = None) -> str:
    by = {"by": str(step)} if step is not None else {}
    episode.journal.add("undo", action=str(action), **by, done=False, reason=reason)
    return reason
