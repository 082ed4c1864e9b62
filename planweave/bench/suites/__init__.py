"""The suites of `planweave bench`: one file each, found through the entry points ``planweave.suites``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from planweave.bench.suites.case import Case, Stage, Suite
from planweave.core.base.plugins import Registry

__all__ = ["SUITES", "Case", "Stage", "Suite"]


class _Suites(Mapping[str, Suite]):
    """One instance per suite, created on first access."""

    registry = Registry("planweave.suites", "suite")

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)

    def __contains__(self, name: object) -> bool:
        return name in self.registry

    def __getitem__(self, name: str) -> Suite:
        """Raises UnknownNameError or PluginError."""
        return _made(name)


@cache
def _made(name: str) -> Suite:
    suite: Suite = _Suites.registry[name]()
    return suite


SUITES = _Suites()
