"""What the questions of the methods are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner_node.clients.base import ChatReplies, ChatRequest
from planner_node.embeddings.base import Embedder
from planner_node.names import Mender, Similarity
from planner_node.prompting import Messages
from planner_node.settings import Settings
from planweave.domain import Domain
from planweave.world import Action, World


@dataclass(frozen=True)
class Question:
    """One call of the port.

    world is all that is known, shown the part of it that goes into prompts. history: actions done. errors: raw texts
    of failures and what people said. send(kind, request, notes) asks the model.
    """

    sentence: str
    domain: Domain
    world: World
    shown: World
    settings: Settings
    embedder: Embedder
    send: Callable[[str, ChatRequest, dict[str, Any]], ChatReplies]
    similarity: Similarity | None = None
    history: tuple[Action, ...] = ()
    errors: tuple[str, ...] = ()

    def ask(self, kind: str, messages: Messages, **options: Any) -> ChatReplies:
        """Ask with the options of ChatRequest; raises ModelError or CanceledError."""
        notes = options.pop("notes", {})
        return self.send(kind, ChatRequest(messages, **options), notes)

    def mender(self) -> Mender:
        """Maps names in replies to names of the domain and of the world."""
        set_ = self.settings
        return Mender(self.domain, self.world, self.similarity, cutoff=set_.cutoff, without=set_.exclude_actions)
