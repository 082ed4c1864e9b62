"""One run of a method, possibly of another package: an unexpected exception ends its own task only. A person may edit
its plan.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Action
from planweave.core.workflow.approval import PlanEdited
from planweave.methods import METHODS
from planweave.methods.running.episode import Episode

log = logging.getLogger(__name__)


class Method(Protocol):
    """A planning method: acts until it has nothing left to do. The goal is verified by its caller."""

    def run(self, episode: Episode) -> None:
        """Run the loop; may raise PlanweaveError."""


class MethodFaultError(PlanweaveError):
    """A method raised an exception other than PlanweaveError; no fallback method takes over."""

    code = "method_fault"


class ReachedMeanwhileError(PlanweaveError):
    """While the task was paused its goal was reached: nothing is left to do but to verify it."""

    code = "reached_meanwhile"


def run_method(make: Callable[[str], Method], name: str, episode: Episode) -> None:
    """Create a method and run it until it has nothing left to do, or until somebody has done it while the task was
    paused. Where a person has edited its plan, that is carried out; where the goal does not hold after it, or a step
    failed, the method runs anew from the world as it is then. What takes over from nobody (a given tree, a method as in
    its paper) is not run anew: it has no middle.

    Raises PlanweaveError, a MethodFaultError for exceptions of other kinds.
    """
    done = False
    try:
        while not done:
            try:
                method = make(name)
                episode.alone = bool(getattr(method, "paper", False) or getattr(method, "alone", False))
                method.run(episode)
                return
            except PlanEdited as edited:
                done = _carried_out(episode, edited.plan) or episode.alone
    except ReachedMeanwhileError as reached:
        episode.journal.add("reached_meanwhile", message=str(reached))
        episode.tell(message=str(reached))
    except PlanweaveError:
        raise
    except Exception as error:
        log.exception("%s: the method %s", episode.task_id, name)
        whose = f" of the package {METHODS.package_of(name)}" if name in METHODS else ""
        raise MethodFaultError(
            f"internal error while the method {name!r}{whose} ran "
            f"({type(error).__name__}: {error}); the log has the traceback"
        ) from error


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
