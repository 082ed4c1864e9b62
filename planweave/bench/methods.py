"""Methods as the bake-off names them: ``iterative``, or with parameters ``iterative:replan=global,max_steps=9``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from planweave.core.errors import ConfigError, UnknownNameError
from planweave.methods import METHODS
from planweave.methods.iterative import REPLANS
from planweave.methods.tree_planner import GUIDES

#: What differs from a node's defaults: Tree-Planner keeps all sampled plans, as in its paper; searches have so much
#: time that a busy machine gives the same numbers. There is no fallback.
AS_IN_PAPERS: dict[str, dict[str, Any]] = {"tree_planner": {"check_plans": False}, "classical": {"plan_timeout": 60.0}}
#: Methods that ask no model; they are run once, whatever models are asked for.
WITHOUT_MODEL = frozenset({"classical"})
#: Parameters that take one of a few words, by method.
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {("iterative", "replan"): REPLANS, ("tree_planner", "guide"): GUIDES}


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters; raises UnknownNameError or ConfigError that says what would be right."""
    name, _, given = text.partition(":")
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    known = {f.name: f.type for f in fields(METHODS[name])}
    options = dict(AS_IN_PAPERS.get(name, {}))
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, known)
        if not equals:
            raise ConfigError(f"{text}: write {key}=VALUE")
        options[key] = _value(name, key, value, str(known[key]))
    return name, options


def make_method(text: str) -> Any:
    """A configured method."""
    name, options = parse_method(text)
    return METHODS[name](**options)


def names_of(texts: Sequence[str]) -> list[str]:
    """Methods as asked for, commas allowed between them, "all" for all; checked, each once."""
    found: list[str] = []
    for text in texts:
        for one in _split(text):
            found += list(METHODS) if one == "all" else [one]
    for one in found:
        parse_method(one)
    return list(dict.fromkeys(found)) or list(METHODS)


def _split(text: str) -> list[str]:
    """``a,b:x=1,y=2,c`` as a, b:x=1,y=2 and c."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if parts and ":" in parts[-1] and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _value(name: str, key: str, value: str, kind: str) -> Any:
    choices = CHOICES.get((name, key))
    if choices and value not in choices:
        raise ConfigError(f"{name}:{key}={value}: one of {', '.join(choices)} is wanted")
    try:
        if kind == "bool":
            return {"true": True, "false": False}[value.lower()]
        return {"int": int, "float": float}.get(kind, str)(value)
    except (KeyError, ValueError):
        raise ConfigError(f"{name}:{key}={value}: a value of type {kind} is wanted") from None
