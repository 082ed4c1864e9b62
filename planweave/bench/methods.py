"""Method specifications of the bake-off: ``iterative``, or with parameters ``iterative:replan=global,max_steps=9``.

A parameter of the planner may stand with them, for this method alone: ``scene_aware:planner.environment_weight=0``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planweave.bench.parameters import PLANNER, all_values, read_value
from planweave.core.base.errors import ConfigError
from planweave.methods import METHODS
from planweave.methods.running.options import options_of

NOTHING: Mapping[str, Any] = {}


def parse_method(text: str, settings: Mapping[str, Any] = NOTHING) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Name, all its options, and all parameters of the planner. settings: those of the run, by PART.NAME.

    Raises UnknownNameError, ConfigError or PluginError that says what would be right.
    """
    name, _, given = text.partition(":")
    METHODS[name]  # or why it cannot be used
    values = dict(settings)
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        path = key if key.startswith(f"{PLANNER}.") else f"{name}.{key}"
        if not equals:
            raise ConfigError(f"{text}: write {key}=VALUE")
        values[path] = read_value(path, value)
    options = all_values(values, name)
    if options.get("paper"):  # as the method does it, so that records hold the values that count
        defaults = {row.name: row.default for row in options_of(name).values()}
        in_paper = getattr(METHODS[name], "PAPER", {})
        options |= {key: value for key, value in in_paper.items() if options[key] == defaults[key]}
    return name, options, all_values(values, PLANNER)


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
