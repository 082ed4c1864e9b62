"""Suite `libero`: the tasks of LIBERO and LIBERO-PRO in their own simulator, judged by LIBERO's own checker.

A task is named suite/task/initial state. Whoever plans reads the goal from the sentence; LIBERO's goal is for the gold
plan and the report alone. A task is done where LIBERO's checker said so after a step (1/20 s each) within the limit of
published evaluations, as LIBERO's own evaluation has it.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planweave.bench.suites.case import Case
from planweave.bench.task_files import is_file
from planweave.core.base.errors import CanceledError, ConfigError, PlanweaveError, SystemDownError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.libero.bodies import CAMERA, NAMED, TRUTH, body_on, check_view
from planweave.libero.client import LiberoSimulator, LiberoTask
from planweave.libero.environment import python
from planweave.libero.suites import LONGEST, contradictory, suite_of, suites, suites_named
from planweave.libero.truth import goal_of, truth
from planweave.perception.vision_names import VARIABLE
from planweave.simulation.video_files import captioned, video_bytes

if TYPE_CHECKING:
    from planweave.bench.results import Results
    from planweave.bench.tables import Table

log = logging.getLogger(__name__)

AS_SAID = "goal as the sentence says"  # group of the tasks whose goal does not contradict their sentence
PUBLISHED = "published"
STEPS = (PUBLISHED, str(LONGEST))
_DOMAIN = "kitchen"
_SECONDS = 30.0  # for the gold plan
_ACTION = {TRUTH: 110.0, CAMERA: 400.0, NAMED: 400.0}
"""Seconds of wall time for an action, by view; an engine kills a worker 120 s after its episode should have ended."""
_CAMERA, _WIDTH, _HEIGHT = "agentview", 480, 360
_PICTURES = 80  # of a video at most
_RATE = 10.0  # pictures per second of a video


class LiberoSuite:
    """All tasks of all complete suites. One simulator process serves the episodes of this process in turn.

    simulator: starts it.
    """

    name = "libero"
    description = "LIBERO and LIBERO-PRO in their own simulator, judged by their own checker"
    needs_ros = False
    default_methods = ("classical",)

    def __init__(self, simulator: Callable[[], LiberoSimulator] = LiberoSimulator) -> None:
        self._start = simulator
        self._running: LiberoSimulator | None = None

    def cases(self) -> Mapping[str, Case]:
        """All tasks; sentence and goals are only told by the simulator."""
        return _Cases()

    def chosen(self, options: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
        """The tasks that the command names, and view, steps and video for their stages.

        Raises ConfigError, NotInstalledError, or UnknownNameError.
        """
        view, steps = options.view or TRUTH, options.steps or STEPS[-1]
        check_view(view)
        if steps not in STEPS:
            raise ConfigError(f"--steps {steps}: write {' or '.join(STEPS)}")
        inits = 1 if options.inits is None else options.inits
        if inits < 1:
            raise ConfigError("--inits must be at least 1: initial states 0 to N-1 are played")
        if options.tasks and options.suites:
            raise ConfigError("name suites by --suites, or tasks by --tasks, not both")
        python()
        asked = options.tasks or [
            f"{s.name}/{task}" for s in suites_named(options.suites or ()) for task in range(s.tasks)
        ]
        tasks = [one for text in asked for one in ([text] if is_file(text) else _with_states(text, inits))]
        found: dict[str, Any] = {"view": view, "steps": steps, "video": bool(options.video)}
        return tasks, found | ({"vision": os.environ[VARIABLE]} if view == CAMERA else {})

    def stage(
        self,
        case: Case,
        repetition: int = 0,
        view: str = TRUTH,
        steps: str = STEPS[-1],
        video: bool = False,
        vision: str = "",
    ) -> LiberoStage:
        """The task loaded in the simulator, which is started where none runs. Raises PlanweaveError.

        vision: the model that names things, for the record; who asks it reads PLANWEAVE_VISION_MODEL.
        """
        begun = time.process_time()
        kept = self._running is not None and self._running.alive
        if not kept:
            self.close()
            self._running = self._start()
        assert self._running is not None
        begun += self._running.processor_seconds if kept else 0.0
        return LiberoStage(case, self._running, view, steps, video, begun)

    def close(self) -> None:
        """End the simulator's process, if there is one."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def tables(self, results: Results) -> list[Table]:
        """Success by suite, beside published numbers where that is fair, and what ended the failed episodes."""
        from planweave.bench.libero_tables import tables

        return tables(results)


