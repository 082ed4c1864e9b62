"""Where the files of the package are: the source tree, or the share folder of an installed package."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from planweave.errors import ConfigError, UnknownNameError


def config_dir() -> Path:
    """The folder that holds domains/, scenes/ and the nodes' parameter files."""
    here = Path(__file__).resolve().parent.parent
    for candidate in (here / "config", Path(sys.prefix) / "share" / "planweave" / "config"):
        if (candidate / "domains").is_dir():
            return candidate
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory("planweave")) / "config"
    except Exception as error:
        raise ConfigError(f"cannot find Planweave's config folder (looked in {here / 'config'})") from error


def is_file(path: str | Path) -> bool:
    """Whether there is a file of this path; also of one that no file can have, for which pathlib raises OSError."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_file()
    return False


def find_config(kind: str, name: str, suffix: str = ".yaml") -> Path:
    """The file ``config/<kind>/<name><suffix>``, or ``name`` itself where it is the path of a file.

    Raises UnknownNameError that lists the names there are.
    """
    folder = config_dir() / kind
    path = folder / f"{name}{suffix}"
    if name.endswith(suffix) and is_file(name):
        return Path(name)
    if path.parent == folder and is_file(path):
        return path
    raise UnknownNameError(kind.rstrip("s"), name, (p.stem for p in folder.glob(f"*{suffix}")))
