"""The exception hierarchy. A message says what was wrong, what would be right, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage

_LIKE = 0.7  # share of two names that must agree for one to be meant by the other


MAX_SHOWN = 100
"""Characters of an unknown name that a message shows."""


class PlanweaveError(Exception):
    """Root of every error that Planweave raises on purpose.

    code: stable name of its class, for programs and tests (docs/codes.md). usage: language model usage before the
    error, None without any; unusable replies cost as well.
    """

    code: str = "failed"
    usage: Usage | None = None


class ActionFailureError(PlanweaveError):
    """An action failed. action_code: how; `code` is its name in lower case, such as no_grasp."""

    def __init__(self, message: str, action_code: Code):
        super().__init__(message)
        self.fail_as(action_code)

    def fail_as(self, action_code: Code) -> None:
        """Set how the action failed."""
        self.action_code, self.code = action_code, action_code.word


def refused(kind: type[PlanweaveError], message: str, code: str) -> PlanweaveError:
    """An error that another process told of: of a kind, with that process's code where it gave one."""
    error = kind(message)
    error.code = code or error.code
    return error


class ConfigError(PlanweaveError):
    """A configuration, scene, workspace or parameter file has an error; the message names file and line."""

    code = "configuration"


class DomainError(ConfigError):
    """A planning domain (PDDL or phrase file) has an error; the message names file and line."""

    code = "domain"


class PddlError(DomainError):
    """A PDDL domain, problem or plan has an error. The message starts with ``file:line:column``.

    code: its kind, such as "syntax", "unsupported", "unknown_name", "duplicate"; line, column: counted from 1.
    """

    def __init__(self, message: str, code: str, line: int, column: int):
        super().__init__(message)
        self.code, self.line, self.column = code, line, column


class SceneError(ConfigError):
    """A scene file has an error, the message names file and entry; or no other scene can be loaded now."""

    code = "scene"


class MissingExtraError(PlanweaveError):
    """An optional part is not installed; the message names the extra to install."""

    code = "missing_extra"

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: pip install 'planweave[{extra}]'")
        self.extra = extra


class NotInstalledError(PlanweaveError):
    """A part with an environment of its own is not installed; the message names the command that does it."""

    code = "not_installed"


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Known names that a misspelled one may stand for, best first.

    Only single typing errors count, so that "apple" is not proposed for "table".
    """

    def likely(other: str) -> bool:
        same_letters = sorted(other) == sorted(name)
        return same_letters or difflib.SequenceMatcher(None, name, other).ratio() >= _LIKE

    return [other for other in difflib.get_close_matches(name, known, n=3, cutoff=0.6) if likely(other)]


class UnknownNameError(PlanweaveError):
    """A name that is not defined in its context; the message lists close and valid names. remedy: what else to do."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, known: Iterable[str], remedy: str = ""):
        known = sorted(known)
        written = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}… ({len(name)} characters)"
        close = close_names(written, known)
        hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
        shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
        todo = f"; {remedy}" if remedy else ""
        super().__init__(f"unknown {kind} {written!r}{hint} (known: {shown or 'none'}){todo}")
        self.kind, self.name, self.known = kind, name, tuple(known)


class InvalidActionError(PlanweaveError):
    """Not an action of the domain: wrong name, number of arguments or type of an argument."""

    code = "invalid_action"


class WorldError(PlanweaveError):
    """An invalid world state: names that are not symbols, or numbers that are not finite."""

    code = "world"


class GoalError(PlanweaveError):
    """A goal that cannot be interpreted, or that can never hold.

    not_covered: words of its sentence that nothing here says.
    """

    code = "goal"

    def __init__(self, message: str, not_covered: Sequence[str] = ()):
        super().__init__(message)
        self.not_covered = tuple(not_covered)


class ParseError(PlanweaveError):
    """A text, such as a language model's reply, that does not have the required form."""

    code = "unreadable_reply"


class NoAnswerError(ParseError):
    """A reply without an answer. reason: "reasoning" or "tools" (nothing but that), "withheld" or "empty"."""

    code = "no_answer"

    def __init__(self, message: str, reason: str):
        super().__init__(message)
        self.reason = reason


class SeveralAnswersError(ParseError):
    """A reply with answers that differ in what they ask for: which one is meant is not known."""

    code = "several_answers"


class ModelError(PlanweaveError):
    """A language model request failed. code: stable name of the class of failure, for programs and tests."""

    code = "model_failed"


class ModelUnavailableError(ModelError):
    """No answer from the endpoint: refused, unreachable, or failing on its side."""

    code = "model_unavailable"


class ModelRateError(ModelUnavailableError):
    """The endpoint limits the rate of requests, for longer than the question may take."""

    code = "model_rate_limit"


class ModelCreditError(ModelUnavailableError):
    """The account has no credit left."""

    code = "model_credit"


class NoModelError(ModelUnavailableError):
    """No language model is set that can answer this; nothing was asked. The message says how to set one."""

    code = "no_model"


class ModelAuthError(ModelError):
    """The endpoint does not accept the key."""

    code = "model_key"


class ModelTimeoutError(ModelError):
    """The model did not finish before the deadline."""

    code = "model_timeout"


class ModelRequestError(ModelError):
    """The endpoint rejected the request; the subclasses say why."""

    code = "model_request"


class ModelUnknownError(ModelRequestError):
    """The endpoint has no model of that name, or none that this key may use."""

    code = "model_unknown"


class ModelContextError(ModelRequestError):
    """Prompt and reply are longer than the model's context."""

    code = "model_context"


class ModelOptionError(ModelRequestError):
    """The endpoint refuses an option that Planweave cannot leave out, or one of PLANWEAVE_MODEL_OPTIONS."""

    code = "model_option"


class ModelPicturesError(ModelOptionError):
    """The model takes no pictures."""

    code = "model_pictures"


class ModelAnswerError(ModelRequestError):
    """A reply that is no chat completion: a web page, a redirect, a stream, an empty or endless answer; or it came
    from another host than the certificate names."""

    code = "model_answer"


class ModelNoAnswerError(ModelRequestError):
    """The model used all its tokens without an answer, or a filter withheld it."""

    code = "model_no_answer"


class BudgetExceededError(ModelError):
    """The task's budget of requests, tokens or cost is used up."""

    code = "model_budget"


class CanceledError(PlanweaveError):
    """The task was cancelled."""

    code = "canceled"


class PlanRefusedError(CanceledError):
    """A person did not approve a plan. reason, person: as they said; plan: its steps in words."""

    code = "plan_refused"

    def __init__(self, message: str, reason: str = "", person: str = "", plan: tuple[str, ...] = ()):
        super().__init__(message)
        self.reason, self.person, self.plan = reason, person, plan


class NotStoppedError(CanceledError):
    """The task was cancelled while its body acted, and it is not known that the body stands; the task has FAILED."""

    code = "not_stopped"


class NotSeenError(PlanweaveError):
    """Objects of a scene that no camera shows in time; the message names them."""

    code = "not_seen"


class SystemDownError(PlanweaveError):
    """A node that is needed does not answer; the message names it."""

    code = "no_system"
