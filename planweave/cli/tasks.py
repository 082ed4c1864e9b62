"""Named tasks (`planweave run --task`): sentence, scene, places, goal, and a geometric check of the result.

They are data in planweave/bench/tasks/tabletop/; the checks go beyond what the predicates of the domain express.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import World

if TYPE_CHECKING:
    from planweave_ros.client import Client

SEEN = 15.0  # seconds for the camera to see what stands in the scene
NODE, PARAMETER = "executor_node", "workspace"


class NamedTask:
    """One task; raises UnknownNameError with the nearest names where there is none of this name."""

    def __init__(self, name: str):
        self._tasks: Any = importlib.import_module("planweave.bench.tabletop_tasks")
        self.data = self._tasks.load_task(name)
        self._start: World | None = None

    @contextlib.contextmanager
    def prepared(self, client: Client, scene: str) -> Iterator[None]:
        """Set the task's places in the executor, restored on exit, and wait until every object of the scene is
        detected.

        Raises PlanweaveError that names the missing objects.
        """
        before = client.parameter(NODE, PARAMETER)
        if before != self.data.workspace:
            client.set_parameter(NODE, PARAMETER, self.data.workspace)
        try:
            self._start = self._seen(client, scene)
            yield
        finally:
            if before != self.data.workspace:
                client.set_parameter(NODE, PARAMETER, before)

    def _seen(self, client: Client, scene: str) -> World:
        wanted = self._tasks.scene_names(self._tasks.load_scene(scene))
        needed = {argument for literal in self.data.goal for argument in literal.args}
        deadline = time.monotonic() + SEEN
        while True:
            world = client.world()
            known = world.by_name if world else {}
            missing = [name for name in (*wanted, *sorted(needed)) if name not in known]
            if world is not None and not missing:
                return world
            if time.monotonic() > deadline:
                raise PlanweaveError(
                    f"task {self.data.id}: {', '.join(dict.fromkeys(missing))} not seen within {SEEN:g} s; seen: "
                    f"{', '.join(sorted(known)) or 'nothing'}"
                )
            time.sleep(0.1)

    def checked(self, client: Client) -> dict[str, Any]:
        """Result of the task's check on the world as observed now."""
        world = client.world()
        lacking = ["no world is published"] if world is None else self._tasks.check_world(self.data, world, self._start)
        return {"by": "the world as observed", "fulfilled": not lacking, "lacking": lacking}
