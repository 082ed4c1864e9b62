"""Execution of episodes in parallel, in processes: Pebble's pool survives a killed worker and ends one that hangs."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, wait
from typing import Any

from planweave.bench.episodes import Ended, Spec, play
from planweave.bench.records import EpisodeText
from planweave.bench.suites import SUITES
from planweave.core.base.errors import PlanweaveError

_GOODBYE = 20.0  # seconds that workers have to end what they started
_GRACE = 120.0  # seconds beyond an episode's own deadline after which its worker is ended


def _let_go() -> None:
    """Release what this worker has started for its suites."""
    for suite in SUITES.values():
        suite.close()


class UnplayableError(Exception):
    """An episode could not be set up. Can be unpickled in any process, unlike some PlanweaveErrors."""


def work(spec: Spec) -> tuple[Ended, str]:
    """Run one episode in a worker; returns its result and its record. Raises UnplayableError."""
    record = EpisodeText()
    try:
        return play(spec, record), record.text()
    except PlanweaveError as error:
        raise UnplayableError(f"{type(error).__name__}: {error}") from None


class Engine:
    """Processes on this machine. An episode beyond its deadline has its process killed."""

    def __init__(self, jobs: int) -> None:
        from pebble import ProcessPool

        self.jobs = jobs
        self._futures: set[Future[Any]] = set()
        self._pool: Any = ProcessPool(max_workers=jobs, context=multiprocessing.get_context("spawn"))

    def submit(self, spec: Spec) -> Future[tuple[Ended, str]]:
        """A future that raises where the worker was lost."""
        future: Future[tuple[Ended, str]] = self._pool.schedule(work, args=(spec,), timeout=spec.timeout + _GRACE)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def close(self) -> None:
        """End all workers, whatever they do."""
        if not self._futures:
            wait([self._pool.schedule(_let_go) for _ in range(self.jobs)], timeout=_GOODBYE)
        self._pool.close()
        try:
            self._pool.join(timeout=0.5 if self._futures else 10)
        except TimeoutError:
            self._pool.stop()
            self._pool.join()
