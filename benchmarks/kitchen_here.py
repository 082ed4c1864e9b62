"""The kitchen in one process, without ROS: simulator, cameras, perception and arm in a thread of their own.

Time is the simulator's: nothing passes while something is computed, so that what comes of a case does not hang on how
busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from doubles.seeing_kitchen import SeeingKitchen

import planweave as pw
from benchmarks.kitchen_cases import Act, KitchenCase
from planweave.bench.kitchen_tasks import part_name, within
from planweave.bodies.arm.body import ArmBody
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, Outcome
from planweave.simulation.intervention import read_intervention

_LOOKS = 5  # before a task
_FRESH = 2  # images of a look
_MOVING = 1.0  # s between images while the arm moves, as nodes have them on two cores


class PlayedKitchen(SeeingKitchen):
    """A kitchen with a person who does the acts of a case, each at its moment."""

    def __init__(self, case: KitchenCase, seed: int | None) -> None:
        self._acts: list[Act] = []
        self._covered, self._acted = False, 0.0
        super().__init__(case.scene(seed), moving_images=_MOVING, verify_seconds=8.0)
        self.body = _LookingBody(self)
        self.see(_LOOKS)
        for act in case.before:
            self._do(act)
        self.see(_LOOKS if case.before else 0)
        self._acts = [*case.during]

    @property
    def all_done(self) -> bool:
        """Whether the moment of each act came."""
        return not self._acts and not self.simulator._hands.active

    def felt(self) -> Any:
        """The joints now; due acts of the person are carried out first."""
        while self._acts and not self.simulator._hands.active and self._is_time(self._acts[0]):
            self._do(self._acts.pop(0))
        return super().felt()

    def _is_time(self, act: Act) -> bool:
        parts = {part_name(name): value for name, value in self.simulator.fixture_joints().items()}
        if act.once is not None and not within(parts.get(act.once[0]), act.once[1]):
            return False
        return self.simulator.time >= self._acted + act.after

    def _do(self, act: Act) -> None:
        def cover(shown: bool) -> None:
            self._covered = not shown

        kinds = [o.kind for o in self.simulator.scene.objects]
        places = act.places(self.simulator.scene)
        objects, camera = [kinds.index(name) for name in places], [] if act.camera is None else [act.camera]
        of = act.when, kinds.index(act.watch), objects, [*places.values()], camera
        what = read_intervention(self.simulator.scene, *of, [*act.parts], [*act.parts.values()])
        self.simulator.intervene(what, cover)
        self._acted = self.simulator.time

    def image(self) -> None:
        if not self._covered:
            super().image()

    def close(self) -> None:
        for camera, _, _ in self._eyes.values():
            camera.close()


class _LookingBody(ArmBody):
    def __init__(self, kitchen: SeeingKitchen) -> None:
        super().__init__(kitchen.domain, kitchen.world, kitchen.arm, kitchen.skills)
        self._kitchen = kitchen

    def look(self, seconds: float) -> Look:
        before = self._kitchen.simulator.time
        self._kitchen.see(_FRESH)
        world = self.world.world()
        fresh = world.stamp > before
        return Look(world, fresh, "" if fresh else "no image came")


@dataclass(frozen=True)
class _InThread:
    """A body of which everything is called in one thread, to which the cameras' graphics belong."""

    pool: ThreadPoolExecutor
    body: ArmBody

    def observe(self, revision: int = 0) -> World:
        return self.pool.submit(self.body.observe, revision).result()

    def look(self, seconds: float) -> Look:
        return self.pool.submit(self.body.look, seconds).result()

    def execute(self, action: Action, **how: Any) -> Outcome:
        return self.pool.submit(lambda: self.body.execute(action, **{**how, "timeout": 1e6})).result()


def play_here(
    case: KitchenCase, seed: int | None, make: Callable[[KitchenCase, int | None], PlayedKitchen] = PlayedKitchen
) -> tuple[pw.Result, list[str], bool]:
    """Play a case here: its result, what of its goal is not so then, and whether the moment of each act came."""
    with ThreadPoolExecutor(1) as pool:
        kitchen = pool.submit(make, case, seed).result()
        try:
            result = pw.run(
                case.sentence, body=_InThread(pool, kitchen.body), method="classical", model="none", timeout=3600
            )
            missing = pool.submit(kitchen.missing, case).result()
        finally:
            pool.submit(kitchen.close).result()
    return result, missing, kitchen.all_done
