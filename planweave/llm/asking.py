"""Requests to the model: within budget and deadline, counted, priced, and published as exchanges."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import asdict, replace
from typing import Any, ParamSpec, TypeVar

from planweave.core.base.budget import Budget
from planweave.core.base.errors import PlanweaveError
from planweave.core.base.usage import Usage
from planweave.llm.accounting import Ledger, Prices
from planweave.llm.clients.base import ChatClient, ChatReplies, ChatRequest
from planweave.llm.clients.none import NoClient
from planweave.llm.reasoning import MAX_REPLY, readable

P = ParamSpec("P")
R = TypeVar("R")
_asked: ContextVar[list[Usage] | None] = ContextVar("asked", default=None)  # by the question that is being worked on


def counted(question: Callable[P, R]) -> Callable[P, R]:
    """Run a request; its errors carry the usage so far in `usage`."""

    @functools.wraps(question)
    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        used: list[Usage] = []
        before = _asked.set(used)
        try:
            return question(*args, **kwargs)
        except PlanweaveError as error:
            if used:
                error.usage = sum(used, Usage())
            raise
        finally:
            _asked.reset(before)

    return ask


class Asker:
    """Sends requests to a client. Thread-safe. kind: one of those that `LanguagePlanner` lists.

    on_exchange is called with every request and its reply as a plain dict (without keys): task_id, kind, stamp (seconds
    since 1970), request, reply or error with its code, and the notes of the request. seed: sent with every request.
    """

    def __init__(
        self,
        client: ChatClient,
        timeout: float,
        budget: Budget,
        prices: Prices,
        on_exchange: Callable[[dict[str, Any]], None] | None,
        seed: int | None = None,
    ) -> None:
        self.client, self._timeout, self._ledger = client, timeout, Ledger(budget)
        self._prices, self._on_exchange, self._seed = prices, on_exchange, seed

    def ask(
        self, kind: str, request: ChatRequest, task_id: str = "", canceled: threading.Event | None = None, **notes: Any
    ) -> ChatReplies:
        """The replies; raises ModelError (BudgetExceededError among them) or CanceledError."""
        self._ledger.check(task_id)
        about = replace(request.about, kind=kind)
        deadline = time.monotonic() + self._timeout
        left = self._ledger.tokens_left(task_id)
        request = replace(request, deadline=deadline, canceled=canceled, tokens_left=left, about=about, seed=self._seed)
        exchange: dict[str, Any] = {
            "task_id": task_id,
            "kind": kind,
            "stamp": time.time(),
            "request": request.as_dict(),
            **notes,
        }
        begun = time.monotonic()
        try:
            replies = self.client.complete(request)
            longest = max((len(r.text) for r in replies.replies), default=0)
            if longest > MAX_REPLY:
                exchange["note"] = f"a reply had {longest} characters; at most {MAX_REPLY} of each are read and kept"
            replies = ChatReplies(tuple(map(readable, replies.replies)), self._prices.priced(replies.usage))
            self._ledger.add(task_id, replies.usage)
            used = _asked.get()
            if used is not None:
                used.append(replies.usage)
            exchange["reply"] = replies.as_dict()
            return replies
        except PlanweaveError as error:
            exchange["error"] = f"{type(error).__name__}: {error}"
            exchange["code"] = getattr(error, "code", "")
            used = _asked.get()
            spent = self._prices.priced(error.usage) if error.usage else None  # an answer that said nothing costs, too
            if spent is not None:
                self._ledger.add(task_id, spent)
                exchange["usage"] = asdict(spent)
            if used is not None and not isinstance(self.client, NoClient):
                seconds = time.monotonic() - begun
                unanswered = Usage(model_seconds=seconds, model=self.client.model, endpoint=self.client.endpoint)
                used.append(spent or unanswered)
            raise
        finally:
            if self._on_exchange is not None:
                self._on_exchange(exchange)
