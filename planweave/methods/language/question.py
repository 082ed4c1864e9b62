"""Requests of the methods to the model: their inputs, and the table of each method's requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from planweave.core.base.errors import ParseError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Choice, Grounding, Proposals, Written
from planweave.llm.clients.base import About, ChatReplies, ChatReply, ChatRequest
from planweave.llm.embeddings import Embedder
from planweave.llm.names import Mender
from planweave.llm.reasoning import ask_until_read
from planweave.methods.language.prompting import Messages
from planweave.methods.language.settings import PlannerSettings

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One call of the port.

    world: all that is known; shown: the part of it in prompts. history: executed actions. errors: raw failure messages
    and feedback of people. send(kind, request, notes) sends a request to the model.
    """

    sentence: str
    domain: Domain
    world: World
    shown: World
    settings: PlannerSettings
    embedder: Embedder
    send: Callable[[str, ChatRequest, dict[str, Any]], ChatReplies]
    history: tuple[Action, ...] = ()
    errors: tuple[str, ...] = ()

    def ask(
        self,
        kind: str,
        messages: Messages,
        *,
        notes: Mapping[str, Any] = MappingProxyType({}),
        about: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> ChatReplies:
        """Ask with the options of ChatRequest; raises ModelError or CanceledError.

        kind: one of those that `LanguagePlanner` lists. notes: for the record. about: fields of `About` beside task,
        names, history and errors, such as the options of a choice.
        """
        names = tuple(thing.name for thing in self.shown.objects)
        told = About(task=self.sentence, names=names, history=self.history, errors=self.errors)
        return self.send(kind, ChatRequest(messages, about=replace(told, **about), **options), dict(notes))

    def ask_until_read(
        self, kind: str, messages: Messages, read: Callable[[ChatReply], T], **options: Any
    ) -> tuple[list[tuple[ChatReply, T]], ChatReplies, str]:
        """`ask`, repeated once where no reply can be read (`planweave.llm.reasoning.ask_until_read`)."""
        return ask_until_read(lambda r: self.ask(kind, r.messages, **options), ChatRequest(messages), read)

    def ask_one(self, kind: str, messages: Messages, read: Callable[[ChatReply], T], **options: Any) -> tuple[T, Usage]:
        """Reading of a single reply, and the usage; raises ParseError where also a second one cannot be read."""
        rows, replies, problem = self.ask_until_read(kind, messages, read, **options)
        if not rows:
            raise ParseError(problem)
        return rows[0][1], replies.usage

    def mender(self) -> Mender:
        """Maps names in replies to names of the domain and of the world."""
        set_ = self.settings
        return Mender(self.domain, self.world, self.embedder, cutoff=set_.cutoff, without=set_.exclude_actions)


@dataclass(frozen=True)
class Questions:
    """A method's requests to the model, each under the name used by its loop (docs/extending.md).

    sample: folder of the prompts sample_system.txt and sample_user.txt for sampling whole plans.
    """

    sample: Mapping[str, Path] = field(default_factory=dict)
    write: Mapping[str, Callable[[Question, Sequence[str], int, Mapping[str, int]], Written]] = field(
        default_factory=dict
    )
    ground: Mapping[str, Callable[[Question, str], Grounding]] = field(default_factory=dict)
    propose: Mapping[str, Callable[[Question, int], Proposals]] = field(default_factory=dict)
    select: Mapping[str, Callable[[Question, Sequence[Action], Sequence[Literal]], Choice]] = field(
        default_factory=dict
    )

    def __bool__(self) -> bool:
        """Whether there is any request."""
        return any(getattr(self, each.name) for each in fields(self))

    def __or__(self, other: Questions) -> Questions:
        """Union; entries of the other take precedence."""
        return Questions(
            **{each.name: {**getattr(self, each.name), **getattr(other, each.name)} for each in fields(self)}
        )
