"""Locations of the package's files: the source tree, or the share folder of an installed package."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from pathlib import Path

from planweave.core.base.errors import ConfigError, UnknownNameError


def config_dir() -> Path:
    """The folder with domains/, scenes/ and the nodes' parameter files.

    It belongs to the same installation as this file: beside it in a source tree, else in the share folder of the prefix
    (PREFIX/lib/pythonX.Y/site-packages). Other installations are not searched, so that an overlay never runs with the
    settings of an underlay. Raises ConfigError where there is none.
    """
    here = Path(__file__).resolve().parents[3]
    places = [here / "config", *(prefix / "share" / "planweave" / "config" for prefix in (here, *here.parents[:3]))]
    for place in places:
        if (place / "domains").is_dir():
            return place
    raise ConfigError(f"cannot find Planweave's config folder (looked in {', '.join(map(str, places))})")


def state_dir() -> Path:
    """The folder of what is kept from run to run: $XDG_STATE_HOME/planweave, by default ~/.local/state/planweave."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "planweave"


def is_file(path: str | Path) -> bool:
    """Return whether a path is a file's; False also for texts that are no path, for which pathlib raises OSError."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_file()
    return False


def wheel_file(package: str, ending: str) -> Path | None:
    """A file of an installed package, which need not be importable, by the end of its name; None for none."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files(package) or ():
            if file.name.endswith(ending) and is_file(path := Path(str(file.locate()))):
                return path
    return None


def find_config(kind: str, name: str, suffix: str = ".yaml") -> Path:
    """The file ``config/<kind>/<name><suffix>``, or ``name`` itself where it is the path of a file.

    Raises UnknownNameError that lists the available names.
    """
    folder = config_dir() / kind
    path = folder / f"{name}{suffix}"
    if name.endswith(suffix) and is_file(name):
        return Path(name)
    if path.parent == folder and is_file(path):
        return path
    raise UnknownNameError(kind.rstrip("s"), name, (p.stem for p in folder.glob(f"*{suffix}")))
