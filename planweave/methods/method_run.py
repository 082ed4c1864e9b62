"""One run of a method, whose code may be anybody's: what it raises by mistake ends its task and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from planweave.core.errors import PlanweaveError
from planweave.methods import METHODS
from planweave.methods.episode import Episode

log = logging.getLogger(__name__)


class Method(Protocol):
    """A planning method: acts until it has nothing left to do. Whether the goal holds is checked by others."""

    def run(self, episode: Episode) -> None:
        """Run the loop; may raise PlanweaveError."""


class MethodFaultError(PlanweaveError):
    """A method's own code raised an exception that is no PlanweaveError; no other method takes over."""


def run_method(make: Callable[[str], Method], name: str, episode: Episode) -> None:
    """Make a method and run it; raises MethodFaultError for what is no PlanweaveError."""
    try:
        make(name).run(episode)
    except PlanweaveError:
        raise
    except Exception as error:
        log.exception("%s: the method %s", episode.task_id, name)
        whose = f" of the package {METHODS.package_of(name)}" if name in METHODS else ""
        raise MethodFaultError(
            f"internal error while the method {name!r}{whose} ran "
            f"({type(error).__name__}: {error}); the log has the traceback"
        ) from error
