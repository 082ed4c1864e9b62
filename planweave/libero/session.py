"""LIBERO's robot as a body that goes on from task to task, in one simulator process."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.libero.bodies import TRUTH, body_on, check_view
from planweave.libero.body import LiberoBody
from planweave.libero.client import LiberoSimulator


class LiberoSession(WrappedBody):
    """Keeps planweave.core.workflow.ports.StoppableBody. Worlds have revisions that grow from task to task.

    scene: suite/task/initial state; view: see LiberoBody. Raises NotInstalledError, SceneError for a task that does not
    exist, and with the view `camera` ConfigError and ModelError.
    """

    body: LiberoBody

    def __init__(self, scene: str, simulator: LiberoSimulator | None = None, view: str = TRUTH) -> None:
        check_view(view)
        self._view = view
        self.simulator = simulator or LiberoSimulator()
        self._last: World | None = None
        self._lock = threading.Lock()
        try:
            self.load(scene)
        except BaseException:
            self.simulator.close()
            raise

    def load(self, scene: str) -> None:
        """Go to a task, or to the same one as at its beginning; no action may run."""
        self.task, self.body = body_on(self.simulator, scene, self._view)
        super().__init__(self.body)

    def close(self) -> None:
        """End the simulator."""
        self.simulator.close()

    def observe(self, revision: int = 0) -> World:
        """See planweave.core.workflow.ports.Body."""
        return self._numbered(super().observe(revision))

    def look(self, seconds: float) -> Look:
        """See planweave.core.workflow.ports.LookingBody."""
        look = super().look(seconds)
        return replace(look, world=self._numbered(look.world))

    def begin(self, timeout: float) -> None:
        """See planweave.core.workflow.ports.StoppableBody."""
        self.body.begin(timeout)

    def stop(self, code: Code, message: str) -> None:
        """See planweave.core.workflow.ports.StoppableBody."""
        self.body.stop(code, message)

    def execute(self, action: Action, **options: Any) -> Outcome:
        """See planweave.core.workflow.ports.Body."""
        outcome = super().execute(action, **options)
        return replace(outcome, world=self._numbered(outcome.world))

    def _numbered(self, world: World) -> World:
        """The world with a revision, a new one where objects or facts have changed."""
        with self._lock:
            last = self._last
            same = last is not None and (last.objects, last.facts) == (world.objects, world.facts)
            revision = last.revision + (not same) if last is not None else 1
            self._last = replace(world, revision=revision)
            return self._last
