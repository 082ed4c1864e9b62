"""Execution of episodes in parallel: in processes on this machine, or by the workers of a Dask cluster.

Pebble's pool survives a killed worker and terminates one that hangs. Dask `distributed` was chosen over Ray: it is pure
Python of a few megabytes, has the same futures, and deployments for Slurm and Kubernetes. Its workers need this version
of Planweave installed, no shared disk, and a trusted network: Dask sends pickles without authentication unless TLS is
configured.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Protocol

from planweave.bench.episodes import Ended, Spec, play
from planweave.bench.records import EpisodeText
from planweave.bench.suites import SUITES
from planweave.core.base.errors import ConfigError, MissingExtraError, PlanweaveError, SystemDownError

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


class Engine(Protocol):
    """Runs episodes in parallel."""

    jobs: int

    def submit(self, spec: Spec) -> Future[tuple[Ended, str]]:
        """A future that raises where the worker was lost."""

    def close(self) -> None:
        """Terminate all workers, whatever they do."""


class LocalEngine:
    """Processes on this machine. An episode beyond its deadline has its process killed."""

    def __init__(self, jobs: int) -> None:
        from pebble import ProcessPool

        self.jobs = jobs
        self._futures: set[Future[Any]] = set()
        self._pool: Any = ProcessPool(max_workers=jobs, context=multiprocessing.get_context("spawn"))

    def submit(self, spec: Spec) -> Future[tuple[Ended, str]]:
        future: Future[tuple[Ended, str]] = self._pool.schedule(work, args=(spec,), timeout=spec.timeout + _GRACE)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def call(self, function: Callable[[], float]) -> Future[float]:
        future: Future[float] = self._pool.schedule(function)
        return future

    def close(self) -> None:
        if not self._futures:
            wait([self._pool.schedule(_let_go) for _ in range(self.jobs)], timeout=_GOODBYE)
        self._pool.close()
        try:
            self._pool.join(timeout=0.5 if self._futures else 10)
        except TimeoutError:
            self._pool.stop()
            self._pool.join()


class ClusterEngine:
    """The workers of a running Dask scheduler, e.g. tcp://10.0.0.5:8786; as many jobs as they have threads."""

    def __init__(self, address: str, wait: float = 20.0) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("--cluster (Dask)", "cluster") from None
        try:
            self._client: Any = Client(address, timeout=wait, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise SystemDownError(
                f"no Dask scheduler answers at {address}: {error}; start one with `dask scheduler`, "
                "and workers with `dask worker ADDRESS --nthreads 1`"
            ) from None
        threads = self._client.nthreads()
        if not threads:
            self._client.close()
            raise SystemDownError(
                f"the Dask scheduler at {address} has no workers; start some with `dask worker {address} --nthreads 1`"
            )
        self.jobs = sum(threads.values())
        self._executor = self._client.get_executor(pure=False, retries=0)
        self._check_versions(address)

    def submit(self, spec: Spec) -> Future[tuple[Ended, str]]:
        future: Future[tuple[Ended, str]] = self._executor.submit(work, spec)
        return future

    def close(self) -> None:
        """See Engine: episodes in progress are left to the workers, and their results are dropped."""
        self._executor.shutdown(wait=False)
        self._client.close(timeout=5)

    def _check_versions(self, address: str) -> None:
        """Raise where a worker has another version of Planweave."""
        from planweave import __version__

        found = set(self._client.run(_version).values())
        if found != {__version__}:
            self.close()
            raise ConfigError(
                f"the workers of {address} have Planweave {', '.join(sorted(found))}, here it is "
                f"{__version__}: install the same everywhere"
            )


def _version() -> str:
    try:
        from planweave import __version__
    except ImportError:
        return "not installed"
    return __version__
