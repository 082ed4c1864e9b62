"""The ROS namespace that a command addresses: --namespace, or PLANWEAVE_NAMESPACE."""

from __future__ import annotations

import os
import re

from planweave.core.errors import ConfigError

VARIABLE = "PLANWEAVE_NAMESPACE"
_VALID = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")


def namespace() -> str:
    """The namespace with a leading / and no trailing one; empty for the root.

    Raises ConfigError where it is invalid.
    """
    return checked(os.environ.get(VARIABLE, ""))


def checked(given: str) -> str:
    """A namespace as `namespace` gives it; raises ConfigError where it is invalid."""
    given = given.strip("/")
    if not given:
        return ""
    found = f"/{given}"
    if not _VALID.fullmatch(found) or "__" in found:
        raise ConfigError(
            f"namespace {given!r}: expected letters, digits and _, parts with / between them, e.g. arm1 or lab/arm1"
        )
    return found


def use(given: str | None) -> None:
    """Set the namespace of this process and its children."""
    if given is not None:
        os.environ[VARIABLE] = given
    namespace()
