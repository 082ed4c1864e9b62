"""The ROS namespace that a command speaks to: --namespace, or PLANWEAVE_NAMESPACE where that is not given."""

from __future__ import annotations

import os
import re

from planweave.core.errors import ConfigError

VARIABLE = "PLANWEAVE_NAMESPACE"
_VALID = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")


def namespace() -> str:
    """With / at its beginning and none at its end; empty for the root. Raises ConfigError where it cannot be one."""
    given = os.environ.get(VARIABLE, "").strip("/")
    if not given:
        return ""
    found = f"/{given}"
    if not _VALID.fullmatch(found) or "__" in found:
        raise ConfigError(
            f"namespace {given!r}: expected letters, digits and _, parts with / between them, e.g. arm1 or lab/arm1"
        )
    return found


def use(given: str | None) -> None:
    """Take a namespace for this process, and for what it starts."""
    if given is not None:
        os.environ[VARIABLE] = given
    namespace()
