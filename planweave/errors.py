"""One tree of exceptions. A message says what was wrong, what would be right, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planweave.budget import Usage


class PlanweaveError(Exception):
    """Root of every error that Planweave raises on purpose.

    usage: what a language model was asked before the error, None where none was; replies of no use cost as well.
    """

    usage: Usage | None = None


class ConfigError(PlanweaveError):
    """A configuration, scene, workspace or parameter file has an error; the message names file and line."""


class DomainError(ConfigError):
    """A planning domain (PDDL or phrase file) has an error; the message names file and line."""


class SceneError(ConfigError):
    """A scene file has an error; the message names the file and the entry."""


class MissingExtraError(PlanweaveError):
    """An optional part is not installed; the message names the extra to install."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: pip install 'planweave[{extra}]'")
        self.extra = extra


class UnknownNameError(PlanweaveError):
    """A name that is not known where it was used."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
        shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
        super().__init__(f"unknown {kind} {name!r}{hint} (known: {shown or 'none'})")
        self.kind, self.name, self.known = kind, name, tuple(known)


class InvalidActionError(PlanweaveError):
    """Not an action of the domain: wrong name, number of arguments or type of an argument."""


class GoalError(PlanweaveError):
    """A goal that cannot be read, or that can never hold."""


class ParseError(PlanweaveError):
    """A reply of a language model that does not have the form asked for."""


class ModelError(PlanweaveError):
    """A language model could not be asked, or did not answer."""


class ModelUnavailableError(ModelError):
    """No answer from the endpoint: refused, unreachable, or failing on its side."""


class ModelAuthError(ModelError):
    """The endpoint does not accept the key."""


class ModelTimeoutError(ModelError):
    """The model did not finish before the deadline."""


class ModelRequestError(ModelError):
    """The endpoint rejected the request (unknown model, unsupported option, too long)."""


class BudgetExceededError(ModelError):
    """The task's budget of requests, tokens or cost is used up."""


class CanceledError(PlanweaveError):
    """The task was cancelled."""


class SystemDownError(PlanweaveError):
    """A node that is needed does not answer; the message names it."""
