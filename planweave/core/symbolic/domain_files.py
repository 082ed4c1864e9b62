"""Locations of domains: config/domains, installed packages, and those loaded from a path or a text."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, DomainError, UnknownNameError
from planweave.core.base.paths import config_dir, is_file
from planweave.core.base.plugins import Registry, offered_file
from planweave.core.base.yaml_files import read_text

MAX_PDDL_BYTES = 20_000_000

DOMAINS = Registry("planweave.domains", "domain")
"""By name: the path of a .pddl file, or a folder, package or module beside which ``<name>.pddl`` lies."""


def find_domain(name: str, loaded: Iterable[str] = ()) -> tuple[Path, bool]:
    """Path of a domain's .pddl file, and whether it was found by name. loaded: further names, for the error message.

    Raises DomainError, UnknownNameError or PluginError.
    """
    folder = config_dir() / "domains"
    path = folder / f"{name}.pddl"
    if path.parent == folder and is_file(path):
        return path, True
    if name in DOMAINS:
        return offered_file(DOMAINS, name, ".pddl"), True
    if is_file(name):
        return Path(name), False
    if name.endswith(".pddl"):
        raise no_file(name)
    raise UnknownNameError("domain", name, {*domain_names(), *loaded}, "or give the path of a PDDL file")


def no_file(name: str) -> DomainError:
    return DomainError(f"{name[:300]}: there is no such file; give the path of a PDDL file")


def domain_texts(path: Path) -> tuple[str, str]:
    """The texts of a domain's .pddl file and of the notes beside it, "" for none; raises DomainError."""
    notes = path.with_suffix(".yaml")
    return read_pddl(path), read_pddl(notes) if notes.is_file() else ""


def read_pddl(path: Path) -> str:
    """The text of a file of a domain; raises DomainError."""
    try:
        return read_text(path, MAX_PDDL_BYTES)
    except ConfigError as error:
        raise DomainError(str(error)) from None


def domain_names() -> set[str]:
    return {*(p.stem for p in (config_dir() / "domains").glob("*.pddl")), *DOMAINS}


class Loaded(Mapping[str, Any]):
    """Registry of the domains loaded from paths and texts in this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Any, tuple[str, str], str]] = {}  # domain, PDDL and notes, where from

    def __getitem__(self, name: str) -> Any:
        return self._kept[name][0]

    def __iter__(self) -> Any:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, name: str, domain: Any, texts: tuple[str, str], origin: str, replace: bool) -> None:
        """Register a domain by name; raises ConfigError where a different one has this name.

        An edited file replaces its own entry.
        """
        with self._lock:
            old = self._kept.get(name)
            if not replace:
                if old is not None and old[1] != texts and (old[2] != origin or origin == "PDDL text"):
                    raise _conflict(name, origin, old[2])
                ours = config_dir() / "domains" / f"{name}.pddl"
                if (
                    old is None
                    and ours.parent.name == "domains"
                    and is_file(ours)
                    and (str(ours.resolve()) != origin and domain_texts(ours) != texts)
                ):
                    raise _conflict(name, origin, str(ours))
            self._kept[name] = domain, texts, origin


def _conflict(name: str, origin: str, other: str) -> ConfigError:
    return ConfigError(
        f"{origin}: another domain is called {name!r} already ({other}), and worlds name their domain; "
        "give this one a name of its own in (define (domain …)), or load it with replace=True"
    )
