"""Extension points: parts found by name through entry points, Planweave's own and those of installed packages alike.

A package adds a method, domain, body, detector, client, suite or robot by an entry point of the group
``planweave.methods`` and so on, without changes to Planweave. A part that cannot be loaded is reported with its package
and skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.paths import is_file

OURS = "planweave"
_log = logging.getLogger(__name__)


class PluginError(PlanweaveError):
    """A part of an installed package cannot be used; the message names the part, the package and the remedy."""

    code = "plugin"


class Registry(Mapping[str, Any]):
    """The parts of one entry point group by name, loaded on first access.

    Listing the names loads nothing. Of two packages with the same name Planweave takes precedence, else the first in
    alphabetical order.
    """

    def __init__(self, group: str, kind: str, check: Callable[[Any], str] = lambda part: "", remedy: str = ""):
        """group: of the entry points; kind: what a part is called in errors; check: returns what is wrong with a part,
        or ""; remedy: what to do about an unknown name.
        """
        self.group, self.kind, self.remedy = group, kind, remedy
        self._check = check
        self._loaded: dict[str, Any] = {}
        self._broken: dict[str, PluginError] = {}
        self._left_out: list[str] = []

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        offered = {(each.name, each.value, _package(each)): each for each in entry_points(group=self.group)}
        for each in sorted(offered.values(), key=lambda e: (_package(e) != OURS, _package(e), e.name)):
            if each.name not in found:
                found[each.name] = each
            elif _package(each) != _package(found[each.name]):
                self._left_out.append(
                    f"the {self.kind} {each.name!r} of the package {_package(each)} is left out: "
                    f"{_package(found[each.name])} has one of this name; give it another name"
                )
                _log.warning("%s", self._left_out[-1])
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._entries if name not in self._broken)

    def __len__(self) -> int:
        return len(self._entries.keys() - self._broken)

    def __contains__(self, name: object) -> bool:
        return name in self._entries and name not in self._broken

    def __getitem__(self, name: str) -> Any:
        """The part. Raises UnknownNameError, or PluginError where it cannot be loaded."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._entries:
            raise UnknownNameError(self.kind, name, self, self.remedy)
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(self._entries[name])
            except PluginError as error:
                self._broken[name] = error
                raise
        return self._loaded[name]

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def working(self) -> dict[str, Any]:
        """All parts that can be loaded; logs a warning for each one that cannot."""
        found = {}
        for name in self._entries:
            known = name in self._broken
            try:
                found[name] = self[name]
            except PluginError as error:
                if not known:
                    _log.warning("%s", error)
        return found

    def problems(self) -> list[str]:
        """Parts that cannot be used, one line each; loads everything."""
        self.working()
        return [*map(str, self._broken.values()), *self._left_out]

    def make(self, name: str, *arguments: Any, finish: Callable[[Any], Any] = lambda made: made) -> Any:
        """Call a part with the arguments and return what finish makes of it. Raises UnknownNameError; PluginError,
        whatever the code of another package raises; what Planweave's own raises as a PlanweaveError.
        """
        part, package = self[name], self.package_of(name)
        try:
            return finish(part(*arguments))
        except (Exception, SystemExit) as error:  # the code of others may raise anything
            wrong = str(error) if isinstance(error, PlanweaveError) else f"{type(error).__name__}: {error}"
            if isinstance(error, PlanweaveError) and package == OURS:
                raise
            called = ":".join([name, *filter(None, map(str, arguments))])
            raise PluginError(f"the {self.kind} {called!r} of the package {package} cannot be made: {wrong}") from error

    def package_of(self, name: str) -> str:
        return _package(self._entries[name])

    def _load(self, entry: EntryPoint) -> Any:
        try:
            part = entry.load()
            wrong = self._check(part)
        except (Exception, SystemExit) as error:  # the code of others may raise anything
            if isinstance(error, PlanweaveError) and _package(entry) == OURS:
                raise
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            package = _package(entry)
            raise PluginError(
                f"the {self.kind} {entry.name!r} of the package {package} cannot be used "
                f"({entry.value}): {wrong}; fix the package, or: pip uninstall {package}"
            )
        return part


def offered_file(registry: Registry, name: str, suffix: str) -> Path:
    """The file that an installed package offers by a path, or by a folder, package or module that it lies beside.

    Raises PluginError where there is none.
    """
    part = registry[name]
    if isinstance(part, ModuleType):
        part = next(iter(getattr(part, "__path__", ())), None) or Path(str(part.__file__)).parent
    path = Path(part) if isinstance(part, (str, Path)) else None
    if path is not None and path.is_dir():
        path /= f"{name}{suffix}"
    if path is None or not is_file(path):
        package = registry.package_of(name)
        raise PluginError(
            f"the {registry.kind} {name!r} of the package {package} cannot be used: {path or part!r} is no {suffix} "
            f"file; fix the package, or: pip uninstall {package}"
        )
    return path


def _package(entry: EntryPoint) -> str:
    """Name of an entry point's distribution; a broken one may have none."""
    return (entry.dist.name if entry.dist is not None else "") or "?"