class _Cases(Mapping[str, Case]):
    """The tasks of all suites in all initial states, made when they are asked for."""

    def __iter__(self) -> Iterator[str]:
        for suite in suites().values():
            for task in range(suite.tasks):
                yield from (f"{suite.name}/{task}/{init}" for init in range(suite.inits))

    def __len__(self) -> int:
        return sum(suite.tasks * suite.inits for suite in suites().values())

    def __getitem__(self, name: str) -> Case:
        try:
            suite = suite_of(name)
        except PlanweaveError:
            raise KeyError(name) from None
        task = name.rpartition("/")[0]
        if "/" not in task:
            raise KeyError(name)
        groups = (suite.name,) if task in contradictory() else (suite.name, AS_SAID)
        return Case(name, "", task, (), (), source="LIBERO", groups=groups, read=True)


def _with_states(text: str, inits: int) -> list[str]:
    """suite/task/initial state for names of tasks with or without one, separated by commas."""
    found = []
    for name in filter(None, text.split(",")):
        suite = suite_of(name)
        states = [""] if name.count("/") == 2 else [f"/{init}" for init in range(min(inits, suite.inits))]
        found += [name + state for state in states]
    return found


class LiberoStage:
    """A task in the simulator. steps: "published" ends the episode at the published limit, "4000" at that.

    begun: processor time of this process and of the simulator before the episode, s.
    """

    reproducible = False

    def __init__(
        self, case: Case, simulator: LiberoSimulator, view: str, steps: str, video: bool, begun: float = 0.0
    ) -> None:
        self._simulator, self._video, self._begun = simulator, video, begun
        self._limit = suite_of(case.id).steps
        self._longest = self._limit if steps == PUBLISHED else LONGEST
        self.domain = Domain.load(_DOMAIN)
        task, body = body_on(simulator, case.id, view)
        self._first = truth(self.domain, task.state)
        goal = _goal(task)
        self.case = replace(case, sentence=task.language, goal=goal, gold=_gold(self.domain, self._first, goal))
        self.body: LookingBody = LimitedBody(body, simulator, self._longest, _ACTION[view])

    def truth(self) -> World:
        """The true world, whatever the body sees."""
        return truth(self.domain, self._simulator.state())

    def conditions(self, done: Sequence[Action]) -> dict[str, bool]:
        """Verdict of LIBERO's checker within the published limit; raises SystemDownError where it could not judge."""
        if self._simulator.verdict.fault:
            raise SystemDownError(self._simulator.verdict.fault)
        first = self._simulator.verdict.first
        return {f"LIBERO's checker, within {self._limit} steps": first is not None and first <= self._limit}

    def details(self) -> dict[str, Any]:
        """limit: published; longest: of this episode; first: steps after which the checker held first; holds: after
        the last step; processor_seconds: of this process and the simulator.
        """
        verdict = self._simulator.verdict
        used = time.process_time() + self._simulator.processor_seconds - self._begun
        return {
            "limit": self._limit,
            "longest": self._longest,
            "steps": verdict.steps,
            "first": verdict.first,
            "holds": verdict.holds,
            "processor_seconds": round(used, 2),
        }

    def film(self) -> dict[str, bytes]:
        """A video of the episode, where one was asked for."""
        if not self._video:
            return {}
        try:
            pictures = self._simulator.film(_CAMERA, _WIDTH, _HEIGHT, _PICTURES)
            frames = [captioned(picture[:, :, ::-1], self.case.sentence) for picture in pictures]
            return {".mp4": video_bytes(".mp4", frames, _RATE)}
        except PlanweaveError as error:
            log.warning("no video of %s: %s", self.case.id, error)
            return {}

    def after_gold(self) -> frozenset[Literal]:
        from planweave.bench.recorded_stage import predicted

        return predicted(self.domain, self._first, self.case.gold)

    def close(self) -> None:
        """Does nothing: the simulator is kept for the next episode."""


class LimitedBody(WrappedBody):
    """A body that begins no action once the episode's steps are used up. seconds: of wall time for an action."""

    def __init__(self, body: LookingBody, simulator: LiberoSimulator, longest: int, seconds: float) -> None:
        super().__init__(body)
        self._simulator, self._longest, self._seconds = simulator, longest, seconds

    def execute(self, action: Action, *, timeout: float = 0.0, **options: Any) -> Outcome:
        """The body's; raises CanceledError where no step is left."""
        if self._simulator.verdict.steps >= self._longest:
            raise CanceledError(f"the {self._longest} steps of the episode are used up")
        return super().execute(action, timeout=timeout or self._seconds, **options)


def _goal(task: LiberoTask) -> tuple[Literal, ...]:
    """LIBERO's goal in our literals; empty where one has no counterpart."""
    try:
        return goal_of(task.state, task.goal)
    except PlanweaveError:
        return ()


def _gold(domain: Domain, world: World, goal: tuple[Literal, ...]) -> tuple[Action, ...]:
    try:
        return solve(domain, world, goal, _SECONDS) if goal else ()
    except PlanweaveError:
        return ()
