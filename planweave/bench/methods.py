"""Method specifications of the bake-off: ``iterative``, or with parameters ``iterative:replan=global,max_steps=9``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planweave.core.errors import ConfigError
from planweave.methods import METHODS
from planweave.methods.options import option_of

#: What differs from a node's defaults: Tree-Planner keeps all sampled plans, as in its paper; searches have so much
#: time that a busy machine gives the same numbers. There is no fallback.
AS_IN_PAPERS: dict[str, dict[str, Any]] = {"tree_planner": {"check_plans": False}, "classical": {"plan_timeout": 60.0}}


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """Name and options; raises UnknownNameError, ConfigError or PluginError that says what would be right."""
    name, _, given = text.partition(":")
    METHODS[name]  # or why it cannot be used
    options = dict(AS_IN_PAPERS.get(name, {}))
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        row = option_of(name, key)
        if not equals:
            raise ConfigError(f"{text}: write {key}=VALUE")
        options[key] = row.read(value, name)
    return name, options


def make_method(text: str) -> Any:
    """A configured method."""
    name, options = parse_method(text)
    return METHODS[name](**options)


def names_of(texts: Sequence[str]) -> list[str]:
    """Requested methods, separated by spaces or commas, "all" for all; checked, without duplicates."""
    found: list[str] = []
    for text in texts:
        for one in _split(text):
            found += _all() if one == "all" else [one]
    for one in found:
        parse_method(one)
    return list(dict.fromkeys(found)) or _all()


def _all() -> list[str]:
    """Every method that can be loaded, ours and those of installed packages; logs a warning for the others."""
    return list(METHODS.working())


def _split(text: str) -> list[str]:
    """``a,b:x=1,y=2,c`` as a, b:x=1,y=2 and c."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if parts and ":" in parts[-1] and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts
