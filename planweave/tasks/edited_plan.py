"""A method whose plan a person may edit: an edited plan is carried out in its place, then the method begins anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planweave.core.symbolic.world import Action
from planweave.core.workflow.approval import PlanEdited
from planweave.methods.episode import Episode


def with_edits(run: Callable[[], None], episode: Episode) -> None:
    """Run a method to its end. Where a person has edited its plan, that is carried out; where the goal does not hold
    after it, or a step failed, the method runs anew from the world as it is then.

    What takes over from nobody (a given tree, a method as in its paper) is not run anew: it has no middle.
    """
    while True:
        try:
            run()
            return
        except PlanEdited as edited:
            done = _carried_out(episode, edited.plan)
        if done or episode.alone:
            return


def _carried_out(episode: Episode, plan: Sequence[Action]) -> bool:
    """Carry out an edited plan, which a person may edit again where it is asked for again; whether nothing is left to
    do.
    """
    while True:
        episode.journal.add("edited_plan", plan=[str(action) for action in plan])
        try:
            for index, action in enumerate(plan):
                episode.intend(plan[index:])
                outcome = episode.execute(action)
                if not outcome.ok:
                    return outcome.final
            return not episode.observe().unmet(episode.goal)
        except PlanEdited as again:
            plan = again.plan
