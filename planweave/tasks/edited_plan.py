"""A method whose plan a person may edit: an edited plan is carried out in its place, then the method begins anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planweave.core.symbolic.world import Action
from planweave.core.workflow.approval import PlanEdited
from planweave.methods.running.after_pause import ReachedMeanwhileError
from planweave.methods.running.episode import Episode
from planweave.methods.running.method_run import Method, run_method


def run_with_edits(make: Callable[[str], Method], name: str, episode: Episode) -> None:
    """Run a method until it has nothing left to do, or until somebody has done it while the task was paused. Where a
    person has edited its plan, that is carried out; where the goal does not hold after it, or a step failed, the method
    runs anew from the world as it is then.

    What takes over from nobody (a given tree, a method as in its paper) is not run anew: it has no middle.
    """
    done = False
    try:
        while not done:
            try:
                run_method(make, name, episode)
                return
            except PlanEdited as edited:
                done = _carried_out(episode, edited.plan) or episode.alone
    except ReachedMeanwhileError as reached:
        episode.journal.add("reached_meanwhile", message=str(reached))
        episode.tell(message=str(reached))


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
