"""A client of no model: it gives set replies. And a planner that asks it."""

from planweave.core.base.usage import Usage
from planweave.core.workflow.ports import Planner
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.methods.language.planner import LanguagePlanner


class ScriptedClient:
    """Gives these replies to every question, and keeps the questions. A reply is a text, or (text, log-probability)."""

    endpoint, model, capabilities = "scripted", "m", Capabilities()

    def __init__(self, *replies, usage=Usage(1, 100, 0, 10, 0.5, None, "m", "scripted")):  # noqa: B008 (frozen)
        self.replies, self.usage, self.questions = replies, usage, []

    def complete(self, request):
        request.check()
        self.questions.append(request)
        made = [ChatReply(r) if isinstance(r, str) else ChatReply(*r) for r in self.replies]
        return ChatReplies(tuple(made), self.usage)

    def close(self):
        pass


def planner(*replies, **options):
    client = ScriptedClient(*replies)
    made: Planner = LanguagePlanner(client, **options)
    return made, client
