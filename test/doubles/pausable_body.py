"""A scripted body whose actions a pause can stop half way, and a world that a person changes meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace

from doubles.scripted import SymbolicBody
from planweave.core.base.errors import SystemDownError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.ports import Look, Outcome


class PausableBody(SymbolicBody):
    """stop_at: actions at which it waits for a stop, each with what is so then: facts that come, and facts that go.

    Each waits once. blind: why a look is not fresh; dead: the body has gone.
    """

    def __init__(self, world, stop_at=None):
        super().__init__(world)
        self.stop_at = dict(stop_at or {})
        self.at = threading.Event()  # it waits for a stop
        self.stopped = threading.Event()
        self.holds, self.blind, self.dead, self.looks = 0, "", False, 0
        self._reason = (Code.CANCELED, "")

    def observe(self, revision=0):
        if self.dead:
            raise SystemDownError("the body has gone away")
        return super().observe(revision)

    def begin(self, timeout):
        self.stopped.clear()

    def stop(self, code, message):
        self._reason = code, message
        self.stopped.set()

    def execute(self, action, **options):
        if str(action) not in self.stop_at:
            return super().execute(action, **options)
        come, go = self.stop_at.pop(str(action))
        self.began.set()
        self.at.set()
        assert self.stopped.wait(30.0), f"nobody stopped {action}"
        self.at.clear()
        self.holds += 1
        self.change(come, go)
        return Outcome(self._reason[0], self._reason[1], self.world)

    def look(self, seconds):
        self.looks += 1
        if self.blind:
            return Look(self.world, False, self.blind)
        return super().look(seconds)

    def change(self, come="", go="", objects=None):
        """Facts that come and go, as by a person's hand."""
        facts = (self.world.facts | _read(come)) - _read(go)
        self.world = replace(
            self.world, facts=facts, objects=objects or self.world.objects, revision=self.world.revision + 1
        )


def _read(text):
    return frozenset(Literal.parse(part) for part in text.split(";") if part.strip())
