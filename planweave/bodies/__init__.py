"""Bodies: what executes actions and reports the world. Those that are chosen by a name come from the entry points
``planweave.bodies``.
"""

from __future__ import annotations

from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.base.plugins import Registry
from planweave.core.workflow.ports import BODY_METHODS, LookingBody


def _wrong(make: Any) -> str:
    return "" if callable(make) else "a body is offered by what makes it: a class or a function without arguments"


BODIES = Registry(
    "planweave.bodies",
    "body",
    _wrong,
    "name one of these, or install the package that offers it in this environment (entry point planweave.bodies: "
    "docs/extending.md)",
)
"""By name: called without arguments, gives a body that keeps `planweave.core.workflow.ports.LookingBody`. What it has
beside that is optional: domain (a `planweave.core.symbolic.domain.Domain`), require_approval, close()."""


def make_body(name: str) -> LookingBody:
    """A new body of that name; raises as Registry.make."""
    body: LookingBody = BODIES.make(name, finish=checked_body)
    return body


def checked_body(body: Any) -> LookingBody:
    """The body, where it keeps LookingBody; raises ConfigError."""
    missing = [name for name in BODY_METHODS if not callable(getattr(body, name, None))]
    if missing:
        raise ConfigError(
            f"body={body!r:.200} has no {', '.join(missing)}; give pw.SymbolicBody, pw.Home, what keeps "
            "pw.LookingBody, or the name of an installed body"
        )
    found: LookingBody = body
    return found
