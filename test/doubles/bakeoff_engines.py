"""Engines of the bake-off for tests: episodes in this process, some of which go wrong as told."""

from __future__ import annotations

from concurrent.futures import Future

from planweave.bench.engines import work


class InlineEngine:
    """Plays episodes at once, in this process. go_wrong(spec, count) may raise instead; count: of its tries, from 1."""

    def __init__(self, go_wrong=lambda spec, count: None, jobs=2):
        self.jobs, self._go_wrong = jobs, go_wrong
        self.played, self.tries = [], {}

    def submit(self, spec):
        """A future that is done."""
        future = Future()
        self.tries[spec.name] = self.tries.get(spec.name, 0) + 1
        try:
            self._go_wrong(spec, self.tries[spec.name])
            future.set_result(work(spec))
            self.played.append(spec)
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self):
        """Nothing is held."""
