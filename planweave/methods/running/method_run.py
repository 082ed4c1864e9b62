"""One run of a method, possibly of another package: an unexpected exception ends its own task only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from planweave.core.base.errors import PlanweaveError
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


def run_method(make: Callable[[str], Method], name: str, episode: Episode) -> None:
    """Create a method and run it; raises MethodFaultError for exceptions other than PlanweaveError and PlanEdited."""
    try:
        method = make(name)
        episode.alone = bool(getattr(method, "paper", False) or getattr(method, "alone", False))
        method.run(episode)
    except (PlanweaveError, PlanEdited):
        raise
    except Exception as error:
        log.exception("%s: the method %s", episode.task_id, name)
        whose = f" of the package {METHODS.package_of(name)}" if name in METHODS else ""
        raise MethodFaultError(
            f"internal error while the method {name!r}{whose} ran "
            f"({type(error).__name__}: {error}); the log has the traceback"
        ) from error
