"""The suites of `planweave bench`: one file each, found through the entry points ``planweave.suites``."""

from __future__ import annotations

from importlib.metadata import EntryPoint

from planweave.bench.suites.case import Case, Stage, Suite
from planweave.core.base.plugins import Registry

__all__ = ["SUITES", "Case", "Stage", "Suite"]


class _Suites(Registry):
    """One instance per suite, created on first access."""

    def _load(self, entry: EntryPoint) -> Suite:
        suite: Suite = super()._load(entry)()
        return suite


SUITES = _Suites("planweave.suites", "suite")
