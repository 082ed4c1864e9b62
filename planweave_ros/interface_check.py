"""Check that the imported interfaces are those of this checkout."""

from __future__ import annotations

import os
from pathlib import Path

from planweave.core.base.errors import ConfigError

_SOURCE = Path(__file__).resolve().parents[1] / "interfaces"  # in a checkout only


def changed(source: Path = _SOURCE) -> list[str]:
    """Definitions below `source` that differ from those which planweave_interfaces was built from, e.g.
    msg/TaskStatus.msg; none outside a checkout.
    """
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    shares = (Path(prefix) / "share" / "planweave_interfaces" for prefix in prefixes)
    built = next((share for share in shares if share.is_dir()), None)
    if built is None:
        return []  # the import says so
    paths = [path for kind in ("msg", "srv", "action") for path in sorted(source.glob(f"{kind}/*.{kind}"))]
    return [str(path.relative_to(source)) for path in paths if _text(path) != _text(built / path.relative_to(source))]


def require_current() -> None:
    """Raise ConfigError where the interfaces were built before their definitions changed: a field of another meaning,
    or none at all, would be told as some fault within a node.
    """
    if names := changed():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        raise ConfigError(
            f"planweave_interfaces was built before these definitions changed: {', '.join(names[:3])}{more}. In a "
            "clone run `make setup`, in a ROS 2 workspace `colcon build`; end what still runs, and start it anew"
        )


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""
